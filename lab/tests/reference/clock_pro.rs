// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! CLOCK-Pro.

use std::collections::VecDeque;

use super::{Asked, Reference};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Hot,
    Cold,
    /// Cold, and no more in the cache.
    Gone,
}

#[derive(Clone, Copy)]
struct Page {
    id: u32,
    size: u64,
    kind: Kind,
    in_test: bool,
    asked: bool,
}

/// The clock from the hot hand on: that hand is at the first page, and the list head is behind the last. The other hands are at a page by
/// its id.
pub struct ClockPro {
    capacity: u64,
    target: u64,
    ring: VecDeque<Page>,
    cold_hand: Option<u32>,
    test_hand: Option<u32>,
}

impl ClockPro {
    pub fn new(capacity: u64) -> Self {
        ClockPro { capacity, target: capacity, ring: VecDeque::new(), cold_hand: None, test_hand: None }
    }

    fn weight(&self, kind: Kind) -> u64 {
        self.ring.iter().filter(|p| p.kind == kind).map(|p| p.size).sum()
    }

    /// Takes a page out; a hand that is at it goes on.
    fn take(&mut self, at: usize) -> Page {
        let page = self.ring.remove(at).unwrap();
        let next = self.ring.get(at).map(|p| p.id);
        if self.cold_hand == Some(page.id) {
            self.cold_hand = next;
        }
        if self.test_hand == Some(page.id) {
            self.test_hand = next;
        }
        page
    }

    /// Places in the order in which a hand sees them.
    fn around(&self, hand: Option<u32>) -> Vec<usize> {
        let start = hand.map_or(0, |id| self.ring.iter().position(|p| p.id == id).unwrap());
        (start..self.ring.len()).chain(0..start).collect()
    }

    fn move_target(&mut self, size: u64, up: bool) {
        self.target = if up { self.capacity.min(self.target + size) } else { self.target.max(size + 1) - size };
    }

    /// Says whether the page is still there.
    fn end_test(&mut self, at: usize) -> bool {
        let page = self.ring[at];
        if !page.in_test {
            return true;
        }
        self.move_target(page.size, page.asked);
        if page.kind == Kind::Gone {
            self.take(at);
            return false;
        }
        self.ring[at].in_test = false;
        true
    }

    fn hot_hand(&mut self) {
        let mut done = false;
        while self.weight(Kind::Hot) > 0 {
            if self.ring[0].kind == Kind::Hot {
                if done {
                    return;
                }
                let mut page = self.take(0);
                done = !page.asked;
                if done {
                    page.kind = Kind::Cold;
                }
                page.asked = false;
                self.ring.push_back(page);
            } else if self.end_test(0) {
                let page = self.take(0);
                self.ring.push_back(page);
            }
        }
    }

    fn few_enough_hot(&mut self) {
        while self.weight(Kind::Hot) > self.capacity - self.target {
            self.hot_hand();
        }
    }

    fn cold_hand(&mut self) {
        while self.weight(Kind::Cold) == 0 {
            self.hot_hand();
        }
        let at = self.around(self.cold_hand).into_iter().find(|&at| self.ring[at].kind == Kind::Cold).unwrap();
        self.cold_hand = self.ring.get(at + 1).map(|p| p.id);
        if self.ring[at].asked {
            let mut page = self.take(at);
            let promoted = page.in_test;
            (page.asked, page.in_test) = (false, !promoted);
            if promoted {
                page.kind = Kind::Hot;
            }
            self.ring.push_back(page);
            if promoted {
                self.move_target(page.size, true);
                self.few_enough_hot();
            }
        } else if self.ring[at].in_test {
            self.ring[at].kind = Kind::Gone;
            while self.weight(Kind::Gone) > self.capacity {
                let at = self.around(self.test_hand).into_iter().find(|&at| self.ring[at].in_test).unwrap();
                self.test_hand = self.ring.get(at + 1).map(|p| p.id);
                self.end_test(at);
            }
        } else {
            self.take(at);
        }
    }
}

impl Reference for ClockPro {
    fn access(&mut self, asked: Asked) -> bool {
        let at = self.ring.iter().position(|p| p.id == asked.id);
        if let Some(at) = at.filter(|&at| self.ring[at].kind != Kind::Gone) {
            self.ring[at].asked = true;
            return true;
        }
        if asked.size > self.capacity {
            return false;
        }
        if let Some(at) = at {
            self.take(at);
            self.move_target(asked.size, true);
        }
        while self.weight(Kind::Hot) + self.weight(Kind::Cold) + asked.size > self.capacity {
            self.cold_hand();
        }
        let kind = if at.is_some() { Kind::Hot } else { Kind::Cold };
        let Asked { id, size, .. } = asked;
        self.ring.push_back(Page { id, size, kind, in_test: at.is_none(), asked: false });
        if at.is_some() {
            self.few_enough_hot();
        }
        false
    }

    fn resident(&self) -> Vec<u32> {
        self.ring.iter().filter(|p| p.kind != Kind::Gone).map(|p| p.id).collect()
    }
}

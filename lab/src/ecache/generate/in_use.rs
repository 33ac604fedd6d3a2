// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What an app asks for between its opening and its leaving.

use std::collections::BTreeSet;

use fovea_scenario::hash::{mix64, name64};
use rand::Rng;

use super::{File, Session};
use crate::ecache::{
    media::{behaviour, Deed},
    Event,
};

/// Films there are to be played.
const FILMS: u32 = 3;

/// Requests for a page between the opening of an app and its leaving. Fitted to recordings of programs in use (`lab/samples`: 1.0,
/// 2.8 and 9.7; the median), for public traces of phones are taken below a page cache, which hides this. Which page is asked for
/// again is drawn evenly: a tenth of the pages of the recording in the middle has 19 % of its requests.
const USES: f64 = 2.8;

impl Session<'_> {
    /// The app in front is used: it asks again for pages that it read since it was opened, for [`USES`] of each on average in a session of
    /// so many seconds.
    pub(super) fn used(&mut self, seconds: u32, of: u32) {
        for _ in 0..seconds {
            let again = self.in_use.len() as f64 * (USES - 1.0) / f64::from(of.max(1));
            for _ in 0..again.round() as usize {
                let page = self.in_use[self.rng.gen_range(0..self.in_use.len())];
                self.refer(page);
            }
            self.seconds(1);
        }
    }

    pub(super) fn use_app(&mut self, name: &str) {
        let behaviour = behaviour(name);
        let mut left = behaviour.seconds;
        for &deed in behaviour.deeds {
            match deed {
                Deed::Read { picks, of, pages } => self.read_some(name, picks, of, pages),
                Deed::Pictures { count, pages } => {
                    for _ in 0..count {
                        self.allocate("jpeg", false);
                        let picture = self.new_file(u64::from(pages));
                        (0..pages).for_each(|page| self.write(picture.first + page));
                        self.used(1, behaviour.seconds);
                        left = left.saturating_sub(1);
                        if let Some(device) = self.device("jpeg") {
                            self.trace.events.push(Event::Free { device });
                        }
                        self.pictures.push(picture);
                    }
                }
                Deed::NewestPictures { count } => {
                    let from = self.pictures.len().saturating_sub(count as usize);
                    for at in from..self.pictures.len() {
                        let File { first, pages } = self.pictures[at];
                        (first..first + pages).for_each(|page| self.read(page));
                    }
                }
                Deed::Film { pages } => {
                    let film = self.rng.gen_range(0..FILMS);
                    let file = self.file(&format!("film/{film}.mp4"), u64::from(pages));
                    for second in 0..left {
                        let at = |second: u32| u64::from(pages) * u64::from(second) / u64::from(left);
                        // Of a film no page is shown twice.
                        (at(second)..at(second + 1)).for_each(|page| self.refer(file.first + page as u32));
                        self.used(1, behaviour.seconds);
                    }
                    left = 0;
                }
            }
        }
        self.used(left, behaviour.seconds);
    }

    fn read_some(&mut self, app: &str, picks: u32, of: u32, (least, most): (u32, u32)) {
        let mut chosen = BTreeSet::new();
        while chosen.len() < picks.min(of) as usize {
            chosen.insert(self.rng.gen_range(0..of));
        }
        for which in chosen {
            let path = format!("content/{app}/{which}");
            let pages = u64::from(least) + mix64(name64(&path)) % u64::from(most - least + 1);
            let file = self.file(&path, pages);
            (0..file.pages).for_each(|page| self.read(file.first + page));
        }
    }
}

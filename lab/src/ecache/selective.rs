// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Salvage by worth instead of recency, as an experiment: is it the order in which the core salvages that limits it?
//!
//! The core has no such order, so what it would do is played with what it has. A device has got its region, and the pages in it are
//! lost. Those worth it are put again, each in place of the page elsewhere that is put longest ago and not worth it. They are then the
//! most recently put, in their old order, which they were not; that favours them a little.

use fovea_core::{FrameState, Key};

use super::replay::Machine;

/// What a machine holds: put, frame, page; least recently put first.
pub(super) fn snapshot(machine: &Machine) -> Vec<(u32, u32, Key)> {
    let mut held: Vec<(u32, u32, Key)> = (0..machine.core.frames())
        .filter(|&frame| machine.core.state(frame) == Some(FrameState::Cached))
        .filter_map(|frame| Some((machine.put_at[frame as usize], frame, machine.core.key_of(frame)?)))
        .collect();
    held.sort_unstable_by_key(|&(put_at, frame, _)| (put_at, frame));
    held
}

/// Puts back what the last allocation took of `before` and is worth it; `worth` goes by the frames of then. Returns how many.
pub(super) fn save(machine: &mut Machine, before: &[(u32, u32, Key)], worth: &[bool]) -> u64 {
    let is_there = |machine: &Machine, key: Key| machine.core.peek(key).is_some();
    let lost: Vec<_> =
        before.iter().filter(|(_, frame, key)| worth[*frame as usize] && !is_there(machine, *key)).copied().collect();
    let worthless: Vec<Key> = before
        .iter()
        .filter(|(_, frame, key)| !worth[*frame as usize] && is_there(machine, *key))
        .map(|&(_, _, key)| key)
        .collect();
    let mut worthless = worthless.into_iter();
    let mut room = machine.core.counters().free_frames;
    let mut places = 0;
    for _ in &lost {
        if room > 0 {
            room -= 1;
        } else if let Some(key) = worthless.next() {
            machine.core.flush_page(key);
        } else {
            break;
        }
        places += 1;
    }
    for &(put_at, _, key) in &lost[lost.len() - places..] {
        if let Some(put) = machine.core.put(key) {
            machine.put_at[put.frame as usize] = put_at;
        }
    }
    places as u64
}

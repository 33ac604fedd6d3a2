// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What an app does while it is in front: other screens are opened, documents read, pictures taken, and device memory is held
//! meanwhile (eCache12, section 5.2).

use std::path::Path;

use fovea_scenario::{Activity, Buffer, BufferUse, Pictures, Reads, PAGE_BYTES};

use crate::buffers::{allocate, sleep_ns, Held};
use crate::files::{replace_file, UsedFile, FLASH_ROOT};
use crate::hash::mix64;
use crate::outcome::Outcome;
use crate::readings::now_ns;
use crate::touch::RUN_PAGES;
use crate::wire::Count;

/// An app's devices and what became of them.
#[derive(Default)]
pub struct Devices {
    held: Vec<Held>,
    log: Vec<BufferUse>,
}

impl Devices {
    /// Allocates what is not held yet.
    pub fn take(&mut self, wanted: &[Buffer], seed: u64) {
        for buffer in wanted {
            if self.held.iter().any(|h| h.device() == buffer.device) {
                continue;
            }
            let (told, held) = allocate(buffer, seed);
            self.log.push(told);
            self.held.extend(held);
        }
    }

    /// The devices write their first frames.
    pub fn fill(&mut self) -> Outcome<()> {
        for held in &mut self.held {
            let ns = held.fill()?;
            if let Some(told) = self.log.iter_mut().rfind(|b| b.device == held.device() && b.error.is_none()) {
                told.fill_ns = ns;
            }
        }
        Ok(())
    }

    /// Checks all that is held. What is wrong is told with the buffer's own report if that is not yet gone, else with this count.
    pub fn verify(&self) -> Outcome<Count> {
        let mut count = Count::default();
        for held in &self.held {
            count += held.verify()?;
        }
        Ok(count)
    }

    /// Gives back all that is held.
    pub fn release(&mut self) {
        self.held.clear();
    }

    /// What was allocated since the last call.
    pub fn log(&mut self) -> Vec<BufferUse> {
        std::mem::take(&mut self.log)
    }
}

/// So many different ones of `known`, drawn from `seed`, in the order drawn.
fn draw(known: usize, count: u32, seed: u64) -> Vec<usize> {
    let mut left: Vec<usize> = (0..known).collect();
    (0..u64::from(count).min(known as u64))
        .map(|i| left.remove((mix64(seed ^ mix64(i)) % left.len() as u64) as usize))
        .collect()
}

/// What is done in one use of `ns`, `seed` being the app's and `turn` how often it was opened. `screen` opens another screen.
pub fn follow(
    activity: &Activity,
    devices: &mut Devices,
    seed: u64,
    turn: u64,
    ns: u64,
    mut screen: impl FnMut(u64) -> Outcome<Count>,
) -> Outcome<Count> {
    let end = now_ns() + ns;
    let drawn = mix64(seed ^ mix64(turn).rotate_left(31));
    let mut count = Count::default();
    let screens = draw(activity.screens.known as usize, activity.screens.opened, drawn);
    // Spread over the time, so that each is a burst of its own.
    let pause_ns = ns / (screens.len() as u64 + 1);
    for which in &screens {
        sleep_ns(pause_ns.min(end.saturating_sub(now_ns())));
        count += screen(*which as u64)?;
    }
    if let Some(reads) = &activity.reads {
        count += read(reads, drawn, end)?;
    }
    if let Some(pictures) = &activity.pictures {
        count += take(pictures, devices, seed, turn)?;
    }
    count += devices.verify()?;
    Ok(count)
}

fn read(reads: &Reads, seed: u64, end: u64) -> Outcome<Count> {
    let mut count = Count::default();
    let files: Vec<_> = draw(reads.files.len(), reads.opened, seed).into_iter().map(|i| &reads.files[i]).collect();
    let runs = |bytes: u64| bytes.div_ceil(RUN_PAGES * PAGE_BYTES as u64);
    let mut runs_left: u64 = files.iter().map(|f| runs(f.size_bytes)).sum();
    for usage in files {
        count += UsedFile::open(Path::new(FLASH_ROOT), usage)?.read_through(|| {
            // What is left of the time, shared out evenly: a player that had to wait for the flash catches up.
            let left = end.saturating_sub(now_ns());
            if reads.paced && runs_left > 0 {
                sleep_ns(left / runs_left);
            }
            runs_left = runs_left.saturating_sub(1);
        })?;
    }
    Ok(count)
}

fn take(pictures: &Pictures, devices: &mut Devices, seed: u64, turn: u64) -> Outcome<Count> {
    let mut count = Count::default();
    for i in 0..u64::from(pictures.taken) {
        let mut held = None;
        if let Some(buffer) = &pictures.buffer {
            let (mut told, got) = allocate(buffer, mix64(seed ^ turn) ^ i);
            if let Some(mut got) = got {
                told.fill_ns = got.fill()?;
                told.wrong_pages = got.verify()?.wrong;
                held = Some(got);
            }
            devices.log.push(told);
        }
        let number = (turn * u64::from(pictures.taken) + i) % pictures.files.len().max(1) as u64;
        if let Some(file) = pictures.files.get(number as usize) {
            replace_file(Path::new(FLASH_ROOT), &file.path, file.size_bytes)?;
        }
        if let Some(held) = &held {
            count += held.verify()?;
        }
        // The device file is closed once the picture is saved (eCache12, section 2.1).
        drop(held);
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn different_ones_are_drawn(known in 0usize..20, count in 0u32..25, seed: u64) {
            let drawn = draw(known, count, seed);
            prop_assert_eq!(drawn.len(), known.min(count as usize));
            prop_assert!(drawn.iter().all(|&i| i < known));
            prop_assert_eq!(drawn.iter().collect::<BTreeSet<_>>().len(), drawn.len());
        }
    }

    #[test]
    fn each_of_them_has_its_turn() {
        let all: BTreeSet<usize> = (0..200).flat_map(|seed| draw(6, 2, seed)).collect();
        assert_eq!(all.len(), 6);
    }
}

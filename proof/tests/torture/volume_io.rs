// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A block device used raw: direct and buffered, with discards and zeroing, with what each block must hold kept in memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use fovea_tests::content::{Contents, Random, State};
use fovea_tests::raw::{discard, zero_out, Pages, PAGE};
use fovea_tests::report::Report;
use rustix::fs::{fadvise, Advice};

use crate::stack::open_direct;

/// Blocks used.
const BLOCKS: usize = 1024;
const OPERATION_BLOCKS: usize = 16;

#[derive(Clone, Copy, Debug, Default)]
struct Block {
    /// 0: zeros, which fresh null_blk memory is.
    version: u32,
    /// It was discarded: zeros are right as well.
    discarded: bool,
}

pub struct RawVolume<'a> {
    id: u32,
    buffered: File,
    direct: File,
    blocks: Vec<Block>,
    next_version: u32,
    random: Random,
    buffer: Pages,
    contents: &'a Contents,
    report: &'a Report,
}

impl<'a> RawVolume<'a> {
    pub fn open(
        node: &Path,
        id: u32,
        seed: u64,
        contents: &'a Contents,
        report: &'a Report,
    ) -> Result<RawVolume<'a>, String> {
        let buffered = File::options().read(true).write(true).open(node).map_err(|e| e.to_string())?;
        let mut volume = RawVolume {
            id,
            buffered,
            direct: open_direct(node)?,
            blocks: vec![Block::default(); BLOCKS],
            next_version: 1,
            random: Random::new(seed, u64::from(id)),
            buffer: Pages::new(OPERATION_BLOCKS),
            contents,
            report,
        };
        // Earlier tests may have written it.
        zero_out(&volume.direct, 0, (BLOCKS * PAGE) as u64).map_err(|e| format!("zeroing: {e}"))?;
        volume.verify();
        Ok(volume)
    }

    /// One operation, chosen at random.
    pub fn operation(&mut self) {
        let first = self.random.index(BLOCKS - OPERATION_BLOCKS);
        let count = 1 + self.random.index(OPERATION_BLOCKS);
        match self.random.below(100) {
            0..=14 => self.write(first, count, true),
            15..=29 => self.write(first, count, false),
            30..=54 => self.read(first, count, false),
            55..=64 => self.read(first, count, true),
            65..=84 => {
                let at = (first * PAGE) as u64;
                let advised =
                    fadvise(&self.buffered, at, std::num::NonZeroU64::new((4 * count * PAGE) as u64), Advice::DontNeed);
                self.expect("fadvise", advised.map_err(io::Error::from));
            }
            85..=87 => {
                let synced = self.buffered.sync_data();
                self.expect("fsync", synced);
            }
            88..=93 => {
                let done = discard(&self.buffered, (first * PAGE) as u64, (count * PAGE) as u64);
                self.expect("discard", done);
                self.blocks[first..first + count].iter_mut().for_each(|block| block.discarded = true);
            }
            _ => {
                let done = zero_out(&self.buffered, (first * PAGE) as u64, (count * PAGE) as u64);
                self.expect("zeroing", done);
                self.blocks[first..first + count].fill(Block::default());
            }
        }
    }

    fn expect(&self, what: &str, result: io::Result<()>) {
        if let Err(e) = result {
            self.report.fail(format_args!("{what} on the raw device: {e}"));
        }
    }

    fn state(&self, block: usize, version: u32) -> State {
        State { file: self.id, page: block as u32, version }
    }

    /// Writes blocks with new content.
    pub fn write(&mut self, first: usize, count: usize, direct: bool) {
        let version = self.next_version;
        self.next_version += 1;
        for block in first..first + count {
            let state = self.state(block, version);
            let at = (block - first) * PAGE;
            self.contents.write(state, &mut self.buffer.bytes(count)[at..at + PAGE]);
            self.blocks[block] = Block { version, discarded: false };
        }
        let file = if direct { &self.direct } else { &self.buffered };
        let done = file.write_all_at(self.buffer.bytes(count), (first * PAGE) as u64);
        self.expect("write", done);
    }

    /// Reads blocks and compares them with what they must hold.
    pub fn read(&mut self, first: usize, count: usize, direct: bool) {
        let file = if direct { &self.direct } else { &self.buffered };
        let done = file.read_exact_at(self.buffer.bytes(count), (first * PAGE) as u64);
        if done.is_err() {
            return self.expect("read", done);
        }
        for block in first..first + count {
            let at = (block - first) * PAGE;
            let expected = self.blocks[block];
            let (state, zeros) = (self.state(block, expected.version), self.state(block, 0));
            let found = &self.buffer.bytes(count)[at..at + PAGE];
            let zeroed = expected.discarded && self.contents.holds(zeros, found);
            if !zeroed && !self.contents.holds(state, found) {
                self.report.fail(format_args!(
                    "wrong content: {} read of the raw device: block {block} version {} is {}",
                    if direct { "direct" } else { "buffered" },
                    expected.version,
                    self.contents.recognise(found)
                ));
            }
        }
    }

    /// Reads all of it both ways.
    pub fn verify(&mut self) {
        for direct in [false, true] {
            for first in (0..BLOCKS).step_by(OPERATION_BLOCKS) {
                self.read(first, OPERATION_BLOCKS, direct);
            }
        }
    }
}

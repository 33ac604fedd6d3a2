// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Open loops: requests that come whether or not the disk keeps up. A sync of much dirty memory, a
//! package manager's flushes, swap.

use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use fovea_linux::swap as kernel;
use fovea_scenario::{DiskLoad, DiskUse, OpenLoop};

use super::apps::{bytes_of, id_of, open, sleep_until, Blocks, Draw};
use super::{cgroup_of, volume};
use crate::outcome::{read_file, write_file, At, Outcome};
use crate::readings::now_ns;
use crate::setup::cgroup_path;

/// `swapper`: the memory that it uses, and its `memory.max`.
const SWAP_BYTES: usize = 12 << 20;
const KEPT_BYTES: u64 = 5 << 20;
const FILE_BYTES_MAX: u64 = 64 << 10;
const PAGE: usize = 4096;
/// From one sync to the next, if the disk keeps up.
const SYNC_PERIOD_NS: u64 = 6_000_000_000;
const DIRTY: [(&str, &str); 2] = [("/proc/sys/vm/dirty_background_ratio", "60"), ("/proc/sys/vm/dirty_ratio", "70")];

/// What was changed on the machine for a stretch of the scenario.
pub struct Prepared {
    settings: Vec<(&'static str, String)>,
    swap: Option<PathBuf>,
}

impl Prepared {
    /// Makes the machine ready for a stretch.
    pub fn of(load: &DiskLoad) -> Outcome<Prepared> {
        let mut prepared = Prepared { settings: Vec::new(), swap: None };
        if load.label == OpenLoop::Sync.label() {
            // All of it is to be dirty at once.
            for (file, value) in DIRTY {
                prepared.settings.push((file, read_file(file)?));
                write_file(file, value)?;
            }
        }
        if load.label == OpenLoop::Swap.label() {
            let file = Path::new(volume::ROOT).join("swapper");
            kernel::make(&file, bytes_of("swapper")).at(|| format!("mkswap {}", file.display()))?;
            kernel::on(&file, 32767).at(|| format!("swapon {}", file.display()))?;
            prepared.swap = Some(file);
            let cgroup = cgroup_path(&cgroup_of("swapper"));
            std::fs::create_dir_all(&cgroup).at(|| format!("making {}", cgroup.display()))?;
            write_file(cgroup.join("memory.max"), &KEPT_BYTES.to_string())?;
        }
        Ok(prepared)
    }

    /// Sets everything back.
    pub fn undo(self) -> Outcome<()> {
        if let Some(file) = self.swap {
            kernel::off(&file).at(|| format!("swapoff {}", file.display()))?;
        }
        self.settings.iter().try_for_each(|(file, value)| write_file(file, value.trim()))
    }
}

/// `syncer`: writes dperf's file anew through the page cache, with the content that it has, and
/// syncs it.
pub fn sync(end_ns: u64) -> Outcome<DiskUse> {
    let mut file = open("dperf", false)?;
    let mut blocks = Blocks::new(1 << 20);
    let mut done = DiskUse::default();
    let mut next_ns = now_ns();
    while next_ns < end_ns {
        sleep_until(next_ns);
        file.seek(SeekFrom::Start(0)).at(|| "seeking".into())?;
        for nth in 0..bytes_of("dperf") >> 20 {
            blocks.write(id_of("dperf"), nth << 20, 0);
            file.write_all(blocks.bytes()).at(|| "dirtying".into())?;
        }
        let began_ns = now_ns();
        rustix::fs::sync();
        done.longest_stall_ns = done.longest_stall_ns.max(now_ns() - began_ns);
        done.bytes += bytes_of("dperf");
        next_ns = now_ns().max(next_ns + SYNC_PERIOD_NS);
    }
    Ok(done)
}

/// `installer`, `updater`: writes pieces of up to `FILE_BYTES_MAX` of a file, with the content that it has, and flushes each.
pub fn install(of: &str, end_ns: u64) -> Outcome<DiskUse> {
    let file = open(of, false)?;
    let mut draw = Draw(5);
    let mut done = DiskUse::default();
    while now_ns() < end_ns {
        let size = (1 + draw.below(FILE_BYTES_MAX / PAGE as u64)) * PAGE as u64;
        let place = draw.below((bytes_of(of) - FILE_BYTES_MAX) / PAGE as u64) * PAGE as u64;
        let mut blocks = Blocks::new(size as usize);
        blocks.write(id_of(of), place, 0);
        let began_ns = now_ns();
        file.write_all_at(blocks.bytes(), place).at(|| "installing".into())?;
        file.sync_data().at(|| "flushing".into())?;
        done.longest_stall_ns = done.longest_stall_ns.max(now_ns() - began_ns);
        done.bytes += size;
    }
    Ok(done)
}

/// `swapper`: compares and rewrites random pages of more memory than it may keep.
pub fn swap(end_ns: u64) -> Outcome<DiskUse> {
    let mut memory = Blocks::new(SWAP_BYTES);
    memory.write(id_of("swapper"), 0, 0);
    let mut draw = Draw(9);
    let mut done = DiskUse::default();
    while now_ns() < end_ns {
        let page = draw.below((SWAP_BYTES / PAGE) as u64);
        let began_ns = now_ns();
        done.wrong_blocks += memory.rewrite(id_of("swapper"), page, 0);
        done.longest_stall_ns = done.longest_stall_ns.max(now_ns() - began_ns);
        done.bytes += PAGE as u64;
    }
    Ok(done)
}

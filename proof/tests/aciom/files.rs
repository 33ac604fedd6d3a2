// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A file system on the volume: apps of all classes write files through the page cache, so that write-back, the journal and flushes pass; then it is
//! checked, mounted again, and every file read.

use std::ffi::CStr;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use fovea_tests::content::{Contents, Random, State};
use fovea_tests::kernel::{at, run, Outcome};
use fovea_tests::raw::PAGE;
use fovea_tests::report::Report;
use rustix::mount::{mount, unmount, MountFlags, UnmountFlags};

use crate::phases::churn;
use crate::stack::{App, Volume};
use crate::Options;

/// How one is made, mounted and checked; each program is given the device as its last argument.
#[derive(Clone, Copy, Debug)]
pub struct FileSystem {
    pub kind: &'static str,
    pub make: &'static [&'static str],
    pub options: Option<&'static CStr>,
    pub check: &'static [&'static str],
    pub mib: u64,
}

// A discard of more than a tick's bytes never passes a null_blk that has a rate.
pub const EXT4: FileSystem = FileSystem {
    kind: "ext4",
    make: &["mkfs.ext4", "-q", "-F", "-b", "4096", "-J", "size=4", "-E", "nodiscard"],
    options: None,
    check: &["e2fsck", "-f", "-n"],
    mib: 64,
};
pub const XFS: FileSystem = FileSystem {
    kind: "xfs",
    make: &["mkfs.xfs", "-q", "-f", "-K", "--unsupported"],
    options: None,
    check: &["xfs_repair", "-n"],
    mib: 96,
};
pub const BTRFS: FileSystem = FileSystem {
    kind: "btrfs",
    make: &["mkfs.btrfs", "-q", "-f", "-K"],
    options: Some(c"nodiscard"),
    check: &["btrfs", "check", "--readonly"],
    mib: 160,
};

pub const MOUNT: &str = "/mnt/v";
const FILES: u32 = 6;
const PAGES: u64 = 256;

/// Which version each page of each file has: beside the files, and synced last, so it is proof of the journal as well.
fn versions_file(folder: &Path) -> std::path::PathBuf {
    folder.join("versions")
}

/// The child's part.
pub fn write(folder: &Path, ms: u64, seed: u64) -> Outcome<()> {
    let contents = Contents::new(seed);
    let mut random = Random::new(seed, 5);
    let mut versions = vec![[0_u32; PAGES as usize]; FILES as usize];
    let mut files = Vec::new();
    for nth in 0..FILES {
        files.push(at(folder.display(), File::create(folder.join(nth.to_string())))?);
    }
    let end = Instant::now() + Duration::from_millis(ms);
    let mut bytes = vec![0; PAGE];
    let mut version = 0;
    while Instant::now() < end {
        let nth = random.index(files.len());
        let (from, count) = (random.below(PAGES), random.below(32) + 1);
        version += 1;
        for page in from..(from + count).min(PAGES) {
            contents.write(State { file: nth as u32, page: page as u32, version }, &mut bytes);
            versions[nth][page as usize] = version;
            at("writing", files[nth].write_all_at(&bytes, page * PAGE as u64))?;
        }
        if random.below(16) == 0 {
            at("fsync", files[nth].sync_all())?;
        }
    }
    files.iter().try_for_each(|file| at("fsync at the end", file.sync_all()))?;
    let words: Vec<u8> = versions.into_iter().flatten().flat_map(u32::to_le_bytes).collect();
    at("versions", fs::write(versions_file(folder), words))?;
    at("versions", File::open(versions_file(folder)).and_then(|file| file.sync_all()))
}

/// Reads all of what a child wrote.
fn verify(folder: &Path, seed: u64) -> Outcome<u64> {
    let contents = Contents::new(seed);
    let words = at("versions", fs::read(versions_file(folder)))?;
    let mut versions = words.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    let mut good = 0;
    for nth in 0..FILES {
        let bytes = at(folder.display(), fs::read(folder.join(nth.to_string())))?;
        for (page, version) in (0..PAGES as u32).zip(versions.by_ref()) {
            let state = State { file: nth, page, version };
            let found = bytes.get(page as usize * PAGE..(page as usize + 1) * PAGE);
            match (version, found) {
                (0, _) => {}
                (_, Some(found)) if contents.holds(state, found) => good += 1,
                _ => {
                    return Err(format!(
                        "wrong content: {}, file {nth}, page {page}, version {version}",
                        folder.display()
                    ))
                }
            }
        }
    }
    Ok(good)
}

fn program(words: &[&str], node: &Path) -> Outcome<()> {
    let (name, args) = words.split_first().ok_or("no program")?;
    let node = node.to_string_lossy();
    run(&format!("/bin/{name}"), &args.iter().copied().chain([node.as_ref()]).collect::<Vec<_>>())
}

impl FileSystem {
    /// Makes it, and mounts it.
    pub fn begin(&self, node: &Path) -> Outcome<()> {
        program(self.make, node)?;
        at(MOUNT, fs::create_dir_all(MOUNT))?;
        self.mount(node)
    }

    fn mount(&self, node: &Path) -> Outcome<()> {
        at(MOUNT, mount(node, MOUNT, self.kind, MountFlags::NOATIME, self.options))
    }

    /// Unmounts it; whether it is whole.
    pub fn end(&self, node: &Path, report: &Report) -> Outcome<()> {
        at("unmounting", unmount(MOUNT, UnmountFlags::empty()))?;
        let checked = program(self.check, node);
        report.check(format_args!("{} is whole", self.kind), checked.is_ok(), format_args!("{checked:?}"));
        Ok(())
    }
}

/// On the volume, or on a device above it.
pub fn all(volume: &Volume, node: &Path, system: &FileSystem, options: &Options, report: &Report) -> Outcome<()> {
    system.begin(node)?;
    let names = ["player", "copy", "sync", "shell"];
    let apps: Vec<App> = names.into_iter().map(App::make).collect::<Outcome<_>>()?;
    let mut children = Vec::new();
    for (nth, app) in (0..).zip(&apps) {
        let folder = format!("{MOUNT}/{nth}");
        at(&folder, fs::create_dir(&folder))?;
        let words = [options.seconds * 1000, options.seed + nth].map(|word| word.to_string());
        children.push(app.start(&["files", &folder, &words[0], &words[1]])?);
    }
    churn(volume, &apps, &mut children, options, report)?;
    system.end(node, report)?;
    system.mount(node)?;
    let mut pages = 0;
    for nth in 0..apps.len() as u64 {
        pages += verify(Path::new(&format!("{MOUNT}/{nth}")), options.seed + nth)?;
    }
    report.check(format_args!("every page of every file on {} is right", system.kind), pages > 0, pages);
    at("unmounting", unmount(MOUNT, UnmountFlags::empty()))
}

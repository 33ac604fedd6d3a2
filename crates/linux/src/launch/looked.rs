// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which files a process has mapped or open. Only /proc is read, never a file: stat(2) of one on a silent FUSE or NFS server waits for
//! ever.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::ops::Range;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::file::{read_into, Root};
use crate::pagemap::{Entry, Pagemap, BLOCK_PAGES};
use crate::proc::{number, unescape};

/// Lines of a process's map, and descriptors of it, that are looked at.
const MAPPINGS_MAX: usize = 16_384;
const DESCRIPTORS_MAX: usize = 2048;

/// Pages of a process's mappings of files that are asked about: 4 GiB.
const TOUCHED_MAX_PAGES: u64 = 1 << 20;

/// File systems without a block device of their own that are on this machine's storage all the same.
const LOCAL_WITHOUT_DEVICE: [&[u8]; 2] = [b"btrfs", b"bcachefs"];

/// A mount namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace(PathBuf);

impl Namespace {
    /// Of a process; `None` if it has ended or may not be looked at.
    pub fn of(root: &Root, pid: u32) -> Option<Namespace> {
        std::fs::read_link(root.join(format!("proc/{pid}/ns/mnt"))).ok().map(Namespace)
    }
}

/// The local file systems of a process's mounts: by device as /proc/PID/maps writes it, and by the mount's number.
#[derive(Default)]
struct LocalMounts {
    devices: BTreeSet<Vec<u8>>,
    numbers: BTreeSet<u64>,
}

impl LocalMounts {
    fn parse(mountinfo: &[u8]) -> LocalMounts {
        let mut local = LocalMounts::default();
        // One device can be mounted by two drivers: fuseblk takes the number of the disk below it.
        let mut kinds: BTreeMap<Vec<u8>, bool> = BTreeMap::new();
        for line in mountinfo.split(|&byte| byte == b'\n') {
            let mut fields = line.split(|&byte| byte == b' ');
            let (Some(id), Some(device)) = (fields.next().and_then(number), fields.nth(1)) else { continue };
            let Some(kind) = fields.skip_while(|field| *field != b"-").nth(1) else { continue };
            let Some(colon) = device.iter().position(|&byte| byte == b':') else { continue };
            let has_disk = number(&device[..colon]) != Some(0);
            let is_local = !kind.starts_with(b"fuse") && (has_disk || LOCAL_WITHOUT_DEVICE.contains(&kind));
            let (Some(major), Some(minor)) = (number(&device[..colon]), number(&device[colon + 1..])) else { continue };
            *kinds.entry(format!("{major:02x}:{minor:02x}").into_bytes()).or_insert(true) &= is_local;
            if is_local {
                local.numbers.insert(id);
            }
        }
        local.devices = kinds.into_iter().filter(|(_, is_local)| *is_local).map(|(device, _)| device).collect();
        local
    }
}

/// What processes have mapped of a file and have touched: reading ahead and neighbours in the page cache are not in it, but for the
/// 64 KiB that the kernel maps around a page that is touched (`fault_around_bytes`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Ranges of the file's pages, in no order.
    pub ranges: Vec<Range<u32>>,
    /// It is open alone, or what is touched cannot be seen.
    pub is_unknown: bool,
}

/// The files on local storage that a process has mapped or open for reading, those that still have a name, with what of them it has touched.
/// Files beyond so many are left out.
pub fn local_files(root: &Root, pid: u32, found: &mut BTreeMap<PathBuf, Touched>, most: usize) {
    let folder = root.join(format!("proc/{pid}"));
    let mut text = Vec::new();
    if read_into(&folder.join("mountinfo"), &mut text).is_err() {
        return;
    }
    let mounts = LocalMounts::parse(&text);
    let pagemap = std::fs::File::open(folder.join("pagemap")).ok();
    let pagemap = pagemap.map(|file| Pagemap::new(file.into(), root.page_size()));
    let (mut mapped_here, mut left) = (BTreeSet::new(), TOUCHED_MAX_PAGES);
    if read_into(&folder.join("maps"), &mut text).is_ok() {
        let lines = text.split(|&byte| byte == b'\n').take(MAPPINGS_MAX);
        for (addresses, offset, path) in lines.filter_map(|line| mapped(line, &mounts)) {
            if found.len() >= most && !found.contains_key(&path) {
                continue;
            }
            let touched = found.entry(path.clone()).or_default();
            let ranges = pagemap.as_ref().and_then(|map| touched_in(map, addresses, offset, &mut left));
            touched.is_unknown |= ranges.is_none();
            touched.ranges.extend(ranges.into_iter().flatten());
            mapped_here.insert(path);
        }
    }
    for entry in std::fs::read_dir(folder.join("fdinfo")).into_iter().flatten().flatten().take(DESCRIPTORS_MAX) {
        let is_local = read_into(&entry.path(), &mut text).is_ok() && is_open_local(&text, &mounts);
        if !is_local || found.len() >= most {
            continue;
        }
        // readlink(2) of a descriptor's link asks no file system.
        let Ok(path) = std::fs::read_link(folder.join("fd").join(entry.file_name())) else { continue };
        // What is mapped is read by its mapping.
        if has_name(path.as_os_str().as_bytes()) && !mapped_here.contains(&path) {
            found.entry(path).or_default().is_unknown = true;
        }
    }
}

/// Deleted files have no name any more.
fn has_name(path: &[u8]) -> bool {
    path.starts_with(b"/") && !path.ends_with(b" (deleted)")
}

/// What is touched of a mapping, in pages of its file; `None` if that cannot be seen.
fn touched_in(map: &Pagemap, addresses: Range<u64>, offset: u64, left: &mut u64) -> Option<Vec<Range<u32>>> {
    let page = super::page_bytes();
    *left = left.checked_sub(addresses.end.saturating_sub(addresses.start) / page)?;
    let mut ranges: Vec<Range<u32>> = Vec::new();
    let (mut address, mut nth) = (addresses.start, u32::try_from(offset / page).ok()?);
    let mut entries = [0; BLOCK_PAGES];
    while address < addresses.end {
        let wanted = ((addresses.end - address) / page).clamp(1, BLOCK_PAGES as u64);
        let read = map.read(address, &mut entries[..wanted as usize]).ok().filter(|&read| read > 0)?;
        for entry in &entries[..read] {
            match ranges.last_mut() {
                _ if !Entry(*entry).is_touched() => {}
                Some(last) if last.end == nth => last.end += 1,
                _ => ranges.push(nth..nth.checked_add(1)?),
            }
            nth = nth.checked_add(1)?;
        }
        address += read as u64 * page;
    }
    Some(ranges)
}

/// ADDRESSES PERMISSIONS OFFSET DEVICE INODE PATH
fn mapped(line: &[u8], mounts: &LocalMounts) -> Option<(Range<u64>, u64, PathBuf)> {
    let mut fields = line.split(|&byte| byte == b' ').filter(|field| !field.is_empty());
    let hex = |text: &[u8]| u64::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok();
    let addresses = fields.next()?;
    let (start, end) = addresses.split_at(addresses.iter().position(|&byte| byte == b'-')?);
    let (addresses, offset) = (hex(start)?..hex(&end[1..])?, hex(fields.nth(1)?)?);
    let device = fields.next()?;
    fields.next().filter(|inode| *inode != b"0")?;
    let path = &line[line.iter().position(|&byte| byte == b'/')?..];
    let is_local = mounts.devices.contains(device) && has_name(path);
    is_local.then(|| (addresses, offset, PathBuf::from(OsString::from_vec(unescape(path)))))
}

/// Of /proc/PID/fdinfo/N: open for reading, on a local file system.
fn is_open_local(text: &[u8], mounts: &LocalMounts) -> bool {
    let field = |key: &[u8]| {
        let line = text.split(|&byte| byte == b'\n').find(|line| line.starts_with(key))?;
        std::str::from_utf8(&line[key.len()..]).ok().map(str::trim)
    };
    let flags = field(b"flags:").and_then(|octal| i64::from_str_radix(octal, 8).ok()).unwrap_or(-1);
    let reads = flags >= 0 && flags & i64::from(libc::O_ACCMODE) != i64::from(libc::O_WRONLY);
    let is_real = flags & i64::from(libc::O_PATH | libc::O_DIRECTORY) == 0;
    let mount = field(b"mnt_id:").and_then(|number| number.parse().ok());
    reads && is_real && mount.is_some_and(|mount| mounts.numbers.contains(&mount))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::capture;

    #[test]
    fn files_on_storage_of_this_machine_are_found_and_those_of_servers_are_not_asked_for() {
        let root = tempfile::tempdir().unwrap();
        let mountinfo = "22 1 8:2 / / rw - ext4 /dev/sda2 rw\n23 22 0:40 / /home/a/net rw - nfs4 server:/ rw\n\
            24 22 0:41 / /home/a/fuse rw - fuse.sshfs x rw\n25 22 0:31 /home /home rw - btrfs /dev/sda3 rw\n\
            26 22 8:17 / /win rw - fuseblk /dev/sdb1 rw\n27 22 0:50 / /merged rw - overlay overlay rw\n";
        capture(root.path(), "proc/7/mountinfo", mountinfo);
        let maps = "55a0-55b0 r-xp 00000000 08:02 131 /usr/bin/gimp\n\
            7f00-7f10 r--p 00000000 08:02 132 /usr/lib/with\\040space.so\n\
            7f10-7f20 r--p 00000000 08:02 133 /usr/lib/old.so (deleted)\n\
            7f20-7f30 r--p 00000000 00:28 5 /home/a/net/plugin.so\n\
            7f30-7f40 r--p 00000000 00:29 5 /home/a/fuse/plugin.so\n\
            7f40-7f50 r--p 00000000 00:1f 6 /home/a/.cache/icons\n\
            7f50-7f60 r--p 00000000 08:11 6 /win/font.ttf\n\
            7f60-7f70 r--p 00000000 00:32 6 /merged/lib.so\n\
            7f70-7f80 rw-p 00000000 00:00 0 [heap]\n";
        capture(root.path(), "proc/7/maps", maps);
        let open = |number: u32, flags: &str, mount: u32, path: &str| {
            capture(
                root.path(),
                &format!("proc/7/fdinfo/{number}"),
                &format!("pos:\t0\nflags:\t{flags}\nmnt_id:\t{mount}\n"),
            );
            std::fs::create_dir_all(root.path().join("proc/7/fd")).unwrap();
            std::os::unix::fs::symlink(path, root.path().join(format!("proc/7/fd/{number}"))).unwrap();
        };
        open(3, "0100000", 22, "/usr/share/data.db");
        open(4, "0100001", 22, "/var/log/written-only");
        open(5, "0100000", 24, "/home/a/fuse/slow");
        open(6, "02", 99, "socket:[1]");
        open(7, "0200000", 22, "/usr/share");
        open(8, "02100002", 25, "/home/a/.config/db");
        let mut found = BTreeMap::new();
        local_files(&Root::at(root.path()), 7, &mut found, 100);
        assert!(found.values().all(|touched| touched.is_unknown), "no pagemap tells: {found:?}");
        let found: Vec<_> = found.keys().map(|path| path.to_str().unwrap()).collect();
        let wanted = [
            "/home/a/.cache/icons",
            "/home/a/.config/db",
            "/usr/bin/gimp",
            "/usr/lib/with space.so",
            "/usr/share/data.db",
        ];
        assert_eq!(found, wanted);
    }
    #[test]
    fn what_is_touched_of_a_mapping_is_told_from_what_is_not() {
        let page = super::super::page_bytes() as usize;
        let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        std::io::Write::write_all(&mut file, &vec![1u8; 256 * page]).unwrap();
        let (null, prot) = (std::ptr::null_mut(), rustix::mm::ProtFlags::READ);
        // SAFETY: a new mapping of a file that nobody shortens.
        let at = unsafe {
            rustix::mm::mmap(null, 256 * page, prot, rustix::mm::MapFlags::PRIVATE, file.as_file(), 16 * page as u64)
        };
        let at = at.unwrap().cast::<u8>();
        // SAFETY: within the mapping and the file.
        assert_eq!(unsafe { at.add(100 * page).read_volatile() }, 1);
        let mut found = BTreeMap::new();
        local_files(&Root::at("/"), std::process::id(), &mut found, 10_000);
        let path = file.path().canonicalize().unwrap();
        let Some(touched) = found.get(&path) else {
            eprintln!("skipped: the project is on no local storage");
            return;
        };
        let has = |page: u32| touched.ranges.iter().any(|range| range.contains(&page));
        assert!(!touched.is_unknown && has(116) && !has(16) && !has(200), "{touched:?}");
    }
}

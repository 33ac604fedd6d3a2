// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The phone's flash: null_blk with the flash's request time, on memory added to the machine for it; a file system on it; and
//! the apps' files.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path};
use std::process::Command;

use fovea_scenario::{Flash, Plan, PAGE_BYTES};
use rustix::mount::MountFlags;

use crate::disk::volume;
use crate::file_content::{file_seed, write_page};
use crate::files::FLASH_ROOT;
use crate::memory::WORDS;
use crate::outcome::{read_file, write_file, At, Outcome};
use crate::reserved;

/// The block device's name, which is that of its configfs folder.
const DEVICE: &str = "n0";

/// Pages written at once: 1 MiB, as one long sequential request.
const CHUNK_PAGES: usize = 256;

/// A page-aligned buffer, as O_DIRECT wants it.
#[repr(C, align(4096))]
struct Chunk([[u64; WORDS]; CHUNK_PAGES]);

impl Chunk {
    fn new() -> Box<Self> {
        // SAFETY: allocated with its own layout (not of size zero) and zeroed, which is a valid value of plain numbers. On the
        // heap directly: 1 MiB is too much for a stack to pass through.
        unsafe {
            let layout = std::alloc::Layout::new::<Self>();
            let at = std::alloc::alloc_zeroed(layout).cast::<Self>();
            if at.is_null() {
                std::alloc::handle_alloc_error(layout);
            }
            Box::from_raw(at)
        }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: plain numbers without padding, read as bytes.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), size_of_val(&self.0)) }
    }
}

/// Makes the device, its file system and all files that the plan's apps use; drops them from the page cache at the end.
pub fn set_up(plan: &Plan) -> Outcome<()> {
    let files = files_of(plan)?;
    make_device(DEVICE, &plan.phone.flash)?;
    let mut lower = Path::new("/dev").join(DEVICE);
    let is_ordered = plan.configuration.combined.is_some();
    if let Some(setting) = plan.configuration.disk.filter(|_| is_ordered) {
        lower = volume::ordered(&lower, plan.phone.flash.size_bytes, plan.phone.flash.rate_bytes(), setting)?;
    }
    let volume = reserved::volume(plan, &lower)?;
    let device = volume.display().to_string();
    let output = Command::new("/bin/busybox")
        .args(["mke2fs", "-F", "-b", "4096", "-m", "0", &device])
        .output()
        .at(|| "running /bin/busybox mke2fs".into())?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("mke2fs on {device}: {}", said.lines().last().unwrap_or("no word why")));
    }
    std::fs::create_dir_all(FLASH_ROOT).at(|| format!("making {FLASH_ROOT}"))?;
    rustix::mount::mount(device.as_str(), FLASH_ROOT, "ext2", MountFlags::NOATIME, None)
        .at(|| format!("mounting {device} on {FLASH_ROOT}"))?;
    for (path, size_bytes) in &files {
        write_app_file(Path::new(FLASH_ROOT), path, *size_bytes)
            .map_err(|e| format!("{e}: is the phone's flash.size_bytes large enough?"))?;
    }
    if is_ordered {
        volume::fill_flash(Path::new(FLASH_ROOT))?;
    }
    rustix::fs::sync();
    write_file("/proc/sys/vm/drop_caches", "3")
}

/// Bytes read from the flash since boot.
pub fn read_bytes() -> Outcome<u64> {
    let path = format!("/sys/block/{DEVICE}/stat");
    parse_sectors_read(&read_file(&path)?).ok_or_else(|| format!("{path}: no third field"))
}

/// Bytes written to the flash since boot.
pub fn written_bytes() -> Outcome<u64> {
    let path = format!("/sys/block/{DEVICE}/stat");
    parse_sectors(&read_file(&path)?, 6).ok_or_else(|| format!("{path}: no seventh field"))
}

/// Third field of a block device's `stat`: sectors of 512 bytes read (Documentation/block/stat.rst).
fn parse_sectors_read(stat: &str) -> Option<u64> {
    parse_sectors(stat, 2)
}

/// A field that counts sectors, in bytes.
fn parse_sectors(stat: &str, field: usize) -> Option<u64> {
    stat.split_ascii_whitespace().nth(field)?.parse::<u64>().ok().map(|sectors| sectors * 512)
}

/// The device's read-ahead: left as the kernel sets it, and said on the console.
pub fn read_ahead_kib() -> Outcome<String> {
    Ok(read_file(format!("/sys/block/{DEVICE}/queue/read_ahead_kb"))?.trim().to_owned())
}

/// Makes a block device /dev/NAME, and has it take all its memory.
pub fn make_device(name: &str, flash: &Flash) -> Outcome<()> {
    let folder = Path::new("/sys/kernel/config/nullb").join(name);
    std::fs::create_dir(&folder).at(|| format!("making {} (is the module null_blk there?)", folder.display()))?;
    let size_mib = flash.size_bytes.div_ceil(1 << 20);
    // One command at a time, none longer than this: what is longer is split by the kernel, and the pieces queue up.
    let bounds = flash.command_bytes.map(|bytes| [("max_sectors", bytes / 512), ("hw_queue_depth", 1)]);
    for (name, value) in bounds.into_iter().flatten() {
        write_file(folder.join(name), &value.to_string())?;
    }
    for (name, value) in [
        ("size", size_mib),
        ("blocksize", PAGE_BYTES as u64),
        ("memory_backed", 1),
        // Completion by a timer: the time of a request passes without the CPU.
        ("irqmode", 2),
        ("completion_nsec", flash.request_ns),
        ("submit_queues", 1),
        ("power", 1),
    ] {
        write_file(folder.join(name), &value.to_string())?;
    }
    occupy(name, flash.size_bytes)
}

/// Writes the whole device once. null_blk takes a block's memory at its first write; taking all of it now makes the phone's memory
/// the same whatever the apps' files fill.
fn occupy(name: &str, size_bytes: u64) -> Outcome<()> {
    let path = format!("/dev/{name}");
    let mut device =
        OpenOptions::new().write(true).custom_flags(libc::O_DIRECT).open(&path).at(|| format!("opening {path}"))?;
    let chunk = Chunk::new();
    for _ in 0..size_bytes.div_ceil(1 << 20) {
        device.write_all(chunk.bytes()).at(|| format!("writing {path}"))?;
    }
    Ok(())
}

/// Every file that the apps use, once, with the largest size that any of them names.
fn files_of(plan: &Plan) -> Outcome<BTreeMap<String, u64>> {
    let mut files = BTreeMap::new();
    for app in &plan.apps {
        for file in app.files() {
            let inside =
                !file.path.is_empty() && Path::new(&file.path).components().all(|c| matches!(c, Component::Normal(_)));
            if !inside {
                return Err(format!(
                    "app {}: file {:?} is not a path below the flash: leave out / and ..",
                    app.name, file.path
                ));
            }
            let size = files.entry(file.path.clone()).or_insert(0);
            *size = file.size_bytes.max(*size);
        }
    }
    Ok(files)
}

/// Writes one file below `root` with the content that [`crate::file_content`] defines.
pub fn write_app_file(root: &Path, path: &str, size_bytes: u64) -> Outcome<()> {
    write_content(&root.join(path), file_seed(path), size_bytes)
}

/// Writes a file with the content of that seed.
pub fn write_content(to: &Path, seed: u64, size_bytes: u64) -> Outcome<()> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder).at(|| format!("making {}", folder.display()))?;
    }
    let mut file = File::create(to).at(|| format!("making {}", to.display()))?;
    let mut chunk = Chunk::new();
    let mut page = 0;
    let mut left = size_bytes;
    while left > 0 {
        for words in chunk.0.iter_mut().take(left.div_ceil(PAGE_BYTES as u64) as usize) {
            write_page(seed, page, words);
            page += 1;
        }
        let bytes = left.min((CHUNK_PAGES * PAGE_BYTES) as u64);
        file.write_all(&chunk.bytes()[..bytes as usize]).at(|| format!("writing {}", to.display()))?;
        left -= bytes;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_read_is_the_third_field() {
        let stat =
            "     446       10     7168      734       52        0      416       21        0      724      755\n";
        assert_eq!(parse_sectors_read(stat), Some(7168 * 512));
        assert_eq!(parse_sectors(stat, 6), Some(416 * 512), "written");
        assert_eq!(parse_sectors_read("1 2"), None);
        assert_eq!(parse_sectors_read("a b c"), None);
    }
}

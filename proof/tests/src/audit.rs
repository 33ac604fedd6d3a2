// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Looking at everything at the end: each block through its target against the same block of the disk, and the kernel's log.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use crate::content::Contents;
use crate::kernel::{open_direct, Outcome};
use crate::raw::{Pages, PAGE};
use crate::report::Report;

/// Blocks read at once.
const CHUNK: usize = 64;

/// A target under test and the disk at its bottom, where each block is at the same place.
pub struct Sides<'a> {
    pub name: &'a str,
    pub node: &'a Path,
    pub disk: &'a Path,
    pub size_bytes: u64,
}

/// Reads every block past the page cache through the target and from the disk below. What differs is a frame that is not the block
/// it stands for, be the block a file's, the file system's, or free.
pub fn compare(volume: &Sides, contents: &Contents, report: &Report) -> Outcome<()> {
    let (upper, lower) = (open_direct(volume.node)?, open_direct(volume.disk)?);
    let [mut above, mut below, mut again] = [Pages::new(CHUNK), Pages::new(CHUNK), Pages::new(CHUNK)];
    let blocks = (volume.size_bytes / PAGE as u64) as usize;
    let (mut wrong, mut moving) = (0u64, 0u64);
    for first in (0..blocks).step_by(CHUNK) {
        let count = CHUNK.min(blocks - first);
        let at = (first * PAGE) as u64;
        let read =
            |file: &File, into: &mut [u8]| file.read_exact_at(into, at).map_err(|e| format!("block {first}: {e}"));
        read(&lower, below.bytes(count))?;
        read(&upper, above.bytes(count))?;
        if above.bytes(count) == below.bytes(count) {
            continue;
        }
        read(&lower, again.bytes(count))?;
        for block in 0..count {
            let range = block * PAGE..(block + 1) * PAGE;
            let (above, below) = (&above.bytes(count)[range.clone()], &below.bytes(count)[range.clone()]);
            if above == below {
                continue;
            }
            // Written in between (a mounted file system's journal): says nothing.
            if &again.bytes(count)[range] != below {
                moving += 1;
                continue;
            }
            wrong += 1;
            report.fail(format_args!(
                "wrong content: block {} of {} is {} in the cache and {} on disk",
                first + block,
                volume.name,
                contents.recognise(above),
                contents.recognise(below)
            ));
        }
    }
    if wrong == 0 {
        report.check(
            format_args!("{}: every block equals the disk's", volume.name),
            true,
            format_args!("{blocks}, {moving} moving"),
        );
    }
    Ok(())
}

/// The kernel's log from some moment on.
pub struct KernelLog(File);

impl KernelLog {
    /// From the beginning.
    pub fn all() -> io::Result<KernelLog> {
        File::options().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg").map(KernelLog)
    }

    /// From now on.
    pub fn new() -> io::Result<KernelLog> {
        let mut log = KernelLog::all()?;
        log.0.seek(SeekFrom::End(0))?;
        Ok(log)
    }

    /// Lines since the last call: how bad they are (0 to 7, less is worse), and the text.
    pub fn lines(&mut self) -> Vec<(u8, String)> {
        let mut lines = Vec::new();
        let mut record = [0; 8192];
        loop {
            match self.0.read(&mut record) {
                Ok(length) => lines.extend(parse(&record[..length])),
                // Overwritten before it was read: the next read goes on with what is left.
                Err(e) if e.raw_os_error() == Some(libc::EPIPE) => {}
                Err(_) => return lines,
            }
        }
    }
}

/// `PRIORITY,NUMBER,TIME,FLAGS;TEXT` and further lines with properties.
fn parse(record: &[u8]) -> Option<(u8, String)> {
    let text = String::from_utf8_lossy(record);
    let (head, text) = text.split_once(';')?;
    let priority: u32 = head.split(',').next()?.parse().ok()?;
    Some(((priority & 7) as u8, text.lines().next()?.to_owned()))
}

/// What lines of the modules under test begin with.
const OURS: [&str; 4] = ["dm_ecache:", "fovea_heap:", "fovea_system_heap:", "contig_heap:"];

/// What no line of the log may say.
pub const BAD: [&str; 19] = [
    "WARNING:",
    "BUG:",
    // The slab allocator's own.
    "BUG ",
    "UBSAN:",
    "ODEBUG:",
    "DMA-API:",
    // Pages that cannot be taken offline are shown as well.
    "page dumped because: VM_",
    "trying to register non-static key",
    // A checker that gave up says nothing any more.
    "turning off the locking correctness validator",
    "kmemleak: Kernel memory leak detector disabled",
    "Oops",
    "Call Trace",
    "general protection",
    "blocked for more than",
    "detected stall",
    "corruption",
    "EXT4-fs error",
    "Aborting journal",
    "Out of memory",
];

/// Lines of the log shown after a bad one.
const SHOWN_LINES: u32 = 40;

/// Watches the log for what must not be there. It is looked at all the time: it holds some thousand lines only.
pub struct Watch {
    log: KernelLog,
    seen: usize,
    /// What the module is meant to say; empty for nothing.
    due: &'static str,
    /// What no line may say, but for this time.
    expected: &'static [&'static str],
}

impl Watch {
    /// Everything from now on.
    pub fn new(due: &'static str) -> io::Result<Watch> {
        Ok(Watch { log: KernelLog::new()?, seen: 0, due, expected: &[] })
    }

    /// The next look passes lines over that say one of these.
    pub fn expect(&mut self, bad: &'static [&'static str]) {
        self.expected = bad;
    }

    /// Looks at what is new. `refusals`: the module was given bad input, and has said so. What follows a bad line, such as a stack, is shown.
    pub fn look(&mut self, report: &Report, refusals: bool) {
        let lines = self.log.lines();
        self.seen += lines.len();
        let expected = std::mem::take(&mut self.expected);
        let mut shown = 0;
        for (priority, line) in lines {
            let due = !self.due.is_empty() && line.contains(self.due);
            let ours = OURS.iter().any(|module| line.starts_with(module));
            let complaint = priority <= 4 && ours && !refusals && !due;
            let bad = BAD.iter().any(|bad| line.contains(bad));
            if (complaint || bad) && !expected.iter().any(|bad| line.contains(bad)) {
                report.fail(format_args!("kernel log: {line}"));
                shown = SHOWN_LINES;
            } else if shown > 0 {
                println!("     {line}");
                shown -= 1;
            }
        }
    }

    /// How many lines there were.
    pub fn seen(&self) -> usize {
        self.seen
    }
}

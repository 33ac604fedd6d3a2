// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The console of a running guest: its last lines, and whether its kernel broke down.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use crate::error::FailureReason;
use crate::stream::{readable, LINE_LIMIT_BYTES};

/// Lines kept for an error message.
const TAIL_LINES: usize = 20;

/// Follows the console's log file.
#[derive(Debug)]
pub(crate) struct ConsoleTail {
    path: PathBuf,
    file: Option<File>,
    partial: Vec<u8>,
    lines: VecDeque<String>,
    panic: Option<String>,
    breakpoint: Breakpoint,
}

/// Whether a breakpoint was hit that is not there. The kernel changes its own code (tracepoints, static keys) under a breakpoint, and
/// takes that away when every CPU knows. QEMU before 8.1 (its commit deba78709a) can run it all the same if another of its CPU threads
/// translated the code just then: two CPUs in which tracepoints are enabled and disabled all the time break down within a minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Breakpoint {
    #[default]
    None,
    /// The kernel complains of one, and has not shown its code yet.
    Hit,
    /// The code had none.
    Stale,
}

impl ConsoleTail {
    pub(crate) fn new(path: PathBuf) -> ConsoleTail {
        ConsoleTail {
            path,
            file: None,
            partial: Vec::new(),
            lines: VecDeque::new(),
            panic: None,
            breakpoint: Breakpoint::None,
        }
    }

    /// Reads what has been written since the last time, and says whether there was anything. A file that is not there (yet) is an empty one.
    pub(crate) fn poll(&mut self) -> bool {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        let Some(file) = &mut self.file else { return false };
        let mut fresh = Vec::new();
        // A read error ends the reading like the file's end does: the log stays on disk for the user.
        let _ = file.read_to_end(&mut fresh);
        self.push(&fresh);
        !fresh.is_empty()
    }

    fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte == b'\n' || self.partial.len() >= LINE_LIMIT_BYTES {
                let line = readable(&std::mem::take(&mut self.partial));
                self.end_line(line);
            } else {
                self.partial.push(byte);
            }
        }
    }

    fn end_line(&mut self, line: String) {
        if line.is_empty() {
            return;
        }
        if self.panic.is_none() {
            self.panic = panic_reason(&line);
        }
        self.breakpoint = match self.breakpoint {
            Breakpoint::None if line.contains("Oops: int3:") => Breakpoint::Hit,
            Breakpoint::Hit => match byte_before_rip(&line) {
                Some("cc") => Breakpoint::None,
                Some(_) => Breakpoint::Stale,
                None => Breakpoint::Hit,
            },
            other => other,
        };
        if self.lines.len() == TAIL_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    /// Why the kernel broke down, if it did.
    pub(crate) fn breakdown(&self) -> Option<FailureReason> {
        match self.breakpoint {
            Breakpoint::Stale => Some(FailureReason::StaleBreakpoint),
            _ => self.panic.clone().map(FailureReason::Panic),
        }
    }

    /// The last lines, the unfinished one included.
    pub(crate) fn tail(&self) -> Vec<String> {
        let mut lines = self.lines.clone();
        let last = readable(&self.partial);
        if !last.is_empty() {
            lines.push_back(last);
        }
        lines.into_iter().rev().take(TAIL_LINES).rev().collect()
    }
}

/// Why the kernel panicked, if this line of the console says it did.
fn panic_reason(line: &str) -> Option<String> {
    const BEGIN: &str = "Kernel panic - not syncing: ";
    if let Some((_, reason)) = line.split_once(BEGIN) {
        // The closing line repeats the reason, with a mark at its end.
        return Some(reason.trim_end_matches(" ]---").to_owned());
    }
    line.contains("---[ end Kernel panic").then(|| "the console log says more".to_owned())
}

/// The byte before the instruction pointer, which a breakpoint leaves behind itself, of a line that shows code: "Code: 66 cc <90> 48".
fn byte_before_rip(line: &str) -> Option<&str> {
    let (before, _) = line.split_once("Code: ")?.1.split_once(" <")?;
    before.rsplit(' ').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_seen_and_its_reason_kept() {
        let mut console = ConsoleTail::new("/nowhere".into());
        console.poll();
        console.push(b"[    1.0] all is well\r\n[    2.0] Kernel panic - not syn");
        assert_eq!(console.breakdown(), None);
        console.push(b"cing: Attempted to kill init! exitcode=0x00000100\r\n[    2.1] CPU: 0\r\n");
        console.push(b"[    2.2] ---[ end Kernel panic - not syncing: Attempted to kill init! ]---\r\n");
        let reason = "Attempted to kill init! exitcode=0x00000100".to_owned();
        assert_eq!(console.breakdown(), Some(FailureReason::Panic(reason)));
        assert_eq!(panic_reason("---[ end Kernel panic - not syncing: x ]---").as_deref(), Some("x"));
        assert_eq!(panic_reason("Kernel panics are bad"), None);
    }

    fn breakdown(lines: &[&str]) -> Option<FailureReason> {
        let mut console = ConsoleTail::new("/nowhere".into());
        lines.iter().for_each(|line| console.push(format!("{line}\r\n").as_bytes()));
        console.breakdown()
    }

    #[test]
    fn a_breakpoint_that_is_not_there_is_qemus() {
        const OOPS: &str = "[   16.838117] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI";
        const RIP: &str = "[   16.838620] RIP: 0010:ttwu_do_activate+0x8d/0x220";
        const PANIC: &str = "[   16.845318] Kernel panic - not syncing: Fatal exception in interrupt";
        let code = |before: &str| format!("[   16.839030] Code: 43 18 00 00 00 00 {before} <90> 48 8b 83 a8 02 00 00");
        let panic = Some(FailureReason::Panic("Fatal exception in interrupt".into()));
        assert_eq!(breakdown(&[OOPS, RIP, &code("66")]), Some(FailureReason::StaleBreakpoint), "before its panic");
        assert_eq!(breakdown(&[OOPS, RIP, &code("66"), PANIC]), Some(FailureReason::StaleBreakpoint));
        assert_eq!(breakdown(&[OOPS, RIP, &code("cc"), &code("66"), PANIC]), panic, "the kernel's own");
        assert_eq!(breakdown(&["Oops: general protection fault", &code("66"), PANIC]), panic);
        assert_eq!(breakdown(&[OOPS, "Code: Unable to access opcode bytes", PANIC]), panic);
        assert_eq!(breakdown(&[&code("66")]), None);
    }

    #[test]
    fn the_tail_is_the_last_twenty_lines_made_readable() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("console.log");
        let mut console = ConsoleTail::new(path.clone());
        let text: String = (0..30).map(|n| format!("line\t{n}\x07\r\n\r\n")).collect();
        std::fs::write(&path, text + "torn").unwrap();
        console.poll();
        let tail = console.tail();
        assert_eq!(tail.len(), TAIL_LINES);
        assert_eq!((tail[0].as_str(), tail[19].as_str()), ("line 11", "torn"));
    }
}

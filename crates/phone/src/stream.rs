// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What comes out of a running guest: the stream of events, and the console.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use fovea_scenario::Event;

/// Longest line that can be an event; what is longer is garbage, and is not kept.
const LINE_LIMIT_BYTES: usize = 4 << 20;
/// Lines of the console kept for an error message.
pub(crate) const TAIL_LINES: usize = 20;

/// One line of the event stream.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// An event.
    Event(Event),
    /// Something else: its beginning, made readable.
    Garbage(String),
}

/// Cuts bytes as they come into events.
#[derive(Debug, Default)]
pub struct EventParser {
    partial: Vec<u8>,
    /// The line at hand is too long; it is skipped to its end.
    skipping: bool,
}

impl EventParser {
    /// Takes more bytes and gives the lines they complete.
    pub fn push(&mut self, mut bytes: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
            self.take(&bytes[..end]);
            lines.extend(self.end_line());
            bytes = &bytes[end + 1..];
        }
        self.take(bytes);
        lines
    }

    /// The last line, if the stream ended without a newline.
    pub fn finish(&mut self) -> Option<Line> {
        self.end_line()
    }

    fn take(&mut self, bytes: &[u8]) {
        let room = LINE_LIMIT_BYTES - self.partial.len();
        self.skipping |= bytes.len() > room;
        self.partial.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn end_line(&mut self) -> Option<Line> {
        let line = std::mem::take(&mut self.partial);
        let too_long = std::mem::take(&mut self.skipping);
        let text = line.trim_ascii();
        if text.is_empty() {
            return None;
        }
        if !too_long {
            if let Ok(event) = serde_json::from_slice(text) {
                return Some(Line::Event(event));
            }
        }
        Some(Line::Garbage(readable(&text[..text.len().min(200)])))
    }
}

/// Follows the console's log file.
#[derive(Debug)]
pub(crate) struct ConsoleTail {
    path: PathBuf,
    file: Option<File>,
    partial: Vec<u8>,
    lines: VecDeque<String>,
    panic: Option<String>,
}

impl ConsoleTail {
    pub(crate) fn new(path: PathBuf) -> ConsoleTail {
        ConsoleTail { path, file: None, partial: Vec::new(), lines: VecDeque::new(), panic: None }
    }

    /// Reads what has been written since the last time. A file that is not there (yet) is an empty one.
    pub(crate) fn poll(&mut self) {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        let Some(file) = &mut self.file else { return };
        let mut fresh = Vec::new();
        // A read error ends the reading like the file's end does: the log stays on disk for the user.
        let _ = file.read_to_end(&mut fresh);
        self.push(&fresh);
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
        if self.lines.len() == TAIL_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    /// Why the kernel panicked, if it did.
    pub(crate) fn panic(&self) -> Option<&str> {
        self.panic.as_deref()
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

/// Text for the user: no control characters, which could do things to a terminal.
fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.trim_end().chars().map(|c| if c == '\t' { ' ' } else { c }).filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fovea_scenario::EventBody;
    use proptest::prelude::*;

    fn step(index: usize) -> Event {
        Event { t_ns: index as u64 * 10, body: EventBody::Step { index } }
    }

    fn wire(event: &Event) -> Vec<u8> {
        let mut line = serde_json::to_vec(event).unwrap();
        line.push(b'\n');
        line
    }

    #[test]
    fn garbage_is_told_from_events_and_loses_none() {
        let mut bytes = wire(&step(0));
        bytes.extend_from_slice(b"\x1b[31mhello\xff\n\r\n{\"t_ns\":1,\"event\":\"no-such\"}\n");
        bytes.extend(wire(&step(1)));
        bytes.extend_from_slice(b"{\"t_ns\":");
        let mut parser = EventParser::default();
        let lines = parser.push(&bytes);
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[0], Line::Event(step(0)));
        assert_eq!(lines[1], Line::Garbage("[31mhello\u{fffd}".into()));
        assert!(matches!(&lines[2], Line::Garbage(text) if text.contains("no-such")));
        assert_eq!(lines[3], Line::Event(step(1)));
        assert_eq!(parser.finish(), Some(Line::Garbage("{\"t_ns\":".into())), "torn at the end");
        assert_eq!(parser.finish(), None);
    }

    #[test]
    fn a_line_without_end_does_not_fill_the_memory() {
        let mut parser = EventParser::default();
        for _ in 0..10 {
            assert!(parser.push(&[b'x'; LINE_LIMIT_BYTES / 4]).is_empty());
        }
        assert!(parser.partial.len() <= LINE_LIMIT_BYTES);
        let mut end = b"\n".to_vec();
        end.extend(wire(&step(3)));
        let lines = parser.push(&end);
        assert!(matches!(&lines[0], Line::Garbage(text) if text.len() == 200));
        assert_eq!(lines[1], Line::Event(step(3)));
    }

    proptest! {
        #[test]
        fn how_the_stream_is_torn_makes_no_difference(
            count in 1usize..20,
            noise in proptest::collection::vec(any::<u8>(), 0..60),
            at in 0usize..20,
            cuts in proptest::collection::vec(1usize..50, 1..60),
        ) {
            let mut bytes = Vec::new();
            for index in 0..count {
                if index == at % count {
                    bytes.extend_from_slice(&noise);
                    bytes.push(b'\n');
                }
                bytes.extend(wire(&step(index)));
            }
            let mut whole = EventParser::default();
            let expected: Vec<Line> = whole.push(&bytes).into_iter().chain(whole.finish()).collect();
            let events = expected.iter().filter(|line| matches!(line, Line::Event(_))).count();
            prop_assert_eq!(events, count);
            let (mut torn, mut found, mut rest) = (EventParser::default(), Vec::new(), &bytes[..]);
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                found.extend(torn.push(piece));
                rest = after;
            }
            found.extend(torn.finish());
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_panic_is_seen_and_its_reason_kept() {
        let mut console = ConsoleTail::new("/nowhere".into());
        console.poll();
        console.push(b"[    1.0] all is well\r\n[    2.0] Kernel panic - not syn");
        assert_eq!(console.panic(), None);
        console.push(b"cing: Attempted to kill init! exitcode=0x00000100\r\n[    2.1] CPU: 0\r\n");
        console.push(b"[    2.2] ---[ end Kernel panic - not syncing: Attempted to kill init! ]---\r\n");
        assert_eq!(console.panic(), Some("Attempted to kill init! exitcode=0x00000100"));
        assert_eq!(panic_reason("---[ end Kernel panic - not syncing: x ]---").as_deref(), Some("x"));
        assert_eq!(panic_reason("Kernel panics are bad"), None);
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

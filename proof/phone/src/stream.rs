// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The stream of events that comes out of a running guest.

use fovea_scenario::Event;

/// Longest line that can be an event; what is longer is garbage, and is not kept.
pub(crate) const LINE_LIMIT_BYTES: usize = 4 << 20;

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

/// Text for the user: no control characters, which could do things to a terminal.
pub(crate) fn readable(bytes: &[u8]) -> String {
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
}

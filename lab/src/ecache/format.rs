// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Traces of the eCache's interface as text, so that a phone's can be recorded by whatever is at hand (a tracepoint's output through
//! awk) and replayed here. `docs/guide/lab-formats.md` has the format:
//!
//! ```text
//! # fovea ecache trace 1
//! device mfc0 8704
//! 1500000 get 12 7
//! 1510000 put 12 3
//! 2000000 alloc mfc0 8704
//! 9000000 free mfc0
//! ```

use std::{
    collections::HashMap,
    fs::File,
    io::{BufRead, BufReader, BufWriter, Read, Write},
    path::Path,
};

use super::{Device, Event, Key, Trace};
use crate::{Error, Result};

/// The first line; the number is the format's version.
const HEADER: &str = "# fovea ecache trace 1";

const SECOND_NS: u64 = 1_000_000_000;

/// Seconds without any event after which a trace is taken for broken: a week.
const LONGEST_PAUSE_SECONDS: u64 = 7 * 24 * 3600;

/// Most devices; the core's own bound is as many.
const MOST_DEVICES: usize = 255;

/// Builds a trace from lines.
#[derive(Default)]
struct Reading {
    trace: Trace,
    pages: HashMap<Key, u32>,
    /// Any page of a file, for dropping it. Files are numbered in order of appearance: inode numbers may be greater than the
    /// core's objects.
    files: HashMap<u64, u32>,
    /// Of the first event, and the seconds told since.
    begin_ns: Option<u64>,
    seconds: u64,
    last_ns: u64,
    held: Vec<bool>,
}

fn number<T: std::str::FromStr>(field: Option<&str>, what: &str) -> Result<T, String> {
    let field = field.ok_or_else(|| format!("no {what}"))?;
    field.parse().map_err(|_| format!("{what} {field:?} is no number"))
}

impl Reading {
    fn page(&mut self, file: u64, index: u64) -> Result<u32, String> {
        let next = u32::try_from(self.pages.len()).ok().filter(|&n| n < u32::MAX - 16);
        let next = next.ok_or("more than 4 billion distinct pages")?;
        let known = self.files.get(&file).map(|&page| self.trace.pages[page as usize].object);
        let key = Key { object: known.unwrap_or(self.files.len() as u64), index };
        if !key.is_in_range() {
            return Err(format!("more than {} files, or a page beyond {}", Key::MAX_OBJECT, Key::MAX_INDEX));
        }
        let page = *self.pages.entry(key).or_insert(next);
        if page == next {
            self.trace.pages.push(key);
            self.files.entry(file).or_insert(page);
        }
        Ok(page)
    }

    fn time(&mut self, now_ns: u64) -> Result<(), String> {
        let begin_ns = *self.begin_ns.get_or_insert(now_ns);
        if now_ns < self.last_ns {
            return Err(format!("time goes back from {} to {now_ns}", self.last_ns));
        }
        self.last_ns = now_ns;
        let seconds = (now_ns - begin_ns) / SECOND_NS;
        if seconds - self.seconds > LONGEST_PAUSE_SECONDS {
            return Err(format!("nothing for {} seconds; times are in nanoseconds", seconds - self.seconds));
        }
        self.trace.events.extend((self.seconds..seconds).map(|_| Event::Second));
        self.seconds = seconds;
        Ok(())
    }

    fn device(&self, name: Option<&str>) -> Result<u8, String> {
        let name = name.ok_or("no device")?;
        let at = self.trace.devices.iter().position(|d| d.name == name);
        at.map(|at| at as u8).ok_or_else(|| format!("device {name:?} has no `device` line"))
    }

    fn declare(&mut self, name: Option<&str>, frames: Option<&str>) -> Result<(), String> {
        let name = name.ok_or("no device name")?;
        let frames = number(frames, "number of frames")?;
        if frames == 0 || self.trace.devices.iter().any(|d| d.name == name) || self.begin_ns.is_some() {
            return Err(format!("device {name:?}: of no frames, declared twice, or after the first event"));
        }
        if self.trace.devices.len() == MOST_DEVICES {
            return Err(format!("more than {MOST_DEVICES} devices"));
        }
        self.trace.devices.push(Device { name: name.into(), frames });
        self.held.push(false);
        Ok(())
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let mut fields = line.split_ascii_whitespace();
        let Some(first) = fields.next().filter(|f| !f.starts_with('#')) else { return Ok(()) };
        if first == "device" {
            self.declare(fields.next(), fields.next())?;
        } else {
            self.time(number(Some(first), "time")?)?;
            let event = self.event(&mut fields)?;
            self.trace.events.extend(event);
        }
        fields.next().map_or(Ok(()), |more| Err(format!("{more:?} is too much")))
    }

    fn event<'f>(&mut self, fields: &mut impl Iterator<Item = &'f str>) -> Result<Option<Event>, String> {
        let what = fields.next().ok_or("no event after the time")?;
        let mut page = || {
            let file = number(fields.next(), "file")?;
            self.page(file, number(fields.next(), "page")?)
        };
        Ok(Some(match what {
            "put" => Event::Put(page()?),
            "get" => Event::Get(page()?),
            "flush" => Event::FlushPage(page()?),
            // A file that no page was ever named of has nothing to drop.
            "flush-file" => match self.files.get(&number(fields.next(), "file")?) {
                Some(&page) => Event::FlushFile(page),
                None => return Ok(None),
            },
            "alloc" => {
                let device = self.device(fields.next())?;
                let frames = number(fields.next(), "number of frames")?;
                let reserved = &self.trace.devices[usize::from(device)];
                if frames == 0 || frames > reserved.frames {
                    return Err(format!("{} asks for {frames} frames, of {} reserved", reserved.name, reserved.frames));
                }
                if std::mem::replace(&mut self.held[usize::from(device)], true) {
                    return Err(format!("{} allocates twice without freeing", reserved.name));
                }
                Event::Alloc { device, frames }
            }
            "free" => {
                let device = self.device(fields.next())?;
                self.held[usize::from(device)] = false;
                Event::Free { device }
            }
            other => return Err(format!("event {other:?} is none of put, get, flush, flush-file, alloc, free")),
        }))
    }
}

/// Reads a trace; it may be compressed with zstd.
///
/// # Errors
/// At the first line that is wrong, with its number.
pub fn read(path: &Path) -> Result<Trace> {
    let failed = |e| Error::read(path, e);
    let wrong = |place: String, what: String| Error::Content {
        path: path.display().to_string(),
        place,
        what,
        mend: "docs/guide/lab-formats.md has the format".into(),
    };
    let mut start = [0; 4];
    let got = File::open(path).and_then(|mut f| f.read(&mut start)).map_err(failed)?;
    let file = File::open(path).map_err(failed)?;
    let mut lines: Box<dyn BufRead> = if got == 4 && start == [0x28, 0xb5, 0x2f, 0xfd] {
        Box::new(BufReader::new(zstd::Decoder::new(file).map_err(failed)?))
    } else {
        Box::new(BufReader::new(file))
    };
    let mut reading = Reading::default();
    reading.trace.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let (mut line, mut at) = (Vec::new(), 0u64);
    while lines.by_ref().take(4096).read_until(b'\n', &mut line).map_err(failed)? > 0 {
        at += 1;
        let text = std::str::from_utf8(&line).map_err(|_| wrong(format!("line {at}"), "not text".into()))?;
        if at == 1 && text.trim_end() != HEADER {
            return Err(wrong("line 1".into(), format!("not {HEADER:?}")));
        }
        reading.line(text).map_err(|what| wrong(format!("line {at}"), what))?;
        line.clear();
    }
    if reading.trace.devices.is_empty() || reading.trace.events.is_empty() {
        return Err(wrong("end of file".into(), "no device, or no event".into()));
    }
    Ok(reading.trace)
}

/// Writes a trace, compressed with zstd if the name ends so. Events within a second are written at its begin.
///
/// # Errors
/// If the file cannot be written.
pub fn write(trace: &Trace, path: &Path) -> Result<()> {
    let failed = |e| Error::io(path, e, "make room and write it again");
    let file = File::create(path).map_err(failed)?;
    if path.extension().is_some_and(|e| e == "zst") {
        let mut encoder = zstd::Encoder::new(file, 0).map_err(failed)?;
        write_lines(trace, &mut encoder).and_then(|()| encoder.finish().map(drop)).map_err(failed)
    } else {
        let mut out = BufWriter::new(file);
        write_lines(trace, &mut out).and_then(|()| out.flush()).map_err(failed)
    }
}

fn write_lines(trace: &Trace, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "{HEADER}")?;
    for Device { name, frames } in &trace.devices {
        writeln!(out, "device {name} {frames}")?;
    }
    let mut now_ns = 0u64;
    for event in &trace.events {
        let key = |page: u32| {
            let Key { object, index } = trace.pages[page as usize];
            format!("{object} {index}")
        };
        let device = |device: u8| trace.devices[usize::from(device)].name.as_str();
        match *event {
            Event::Second => now_ns += SECOND_NS,
            Event::Put(page) => writeln!(out, "{now_ns} put {}", key(page))?,
            Event::Get(page) => writeln!(out, "{now_ns} get {}", key(page))?,
            Event::FlushPage(page) => writeln!(out, "{now_ns} flush {}", key(page))?,
            Event::FlushFile(page) => writeln!(out, "{now_ns} flush-file {}", trace.pages[page as usize].object)?,
            Event::Alloc { device: d, frames } => writeln!(out, "{now_ns} alloc {} {frames}", device(d))?,
            Event::Free { device: d } => writeln!(out, "{now_ns} free {}", device(d))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ecache::{generate, replay, GenerateOptions, RegionPolicy};

    fn read_text(text: &str) -> Result<Trace> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        read(file.path())
    }

    #[test]
    fn a_trace_written_and_read_replays_the_same() {
        let trace = generate(&GenerateOptions::new("LM", 10, 1)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for name in ["t.txt", "t.zst"] {
            let path = folder.path().join(name);
            write(&trace, &path).unwrap();
            let again = read(&path).unwrap();
            assert_eq!(again.devices, trace.devices);
            let (one, two) = (replay(&trace, &RegionPolicy::Lru).unwrap(), replay(&again, &RegionPolicy::Lru).unwrap());
            assert_eq!((one.gets, one.hits, one.discarded), (two.gets, two.hits, two.discarded));
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let head = format!("{HEADER}\ndevice a 10\n");
        for (line, what) in [
            ("5 put 1", "no page"),
            ("5 put x 1", "file \"x\" is no number"),
            ("5 move 1 2", "is none of put"),
            ("5 alloc b 3", "has no `device` line"),
            ("5 alloc a 11", "of 10 reserved"),
            ("5 put 1 2 3", "is too much"),
            ("5 put 1 1\n4 get 1 1", "time goes back"),
            ("5 alloc a 1\n6 alloc a 1", "allocates twice"),
            ("0 put 1 1\n9999999999999999999 get 1 1", "times are in nanoseconds"),
            ("5", "no event"),
            ("5 put 1 1099511627776", "beyond 1099511627775"),
        ] {
            let error = read_text(&format!("{head}{line}\n")).unwrap_err().to_string();
            assert!(error.contains(what) && error.contains("line "), "{line}: {error}");
        }
        assert!(read_text("hello\n").unwrap_err().to_string().contains("line 1"));
        assert!(read_text(HEADER).unwrap_err().to_string().contains("no device"));
        assert!(read_text(&format!("{head}{}", "1".repeat(10_000))).is_err());
    }

    #[test]
    fn a_file_dropped_takes_its_pages_along() {
        let text = format!("{HEADER}\ndevice a 4\n0 put 7 1\n0 put 7 2\n0 flush-file 7\n0 flush-file 8\n0 get 7 1\n");
        let outcome = replay(&read_text(&text).unwrap(), &RegionPolicy::Count).unwrap();
        assert_eq!((outcome.gets, outcome.hits), (1, 0));
    }

    #[test]
    fn files_of_any_number_are_cached() {
        let text = format!("{HEADER}\ndevice a 4\n0 put {0} 1\n0 put 0 1\n0 get {0} 1\n0 get 0 1\n", u64::MAX);
        let outcome = replay(&read_text(&text).unwrap(), &RegionPolicy::Count).unwrap();
        assert_eq!((outcome.gets, outcome.hits), (2, 2));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, lines in proptest::collection::vec("[0-9a-z# -]{0,20}", 0..20)) {
            let _ = read_text(&format!("{HEADER}\ndevice a 4\n{}", lines.join("\n")));
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), bytes).unwrap();
            let _ = read(file.path());
        }
    }
}

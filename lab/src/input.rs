// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Reading of foreign files: decompression by magic number, lines of bounded length, records of fixed length.

mod lz4;
mod rows;

use std::{
    cell::RefCell,
    fs::File,
    io::{self, BufRead, BufReader, Cursor, Read},
    path::{Path, PathBuf},
    rc::Rc,
    sync::{
        atomic::{AtomicU64, Ordering},
        Arc,
    },
};

use crate::{
    store::{is_foreign_table, Checksum},
    Error, Result,
};

/// Longest line taken for one: the longest of any format we know is under 300 bytes.
pub const LINE_LIMIT_BYTES: usize = 65_536;

/// The name that stands for standard input.
pub const STANDARD_INPUT: &str = "-";

/// A multiple of the formats' records, so that few of them lie across its end.
const BUFFER_BYTES: usize = 3 << 16;

/// Bytes read from the file so far, compressed; what a progress bar shows.
#[derive(Clone, Default)]
pub struct BytesRead(Arc<AtomicU64>);

impl BytesRead {
    /// How many.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct Counted<R> {
    inner: R,
    count: BytesRead,
    sum: Option<Rc<RefCell<Checksum>>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count.0.fetch_add(count as u64, Ordering::Relaxed);
        if let Some(sum) = &self.sum {
            sum.borrow_mut().add(&buffer[..count]);
        }
        Ok(count)
    }
}

/// The checksum of a file that is being read.
pub struct Summed {
    path: PathBuf,
    /// A second name of the open file: both are at the same place in it.
    file: File,
    sum: Rc<RefCell<Checksum>>,
}

impl Summed {
    /// Of the whole file, compressed as it is; call it when all that is wanted of it was read.
    ///
    /// # Errors
    /// If what was not asked for cannot be read.
    pub fn finish(mut self) -> Result<u64> {
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            match self.file.read(&mut buffer) {
                Ok(0) => return Ok(self.sum.borrow().finish()),
                Ok(count) => self.sum.borrow_mut().add(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::read(&self.path, error)),
            }
        }
    }
}

/// A foreign file being read, decompressed on the way.
pub struct Input {
    path: PathBuf,
    reader: Box<dyn BufRead>,
    compression: &'static str,
    /// What the format is made of.
    unit: &'static str,
    /// Lines or records delivered.
    position: u64,
}

impl Input {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be opened, or its compression's header is broken.
    pub fn open(path: &Path) -> Result<(Self, BytesRead)> {
        let count = BytesRead::default();
        if path == Path::new(STANDARD_INPUT) {
            let inner = Counted { inner: io::stdin(), count: count.clone(), sum: None };
            return Ok((Self::new(Path::new("standard input"), inner)?, count));
        }
        if is_foreign_table(path)? {
            let rows = rows::Rows::open(path, file(path)?)?;
            return Ok((Self::new(path, Counted { inner: rows, count: count.clone(), sum: None })?, count));
        }
        let input = Self::new(path, Counted { inner: file(path)?, count: count.clone(), sum: None })?;
        Ok((input, count))
    }

    /// Opens a file, of which a checksum is made of the same bytes that are read.
    ///
    /// # Errors
    /// As [`Input::open`].
    pub fn open_summed(path: &Path) -> Result<(Self, Summed)> {
        let inner = file(path)?;
        if is_foreign_table(path)? {
            let rows = rows::Rows::open(path, file(path)?)?;
            let summed = Summed { path: path.to_owned(), file: inner, sum: Rc::default() };
            return Ok((Self::new(path, Counted { inner: rows, count: BytesRead::default(), sum: None })?, summed));
        }
        let file = inner.try_clone().map_err(|e| Error::read(path, e))?;
        let sum = Rc::default();
        let summed = Summed { path: path.to_owned(), file, sum: Rc::clone(&sum) };
        let input = Self::new(path, Counted { inner, count: BytesRead::default(), sum: Some(sum) })?;
        Ok((input, summed))
    }

    /// Reads bytes from memory as if they were a file of that name.
    ///
    /// # Errors
    /// If its compression's header is broken.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self> {
        Self::new(Path::new(name), Cursor::new(bytes.to_vec()))
    }

    fn new(path: &Path, file: impl Read + 'static) -> Result<Self> {
        let mut raw = BufReader::with_capacity(BUFFER_BYTES, file);
        // A pipe may deliver fewer than six bytes at first; the magic is then taken from what a chained reader gives back.
        let mut magic = Vec::with_capacity(6);
        raw.by_ref().take(6).read_to_end(&mut magic).map_err(|e| Error::read(path, e))?;
        let raw = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(magic.clone()).chain(raw));
        let (reader, compression): (Box<dyn BufRead>, _) = match magic.as_slice() {
            [0x1f, 0x8b, ..] => {
                (Box::new(BufReader::with_capacity(BUFFER_BYTES, flate2::bufread::MultiGzDecoder::new(raw))), "gzip")
            }
            [0xfd, b'7', b'z', b'X', b'Z', 0] => (
                Box::new(BufReader::with_capacity(BUFFER_BYTES, liblzma::bufread::XzDecoder::new_multi_decoder(raw))),
                "xz",
            ),
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => {
                (Box::new(BufReader::with_capacity(BUFFER_BYTES, bzip2::bufread::MultiBzDecoder::new(raw))), "bzip2")
            }
            [0x04, 0x22, 0x4d, 0x18, ..] => {
                (Box::new(BufReader::with_capacity(BUFFER_BYTES, lz4::Frames::new(raw))), "lz4")
            }
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                let decoder = zstd::stream::read::Decoder::with_buffer(raw).map_err(|e| Error::read(path, e))?;
                (Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder)), "zstd")
            }
            _ => (Box::new(raw), ""),
        };
        Ok(Input { path: path.to_owned(), reader, compression, unit: "line", position: 0 })
    }

    /// The file's name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, error: io::Error) -> Error {
        if self.compression.is_empty() {
            return Error::read(&self.path, error);
        }
        let what = match error.kind() {
            io::ErrorKind::UnexpectedEof => format!("the {} data end too early", self.compression),
            _ => format!("the {} data are damaged ({error})", self.compression),
        };
        Error::Content {
            path: self.path.display().to_string(),
            place: format!("after {} {}", self.unit, self.position),
            what,
            mend: "fetch the file again".into(),
        }
    }

    /// The next line without its end, or `None` at the end of the file. Bytes that are no UTF-8 are replaced.
    ///
    /// # Errors
    /// If the file cannot be read, or the line is longer than [`LINE_LIMIT_BYTES`].
    pub fn line<'b>(&mut self, buffer: &'b mut Vec<u8>) -> Result<Option<std::borrow::Cow<'b, str>>> {
        buffer.clear();
        let limit = LINE_LIMIT_BYTES as u64 + 2;
        let read = self.reader.by_ref().take(limit).read_until(b'\n', buffer).map_err(|e| self.failed(e))?;
        if read == 0 {
            return Ok(None);
        }
        self.position += 1;
        if buffer.last() == Some(&b'\n') {
            buffer.pop();
            if buffer.last() == Some(&b'\r') {
                buffer.pop();
            }
        }
        if buffer.len() > LINE_LIMIT_BYTES {
            return Err(self.too_long());
        }
        Ok(Some(String::from_utf8_lossy(buffer)))
    }

    /// Whole lines of what comes next, with their ends, into the buffer; false at the end of the file. Each is counted by
    /// [`Input::took_line`] when it is looked at.
    ///
    /// # Errors
    /// As [`Input::line`].
    pub fn lines(&mut self, buffer: &mut Vec<u8>) -> Result<bool> {
        buffer.clear();
        if let Ok(at_hand) = self.reader.fill_buf() {
            if let Some(end) = memchr::memrchr(b'\n', at_hand) {
                buffer.extend_from_slice(&at_hand[..=end]);
                self.reader.consume(end + 1);
                return Ok(true);
            }
        }
        let limit = LINE_LIMIT_BYTES as u64 + 2;
        let read = self.reader.by_ref().take(limit).read_until(b'\n', buffer).map_err(|e| self.failed(e))?;
        Ok(read > 0)
    }

    /// One more line of [`Input::lines`] is looked at, which is so long.
    ///
    /// # Errors
    /// If it is longer than [`LINE_LIMIT_BYTES`].
    pub fn took_line(&mut self, length: usize) -> Result<()> {
        self.position += 1;
        match length > LINE_LIMIT_BYTES {
            true => Err(self.too_long()),
            false => Ok(()),
        }
    }

    /// So many more lines of [`Input::lines`] are looked at, none of which is too long.
    pub fn took_lines(&mut self, lines: u64) {
        self.position += lines;
    }

    fn too_long(&self) -> Error {
        self.bad(
            &format!("longer than {LINE_LIMIT_BYTES} bytes"),
            "this is no text trace; name its format with --format",
        )
    }

    /// The next record of `N` bytes, or `None` at the end of the file.
    ///
    /// # Errors
    /// If the file cannot be read, or ends within a record.
    pub fn record<const N: usize>(&mut self) -> Result<Option<[u8; N]>> {
        self.unit = "record";
        let mut record = [0; N];
        // Mostly it lies whole in the buffer.
        if let Ok(buffer) = self.reader.fill_buf() {
            if let Some(whole) = buffer.get(..N) {
                record.copy_from_slice(whole);
                self.reader.consume(N);
                self.position += 1;
                return Ok(Some(record));
            }
        }
        let mut filled = 0;
        while filled < N {
            match self.reader.read(&mut record[filled..]) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => {
                    return Err(Error::Content {
                        path: self.path.display().to_string(),
                        place: format!("record {}", self.position + 1),
                        what: format!("truncated: {filled} of {N} bytes"),
                        mend: "fetch the file again, or take the whole records before it with --skip-bad".into(),
                    });
                }
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        self.position += 1;
        Ok(Some(record))
    }

    /// The records of `length` bytes that lie whole in the buffer; none if the next one must be waited for, or there is none.
    /// [`Input::took_records`] takes some of them, [`Input::record`] takes one wherever it lies.
    pub fn records_at_hand(&mut self, length: usize) -> &[u8] {
        self.unit = "record";
        // What cannot be read is told when the next record is asked for.
        let buffer = self.reader.fill_buf().unwrap_or_default();
        &buffer[..buffer.len() / length * length]
    }

    /// So many records of `length` bytes of those at hand are taken.
    pub fn took_records(&mut self, records: usize, length: usize) {
        self.reader.consume(records * length);
        self.position += records as u64;
    }

    /// Up to `limit` bytes of what comes next, without taking them: for the detection of formats and byte order.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn peek(&mut self, limit: usize) -> Result<Vec<u8>> {
        if let Ok(at_hand) = self.reader.fill_buf() {
            if let Some(head) = at_hand.get(..limit) {
                return Ok(head.to_vec());
            }
        }
        let mut head = Vec::new();
        let read = self.reader.by_ref().take(limit as u64).read_to_end(&mut head);
        read.map_err(|e| self.failed(e))?;
        let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        self.reader = Box::new(BufReader::with_capacity(BUFFER_BYTES, Cursor::new(head.clone()).chain(rest)));
        Ok(head)
    }

    /// The error of the line or record delivered last.
    pub fn bad(&self, what: &str, mend: &str) -> Error {
        let place = match self.position {
            0 => "its beginning".to_owned(),
            position => format!("{} {position}", self.unit),
        };
        Error::Content { path: self.path.display().to_string(), place, what: what.into(), mend: mend.into() }
    }
}

fn file(path: &Path) -> Result<File> {
    let file = File::open(path).map_err(|e| Error::read(path, e))?;
    match file.metadata().map_err(|e| Error::read(path, e))?.is_dir() {
        true => Err(Error::Usage(format!("{}: a folder; name one trace file", path.display()))),
        false => Ok(file),
    }
}

#[cfg(test)]
mod tests;

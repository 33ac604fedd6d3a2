// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The fields of a line. A line without quotes is only cut; one with quotes is read by the crate `csv-core`.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

/// Cuts lines into fields.
pub struct Splitter {
    delimiter: u8,
    reader: Reader,
    /// Where fields begin and end, in the line or in `unquoted`.
    places: Vec<(u32, u32)>,
    unquoted: Vec<u8>,
    ends: Vec<usize>,
}

/// The fields of a line.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    bytes: &'a [u8],
    places: &'a [(u32, u32)],
}

impl<'a> Row<'a> {
    /// How many.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// A field without blanks around it; empty if there is none.
    #[inline]
    pub fn get(&self, at: usize) -> &'a [u8] {
        self.places.get(at).map_or(&[], |&(start, end)| self.bytes[start as usize..end as usize].trim_ascii())
    }

    /// All fields, as text.
    pub fn texts(&self) -> Vec<String> {
        (0..self.len()).map(|at| String::from_utf8_lossy(self.get(at)).into_owned()).collect()
    }
}

impl Splitter {
    /// For fields parted so. Several spaces in a row part two fields as one does.
    pub fn new(delimiter: u8) -> Self {
        let reader = ReaderBuilder::new().delimiter(delimiter).build();
        Splitter { delimiter, reader, places: Vec::new(), unquoted: Vec::new(), ends: Vec::new() }
    }

    /// Cuts a line, without its end.
    pub fn split<'a>(&'a mut self, line: &'a [u8]) -> Result<Row<'a>, String> {
        self.places.clear();
        if memchr::memchr(b'"', line).is_some() {
            return self.unquote(line);
        }
        let mut start = 0;
        for end in memchr::memchr_iter(self.delimiter, line).chain([line.len()]) {
            if self.delimiter != b' ' || end > start {
                self.places.push((start as u32, end as u32));
            }
            start = end + 1;
        }
        Ok(Row { bytes: line, places: &self.places })
    }

    fn unquote(&mut self, line: &[u8]) -> Result<Row<'_>, String> {
        self.reader.reset();
        self.unquoted.resize(line.len() + 2, 0);
        self.ends.resize(line.len() + 2, 0);
        let (result, read, written, fields) = self.reader.read_record(line, &mut self.unquoted, &mut self.ends);
        if read < line.len() || result != ReadRecordResult::InputEmpty {
            return Err("a line's end within the line".into());
        }
        // Its end tells a quote that is still open, which would swallow it and the lines behind it.
        let (result, _, _, more) =
            self.reader.read_record(b"\n", &mut self.unquoted[written..], &mut self.ends[fields..]);
        match result {
            ReadRecordResult::Record => Ok(self.fields(fields + more)),
            _ => Err("a quote is open at the line's end".into()),
        }
    }

    fn fields(&mut self, count: usize) -> Row<'_> {
        let mut start = 0;
        for &end in &self.ends[..count] {
            if self.delimiter != b' ' || end > start {
                self.places.push((start as u32, end as u32));
            }
            start = end;
        }
        Row { bytes: &self.unquoted, places: &self.places }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(delimiter: u8, line: &str) -> Result<Vec<String>, String> {
        Splitter::new(delimiter).split(line.as_bytes()).map(|row| row.texts())
    }

    #[test]
    fn lines_are_cut_with_and_without_quotes() {
        for (delimiter, line, expected) in [
            (b',', "1, a b ,", vec!["1", "a b", ""]),
            (b',', r#"1,"a,b","say ""no""""#, vec!["1", "a,b", r#"say "no""#]),
            (b',', r#""","#, vec!["", ""]),
            (b';', "1,5;2", vec!["1,5", "2"]),
            (b'\t', "1\t\t2", vec!["1", "", "2"]),
            (b' ', "  1   2 ", vec!["1", "2"]),
            (b' ', r#"1  "a b" 2"#, vec!["1", "a b", "2"]),
            (b',', "", vec![""]),
        ] {
            // An open quote aside.
            match fields(delimiter, line) {
                Ok(found) => assert_eq!(found, expected, "{line}"),
                Err(what) => assert!(line == r#""","# && what.contains("a quote is open"), "{line}: {what}"),
            }
        }
        assert!(fields(b',', r#"1,"a"#).unwrap_err().contains("a quote is open"));
    }

    #[test]
    fn a_splitter_forgets_the_line_before() {
        let mut splitter = Splitter::new(b',');
        assert!(splitter.split(br#"1,"open"#).is_err());
        assert_eq!(splitter.split(br#""a",2"#).unwrap().texts(), ["a", "2"]);
        assert_eq!(splitter.split(b"3,4,5").unwrap().texts(), ["3", "4", "5"]);
    }
}

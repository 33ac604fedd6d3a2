// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which column holds what: by what the user says, by the header's names, or by rows that can be of one published table only. What could
//! be read in several ways is refused with those ways.

use super::{
    columns::Table,
    known::{Known, Role},
    number::{Decimal, TimeUnit},
    options::{CsvOptions, DELIMITERS},
    split::Splitter,
    words,
};

/// Lines that are looked at.
const SAMPLE_LINES: usize = 1000;

/// Where a table has what; columns count from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub delimiter: u8,
    pub header: bool,
    /// Lines before the header or the first row.
    pub comments: usize,
    /// Fields of a row.
    pub columns: usize,
    pub time: Option<(usize, TimeUnit)>,
    pub id: Option<usize>,
    /// Their sum is the size.
    pub sizes: Vec<usize>,
    pub op: Option<usize>,
    /// Operations are 0 for a read, 1 for a write.
    pub numeric_ops: bool,
    pub count: Option<usize>,
    /// Together they name the disk.
    pub disks: Vec<usize>,
    pub offset: Option<usize>,
    pub length: Option<usize>,
    /// Bytes of a unit of offsets, and of lengths.
    pub units_bytes: [u64; 2],
    /// All this in words.
    pub understood: String,
}

/// Why a table is not read, and what would help.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    pub what: String,
    pub mend: String,
}

pub(super) fn refusal<T>(what: impl Into<String>, mend: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { what: what.into(), mend: mend.into() })
}

/// Ways to say something, for the end of an error.
pub(super) fn ways(ways: &[String]) -> String {
    let quoted: Vec<_> = ways.iter().map(|way| format!("--csv {way}")).collect();
    format!("say `fovea trace import` which: {}", quoted.join(" or "))
}

/// The rows of a file's beginning, parted in one way.
pub(super) type Rows = Vec<Vec<String>>;

/// A line that cannot be cut has no fields.
fn rows_of(lines: &[&[u8]], delimiter: u8) -> Rows {
    let mut splitter = Splitter::new(delimiter);
    let mut fields = |line| splitter.split(line).map_or(Vec::new(), |row| row.texts());
    let mut rows: Rows = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        // A header may be a comment to others.
        rows.push(fields(if at == 0 { without_mark(line) } else { line }));
    }
    rows
}

fn without_mark(line: &[u8]) -> &[u8] {
    match line.iter().position(|&byte| byte != b'#') {
        Some(start) => &line[start..],
        None => line,
    }
}

/// How many fields most of the rows have, the first among them. Of words nine of ten must, for prose has lines as long as others.
fn columns_of(rows: &Rows, delimiter: u8) -> Option<usize> {
    let first = rows.first()?.len();
    let alike = rows.iter().filter(|row| row.len() == first).count();
    let most = if delimiter == b' ' { 10 * alike >= 9 * rows.len() } else { 3 * alike >= 2 * rows.len() };
    (first >= 2 && most).then_some(first)
}

/// The lines of a file's beginning that are whole and not empty; those before the first that is no comment are left out, unless the last of
/// them is a header.
fn lines_of(head: &[u8]) -> Vec<&[u8]> {
    let whole = match head.iter().rposition(|&b| b == b'\n') {
        Some(end) => &head[..end],
        None => head,
    };
    let lines = whole.split(|&b| b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.filter(|line| !line.trim_ascii().is_empty()).take(SAMPLE_LINES).collect()
}

/// Comments before the first row: as many lines that start with `#`, less one that has a row's fields and so may be a header.
fn comments(lines: &[&[u8]], delimiter: u8) -> usize {
    let count = lines.iter().take_while(|line| line.starts_with(b"#")).count();
    let fields = |at: usize| Some(Splitter::new(delimiter).split(without_mark(lines.get(at)?)).ok()?.len());
    match count {
        0 => 0,
        _ if fields(count).is_some() && fields(count - 1) == fields(count) => count - 1,
        _ => count,
    }
}

/// Whether a file's beginning is that of a table: text whose lines have as many fields each.
pub fn is_table(head: &[u8]) -> bool {
    let text = std::str::from_utf8(match head.iter().rposition(|&b| b == b'\n') {
        Some(end) => &head[..end],
        None => head,
    });
    let printable = |text: &str| !text.chars().any(|c| c.is_control() && !['\n', '\r', '\t'].contains(&c));
    let lines = lines_of(head);
    text.is_ok_and(printable)
        && DELIMITERS.iter().any(|&(_, delimiter)| {
            let lines = &lines[comments(&lines, delimiter).min(lines.len())..];
            // One line of words is prose.
            lines.len() > 1 && columns_of(&rows_of(lines, delimiter), delimiter).is_some()
        })
}

pub(super) fn is_number(text: &str) -> bool {
    Decimal::of(text.as_bytes()).is_some()
}

pub(super) fn is_date(text: &str) -> bool {
    TimeUnit::Date.ns(text.as_bytes()).is_ok()
}

/// Whether the first of the rows has names and no values; none if it may be either.
fn has_header(rows: &Rows) -> Option<bool> {
    let (first, rest) = rows.split_first()?;
    let values = |text: &String| is_number(text) || is_date(text);
    if first.iter().any(values) {
        // pandas writes the names of columns that have none as numbers, behind the empty name of its index.
        return (!first[0].is_empty()).then_some(false);
    }
    let names: Vec<String> = first.iter().map(|name| words::plain(name)).collect();
    let known = names.iter().any(|name| words::role_of(name).is_some()) || Known::of_header(&names).is_some();
    let columns = 0..first.len();
    let of_values = |at: usize| !rest.is_empty() && rest.iter().all(|row| row.get(at).is_none_or(values));
    (known || columns.into_iter().any(of_values)).then_some(true)
}

impl Layout {
    /// Reads the layout off a file's beginning.
    pub fn of(head: &[u8], options: &CsvOptions) -> Result<Layout, Refusal> {
        let lines = lines_of(head);
        let delimiters = match options.delimiter {
            Some(delimiter) => vec![delimiter],
            None => DELIMITERS.map(|(_, delimiter)| delimiter).to_vec(),
        };
        let mut found: Vec<(u8, Rows, usize)> = Vec::new();
        let before = |delimiter| comments(&lines, delimiter).min(lines.len());
        for delimiter in delimiters {
            // Spaces part columns only where nothing else does.
            if delimiter == b' ' && !found.is_empty() {
                continue;
            }
            let rows = rows_of(&lines[before(delimiter)..], delimiter);
            if let Some(columns) = columns_of(&rows, delimiter) {
                found.push((delimiter, rows, columns));
            }
        }
        // A header's names tell which of several it is.
        let named = |rows: &Rows| {
            rows.first().is_some_and(|row| {
                row.iter().any(|name| matches!(words::role_of(&words::plain(name)), Some((Role::Id | Role::Offset, _))))
            })
        };
        if found.len() > 1 && found.iter().filter(|(_, rows, _)| named(rows)).count() == 1 {
            found.retain(|(_, rows, _)| named(rows));
        }
        if found.len() > 1 {
            let names = DELIMITERS.iter().filter(|(_, byte)| found.iter().any(|(delimiter, ..)| delimiter == byte));
            let names: Vec<_> = names.map(|(name, _)| format!("delimiter={name}")).collect();
            return refusal("columns may be parted in several ways", ways(&names));
        }
        let Some((delimiter, mut rows, columns)) = found.pop() else {
            return refusal(
                "no columns: its lines have not as many fields each, parted by comma, tab, semicolon, pipe or spaces",
                "if each line is one id, import it with --format ids; else name what parts them, --csv delimiter=tab",
            );
        };
        let header = options.header.or_else(|| match options.table {
            // A table that is named has the header that it has.
            Some(table) => {
                let first: Vec<_> = rows.first().into_iter().flatten().map(|name| words::plain(name)).collect();
                Some(Known::of_header(&first) == Some(table))
            }
            None => has_header(&rows),
        });
        let Some(header) = header else {
            if rows.first().is_some_and(|row| row[0].is_empty()) {
                return refusal(
                    "the header names no column, as pandas writes it of a table whose columns have no names",
                    ways(&["header=yes,time=0,id=2".into(), "header=yes,id=2,size=3,time=0".into()]),
                );
            }
            return refusal(
                "the first line may be names or a request",
                ways(&["header=yes".into(), "header=no,id=1".into()]),
            );
        };
        let titles = header.then(|| rows.remove(0));
        if rows.is_empty() {
            return refusal("a header and no request", "write requests behind it");
        }
        rows.retain(|row| row.len() == columns);
        let names = titles.iter().flatten().map(|title| words::plain(title)).collect();
        let by_rows = || {
            let fits = |table: &&Known| table.row.is_some_and(|row| rows.iter().all(|fields| row(fields)));
            super::known::TABLES.iter().filter(|_| !header && !options.names_columns()).find(fits)
        };
        let known = options.table.or_else(by_rows);
        let comments = before(delimiter);
        Table { options, rows, columns, delimiter, titles, names, known, comments }.layout()
    }
}

impl Layout {
    /// The columns that are read.
    pub(super) fn used(&self) -> impl Iterator<Item = usize> + '_ {
        let one = [self.time.map(|(at, _)| at), self.id, self.op, self.count, self.offset, self.length];
        one.into_iter().flatten().chain(self.sizes.iter().copied()).chain(self.disks.iter().copied())
    }
}

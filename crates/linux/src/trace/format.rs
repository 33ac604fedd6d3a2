// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `events/*/*/format`: where each field of an event lies (Documentation/trace/events.rst, "Event formats").

/// A field of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name, without type and length.
    pub name: String,
    /// First byte in the event.
    pub offset: usize,
    /// Bytes.
    pub size: usize,
    /// The four bytes say where the value lies (`__data_loc`).
    pub located: bool,
}

/// An event's layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// What `common_type` holds.
    pub id: u16,
    /// Fields.
    pub fields: Vec<Field>,
}

impl Format {
    /// Reads a format file; `None` if it has no number or no field.
    pub fn parse(text: &str) -> Option<Format> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?;
        let fields: Vec<Field> = text.lines().filter_map(field).collect();
        (!fields.is_empty()).then_some(Format { id, fields })
    }

    /// The field of a name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// `    field:unsigned long i_ino;    offset:8;    size:8;    signed:0;` The files of the ring buffer's own pages have the same lines.
pub(super) fn field(line: &str) -> Option<Field> {
    let rest = line.trim_start().strip_prefix("field:")?;
    let (declaration, rest) = rest.split_once(';')?;
    let value = |key: &str| rest.split(';').find_map(|part| part.trim().strip_prefix(key)?.parse::<usize>().ok());
    let last = declaration.rsplit(|c: char| c.is_whitespace() || c == '*').next()?;
    let name = last.split('[').next()?.to_owned();
    let located = declaration.starts_with("__data_loc ");
    Some(Field { name, offset: value("offset:")?, size: value("size:")?, located })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_found_by_name_whatever_their_type() {
        let text = include_str!("../../tests/fixtures/trace-6.12/events/block/block_rq_issue/format");
        let format = Format::parse(text).unwrap();
        assert_eq!(format.id, 1304);
        let at = |name: &str| format.field(name).map(|f| (f.offset, f.size, f.located));
        assert_eq!(at("common_pid"), Some((4, 4, false)));
        assert_eq!(at("sector"), Some((16, 8, false)));
        assert_eq!(at("rwbs"), Some((34, 8, false)));
        assert_eq!(at("cmd"), Some((60, 4, true)));
        assert_eq!(at("no such"), None);
        assert_eq!(Format::parse("name: x\nID: 3\n"), None);
        assert_eq!(Format::parse("ID: many\n\tfield:int a;\toffset:0;\tsize:4;\n"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "(ID: ?[0-9]{0,7}\n|\tfield:[a-z \\[\\]*;]{0,20};?\toffset:[0-9]{0,22};?\tsize:[0-9]{0,3};\n?){0,6}") {
            let _ = Format::parse(&text);
        }
    }
}

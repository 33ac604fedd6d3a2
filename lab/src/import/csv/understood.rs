// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What was understood of a table, in words.

use super::{columns::Table, known::Known, layout::Layout, options::DELIMITERS};

impl Table<'_> {
    /// All of it in one line.
    pub(super) fn words(&self, layout: &Layout, known: Option<&Known>) -> String {
        let delimiter = DELIMITERS.iter().find(|(_, byte)| *byte == self.delimiter).map_or("", |(name, _)| name);
        let header = if layout.header { "header" } else { "no header" };
        let about = known.map_or(String::new(), |known| format!("{}, ", known.about));
        let place = |at: usize| match &self.titles {
            Some(titles) => format!("{:?} (column {})", titles[at], at + 1),
            None => format!("column {}", at + 1),
        };
        let all = |places: &[usize]| places.iter().map(|&at| place(at)).collect::<Vec<_>>().join(" + ");
        let time = layout
            .time
            .map_or("none, lines are counted".into(), |(at, unit)| format!("{} in {}", place(at), unit.name()));
        let mut parts = vec![format!("{about}{delimiter}, {header}"), format!("time: {time}")];
        if let Some(id) = layout.id {
            parts.push(format!("object: {}", place(id)));
        }
        let unit = |bytes: u64| if bytes == 1 { "bytes" } else { "sectors of 512 bytes" };
        match (layout.offset, layout.length) {
            (Some(offset), Some(length)) => {
                parts.push(format!("offset: {} in {}", place(offset), unit(layout.units_bytes[0])));
                parts.push(format!("length: {} in {}", place(length), unit(layout.units_bytes[1])));
            }
            _ if layout.sizes.is_empty() => parts.push("size: none, 1 byte each".into()),
            _ => parts.push(format!("size: {} in bytes", all(&layout.sizes))),
        }
        if !layout.disks.is_empty() {
            parts.push(format!("disk: {}", all(&layout.disks)));
        }
        parts.extend(layout.op.map(|at| format!("operation: {}", place(at))));
        parts.extend(layout.count.map(|at| format!("repeats: {}", place(at))));
        let used: Vec<usize> = layout.used().collect();
        let unread: Vec<_> = (0..self.columns).filter(|at| !used.contains(at)).map(place).collect();
        if !unread.is_empty() {
            parts.push(format!("not read: {}", unread.join(", ")));
        }
        parts.join("; ")
    }
}

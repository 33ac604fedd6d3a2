// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What memory is used for, as parts of one bar.

use fovea_apps::PAGE_BYTES;
use fovea_client::Status;

use crate::view::resident_bytes;

/// One use of memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// For people.
    pub name: &'static str,
    /// Its letter in the bar.
    pub glyph: char,
    /// Its size.
    pub bytes: u64,
    /// What else is to say of it.
    pub besides: String,
}

/// The parts, from the left to the right. Memory that is reserved for devices is beside what the kernel counts as memory.
pub fn parts(status: &Status) -> Vec<Part> {
    let memory = &status.memory;
    let zram_bytes = memory.zram.map_or(0, |zram| zram.used_bytes);
    let known = memory.free_bytes.saturating_add(memory.file_bytes).saturating_add(zram_bytes);
    let rest = memory.total_bytes.saturating_sub(known);
    // Some of it may have been counted twice: it was not read at one moment.
    let apps = status.apps.iter().map(resident_bytes).fold(0, u64::saturating_add).min(rest);
    let part = |name, glyph, bytes| Part { name, glyph, bytes, besides: String::new() };
    let mut parts = vec![
        part("apps", '█', apps),
        part("others", '▓', rest - apps),
        part("files", '▒', memory.file_bytes),
        part("zram", '░', zram_bytes),
        part("free", '·', memory.free_bytes),
    ];
    if let Some(zram) = memory.zram {
        let held = zram.original_bytes >> 20;
        parts[3].besides = match zram.used_bytes {
            0 => "holds nothing".into(),
            used => format!("holds {held} ({:.1}x)", zram.original_bytes as f64 / used as f64),
        };
    }
    if let Some(pool) = &status.ecache {
        parts.push(part("eCache", '=', pool.cached.saturating_mul(PAGE_BYTES)));
        let of_devices = pool.frames.saturating_sub(pool.cached).saturating_mul(PAGE_BYTES);
        let in_use = pool.device.saturating_mul(PAGE_BYTES) >> 20;
        parts.push(Part { besides: format!("{in_use} in use"), ..part("reserved", '#', of_devices) });
    }
    parts
}

/// Cells of each part in a bar: together the whole of it.
pub fn cells(parts: &[Part], width: u16) -> Vec<u16> {
    let total = parts.iter().map(|part| u128::from(part.bytes)).sum::<u128>().max(1);
    let (mut sum, mut last) = (0u128, 0u16);
    let edge = |part: &Part| {
        sum += u128::from(part.bytes);
        let edge = ((sum * u128::from(width) * 2 + total) / (total * 2)) as u16;
        let cells = edge - last;
        last = edge;
        cells
    };
    parts.iter().map(edge).collect()
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Names for people, made of units' names of any length and letters.

use crate::AppName;

/// A unit's name without its type, unescaped.
pub(super) fn of_unit(unit: &str) -> String {
    let bare = [".service", ".scope", ".slice"].iter().find_map(|kind| unit.strip_suffix(kind));
    unescape(bare.filter(|bare| !bare.is_empty()).unwrap_or(unit))
}

/// Undoes systemd's escaping (`\x2d` for a dash); what is no escape stays as it is, what is no UTF-8 is replaced.
pub(super) fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((head, tail)) = rest.split_once("\\x") {
        out.extend_from_slice(head.as_bytes());
        match tail.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = &tail[2..];
            }
            None => {
                out.extend_from_slice(b"\\x");
                rest = tail;
            }
        }
    }
    out.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}

/// The label as a name, always the same for the same label: a blank becomes `_`, any other character that a name
/// cannot have its code point (`+5fae`), and one that is too long is cut and gets a hash of all of it.
pub(crate) fn of_label(label: &str) -> AppName {
    let mut text = String::with_capacity(label.len());
    for c in label.chars() {
        match c {
            ' ' => text.push('_'),
            _ if c.is_ascii_alphanumeric() || "._@+-".contains(c) => text.push(c),
            _ => text += &format!("+{:x}", u32::from(c)),
        }
    }
    if text.is_empty() || text.starts_with(['.', '-']) {
        text.insert(0, '_');
    }
    if text.len() > AppName::MAX_BYTES {
        let hash = format!("+{:08x}", hash(label));
        // All ASCII.
        text.truncate(AppName::MAX_BYTES - hash.len());
        text += &hash;
    }
    AppName::known_good(text)
}

/// FNV-1a, 32 bits: the same on every machine and in every version.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

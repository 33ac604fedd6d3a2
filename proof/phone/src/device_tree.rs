// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The device tree of an ARM machine: QEMU's own, with memory reserved for devices added (Devicetree Specification 0.4, chapters 3.5
//! and 5).

use std::path::Path;
use std::process::Command;

use fovea_scenario::Carveout;

use crate::command;
use crate::error::{Error, Result};
use crate::qemu::Machine;

/// Where QEMU's `virt` has its memory.
const MEMORY_ADDRESS: u64 = 1 << 30;

/// What the carve-out's node says it is; `dm-ecache` takes it as `carveouts=of:fovea,carveout`.
const COMPATIBLE: &str = "fovea,carveout";

const MAGIC: u32 = 0xd00d_feed;
const HEADER_BYTES: usize = 40;
const BEGIN_NODE: u32 = 1;
const END_NODE: u32 = 2;
const PROPERTY: u32 = 3;
const END: u32 = 9;

/// Writes the machine's device tree to a file, with a carve-out. `carveout.address` counts from the beginning of memory.
///
/// # Errors
/// QEMU does not tell its own, or the file cannot be written.
pub(crate) fn write(machine: &Machine, carveout: Carveout, to: &Path) -> Result<()> {
    let mut qemu = Command::new(machine.platform.qemu());
    qemu.args(machine.device_tree_args(to));
    command::output(&mut qemu, &machine.platform.qemu_mend())?;
    let tree = std::fs::read(to).map_err(Error::io("read", to))?;
    let tree = with_carveout(&tree, carveout)
        .ok_or_else(|| Error::bad(to, "is no device tree as QEMU's virt has it; use QEMU 7.2 or newer"))?;
    std::fs::write(to, tree).map_err(Error::io("write", to))
}

fn word(tree: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_be_bytes(tree.get(at..at + 4)?.try_into().ok()?) as usize)
}

/// The tree with `/reserved-memory` at the end of its root. It must have none yet.
fn with_carveout(tree: &[u8], carveout: Carveout) -> Option<Vec<u8>> {
    let header: Vec<usize> = (0..HEADER_BYTES / 4).map(|field| word(tree, field * 4)).collect::<Option<_>>()?;
    let [magic, _, structure_at, strings_at, reserved_at, _, _, _, strings_bytes, structure_bytes] = header[..] else {
        return None;
    };
    if magic != MAGIC as usize {
        return None;
    }
    let structure = tree.get(structure_at..structure_at.checked_add(structure_bytes)?)?;
    let strings = tree.get(strings_at..strings_at.checked_add(strings_bytes)?)?;
    // Pairs of an address and a size, to one of zeros.
    let pairs = tree.get(reserved_at..)?.chunks_exact(16);
    let reserved: Vec<u8> = pairs
        .clone()
        .take(pairs.take_while(|pair| pair.iter().any(|&b| b != 0)).count() + 1)
        .flatten()
        .copied()
        .collect();
    // The root's end, and the tree's.
    let body = structure.strip_suffix(&[END_NODE, END].map(u32::to_be_bytes).concat()[..])?;
    if body.windows(15).any(|name| name == b"reserved-memory") {
        return None;
    }

    let mut added = Nodes { structure: body.to_vec(), strings: strings.to_vec() };
    let address = MEMORY_ADDRESS.checked_add(carveout.address)?;
    let cells = |value: u64| value.to_be_bytes();
    added.begin("reserved-memory");
    added.property("#address-cells", &2u32.to_be_bytes());
    added.property("#size-cells", &2u32.to_be_bytes());
    added.property("ranges", &[]);
    added.begin(&format!("devices@{address:x}"));
    added.property("compatible", format!("{COMPATIBLE}\0").as_bytes());
    added.property("reg", &[cells(address), cells(carveout.size_bytes)].concat());
    for token in [END_NODE, END_NODE, END_NODE, END] {
        added.structure.extend(token.to_be_bytes());
    }

    let structure_at = HEADER_BYTES + reserved.len();
    let strings_at = structure_at + added.structure.len();
    let total = strings_at + added.strings.len();
    let mut fields = header;
    (fields[1], fields[2], fields[3], fields[4]) = (total, structure_at, strings_at, HEADER_BYTES);
    (fields[8], fields[9]) = (added.strings.len(), added.structure.len());
    let mut out: Vec<u8> = fields.into_iter().flat_map(|field| (field as u32).to_be_bytes()).collect();
    out.extend(reserved);
    out.extend(added.structure);
    out.extend(added.strings);
    Some(out)
}

/// Blocks to which nodes are added.
struct Nodes {
    structure: Vec<u8>,
    strings: Vec<u8>,
}

impl Nodes {
    fn begin(&mut self, name: &str) {
        self.structure.extend(BEGIN_NODE.to_be_bytes());
        self.padded(format!("{name}\0").as_bytes());
    }

    fn property(&mut self, name: &str, value: &[u8]) {
        for number in [PROPERTY, value.len() as u32, self.strings.len() as u32] {
            self.structure.extend(number.to_be_bytes());
        }
        self.padded(value);
        self.strings.extend(format!("{name}\0").as_bytes());
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.structure.extend(bytes);
        self.structure.resize(self.structure.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root with one property, and one reserved range.
    fn tree() -> Vec<u8> {
        let mut nodes = Nodes { structure: Vec::new(), strings: Vec::new() };
        nodes.begin("");
        nodes.property("model", b"x\0");
        nodes.structure.extend([END_NODE, END].map(u32::to_be_bytes).concat());
        let (structure_at, strings_at) = (HEADER_BYTES + 32, HEADER_BYTES + 32 + nodes.structure.len());
        let total = strings_at + nodes.strings.len();
        let fields = [MAGIC as usize, total, structure_at, strings_at, HEADER_BYTES, 17, 16, 0];
        let fields = fields.into_iter().chain([nodes.strings.len(), nodes.structure.len()]);
        let mut out: Vec<u8> = fields.flat_map(|field| (field as u32).to_be_bytes()).collect();
        out.extend([1u64, 2, 0, 0].map(u64::to_be_bytes).concat());
        out.extend(nodes.structure);
        out.extend(nodes.strings);
        out
    }

    #[test]
    fn the_carve_out_is_a_node_at_the_end_of_the_root() {
        let carveout = Carveout { address: 256 << 20, size_bytes: 90 << 20 };
        let out = with_carveout(&tree(), carveout).unwrap();
        assert_eq!(word(&out, 4), Some(out.len()));
        let text = String::from_utf8_lossy(&out);
        assert!(text.contains("devices@50000000") && text.contains(COMPATIBLE));
        let reg = [(1u64 << 30) + (256 << 20), 90 << 20].map(u64::to_be_bytes).concat();
        assert!(out.windows(16).any(|window| window == reg));
        assert_eq!(out[40..72], tree()[40..72], "what was reserved before stays so");
        assert!(with_carveout(&out, carveout).is_none(), "a second one would not be looked at");
    }

    #[test]
    fn what_is_no_tree_is_refused_wherever_it_is_cut() {
        let whole = tree();
        let carveout = Carveout { address: 0, size_bytes: 2 << 20 };
        for cut in 0..whole.len() {
            assert!(with_carveout(&whole[..cut], carveout).is_none(), "cut at {cut}");
        }
    }
}

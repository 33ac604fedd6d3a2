// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a fuzzer makes up, as a configuration and operations.

use super::{Op, Way};
use crate::types::{Config, DeviceConfig, Key, Policy};

/// Keys at the ends of their range, and beyond each.
pub const EDGES: [Key; 8] = [
    Key { object: Key::MAX_OBJECT, index: Key::MAX_INDEX },
    Key { object: Key::MAX_OBJECT, index: Key::MAX_INDEX - 1 },
    Key { object: Key::MAX_OBJECT, index: 0 },
    Key { object: 0, index: Key::MAX_INDEX },
    Key { object: Key::MAX_OBJECT + 1, index: 0 },
    Key { object: 0, index: Key::MAX_INDEX + 1 },
    Key { object: u64::MAX, index: 1 },
    Key { object: 1, index: u64::MAX },
];

/// Reads numbers from bytes; zeros after their end.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u32 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        u32::from(first)
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.next() % bound
    }

    fn key(&mut self) -> Key {
        let byte = self.next();
        let (object, index) = (u64::from(byte >> 6), u64::from(byte & 63));
        // Eight bytes of 256 name a page at the ends of what keys can say, inside and out.
        match byte & 7 {
            edge if byte >> 3 == 31 => EDGES[edge as usize],
            _ => Key { object, index },
        }
    }

    fn op(&mut self) -> Op {
        match self.below(32) {
            0..=8 => Op::Put(self.key(), self.next() & 1 == 1),
            9 | 10 => Op::PutBegin(self.key(), self.next() & 1 == 1),
            11 => Op::GetBegin(self.key()),
            12 => Op::EndPin { pin: self.next(), store: self.next() & 7 != 0 },
            13..=17 => Op::Get(self.key()),
            18 => Op::FlushPage(self.key()),
            19 => Op::FlushRange(self.key(), u64::from(self.below(128))),
            20 => Op::FlushObject(self.key().object),
            21..=25 => Op::Alloc {
                device: self.below(7),
                size_frames: self.below(16),
                way: match self.below(6) {
                    0 => Way::Policy(Policy::Static),
                    1 => Way::Policy(Policy::Random),
                    2 => Way::Policy(Policy::Count),
                    3 => Way::Policy(Policy::Lru),
                    4 => Way::Policy(Policy::Aged),
                    _ => Way::Cost(self.next()),
                },
                salvage_budget_pages: self.next().saturating_sub(128) / 8,
                salvage_steps: Some(self.below(24)).filter(|steps| *steps < 20),
            },
            26 => Op::Salvage(self.below(8)),
            27 => match self.below(16) {
                0..=7 => Op::SalvageEnd,
                device => Op::SalvageBegin(device - 8, self.below(16)),
            },
            28 => Op::FreeSome(self.below(7), self.below(8)),
            // Broken memory is seldom, and no frame comes back.
            29 if self.next() & 15 == 0 => Op::Retire(self.next()),
            29 | 30 => Op::Free(self.below(7)),
            _ => Op::Sweep(self.below(16)),
        }
    }
}

/// Makes a small configuration and operations from any bytes, for fuzzing: at most 6 devices and 3 carve-outs.
pub fn decode(bytes: &[u8]) -> (Config, Vec<Op>) {
    let mut bytes = Bytes(bytes);
    let mut devices: Vec<DeviceConfig> =
        (0..bytes.below(6) + 1).map(|_| DeviceConfig { size_frames: bytes.below(12) + 1, home: None }).collect();
    let sizes: Vec<u32> = devices.iter().map(|d| d.size_frames).collect();
    let mut carveout_frames = match bytes.below(4) {
        // One that the devices fill, with and without given homes.
        0 => vec![sizes.iter().sum()],
        1 => {
            devices = Config::in_order(&sizes).devices;
            vec![sizes.iter().sum()]
        }
        // Two or three, with room to spare or with none.
        2 => vec![sizes[0], sizes[1..].iter().sum::<u32>().max(1)],
        _ => (0..bytes.below(3) + 1).map(|_| bytes.below(24) + 1).collect(),
    };
    carveout_frames[0] += bytes.below(8).saturating_sub(4);
    let config = Config {
        carveout_frames,
        devices,
        max_candidates: 256,
        put_work_limit: bytes.below(8).saturating_sub(4),
        search_steps: 1 << 20,
        protect_percent: bytes.below(6) * 20,
        seed: u64::from(bytes.next()),
    };
    let mut ops = Vec::new();
    while !bytes.0.is_empty() {
        ops.push(bytes.op());
    }
    (config, ops)
}

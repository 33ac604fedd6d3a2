// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Binary formats of several versions.

use fovea_lab::import::{self, parse_bytes, ImportOptions, Order};
use fovea_lab::{Op, Record};

fn parse(name: &str, bytes: impl AsRef<[u8]>) -> (Vec<Record>, import::Tally) {
    let keep = ImportOptions { order: Order::Keep, ..ImportOptions::default() };
    parse_bytes(name.parse().unwrap(), bytes.as_ref(), &keep).unwrap()
}

fn refusal(name: &str, bytes: impl AsRef<[u8]>) -> String {
    parse_bytes(name.parse().unwrap(), bytes.as_ref(), &ImportOptions::default()).unwrap_err().to_string()
}

/// The seed of its fuzz target.
fn sample(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/fuzz/seeds/{name}/sample", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Time, what is done, first byte, bytes, whether they are written.
fn blocks(records: &[Record]) -> Vec<(u64, Op, u64, u64, bool)> {
    assert!(records.iter().all(|r| (&*r.space, &*r.app) == ("disk:vscsi", "")));
    records.iter().map(|r| (r.time_ns, r.op, r.offset_bytes, r.length_bytes, r.write)).collect()
}

/// Version 2 of vscsi: {u16 cmd, ver; u32 sn, len, nSG; u64 lbn, ts, rt}.
fn vscsi_2(command: u16, bytes: u32, block: u64, us: u64) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend(command.to_le_bytes());
    record.extend(0x0200u16.to_le_bytes());
    [1, bytes, 1].iter().for_each(|n: &u32| record.extend(n.to_le_bytes()));
    [block, us, 5].iter().for_each(|n| record.extend(n.to_le_bytes()));
    record
}

#[test]
fn both_versions_of_vscsi_are_told_apart() {
    let bytes = [vscsi_2(0x28, 4096, 8, 2), vscsi_2(0x2a, 512, 16, 3), vscsi_2(0x12, 0, 0, 4)].concat();
    let folder = tempfile::tempdir().unwrap();
    let options = ImportOptions {
        input: folder.path().join("in"),
        output: folder.path().join("out"),
        ..ImportOptions::default()
    };
    std::fs::write(&options.input, &bytes).unwrap();
    let report = fovea_lab::import(&options, |_, _| {}).unwrap();
    assert_eq!((&*report.understood, report.records), ("vscsi: VMware vscsi trace, version 2", 2));
    let (records, tally) = parse("vscsi", &bytes);
    assert_eq!(blocks(&records)[0], (2000, Op::Block, 4096, 4096, false));
    assert_eq!(blocks(&records)[1], (3000, Op::Block, 8192, 512, true));
    assert_eq!(tally.dropped["commands that move no data"], 1);
    assert!(refusal("vscsi", &bytes[..47]).contains("record 2: truncated: 7 of 40 bytes"));
    let mixed = [vscsi_2(0x28, 4096, 8, 2), sample("vscsi")].concat();
    assert!(refusal("vscsi", mixed).contains("among records of version"));
}

#[test]
fn every_version_of_lcs_is_read() {
    for (version, sizes, extra, ops) in
        [(1u64, 4, 0, false), (2, 4, 0, true), (3, 8, 0, true), (4, 8, 1, true), (8, 8, 16, true)]
    {
        let mut bytes = vec![0; 8192];
        for (at, number) in [(0, 0x1234_5678_9abc_def0), (8, version), (8184, 0x1234_5678_9abc_def0u64)] {
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        for (time, object, size, op) in [(5u32, 17u64, 512u64, 1u32), (6, 18, 64, 3), (7, 17, 512, 9)] {
            bytes.extend(time.to_le_bytes());
            bytes.extend(object.to_le_bytes());
            bytes.extend(&size.to_le_bytes()[..sizes]);
            if ops {
                bytes.extend((op | 7 << 8).to_le_bytes());
            }
            if sizes == 8 {
                bytes.extend(60u32.to_le_bytes());
            }
            bytes.extend((-1i64).to_le_bytes());
            bytes.extend(vec![0xff; 4 * extra]);
        }
        let (records, tally) = parse("lcs", &bytes);
        let found: Vec<_> = records.iter().map(|r| (r.time_ns, r.object, r.size_bytes.unwrap(), r.write)).collect();
        let deleted = usize::from(ops);
        assert_eq!(found[..2], [(5_000_000_000, 17, 512, false), (6_000_000_000, 18, 64, ops)], "version {version}");
        assert_eq!((found.len(), tally.dropped.get("deletes").copied()), (3 - deleted, ops.then_some(1)));
    }
    let mut large = sample("lcs");
    large[8192 + 12..8192 + 20].copy_from_slice(&(4u64 << 30).to_le_bytes());
    assert_eq!(parse("lcs", &large).0[0].size_bytes, Some(4 << 30));
    large[8] = 9;
    assert!(refusal("lcs", &large).contains("lcs version 9, 1 to 8 are read"));
}

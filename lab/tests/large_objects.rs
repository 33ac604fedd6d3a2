// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Objects whose sizes have more than 32 bits.

use fovea_lab::import::{ImportOptions, Order};

#[test]
fn an_object_of_4_gib_makes_no_trace_unusable() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("large.csv");
    let sizes = [5_000_000_000u64, 7, 4 << 30, 5_000_000_000, 7];
    let rows: String = sizes.iter().enumerate().map(|(at, size)| format!("{},{size}\n", [1, 2, 3, 1, 2][at])).collect();
    std::fs::write(&input, format!("id,size\n{rows}")).unwrap();
    let options = fovea_lab::dense::DenseOptions { keep_requests: Some(1), ..Default::default() };
    // Made, and then taken as it was kept.
    for _ in 0..2 {
        let dense = fovea_lab::dense::Dense::open(&input, &options, |_| {}).unwrap();
        assert_eq!(dense.footprint().bytes, 5_000_000_000 + 7 + (4 << 30));
        assert_eq!(dense.columns().1.chunk(0, 5, &mut Vec::new()).unwrap(), sizes);
        for (size, misses) in [("10GB", 3), ("9GB", 5), ("4GiB", 5)] {
            let size = size.parse().unwrap();
            for policy in ["lru", "fifo"] {
                let found = fovea_lab::replay::run(&dense, &policy.parse().unwrap(), size).unwrap();
                assert_eq!(found.misses(), misses, "{policy} {size}");
            }
        }
    }
    assert!(folder.path().join(".fovea-dense").exists());
    let too_large = fovea_lab::dense::Dense::from_objects([(1, 1u64 << 48)], &options).err().unwrap().to_string();
    assert!(too_large.contains("sizes up to 281474976710655 can be replayed"), "{too_large}");
    let trace = folder.path().join("t");
    let imported = ImportOptions { input, output: trace.clone(), order: Order::Keep, ..ImportOptions::default() };
    fovea_lab::import(&imported, |_, _| {}).unwrap();
    let export = fovea_lab::export(&trace, &folder.path().join("t.bin"), &options, false, |_, _| {});
    assert!(export.unwrap_err().to_string().contains("its size, 5000000000 bytes, has no room in 32 bits"));
}

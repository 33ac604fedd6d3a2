// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Importers: what each format becomes, what is said of bad files, and that no bytes make one panic.

use fovea_lab::{
    import::{self, parse_bytes, Format, ImportOptions, Order, FORMATS},
    Op, Record,
};
use proptest::prelude::*;

#[path = "../fuzz/check.rs"]
mod check;

const FUZZ: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz");

fn format(name: &str) -> &'static Format {
    name.parse().unwrap()
}

fn keep() -> ImportOptions {
    ImportOptions { order: Order::Keep, ..ImportOptions::default() }
}

fn parse(name: &str, text: impl AsRef<[u8]>) -> (Vec<Record>, import::Tally) {
    parse_bytes(format(name), text.as_ref(), &keep()).unwrap()
}

fn refusal(name: &str, text: impl AsRef<[u8]>) -> String {
    let error = parse_bytes(format(name), text.as_ref(), &ImportOptions::default()).unwrap_err().to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

/// One good sample of each format, in which every record is whole: the seed of its fuzz target.
fn sample(name: &str) -> Vec<u8> {
    let path = format!("{FUZZ}/seeds/{}/sample", name.replace('-', "_"));
    std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn brief(records: &[Record]) -> Vec<(u64, &str, Op, &str, u64, u64, bool)> {
    let of = |r: &'_ Record| (r.time_ns, r.op, r.offset_bytes, r.length_bytes, r.write);
    records
        .iter()
        .map(|r| {
            let (time, op, offset, length, write) = of(r);
            (time, &*r.app, op, &*r.space, offset, length, write)
        })
        .collect()
}

#[test]
fn block_formats_become_what_they_say() {
    let (records, tally) = parse("mobile-block-io", sample("mobile-block-io"));
    assert_eq!(
        brief(&records),
        [
            (49_680_642_600_000, "", Op::Block, "disk:8:0", 4096, 4096, false),
            (49_680_645_025_000, "my,app-32156", Op::Block, "disk:8:1", 8192, 16384, true),
        ]
    );
    assert_eq!(tally.unattributed["kworker, on somebody's behalf"], 1);
    let (records, _) = parse("msr", sample("msr"));
    assert_eq!(
        brief(&records)[0],
        (12_816_637_200_306_162_900, "", Op::Block, "disk:usr/0", 7_014_609_920, 24576, false)
    );
    assert_eq!(brief(&records)[1].3, "disk:usr/1");
    let (records, _) = parse("systor17", sample("systor17"));
    assert_eq!(brief(&records)[0], (1_455_592_800_500_000_000, "", Op::Block, "disk:lun4", 4096, 8192, false));
    assert!(brief(&records)[1].6);
    let (records, _) = parse("biotracer", sample("biotracer"));
    assert_eq!(brief(&records)[0], (1_425_000_000_000_000_001, "", Op::Block, "disk:nexus5", 4096, 4096, true));
    let (records, tally) = parse("blkparse", sample("blkparse"));
    assert_eq!(
        brief(&records),
        [
            (9_507_758, "", Op::Block, "disk:8:0", 223_490 * 512, 4096, true),
            (10_000_000, "my app", Op::Block, "disk:8:16", 32768, 8192, false),
            (11_000_000, "my app", Op::Flush, "disk:8:16", 0, 0, true),
        ]
    );
    assert_eq!(tally.unattributed["a thread of the kernel"], 1, "kjournald is no app");
    assert!(!records[1].sync, "read-ahead is not waited for");
    assert_eq!((tally.dropped["events G"], tally.dropped["summary lines"]), (1, 2));
    let (records, tally) = parse("vscsi", sample("vscsi"));
    assert_eq!(brief(&records)[1], (2000, "", Op::Block, "disk:vscsi", 4096, 4096, true));
    assert_eq!(tally.dropped["commands that move no data"], 1);
}

#[test]
fn object_formats_become_what_they_say() {
    for (name, expected) in [
        ("oracle-general", vec![(5_000_000_000, 17, 512), (6_000_000_000, 18, 64), (6_000_000_000, 17, 512)]),
        ("ids", vec![(1, 17, 1), (3, 0, 1), (5, 17, 1)]),
        ("lcs", vec![(5_000_000_000, 17, 512), (6_000_000_000, 18, 64), (6_000_000_000, 17, 512)]),
        ("ycsb", vec![(1, 0, 1), (2, 0, 1), (3, 0, 1)]),
        ("csv", vec![(1_000_000_000, 17, 512), (2_500_000_000, 0, 4096)]),
    ] {
        let (records, _) = parse(name, sample(name));
        let found: Vec<_> = records
            .iter()
            .map(|r| (r.time_ns, if &*r.space == "object" { r.object } else { 0 }, r.size_bytes.unwrap()))
            .collect();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn columns_of_csv_are_the_users() {
    let csv = "id=1,time=0,size=0,delimiter=tab,header=no".parse().unwrap();
    let (records, _) = parse_bytes(format("csv"), b"9\tx\n7\ty\n", &ImportOptions { csv, ..keep() }).unwrap();
    assert_eq!((records[1].object, records[1].size_bytes, records[1].time_ns), (7, Some(1), 2));
    for wrong in
        ["id=0", "id=-1", "id=", "time-unit=d", "header=maybe", "ids=7", "table=x", "foo=1", "delimiter=&", "id"]
    {
        assert!(wrong.parse::<import::CsvOptions>().is_err(), "{wrong}");
    }
}

#[test]
fn threads_of_the_kernel_are_no_apps() {
    let head = "proces,device,rw_flag,sector,size,timestamp\n";
    let lines: String = ["kswapd0-57", "loop12-410", "loop-4", "Binder:9_3-77"]
        .iter()
        .map(|process| format!("{process},8388608,R,8,8,1.5\n"))
        .collect();
    let (records, tally) = parse("mobile-block-io", head.to_owned() + &lines);
    assert_eq!(records.iter().map(|r| &*r.app).collect::<Vec<_>>(), ["", "", "loop-4", "Binder:9_3-77"]);
    assert_eq!(tally.unattributed["a thread of the kernel"], 2);
}

#[test]
fn jumps_of_the_clock_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("t.csv"), folder.path().join("t.parquet"));
    // The first record's time is no jump, a pause of an hour is none; MobileBlockIOTraces' cod_exec has these two.
    let seconds = [500_000, 500_001, 503_601, 685_025, 685_026, 1_051_294, 1_051_295];
    std::fs::write(&input, "time_s,id,size\n".to_owned() + &seconds.map(|s| format!("{s},7,1\n")).concat()).unwrap();
    let options = ImportOptions { input, output: output.clone(), ..ImportOptions::default() };
    let jumps = fovea_lab::import(&options, |_, _| {}).unwrap().tally.jumps;
    assert_eq!((jumps.count, jumps.longest_ns, jumps.record), (2, 366_268_000_000_000, 6));
    let warning = jumps.warning().unwrap();
    assert!(warning.contains("2 times") && warning.contains("366268 s before record 6"), "{warning}");
    assert_eq!(fovea_lab::info(&output, |_, _| {}).unwrap().jumps, jumps);
}

#[test]
fn a_program_is_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let input = folder.path().join("program");
    let output = folder.path().join("out");
    // From its header, and from its code.
    for from in [0, whole.len() / 3, whole.len() / 2] {
        std::fs::write(&input, &whole[from..]).unwrap();
        let options = ImportOptions { input: input.clone(), output: output.clone(), ..ImportOptions::default() };
        let error = fovea_lab::import(&options, |_, _| {}).expect_err("no trace").to_string();
        assert!(error.contains("looks like no format known here"), "from byte {from}: {error}");
    }
    std::fs::write(&input, vec![0; 1 << 16]).unwrap();
    let options = ImportOptions { input, output, ..ImportOptions::default() };
    assert!(fovea_lab::import(&options, |_, _| {}).is_err(), "nothing but zeros");
}

#[test]
fn every_format_is_detected() {
    let folder = tempfile::tempdir().unwrap();
    for format in FORMATS {
        let mut input = sample(format.name);
        if format.name == "ids" {
            input = b"17\n*\n18\n".to_vec();
        }
        let options = ImportOptions {
            input: folder.path().join(format.name),
            output: folder.path().join("out"),
            ..ImportOptions::default()
        };
        std::fs::write(&options.input, input).unwrap();
        let report = fovea_lab::import(&options, |_, _| {}).unwrap();
        assert_eq!(report.format, format.name);
        assert_eq!(fovea_lab::store::Reader::open(&options.output).unwrap().records(), report.records);
    }
}

#[test]
fn bad_records_are_named_with_file_place_and_mend_or_skipped_and_counted() {
    for (name, bad, place) in [
        ("mobile-block-io", "a-1,8388608,X,8,8,99999.1\n", "line 4"),
        ("msr", "1,usr,0,Erase,0,0,0\n", "line 3"),
        ("systor17", "1455592900,0,R,4,-1,5\n", "line 4"),
        ("biotracer", "8\t\t8\t\t4095\t\t1\t\t1\t\t1\t\t1\t\t1\n", "line 3"),
        ("blkparse", "8,0 1 15 0.5 700 Q R x + 8 [a]\n", "line 7"),
        ("csv", "3,18,many\n", "line 4"),
        ("ids", "\u{1}\n", "line 6"),
        ("vscsi", &"\u{7f}".repeat(32), "record 4"),
        ("oracle-general", &"\u{7f}".repeat(24), "record 4"),
    ] {
        let bytes = [sample(name), bad.as_bytes().to_vec()].concat();
        let error = refusal(name, &bytes);
        assert!(error.starts_with(&format!("input: {place}: ")), "{name}: {error}");
        assert!(error.contains("--skip-bad"), "{name}: {error}");
        let options = ImportOptions { skip_bad: true, ..keep() };
        let (records, tally) = parse_bytes(format(name), &bytes, &options).unwrap();
        assert_eq!(records, parse(name, sample(name)).0, "{name}");
        assert_eq!(tally.dropped["bad records"], 1, "{name}");
    }
}

#[test]
fn threads_become_the_apps_that_rules_name() {
    let header = "proces,device,rw_flag,sector,size,timestamp\n";
    let rows = ["UnityMain-700", "Unity,Gfx-701", "kworker/0:1-7", "mail-9", "Thread-3-702"];
    let rows = rows.map(|thread| format!("{thread},8388608,R,8,8,1.5\n"));
    let apps = ["game=Unity*", "game=Thread-[0-9]*", "never=Unity*"].map(|rule| rule.parse().unwrap()).to_vec();
    let options = ImportOptions { apps, ..keep() };
    let (records, tally) =
        parse_bytes(format("mobile-block-io"), (header.to_owned() + &rows.concat()).as_bytes(), &options).unwrap();
    let apps: Vec<_> = records.iter().map(|r| &*r.app).collect();
    assert_eq!(apps, ["game", "game", "", "mail-9", "game"], "the kernel's threads are nobody's");
    assert_eq!(tally.unattributed.len(), 1);
    for (rule, says) in
        [("game", "no pattern"), ("=a*", "no name"), ("game=", "1 to 256 printable"), ("game=[a", "[[]")]
    {
        let error = rule.parse::<import::AppRule>().unwrap_err().to_string();
        assert!(error.contains(says) && error.contains("write NAME=PATTERN") && error.lines().count() == 1, "{error}");
    }
}

#[test]
fn whole_requests_are_objects_as_large_as_they() {
    for name in ["vscsi", "msr", "blkparse"] {
        let options = ImportOptions { whole_requests: true, ..keep() };
        let (whole, _) = parse_bytes(format(name), &sample(name), &options).unwrap();
        let (pages, _) = parse(name, sample(name));
        assert_eq!(whole.len(), pages.len());
        for (whole, pages) in whole.iter().zip(&pages) {
            let object = match pages.op {
                Op::Block => Record {
                    op: Op::Object,
                    object: pages.offset_bytes,
                    offset_bytes: 0,
                    size_bytes: Some(pages.length_bytes),
                    ..pages.clone()
                },
                _ => pages.clone(),
            };
            assert_eq!(*whole, object, "{name}");
        }
        assert!(whole.iter().any(|r| r.op == Op::Object), "{name}");
    }
}

#[test]
fn truncated_binary_files_say_so_and_their_whole_records_can_be_had() {
    for (name, length) in [("oracle-general", 24), ("vscsi", 32)] {
        let bytes = &sample(name)[..length + 7];
        assert!(refusal(name, bytes).contains(&format!("record 2: truncated: 7 of {length} bytes")));
        let (records, tally) = parse_bytes(format(name), bytes, &ImportOptions { skip_bad: true, ..keep() }).unwrap();
        assert_eq!((records.len(), tally.dropped["truncated records"]), (1, 1));
    }
}

#[test]
fn big_endian_files_are_recognised() {
    let swap = |bytes: &[u8], fields: &[usize]| -> Vec<u8> {
        let length = fields.iter().sum();
        let record = |record: &[u8]| {
            let mut at = 0;
            fields
                .iter()
                .flat_map(|&width| {
                    at += width;
                    record[at - width..at].iter().rev().copied().collect::<Vec<_>>()
                })
                .collect::<Vec<u8>>()
        };
        bytes.chunks_exact(length).flat_map(record).collect()
    };
    assert!(refusal("oracle-general", swap(&sample("oracle-general"), &[4, 8, 4, 8])).contains("big-endian"));
    assert!(refusal("vscsi", swap(&sample("vscsi"), &[4, 4, 4, 2, 2, 8, 8])).contains("big-endian"));
}

#[test]
fn empty_and_foreign_files_are_refused() {
    for format in FORMATS {
        assert!(refusal(format.name, b"").contains("empty: no record in it"), "{}", format.name);
    }
    assert!(refusal("blkparse", "no trace\nat all\n").contains("no blkparse record in it (dropped 2 summary lines)"));
    let only_g = "8,0 3 12 0.009538995 697 G W 223490 + 8 [kjournald]\n";
    let long = refusal("csv", "time_s,id\n1,1\n".to_owned() + &"9".repeat(1000) + ",1\n");
    assert!(long.len() < 200 && long.contains("9\"…, not a number"), "{long}");
    assert!(refusal("blkparse", only_g).contains("take one it has with --blkparse-action: G"));
}

#[test]
fn time_that_goes_back_is_refused_kept_or_sorted() {
    let text = "time_s,id,size\n5,1,10\n7,2,10\n6,3,10\n";
    let error = refusal("csv", text);
    assert!(error.starts_with("input: line 4: time goes back by 1 s; import with --order sort"), "{error}");
    let (records, tally) = parse("csv", text);
    assert_eq!((records.len(), tally.backwards), (3, 1));
    let folder = tempfile::tempdir().unwrap();
    let options = ImportOptions {
        input: folder.path().join("in"),
        output: folder.path().join("out"),
        order: Order::Sort,
        ..ImportOptions::default()
    };
    std::fs::write(&options.input, text).unwrap();
    fovea_lab::import(&options, |_, _| {}).unwrap();
    let sorted = fovea_lab::store::Reader::open(&options.output).unwrap().batch().unwrap().unwrap();
    assert_eq!(sorted.iter().map(|r| r.object).collect::<Vec<_>>(), [1, 3, 2]);
}

proptest! {
    #[test]
    fn no_bytes_make_an_importer_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        for format in FORMATS {
            let mut edited = sample(format.name);
            for (at, byte) in &edits {
                let at = at.index(edited.len());
                edited[at] = *byte;
            }
            for input in [&bytes, &edited, &[edited.clone(), bytes.clone()].concat()] {
                check::import(format.name, input);
            }
        }
        for said in ["", "time=0", "id=2,time=1,time-unit=ms,size=3", "block-unit=sector"] {
            check::table(&[said.as_bytes(), b"\n", &sample("csv"), &bytes].concat());
        }
    }
}

/// The fuzz targets are compiled by hand only; what they call is compiled here.
#[test]
fn every_format_has_a_fuzz_target_that_calls_what_is_tested_here() {
    let manifest = std::fs::read_to_string(format!("{FUZZ}/Cargo.toml")).unwrap();
    for format in FORMATS {
        let target = format!("fuzz_targets/{}.rs", format.name.replace('-', "_"));
        assert!(manifest.contains(&format!("path = \"{target}\"")), "{target} is not in fuzz/Cargo.toml");
        let code = std::fs::read_to_string(format!("{FUZZ}/{target}")).unwrap_or_else(|e| panic!("{target}: {e}"));
        let call = format!("libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::import(\"{}\", bytes));", format.name);
        for seed in std::fs::read_dir(format!("{FUZZ}/seeds/{}", format.name.replace('-', "_"))).unwrap() {
            let bytes = std::fs::read(seed.unwrap().path()).unwrap();
            check::import(format.name, &bytes);
            assert_eq!(parse(format.name, bytes).0, parse(format.name, sample(format.name)).0, "{}", format.name);
        }
        assert!(code.contains("#[path = \"../check.rs\"]\nmod check;\n") && code.contains(&call), "{target}: {code}");
    }
}

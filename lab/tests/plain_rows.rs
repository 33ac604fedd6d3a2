// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Rows of plain numbers and texts are decoded many at a time; what comes out is what one row at a time gives.

use fovea_lab::import::{parse_bytes, ImportOptions, Order, Tally};
use fovea_lab::Record;
use proptest::prelude::*;

fn read(text: &str, csv: &str) -> Result<(Vec<Record>, Tally), String> {
    let csv = csv.parse().unwrap();
    let options = ImportOptions { order: Order::Keep, skip_bad: true, csv, ..ImportOptions::default() };
    parse_bytes("csv".parse().unwrap(), text.as_bytes(), &options).map_err(|error| error.to_string())
}

/// The same rows with a blank behind each field, which only the reader of single rows takes.
fn blanks(text: &str) -> String {
    let (header, rows) = text.split_once('\n').unwrap();
    format!("{header}\n{}", rows.replace(',', " ,").replace('\n', " \n"))
}

fn time() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (1_600_000_000u64..1_600_000_020).prop_map(|s| s.to_string()),
        2 => "16000000[0-9]{2}\\.[0-9]{1,12}",
        1 => Just("1600100000".to_owned()),
        1 => prop_oneof!["-1", "1e9", "", "1600000000\\.", "x", "99999999999999999999"],
    ]
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (0..50u64).prop_map(|id| id.to_string()),
        2 => "[a-z]{1,12}[0-9]{0,12}",
        1 => prop_oneof!["0[0-9]{1,3}", "[1-9][0-9]{17,20}", "[0-9]{1,3}\\.0", "", "a b", "[é!\"#]"],
    ]
}

fn row() -> impl Strategy<Value = String> {
    let size = prop_oneof![8 => (0..5000u64).prop_map(|size| size.to_string()), 1 => prop_oneof!["1e3", "", "-5", "12x", "[0-9]{18,22}"]];
    let op = prop_oneof![6 => Just("get"), 3 => Just("set"), 1 => Just("delete"), 1 => Just("what")];
    let end = prop_oneof![9 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\n\n"), 1 => Just(",9\n")];
    (time(), id(), size, op, end).prop_map(|(time, id, size, op, end)| format!("{time},{id},{size},{op}{end}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn many_rows_at_a_time_are_read_as_single_ones(rows in prop::collection::vec(row(), 1..60)) {
        let text = format!("timestamp,key,size,op\n1600000000,7,8,get\n{}", rows.concat());
        let csv = "time=timestamp,time-unit=s,id=key,size=size,op=op";
        prop_assert_eq!(read(&text, csv), read(&blanks(&text), csv), "{}", text);
        // Without times, and with all ids as texts.
        let csv = "time=0,id=key,size=size,op=op,ids=text";
        prop_assert_eq!(read(&text, csv), read(&blanks(&text), csv), "{}", text);
    }
}

#[test]
fn a_long_table_is_read_whole_and_in_order() {
    let rows = 70_000u64;
    let line = |at: u64| format!("{},{},{}\n", 1_600_000_000 + at / 100, at % 977, at % 50);
    let text = "timestamp,id,size\n".to_owned() + &(0..rows).map(line).collect::<String>();
    let (records, tally) = read(&text, "time-unit=s").unwrap();
    assert_eq!((records.len() as u64, tally.dropped["header lines"]), (rows, 1));
    for (at, record) in (0u64..).zip(&records) {
        assert_eq!(record.time_ns, (1_600_000_000 + at / 100) * 1_000_000_000);
        assert_eq!((record.object, record.size_bytes), (at % 977, Some(at % 50)));
    }
    // A bad row is named by its line, wherever it lies.
    let good = line(50_000);
    let bad = text.replace(&good, &good.replace(",173,", ",,"));
    let line = bad.lines().position(|line| line.contains(",,")).unwrap() + 1;
    assert_eq!(line, 50_002);
    let csv = "time-unit=s".parse().unwrap();
    let options = ImportOptions { csv, ..ImportOptions::default() };
    let error = parse_bytes("csv".parse().unwrap(), bad.as_bytes(), &options).unwrap_err().to_string();
    assert!(error.starts_with(&format!("input: line {line}: ")), "{error}");
}

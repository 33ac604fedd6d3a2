// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What importing a table costs beside reading it: `taskset -c 0 cargo bench -p fovea-lab --bench import`. `FOVEA_BENCH_REQUESTS` sets its
//! rows. CPU times, the least of three; the last column is the cost as a multiple of a plain program's, which reads the file, cuts its lines
//! at commas and parses the numbers.

use std::{hint::black_box, io::Write, path::Path};

use fovea_lab::{
    dense::{Dense, DenseOptions},
    import::{import, read, ImportOptions, Order},
    Stop,
};

/// CPU time of this thread, which other programs on the machine do not add to.
fn cpu_s() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Rows of a time in seconds, an id and a size, skewed as a trace's are.
fn table(path: &Path, rows: u64, id: fn(u64) -> String) -> f64 {
    let mut text = Vec::from("timestamp,id,size\n");
    let mut word = 88_172_645_463_325_252u64;
    for at in 0..rows {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        let object = (word >> 20) % (1 + (word & 0xf_ffff));
        writeln!(text, "{},{},{}", 1_500_000_000 + at / 1000, id(object), 100 + object % 5000).expect("memory");
    }
    std::fs::write(path, &text).expect("room for the table");
    text.len() as f64 / 1e6
}

fn number(object: u64) -> String {
    object.to_string()
}

fn text(object: u64) -> String {
    format!("key-{object:x}")
}

const PLAIN: &str = "a plain program";

fn main() {
    let rows: u64 = std::env::var("FOVEA_BENCH_REQUESTS").ok().and_then(|n| n.parse().ok()).unwrap_or(4_000_000);
    let folder = tempfile::tempdir().expect("a folder");
    let (csv, trace) = (folder.path().join("t.csv"), folder.path().join("t.parquet"));
    for (kind, id) in [("numbers", number as fn(u64) -> String), ("texts", text)] {
        let megabytes = table(&csv, rows, id);
        let mut plain_s = f64::NAN;
        let mut time = |name: &str, work: &mut dyn FnMut()| {
            let run = |work: &mut dyn FnMut()| {
                let started = cpu_s();
                work();
                cpu_s() - started
            };
            let least = (0..3).map(|_| run(work)).fold(f64::INFINITY, f64::min);
            if name == PLAIN {
                plain_s = least;
            }
            let (speed, row_ns) = (megabytes / least, 1e9 * least / rows as f64);
            println!("{kind}: {name:24} {speed:6.0} MB/s  {row_ns:6.1} ns a row  {:5.2}", least / plain_s);
        };
        let options = || ImportOptions {
            input: csv.clone(),
            output: trace.clone(),
            order: Order::Keep,
            ..ImportOptions::default()
        };
        time("lines of the file", &mut || {
            let text = std::fs::read(&csv).expect("the table");
            black_box(memchr::memchr_iter(b'\n', &text).count());
        });
        time(PLAIN, &mut || {
            let text = std::fs::read_to_string(&csv).expect("the table");
            let mut sum = 0u64;
            for line in text.lines().skip(1) {
                for field in line.split(',') {
                    sum = sum.wrapping_add(field.parse().unwrap_or(field.len() as u64));
                }
            }
            black_box(sum);
        });
        time("read as a table", &mut || {
            let mut sum = 0u64;
            let take = &mut |record: fovea_lab::Record| {
                sum = sum.wrapping_add(record.object);
                Ok(())
            };
            read(&options(), &Stop::default(), |_, _| {}, take).expect("a good table");
            black_box(sum);
        });
        time("made dense", &mut || {
            let options = DenseOptions { keep_requests: None, ..DenseOptions::default() };
            black_box(Dense::open(&csv, &options, |_| {}).expect("a good table").requests());
        });
        time("imported to a trace file", &mut || drop(import(&options(), |_, _| {}).expect("a good table")));
    }
}

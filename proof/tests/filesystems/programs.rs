// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The programs that xfstests brings (`make xfstests`): fsx in six modes, fsstress, and the regression tests of asynchronous direct
//! requests, each as xfstests itself calls it; meanwhile pages leave the page cache all the time, so that reads come from the cache.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fovea_tests::kernel::{at, run, write_file, Outcome};
use fovea_tests::pressure::drop_caches;

use crate::filesystem::FileSystem;
use crate::Lab;

/// Reads and writes of whole pages: direct ones, past the page cache.
const DIRECT: [&str; 7] = ["-Z", "-r", "4096", "-w", "4096", "-t", "4096"];

/// How fsx is called: generic/127, 091, 263 and 522 of xfstests. `-f` has what was done leave the page cache.
fn fsx_modes() -> [(&'static str, Vec<&'static str>); 6] {
    [
        ("read and written", vec!["-f", "-R", "-W"]),
        ("mapped", vec!["-f"]),
        ("mapped, of one length", vec!["-L"]),
        ("direct", [&DIRECT[..], &["-R", "-W"]].concat()),
        ("direct and mapped", DIRECT.to_vec()),
        ("asynchronous", [&["-A", "-R", "-W"], &DIRECT[..]].concat()),
    ]
}

const FSX_BYTES: usize = 256 << 10;

/// Of a file that is there before; `aio-last-ref-held-by-io` only reads.
const AIO_BYTES: usize = 10 << 20;

/// Tests of asynchronous direct requests, and the words before and after the file's name.
const AIO: [(&str, &[&str], &[&str]); 12] = [
    ("aio-dio-append-write-fallocate-race", &[], &["100"]),
    ("aio-dio-append-write-read-race", &["-a", "4096"], &[]),
    ("aio-dio-append-write-read-race", &["-a", "4096", "-d"], &[]),
    ("aio-dio-eof-race", &[], &[]),
    ("aio-dio-extend-stat", &[], &[]),
    ("aio-dio-fcntl-race", &[], &[]),
    ("aio-dio-hole-filling-race", &[], &[]),
    ("aio-dio-invalidate-failure", &[], &[]),
    ("aio-dio-invalidate-readahead", &[], &[]),
    ("aio-dio-subblock-eof-read", &[], &[]),
    ("aio-last-ref-held-by-io", &["0", "100"], &[]),
    ("aiodio_sparse2", &[], &[]),
];

/// Has clean pages leave the page cache, and others move, until it is told to stop.
fn disturb(stop: &AtomicBool) -> Outcome<u32> {
    let mut rounds = 0;
    while !stop.load(Ordering::Relaxed) {
        write_file("/proc/sys/vm/drop_caches", "1")?;
        if rounds % 16 == 0 {
            write_file("/proc/sys/vm/compact_memory", "1")?;
        }
        rounds += 1;
        // Paced, or nothing would be read twice; nobody waits for it.
        thread::sleep(Duration::from_millis(10));
    }
    Ok(rounds)
}

/// A number for what a file holds: some are sparse, and larger than memory.
fn sum(path: &Path) -> io::Result<u64> {
    let (mut file, mut hasher, mut chunk) = (File::open(path)?, DefaultHasher::new(), vec![0; 1 << 16]);
    loop {
        let length = file.read(&mut chunk)?;
        if length == 0 {
            return Ok(hasher.finish());
        }
        hasher.write(&chunk[..length]);
    }
}

/// All regular files below a folder.
fn files(folder: &Path, found: &mut Vec<(String, u64)>) -> Outcome<()> {
    for entry in at(folder.display(), fs::read_dir(folder))?.flatten() {
        let path = entry.path();
        let kind = at(path.display(), entry.file_type())?;
        if kind.is_dir() {
            files(&path, found)?;
        } else if kind.is_file() {
            found.push((path.display().to_string(), at(path.display(), sum(&path))?));
        }
    }
    Ok(())
}

/// Runs a program; what it finds wrong is wrong content, for that is what all of them look for.
fn try_it(lab: &Lab, what: &str, program: &str, words: &[&str]) {
    match run(&format!("/bin/{program}"), words) {
        Ok(()) => println!("ok   {program}: {what}"),
        Err(e) => lab.report.fail(format_args!("wrong content: {what}: {e}")),
    }
}

fn run_each(lab: &Lab, operations: &str, seed: &str) -> Outcome<()> {
    let bytes = FSX_BYTES.to_string();
    for (number, (mode, words)) in fsx_modes().into_iter().enumerate() {
        let name = format!("fsx{number}");
        at(&name, fs::write(&name, vec![0; FSX_BYTES]))?;
        let words = [&["-q", "-l", &bytes, "-o", "65536", "-N", operations, "-S", seed], &words[..], &[&name]].concat();
        try_it(lab, mode, "fsx", &words);
    }
    for (program, before, after) in AIO {
        at("aio", fs::write("aio", vec![0; AIO_BYTES]))?;
        try_it(lab, &before.join(" "), program, &[before, &["aio"], after].concat());
        // Some do so themselves.
        let _ = fs::remove_file("aio");
    }
    let _ = fs::remove_dir_all("stress");
    at("stress", fs::create_dir("stress"))?;
    try_it(lab, "four processes", "fsstress", &["-d", "stress", "-n", operations, "-p", "4", "-s", seed]);
    Ok(())
}

/// All of them on a file system of its own.
pub fn all(lab: &mut Lab, system: &FileSystem) -> Outcome<()> {
    let disk = lab.bed.disk(system.disk_mib, system.sector_bytes)?;
    let volume = lab.bed.volume(&disk)?;
    system.make(&volume.node)?;
    let mount_point = system.mount(lab, &volume.node)?;
    // What fsx notes down about a failure, and how it calls its file.
    at("folder", std::env::set_current_dir(&mount_point))?;
    let operations = lab.operations.to_string();
    let until = Instant::now() + Duration::from_secs(lab.seconds);
    let stop = AtomicBool::new(false);
    let disturbed = thread::scope(|scope| {
        let disturber = scope.spawn(|| disturb(&stop));
        let done = (0..)
            .map(|round| run_each(lab, &operations, &(lab.seed + round).to_string()))
            .find(|done| done.is_err() || lab.report.failures() > 0 || Instant::now() >= until)
            .unwrap_or(Ok(()));
        stop.store(true, Ordering::Relaxed);
        done.and(disturber.join().unwrap_or_else(|_| Err("the disturber panicked".into())))
    });
    // Whoever stays keeps the file system from being unmounted.
    at("folder", std::env::set_current_dir("/"))?;
    println!("     pages left the page cache {} times meanwhile", disturbed?);
    let (stress, mut warm, mut cold) = (mount_point.join("stress"), Vec::new(), Vec::new());
    files(&stress, &mut warm)?;
    drop_caches()?;
    files(&stress, &mut cold)?;
    let changed = warm.iter().zip(&cold).filter(|(warm, cold)| warm != cold).count();
    lab.report.check(
        "wrong content: files of fsstress, warm and cold",
        changed == 0 && warm.len() == cold.len() && !warm.is_empty(),
        format_args!("{changed} of {} differ", warm.len()),
    );
    lab.compare(&volume)?;
    lab.bed.unmount(&mount_point)?;
    lab.compare(&volume)?;
    system.check(&volume.node)
}

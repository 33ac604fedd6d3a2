// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the programs that are first process of a phone do to the kernel in passing: files of /proc and /sys, disks, other programs.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use fovea_linux::dm::Target;
use fovea_linux::{module, Root};

/// What the tests pass errors on as.
pub type Outcome<T> = Result<T, String>;

pub const SECTOR: u64 = 512;
pub fn at<T, E: std::fmt::Display>(what: impl std::fmt::Display, result: Result<T, E>) -> Outcome<T> {
    result.map_err(|e| format!("{what}: {e}"))
}

/// Waits until something holds; whether it came to that within `patience`.
pub fn comes(patience: Duration, mut holds: impl FnMut() -> Outcome<bool>) -> Outcome<bool> {
    let end = Instant::now() + patience;
    loop {
        match holds()? {
            true => return Ok(true),
            false if Instant::now() > end => return Ok(false),
            false => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

pub fn write_file(path: impl AsRef<Path>, text: &str) -> Outcome<()> {
    let path = path.as_ref();
    at(format_args!("writing {text:?} to {}", path.display()), fs::write(path, text))
}

pub fn read_number(path: impl AsRef<Path>) -> Outcome<u64> {
    let path = path.as_ref();
    let text = at(path.display(), fs::read_to_string(path))?;
    at(path.display(), text.trim().parse())
}

pub fn load_module(name: &'static str) -> Outcome<()> {
    at(name, module::load(&Root::at("/"), name))
}

/// A device or file for O_DIRECT.
pub fn open_direct(path: &Path) -> Outcome<File> {
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(path);
    at(format_args!("opening {}", path.display()), file)
}

/// A null_blk that keeps its content. `irqmode`: how its requests end (1 softirq, 2 timer of 100 us).
pub fn make_disk(name: &str, mib: u64, sector: u64, discard: u64, irqmode: u64) -> Outcome<PathBuf> {
    let folder = Path::new("/sys/kernel/config/nullb").join(name);
    at(format_args!("making {}", folder.display()), fs::create_dir(&folder))?;
    for (key, value) in [
        ("size", mib),
        ("blocksize", sector),
        ("memory_backed", 1),
        ("discard", discard),
        ("irqmode", irqmode),
        ("completion_nsec", 100_000),
        ("submit_queues", 4),
        ("power", 1),
    ] {
        write_file(folder.join(key), &value.to_string())?;
    }
    Ok(Path::new("/dev").join(name))
}

pub fn target(kind: &str, start_sectors: u64, size_sectors: u64, parameters: String) -> Target {
    Target { start_sectors, size_sectors, kind: kind.into(), parameters }
}

/// Runs a program; its last words are in the error.
pub fn run(program: &str, args: &[&str]) -> Outcome<()> {
    let output = at(program, Command::new(program).args(args).output())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let lines: Vec<&str> = said.lines().collect();
    Err(format!("{program} ended with {}: {}", output.status, lines[lines.len().saturating_sub(8)..].join(" | ")))
}

/// What the first CPU has worked for tasks.
pub fn busy_ns() -> Outcome<u64> {
    let text = at("/proc/schedstat", fs::read_to_string("/proc/schedstat"))?;
    let line = text.lines().find(|line| line.starts_with("cpu0 ")).unwrap_or_default();
    line.split_ascii_whitespace().nth(7).and_then(|word| word.parse().ok()).ok_or(format!("/proc/schedstat: {line:?}"))
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the first process reads of the machine's state. Parsers take any text and give `None` for what is not there.

use std::path::Path;

use fovea_scenario::CpuTimes;

use crate::outcome::{read_file, Outcome};

pub use fovea_linux::clock::now_ns;

/// Memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// MemTotal.
    pub total: u64,
    /// MemFree.
    pub free: u64,
    /// MemAvailable.
    pub available: u64,
    /// SwapTotal less SwapFree.
    pub swapped: u64,
}

impl Memory {
    /// Reads /proc/meminfo.
    pub fn read() -> Outcome<Self> {
        Self::parse(&read_file("/proc/meminfo")?).ok_or_else(|| "/proc/meminfo: a field is missing".into())
    }

    fn parse(text: &str) -> Option<Self> {
        let bytes = |name| field(text, name).map(|kib| kib * 1024);
        Some(Self {
            total: bytes("MemTotal:")?,
            free: bytes("MemFree:")?,
            available: bytes("MemAvailable:")?,
            swapped: bytes("SwapTotal:")?.saturating_sub(bytes("SwapFree:")?),
        })
    }
}

/// What all CPUs together have done since boot (`/proc/stat`, proc(5)).
pub fn cpu_times() -> Outcome<CpuTimes> {
    parse_cpu_times(&read_file("/proc/stat")?).ok_or_else(|| "/proc/stat: no times of the CPUs".into())
}

/// Of these, the kernel's own, without its interrupts.
pub fn system_ns() -> Outcome<u64> {
    let parts = parse_cpu_parts(&read_file("/proc/stat")?);
    parts.map(|[_, _, system, ..]| system).ok_or_else(|| "/proc/stat: no system time".into())
}

/// The parts of the CPUs' time, ns: user, nice, system, idle, I/O wait, irq, softirq.
fn parse_cpu_parts(text: &str) -> Option<[u64; 7]> {
    /// USER_HZ is 100 on every architecture that Debian has.
    const TICK_NS: u64 = 10_000_000;
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let mut words = line.split_ascii_whitespace();
    let mut parts = [0; 7];
    for part in &mut parts {
        *part = words.next()?.parse::<u64>().ok()?.checked_mul(TICK_NS)?;
    }
    Some(parts)
}

fn parse_cpu_times(text: &str) -> Option<CpuTimes> {
    let [user, nice, system, idle_ns, io_wait_ns, irq, softirq] = parse_cpu_parts(text)?;
    let system_ns = system.checked_add(irq)?.checked_add(softirq)?;
    Some(CpuTimes { user_ns: user.checked_add(nice)?, system_ns, idle_ns, io_wait_ns })
}

/// The number after `name` at the start of a line.
pub fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.split_ascii_whitespace().next()?.parse().ok())
}

/// The number right after `name` in the line that begins with `line`.
pub fn field_after(text: &str, line: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|l| l.starts_with(line))?;
    line.split_ascii_whitespace().find_map(|word| word.strip_prefix(name)?.parse().ok())
}

/// Kills by the kernel's OOM killer since boot.
pub fn oom_kills() -> Outcome<u64> {
    field(&read_file("/proc/vmstat")?, "oom_kill ").ok_or_else(|| "/proc/vmstat: no oom_kill".into())
}

/// Memory that all zram devices occupy (third field of mm_stat, admin-guide/blockdev/zram), in bytes.
pub fn zram_bytes() -> Outcome<u64> {
    let mut sum = 0;
    for name in zram_devices()? {
        // A device can go away, or not be set up yet, between the two looks.
        if let Ok(stat) = std::fs::read_to_string(Path::new("/sys/block").join(name).join("mm_stat")) {
            sum += stat.split_ascii_whitespace().nth(2).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    Ok(sum)
}

/// Names of the zram devices there are, in order.
pub fn zram_devices() -> Outcome<Vec<String>> {
    let mut names: Vec<String> = list("/sys/block")?.into_iter().filter(|name| name.starts_with("zram")).collect();
    names.sort();
    Ok(names)
}

/// Swap areas in use, by path.
pub fn swap_areas() -> Outcome<Vec<String>> {
    let text = read_file("/proc/swaps")?;
    Ok(text.lines().skip(1).filter_map(|line| line.split_ascii_whitespace().next()).map(str::to_owned).collect())
}

/// Names in a folder, sorted.
pub fn list(folder: impl AsRef<Path>) -> Outcome<Vec<String>> {
    let folder = folder.as_ref();
    let entries = std::fs::read_dir(folder).map_err(|error| format!("listing {}: {error}", folder.display()))?;
    let mut names: Vec<String> = entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

/// Processes of a cgroup (not of those below it).
pub fn processes(cgroup: &Path) -> Vec<u32> {
    let text = std::fs::read_to_string(cgroup.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// What a process did until now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Context switches of all its threads.
    pub switches: u64,
    /// CPU time of all its threads.
    pub cpu_ns: u64,
    /// VmHWM.
    pub peak_bytes: u64,
}

impl Activity {
    /// Of one process; zero if it has ended.
    pub fn of(pid: u32) -> Self {
        let process = Path::new("/proc").join(pid.to_string());
        let mut sum = Self::default();
        for thread in list(process.join("task")).unwrap_or_default() {
            let thread = process.join("task").join(thread);
            let status = std::fs::read_to_string(thread.join("status")).unwrap_or_default();
            let sched = std::fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
            sum.switches += switches(&status);
            sum.cpu_ns += sched.split_ascii_whitespace().next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
            sum.peak_bytes = field(&status, "VmHWM:").unwrap_or(0) * 1024;
        }
        sum
    }
}

fn switches(status: &str) -> u64 {
    ["voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"].iter().filter_map(|name| field(status, name)).sum()
}

/// CPU time of everything that ever ran in a cgroup, in ns.
pub fn cgroup_cpu_ns(cgroup: &Path) -> Outcome<u64> {
    let path = cgroup.join("cpu.stat");
    let usage = field(&read_file(&path)?, "usage_usec ").ok_or_else(|| format!("{}: no usage_usec", path.display()))?;
    Ok(usage * 1000)
}

/// For how long all processes at once have waited for memory; none of a kernel that does not count it.
pub fn psi_full_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/pressure/memory").ok()?;
    Some(field_after(&text, "full ", "total=")? * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn meminfo_is_in_kib() {
        let text = "MemTotal:  400 kB\nMemFree:  100 kB\nMemAvailable: 200 kB\nSwapTotal: 50 kB\nSwapFree: 20 kB\n";
        let expected = Memory { total: 409_600, free: 102_400, available: 204_800, swapped: 30_720 };
        assert_eq!(Memory::parse(text), Some(expected));
        assert_eq!(Memory::parse("MemTotal: 400 kB\n"), None);
    }

    #[test]
    fn times_of_all_cpus_come_in_hundredths_of_a_second() {
        let text = "cpu  3 1 4 1000 5 1 1 9 0 0\ncpu0 1 0 2 500 2 0 1 4 0 0\n";
        let [user_ns, system_ns, idle_ns, io_wait_ns] = [4, 6, 1000, 5].map(|ticks| ticks * 10_000_000);
        let times = CpuTimes { user_ns, system_ns, idle_ns, io_wait_ns };
        assert_eq!(parse_cpu_times(text), Some(times));
        let before = CpuTimes { user_ns: user_ns - 1, idle_ns: idle_ns + 1, ..times };
        assert_eq!(times.since(before), CpuTimes { user_ns: 1, ..CpuTimes::default() });
        assert_eq!(parse_cpu_times("cpu  3 1 4 1000 5 1\n"), None);
        assert_eq!(parse_cpu_times(&format!("cpu  {} 1 4 1000 5 1 1\n", u64::MAX)), None);
    }

    #[test]
    fn pressure_is_read_from_the_line_asked_for() {
        let text = "some avg10=0.00 avg60=0.10 avg300=0.00 total=7\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n";
        assert_eq!(field_after(text, "full ", "total="), Some(5));
        assert_eq!(field_after(text, "some ", "total="), Some(7));
        assert_eq!(field_after("", "full ", "total="), None);
    }

    #[test]
    fn both_kinds_of_switches_count_once() {
        let status = "Name:\tx\nVmHWM:\t  8 kB\nvoluntary_ctxt_switches:\t41\nnonvoluntary_ctxt_switches:\t7\n";
        assert_eq!(switches(status), 48);
    }

    #[test]
    fn this_process_has_run() {
        let me = Activity::of(std::process::id());
        assert!(me.peak_bytes > 0);
        assert_eq!(Activity::of(u32::MAX), Activity::default());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}") {
            let _ = (Memory::parse(&text), field(&text, "x"), switches(&text));
        }
    }
}

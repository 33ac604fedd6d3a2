// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Kernel same-page merging: `/sys/kernel/mm/ksm`, its thread, and who is registered for it.

use std::io;
use std::path::PathBuf;

use fovea_apps::{Kinship, MergeReading, MergeSettings, SpareReading};
use memchr::memmem;
use rustix::fs::OFlags;

use crate::check::{missing, Finding};
use crate::error::is_gone;
use crate::file::{read, read_into, write_named, Root};
use crate::proc::{self, Stat, Status};
use crate::process::Process;
use crate::psi::Pressure;
use crate::{neighbours, sys, Error};

/// Where the kernel has it.
pub const FOLDER: &str = "sys/kernel/mm/ksm";

/// The kernel's thread that looks for pages that are alike.
const THREAD: &str = "ksmd";

/// What an advisor that does nothing is called.
const NO_ADVISOR: &str = "none";

/// So much of `smaps` is read to see whether a process is registered: what the kernel writes there it has to count in the page tables.
const SMAPS_BYTES: usize = 4096;

/// The same of the mappings themselves.
const MAPS_BYTES: usize = 4096;

/// Registers this process, what it becomes by exec and what it forks. It cannot be taken back without parting what was merged.
///
/// # Errors
/// Where the kernel cannot: which one can.
pub fn register_for_merging() -> Result<(), Error> {
    sys::set_memory_merge().map_err(|e| match e.raw_os_error() {
        Some(libc::EINVAL) => Error::Missing {
            what: "registering an app for merging (PR_SET_MEMORY_MERGE)",
            mend: "Linux 6.4 or newer with CONFIG_KSM has it; start the app without --merge".into(),
        },
        _ => Error::Call { call: "prctl(PR_SET_MEMORY_MERGE)", what: "this process".into(), source: e },
    })
}

fn file(root: &Root, name: &str) -> PathBuf {
    root.join(FOLDER).join(name)
}

fn value(root: &Root, name: &str) -> Result<Option<u64>, Error> {
    let path = file(root, name);
    match read(&path) {
        Err(Error::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
        Ok(text) => proc::number(&text).map(Some).ok_or_else(|| Error::parse(&path, &text)),
    }
}

/// The one in brackets of "[none] scan-time".
fn chosen(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

fn settings(root: &Root) -> Result<Option<MergeSettings>, Error> {
    let Some(run) = value(root, "run")? else { return Ok(None) };
    Ok(Some(MergeSettings {
        run,
        pages_to_scan: root.page_size().to_policy(value(root, "pages_to_scan")?.unwrap_or(0)),
        sleep_ms: value(root, "sleep_millisecs")?.unwrap_or(0),
        advisor: read(&file(root, "advisor_mode")).ok().and_then(|text| chosen(&text)),
    }))
}

/// Its state; `None` on a kernel without it.
pub(crate) fn reading(root: &Root, ksmd: &mut Option<Ksmd>) -> Result<Option<MergeReading>, Error> {
    let Some(settings) = settings(root)? else { return Ok(None) };
    let page = root.page_size();
    let count = |name: &str| value(root, name).map(|pages| page.to_policy(pages.unwrap_or_default()));
    let vmstat = read(&root.join("proc/vmstat")).unwrap_or_default();
    let in_vmstat = |key: &[u8]| page.to_policy(proc::value(&vmstat, key).unwrap_or(0));
    Ok(Some(MergeReading {
        settings,
        full_scans: value(root, "full_scans")?.unwrap_or(0),
        shared_pages: count("pages_shared")?,
        sharing_pages: count("pages_sharing")?,
        unshared_pages: count("pages_unshared")?,
        volatile_pages: count("pages_volatile")?,
        scanned_pages: value(root, "pages_scanned")?.map(|pages| page.to_policy(pages)),
        skipped_pages: count("pages_skipped")?,
        parted_pages: in_vmstat(b"cow_ksm "),
        anon_pages: in_vmstat(b"nr_anon_pages "),
        cpu_ns: cpu_ns(root, ksmd),
    }))
}

/// Sets ksmd. `pages_to_scan` can be written only while no advisor sets it, and an advisor sets it anew when it is chosen: so the one, the
/// other, and whether it runs last of all.
pub(crate) fn set(root: &Root, settings: &MergeSettings) -> Result<(), Error> {
    let now =
        self::settings(root)?.ok_or(Error::Missing { what: FOLDER, mend: "the kernel lacks CONFIG_KSM".into() })?;
    let scan_differs = now.pages_to_scan != settings.pages_to_scan;
    let is_advised = |advisor: &Option<String>| advisor.as_deref().is_some_and(|name| name != NO_ADVISOR);
    if is_advised(&now.advisor) && (scan_differs || now.advisor != settings.advisor) {
        write_named(&file(root, "advisor_mode"), NO_ADVISOR)?;
    }
    if scan_differs {
        write_named(&file(root, "pages_to_scan"), &root.page_size().of_policy(settings.pages_to_scan).to_string())?;
    }
    if now.sleep_ms != settings.sleep_ms {
        write_named(&file(root, "sleep_millisecs"), &settings.sleep_ms.to_string())?;
    }
    if let Some(advisor) = settings.advisor.as_ref().filter(|_| is_advised(&settings.advisor)) {
        write_named(&file(root, "advisor_mode"), advisor)?;
    }
    match now.run == settings.run {
        true => Ok(()),
        false => write_named(&file(root, "run"), &settings.run.to_string()),
    }
}

/// ksmd, once it has been found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ksmd {
    pid: u32,
    start_ticks: u64,
}

/// What it has used of the CPU; 0 if that cannot be found out.
fn cpu_ns(root: &Root, ksmd: &mut Option<Ksmd>) -> u64 {
    let mut text = Vec::new();
    let same = ksmd.filter(|k| stat(root, k.pid, &mut text).is_some_and(|s| s.start_ticks == k.start_ticks));
    *ksmd = same.or_else(|| find(root));
    let Some(Ksmd { pid, .. }) = *ksmd else { return 0 };
    read(&root.join(format!("proc/{pid}/schedstat"))).ok().and_then(|text| proc::number(&text)).unwrap_or(0)
}

fn stat(root: &Root, pid: u32, text: &mut Vec<u8>) -> Option<Stat> {
    read_into(&root.join(format!("proc/{pid}/stat")), text).ok()?;
    Stat::parse(text)
}

/// A child of kthreadd's (PID 2) of that name.
fn find(root: &Root) -> Option<Ksmd> {
    let mut text = Vec::new();
    let entries = std::fs::read_dir(root.join("proc")).ok()?;
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).find_map(|pid| {
        read_into(&root.join(format!("proc/{pid}/comm")), &mut text).ok()?;
        let named = text.trim_ascii() == THREAD.as_bytes();
        let stat = stat(root, pid, &mut text).filter(|stat| named && stat.parent == 2)?;
        Some(Ksmd { pid, start_ticks: stat.start_ticks })
    })
}

/// The kinship of a process, if it is registered; `None` if it has ended.
pub(crate) fn kinship(process: &Process) -> io::Result<Option<Kinship>> {
    let found = is_registered(process).and_then(|registered| match registered {
        true => kin(process),
        false => Ok(None),
    });
    match found {
        Err(e) if is_gone(&e) => Ok(None),
        // Another user's, and we are not root: not ours to know.
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        found => found,
    }
}

pub(crate) fn kin(process: &Process) -> io::Result<Option<Kinship>> {
    let mut text = Vec::new();
    process.read("status", &mut text)?;
    let Some(user) = Status::parse(&text).uid else { return Ok(None) };
    process.read("stat", &mut text)?;
    let layout = proc::layout(&text).unwrap_or_default();
    let maps = process.open_file("maps", OFlags::RDONLY)?;
    let mut mappings = [0u8; MAPS_BYTES];
    let length = rustix::io::read(&maps, &mut mappings)?;
    let executable = file_of_code(&mappings[..length], layout.0);
    Ok(executable.map(|executable| Kinship { user, executable, layout }))
}

/// Device and inode of the file that code at an address is mapped from, by the first mappings that /proc/PID/maps lists, which
/// exec made. The kernel has them in its memory. The file itself is not asked (`stat` of /proc/PID/exe): a server of files
/// (FUSE, NFS) may answer that late or never.
fn file_of_code(maps: &[u8], code: u64) -> Option<(u64, u64)> {
    let hexadecimal = |text: &[u8]| u64::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok();
    maps.split(|&b| b == b'\n').find_map(|line| {
        // 55d0c0de2000-55d0c0de7000 r-xp 00002000 08:01 1234 /usr/bin/cat
        let mut fields = line.split(|&b| b == b' ').filter(|field| !field.is_empty());
        let mut addresses = fields.next()?.splitn(2, |&b| b == b'-');
        let (start, end) = (hexadecimal(addresses.next()?)?, hexadecimal(addresses.next()?)?);
        let mut device = fields.nth(2)?.splitn(2, |&b| b == b':');
        let (major, minor) = (hexadecimal(device.next()?)?, hexadecimal(device.next()?)?);
        let inode = proc::number(fields.next()?)?;
        let device = rustix::fs::makedev(major as u32, minor as u32);
        ((start..end).contains(&code) && inode != 0).then_some((device, inode))
    })
}

/// A newer kernel says so (`ksm_merge_any`, 6.14); on others it shows in the flags of the first mappings, which exec made.
fn is_registered(process: &Process) -> io::Result<bool> {
    let mut text = Vec::new();
    match process.read("ksm_stat", &mut text) {
        Ok(()) if memmem::find(&text, b"ksm_merge_any: yes").is_some() => return Ok(true),
        Ok(()) if proc::value(&text, b"ksm_rmap_items ").unwrap_or(0) > 0 => return Ok(true),
        Err(e) if is_gone(&e) => return Err(e),
        _ => (),
    }
    let smaps = process.open_file("smaps", OFlags::RDONLY)?;
    let mut flags = [0u8; SMAPS_BYTES];
    let length = rustix::io::read(&smaps, &mut flags)?;
    Ok(flags[..length].split(|&b| b == b'\n').any(|line| {
        let words = line.strip_prefix(b"VmFlags:");
        words.is_some_and(|words| words.split(|&b| b == b' ').any(|word| word == b"mg"))
    }))
}

/// Whether there is power and time for it.
pub(crate) fn spare(root: &Root) -> SpareReading {
    let mut text = Vec::new();
    let waited = read_into(&root.join("proc/pressure/cpu"), &mut text).ok().and_then(|()| Pressure::parse(&text).some);
    SpareReading { cpu_wait_percent: waited.map_or(0.0, |stall| stall.avg10), battery_percent: battery(root) }
}

/// What is left in a battery that is being emptied; the least, of several.
fn battery(root: &Root) -> Option<u64> {
    let supplies = std::fs::read_dir(root.join("sys/class/power_supply")).ok()?;
    let of = |supply: &std::fs::DirEntry, name: &str| read(&supply.path().join(name)).ok();
    let is = |supply: &std::fs::DirEntry, name: &str, what: &[u8]| {
        of(supply, name).is_some_and(|text| text.trim_ascii() == what)
    };
    let emptied = supplies.flatten().filter(|s| is(s, "type", b"Battery") && is(s, "status", b"Discharging"));
    // Of a mouse or a keyboard it says nothing of the device.
    let own = emptied.filter(|s| !is(s, "scope", b"Device"));
    own.filter_map(|s| proc::number(&of(&s, "capacity")?)).min()
}

/// The row of `fovea check`.
pub(crate) fn look(root: &Root) -> Finding {
    let settings = match settings(root) {
        Err(e) => return Finding::Unknown(e.to_string()),
        Ok(None) => return missing("no /sys/kernel/mm/ksm", "the kernel lacks CONFIG_KSM"),
        Ok(Some(settings)) => settings,
    };
    if root.is_live() && sys::memory_merge().is_err() {
        return missing(
            "apps cannot be registered",
            "Linux 6.4 or newer has PR_SET_MEMORY_MERGE; before, only an app itself can (MADV_MERGEABLE)",
        );
    }
    if settings.run == 1 {
        let by = if neighbours::runs(root, "ksmtuned") { "ksmtuned" } else { "somebody else" };
        return Finding::Present(format!("run by {by}, and left to them unless merge.take_over says otherwise"));
    }
    let advisor = settings.advisor.map(|name| format!(", advisor {name}")).unwrap_or_default();
    Finding::Present(format!("at rest{advisor}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::capture;

    fn ksm(folder: &std::path::Path, values: &[(&str, &str)]) -> Root {
        for (name, value) in values {
            capture(folder, &format!("{FOLDER}/{name}"), value);
        }
        Root::at(folder)
    }

    fn text(root: &Root, name: &str) -> String {
        String::from_utf8(read(&file(root, name)).unwrap()).unwrap().trim().to_owned()
    }

    const STOCK: [(&str, &str); 4] = [
        ("run", "0\n"),
        ("pages_to_scan", "100\n"),
        ("sleep_millisecs", "20\n"),
        ("advisor_mode", "[none] scan-time\n"),
    ];

    #[test]
    fn the_state_is_read_with_its_threads_time() {
        let folder = tempfile::tempdir().unwrap();
        let root = ksm(folder.path(), &STOCK);
        ksm(folder.path(), &[("full_scans", "3\n"), ("pages_sharing", "70\n"), ("pages_shared", "10\n")]);
        for (pid, parent) in [(70, 1), (71, 2)] {
            capture(folder.path(), &format!("proc/{pid}/comm"), "ksmd\n");
            let stat = format!("{pid} (ksmd) S {parent} 0 0 0 -1 0 0 0 0 0 0 0 0 0 25 5 1 0 9 0 0");
            capture(folder.path(), &format!("proc/{pid}/stat"), &stat);
            capture(folder.path(), &format!("proc/{pid}/schedstat"), &format!("{pid}000 5 6\n"));
        }
        capture(folder.path(), "proc/vmstat", "nr_anon_pages 800\nksm_swpin_copy 1\ncow_ksm 17\n");
        let mut ksmd = None;
        let reading = reading(&root, &mut ksmd).unwrap().unwrap();
        assert_eq!(reading.settings.advisor.as_deref(), Some("none"));
        assert_eq!((reading.full_scans, reading.sharing_pages, reading.known_pages()), (3, 70, 80));
        assert_eq!((reading.parted_pages, reading.anon_pages), (17, 800));
        assert_eq!((reading.cpu_ns, reading.scanned_pages), (71_000, None));
        assert_eq!(super::reading(&Root::at(folder.path().join("other")), &mut ksmd).unwrap(), None);
    }

    #[test]
    fn an_advisor_is_silenced_before_and_chosen_again_after() {
        let folder = tempfile::tempdir().unwrap();
        let root = ksm(folder.path(), &STOCK);
        // A file of the kernel's is not written over, as this one would be.
        ksm(folder.path(), &[("advisor_mode", "")]);
        let old = MergeSettings { run: 1, pages_to_scan: 700, sleep_ms: 30, advisor: Some("scan-time".into()) };
        set(&root, &old).unwrap();
        assert_eq!((text(&root, "run"), text(&root, "pages_to_scan")), ("1".into(), "700".into()));
        assert_eq!((text(&root, "sleep_millisecs"), text(&root, "advisor_mode")), ("30".into(), "scan-time".into()));
        capture(folder.path(), &format!("{FOLDER}/advisor_mode"), "[scan-time]");
        set(&root, &MergeSettings { pages_to_scan: 555, advisor: Some("none".into()), ..old }).unwrap();
        assert_eq!((text(&root, "advisor_mode"), text(&root, "pages_to_scan")), ("nonen-time]".into(), "555".into()));
    }

    #[test]
    fn only_a_battery_of_the_devices_own_that_is_being_emptied_counts() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        assert_eq!(spare(&root), SpareReading::default());
        let supply = |name: &str, values: [&str; 4]| {
            for (file, value) in ["type", "status", "capacity", "scope"].iter().zip(values) {
                capture(folder.path(), &format!("sys/class/power_supply/{name}/{file}"), value);
            }
        };
        supply("AC", ["Mains\n", "", "", ""]);
        supply("mouse", ["Battery\n", "Discharging\n", "3\n", "Device\n"]);
        supply("BAT0", ["Battery\n", "Charging\n", "12\n", "System\n"]);
        assert_eq!(spare(&root).battery_percent, None);
        supply("BAT0", ["Battery\n", "Discharging\n", "12\n", "System\n"]);
        capture(folder.path(), "proc/pressure/cpu", "some avg10=31.50 avg60=0.00 avg300=0.00 total=7\n");
        assert_eq!(spare(&root), SpareReading { cpu_wait_percent: 31.5, battery_percent: Some(12) });
    }

    #[test]
    fn who_runs_it_already_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        assert!(matches!(look(&root), Finding::Missing { mend, .. } if mend.contains("CONFIG_KSM")));
        ksm(folder.path(), &STOCK);
        assert!(matches!(look(&root), Finding::Present(found) if found == "at rest, advisor none"));
        ksm(folder.path(), &[("run", "1\n")]);
        assert!(matches!(look(&root), Finding::Present(found) if found.contains("somebody else")));
        capture(folder.path(), "proc/9/comm", "ksmtuned\n");
        assert!(
            matches!(look(&root), Finding::Present(found) if found.contains("ksmtuned") && found.contains("take_over"))
        );
    }

    #[test]
    fn an_executable_is_known_by_what_its_code_is_mapped_from() {
        let maps = b"400000-401000 r--p 00000000 fe:01 77 /usr/bin/a b\n\
            401000-500000 r-xp 00001000 fe:01 77 /usr/bin/a b\n7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n7f00";
        assert_eq!(file_of_code(maps, 0x401_234), Some((rustix::fs::makedev(0xfe, 1), 77)));
        assert_eq!(file_of_code(maps, 0x500_000), None);
        assert_eq!(file_of_code(maps, 0x7f00_0000_0010), None, "no file");
    }

    /// A child, as this process's own memory cannot be unregistered.
    #[test]
    fn a_process_is_registered_once_it_says_so_and_those_it_forks_are_its_kin() {
        use std::os::unix::process::CommandExt;
        if sys::memory_merge().is_err() {
            println!("not tried: this kernel cannot register a process");
            return;
        }
        let child = |merged: bool| {
            let mut command = std::process::Command::new("cat");
            command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
            if merged {
                // SAFETY: one system call of integers, which is allowed between fork and exec.
                unsafe { command.pre_exec(sys::set_memory_merge) };
            }
            command.spawn().unwrap()
        };
        for merged in [true, false] {
            let mut child = child(merged);
            std::thread::sleep(std::time::Duration::from_millis(50));
            let process = Process::open(&Root::at("/"), child.id()).unwrap();
            assert_eq!(kinship(&process).unwrap().is_some(), merged);
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The real device.

use std::cell::OnceCell;
use std::io;
use std::path::{Component, Path, PathBuf};

use fovea_apps::{AppUsage, CpuReading, MemoryReading};

use crate::cgroup::Cgroups;
use crate::error::is_gone;
use crate::file::{read_into, write_named, Root};
use crate::media::{Media, MediaUser};
use crate::memory::MemoryReader;
use crate::pageout::{Budget, Pager, Tally};
use crate::prefetch::Prefetcher;
use crate::proc::{self, Status};
use crate::process::Process;
use crate::psi::{Kind, Trigger};
use crate::{
    check, importance, kill, selfcare, zram, CompressCursor, CompressOutcome, Device, Error, KillOutcome, OldScore,
    PageRange, Report, ZramDevice, ZramWish,
};

/// The running machine, or a folder of files captured from one.
#[derive(Debug)]
pub struct System {
    root: Root,
    cgroups: OnceCell<Cgroups>,
    memory: MemoryReader,
    pager: Pager,
    prefetcher: Prefetcher,
    media: Media,
    pids: Vec<u32>,
    text: Vec<u8>,
}

impl System {
    /// The running machine; fails without /proc. Whatever else is missing shows where it is used, and in [`System::check`].
    pub fn new() -> Result<System, Error> {
        let system = System::at("/");
        match system.root.join("proc/self/stat").exists() {
            true => Ok(system),
            false => Err(Error::Missing { what: "/proc", mend: "mount it: mount -t proc proc /proc".into() }),
        }
    }

    /// A folder that holds `proc`, `sys`, `dev` and `lib/modules`. System calls still go to the running kernel.
    pub fn at(root: impl Into<PathBuf>) -> System {
        let root = Root::at(root);
        System {
            media: Media::at(root.clone()),
            root,
            cgroups: OnceCell::new(),
            memory: MemoryReader::default(),
            pager: Pager::new(),
            prefetcher: Prefetcher::new(),
            pids: Vec::new(),
            text: Vec::new(),
        }
    }

    /// The same, with sound and video devices looked for in another folder's `proc/asound` and `dev`.
    #[must_use]
    pub fn with_media_at(mut self, root: impl Into<PathBuf>) -> System {
        self.media = Media::at(Root::at(root));
        self
    }

    /// A watch on the sound and video devices.
    pub fn media_watch(&self) -> io::Result<crate::MediaWatch> {
        crate::MediaWatch::new(self.media.devices())
    }

    /// Where the kernel's files are.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The cgroup v2 hierarchy; looked for once.
    pub fn cgroups(&self) -> Result<&Cgroups, Error> {
        if let Some(cgroups) = self.cgroups.get() {
            return Ok(cgroups);
        }
        let found = Cgroups::find(&self.root)?;
        Ok(self.cgroups.get_or_init(|| found))
    }

    /// Where cgroup v2 is mounted.
    pub fn cgroup_mount(&self) -> Result<PathBuf, Error> {
        Ok(self.cgroups()?.mount().to_owned())
    }

    /// Keeps the daemon's own pages in memory from now on.
    pub fn lock_memory(&self) -> Result<(), Error> {
        selfcare::lock_memory()
    }

    /// Puts the daemon itself out of the OOM killer's reach.
    pub fn set_self_oom_protection(&self) -> Result<(), Error> {
        selfcare::set_self_oom_protection(&self.root)
    }

    /// What this machine can do, and why not.
    pub fn check(&self) -> Report {
        check::check(&self.root)
    }

    /// The cgroups below `prefix` that are frozen; `""` for all.
    pub fn frozen_cgroups(&self, prefix: &str) -> Result<Vec<String>, Error> {
        self.cgroups()?.frozen(prefix)
    }

    /// Thaws every cgroup below `prefix`; returns which were frozen.
    pub fn thaw_all(&self, prefix: &str) -> Result<Vec<String>, Error> {
        self.cgroups()?.thaw_all(prefix)
    }

    /// A trigger on the whole system's memory pressure.
    pub fn pressure_trigger(&self, kind: Kind, stall_us: u64, window_us: u64) -> Result<Trigger, Error> {
        Trigger::system(&self.root, kind, stall_us, window_us)
    }

    /// The cgroup of a process, by its path below the mount; `None` once it has ended.
    pub fn cgroup_of(&mut self, pid: u32) -> Result<Option<String>, Error> {
        let path = self.root.join(format!("proc/{pid}/cgroup"));
        match crate::file::read_into(&path, &mut self.text) {
            Err(e) if is_gone(&e) => Ok(None),
            Err(e) => Err(Error::file("reading", path, e)),
            Ok(()) => Ok(crate::cgroup::parse_membership(&self.text)),
        }
    }

    /// Whether a cgroup has processes that this user may not look at: another user's, or hidden from him (proc(5), `hidepid`).
    pub fn has_unseen(&mut self, cgroup: &str) -> Result<bool, Error> {
        self.list_processes(cgroup)?;
        let unseen = crate::programs::unseen(&self.root, &self.pids);
        // One that is not listed any more has ended, and is hidden by nobody.
        self.list_processes(cgroup)?;
        Ok(unseen.iter().any(|pid| self.pids.contains(pid)))
    }

    fn list_processes(&mut self, cgroup: &str) -> Result<(), Error> {
        let mut pids = std::mem::take(&mut self.pids);
        pids.clear();
        let listed = self.cgroups().and_then(|cgroups| cgroups.processes(cgroup, &mut pids));
        self.pids = pids;
        listed
    }

    /// The file of a setting; names that lead elsewhere are refused.
    fn sysctl_path(&self, name: &str) -> Result<PathBuf, Error> {
        let plain = Path::new(name).components().all(|c| matches!(c, Component::Normal(_)));
        let parameter = name.strip_prefix("module/").map(|rest| rest.split_once('/'));
        match (plain && !name.is_empty(), parameter) {
            (true, None) => Ok(self.root.join("proc/sys").join(name)),
            (true, Some(Some((module, parameter)))) if !parameter.contains('/') => {
                Ok(self.root.join(format!("sys/module/{module}/parameters/{parameter}")))
            }
            _ => Err(Error::Refused {
                what: format!("setting {name:?}"),
                mend: "name it by its path below /proc/sys (vm/page-cluster), or as module/NAME/PARAMETER".into(),
            }),
        }
    }

    /// The sum over its processes, for cgroups without the memory controller.
    fn usage_by_processes(&mut self) -> AppUsage {
        let mut usage = AppUsage::default();
        for pid in &self.pids {
            let path = self.root.join(format!("proc/{pid}/status"));
            if crate::file::read_into(&path, &mut self.text).is_ok() {
                let status = Status::parse(&self.text);
                usage.anon_bytes = usage.anon_bytes.saturating_add(status.anon_bytes);
                usage.current_bytes = usage.current_bytes.saturating_add(status.resident_bytes);
                usage.swap_bytes = usage.swap_bytes.saturating_add(status.swap_bytes);
            }
        }
        usage
    }
}

impl Device for System {
    fn memory(&mut self) -> Result<MemoryReading, Error> {
        self.memory.read(&self.root)
    }

    fn low_watermark_bytes(&mut self) -> Result<u64, Error> {
        let path = self.root.join("proc/zoneinfo");
        match read_into(&path, &mut self.text) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(e) => Err(Error::file("reading", path, e)),
            Ok(()) => Ok(crate::memory::low_watermark_bytes(&self.text)),
        }
    }

    fn ecache(&mut self) -> Result<Option<fovea_apps::PoolReading>, Error> {
        crate::ecache::pool(&self.root)
    }

    fn usage(&mut self, cgroup: &str) -> Result<AppUsage, Error> {
        self.list_processes(cgroup)?;
        let processes = self.pids.len() as u32;
        let mut text = std::mem::take(&mut self.text);
        let cgroups = self.cgroups()?;
        let current = cgroups.number(cgroup, "memory.current", &mut text)?;
        let usage = match current {
            Some(current_bytes) => AppUsage {
                current_bytes,
                swap_bytes: cgroups.number(cgroup, "memory.swap.current", &mut text)?.unwrap_or(0),
                anon_bytes: match cgroups.text(cgroup, "memory.stat", &mut text)? {
                    true => proc::value(&text, b"anon ").unwrap_or(0),
                    false => 0,
                },
                processes,
            },
            None => AppUsage { processes, ..self.usage_by_processes() },
        };
        self.text = text;
        Ok(usage)
    }

    fn charge(&mut self, cgroup: &str) -> Result<u64, Error> {
        let mut text = std::mem::take(&mut self.text);
        let charged = self.cgroups()?.number(cgroup, "memory.current", &mut text);
        self.text = text;
        match charged? {
            Some(bytes) => Ok(bytes),
            None => Ok(self.usage(cgroup)?.current_bytes),
        }
    }

    fn compress(
        &mut self,
        cgroup: &str,
        cursor: CompressCursor,
        pages: u64,
        under_permille: u32,
    ) -> Result<CompressOutcome, Error> {
        self.list_processes(cgroup)?;
        let codec = self.memory.codec(&self.root);
        self.pager.sampler.set_codec(codec);
        let mut budget = Budget::new(pages, under_permille);
        let mut tally = Tally::default();
        for &pid in self.pids.iter().filter(|&&pid| pid >= cursor.pid) {
            let mut address = if pid == cursor.pid { cursor.address } else { 0 };
            if !budget.is_spent() {
                let Some(process) = Process::open_in(&self.root, cgroup, pid)? else { continue };
                match self.pager.compress(&process, address, &mut budget, &mut tally) {
                    Ok(None) => continue,
                    Ok(Some(next)) => address = next,
                    Err(e) if is_gone(&e) => continue,
                    Err(e) => return Err(explain("process_madvise", "MADV_PAGEOUT", pid, cgroup, e)),
                }
            }
            tally.outcome.next = Some(CompressCursor { pid, address });
            break;
        }
        Ok(tally.finish())
    }

    fn cpu(&mut self) -> Result<CpuReading, Error> {
        let path = self.root.join("proc/uptime");
        read_into(&path, &mut self.text).map_err(|e| Error::file("reading", &path, e))?;
        let idle_ns = parse_idle_ns(&self.text).ok_or_else(|| Error::parse(&path, &self.text))?;
        let own = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Ok(CpuReading { idle_ns, own_ns: own.tv_sec as u64 * 1_000_000_000 + own.tv_nsec as u64 })
    }

    fn resident(&mut self, cgroup: &str, most: usize) -> Result<Vec<PageRange>, Error> {
        self.list_processes(cgroup)?;
        let mut found = Vec::new();
        for &pid in &self.pids {
            let Some(process) = Process::open_in(&self.root, cgroup, pid)? else { continue };
            match self.prefetcher.resident(&process, &mut found, most) {
                Err(e) if !is_gone(&e) => {
                    return Err(Error::call("reading pagemap", format!("process {pid} of {cgroup}"), e))
                }
                _ => (),
            }
        }
        Ok(found)
    }

    fn prefetch(&mut self, cgroup: &str, ranges: Option<&[PageRange]>, pages: u64) -> Result<u64, Error> {
        self.list_processes(cgroup)?;
        let mut asked = 0;
        for &pid in &self.pids {
            if asked >= pages {
                break;
            }
            let Some(process) = Process::open_in(&self.root, cgroup, pid)? else { continue };
            let done = match ranges {
                Some(ranges) => self.prefetcher.prefetch_ranges(&process, ranges, pages - asked),
                None => self.prefetcher.prefetch(&process, pages - asked),
            };
            match done {
                Ok(more) => asked += more,
                Err(e) if is_gone(&e) => (),
                Err(e) => return Err(explain("process_madvise", "MADV_WILLNEED", pid, cgroup, e)),
            }
        }
        Ok(asked)
    }

    fn set_frozen(&mut self, cgroup: &str, frozen: bool) -> Result<(), Error> {
        self.cgroups()?.set_frozen(cgroup, frozen)
    }

    fn kill(&mut self, cgroup: &str) -> Result<KillOutcome, Error> {
        kill::kill(&self.root, self.cgroups()?, cgroup)
    }

    fn terminate(&mut self, cgroup: &str) -> Result<u32, Error> {
        kill::terminate(&self.root, self.cgroups()?, cgroup)
    }

    fn cgroup_of_pid(&mut self, pid: u32) -> Result<Option<String>, Error> {
        self.cgroup_of(pid)
    }

    fn others(&mut self) -> Result<Vec<(String, u64)>, Error> {
        crate::others::others(self.cgroups()?.mount())
    }

    fn programs(&mut self, cgroup: &str) -> Result<Vec<String>, Error> {
        self.list_processes(cgroup)?;
        crate::programs::programs(&self.root, cgroup, &self.pids)
    }

    fn media_users(&mut self, look_for_video: bool) -> Result<Vec<MediaUser>, Error> {
        self.media.users(&self.root, look_for_video)
    }

    fn scores(&mut self, cgroup: &str) -> Result<Vec<OldScore>, Error> {
        importance::scores(&self.root, self.cgroups()?, cgroup)
    }

    fn set_scores(&mut self, _cgroup: &str, scores: &[OldScore]) -> Result<(), Error> {
        importance::restore(&self.root, scores).map(drop)
    }

    fn restore_importance(&mut self, cgroup: &str, scores: &[OldScore]) -> Result<(), Error> {
        importance::restore_app(&self.root, self.cgroups()?, cgroup, scores)
    }

    fn sysctl(&mut self, name: &str) -> Result<String, Error> {
        let path = self.sysctl_path(name)?;
        let text = crate::file::read(&path)?;
        Ok(String::from_utf8_lossy(text.trim_ascii()).into_owned())
    }

    fn set_sysctl(&mut self, name: &str, value: &str) -> Result<(), Error> {
        write_named(&self.sysctl_path(name)?, value)
    }

    fn zram_setup(
        &mut self,
        wish: &ZramWish,
        claimed: &mut dyn FnMut(&ZramDevice) -> io::Result<()>,
    ) -> Result<ZramDevice, Error> {
        self.memory.forget_swaps();
        zram::setup(&self.root, wish, claimed)
    }

    fn zram_teardown(&mut self, zram: &ZramDevice) -> Result<(), Error> {
        // Its open files would keep the module from being unloaded.
        self.memory.forget_swaps();
        zram::teardown(&self.root, zram)
    }
}

fn explain(call: &'static str, advice: &str, pid: u32, cgroup: &str, error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::ENOSYS) => Error::Missing { what: "process_madvise", mend: "Linux 5.10 or newer has it".into() },
        Some(libc::EPERM | libc::EACCES) => Error::Missing {
            what: "the right to advise on other processes",
            mend: "run as root (CAP_SYS_PTRACE and CAP_SYS_NICE)".into(),
        },
        _ => Error::call(call, format!("process {pid} of {cgroup} ({advice})"), error),
    }
}

/// The second number of /proc/uptime, seconds with two decimals.
fn parse_idle_ns(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let (seconds, hundredths) = text.split_ascii_whitespace().nth(1)?.split_once('.')?;
    let (seconds, hundredths): (u64, u64) = (seconds.parse().ok()?, hundredths.parse().ok()?);
    seconds.checked_mul(1_000_000_000)?.checked_add(hundredths.checked_mul(10_000_000)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_the_second_number() {
        assert_eq!(parse_idle_ns(b"350735.47 234388.90\n"), Some(234_388_900_000_000));
        assert_eq!(parse_idle_ns(b"350735.47"), None);
        assert_eq!(parse_idle_ns(b"1.0 99999999999999999999.1"), None);
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The door to the simulated device: the second implementation of `fovea_linux::Device`, for the daemon's own engine.

use std::cell::{RefCell, RefMut};
use std::io;
use std::rc::Rc;

use fovea_apps::{AppUsage, CpuReading, Marks, MemoryReading, ProcessId, ZramReading};
use fovea_linux::device_traits::{Apps, Disks, Meters, Pages, Scores, Settings, Swap};
use fovea_linux::{
    CompressCursor, CompressOutcome, Error, KillOutcome, MarkTable, PageRange, Ranked, StorageSwap, ZramDevice,
    ZramWish,
};

use super::costs::*;
use super::machine::{Cpu, Machine};
use super::memory::{Kind, PageId, Place, Zram};
use crate::PAGE_BYTES;

/// Pages judged and paged out together (crates/linux/src/pageout.rs).
const WINDOW_PAGES: u64 = 32;
/// Pages looked at per page wanted (`Device::compress`).
const SCANNED_PER_PAGE: u64 = 16;
/// Idle time is counted in steps (`CpuReading`).
const IDLE_STEP_NS: u64 = 10_000_000;

/// The daemon's hold on the device; the boot has another.
#[derive(Clone, Debug)]
pub struct SimulatedDevice(Rc<RefCell<Machine>>);

/// The device while the daemon has the CPU.
struct Held<'a>(RefMut<'a, Machine>);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.cpu = Cpu::Apps;
    }
}

impl std::ops::Deref for Held<'_> {
    type Target = Machine;
    fn deref(&self) -> &Machine {
        &self.0
    }
}

impl std::ops::DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut Machine {
        &mut self.0
    }
}

impl SimulatedDevice {
    /// A door to a machine.
    pub fn new(machine: Rc<RefCell<Machine>>) -> Self {
        Self(machine)
    }

    fn hold(&self) -> Held<'_> {
        let mut machine = self.0.borrow_mut();
        machine.cpu = Cpu::Daemon;
        Held(machine)
    }
}

fn refused(what: String, mend: &str) -> Error {
    Error::Refused { what, mend: mend.into() }
}

/// What lz4 makes of a page, in thousandths (crates/linux/src/sample.rs).
fn permille(noise_bytes: Option<u64>) -> u64 {
    noise_bytes.map_or(0, |noise| ((noise + LZ4_BYTES) * 1000 / PAGE_BYTES).min(1000))
}

impl Machine {
    /// Pages of an app by address: number, page and index, from a number on.
    fn addressed(&self, cgroup: &str, from: u64) -> Vec<(u64, PageId, u64)> {
        let Some(process) = self.processes.get(cgroup) else { return Vec::new() };
        let regions = process.regions.iter().filter(|r| r.start + r.pages > from);
        regions
            .flat_map(|r| {
                let skip = from.saturating_sub(r.start);
                (skip..r.pages).map(move |at| (r.start + at, r.first + at as PageId, r.index + at))
            })
            .collect()
    }

    fn is_in(&self, page: PageId, place: Place) -> bool {
        self.memory.page(page).place == place
    }
}

impl Meters for SimulatedDevice {
    fn memory(&mut self) -> Result<MemoryReading, Error> {
        let mut machine = self.hold();
        machine.work(LOOK_NS);
        let now_ns = machine.now_ns;
        let (some, full) = machine.pressure.read(now_ns);
        let (memory, counts) = (&machine.memory, &machine.counts);
        let swap = |pages: fn(&Zram) -> u64| memory.zram.as_ref().map_or(0, pages);
        Ok(MemoryReading {
            reclaimable_bytes: 0,
            arc_bytes: 0,
            total_bytes: memory.total * PAGE_BYTES,
            free_bytes: memory.free * PAGE_BYTES,
            available_bytes: machine.available_pages() * PAGE_BYTES,
            file_bytes: memory.resident[Kind::File as usize] * PAGE_BYTES,
            swap_total_bytes: swap(|z| z.disk_bytes),
            swap_free_bytes: swap(|z| z.disk_bytes.saturating_sub(z.pages * PAGE_BYTES)),
            zram: memory.zram.map(|z| ZramReading {
                disk_bytes: z.disk_bytes,
                original_bytes: z.pages * PAGE_BYTES,
                compressed_bytes: z.used_bytes * 1000 / ZRAM_PERMILLE,
                used_bytes: memory.zram_frames() * PAGE_BYTES,
                limit_bytes: z.limit_bytes,
            }),
            psi_some_avg10: Some(some.avg10),
            psi_full_avg10: Some(full.avg10),
            psi_some_total_us: Some(some.total_ns / 1000),
            refault_file: counts.refaults[Kind::File as usize],
            refault_anon: counts.refaults[Kind::Anon as usize],
            oom_kills: counts.oom_kills,
        })
    }

    fn cpu(&mut self) -> Result<CpuReading, Error> {
        let machine = self.hold();
        let idle_ns = machine.counts.idle_ns / IDLE_STEP_NS * IDLE_STEP_NS;
        Ok(CpuReading { idle_ns, own_ns: machine.counts.daemon_ns })
    }
}

impl Apps for SimulatedDevice {
    fn usage(&mut self, cgroup: &str) -> Result<AppUsage, Error> {
        let mut machine = self.hold();
        machine.work(USAGE_NS);
        let Some(process) = machine.processes.get(cgroup) else { return Ok(AppUsage::default()) };
        let (resident, swapped) = machine.count_anon(process);
        let files = machine.memory.lists(process.lists).pages(Kind::File);
        Ok(AppUsage {
            anon_bytes: resident * PAGE_BYTES,
            current_bytes: (resident + files) * PAGE_BYTES,
            swap_bytes: swapped * PAGE_BYTES,
            processes: 1,
            ..AppUsage::default()
        })
    }

    fn charge(&mut self, cgroup: &str) -> Result<u64, Error> {
        let mut machine = self.hold();
        machine.work(CHARGE_NS);
        let Some(process) = machine.processes.get(cgroup) else { return Ok(0) };
        let lists = machine.memory.lists(process.lists);
        Ok((lists.pages(Kind::Anon) + lists.pages(Kind::File)) * PAGE_BYTES)
    }

    fn set_frozen(&mut self, cgroup: &str, frozen: bool) -> Result<(), Error> {
        let mut machine = self.hold();
        machine.work(FREEZE_NS);
        if let Some(process) = machine.processes.get_mut(cgroup) {
            process.frozen = frozen;
        }
        Ok(())
    }

    fn kill(&mut self, cgroup: &str) -> Result<KillOutcome, Error> {
        let mut machine = self.hold();
        machine.work(SIGNAL_NS);
        let signalled_ns = machine.now_ns;
        let ended = u32::from(machine.end(cgroup));
        if ended > 0 {
            machine.note_death(cgroup, false);
        }
        Ok(KillOutcome { pidfds: Vec::new(), signalled_ns, signalled: ended, released: ended })
    }

    /// An app is one process here.
    fn kill_part(&mut self, cgroup: &str, _part: &[ProcessId]) -> Result<KillOutcome, Error> {
        self.kill(cgroup)
    }

    fn cgroup_of_pid(&mut self, pid: u32) -> Result<Option<String>, Error> {
        Ok(self.hold().processes.iter().find(|(_, p)| p.pid == pid).map(|(cgroup, _)| cgroup.clone()))
    }
}

impl Pages for SimulatedDevice {
    fn compress(
        &mut self,
        cgroup: &str,
        cursor: CompressCursor,
        pages: u64,
        under_permille: u32,
    ) -> Result<CompressOutcome, Error> {
        let mut machine = self.hold();
        let mut outcome = CompressOutcome::default();
        let Some(pid) = machine.processes.get(cgroup).map(|p| p.pid) else { return Ok(outcome) };
        let from = if cursor.pid == pid { cursor.address / PAGE_BYTES } else { 0 };
        let all = machine.addressed(cgroup, from);
        let (mut sampled, mut samples) = (0, 0);
        for window in all.chunk_by(|a, b| a.0 / WINDOW_PAGES == b.0 / WINDOW_PAGES) {
            if outcome.swapped_pages >= pages || outcome.scanned_pages >= pages.saturating_mul(SCANNED_PER_PAGE) {
                outcome.next = Some(CompressCursor { pid, address: window[0].0 * PAGE_BYTES });
                break;
            }
            let eligible: Vec<_> = window.iter().filter(|(_, page, _)| machine.is_in(*page, Place::Memory)).collect();
            if eligible.is_empty() {
                continue;
            }
            let count = eligible.len() as u64;
            outcome.scanned_pages += count;
            machine.work(count * SCAN_NS);
            let noise = |at: usize| machine.processes.get(cgroup).and_then(|p| p.noise(eligible[at].2));
            let picks = [eligible.len() / 4, eligible.len() * 3 / 4].map(|at| permille(noise(at)));
            sampled += picks.iter().sum::<u64>();
            samples += 2;
            if picks.iter().sum::<u64>() / 2 >= u64::from(under_permille) {
                outcome.incompressible_pages += count;
                continue;
            }
            let room = usize::try_from(pages - outcome.swapped_pages).unwrap_or(usize::MAX);
            for &&(number, page, _) in eligible.iter().take(room) {
                outcome.swapped_pages += u64::from(machine.evict(page));
                if outcome.swapped_pages == pages && eligible.len() > room {
                    outcome.next = Some(CompressCursor { pid, address: (number + 1) * PAGE_BYTES });
                }
            }
            if outcome.next.is_some() {
                break;
            }
        }
        outcome.sample_permille = sampled.checked_div(samples).map_or(1000, |mean: u64| mean as u32);
        Ok(outcome)
    }

    fn resident(&mut self, cgroup: &str, most: usize) -> Result<Vec<PageRange>, Error> {
        let machine = self.hold();
        let Some(pid) = machine.processes.get(cgroup).map(|p| p.pid) else { return Ok(Vec::new()) };
        let mut found: Vec<PageRange> = Vec::new();
        for (number, page, _) in machine.addressed(cgroup, 0) {
            if !machine.is_in(page, Place::Memory) {
                continue;
            }
            let (start, full) = (number * PAGE_BYTES, found.len() == most);
            match found.last_mut() {
                Some(last) if last.end == start => last.end += PAGE_BYTES,
                _ if full => break,
                _ => found.push(PageRange { pid, start, end: start + PAGE_BYTES }),
            }
        }
        Ok(found)
    }

    fn prefetch(&mut self, cgroup: &str, ranges: Option<&[PageRange]>, pages: u64) -> Result<u64, Error> {
        let mut machine = self.hold();
        let Some(pid) = machine.processes.get(cgroup).map(|p| p.pid) else { return Ok(0) };
        let wanted = |number: u64| match ranges {
            None => true,
            Some(ranges) => {
                let address = number * PAGE_BYTES;
                ranges.iter().any(|r| r.pid == pid && (r.start..r.end).contains(&address))
            }
        };
        let swapped: Vec<PageId> = machine
            .addressed(cgroup, 0)
            .into_iter()
            .filter(|&(number, page, _)| machine.is_in(page, Place::Swap) && wanted(number))
            .map(|(_, page, _)| page)
            .take(usize::try_from(pages).unwrap_or(usize::MAX))
            .collect();
        swapped.iter().for_each(|&page| machine.swap_in(page));
        Ok(swapped.len() as u64)
    }
}

impl Scores for SimulatedDevice {
    fn rank(&mut self, cgroup: &str, wanted: i32, marks: &mut dyn MarkTable) -> Result<Ranked, Error> {
        let mut machine = self.hold();
        let Some(process) = machine.processes.get_mut(cgroup) else { return Ok(Ranked::default()) };
        let own = marks.marks().own_score(process.score);
        let target = marks.mark(own, wanted).unwrap_or(own);
        let changed = u32::from(process.score != target);
        process.score = target;
        Ok(Ranked { changed, ..Ranked::default() })
    }

    fn unmark(&mut self, marks: &Marks) -> Result<Ranked, Error> {
        let mut machine = self.hold();
        machine.processes.values_mut().for_each(|process| process.score = marks.own_score(process.score));
        Ok(Ranked::default())
    }
}

impl Settings for SimulatedDevice {
    fn sysctl(&mut self, name: &str) -> Result<String, Error> {
        let known = self.hold().sysctls.get(name).cloned();
        known.ok_or_else(|| refused(format!("setting {name:?}"), "the simulated device has only vm/page-cluster"))
    }

    fn set_sysctl(&mut self, name: &str, value: &str) -> Result<(), Error> {
        match self.hold().sysctls.get_mut(name) {
            Some(setting) => *setting = value.to_owned(),
            None => return Err(refused(format!("setting {name:?}"), "the simulated device has only vm/page-cluster")),
        }
        Ok(())
    }

    fn parameter(&mut self, module: &str, name: &str) -> Result<String, Error> {
        Err(refused(format!("parameter {name:?} of module {module:?}"), "the simulated device has no modules"))
    }

    fn set_parameter(&mut self, module: &str, name: &str, _value: &str) -> Result<(), Error> {
        Err(refused(format!("parameter {name:?} of module {module:?}"), "the simulated device has no modules"))
    }
}

/// Its flash knows no apps.
impl Disks for SimulatedDevice {}

impl fovea_linux::device_traits::Net for SimulatedDevice {}

impl fovea_linux::device_traits::Merging for SimulatedDevice {}

impl fovea_linux::device_traits::Tiers for SimulatedDevice {}

impl Swap for SimulatedDevice {
    /// It has none.
    fn storage_swap(&mut self) -> StorageSwap {
        StorageSwap::default()
    }

    fn zram_setup(
        &mut self,
        wish: &ZramWish,
        claimed: &mut dyn FnMut(&ZramDevice) -> io::Result<()>,
    ) -> Result<ZramDevice, Error> {
        if !self.hold().has_zram() {
            return Err(Error::Missing { what: "zram", mend: "choose another configuration than stock".into() });
        }
        if self.hold().memory.zram.is_some() {
            return Err(refused("a second zram".into(), "the simulated device has one"));
        }
        let algorithm = wish.algorithm.clone().unwrap_or_else(|| "lz4".into());
        if algorithm != "lz4" {
            return Err(refused(format!("algorithm {algorithm:?}"), "the simulated device has costs for lz4 only"));
        }
        let zram = ZramDevice { number: 0, algorithm, loaded_module: false, hot_added: true };
        claimed(&zram).map_err(|source| Error::Call { call: "claim", what: "zram0".into(), source })?;
        self.hold().memory.zram =
            Some(Zram { disk_bytes: wish.disk_bytes, limit_bytes: wish.limit_bytes, pages: 0, used_bytes: 0 });
        Ok(zram)
    }

    fn zram_teardown(&mut self, _: &ZramDevice) -> Result<(), Error> {
        let mut machine = self.hold();
        let Some(before) = machine.memory.zram else { return Ok(()) };
        // What is being taken away takes nothing more.
        machine.memory.zram = Some(Zram { disk_bytes: 0, ..before });
        let all: Vec<String> = machine.processes.keys().cloned().collect();
        let mut swapped: Vec<PageId> =
            all.iter().flat_map(|cgroup| machine.addressed(cgroup, 0)).map(|p| p.1).collect();
        swapped.extend(machine.zygote.iter());
        for page in swapped {
            if machine.is_in(page, Place::Swap) {
                // swapoff brings every page back; the caller has seen that they fit.
                machine.swap_in(page);
            }
        }
        if let Some(left) = machine.memory.zram.filter(|z| z.pages > 0) {
            machine.memory.zram = Some(Zram { disk_bytes: before.disk_bytes, ..left });
            return Err(refused("zram0: swapoff".into(), "free some memory: its pages do not fit"));
        }
        machine.memory.zram = None;
        Ok(())
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What services and sessions occupy that are no apps.

use std::io;
use std::path::Path;

use fovea_apps::limits::{OTHERS_MAX, OTHERS_OF_USER_MAX};
use fovea_apps::{Holder, ProcessId};

use crate::cgroup::Cgroups;
use crate::charges::Charges;
use crate::device::Outsiders;
use crate::file::Root;
use crate::lasting::{going, Lasting, LEAST_SHARED_BYTES};
use crate::probe::inspect::Inspect;
use crate::process::read_of_memory;
use crate::walk::walk;
use crate::{importance, proc, Error};

/// Processes of one cgroup that are read in full, at most. Of more the largest are.
const HOLDERS_MAX: usize = 512;

/// Processes of which only the size is read, at most: each takes some ten microseconds.
const SIZED_MAX: usize = 8192;

/// Every unit below the mount that is not known, by the map of all cgroups ([`fovea_apps::place_of_cgroup`]): services, parts of
/// sessions, and what is an app's or a job's but not registered. Each user's cgroups have a budget of their own.
pub(crate) fn others(mount: &Path, is_known: &dyn Fn(&str) -> bool) -> Result<Outsiders, Error> {
    let failed = |e| Error::file("reading", mount, e);
    std::fs::metadata(mount).map_err(failed)?;
    let (mut found, mut users) = (Outsiders::default(), Vec::new());
    if !look(mount, "", OTHERS_MAX, is_known, &mut found.units, &mut users).map_err(failed)? {
        found.beyond.push(format!("cgroups of the system beyond {OTHERS_MAX}"));
    }
    for user in users {
        if !look(mount, &user, OTHERS_OF_USER_MAX, is_known, &mut found.units, &mut Vec::new()).map_err(failed)? {
            found.beyond.push(format!("cgroups of {user} beyond {OTHERS_OF_USER_MAX}"));
        }
    }
    found.units.sort();
    Ok(found)
}

/// Looks through at most so many cgroups, and adds users' slices to `users` where it begins at the root. Says whether there
/// were no more.
fn look(
    mount: &Path,
    above: &str,
    most: usize,
    is_known: &dyn Fn(&str) -> bool,
    units: &mut Vec<(String, u64)>,
    users: &mut Vec<String>,
) -> io::Result<bool> {
    let mut text = Vec::new();
    walk(&mount.join(above), most, &mut |seen| {
        let path = Path::new(above).join(seen.path());
        let Some(cgroup) = path.to_str().map(str::to_owned).filter(|cgroup| !is_known(cgroup)) else { return false };
        if fovea_apps::holds_units(&cgroup) {
            let is_users = above.is_empty() && fovea_apps::owner_of_cgroup(&cgroup).is_some();
            if is_users {
                users.push(cgroup);
            }
            return !is_users;
        }
        let swapped = seen.read_into("memory.swap.current", &mut text).ok();
        let swapped_bytes = swapped.and_then(|()| proc::number(&text)).unwrap_or(0);
        // Without the memory controller nothing is known of it.
        if seen.read_into("memory.stat", &mut text).is_ok() {
            units.push((cgroup, Charges::parse(&text, swapped_bytes).taken_bytes()));
        }
        false
    })
}

/// The processes of a cgroup and what each holds: the [`HOLDERS_MAX`] largest; none if there are more than [`SIZED_MAX`], for reading them
/// takes longer than it may while memory is short.
pub(crate) fn holders(
    root: &Root,
    cgroups: &Cgroups,
    lasting: &mut Lasting,
    cgroup: &str,
    slept_ns: u64,
) -> Result<Vec<Holder>, Error> {
    let (mut pids, mut holders, mut mapped) = (Vec::new(), Vec::new(), Vec::new());
    cgroups.processes(cgroup, &mut pids)?;
    let (mut text, mut swapped_bytes) = (Vec::new(), 0);
    if pids.len() > SIZED_MAX {
        return Ok(holders);
    }
    if pids.len() > HOLDERS_MAX {
        pids.sort_by_cached_key(|pid| std::cmp::Reverse(resident_pages(root, *pid, &mut text)));
        pids.truncate(HOLDERS_MAX);
    }
    importance::each_of(root, cgroup, &pids, |process, text| {
        let Some(stat) = process.stat(text)? else { return Ok(()) };
        let started_ns = crate::process::started_ns(stat.start_ticks, slept_ns);
        read_of_memory(root, process.pid, "status", text)?;
        let status = proc::Status::parse(text);
        let bytes = status.anon_bytes.saturating_add(status.swap_bytes);
        process.read(importance::FILE, text)?;
        let Some(oom_score_adj) = importance::parse(text) else { return Ok(()) };
        let id = ProcessId { pid: process.pid, start_ticks: stat.start_ticks };
        holders.push(Holder { id, parent: stat.parent, bytes, started_ns, oom_score_adj });
        mapped.push(status.shmem_bytes);
        swapped_bytes += status.swap_bytes;
        Ok(())
    })?;
    // What is in swap and no process's own is shared.
    let in_swap_bytes = cgroups.number(cgroup, "memory.swap.current", &mut text)?.unwrap_or(0);
    cgroups.text(cgroup, "memory.stat", &mut text)?;
    let charges = Charges::parse(&text, in_swap_bytes);
    let pids: Vec<u32> = holders.iter().map(|holder| holder.id.pid).collect();
    let stays_bytes = lasting.of_unit(&mut Inspect::Here(root), cgroup, &pids, charges.shmem_bytes);
    let all_bytes = mapped.iter().fold(0, |sum: u64, &bytes| sum.saturating_add(bytes));
    // A memfd that is written to and never mapped is in nobody's status.
    if charges.shmem_bytes >= LEAST_SHARED_BYTES && (stays_bytes > 0 || all_bytes < charges.shmem_bytes / 2) {
        let exact = going(root, &pids, &mut text);
        if exact.iter().any(|&bytes| bytes > 0) {
            mapped = exact;
        }
    }
    let shared_bytes = charges.shmem_bytes.saturating_sub(stays_bytes);
    let shared_bytes = shared_bytes.saturating_add(charges.swap_bytes.saturating_sub(swapped_bytes));
    share_out(shared_bytes, charges.kernel_bytes, &mapped, &mut holders);
    Ok(holders)
}

/// What a process has in memory; 0 if it has ended.
fn resident_pages(root: &Root, pid: u32, text: &mut Vec<u8>) -> u64 {
    let read = read_of_memory(root, pid, "statm", text).ok();
    read.and_then(|()| proc::number(text.split(|&b| b == b' ').nth(1)?)).unwrap_or(0)
}

/// Gives each process its part of what a cgroup is charged for in common: of shared memory by what
/// each has of it, for what several have would count several times, and what is in swap is mapped
/// nowhere. The oldest one has the kernel's memory, and what nobody has.
fn share_out(shared_bytes: u64, kernel_bytes: u64, of_each: &[u64], holders: &mut [Holder]) {
    let all_bytes: u128 = of_each.iter().map(|&bytes| u128::from(bytes)).sum();
    let mut left_bytes = shared_bytes.saturating_add(kernel_bytes);
    for (holder, &bytes) in holders.iter_mut().zip(of_each) {
        let part = (u128::from(bytes) * u128::from(shared_bytes) / all_bytes.max(1)) as u64;
        holder.bytes = holder.bytes.saturating_add(part);
        left_bytes = left_bytes.saturating_sub(part);
    }
    if let Some(oldest) = holders.iter_mut().min_by_key(|holder| holder.started_ns) {
        oldest.bytes = oldest.bytes.saturating_add(left_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_and_sessions_are_read_and_apps_are_not() {
        let mount = tempfile::tempdir().unwrap();
        let make = |cgroup: &str, anon: u64, swap: Option<u64>| {
            let folder = mount.path().join(cgroup);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("memory.stat"), format!("anon {anon}\nfile 4096\nswapcached 8\n")).unwrap();
            if let Some(swap) = swap {
                std::fs::write(folder.join("memory.swap.current"), format!("{swap}\n")).unwrap();
            }
        };
        let manager = "user.slice/user-1000.slice/user@1000.service";
        make("init.scope", 1, None);
        make("system.slice/cups.service", 2, Some(40));
        make("system.slice/system-getty.slice/getty@tty1.service", 3, None);
        make("user.slice/user-1000.slice/session-2.scope", 4, None);
        make(&format!("{manager}/session.slice/pipewire.service"), 5, None);
        make(&format!("{manager}/app.slice/app-mail-1.scope"), 6, None);
        make(&format!("{manager}/app.slice/vte-spawn-1.scope"), 9, None);
        make("fovea.slice/maps", 7, None);
        std::fs::create_dir_all(mount.path().join("system.slice/without.service")).unwrap();
        std::fs::write(mount.path().join("cgroup.procs"), "").unwrap();
        let found = others(mount.path(), &|cgroup| cgroup.ends_with("app-mail-1.scope")).unwrap();
        assert!(found.beyond.is_empty());
        let names: Vec<_> =
            found.units.iter().map(|(cgroup, bytes)| (cgroup.rsplit('/').next().unwrap(), *bytes)).collect();
        let expected = [
            ("maps", 7),
            ("init.scope", 1),
            ("cups.service", 34),
            ("getty@tty1.service", 3),
            ("session-2.scope", 4),
            ("vte-spawn-1.scope", 9),
            ("pipewire.service", 5),
        ];
        assert_eq!(names, expected);
        assert!(others(&mount.path().join("nowhere"), &|_| false).is_err());
    }

    #[test]
    fn a_user_with_cgroups_without_end_hides_his_own_and_nobody_elses() {
        let mount = tempfile::tempdir().unwrap();
        let make = |cgroup: String| {
            std::fs::create_dir_all(mount.path().join(&cgroup)).unwrap();
            std::fs::write(mount.path().join(&cgroup).join("memory.stat"), "anon 4096\n").unwrap();
        };
        let manager = |uid: u32| format!("user.slice/user-{uid}.slice/user@{uid}.service/session.slice");
        for nth in 0..2 * OTHERS_OF_USER_MAX {
            std::fs::create_dir_all(mount.path().join(manager(1000)).join(format!("s{nth}.slice"))).unwrap();
        }
        make(manager(1001) + "/bar.service");
        make("system.slice/cups.service".into());
        let looked = std::cell::Cell::new(0);
        let found = others(mount.path(), &|_| {
            looked.set(looked.get() + 1);
            false
        })
        .unwrap();
        let names: Vec<_> = found.units.iter().map(|(cgroup, _)| cgroup.rsplit('/').next().unwrap()).collect();
        assert_eq!(names, ["cups.service", "bar.service"]);
        assert_eq!(found.beyond, [format!("cgroups of user.slice/user-1000.slice beyond {OTHERS_OF_USER_MAX}")]);
        assert!(looked.get() < OTHERS_OF_USER_MAX + 20, "{}", looked.get());
    }

    #[test]
    fn shared_memory_counts_once_however_many_have_it_and_in_swap_too() {
        let holder = |started_ns| Holder { bytes: 10, started_ns, ..Holder::default() };
        let shared_out = |shared_bytes, of_each: [u64; 3]| {
            let mut holders = [holder(3), holder(1), holder(2)];
            share_out(shared_bytes, 6, &of_each, &mut holders);
            holders.map(|holder| holder.bytes)
        };
        assert_eq!(shared_out(300, [300, 300, 300]), [110, 116, 110]);
        // Of a leaker of 300, 50 are in swap: its shell is no holder of those.
        assert_eq!(shared_out(300, [0, 0, 250]), [10, 16, 310]);
        assert_eq!(shared_out(300, [0, 0, 0]), [10, 316, 10], "in no process");
        assert_eq!(shared_out(0, [0, 0, 0]), [10, 16, 10]);
        share_out(0, 0, &[], &mut []);
    }

    #[test]
    fn processes_are_told_with_what_they_hold_in_memory_and_swap_and_of_many_the_largest() {
        let root = tempfile::tempdir().unwrap();
        let (unit, mount) = ("system.slice/x.service", root.path().join("sys/fs/cgroup"));
        let sleeper = || std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut children = [sleeper(), sleeper(), sleeper()];
        let write = |path: std::path::PathBuf, text: String| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let mountinfo = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n".to_owned();
        write(root.path().join("proc/self/mountinfo"), mountinfo);
        // What it has in memory and in swap, and since when it runs; the last one has moved to another cgroup.
        let seen = [(300, 0, 500, unit), (100, 250, 700, unit), (9000, 0, 1, "user.slice")];
        let mut pids = String::new();
        for (child, (anon_kib, swap_kib, ticks, cgroup)) in children.iter().zip(seen) {
            let pid = child.id();
            pids += &format!("{pid}\n");
            let file = |name: &str| root.path().join(format!("proc/{pid}/{name}"));
            write(file("cgroup"), format!("0::/{cgroup}\n"));
            write(file("stat"), format!("{pid} (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {ticks} 0 0"));
            write(file("status"), format!("VmRSS:\t9999 kB\nRssAnon:\t{anon_kib} kB\nVmSwap:\t{swap_kib} kB\n"));
            write(file("oom_score_adj"), format!("{}\n", ticks - 600));
        }
        write(mount.join(unit).join("cgroup.procs"), pids);
        let root_path = root.path();
        let root = Root::at(root_path);
        let cgroups = Cgroups::find(&root).unwrap();
        let held = |slept_ns| holders(&root, &cgroups, &mut Lasting::default(), unit, slept_ns).unwrap();
        let [found, after_sleep] = [0, 2_000_000_000].map(&held);
        // Of a login with 512 others, all of them gone by now, one is large.
        let many = |most: usize| -> String { (1..=most).map(|at| format!("{}\n", 4_000_000 + at)).collect() };
        let large = children[1].id();
        write(root_path.join(format!("proc/{large}/statm")), "900 400 7 0 0 0 0\n".into());
        write(mount.join(unit).join("cgroup.procs"), many(HOLDERS_MAX) + &format!("{large}\n"));
        let of_many = held(0);
        write(mount.join(unit).join("cgroup.procs"), many(SIZED_MAX + 1));
        let too_many = held(0);
        children.iter_mut().for_each(|child| drop((child.kill(), child.wait())));
        let started_ns = |ticks: u64| ticks * 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let holder = |nth: usize, kib: u64, ticks, oom_score_adj| {
            let id = ProcessId { pid: children[nth].id(), start_ticks: ticks };
            let started_ns = started_ns(ticks);
            Holder { id, parent: 1, bytes: kib << 10, started_ns, oom_score_adj }
        };
        let expected = [holder(0, 300, 500, -100), holder(1, 350, 700, 100)];
        assert_eq!(found, expected, "in the order of their PIDs");
        let later = expected.map(|holder| Holder { started_ns: holder.started_ns - 2_000_000_000, ..holder });
        assert_eq!((of_many.len(), of_many[0].id.pid), (1, large));
        assert_eq!((after_sleep, too_many), (later.to_vec(), Vec::new()));
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Reads folders of captured kernel files.

use std::path::{Path, PathBuf};

use fovea_apps::MergeSettings;
use fovea_linux::device_traits::*;
use fovea_linux::{CompressCursor, Error, Report, State, System};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn system(name: &str) -> System {
    System::at(folder(name))
}

fn states(report: &Report, names: &[&str]) -> Vec<State> {
    names.iter().map(|name| report.row(name).unwrap_or_else(|| panic!("no row {name}")).state).collect()
}

#[test]
fn a_phone_with_zram_is_read_whole() {
    let mut phone = system("phone-6.12");
    let memory = phone.memory().unwrap();
    let line = |file: &str, key: &str| -> u64 {
        let text = std::fs::read_to_string(folder("phone-6.12").join(file)).unwrap();
        let line = text.lines().find(|l| l.starts_with(key)).unwrap().to_owned();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    assert_eq!(memory.total_bytes, line("proc/meminfo", "MemTotal:") * 1024);
    assert_eq!(memory.available_bytes, line("proc/meminfo", "MemAvailable:") * 1024);
    assert_eq!(
        memory.file_bytes,
        (line("proc/meminfo", "Active(file):") + line("proc/meminfo", "Inactive(file):")) * 1024
    );
    assert_eq!(memory.refault_file, line("proc/vmstat", "workingset_refault_file"));
    assert_eq!(memory.oom_kills, line("proc/vmstat", "oom_kill "));
    assert!(memory.psi_some_total_us.is_some() && memory.psi_full_avg10.is_some());
    let zram = memory.zram.unwrap();
    assert_eq!((zram.disk_bytes, zram.limit_bytes), (64 << 20, 32 << 20));
    assert_eq!(memory, phone.memory().unwrap());
}

#[test]
fn a_phone_lacks_nothing_that_files_tell() {
    let report = system("phone-6.12").check();
    let names = ["kernel", "root", "cgroup2", "memory-controller", "freezer", "psi", "zram", "swap-codec", "swap"];
    assert!(states(&report, &names).iter().all(|&s| s == State::Present), "{report:#?}");
    // What only the running kernel can answer is not made up from files.
    assert_eq!(report.row("process_madvise").unwrap().state, State::Unknown);
    let json = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
}

/// Pages are policy's, of 4 KiB, and bytes are bytes.
#[test]
fn a_machine_with_pages_of_16_kib_counts_in_bytes() {
    let mut board = system("arm64-16k");
    assert_eq!(board.low_watermark_bytes().unwrap(), (213 + 32) * 16384);
    let report = board.check();
    assert!(report.row("page-size").unwrap().found.starts_with("16 KiB"), "{report:#?}");
    assert_eq!(states(&report, &["page-size"]), [State::Present]);
    assert!(system("phone-6.12").check().row("page-size").unwrap().found.starts_with("4 KiB"));
}

#[test]
fn ksmd_is_read_and_set_in_pages_of_its_kernel() {
    let dir = tempfile::tempdir().unwrap();
    let ksm = "sys/kernel/mm/ksm";
    for file in
        ["proc/self/auxv", &format!("{ksm}/run"), &format!("{ksm}/sleep_millisecs"), &format!("{ksm}/advisor_mode")]
    {
        std::fs::create_dir_all(dir.path().join(file).parent().unwrap()).unwrap();
        std::fs::copy(folder("arm64-16k").join(file), dir.path().join(file)).unwrap();
    }
    let path = |name: &str| dir.path().join(ksm).join(name);
    for (name, count) in [("pages_to_scan", 100), ("pages_sharing", 30), ("full_scans", 7)] {
        std::fs::write(path(name), format!("{count}\n")).unwrap();
    }
    let mut board = System::at(dir.path());
    let before = board.merging().unwrap().unwrap();
    assert_eq!((before.settings.pages_to_scan, before.sharing_pages, before.full_scans), (400, 120, 7));
    let faster = MergeSettings { pages_to_scan: 1001, ..before.settings.clone() };
    let kernels = || std::fs::read_to_string(path("pages_to_scan")).unwrap().trim_end().to_owned();
    board.set_merging(&faster).unwrap();
    assert_eq!(kernels(), "251");
    board.set_merging(&before.settings).unwrap();
    assert_eq!(kernels(), "100", "what it was is put back exactly");
}

#[test]
fn an_old_hybrid_machine_says_what_it_lacks_and_the_mend() {
    let mut old = system("hybrid-no-zram");
    let memory = old.memory().unwrap();
    assert!(memory.zram.is_none() && memory.psi_some_avg10.is_none() && memory.total_bytes > 0);
    assert!(old.cgroup_mount().unwrap().ends_with("sys/fs/cgroup/unified"));
    let report = old.check();
    let names = ["kernel", "memory-controller", "psi", "zram", "swap"];
    assert_eq!(states(&report, &names), [State::Missing; 5], "{report:#?}");
    assert!(report.rows.iter().filter(|row| row.state == State::Missing).all(|row| !row.mend.is_empty()));
    assert!(report.missing().contains(&"psi".to_owned()));
}

#[test]
fn broken_files_are_errors_and_never_panics() {
    let mut broken = system("broken");
    assert!(matches!(broken.memory(), Err(Error::Parse { .. })));
    assert!(matches!(broken.usage("apps/a"), Err(Error::Missing { what: "cgroup v2", .. })));
    let report = broken.check();
    assert_eq!(states(&report, &["kernel", "root", "psi", "locked-memory"]), [State::Unknown; 4], "{report:#?}");
    assert_eq!(report.row("cgroup2").unwrap().state, State::Missing);
}

#[test]
fn an_app_that_is_not_there_is_empty_and_bad_names_are_refused() {
    let mut phone = system("phone-6.12");
    assert_eq!(phone.usage("apps/gone").unwrap(), Default::default());
    assert_eq!(phone.compress("apps/gone", CompressCursor::default(), 32, 500).unwrap().next, None);
    assert_eq!(phone.prefetch("apps/gone", None, 32).unwrap(), 0);
    assert_eq!(phone.kill("apps/gone").unwrap().signalled, 0);
    for name in ["", "/", "../apps", "apps/../.."] {
        assert!(matches!(phone.kill(name), Err(Error::Refused { .. })), "{name:?}");
    }
}

#[test]
fn what_an_app_reads_back_from_storage_is_in_memory_alone_though_swap_keeps_a_place_for_it() {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let mounts = std::fs::read_to_string(folder("phone-6.12").join("proc/self/mountinfo")).unwrap();
    write("proc/self/mountinfo", &mounts);
    let app = "sys/fs/cgroup/apps/a";
    write(&format!("{app}/cgroup.procs"), "");
    write(&format!("{app}/memory.current"), "105242624\n");
    write(&format!("{app}/memory.swap.current"), "104857600\n");
    let cached = "shmem 0\nswapcached 104857600\ninactive_anon 104857600\nactive_anon 20480";
    write(&format!("{app}/memory.stat"), &format!("anon 52449280\nfile 0\n{cached}\n"));
    let usage = System::at(root.path().to_path_buf()).usage("apps/a").unwrap();
    assert_eq!((usage.anon_bytes, usage.swap_bytes), (52_449_280, 52_428_800), "{usage:?}");
    assert_eq!((usage.shmem_bytes, usage.lasting_bytes), (0, 0));
    let shared = "anon 4096\nfile 90000384\nshmem 90000384\npagetables 180224\nsock 4096";
    write(&format!("{app}/memory.stat"), shared);
    write("proc/sysvipc/shm", "key shmid perms rss swap\n0 5 666 40000 2\n");
    let usage = System::at(root.path().to_path_buf()).usage("apps/a").unwrap();
    assert_eq!((usage.shmem_bytes, usage.lasting_bytes), (90_000_384, 40_002));
    assert_eq!((usage.kernel_bytes, usage.taken_bytes()), (184_320, 4096 + 104_857_600 + 90_184_704));
}

/// The daemon's unit has /run/user hidden from it: no program of anybody's was ever moved by his systemd.
#[test]
fn a_users_systemd_is_told_by_its_cgroup() {
    let root = tempfile::tempdir().unwrap();
    let mounts = std::fs::read_to_string(folder("phone-6.12").join("proc/self/mountinfo")).unwrap();
    let folder = |path: &str| std::fs::create_dir_all(root.path().join(path)).unwrap();
    folder("proc/self");
    std::fs::write(root.path().join("proc/self/mountinfo"), mounts).unwrap();
    folder("sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service");
    let has = |uid| System::at(root.path()).has_user_manager(uid);
    assert!(!has(1000), "made by something else");
    folder("run/systemd/system");
    assert!(has(1000) && !has(1001));
}

#[test]
fn settings_are_read_and_written_below_proc_sys_only() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(root.path().join("proc/sys/vm")).unwrap();
    std::fs::write(root.path().join("proc/sys/vm/page-cluster"), "3\n").unwrap();
    let mut system = System::at(root.path());
    assert_eq!(system.sysctl("vm/page-cluster").unwrap(), "3");
    system.set_sysctl("vm/page-cluster", "0").unwrap();
    assert_eq!(system.sysctl("vm/page-cluster").unwrap(), "0\n".trim_end());
    for name in ["", "/etc/passwd", "vm/../../x", "../x"] {
        assert!(matches!(system.sysctl(name), Err(Error::Refused { .. })), "{name:?}");
        assert!(matches!(system.set_sysctl(name, "1"), Err(Error::Refused { .. })), "{name:?}");
    }
}

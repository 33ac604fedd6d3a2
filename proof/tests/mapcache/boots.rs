// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The mapping cache (`main.rs`) in virtual phones with an IOMMU, with bounce buffers, and with each of its safeties left out. Skipped, with
//! a word, where QEMU, the kernel or a compiler is missing. `FOVEA_MAPCACHE_OPERATIONS` is the length of the soak; another kernel is named by
//! `FOVEA_TEST_KERNEL`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use fovea_phone::{Cache, Hardware, Iommu, Phone, Result};
use fovea_scenario::{Lacks, Plan};
use fovea_tests::phones::{chosen_kernel, logs, unless_missing, Ended, Guest, Turn, Which};

/// A phone of the test's.
struct Case<'a> {
    iommu: Iommu,
    kernel_args: &'a [&'a str],
    words: &'a [&'a str],
    broken: Option<&'a str>,
}

const STRICT: Case = Case {
    iommu: Iommu::Intel,
    kernel_args: &["intel_iommu=on", "iommu.strict=1"],
    words: &["iommu=intel", "strict=1"],
    broken: None,
};
const LAZY: Case = Case { kernel_args: &["intel_iommu=on", "iommu.strict=0"], words: &["iommu=intel"], ..STRICT };
const DIRECT: Case = Case { iommu: Iommu::Absent, kernel_args: &["intel_iommu=off"], words: &[], broken: None };
const BOUNCES: Case =
    Case { iommu: Iommu::Absent, kernel_args: &["swiotlb=16384,force"], words: &["bounces=1"], broken: None };

/// What `pkg-config` says of a part of GStreamer; none where its headers are not installed.
fn gstreamer(words: &[&str], part: &str) -> Option<String> {
    let out = Command::new("pkg-config").args(words).arg(part).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
}

/// A program of `lib/heap/gst`: its sources, the part of GStreamer that it is linked with, and the plugins that it needs.
struct Player {
    name: &'static str,
    sources: &'static [&'static str],
    part: &'static str,
    plugins: &'static [&'static str],
    packages: &'static str,
}

const PLAY: Player = Player {
    name: "play",
    sources: &["gst/play.c", "gst/foveaallocator.c", "heap.c"],
    part: "gstreamer-1.0",
    plugins: &["videotestsrc", "coreelements"],
    packages: "libgstreamer1.0-dev gstreamer1.0-plugins-base",
};
const SHARE: Player = Player {
    name: "share",
    sources: &["gst/share.c", "heap.c"],
    part: "gstreamer-allocators-1.0",
    plugins: &["videotestsrc", "coreelements", "video4linux2"],
    packages: "libgstreamer-plugins-base1.0-dev gstreamer1.0-plugins-base gstreamer1.0-plugins-good",
};

impl Player {
    /// Builds it in a folder; the paths of it and its plugins, or none where GStreamer is missing.
    fn build(&self, folder: &Path) -> Vec<String> {
        let Player { name, packages, .. } = self;
        let (Some(flags), Some(plugins)) =
            (gstreamer(&["--cflags", "--libs"], self.part), gstreamer(&["--variable=pluginsdir"], "gstreamer-1.0"))
        else {
            println!("{name}: left out, no {}: apt-get install {packages}", self.part);
            return Vec::new();
        };
        let plugins: Vec<String> = self.plugins.iter().map(|name| format!("{plugins}/libgst{name}.so")).collect();
        if let Some(missing) = plugins.iter().find(|path| !Path::new(path).is_file()) {
            println!("{name}: left out, no {missing}: apt-get install {packages}");
            return Vec::new();
        }
        let (lib, program) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lib/heap"), folder.join(name));
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"]).arg(&lib).arg("-o").arg(&program);
        cc.args(self.sources.iter().map(|file| lib.join(file)));
        assert!(cc.args(flags.split_whitespace()).status().unwrap().success(), "{cc:?}");
        std::iter::once(program.display().to_string()).chain(plugins).collect()
    }
}

fn phone(case: &Case, which: &Which, exact: bool) -> Result<Phone> {
    let mut modules = vec!["dm-mod"];
    if case.iommu == Iommu::Virtio {
        modules.push("virtio-iommu");
    }
    let importers = case.words.contains(&"importers=1");
    if importers {
        modules.extend(["cirrus", "vivid"]);
    }
    let folder = tempfile::tempdir().unwrap();
    // Of the boots that try all phases, in the one whose devices have no addresses of their own.
    let with_pipeline = case.iommu == Iommu::Absent && !exact && case.words.is_empty() && case.broken.is_none();
    let player = if with_pipeline { Some(PLAY) } else { importers.then_some(SHARE) };
    let pipeline = player.iter().flat_map(|player| player.build(folder.path())).collect::<Vec<_>>();
    let tools: Vec<(&str, &str)> = pipeline.iter().map(|path| (path.as_str(), "GStreamer's packages")).collect();
    let guest = Guest {
        program: env!("CARGO_BIN_EXE_mapcache"),
        modules: &modules,
        own_modules: &["fovea-system-heap", "fovea-heap-wrap", "dm-ecache", "edu-importer", "odd-exporter"],
        broken: case.broken,
        tools: &tools,
    };
    let cache = Cache::open()?;
    let mut devices = [4, 5].map(|slot| format!("edu,addr={slot},dma_mask=0xffffffff")).to_vec();
    // A disk that shares the bounce pool. A machine that QEMU records, as exact mode has it, does not start with one.
    let mut block_devices = Vec::new();
    if !exact {
        devices.push("nvme,serial=zeroes,drive=zeroes".into());
        block_devices.push("null-co,node-name=zeroes,size=67108864,read-zeroes=on".into());
    }
    if importers {
        devices.push("cirrus-vga,addr=6".into());
    }
    // Tracepoints are switched: see `by_turns`.
    Ok(guest
        .phone(&cache, which.find(&cache)?)?
        .with_hardware(Hardware { iommu: case.iommu, devices, block_devices })
        .by_turns())
}

/// Boots it; `None`, with a word, if this machine cannot.
fn boot(case: &Case, more: &[String]) -> Option<Ended> {
    let _turn = Turn::wait();
    let which = chosen_kernel();
    let exact = more.iter().any(|word| word == "exact=1");
    let phone = unless_missing(phone(case, &which, exact))?;
    let words = case.words.iter().map(ToString::to_string).chain(more.iter().cloned());
    let mut kernel_args: Vec<String> = case.kernel_args.iter().map(ToString::to_string).collect();
    // A loaded host stops virtual CPUs for long.
    kernel_args.extend(["nosoftlockup", "rcupdate.rcu_cpu_stall_suppress=1", "hugepages=4"].map(String::from));
    kernel_args.extend(words.map(|word| format!("fovea.mapcache.{word}")));
    // Shadow memory, quarantine and records of all that is allocated.
    let memory_bytes = if which.is_debug() { 1280 << 20 } else { 512 << 20 };
    let plan =
        Plan { lacks: Lacks { kernel_args, ..Lacks::default() }, exact, ..Plan::bare("mapcache", memory_bytes, 4) };
    let folder = tempfile::tempdir().unwrap();
    // An idle host does 3,000 operations a second; this bounds a guest that hangs, on a host with thirty times as much to do.
    let timeout_s = 600 + operations() / 100;
    Some(Ended::of(
        &phone,
        &plan,
        &logs("FOVEA_MAPCACHE_LOGS", folder.path()),
        Duration::from_secs(timeout_s * which.slowness()),
    ))
}

fn operations() -> u64 {
    std::env::var("FOVEA_MAPCACHE_OPERATIONS").map_or(5_000, |text| text.parse().unwrap())
}

fn passes(case: &Case, checks: usize) {
    if let Some(ended) = boot(case, &[format!("operations={}", operations())]) {
        ended.passes(checks);
        for line in ended.lines("ok   soak") {
            println!("{line}");
        }
    }
}

#[test]
fn mappings_stay_and_end_as_they_should_behind_an_iommu() {
    passes(&STRICT, 60);
}

#[test]
fn and_where_addresses_are_given_back_late() {
    passes(&LAZY, 55);
}

#[test]
fn and_behind_the_iommu_of_virtual_machines() {
    let virtio =
        Case { iommu: Iommu::Virtio, kernel_args: &["iommu.strict=1"], words: &["iommu=virtio", "strict=1"], ..STRICT };
    passes(&virtio, 55);
}

#[test]
fn and_where_nothing_translates() {
    passes(&DIRECT, 55);
}

#[test]
fn devices_that_work_on_copies_see_what_they_should() {
    passes(&BOUNCES, 50);
}

/// Instructions of a use; the figures of docs/results/mapping-cache.md.
#[test]
fn a_use_of_what_is_mapped_takes_few_instructions_whatever_its_size() {
    for case in [STRICT, LAZY] {
        let Some(ended) = boot(&case, &["exact=1".into()]) else { return };
        ended.passes(4);
        for line in ended.lines("ok ").iter().filter(|line| line.contains("instructions")) {
            println!("{}: {line}", case.kernel_args[1]);
        }
    }
}

/// Importers that are the kernel's own, which a PC's has: `FOVEA_TEST_KERNEL=pc`. The figures of docs/results/mapping-cache.md.
#[test]
#[ignore = "`make torture-heap` has it"]
fn importers_of_the_kernels_own_find_their_buffers_mapped() {
    if !chosen_kernel().is_pc() {
        println!("importers: left out, Debian's cloud kernel has none; FOVEA_TEST_KERNEL=pc has");
        return;
    }
    let Some(ended) = boot(&Case { words: &["importers=1"], ..DIRECT }, &["exact=1".into()]) else { return };
    ended.passes(5);
    for line in ["ok ", "display ", "queues"].iter().flat_map(|mark| ended.lines(mark)) {
        println!("{line}");
    }
}

/// Keeping the mappings of copies would save half to two thirds of a use's instructions, so that they end with it has a price: the figures of
/// docs/results/mapping-cache.md, which says why it is paid.
#[test]
#[ignore = "`make torture-heap` has it"]
fn what_keeping_copies_would_save() {
    for broken in [None, Some("pool")] {
        let Some(ended) = boot(&Case { broken, ..BOUNCES }, &["exact=1".into()]) else { return };
        let lines = ended.lines("copies,");
        assert_eq!(lines.len(), 4, "{}", ended.console);
        for line in lines {
            println!("{broken:?}: {line}");
            let numbers: Vec<f64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
            let [.., ended, not] = numbers[..] else { panic!("{line}") };
            assert!(broken.is_none() == (not > 0.95 * ended), "{broken:?}: {line}");
        }
    }
}

/// Without a safety the phase that is for it must fail, and say what is meant.
fn control(case: &Case, broken: &str, only: &str, says: &str) {
    let Some(ended) = boot(&Case { broken: Some(broken), ..*case }, &[format!("only={only}")]) else { return };
    let failures = ended.lines("FAIL");
    assert!(failures.iter().any(|line| line.contains(says)), "without {broken}: {failures:#?}\n{}", ended.console);
    println!("without {broken}: {}", failures[0]);
}

#[test]
fn a_cache_that_misses_a_drivers_end_fails() {
    control(&STRICT, "notifier", "driver", "unbind leaves nothing");
}

#[test]
fn a_cache_that_keeps_what_a_buffer_has_lost_fails() {
    control(&STRICT, "resize", "resize", "a device reads nothing of what its buffer has lost");
}

#[test]
fn a_cache_that_does_not_wait_for_late_addresses_fails() {
    control(&LAZY, "flush", "exhaustion", "idle mappings make room");
}

#[test]
fn a_wrap_that_drops_offsets_fails() {
    control(&DIRECT, "offset", "exporters", "wrong content: none of udmabuf on hugetlb, page 100");
}

#[test]
fn a_cache_that_keeps_copies_fails() {
    control(&BOUNCES, "pool", "pool", "a disk reads beside them");
}

#[test]
#[ignore = "`make torture-heap` has it"]
fn a_buffer_that_changes_below_an_importer_fails() {
    control(&DIRECT, "attached", "resize", "resize: attached by a device, smaller");
}

#[test]
#[ignore = "`make torture-heap` has it"]
fn buffers_that_nobody_pays_for_fail() {
    control(&DIRECT, "charge", "charge", "a cgroup pays for its buffers");
}

#[test]
#[ignore = "`make torture-heap` has it"]
fn a_dead_probe_that_nobody_notices_fails() {
    control(&DIRECT, "probe", "probe", "off, and the module's status says so");
}

#[test]
fn a_cache_without_syncs_fails() {
    control(&BOUNCES, "sync", "syncs", "wrong content: none in mappings used again");
}

#[test]
fn a_cache_without_a_cap_fails() {
    control(&STRICT, "cap", "exhaustion", "a cache leaves addresses to other exporters");
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! dm-ecache through suspend, hibernation over two boots, and kexec (`main.rs`) in the virtual phone. Skipped, with a word, where
//! QEMU, the kernel or a compiler is missing.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fovea_phone::{Cache, FailureReason, GuestFile, Phone, Result};
use fovea_scenario::{Lacks, Plan};
use fovea_tests::phones::{chosen_kernel, logs, unless_missing, Ended, Guest, Turn, EXT4_TOOLS};

const TIMEOUT: Duration = Duration::from_secs(900);
/// Memory goes to swap as an image; compressed, of what is in use, and never all of it.
const SWAP_BYTES: u64 = 768 << 20;
const DATA_BYTES: u64 = 64 << 20;
const MEMORY_BYTES: u64 = 512 << 20;

/// Which target, in which memory.
#[derive(Clone, Copy)]
enum Kind {
    Linear,
    Reserved,
    Contig,
    Broken(&'static str),
}

impl Kind {
    fn words(self) -> Vec<String> {
        let (kind, carveouts) = match self {
            Kind::Linear => ("linear", "none"),
            Kind::Contig => ("ecache", "contig:32M"),
            Kind::Reserved | Kind::Broken(_) => ("ecache", "32M@0x10000000"),
        };
        vec![format!("kind={kind}"), format!("carveouts={carveouts}")]
    }

    fn broken(self) -> Option<&'static str> {
        match self {
            Kind::Broken(name) => Some(name),
            _ => None,
        }
    }
}

/// A phone with two disks, and where it leaves its logs.
struct Bench {
    phone: Phone,
    kind: Kind,
    timeout: Duration,
    memory_bytes: u64,
    folder: tempfile::TempDir,
}

fn disk(folder: &Path, name: &str, size_bytes: u64) -> PathBuf {
    let path = folder.join(name);
    File::create(&path).and_then(|file| file.set_len(size_bytes)).unwrap();
    path
}

impl Bench {
    fn new(kind: Kind) -> Result<Bench> {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open()?;
        let which = chosen_kernel();
        let kernel = which.find(&cache)?;
        let timeout = TIMEOUT * which.slowness() as u32;
        let memory_bytes = MEMORY_BYTES + if which.is_debug() { 256 << 20 } else { 0 };
        let vmlinuz = kernel.vmlinuz.clone().map(|from| GuestFile { to: "/vmlinuz".into(), from });
        let guest = Guest {
            program: env!("CARGO_BIN_EXE_power"),
            modules: &["dm-mod"],
            own_modules: &["dm-ecache"],
            broken: kind.broken(),
            tools: &EXT4_TOOLS,
        };
        let disks = [disk(folder.path(), "swap", SWAP_BYTES), disk(folder.path(), "data", DATA_BYTES)];
        let phone = guest.phone(&cache, kernel)?.with_files(vmlinuz.as_slice())?;
        // Suspending takes the CPUs off and on and changes the kernel's code for it: QEMU 7.2 does not always survive that with several.
        Ok(Bench { phone: phone.by_turns().with_disks(&disks), kind, timeout, memory_bytes, folder })
    }

    fn boot(&self, name: &str, words: &[&str]) -> Ended {
        let own = words.iter().map(|&word| word.to_owned()).chain(self.kind.words());
        // The image that is gone on in is of a machine with the same memory: the same words for it in every boot.
        let mut kernel_args = vec!["memmap=32M$0x10000000".to_owned(), "loglevel=4".to_owned()];
        // For the debug kernel, whose configuration keeps programs from writing to what is mounted.
        kernel_args.push("bdev_allow_write_mounted=1".to_owned());
        kernel_args.extend(own.map(|word| format!("fovea.power.{word}")));
        let lacks = Lacks { kernel_args, ..Lacks::default() };
        let plan = Plan { lacks, ..Plan::bare(&format!("power-{name}"), self.memory_bytes, 2) };
        let results = logs("FOVEA_POWER_LOGS", self.folder.path());
        let ended = Ended::of(&self.phone, &plan, &results, self.timeout);
        for line in ended.lines("     ") {
            println!("{line}");
        }
        ended
    }

    /// Two boots: the first ends with an image on the disk, the second goes on in it.
    fn hibernate(&self, resume: &str) -> Ended {
        let first = self.boot("hibernate", &["to=hibernate"]);
        assert!(first.lines("FAIL").is_empty(), "{}", first.console);
        assert_eq!(first.reason, Some(FailureReason::PoweredOff), "{}", first.console);
        assert!(holds_image(&self.folder.path().join("swap")), "no image in swap:\n{}", first.console);
        let second = self.boot("resume", &["to=hibernate", resume]);
        assert!(!holds_image(&self.folder.path().join("swap")), "the image was not used:\n{}", second.console);
        second
    }
}

/// The kernel's mark in the swap header while an image is there.
fn holds_image(swap: &Path) -> bool {
    let mut mark = [0; 10];
    let file = File::open(swap).unwrap();
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut mark, 4096 - 10).unwrap();
    mark.starts_with(b"S1SUSPEND")
}

fn with(kind: Kind, test: impl FnOnce(&Bench)) {
    let _turn = Turn::wait();
    if let Some(bench) = unless_missing(Bench::new(kind)) {
        test(&bench);
    }
}

#[test]
#[ignore = "long: make torture"]
fn hibernation_itself_raises_no_false_alarm() {
    with(Kind::Linear, |bench| bench.hibernate("resume=1").passes(9));
}

#[test]
fn no_block_is_wrong_after_hibernation() {
    with(Kind::Reserved, |bench| bench.hibernate("resume=1").passes(13));
}

#[test]
#[ignore = "long: make torture"]
fn no_block_is_wrong_if_the_resuming_kernel_used_the_module_too() {
    with(Kind::Reserved, |bench| bench.hibernate("resume=early").passes(13));
}

#[test]
#[ignore = "long: make torture"]
fn no_block_is_wrong_after_hibernation_with_memory_taken_from_the_running_system() {
    with(Kind::Contig, |bench| bench.hibernate("resume=1").passes(13));
}

/// The control: frames that are not in the image are taken for what they were.
#[test]
fn a_module_that_is_told_nothing_of_hibernation_fails() {
    with(Kind::Broken("power"), |bench| bench.hibernate("resume=1").fails("power"));
}

#[test]
#[ignore = "long: make torture"]
fn sleep_itself_raises_no_false_alarm() {
    with(Kind::Linear, |bench| bench.boot("sleep", &["to=sleep"]).passes(16));
}

#[test]
fn no_block_is_wrong_after_sleep_and_aborted_hibernation() {
    with(Kind::Reserved, |bench| bench.boot("sleep", &["to=sleep"]).passes(28));
}

#[test]
fn nothing_of_a_cache_is_left_to_the_next_kernel_of_kexec() {
    with(Kind::Reserved, |bench| bench.boot("kexec", &["to=kexec"]).passes(22));
}

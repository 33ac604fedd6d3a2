// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Boots the real kernel with a first process of a few dozen instructions. Skipped, with a word, where QEMU or the kernel is missing.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use fovea_phone::{fetch, skip, Cache, Error, FailureReason, Outcome, Phone, Programs, Progress, RunOptions};
use fovea_scenario::kinds::managed::STOCK;
use fovea_scenario::{Event, EventBody, Flash, PhoneProfile, Plan};
use rustix::process::{kill_process, Pid, Signal};

const DONE: &str = r#"{"t_ns":7,"event":"done","oom_kills":0,"kills":0,"daemon_cpu_ns":0}"#;
const NO_MODULES: &[&str] = &[];

/// How the little first process ends.
enum End {
    /// Writes this value to the exit port.
    Port(u32),
    /// Ends, which is the kernel's end too.
    Exit,
}

/// A static program that sleeps 0.1 ms 30,000 times, writes 32 random bytes, the monotonic clock (16 bytes) and the text to
/// port 0xe9, and ends.
fn program(text: &str, end: End) -> Vec<u8> {
    let le = |value: u32| value.to_le_bytes();
    let mut code = Vec::new();
    code.extend(b"\xb8\xac\0\0\0\xbf\x03\0\0\0\x0f\x05"); // iopl(3)
    code.extend(b"\x48\x83\xec\x40"); // sub rsp, 64
    code.extend(b"\x48\xc7\x44\x24\x30\0\0\0\0\x48\xc7\x44\x24\x38\xa0\x86\x01\0"); // at rsp + 48: 0 s and 100,000 ns
    code.extend(b"\xbb\x30\x75\0\0"); // ebx = 30,000
    code.extend(b"\xb8\x23\0\0\0\x48\x8d\x7c\x24\x30\x31\xf6\x0f\x05\xff\xcb\x75\xee"); // nanosleep(rsp + 48, NULL), ebx times
    code.extend(b"\xb8\x3e\x01\0\0\x48\x89\xe7\xbe\x20\0\0\0\x31\xd2\x0f\x05"); // getrandom(rsp, 32, 0)
    code.extend(b"\xb8\xe4\0\0\0\xbf\x01\0\0\0\x48\x8d\x74\x24\x20\x0f\x05"); // clock_gettime(CLOCK_MONOTONIC, rsp + 32)
    code.extend(b"\x48\x89\xe6\xb9\x30\0\0\0\xba\xe9\0\0\0\xf3\x6e"); // rsi = rsp, 48 bytes, rep outsb
    let text = format!("\n{text}\n");
    let mut tail = b"\xb9".to_vec();
    tail.extend(le(text.len() as u32));
    tail.extend(b"\xba\xe9\0\0\0\xf3\x6e"); // rep outsb
    match end {
        End::Port(value) => {
            tail.push(0xb8);
            tail.extend(le(value));
            tail.extend(b"\xba\xf4\0\0\0\xef\xeb\xfe"); // out dx, eax; then for ever
        }
        End::Exit => tail.extend(b"\xb8\x3c\0\0\0\xbf\x01\0\0\0\x0f\x05"), // exit(1)
    }
    code.extend(b"\x48\x8d\x35"); // lea rsi, [rip + tail]
    code.extend(le(tail.len() as u32));
    code.extend(tail);
    code.extend(text.as_bytes());

    const HEADERS: u64 = 64 + 56;
    let size = HEADERS + code.len() as u64;
    let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0\x01\0\0\0".to_vec();
    for word in [0x40_0000 + HEADERS, 64, 0] {
        elf.extend(word.to_le_bytes());
    }
    elf.extend(b"\0\0\0\0\x40\0\x38\0\x01\0\0\0\0\0\0\0"); // flags, sizes; one program header
    elf.extend(b"\x01\0\0\0\x05\0\0\0"); // PT_LOAD, readable and executable
    for word in [0, 0x40_0000, 0x40_0000, size, size, 4096] {
        elf.extend(word.to_le_bytes());
    }
    elf.extend(code);
    elf
}

fn plan(exact: bool) -> Plan {
    Plan {
        scenario: "boot".into(),
        case: String::new(),
        configuration: STOCK,
        seed: 1,
        of_seed: None,
        exact,
        phone: PhoneProfile {
            name: "tiny".into(),
            memory_bytes: 256 << 20,
            reserved_bytes: [("camera".to_owned(), 16 << 20)].into(),
            cpus: 2,
            flash: Flash { size_bytes: 16 << 20, request_ns: 1_510_000, command_bytes: None },
            huge_pages: Default::default(),
            thresholds: Default::default(),
            app_scale: 1.0,
            tiers: None,
            source: String::new(),
        },
        daemon_config: String::new(),
        zygote_anon_bytes: 0,
        apps: Vec::new(),
        lacks: Default::default(),
        trace_files: false,
        module_parameters: String::new(),
        desktop: None,
        importers: None,
        sound: false,
        steps: Vec::new(),
    }
}

/// A phone whose first process is the little program, or `None` with a word on the reason.
fn phone(dir: &Path, text: &str, end: End, modules: &[&str]) -> Option<Phone> {
    let cache = Cache::open().map_err(skip).ok()?;
    let kernel = fetch::cached(&cache).unwrap();
    let Some(kernel) = kernel else {
        skip("no kernel in the cache; `cargo run -p fovea-phone --example fetch` gets one");
        return None;
    };
    let bytes = program(text, end);
    let put = |name: &str| {
        let path = dir.join(name);
        fs::write(&path, &bytes).unwrap();
        path
    };
    let programs = Programs { init: put("fovea-guest"), fovea: put("fovea"), busybox: put("busybox") };
    match Phone::prepare(&cache, kernel, &programs, modules, None, &Progress::quiet()) {
        Ok(phone) => Some(phone),
        Err(error) if error.is_missing() => {
            skip(error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn options(dir: &Path) -> RunOptions {
    RunOptions { timeout: Duration::from_secs(300), results: dir.join("results") }
}

fn reason(outcome: Result<Outcome, Error>) -> FailureReason {
    match outcome {
        Err(Error::Boot(failure)) => {
            assert!(failure.logs.join("console.log").exists());
            failure.reason.clone()
        }
        other => panic!("no boot failure: {other:?}"),
    }
}

/// Keeps the main loops of our QEMUs awake, as a loaded host does now and then: QEMU blocks SIGIO, reads it from a file descriptor, and
/// does nothing about it.
fn keep_awake(end: &AtomicBool) {
    let mask_of = |signal: Signal| 1u64 << (signal.as_raw() - 1);
    let blocked = |pid: i32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        // All are blocked for a moment where a program starts a thread or another program.
        mask & mask_of(Signal::IO) != 0 && mask & mask_of(Signal::TERM) == 0
    };
    let children = || {
        let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
        let lists = threads.map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default());
        lists.flat_map(|list| list.split_whitespace().flat_map(str::parse).collect::<Vec<i32>>()).collect::<Vec<i32>>()
    };
    while !end.load(Ordering::Relaxed) {
        for pid in children().into_iter().filter(|&pid| blocked(pid)).filter_map(Pid::from_raw) {
            for _ in 0..100 {
                // It may have ended; nobody else takes its number while it is our zombie.
                let _ = kill_process(pid, Signal::IO);
                thread::yield_now();
            }
        }
    }
}

#[test]
fn exact_boots_side_by_side_are_identical_to_the_byte() {
    let dir = tempfile::tempdir().unwrap();
    let Some(phone) = phone(dir.path(), DONE, End::Port(0), &["zram", "null_blk"]) else { return };
    let seen = Mutex::new(Vec::new());
    let plans = [plan(true), plan(true), plan(false)];
    let end = AtomicBool::new(false);
    let outcomes = thread::scope(|scope| {
        scope.spawn(|| keep_awake(&end));
        let outcomes = phone.run_all(&plans, 2, &options(dir.path()), &Progress::quiet(), |index, event: &Event| {
            seen.lock().unwrap().push((index, event.clone()));
        });
        end.store(true, Ordering::Relaxed);
        outcomes
    });
    let outcomes: Vec<Outcome> = outcomes.into_iter().map(|outcome| outcome.unwrap()).collect();
    for (index, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.events.len(), 1);
        assert!(matches!(outcome.events[0].body, EventBody::Done { .. }));
        assert!(outcome.garbage_lines > 0, "the random bytes");
        assert!(seen.lock().unwrap().contains(&(index, outcome.events[0].clone())));
    }
    let log = |index: usize| fs::read(outcomes[index].logs.join("events.jsonl")).unwrap();
    assert!(log(0).len() >= 48 + DONE.len());
    assert_eq!(log(0), log(1), "random bytes and clock of two exact boots");
    assert_ne!(log(0), log(2), "fast mode has the host's clock");
}

#[test]
fn a_plan_that_failed_and_a_silent_end_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let failed = r#"{"t_ns":1,"event":"failed","error":"no such app"}"#;
    let Some(phone) = phone(dir.path(), failed, End::Port(1), NO_MODULES) else { return };
    let outcome = phone.run(&plan(false), &options(dir.path()), &Progress::quiet(), |_| ());
    assert_eq!(reason(outcome), FailureReason::Plan("no such app".into()));
    // The same guest, given too little time.
    let short = RunOptions { timeout: Duration::from_millis(300), ..options(dir.path()) };
    let outcome = phone.run(&plan(false), &short, &Progress::quiet(), |_| ());
    assert!(matches!(reason(outcome), FailureReason::Timeout(_)));
}

#[test]
fn a_panic_is_reported_with_the_consoles_last_lines() {
    let dir = tempfile::tempdir().unwrap();
    let Some(phone) = phone(dir.path(), "no event", End::Exit, NO_MODULES) else { return };
    let error = phone.run(&plan(false), &options(dir.path()), &Progress::quiet(), |_| ()).unwrap_err();
    assert!(error.to_string().contains("Attempted to kill init"), "{error}");
    assert!(!error.to_string().contains('\n'));
    // The register dump of a panic is longer than the tail; the reason above is from further up.
    assert_eq!(error.details().len(), 20);
    assert!(error.details().iter().any(|line| line.contains("</TASK>")), "{:?}", error.details());
    let Error::Boot(failure) = error else { panic!("{error}") };
    assert!(matches!(failure.reason, FailureReason::Panic(_)));
}

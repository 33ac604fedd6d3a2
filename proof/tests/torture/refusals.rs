// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Bad input: each refused with its error and one clear line in the kernel's log, and nothing is changed by it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::Path;

use fovea_contract::ECACHE_TARGET;
use fovea_heap::Heap;
use fovea_linux::dm::{device_number, Target};
use fovea_linux::{module, Error, Root};
use fovea_tests::audit::KernelLog;
use fovea_tests::raw::FileMapping;
use fovea_tests::report::Report;

use crate::stack::{module_file, Stack, A, C};
use crate::{Options, DEVICES, MODULE};

/// The module's parameters for the whole test.
pub fn good_parameters(options: &Options) -> String {
    let devices: Vec<String> = DEVICES.iter().map(|(name, size)| format!("{name}:{size}")).collect();
    let measure = if options.exact { " measure_held=Y" } else { "" };
    let follow = if options.follow { "" } else { " follow_moves=N" };
    format!("carveouts={} devices={}{measure}{follow}", options.carveouts, devices.join(","))
}

fn errno(error: &Error) -> Option<i32> {
    match error {
        Error::Call { source, .. } | Error::File { source, .. } => source.raw_os_error(),
        _ => None,
    }
}

/// The module's own lines in the kernel's log. The kernel's loader speaks in its name too: that a parameter is invalid is said once
/// more, and at the first module that is not part of the kernel, that there is one.
fn own_lines(log: &mut KernelLog) -> Vec<String> {
    let of_loader = |line: &str| line.contains("invalid for parameter") || line.contains("taint");
    let lines = log.lines().into_iter().map(|(_, line)| line);
    lines.filter(|line| line.starts_with("dm_ecache:") && !of_loader(line)).collect()
}

/// Before the module is loaded: parameters that cannot be.
pub fn of_parameters(report: &Report) {
    let Some(mut log) = report.expect("/dev/kmsg", KernelLog::new()) else { return };
    let good = "12M@0x10000000";
    for (what, carveouts, devices, rest) in [
        ("no carve-out", "", "a:1M", ""),
        ("nonsense as carve-out", "here", "a:1M", ""),
        ("a carve-out without a place", "8M", "a:1M", ""),
        ("a carve-out of nothing", "0@0x10000000", "a:1M", ""),
        ("a device tree's node where there is no device tree", "of:vendor,name", "a:1M", ""),
        ("overlapping carve-outs", "12M@0x10000000,4M@0x10800000", "a:1M", ""),
        ("the same carve-out twice", "8M@0x10000000,8M@0x10000000", "a:1M", ""),
        ("an unaligned place", "8M@0x10001000", "a:1M", ""),
        ("an unaligned size", "4100K@0x10000000", "a:1M", ""),
        ("a carve-out that is not reserved", "8M@0x8000000", "a:1M", ""),
        ("a carve-out half of which is not reserved", "24M@0x10000000", "a:1M", ""),
        ("a carve-out beyond memory", "8M@0xfffffffff0000000", "a:1M", ""),
        ("a good carve-out and a bad one", "12M@0x10000000,8M@0x8000000", "a:1M", ""),
        ("no device", good, "", ""),
        ("a device without a size", good, "a", ""),
        ("a device of nothing", good, "a:0", ""),
        ("a device that rounding up makes nothing of", good, "a:18446744073709551615", ""),
        ("a device named twice", good, "a:1M,a:1M", ""),
        ("a device with a path as name", good, "a/b:1M", ""),
        ("a device without a name", good, ":1M", ""),
        ("a device larger than its carve-out", good, "a:13M", ""),
        ("devices larger than the carve-outs", good, "a:8M,b:8M", ""),
        ("more than all of it protected", good, "a:1M", " protect_percent=101"),
        ("an unknown way of clearing", good, "a:1M", " zero=never"),
    ] {
        let errors: &[i32] = match carveouts.starts_with("of:") {
            true => &[libc::ENODEV],
            false => &[libc::EINVAL, libc::ENOSPC, libc::EBUSY],
        };
        of_load(report, &mut log, what, &format!("carveouts={carveouts} devices={devices}{rest}"), errors);
    }
    // Nothing would tell of pages that move.
    match fs::write(FTRACE, "0") {
        Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => {
            println!("     function tracing cannot be switched off on this kernel");
        }
        switched => {
            report.expect(FTRACE, switched);
            let parameters = format!("carveouts={good} devices=a:1M");
            of_load(report, &mut log, "function tracing is off", &parameters, &[libc::EBUSY]);
            report.expect(FTRACE, fs::write(FTRACE, "1"));
        }
    }
}

const FTRACE: &str = "/proc/sys/kernel/ftrace_enabled";

/// One load that must be refused with one of these errors and one line, and leave nothing.
fn of_load(report: &Report, log: &mut KernelLog, what: &str, parameters: &str, errors: &[i32]) {
    let error = module::load_with(&Root::at("/"), MODULE, parameters).err();
    let number = error.as_ref().and_then(errno);
    let lines = own_lines(log);
    let loaded = module_file("").exists();
    let claimed = fs::read_to_string("/proc/iomem").is_ok_and(|text| text.contains(MODULE));
    let nodes = Path::new("/dev/ecache").read_dir().is_ok_and(|mut entries| entries.next().is_some());
    report.check(
        format_args!("refused: {what}"),
        number.is_some_and(|number| errors.contains(&number)) && lines.len() == 1 && !loaded && !claimed && !nodes,
        format_args!("error {number:?}, {lines:?}, loaded {loaded}, claimed {claimed}, nodes {nodes}"),
    );
    if loaded {
        let _ = module::remove(MODULE);
    }
}

/// The pool's numbers that nothing but a request that was granted changes.
fn pool() -> BTreeMap<&'static str, String> {
    use fovea_contract::ecache_statistics::{ALLOCS, DEVICE, DISCARDED, FRAMES, SALVAGED, TOMBSTONES};
    let names = [FRAMES, DEVICE, TOMBSTONES, ALLOCS, DISCARDED, SALVAGED];
    let mut numbers: BTreeMap<_, _> = names
        .into_iter()
        .map(|name| (name, fs::read_to_string(module_file("pool").join(name)).unwrap_or_default()))
        .collect();
    let zero = module_file("parameters").join("zero");
    numbers.insert("zero", fs::read_to_string(zero).unwrap_or_default());
    numbers
}

/// While the module is in use: everything that must not be.
pub fn while_in_use(stack: &Stack, options: &Options, report: &Report) {
    let Some(mut log) = report.expect("/dev/kmsg", KernelLog::new()) else { return };
    let before = pool();
    let mut check = |what: &str, error: Option<i32>, expected: &[i32], own: usize| {
        let lines = own_lines(&mut log);
        let same = pool() == before;
        report.check(
            format_args!("refused: {what}"),
            error.is_some_and(|e| expected.contains(&e)) && lines.len() == own && same,
            format_args!("error {error:?}, {lines:?}, pool as before: {same}"),
        );
    };
    let parameter = |name: &str, value: &str| {
        let path = module_file("parameters").join(name);
        fs::write(path, value).err().and_then(|e| e.raw_os_error())
    };
    check("an unknown way of clearing at run time", parameter("zero", "never"), &[libc::EINVAL], 1);
    check("no number of pages", parameter("salvage_pages", "many"), &[libc::EINVAL], 0);
    // One that follows no moves does not need it.
    if options.follow {
        let off = fs::write(FTRACE, "0").err().and_then(|e| e.raw_os_error());
        // EOPNOTSUPP: of Linux 7.3, where nobody can.
        check("switching function tracing off under it", off, &[libc::EBUSY, libc::EOPNOTSUPP], 0);
    }
    let again = module::load_with(&Root::at("/"), MODULE, &good_parameters(options)).err();
    check("loading it twice", again.as_ref().and_then(errno), &[libc::EEXIST], 0);
    let unload = || module::remove(MODULE).err().as_ref().and_then(errno);
    check("unloading it under its targets", unload(), &[libc::EWOULDBLOCK, libc::EBUSY], 0);
    let said = stack.mapper.message(stack.volumes[C].name, 0, "dance").err();
    check("an unknown message", said.as_ref().and_then(errno), &[libc::EINVAL], 1);
    tables(stack, &mut check);
    buffers(report);
}

/// Says how a refusal went: what was asked, the error, those that are right, and how many lines of the module there must be.
type Check<'a> = dyn FnMut(&str, Option<i32>, &[i32], usize) + 'a;

/// Tables that a target refuses. Device-mapper prints the target's reason in a line of its own making.
fn tables(stack: &Stack, check: &mut Check) {
    let number = |path: &Path| device_number(path).unwrap_or_default();
    let (lower, upper) = (number(&stack.volumes[C].disk), number(&stack.volumes[A].disk));
    let size = stack.volumes[C].size_bytes / 512;
    let table = |start_sectors: u64, size_sectors: u64, parameters: String| Target {
        start_sectors,
        size_sectors,
        kind: ECACHE_TARGET.into(),
        parameters,
    };
    let wrong = "wrong";
    if stack.mapper.create(wrong).is_err() {
        return check("a device for bad tables", None, &[0], 0);
    }
    let linear = Target { kind: "linear".into(), ..table(0, 3, format!("{lower} 0")) };
    for (what, table) in [
        ("a lower device smaller than asked", vec![table(0, size + 8, format!("{lower} 0"))]),
        ("an offset beyond the lower device", vec![table(0, 8, format!("{lower} {size}"))]),
        ("an offset that is no number", vec![table(0, 8, format!("{lower} x"))]),
        ("no offset", vec![table(0, 8, lower.clone())]),
        ("too many arguments", vec![table(0, 8, format!("{lower} 0 0"))]),
        ("a lower device that is none", vec![table(0, 8, "9:99 0".into())]),
        ("a start within a page", vec![linear, table(3, 8, format!("{lower} 8"))]),
        ("a range that another device caches", vec![table(0, 8, format!("{upper} 0"))]),
    ] {
        let error = stack.mapper.load(wrong, &table).err();
        let expected = [libc::EINVAL, libc::ENODEV, libc::ENXIO, libc::EBUSY];
        check(what, error.as_ref().and_then(errno), &expected, 0);
    }
    let removed = stack.mapper.remove(wrong);
    if let Err(e) = removed {
        check(&e.to_string(), None, &[0], 0);
    }
}

/// Requests for buffers beyond what there is.
fn buffers(report: &Report) {
    let (name, size) = DEVICES[0];
    let Some(heap) = report.expect(name, Heap::open(format!("/dev/ecache/{name}"))) else { return };
    let too_much = heap.allocate(size + 1).err().and_then(|e| e.raw_os_error());
    report.check("refused: more than the reservation", too_much == Some(libc::EINVAL), format_args!("{too_much:?}"));
    let Some(buffer) = report.expect(name, heap.allocate(size / 2)) else { return };
    drop(heap);
    let fd = buffer.as_fd().try_clone_to_owned().map(File::from);
    let Some(fd) = report.expect("a second descriptor", fd) else { return };
    let beyond = FileMapping::new(&fd, 0, size as usize).err().and_then(|e| e.raw_os_error());
    report.check("refused: a mapping beyond the buffer", beyond == Some(libc::EINVAL), format_args!("{beyond:?}"));
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A probe that is switched off from outside: `fovea-heap-wrap` says so, and is not loaded into that.

use std::os::fd::AsFd;
use std::path::Path;

use fovea_contract::{heap_mapcache_statistics as statistics, wrap_statistics as wraps, WRAP_MODULE};
use fovea_edu::Direction;
use fovea_heap::Heap;
use fovea_linux::module;
use fovea_tests::audit::KernelLog;
use fovea_tests::kernel::{at, load_module, write_file, Outcome};

use crate::bench::{edu, total, Bench, MIB, SLOTS};
use crate::exporters::wrap_number;

const STOCK: &str = "/dev/dma_heap/system";
/// The first is refused while a module has ftrace for good (dm-ecache).
const SWITCHES: [&str; 2] = ["/proc/sys/kernel/ftrace_enabled", "/sys/kernel/debug/kprobes/enabled"];

pub fn all(bench: &Bench) -> Outcome<()> {
    if !Path::new(STOCK).exists() {
        return Ok(());
    }
    let mut tried = 0;
    for switch in SWITCHES {
        load_module(WRAP_MODULE)?;
        let done = write_file(switch, "0").and_then(|()| one(bench, switch));
        // Whatever happened.
        let _ = write_file(switch, "1");
        match done {
            Ok(()) => tried += 1,
            Err(e) => println!("mapcache: {switch}: {e}"),
        }
        let (active, found) = (wrap_number(wraps::ACTIVE)?, cached()?);
        bench.check(
            format_args!("{switch}: on again, and buffers are wrapped"),
            active == 1 && found != bench.options.bounces(),
            format_args!("active {active}, a second use finds the mapping: {found}"),
        );
        at("unloading the wrap", module::remove(WRAP_MODULE))?;
    }
    bench.check("probes can be switched off here", tried > 0, format_args!("{tried} ways"));
    Ok(())
}

/// Whether the second use of a new buffer finds it mapped.
fn cached() -> Outcome<bool> {
    let buffer = at(STOCK, at(STOCK, Heap::open(STOCK))?.allocate(MIB / 8))?;
    let hits = total(statistics::HITS)?;
    at("use", edu(SLOTS[0])?.touch(buffer.as_fd(), Direction::ToDevice, 2))?;
    Ok(total(statistics::HITS)? > hits)
}

fn one(bench: &Bench, switch: &str) -> Outcome<()> {
    let mut log = at("the kernel's log", KernelLog::new())?;
    let stock = !cached()?;
    let active = (wrap_number(wraps::ACTIVE)?, wrap_number(wraps::ACTIVE)?);
    bench.check(
        format_args!("{switch}: off, and the module's status says so"),
        stock && active == (0, 0),
        format_args!("new buffers stock: {stock}, active {active:?}"),
    );
    let said = log.lines().iter().filter(|(_, line)| line.contains("fovea_heap_wrap: the probe of")).count();
    bench.check(format_args!("{switch}: the kernel's log says so once"), said == 1, format_args!("{said} times"));
    at("unloading the wrap", module::remove(WRAP_MODULE))?;
    let refused = load_module(WRAP_MODULE).is_err();
    bench.check(format_args!("{switch}: off, and it is not loaded"), refused, "");
    let _ = write_file(switch, "1");
    load_module(WRAP_MODULE).or_else(|e| if refused { Err(e) } else { Ok(()) })
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! zram: set up, refused, used beside another area, taken down without a trace.

use std::fs::read_to_string;

use fovea_linux::device_traits::*;
use fovea_linux::{State, ZramDevice, ZramWish};

use crate::child::{mix, Child, Content, Order};
use crate::Bench;

fn wish(algorithm: &str, disk_bytes: u64, priority: i32) -> ZramWish {
    ZramWish { algorithm: Some(algorithm.into()), disk_bytes, limit_bytes: disk_bytes / 2, priority }
}

fn swaps() -> String {
    read_to_string("/proc/swaps").unwrap_or_default()
}

fn zram_is_loaded() -> bool {
    std::path::Path::new("/sys/class/zram-control").exists()
}

/// What must hold before there is any swap.
pub fn without_swap(bench: &mut Bench) {
    // The freezer shows in cgroups below the root only.
    let (cgroup, folder) = bench.cgroup();
    let report = bench.system.check();
    for row in &report.rows {
        println!("     check {}: {:?}, {} {}", row.name, row.state, row.found, row.mend);
    }
    for name in
        ["cgroup2", "memory-controller", "freezer", "psi", "process_madvise", "pidfd", "process_mrelease", "zram"]
    {
        let state = report.row(name).map(|row| row.state);
        bench.check(&format!("check finds {name}"), state == Some(State::Present), format!("{state:?}"));
    }
    let swap = report.row("swap").map(|row| row.state);
    bench.check("check finds no swap", swap == Some(State::Missing), format!("{swap:?}"));
    let memory = bench.system.memory();
    let plain = memory.as_ref().is_ok_and(|m| m.total_bytes > 0 && m.zram.is_none() && m.psi_some_total_us.is_some());
    bench.check("memory without swap", plain, format!("{memory:?}"));

    let mut child = Child::app(&folder, Content::new(256, mix(100, 0)));
    let outcome = bench.system.compress(&cgroup, Default::default(), 256, 500);
    let idle = outcome.as_ref().is_ok_and(|o| o.swapped_pages == 0);
    bench.check("nothing leaves memory without swap", idle, format!("{outcome:?}"));
    bench.check("content without swap", child.tell(Order::Verify).0 == 0, "verified");
    child.end();

    let loaded = zram_is_loaded();
    let refused = bench.system.zram_setup(&wish("rot13", 64 << 20, 1), &mut |_| Ok(()));
    let named = refused.as_ref().is_err_and(|e| e.to_string().contains("lz4"));
    bench.check("an unknown algorithm is refused with those there are", named, format!("{refused:?}"));
    bench.check("a refused set-up leaves the module as it was", loaded == zram_is_loaded(), zram_is_loaded());
    let own = ZramWish { algorithm: None, ..wish("", 64 << 20, 1) };
    let made = bench.system.zram_setup(&own, &mut |_| Ok(()));
    let path = |zram: &ZramDevice| format!("/sys/block/zram{}/comp_algorithm", zram.number);
    let in_use = made.as_ref().ok().and_then(|zram| read_to_string(path(zram)).ok());
    let told = made.as_ref().is_ok_and(|zram| {
        !zram.algorithm.is_empty()
            && in_use.as_ref().is_some_and(|text| text.contains(&format!("[{}]", zram.algorithm)))
    });
    bench.check("without a wish it is the kernel's own algorithm, and told", told, format!("{made:?}, {in_use:?}"));
    let gone = made.as_ref().is_ok_and(|zram| bench.system.zram_teardown(zram).is_ok()) && loaded == zram_is_loaded();
    bench.check("and it goes again", gone, swaps());
    let mut seen = None;
    let refused = bench.system.zram_setup(&wish("lz4", 64 << 20, 1), &mut |zram| {
        seen = Some((zram.clone(), read_to_string(format!("/sys/block/zram{}/disksize", zram.number))));
        Err(std::io::Error::other("no room for the log"))
    });
    let untouched = matches!(&seen, Some((_, Ok(size))) if size.trim() == "0");
    bench.check("the claim comes before anything is done", untouched && refused.is_err(), format!("{seen:?}"));
    bench.check("a claim that fails leaves the module as it was", loaded == zram_is_loaded(), zram_is_loaded());
}

/// The swap that the other checks use, and a second one beside it for a while.
pub fn set_up(bench: &mut Bench) -> ZramDevice {
    let first = bench.system.zram_setup(&wish("lz4", 192 << 20, 100), &mut |_| Ok(())).expect("zram");
    let line = swaps().lines().find(|l| l.contains(&format!("zram{}", first.number))).map(str::to_owned);
    bench.check(
        "zram is swapped to with its priority",
        line.as_ref().is_some_and(|l| l.ends_with("100")),
        format!("{line:?}"),
    );
    let disk =
        |bench: &mut Bench| bench.system.memory().ok().and_then(|m| m.zram).map(|z| (z.disk_bytes, z.limit_bytes));
    let found = disk(bench);
    bench.check("memory finds it", found == Some((192 << 20, 96 << 20)), format!("{found:?}"));

    let second = bench.system.zram_setup(&wish("zstd", 64 << 20, 200), &mut |_| Ok(())).expect("second zram");
    let found = disk(bench);
    bench.check("memory sums both areas up", found == Some((256 << 20, 128 << 20)), format!("{found:?}"));
    let codec = bench.system.check().row("swap-codec").map(|row| row.found.clone());
    bench.check("pages are judged by the area filled first", codec.as_deref() == Some("zstd"), format!("{codec:?}"));
    let (cgroup, folder) = bench.cgroup();
    let mut child = Child::app(&folder, Content::new(512, mix(100, 0)));
    let outcome = bench.system.compress(&cgroup, Default::default(), 512, 500);
    let left = outcome.as_ref().is_ok_and(|o| (480..=576).contains(&o.swapped_pages));
    bench.check("compress with zstd", left, format!("{outcome:?}"));
    let gone = bench.system.zram_teardown(&second);
    bench.check("one of two areas is taken down", gone.is_ok(), format!("{gone:?}"));
    let found = disk(bench);
    bench.check("memory finds the other", found == Some((192 << 20, 96 << 20)), format!("{found:?}"));
    bench.check("its pages are whole", child.tell(Order::Verify).0 == 0, "verified");
    child.end();
    first
}

/// Takes the swap away while an app has pages in it.
pub fn take_down(bench: &mut Bench, zram: ZramDevice) {
    let (cgroup, folder) = bench.cgroup();
    let mut child = Child::app(&folder, Content::new(1024, mix(100, 0)));
    let outcome = bench.system.compress(&cgroup, Default::default(), 1024, 500);
    let out = outcome.as_ref().map_or(0, |o| o.swapped_pages);
    let done = bench.system.zram_teardown(&zram);
    bench.check(
        "teardown with pages out",
        done.is_ok() && (992..=1088).contains(&out),
        format!("{out} pages out, {done:?}"),
    );
    bench.check("every page came back whole", child.tell(Order::Verify).0 == 0, "verified");
    bench.check("no swap is left", swaps().lines().count() == 1, swaps().lines().count());
    bench.check("the module is gone if we loaded it", zram_is_loaded() != zram.loaded_module, format!("{zram:?}"));
    let again = bench.system.zram_teardown(&zram);
    bench.check("teardown again is harmless", again.is_ok(), format!("{again:?}"));
    child.end();
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A day's figures.

use fovea_contract::ecache_statistics as pool;

use crate::figures::fold::{average, geomean, mean, p95, set, Folded, Launch};
use crate::figures::Figures;
use crate::{DiskLoad, DiskUse, LaunchKind, PAGE_BYTES};

/// The model of energy, a choice: a busy CPU of 2010 takes half a watt, and flash that reads or writes 10.8 MB/s a tenth. What all configurations
/// have alike, screen and memory, is left out.
const CPU_NJ_PER_NS: f64 = 0.5;
const FLASH_NJ_PER_BYTE: f64 = 0.1e9 / 10.8e6;

/// What all allocations of these devices at once took, if all were had.
fn allocations(f: &Folded, devices: &[&str]) -> Vec<f64> {
    let of = |device: &&str, buffers: &[crate::BufferUse]| {
        buffers.iter().find(|b| b.device == **device && b.error.is_none()).map(|b| b.alloc_ns as f64)
    };
    let each = f.devices.buffers.iter();
    each.filter_map(|(buffers, _)| devices.iter().map(|device| of(device, buffers)).sum::<Option<f64>>()).collect()
}

fn rate(done: &DiskUse) -> f64 {
    done.bytes as f64 * 1e9 / done.elapsed_ns.max(1) as f64
}

/// Of whole seconds.
fn mean_rate(seconds: &[u64], from: usize, to: usize) -> Option<f64> {
    average(seconds.get(from..to.min(seconds.len()))?.iter().map(|&bytes| bytes as f64))
}

fn read_bytes(f: &Folded) -> Option<f64> {
    Some(f.sample("end")?.read_bytes - f.sample("begin")?.read_bytes)
}

fn written_bytes(f: &Folded) -> Option<f64> {
    Some(f.wrote.get("end")?.0 - f.wrote.get("begin")?.0)
}

pub(super) fn fill(figures: &mut Figures, boots: &[&Folded]) {
    let mut put = |name: &str, value: &dyn Fn(&Folded) -> Option<f64>| set(figures, name, mean(boots, value));
    put("user_memory_bytes", &|f| f.user_memory_bytes);
    put("launches", &|f| Some(f.launches.len() as f64));
    let of = |f: &Folded, which: fn(&Launch) -> bool| -> Vec<f64> {
        f.launches.iter().filter(|l| which(l)).map(|l| l.elapsed_ns).collect()
    };
    put("launch_geomean_ns", &|f| geomean(of(f, |_| true).into_iter()));
    put("launch_p95_ns", &|f| p95(of(f, |_| true).into_iter()));
    put("cold_geomean_ns", &|f| geomean(of(f, |l| l.kind != LaunchKind::Resume).into_iter()));
    put("warm_geomean_ns", &|f| geomean(of(f, |l| l.kind == LaunchKind::Resume).into_iter()));
    // The leaker's end is wished for.
    put("kills", &|f| Some(f.desktop.killed.iter().filter(|(_, culprit)| !culprit).count() as f64));
    put("oom_kills", &|f| Some(f.end()?.oom_kills));
    put("wrong_kills", &|f| Some(f.desktop.wrong_victims));
    film(&mut put);
    put("degraded_ns", &|f| Some(f.traffic.as_ref()?.0));
    put("stream_bytes_per_s", &|f| mean_rate(&f.traffic.as_ref()?.1, 4, 30));
    put("download_bytes_per_s", &|f| mean_rate(&f.traffic.as_ref()?.2, 4, 30));
    put("link_bytes_per_s", &|f| {
        let (_, stream, download) = f.traffic.as_ref()?;
        Some(mean_rate(stream, 4, 30)? + mean_rate(download, 4, 30)?)
    });
    put("alloc_mfc_insns", &|f| average(allocations(f, &["mfc0", "mfc1"])));
    put("alloc_mfc_worst_insns", &|f| allocations(f, &["mfc0", "mfc1"]).into_iter().reduce(f64::max));
    put("alloc_fimc_insns", &|f| average(allocations(f, &["fimc"])));
    put("alloc_failures", &|f| {
        let all = f.devices.buffers.iter().flat_map(|(buffers, _)| buffers);
        Some(all.filter(|b| b.error.is_some()).count() as f64)
    });
    put("read_bytes", &read_bytes);
    put("written_bytes", &written_bytes);
    put("written_per_load_byte", &|f| {
        let loads = f.disk.get(DiskLoad::UPDATE)?.apps.values();
        Some(written_bytes(f)? / loads.map(|done| done.bytes as f64).sum::<f64>())
    });
    put("cpu_busy_ns", &|f| f.cpu_busy_ns);
    put("psi_full_ns", &|f| f.psi_full_ns);
    put("daemon_cpu_ns", &|f| Some(f.end()?.daemon_cpu_ns));
    put("energy_nj", &|f| {
        Some(f.cpu_busy_ns? * CPU_NJ_PER_NS + (read_bytes(f)? + written_bytes(f)?) * FLASH_NJ_PER_BYTE)
    });
    put("daemon_bytes", &|f| Some(f.wrote.get("end")?.1));
    put("module_memory_bytes", &|f| Some(*f.devices.pools.get("end")?.get(pool::MEMORY_BYTES)? as f64));
    put("merged_bytes", &|f| {
        let (_, values) = f.merging.iter().rev().find(|(label, _)| label == "end")?;
        Some(*values.get("sharing_pages")? as f64 * PAGE_BYTES as f64)
    });
    for name in [pool::HITS, pool::GETS, pool::PUTS] {
        put(name, &|f| {
            let at = |label: &str| f.devices.pools.get(label)?.get(name).copied();
            Some(at("end")?.checked_sub(at("begin")?)? as f64)
        });
    }
    put("wrong_pages", &|f| {
        let blocks = f.disk.values().flat_map(|stretch| stretch.apps.values()).map(|done| done.wrong_blocks as f64);
        Some(f.wrong_pages + blocks.sum::<f64>() + f.played.iter().map(|p| p.wrong_pages as f64).sum::<f64>())
    });
}

/// Sets a figure to its mean over the boots.
type Put<'a> = &'a mut dyn FnMut(&str, &dyn Fn(&Folded) -> Option<f64>);

/// What was done while the film played.
fn film(put: Put<'_>) {
    let of = |f: &Folded, app: &str| f.disk.get(DiskLoad::UPDATE)?.apps.get(app).cloned();
    put("missed_frames", &|f| Some(of(f, "player")?.missed as f64));
    put("missed_first_frames", &|f| Some(of(f, "player")?.missed_first as f64));
    put("update_bytes_per_s", &|f| Some(rate(&of(f, "dperf")?) + rate(&of(f, "updater")?)));
    put("mail_bytes_per_s", &|f| Some(rate(&of(f, "writer")?)));
    put("mail_longest_stall_ns", &|f| Some(of(f, "writer")?.longest_stall_ns as f64));
    // The median of each kind of use: what else ran meanwhile falls into some.
    put("map_frame_insns", &|f| {
        let played = f.played.iter().find(|played| played.label == DiskLoad::UPDATE)?;
        (!played.use_ns.is_empty()).then(|| played.use_ns.iter().sum::<u64>() as f64)
    });
}

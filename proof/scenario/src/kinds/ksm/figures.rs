// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the kernel's numbers and free memory say of merging.

use crate::figures::fold::{mean, set, Folded, Sample};
use crate::figures::Figures;
use crate::PAGE_BYTES;

/// A number of the kernel's at the last sample of a label.
fn value(folded: &Folded, label: &str, name: &str) -> Option<f64> {
    let (_, values) = folded.merging.iter().rev().find(|(l, _)| l == label)?;
    values.get(name).map(|&value| value as f64)
}

fn between(folded: &Folded, name: &str, from: &str, to: &str) -> Option<f64> {
    Some(value(folded, to, name)? - value(folded, from, name)?)
}

pub(super) fn fill(figures: &mut Figures, boots: &[&Folded]) {
    let mut put = |name: &str, value: &dyn Fn(&Folded) -> Option<f64>| set(figures, name, mean(boots, value));
    put("user_memory_bytes", &|f| f.user_memory_bytes);
    put("ksmd_cpu_ns", &|f| between(f, "cpu_ns", "begin", "end"));
    put("scanned_pages", &|f| between(f, "scanned_pages", "begin", "end"));
    put("full_scans", &|f| between(f, "full_scans", "begin", "end"));
    put("still_ksmd_cpu_ns", &|f| between(f, "cpu_ns", "quiet", "still"));
    let per_page = |f: &Folded| {
        let pages = between(f, "scanned_pages", "begin", "end").filter(|&pages| pages > 0.0)?;
        Some(between(f, "cpu_ns", "begin", "end")? / pages)
    };
    put("ksmd_page_cpu_ns", &per_page);
    put("sharing_bytes", &|f| Some(value(f, "end", "sharing_pages")? * PAGE_BYTES as f64));
    put("run", &|f| value(f, "killed", "run"));
    put("left_after_kill", &|f| f.left_after_kill);
    put("launches", &|f| Some(f.launches.len() as f64));
    put("kills", &|f| Some(f.end()?.kills));
    put("oom_kills", &|f| Some(f.end()?.oom_kills));
    put("daemon_cpu_ns", &|f| Some(f.end()?.daemon_cpu_ns));
    put("wrong_pages", &|f| Some(f.wrong_pages));
}

/// Memory that is free beside what is free where nothing is merged, at the same moments of the same session: what the kernel needs to keep
/// account of merged pages is taken off by that.
pub(super) fn put_saved(figures: &mut Figures, boots: &[&Folded], off: &[&Folded]) {
    let free = |samples: Vec<Sample>| {
        let count = samples.len() as f64;
        (count > 0.0).then(|| samples.iter().map(|s| s.free_bytes).sum::<f64>() / count)
    };
    let mut put = |name: &str, label: &str| {
        let ours = mean(boots, |f| free(f.samples(label)));
        let theirs = mean(off, |f| free(f.samples(label)));
        set(figures, name, ours.zip(theirs).map(|(ours, theirs)| ours - theirs));
    };
    put("saved_bytes", "session");
    put("saved_opening_bytes", "opening");
    put("saved_end_bytes", "end");
    put("saved_still_bytes", "still");
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a picture shows of a boot: free memory over time, and what happened when.

use fovea_scenario::{Boot, EventBody};

/// What happened to an app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It came to the screen.
    Launch,
    /// It was killed.
    Kill,
}

/// One boot's line. Times are seconds since the boot was ready, sizes MiB.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Configuration.
    pub configuration: &'static str,
    /// Free memory, in order of time.
    pub free_mib: Vec<(f64, f64)>,
    /// What happened, in order of time.
    pub marks: Vec<(f64, Mark)>,
}

impl Series {
    /// Takes a boot's samples, launches and kills.
    pub fn new(boot: &Boot<'_>) -> Series {
        let ready = boot.events.iter().find(|e| matches!(e.body, EventBody::Ready { .. })).map_or(0, |e| e.t_ns);
        let mut series =
            Series { configuration: boot.plan.configuration.name(), free_mib: Vec::new(), marks: Vec::new() };
        for event in boot.events {
            let t_s = event.t_ns.saturating_sub(ready) as f64 / 1e9;
            match &event.body {
                EventBody::Sample { free_bytes, .. } => {
                    series.free_mib.push((t_s, *free_bytes as f64 / f64::from(1 << 20)));
                }
                EventBody::Launch { .. } => series.marks.push((t_s, Mark::Launch)),
                EventBody::Killed { .. } => series.marks.push((t_s, Mark::Kill)),
                _ => {}
            }
        }
        series.free_mib.sort_by(|a, b| a.0.total_cmp(&b.0));
        series.marks.sort_by(|a, b| a.0.total_cmp(&b.0));
        series
    }

    /// Free memory at a moment: on the line between the samples around it, and beyond them the nearest one.
    pub fn at(&self, t_s: f64) -> Option<f64> {
        let next = self.free_mib.partition_point(|p| p.0 < t_s);
        match (next.checked_sub(1).and_then(|i| self.free_mib.get(i)), self.free_mib.get(next)) {
            (Some(a), Some(b)) if b.0 > a.0 => Some(a.1 + (b.1 - a.1) * (t_s - a.0) / (b.0 - a.0)),
            (_, Some(p)) | (Some(p), None) => Some(p.1),
            (None, None) => None,
        }
    }
}

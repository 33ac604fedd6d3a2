// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Boots over time, as charts.

use fovea_report::chart::{Chart, Kind};

use crate::figures::Boot;
use crate::EventBody;

/// Free memory over time, a line for each boot with a cross where an app was killed. `boots` are those of one case and round, one for
/// each configuration.
pub fn free_memory(title: &str, boots: &[Boot<'_>]) -> Chart {
    let mut chart = Chart::new(format!("{title}: free memory; a cross is a kill"), Kind::Time, "s", "MiB");
    for boot in boots {
        let ready = boot.events.iter().find(|e| matches!(e.body, EventBody::Ready { .. })).map_or(0, |e| e.t_ns);
        let (mut free_mib, mut launches, mut kills) = (Vec::new(), 0, Vec::new());
        for event in boot.events {
            let t_s = event.t_ns.saturating_sub(ready) as f64 / 1e9;
            match &event.body {
                EventBody::Sample { free_bytes, .. } => free_mib.push((t_s, *free_bytes as f64 / f64::from(1 << 20))),
                EventBody::Launch { .. } => launches += 1,
                EventBody::Killed { .. } => kills.push(t_s),
                _ => {}
            }
        }
        // One point is no course.
        if free_mib.len() > 1 {
            free_mib.sort_by(|a, b| a.0.total_cmp(&b.0));
            chart.line(
                format!("{}: {launches} launches, {} kills", boot.plan.configuration.name(), kills.len()),
                free_mib,
            );
            chart.series.last_mut().expect("one was added").events = kills;
        }
    }
    chart
}

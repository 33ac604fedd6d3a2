// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A stream beside a download over a slow link (Aciom11, section 6.3).

use fovea_report::panel::{Form, Panel};
use fovea_report::verdict::{ratio, verdict, Bound};
use serde::Deserialize;

use super::{About, Parameters};
use crate::catalog::builtin;
use crate::figures::fold::{mean, set, Folded};
use crate::figures::{by_case, compares, figure, id, Figures};
use crate::scenario::Scenario;
use crate::script::{in_range, BadParameter, Script};
use crate::{Boot, Case, Catalog, Configuration, Daemon, Error, Queue, Step, Traffic, Verdict};

/// The daemon runs in each; it holds windows in one.
const fn queued(name: &'static str, daemon: Daemon, queue: Queue) -> Configuration {
    let mut configuration = Configuration::new(name, daemon);
    configuration.queue = Some(queue);
    configuration
}

/// Nothing before the receiver: packets have waited before the link, first come, first served.
pub const PFIFO: Configuration = queued("pfifo", Daemon::Ladder, Queue::Pfifo);

/// fq_codel at the receiver's ingress.
pub const FQ_CODEL: Configuration = queued("fq_codel", Daemon::Ladder, Queue::FqCodel);

/// cake there.
pub const CAKE: Configuration = queued("cake", Daemon::Ladder, Queue::Cake);

/// As pfifo, and the daemon holds receive windows.
pub const FOVEA: Configuration = queued("fovea", Daemon::Full, Queue::Pfifo);

pub(super) const ABOUT: About = About {
    configurations: &[PFIFO, FQ_CODEL, CAKE, FOVEA],
    scenarios: builtin!["scenarios/net.toml"],
    lists: &["flows"],
    panels: &[
        Panel {
            scenario: "net",
            title: "Film stands still beside a download",
            form: Form::Bars,
            figures: &[("degraded_ns", "stands still")],
        },
        Panel {
            scenario: "net",
            title: "Received beside each other, a second: more is better",
            form: Form::Bars,
            figures: &[("stream_bytes_per_s", "film"), ("bursty_bytes_per_s", "download")],
        },
    ],
    ..About::NONE
};

/// What a segment on Ethernet carries, and takes of the link.
const PAYLOAD_BYTES: f64 = 1448.0;
const PACKET_BYTES: f64 = 1514.0;

/// How long the film may stand still; a control that stands still for no longer shows nothing.
const DEGRADED_MAX_NS: f64 = 3e9;

/// After the stream's end the download has so long to be as fast as it can.
const RECOVERY_NS: u64 = 5_000_000_000;

/// Parameters, explained in `profiles/scenarios/net.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Net {
    /// Connections of the download: the cases.
    pub flows: Vec<u32>,
    /// Whether the daemon is told what the link brings.
    pub told: bool,
    /// All else.
    pub traffic: Traffic,
}

impl Default for Net {
    fn default() -> Self {
        Net { flows: vec![4, 8], told: true, traffic: Traffic::default() }
    }
}

fn case_of(flows: u32) -> String {
    format!("flows-{flows}")
}

impl Parameters for Net {
    fn check(&self) -> Result<(), BadParameter> {
        if self.flows.is_empty() {
            return Err(("flows", "there are none".into()));
        }
        self.flows.iter().try_for_each(|&flows| in_range("flows", flows, 1, 1000))?;
        let Traffic { link_bytes_per_s, rtt_ns, frames_per_s, bulk_from_ns, stream_ns, end_ns, .. } = self.traffic;
        in_range("traffic.link_bytes_per_s", link_bytes_per_s, 10_000, 1 << 31)?;
        in_range("traffic.rtt_ns", rtt_ns, 0, 10_000_000_000)?;
        in_range("traffic.frames_per_s", frames_per_s, 1, 1000)?;
        in_range("traffic.bulk_from_ns", bulk_from_ns, 0, stream_ns)?;
        in_range("traffic.end_ns", end_ns, stream_ns, 3_600_000_000_000)
    }

    fn scripts(&self, scenario: &Scenario, _scale: f64, _catalog: &Catalog) -> Result<Vec<Script>, Error> {
        let capacity = if self.told { self.traffic.link_bytes_per_s } else { 0 };
        let script = |&flows: &u32| Script {
            case: case_of(flows),
            seed: scenario.seed,
            steps: vec![Step::Traffic(Traffic { bulk_flows: flows, ..self.traffic })],
            daemon_keys: format!("capacity_bytes_per_s = {capacity}\n"),
            ..Script::default()
        };
        Ok(self.flows.iter().map(script).collect())
    }

    fn cases(&self, scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
        let cases: Vec<String> = self.flows.iter().map(|&flows| case_of(flows)).collect();
        by_case(scenario, &cases, folded, |figures, boots| self.fill(figures, boots))
    }

    fn verdicts(&self, scenario: &Scenario, cases: &[Case], _boots: &[Boot<'_>]) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        for case in self.flows.iter().map(|&flows| case_of(flows)) {
            let get = |configuration: &str, name: &str| figure(cases, &case, configuration, name);
            if compares(scenario, &["fovea"]) {
                let degraded = verdict(
                    &id("degraded", &case),
                    "the film stands still for at most 3 s of 90 (ns)",
                    "Aciom11, section 6.3.2: degraded for \"only 2~3 seconds\"; 64 s of 90 without",
                    get("fovea", "degraded_ns"),
                    Bound::AtMost(DEGRADED_MAX_NS),
                );
                verdicts.push(match compares(scenario, &["pfifo"]) {
                    true => degraded.against("pfifo", get("pfifo", "degraded_ns"), Bound::Above(DEGRADED_MAX_NS)),
                    false => degraded,
                });
                verdicts.push(verdict(
                    &id("bursty", &case),
                    "the download gets at least 80 % of what the film leaves",
                    "this project",
                    ratio(get("fovea", "bursty_bytes_per_s"), get("fovea", "left_bytes_per_s")),
                    Bound::AtLeast(0.8),
                ));
            }
            if compares(scenario, &["pfifo", "fovea"]) {
                let after = |c: &str| get(c, "bursty_after_bytes_per_s");
                verdicts.push(verdict(
                    &id("recovery", &case),
                    "within 5 s after the film's end the download is as fast as without (share of pfifo's)",
                    "this project",
                    ratio(after("fovea"), after("pfifo")),
                    Bound::AtLeast(0.95),
                ));
            }
        }
        verdicts
    }
}

impl Net {
    fn fill(&self, figures: &mut Figures, boots: &[&Folded]) {
        let second = |ns: u64| (ns / 1_000_000_000) as usize;
        let Traffic { link_bytes_per_s, bulk_from_ns, stream_ns, end_ns, .. } = self.traffic;
        // The whole seconds of a time.
        let rate = |series: &[u64], from_ns: u64, to_ns: u64| {
            let seconds = series.get(second(from_ns)..second(to_ns)).filter(|seconds| !seconds.is_empty())?;
            Some(seconds.iter().sum::<u64>() as f64 / seconds.len() as f64)
        };
        let mut put = |name: &str, value: &dyn Fn(&Folded) -> Option<f64>| set(figures, name, mean(boots, value));
        put("degraded_ns", &|f| Some(f.traffic.as_ref()?.0));
        put("stream_bytes_per_s", &|f| rate(&f.traffic.as_ref()?.1, 0, stream_ns));
        put("bursty_bytes_per_s", &|f| rate(&f.traffic.as_ref()?.2, bulk_from_ns, stream_ns));
        put("left_bytes_per_s", &|f| {
            let stream = rate(&f.traffic.as_ref()?.1, bulk_from_ns, stream_ns)?;
            Some(link_bytes_per_s as f64 * PAYLOAD_BYTES / PACKET_BYTES - stream)
        });
        put("bursty_after_bytes_per_s", &|f| rate(&f.traffic.as_ref()?.2, stream_ns + RECOVERY_NS, end_ns));
        put("daemon_cpu_ns", &|f| Some(f.end()?.daemon_cpu_ns));
    }
}

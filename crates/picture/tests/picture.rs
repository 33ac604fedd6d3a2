// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The picture shows what the events say.

use fovea_picture::{free_memory_svg, write_free_memory, Error, Mark, Series};
use fovea_scenario::{Boot, Catalog, Event, EventBody, LaunchKind, Plan, Scenario};

fn plans() -> Vec<Plan> {
    let scenario = Scenario::load("workload", &["launches=3".into()]).unwrap();
    scenario.plans(&Catalog::builtin().unwrap(), true).unwrap()
}

fn sample(t_s: f64, free_mib: f64) -> Event {
    let body = EventBody::Sample {
        label: "tick".into(),
        free_bytes: (free_mib * f64::from(1 << 20)) as u64,
        available_bytes: 0,
        swapped_bytes: 0,
        zram_bytes: 0,
        read_bytes: 0,
        alive: 1,
    };
    Event { t_ns: (t_s * 1e9) as u64, body }
}

fn launch(t_s: f64) -> Event {
    let body = EventBody::Launch {
        app: "a".into(),
        kind: LaunchKind::Cold,
        elapsed_ns: 1,
        read_bytes: 0,
        wrong_pages: 0,
        verified_pages: 0,
    };
    Event { t_ns: (t_s * 1e9) as u64, body }
}

fn killed(t_s: f64) -> Event {
    Event { t_ns: (t_s * 1e9) as u64, body: EventBody::Killed { app: "a".into(), oom: false } }
}

/// A sawtooth: each launch takes 60 MiB, each kill gives some back.
fn events(base_mib: f64, kills: bool) -> Vec<Event> {
    let ready = EventBody::Ready { kernel: "6.12".into(), memory_total_bytes: 0, user_memory_bytes: 1 };
    let mut events = vec![Event { t_ns: 1_000_000_000, body: ready }];
    let mut free = base_mib;
    for i in 0..30 {
        let t = 1.0 + f64::from(i) * 2.0;
        events.extend([sample(t, free), launch(t + 0.5)]);
        free -= 60.0;
        events.push(sample(t + 1.0, free.max(9.0)));
        if free < 20.0 {
            free += if kills { 110.0 } else { 75.0 };
            if kills {
                events.push(killed(t + 1.2));
            }
        } else {
            free += 25.0;
        }
    }
    events
}

#[test]
fn a_series_starts_when_the_boot_is_ready() {
    let (plans, events) = (plans(), events(200.0, true));
    let series = Series::new(&Boot { plan: &plans[0], events: &events });
    assert_eq!(series.configuration, "stock");
    assert_eq!(series.free_mib[0], (0.0, 200.0));
    assert_eq!(series.marks[0], (0.5, Mark::Launch));
    assert_eq!(series.at(0.5), Some(170.0));
    assert_eq!(series.at(-1.0), Some(200.0));
    assert_eq!(series.at(1e9), series.free_mib.last().map(|p| p.1));
}

#[test]
fn the_picture_has_a_line_per_configuration_and_every_mark() {
    let plans = plans();
    let all = [events(200.0, true), events(260.0, true), events(320.0, false)];
    let boots: Vec<Boot<'_>> =
        plans.iter().zip(&all).map(|(plan, events)| Boot { plan, events: events.as_slice() }).collect();
    let svg = free_memory_svg("Workload N <1>", &boots).unwrap();
    for text in
        ["stock: 30 launches", "zram: 30 launches", "fovea: 30 launches, 0 kills", "free memory (MiB)", "time (s)"]
    {
        assert!(svg.contains(text), "{text}");
    }
    assert!(svg.contains("N &lt;1&gt;") && !svg.contains("N <1>"));
    assert_eq!(svg.matches("<circle").count(), 91, "a dot for each launch and one in the legend");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("free.svg");
    write_free_memory(&file, "x", &boots).unwrap();
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("<svg"));
    assert!(matches!(write_free_memory(&folder.path().join("no/free.svg"), "x", &boots), Err(Error::File { .. })));
    if let Some(to) = std::env::var_os("FOVEA_PICTURE_TO") {
        std::fs::write(to, svg).unwrap();
    }
}

#[test]
fn nothing_to_show_is_said() {
    let plans = plans();
    assert!(matches!(free_memory_svg("x", &[]), Err(Error::Empty)));
    let one = [sample(1.0, 5.0)];
    assert!(matches!(free_memory_svg("x", &[Boot { plan: &plans[0], events: &one }]), Err(Error::Empty)));
}

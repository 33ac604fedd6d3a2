// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Charts over time show what the events say.

mod events;

use fovea_report::chart::{Kind, Place};
use fovea_scenario::series::free_memory;
use fovea_scenario::{Boot, Catalog, Event, EventBody, LaunchKind, Plan, Scenario};

fn plans() -> Vec<Plan> {
    let scenario = Scenario::load("workload", &["launches=3".into()]).unwrap();
    scenario.plans(&Catalog::builtin().unwrap(), true).unwrap()
}

fn sample(t_s: f64, free_mib: f64) -> Event {
    let body = events::sample("tick", (free_mib * f64::from(1 << 20)) as u64, 0, 0);
    Event { t_ns: (t_s * 1e9) as u64, body }
}

fn launch(t_s: f64) -> Event {
    let body = events::launch("a", LaunchKind::Cold, 1);
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
fn a_line_starts_when_the_boot_is_ready_and_bears_every_kill() {
    let plans = plans();
    let all = [events(200.0, true), events(260.0, true), events(320.0, false)];
    let boots: Vec<Boot<'_>> =
        plans.iter().zip(&all).map(|(plan, events)| Boot { plan, events: events.as_slice() }).collect();
    let chart = free_memory("workload N", &boots);
    assert_eq!((chart.kind, chart.title.as_str()), (Kind::Time, "workload N: free memory; a cross is a kill"));
    let names: Vec<&str> = chart.series.iter().map(|s| s.name.as_str()).collect();
    let kills = |events: &[Event]| events.iter().filter(|e| matches!(e.body, EventBody::Killed { .. })).count();
    assert!(kills(&all[0]) > 3);
    assert_eq!(names[0], format!("stock: 30 launches, {} kills", kills(&all[0])));
    assert_eq!(names[2], "fovea: 30 launches, 0 kills");
    assert_eq!(chart.series[0].events.len(), kills(&all[0]));
    let points = &chart.series[0].points;
    assert_eq!((&points[0].x, points[0].y), (&Place::Number(0.0), 200.0));
    let x = |p: &fovea_report::chart::Point| match p.x {
        Place::Number(x) => x,
        Place::Name(_) => panic!("a name on an axis of time"),
    };
    assert!(points.windows(2).all(|w| x(&w[0]) <= x(&w[1])));
}

#[test]
fn a_boot_without_a_course_has_no_line() {
    let plans = plans();
    assert_eq!(free_memory("x", &[]).series, []);
    let one = [sample(1.0, 5.0)];
    assert_eq!(free_memory("x", &[Boot { plan: &plans[0], events: &one }]).series, []);
}

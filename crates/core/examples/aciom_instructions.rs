// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! One kind of request after the other through Aciom, for `instructions.sh` to count: `aciom_instructions WHAT ROUNDS`. Each arrives, is
//! dispatched and completes; 16 apps are active, half of them time-sensitive.

use fovea_core::aciom::{Aciom, Class, Config, Kind, NOBODY};

const MS: u64 = 1_000_000;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (Some(what), Some(Ok(rounds))) = (args.get(1), args.get(2).map(|n| n.parse::<u64>())) else {
        eprintln!("usage: aciom_instructions free|plain|sensitive|bursty ROUNDS");
        std::process::exit(2);
    };
    let config = Config { cmax: 100_000_000, max_apps: 256, hold_limit: 1024 };
    let mut aciom = Aciom::new(&config).expect("a valid configuration");
    // Spread over the numbers, as time makes them.
    let apps: Vec<u32> = (0..16).map(|nth| nth * 16 + nth).collect();
    for (nth, &app) in apps.iter().enumerate() {
        let class = if nth % 2 == 0 { Class::TimeSensitive } else { Class::Bursty };
        aciom.add(app, class, 0).expect("a new number");
    }
    let (mut id, mut now) = (0, 0);
    let mut serve = |aciom: &mut Aciom, app: u32, size_bytes: u32, pass_ns: u64| {
        aciom.enqueue(id, app, size_bytes, Kind::default(), now);
        id += 1;
        // What was held earlier goes meanwhile, too.
        now += pass_ns;
        while let Some((gone, _)) = aciom.dispatch(now) {
            aciom.complete(gone, now + MS / 10);
        }
    };
    if what != "free" {
        for &app in apps.iter().cycle().take(320) {
            serve(&mut aciom, app, 4096, MS);
        }
    }
    for round in 0..rounds as usize {
        let app = match what.as_str() {
            "sensitive" => apps[round % 8 * 2],
            "bursty" => apps[round % 8 * 2 + 1],
            _ => NOBODY,
        };
        // Often enough for all to stay active.
        serve(&mut aciom, app, 16384, MS / 10);
    }
    let counters = aciom.counters();
    assert!(what == "free" || counters.active_time_sensitive > 0, "{counters:?}");
    assert!(what != "bursty" || counters.held * 2 > counters.bursty, "{counters:?}");
}

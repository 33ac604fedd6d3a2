// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What was prefetched for each app, and how much of it was used.

use std::io::Write;

use fovea_apps::printable;
use fovea_launch::{App, Mode, Pages, Standing};
use serde_json::{json, Value};

use crate::keep::Keeper;
use crate::Failure;

/// Prints it.
pub fn status(keeper: &Keeper, only: Option<&str>, as_json: bool) -> Result<(), Failure> {
    let page = fovea_linux::launch::page_bytes();
    let mut apps = Vec::new();
    for (user, _) in keeper.users() {
        let store = keeper.read(user).map_err(Failure::failed)?;
        let own = store.apps().filter(|(name, _)| only.is_none_or(|only| only == *name));
        apps.extend(own.map(|(name, app)| described(user, name, app, page)));
    }
    if let Some(name) = only.filter(|_| apps.is_empty()) {
        return Err(Failure::failed(format!("nothing is known of {name}: `fovea-prefetch status` names the apps")));
    }
    let text = if as_json { format!("{:#}\n", Value::Array(apps)) } else { table(&apps) };
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::failed(format!("standard output: {e}"))),
        _ => Ok(()),
    }
}

fn described(user: u32, name: &str, app: &App, page: u64) -> Value {
    let expected: u64 = app.expected().values().map(Pages::count).sum();
    json!({
        "user": user,
        "app": name,
        "state": state(app),
        "starts": app.starts,
        "expected_bytes": expected * page,
        "prefetched_bytes": app.prefetched * page,
        "wasted_bytes": app.wasted() * page,
        "accuracy_percent": app.score.accuracy(),
        "coverage_percent": app.score.coverage(),
        "timeliness_percent": app.timeliness(),
        "first_read_ns": (app.prefetched > 0).then_some(app.first_us.saturating_mul(1000)),
        "ahead_bytes": app.ahead.read.saturating_add(app.ahead.waits) * page,
        "ahead_accuracy_percent": app.ahead.accuracy(),
    })
}

fn state(app: &App) -> &'static str {
    match (app.mode(), app.score.standing()) {
        (Mode::Leave, _) => "given up",
        (Mode::Prefetch, _) => "prefetched",
        (Mode::Observe, Standing::Good) => "observed next",
        (Mode::Observe, _) => "learning",
    }
}

fn table(apps: &[Value]) -> String {
    let mut text = format!(
        "{:>6} {:<28} {:<13} {:>6} {:>9} {:>11} {:>8} {:>8} {:>8} {:>6}\n",
        "user", "app", "state", "starts", "expected", "prefetched", "wasted", "accuracy", "coverage", "timely"
    );
    for app in apps {
        let size = |key: &str| format!("{:.1} MiB", app[key].as_u64().unwrap_or(0) as f64 / f64::from(1 << 20));
        let share = |key: &str| app[key].as_u64().map_or("-".into(), |percent| format!("{percent} %"));
        text += &format!(
            "{:>6} {:<28} {:<13} {:>6} {:>9} {:>11} {:>8} {:>8} {:>8} {:>6}\n",
            app["user"].as_u64().unwrap_or(0),
            printable(app["app"].as_str().unwrap_or_default()),
            app["state"].as_str().unwrap_or_default(),
            app["starts"].as_u64().unwrap_or(0),
            size("expected_bytes"),
            size("prefetched_bytes"),
            size("wasted_bytes"),
            share("accuracy_percent"),
            share("coverage_percent"),
            share("timeliness_percent"),
        );
    }
    text
}

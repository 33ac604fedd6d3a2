// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A daemon that only answers: what a machine in use would have, and a journal of some lines.

#![allow(missing_docs)]

use std::os::fd::OwnedFd;
use std::path::Path;

use fovea_apps::{AppUsage, DiskControl, IoClass, Lists, MemoryReading, Perceived, PoolReading, ZramReading};
use fovea_client::protocol::{Reply, Request, SOCKET_NAME};
use fovea_client::socket::{accept, listen_at, receive, reply, Received};
use fovea_client::{AppStatus, Status};
use rustix::event::{poll, PollFd, PollFlags};
use serde_json::{json, Value};

const MB: u64 = 1 << 20;

fn app(name: &str, importance: &str, anon_mb: u64, swap_mb: u64) -> AppStatus {
    let usage = AppUsage { anon_bytes: anon_mb * MB, swap_bytes: swap_mb * MB, ..AppUsage::default() };
    let app = json!({ "name": name, "cgroup": "/x", "importance": importance, "frozen": false, "usage": usage });
    serde_json::from_value(app).unwrap()
}

/// The state at a look.
pub fn status(look: u64) -> Status {
    let mut apps = vec![
        app("org.mozilla.firefox", "foreground", 702, 12),
        app("org.gnome.Terminal", "visible", 48, 0),
        app("org.gnome.Rhythmbox3", "service", 61, 9),
        app("backup", "service", 24, 0),
        app("org.libreoffice.LibreOffice.writer", "hidden", 88, 190),
        app("org.gimp.GIMP", "hidden", 130, 310),
        app("org.gnome.Maps", "empty", 6, 140),
    ];
    apps[2].perceptible = Some(Perceived::PlaysSound);
    apps[2].io_class.class = IoClass::TimeSensitive;
    apps[3].io_class.class = IoClass::Bursty;
    apps[3].receive_window_bytes = 64 << 10;
    apps[4].list = Some("avoid (org.libreoffice.*)".into());
    for (app, permille) in apps[4..].iter_mut().zip([620, 180, 40]) {
        app.frozen = permille < 200;
        app.returns_permille = Some(permille);
    }
    let zram =
        ZramReading { original_bytes: 661 * MB, used_bytes: 198 * MB, disk_bytes: 980 * MB, ..ZramReading::default() };
    // A spell of waiting that comes and goes.
    let spell = (look % 40).min(40 - look % 40) as f64;
    Status {
        screen_on: true,
        sources: vec!["auto".into(), "logind".into()],
        focus_told: true,
        foreground: "org.mozilla.firefox".parse().ok(),
        memory: MemoryReading {
            total_bytes: 1960 * MB,
            free_bytes: 71 * MB,
            available_bytes: 420 * MB,
            file_bytes: 388 * MB,
            zram: Some(zram),
            psi_some_avg10: Some(spell * 0.9),
            psi_full_avg10: Some((spell - 12.0).max(0.0) * 0.3),
            ..MemoryReading::default()
        },
        ecache: Some(PoolReading {
            frames: 23_040,
            cached: 17_920,
            device: 2_048,
            free: 3_072,
            ..PoolReading::default()
        }),
        disk: DiskControl::Volumes,
        kills: 2,
        compressed_pages: 198_400,
        apps,
        ..Status::default()
    }
}

/// The journal's end.
pub fn story() -> Vec<Value> {
    let entry = |ms: u64, action: &str, app: &str, reason: Option<&str>, outcome: Value| {
        let mut entry = json!({ "t_ns": ms * 1_000_000, "unix_ms": 50_700_000 + ms, "action": action, "app": app });
        if let Some(reason) = reason {
            entry["reason"] = reason.into();
        }
        if !outcome.is_null() {
            entry["outcome"] = outcome;
        }
        entry
    };
    let mut kill = entry(31_000, "kill", "org.gnome.Photos", Some("swap-full"), Value::Null);
    kill["readings"] = json!({ "free_bytes": 41 * MB, "file_bytes": 190 * MB });
    vec![
        entry(1_000, "focus", "org.gimp.GIMP", None, Value::Null),
        kill,
        entry(31_200, "victim-gone", "org.gnome.Photos", None, json!({ "took_ns": 34_435_787u64 })),
        entry(95_000, "focus", "org.mozilla.firefox", None, Value::Null),
        entry(95_001, "rank", "org.gimp.GIMP", Some("importance"), Value::Null),
        entry(96_500, "perceptible", "org.gnome.Rhythmbox3", None, json!({ "by": "plays-sound" })),
        entry(125_000, "freeze", "org.gimp.GIMP", Some("background"), Value::Null),
        entry(140_000, "compress", "org.gnome.Maps", Some("idle"), json!({ "pages": 4096 })),
    ]
}

/// What is answered to a request.
pub fn answer(request: &Request, look: u64) -> Reply {
    match request {
        Request::Status { offset, limit } => Reply::Status(Box::new(status(look).page(*offset, *limit))),
        Request::Explain { app, .. } => {
            let is_of = |entry: &Value| app.as_ref().is_none_or(|app| entry["app"] == app.as_str());
            Reply::Story { entries: story().into_iter().filter(is_of).collect() }
        }
        Request::List {} => {
            let configured = Lists { avoid: vec!["org.libreoffice.*".parse().unwrap()], ..Lists::default() };
            Reply::Lists { configured, said: Lists::default() }
        }
        _ => Reply::Done {},
    }
}

/// Listens in a run folder.
pub fn listen(run_folder: &Path) -> OwnedFd {
    listen_at(&run_folder.join(SOCKET_NAME), 0o600).unwrap()
}

/// Answers for ever, one client after the other.
pub fn serve(listener: &OwnedFd) {
    let mut looks = 0;
    loop {
        let Some(client) = accept(listener).unwrap() else { continue };
        loop {
            poll(&mut [PollFd::new(&client, PollFlags::IN)], None).unwrap();
            match receive(&client) {
                Received::Request(request) => {
                    looks += u64::from(matches!(request, Request::Status { .. }));
                    reply(&client, &answer(&request, looks));
                }
                Received::Nothing => {}
                Received::Bad(error) => drop(reply(&client, &Reply::Error { error })),
                Received::Gone => break,
            }
        }
    }
}

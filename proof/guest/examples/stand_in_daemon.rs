// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A stand-in for `fovea run`, to try the guest without the daemon: answers the protocol, freezes what is not in front, makes a zram
//! swap if the configuration says `[zram] enabled = true`, and puts both back when its worker is killed. It decides nothing.
//! `stand_in_damage = true` makes it change one byte of every app's memory at `Home`, so that verification can be seen to notice.
//! `stand_in_change = true` makes it change settings at `Home` that nothing puts back; `stand_in_silent = true` makes it deny that
//! anything is frozen.
//! `stand_in = "leave-frozen"` in the configuration makes it put nothing back, so that the check for that can be seen to fail.

use std::collections::BTreeMap;
use std::error::Error;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use fovea_apps::{App, AppName, Registry};
use fovea_client::protocol::{Reply, Request, RUN_FOLDER, SOCKET_NAME};
use fovea_client::socket::{listen_at, receive, reply, Received};
use fovea_client::{AppStatus, Status};
use rustix::net::{accept_with, SocketFlags};

const CGROUPS: &str = "/sys/fs/cgroup";

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let config = std::fs::read_to_string("/etc/fovea.toml")?;
    if args.get(1).map(String::as_str) == Some("worker") {
        return serve(&config);
    }
    let status = Command::new("/proc/self/exe").arg("worker").status()?;
    println!("stand-in daemon: worker ended with {status}");
    if !config.contains("stand_in = \"leave-frozen\"") {
        for app in std::fs::read_dir(Path::new(CGROUPS).join("apps"))?.flatten() {
            // Files of the folder itself have no such file below them.
            let _ = std::fs::write(app.path().join("cgroup.freeze"), "0");
        }
        if config.contains("enabled = true") {
            Command::new("/bin/busybox").args(["swapoff", "/dev/zram0"]).status()?;
            std::fs::write("/sys/block/zram0/reset", "1")?;
            std::fs::write("/sys/class/zram-control/hot_remove", "0")?;
        }
    }
    std::fs::remove_file(Path::new(RUN_FOLDER).join(SOCKET_NAME))?;
    Ok(())
}

fn serve(config: &str) -> Result<(), Box<dyn Error>> {
    if config.contains("enabled = true") {
        std::fs::read_to_string("/sys/class/zram-control/hot_add")?;
        let megabytes = config.lines().find_map(|l| l.strip_prefix("stand_in_swap_mib = ")).unwrap_or("128").trim();
        std::fs::write("/sys/block/zram0/disksize", format!("{megabytes}M"))?;
        for tool in ["mkswap", "swapon"] {
            Command::new("/bin/busybox").args([tool, "/dev/zram0"]).stdout(std::process::Stdio::null()).status()?;
        }
    }
    let freeze = config.contains("stand_in_freeze = true");
    let mut registry = Registry::default();
    let mut frozen: BTreeMap<AppName, bool> = BTreeMap::new();
    let listener = listen_at(&Path::new(RUN_FOLDER).join(SOCKET_NAME), 0o600)?;
    let mut client = accept_with(&listener, SocketFlags::CLOEXEC)?;
    loop {
        let request = match receive(&client) {
            Received::Request(request) => request,
            Received::Bad(error) => return Err(error.into()),
            Received::Nothing => continue,
            Received::Gone => {
                client = accept_with(&listener, SocketFlags::CLOEXEC)?;
                continue;
            }
        };
        let mut status = false;
        match request {
            Request::Register { app, cgroup, role, io_class } => registry.insert(app, cgroup, role, io_class),
            Request::Focus { app } => registry.focus(Some(0), &app, 0)?,
            // Nobody watches a compositor in the phone.
            Request::Attend { .. } | Request::Windows { .. } | Request::Adopt { .. } | Request::Reload {} => {}
            Request::Inhibitors { .. } | Request::Playing { .. } | Request::Names { .. } => {}
            Request::Home {} => {
                registry.unfocus(Some(0), 0);
                if config.contains("stand_in_change = true") {
                    std::fs::write("/proc/sys/vm/swappiness", "99")?;
                    registry.iter().try_for_each(|app| change(&app.cgroup))?;
                }
                if config.contains("stand_in_damage = true") {
                    registry.iter().try_for_each(|app| damage(&app.cgroup))?;
                }
            }
            Request::Close { app } => registry.close(&app)?,
            Request::Status { .. } => status = true,
            Request::Screen { .. } | Request::Explain { .. } | Request::OnlyAsk {} | Request::Follow {} => {}
            Request::Simulate { .. } | Request::List {} | Request::ListAdd { .. } | Request::ListRemove { .. } => {}
        }
        if freeze {
            for app in registry.iter() {
                let wanted = registry.foreground() != Some(&app.name) && app.role == fovea_apps::Role::App;
                if frozen.insert(app.name.clone(), wanted) != Some(wanted) {
                    let file = Path::new(CGROUPS).join(&app.cgroup).join("cgroup.freeze");
                    let _ = std::fs::write(file, if wanted { "1" } else { "0" });
                }
            }
        }
        let reported = if config.contains("stand_in_silent = true") { &BTreeMap::new() } else { &frozen };
        reply(&client, &if status { status_of(&registry, reported) } else { Reply::Done {} });
    }
}

/// Changes settings of an app that the restoring half does not know of.
fn change(cgroup: &str) -> Result<(), Box<dyn Error>> {
    let folder = Path::new(CGROUPS).join(cgroup);
    std::fs::write(folder.join("memory.high"), "1G")?;
    for pid in std::fs::read_to_string(folder.join("cgroup.procs"))?.lines() {
        std::fs::write(format!("/proc/{pid}/oom_score_adj"), "700")?;
    }
    Ok(())
}

/// Changes one byte of the sixth page of the first writable anonymous mapping of 1 MiB or more.
fn damage(cgroup: &str) -> Result<(), Box<dyn Error>> {
    for pid in std::fs::read_to_string(Path::new(CGROUPS).join(cgroup).join("cgroup.procs"))?.lines() {
        for line in std::fs::read_to_string(format!("/proc/{pid}/maps"))?.lines() {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let Some((start, end)) = fields[0].split_once('-') else { continue };
            let (start, end) = (u64::from_str_radix(start, 16)?, u64::from_str_radix(end, 16)?);
            if fields.len() == 5 && fields[1] == "rw-p" && end - start >= 1 << 20 {
                let memory = std::fs::File::options().read(true).write(true).open(format!("/proc/{pid}/mem"))?;
                let mut byte = [0u8];
                memory.read_exact_at(&mut byte, start + 5 * 4096 + 77)?;
                byte[0] ^= 0x10;
                memory.write_all_at(&byte, start + 5 * 4096 + 77)?;
                println!("stand-in daemon: damaged a byte of {cgroup}");
                break;
            }
        }
    }
    Ok(())
}

fn status_of(registry: &Registry, frozen: &BTreeMap<AppName, bool>) -> Reply {
    let app = |app: &App| AppStatus {
        name: app.name.clone(),
        kind: app.kind,
        cgroup: app.cgroup.clone(),
        importance: registry.importance(app),
        returns_permille: None,
        list: None,
        perceptible: None,
        io_class: Default::default(),
        receive_window_bytes: 0,
        udp_limit_bytes_per_s: 0,
        frozen: frozen.get(&app.name).copied().unwrap_or(false),
        usage: Default::default(),
    };
    Reply::Status(Box::new(Status {
        pid: std::process::id(),
        only_decides: false,
        screen_on: true,
        sources: vec!["phone".into()],
        focus_told: registry.has_source(),
        foreground: registry.foreground().cloned(),
        busy: false,
        only_listed: false,
        warning: None,
        runaways: Vec::new(),
        disk: Default::default(),
        merging: None,
        tiers: None,
        memory: Default::default(),
        ecache: None,
        buffer_holders: Vec::new(),
        kills: 0,
        compressed_pages: 0,
        expected: Vec::new(),
        missing: Vec::new(),
        config_problems: Vec::new(),
        apps: registry.iter().map(app).collect(),
        next_offset: None,
    }))
}

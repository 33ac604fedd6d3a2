// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea status`.

use std::path::Path;

use fovea_apps::printable;
use fovea_client::words::mechanisms;
use fovea_client::{AppStatus, Status};

use crate::failure::Failure;
use crate::output::{print, print_json};

/// Prints the daemon's state.
pub fn status(run_folder: &Path, json: bool, offset: usize, limit: Option<usize>) -> Result<(), Failure> {
    let status = fovea_client::status(run_folder, offset, limit)?;
    match json {
        true => print_json(&status),
        false => print(&table(&status, offset)),
    }
}

fn mb(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

/// What else an app is treated by.
fn besides(app: &AppStatus) -> String {
    let list = app.list.as_ref().map(|list| format!("list {}", printable(list)));
    let perceptible = app.perceptible.map(|perceived| perceived.to_string());
    list.into_iter().chain(perceptible).collect::<Vec<_>>().join("; ")
}

/// Memory first, then the apps, the most important first.
fn table(status: &Status, offset: usize) -> String {
    let memory = &status.memory;
    let mut out = format!(
        "memory   {} MiB, free {}, available {}, file cache {}\n",
        mb(memory.total_bytes),
        mb(memory.free_bytes),
        mb(memory.available_bytes),
        mb(memory.file_bytes)
    );
    match memory.zram {
        Some(z) => {
            out += &format!(
                "zram     holds {} MiB in {} (limit {})\n",
                mb(z.original_bytes),
                mb(z.used_bytes),
                mb(z.limit_bytes)
            );
        }
        None => out += "zram     none\n",
    }
    if let Some(pool) = &status.ecache {
        out += &format!(
            "ecache   {} MiB: {} of files, {} of devices; {} of {} pages served\n",
            mb(pool.size_bytes()),
            mb(pool.cached * fovea_apps::PAGE_BYTES),
            mb(pool.device * fovea_apps::PAGE_BYTES),
            pool.hits,
            pool.gets
        );
    }
    for (name, words) in mechanisms(status) {
        out += &format!("{name:<8} {words}\n");
    }
    for holder in &status.buffer_holders {
        out += &format!(
            "buffers  {} MiB in {} of devices, by user {} in cgroup {}\n",
            mb(holder.bytes),
            holder.buffers,
            holder.uid,
            holder.cgroup
        );
    }
    let front = status.foreground.as_ref().map_or("nothing", |n| n.as_str());
    let screen = if status.screen_on { "on" } else { "off" };
    out += &format!("screen   {screen}, in front: {front}\n");
    let sources = match status.sources.is_empty() {
        true => "nobody".to_owned(),
        false => status.sources.join(", "),
    };
    let untold =
        if status.focus_told { "" } else { "; who is in front is a guess, so nothing is frozen or compressed ahead" };
    out += &format!("told by  {sources}{untold}\n");
    if status.only_decides {
        out += "acts     not at all ([daemon] act = false): nothing of what follows is done, see `fovea explain`\n";
    }
    out += &format!("so far   {} kills, {} pages compressed\n", status.kills, status.compressed_pages);
    if let Some(warning) = status.warning {
        out += &format!("warned   apps are asked to give memory back (level {} of 255)\n", warning.level());
    }
    if status.only_listed {
        out += "short    only apps on the owner's lists are left to kill: take some off, or the kernel's OOM killer may choose\n";
    }
    for cgroup in &status.runaways {
        let cgroup = printable(cgroup);
        out += &format!("runaway  {cgroup} is no app and grew fast while memory was short: see `fovea explain`\n");
    }
    for problem in &status.config_problems {
        out += &format!("config   {}\n", printable(problem));
    }
    for what in &status.missing {
        out += &format!("lacking  {}\n", printable(what));
    }
    if status.apps.is_empty() {
        // A page beyond the last has none either.
        return out
            + match offset {
                0 => "no apps: start one with `fovea launch NAME -- CMD`\n",
                _ => "no more apps: `fovea status` shows those from the first on\n",
            };
    }
    out += &format!(
        "\n{:<28} {:<7} {:<17} {:>8} {:>8} {:>6}  {}\n",
        "name", "is", "importance", "anon MiB", "swap MiB", "frozen", "besides"
    );
    let mut apps: Vec<_> = status.apps.iter().collect();
    apps.sort_by_key(|a| (a.importance, std::cmp::Reverse(a.usage.anon_bytes)));
    for app in apps {
        let importance = serde_json::to_value(app.importance).ok().and_then(|v| v.as_str().map(str::to_owned));
        out += &format!(
            "{:<28} {:<7} {:<17} {:>8} {:>8} {:>6}  {}\n",
            app.name.as_str(),
            app.kind.name(),
            importance.unwrap_or_default(),
            mb(app.usage.anon_bytes),
            mb(app.usage.swap_bytes),
            if app.frozen { "yes" } else { "" },
            besides(app)
        );
    }
    if let Some(next) = status.next_offset {
        out += &format!("there are more: fovea status --offset {next}\n");
    }
    out
}

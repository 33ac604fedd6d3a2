// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A dry run: what the daemon would do, and why. Reads, decides, does nothing; writes no file and takes no lock.

use std::collections::BTreeMap;
use std::path::Path;

use fovea_apps::{
    classify, place_of_cgroup, AppName, Identity, Importance, MemoryReading, Perceived, Registry, Traits, ZramReading,
};
use fovea_client::{Assumed, Simulation};
use fovea_linux::device_traits::*;
use fovea_linux::watch::{Seen, Watcher};
use fovea_linux::System;
use fovea_policy::memory::MemoryState;
use fovea_policy::{plan, AppState, Snapshot};

use crate::config::Config;

/// What would be done on a snapshot, changed by what is assumed.
pub(crate) fn simulation(
    mut snapshot: Snapshot,
    config: &fovea_policy::Config,
    assumed: Assumed,
    by_daemon: bool,
    notes: Vec<String>,
) -> Simulation {
    let memory = &mut snapshot.memory;
    if let Some(free_bytes) = assumed.free_bytes {
        memory.available_bytes = memory.available_bytes.saturating_sub(memory.free_bytes).saturating_add(free_bytes);
        memory.free_bytes = free_bytes;
        memory.stalled_us = memory.stalled_us.max(1);
    }
    if let Some(file_bytes) = assumed.file_bytes {
        memory.available_bytes = memory.available_bytes.saturating_sub(memory.file_bytes).saturating_add(file_bytes);
        memory.file_bytes = file_bytes;
    }
    Simulation {
        by_daemon,
        focus_told: snapshot.focus_told,
        memory: snapshot.memory,
        apps: snapshot.apps.len(),
        notes,
        plan: plan(snapshot, config),
    }
}

/// What a daemon of this configuration would do if it had just started: it finds the apps that it would find, and knows of no focus.
pub fn alone(config: &Config, assumed: Assumed) -> Result<Simulation, fovea_linux::Error> {
    let mut system = System::new()?.with_media_at(&config.daemon.media_root);
    let mut reading = system.memory()?;
    let mut notes = Vec::new();
    if config.zram.enabled && reading.zram.is_none() {
        let storage = system.storage_swap();
        notes.push(match config.zram.goes_above(&storage, reading.total_bytes) {
            true => with_zram(&mut reading, config, storage.size_bytes > 0),
            false => "no compressed swap is set up above the swap there is".into(),
        });
    }
    let low_bytes = match config.memory.minfree_pages {
        Some(_) => 0,
        None => system.low_watermark_bytes()?,
    };
    let mut registry = Registry::default();
    match system.cgroup_mount() {
        Ok(mount) if config.daemon.discover => {
            if let Err(e) = find(&mount, &mut registry) {
                notes.push(format!("apps cannot be looked for: inotify: {e}: raise fs.inotify.max_user_instances"));
            }
        }
        Ok(_) => notes.push("discovery is off: only apps that are registered would be known".into()),
        Err(e) => notes.push(e.to_string()),
    }
    notes.extend(unseen(&mut system, &registry)?);
    let perceived = perceived(&mut system, &registry)?;
    let apps = registry.iter().map(|app| {
        let perceived = perceived.get(&app.name).copied();
        Ok(AppState { perceived, ..state_of(&mut system, config, &registry, app)? })
    });
    let snapshot = Snapshot {
        screen_on: true,
        memory: MemoryState::of_reading(&reading, low_bytes),
        apps: apps.collect::<Result<_, fovea_linux::Error>>()?,
        ..Snapshot::default()
    };
    Ok(simulation(snapshot, &config.policy(), assumed, false, notes))
}

/// What this user cannot know of apps that a daemon would know.
fn unseen(system: &mut System, registry: &Registry) -> Result<Option<String>, fovea_linux::Error> {
    let mut unseen = 0;
    for app in registry.iter() {
        unseen += usize::from(system.has_unseen(&app.cgroup)?);
    }
    let (all, which) = (registry.len(), "which programs run in them, and who of them plays or records");
    Ok((unseen > 0).then(|| {
        format!(
            "of {unseen} of {all} apps this user may not see {which} (proc's hidepid, or another user's): ask as root"
        )
    }))
}

/// Who plays and records, as far as this user may see it.
fn perceived(system: &mut System, registry: &Registry) -> Result<BTreeMap<AppName, Perceived>, fovea_linux::Error> {
    let mut found = BTreeMap::new();
    for user in system.media_users(true)? {
        let Some(member) = system.cgroup_of_pid(user.pid)? else { continue };
        for app in registry.iter().filter(|app| fovea_linux::cgroup::is_within(&member, &app.cgroup)) {
            found.insert(app.name.clone(), user.perceived);
        }
    }
    Ok(found)
}

/// Takes the swap for there that would be set up at the start.
fn with_zram(reading: &mut MemoryReading, config: &Config, above_storage: bool) -> String {
    let (limit_bytes, disk_bytes) = config.zram.sizes(reading.total_bytes, config.memory.mode, above_storage);
    reading.zram = Some(ZramReading { disk_bytes, limit_bytes, ..ZramReading::default() });
    reading.swap_total_bytes += disk_bytes;
    reading.swap_free_bytes += disk_bytes;
    let most_bytes = if above_storage { disk_bytes } else { limit_bytes };
    format!("compressed swap is not there and would be set up first, of at most {} MiB", most_bytes >> 20)
}

fn state_of(
    system: &mut System,
    config: &Config,
    registry: &Registry,
    app: &fovea_apps::App,
) -> Result<AppState, fovea_linux::Error> {
    let usage = system.usage(&app.cgroup)?;
    let mut standing = Default::default();
    if !config.lists.is_empty() {
        let programs = system.programs(&app.cgroup)?;
        let label = fovea_apps::label_of_cgroup(&app.cgroup);
        let identity =
            Identity { name: app.name.as_str(), label: label.as_deref(), cgroup: &app.cgroup, programs: &programs };
        standing = config.lists.entry(&identity).map_or(standing, |listed| listed.list);
    }
    // A daemon that has just started has been told by nobody.
    let importance = Some(registry.importance(app)).filter(|&importance| importance <= Importance::Visible);
    let classified = classify(&Traits { said: app.io_class, heard: None, services: &[], importance });
    Ok(AppState {
        kind: app.kind,
        standing,
        io_class: classified,
        anon_bytes: usage.anon_bytes,
        current_bytes: usage.current_bytes,
        swap_bytes: usage.swap_bytes,
        shmem_bytes: usage.shmem_bytes,
        lasting_bytes: usage.lasting_bytes,
        kernel_bytes: usage.kernel_bytes,
        ..AppState::new(app.name.clone(), registry.importance(app))
    })
}

/// Enters the apps that a daemon would find.
fn find(mount: &Path, registry: &mut Registry) -> std::io::Result<()> {
    for seen in Watcher::new(mount, |line| say!("fovea: {line}"))?.discover() {
        if let Seen::Appeared(cgroup) = seen {
            registry.discover(&place_of_cgroup(&cgroup), None);
        }
    }
    Ok(())
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How the processes of a phone begin: the zygote, and the apps, each in a cgroup of its own.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use fovea_apps::{Role, OWN_SLICE};
use fovea_scenario::{AppProfile, Load, Spawn};

use super::{Phone, RunningApp};
use crate::channel::Channel;
use crate::outcome::{write_file, At, Outcome};
use crate::setup::{cgroup_path, APPS, UNITS, ZYGOTE};
use crate::spawn::{self, Parent, Setting, Side};
use crate::wire::{self, receive, send, Fork, Forked, ToApp};
use crate::{hash, prefetch, zygote};

impl Phone {
    /// Starts the zygote and waits until it has preloaded.
    pub fn start_zygote(&mut self) -> Outcome<()> {
        let (ours, theirs) = wire::pair()?;
        let path = cgroup_path(ZYGOTE);
        let cgroup = File::open(&path).at(|| format!("opening {}", path.display()))?;
        let preload_bytes = self.plan.zygote_anon_bytes;
        let merged = self.plan.configuration.merging.is_some();
        match spawn::clone_into(cgroup.as_fd(), Parent::Caller)? {
            Side::Child => {
                spawn::unblock_signals();
                Channel::renounce();
                spawn::keep_only(&theirs);
                zygote::run(preload_bytes, merged);
            }
            Side::Parent(pid) => {
                drop(theirs);
                forked(&ours)?;
                self.zygote = Some((pid, ours));
                Ok(())
            }
        }
    }

    /// Starts an app's process in a cgroup of its own and tells it who it is; tells the daemon.
    pub fn spawn_app(&mut self, profile: &AppProfile) -> Outcome<()> {
        let (pid, socket, cgroup) = match &mut self.desktop {
            Some(session) => session.spawn(profile)?,
            None => self.spawn_phone_app(profile)?,
        };
        let seed = hash::app_seed(self.plan.seed, &profile.name);
        let role: Option<Role> = match profile.is_outside() {
            true => None,
            false => serde_json::from_value(profile.role.clone().into())
                .map(Some)
                .at(|| format!("app {}: role {:?}", profile.name, profile.role))?,
        };
        // Reading cannot overlap with computing that comes after all of it.
        let spreads = self.plan.configuration.prefetch.is_some();
        let setup = ToApp::Setup { profile: Box::new(profile.clone()), seed, exact: self.plan.exact, spreads };
        let sent = send(&socket, &setup, &[])?;
        self.book.ran.insert(profile.name.clone());
        self.apps.insert(profile.name.clone(), RunningApp { pid, socket, cgroup, role, closed: false });
        if sent && self.desktop.is_none() {
            self.register(&profile.name)?;
        }
        Ok(())
    }

    fn spawn_phone_app(&self, profile: &AppProfile) -> Outcome<(u32, OwnedFd, String)> {
        let parent = match self.plan.configuration.prefetch {
            _ if profile.is_outside() => UNITS,
            // Where fovea-prefetch finds them.
            Some(_) => OWN_SLICE,
            None => APPS,
        };
        let cgroup = format!("{parent}/{}", profile.name);
        let path = cgroup_path(&cgroup);
        // An earlier life's may still be there if its last pages were being freed when it ended; a new one has no settings left.
        let _ = std::fs::remove_dir(&path);
        if let Err(error) = std::fs::create_dir(&path) {
            if error.kind() != std::io::ErrorKind::AlreadyExists {
                return Err(format!("making {}: {error}", path.display()));
            }
        }
        if let Some(Load::Build { .. }) = profile.load {
            // Who is in front goes first, as on Android: what the job costs it is memory.
            write_file(path.join("cpu.idle"), "1")?;
        }
        let folder = File::open(&path).at(|| format!("opening {}", path.display()))?;
        let (socket, theirs) = wire::pair()?;
        let pid = match profile.spawn {
            Spawn::Exec => {
                let merged = self.plan.configuration.merging.is_some_and(|merging| !merging.only_kin);
                let setting = Setting { socket: Some(&theirs), merged, ..Setting::default() };
                spawn::exec_into(&folder, Path::new("/init"), &["fovea-guest", "app"], setting)?
            }
            Spawn::Zygote => {
                let Some((_, zygote)) = &self.zygote else { return Err("no zygote runs".into()) };
                if !send(zygote, &Fork {}, &[theirs.as_fd(), folder.as_fd()])? {
                    return Err("the zygote has ended".into());
                }
                forked(zygote)?
            }
        };
        prefetch::started(&self.plan, profile, &folder)?;
        Ok((pid, socket, cgroup))
    }
}

/// The zygote's next word.
fn forked(zygote: &OwnedFd) -> Outcome<u32> {
    match receive::<Forked>(zygote)? {
        Some((Forked { pid: Ok(pid) }, _)) => Ok(pid),
        Some((Forked { pid: Err(error) }, _)) => Err(format!("zygote: {error}")),
        None => Err("the zygote has ended: is memory too small for it?".into()),
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How the processes of a phone end, and what each end means.

use fovea_scenario::{EventBody, Thresholds};
use rustix::process::WaitOptions;

use super::Phone;
use crate::load::BROKEN_BUILD;
use crate::outcome::Outcome;
use crate::readings;
use crate::setup::cgroup_path;

impl Phone {
    /// Takes the children that have ended.
    pub(super) fn reap(&mut self) -> Outcome<()> {
        let mut signals = [0u8; 16 * size_of::<libc::signalfd_siginfo>()];
        while matches!(rustix::io::read(&self.children, &mut signals), Ok(n) if n > 0) {}
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            let pid = pid.as_raw_nonzero().get() as u32;
            let how = match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => format!("with status {code}"),
                (_, Some(signal)) => format!("by signal {signal}"),
                _ => "in an unknown way".into(),
            };
            if let Some((_, ended)) = self.other.as_mut().filter(|(other, _)| *other == pid) {
                *ended = Some(status.exit_status().unwrap_or(-1));
            } else if self.daemon.pid == Some(pid) {
                self.daemon.pid = None;
                println!("fovea-guest: the daemon ended {how}");
            } else if let Some(guard) = self.guard.as_ref().filter(|guard| guard.pid == pid) {
                self.trouble = Some(format!("{} ended {how}: see the console", guard.name()));
            } else if self.zygote.as_ref().is_some_and(|(zygote, _)| *zygote == pid) {
                self.zygote = None;
                self.trouble = Some(format!("the zygote ended {how}: is memory too small for it?"));
            } else if let Some(name) = self.apps.iter().find(|(_, app)| app.pid == pid).map(|(name, _)| name.clone()) {
                // Guards ask first, and the daemon, unless the paper's thresholds tell it not to.
                let is_polite = self.desktop.is_some() || self.plan.phone.thresholds == Thresholds::Device;
                let asked = is_polite || self.guard.is_some();
                let killed = match status.terminating_signal() {
                    Some(libc::SIGKILL) => true,
                    Some(libc::SIGTERM) => asked,
                    // A build breaks with a compiler of it.
                    _ => status.exit_status() == Some(BROKEN_BUILD),
                };
                self.app_ended(&name, killed, &how)?;
            }
        }
        Ok(())
    }

    /// Whether the death that was just noticed is the kernel's OOM killer's doing. The kernel's counter and deaths come in pairs; several
    /// deaths are told apart by counting.
    pub fn by_oom_killer(&mut self) -> Outcome<bool> {
        let oom = readings::oom_kills()? > self.oom_kills_seen;
        self.oom_kills_seen += u64::from(oom);
        Ok(oom)
    }

    fn app_ended(&mut self, name: &str, killed: bool, how: &str) -> Outcome<()> {
        let Some(app) = self.apps.remove(name) else { return Ok(()) };
        if self.book.focused.as_deref() == Some(name) {
            self.book.focused = None;
        }
        // An app that ends by itself is a defect of this program, not something that memory management did.
        if !killed {
            self.trouble = Some(format!("app {name} ended {how}: see the console"));
        }
        let oom = self.by_oom_killer()?;
        if let Some(session) = &mut self.desktop {
            session.kills += u64::from(killed && !oom);
            println!("fovea-guest: {name} ended {how}{}", if oom { " (OOM killer)" } else { "" });
        }
        if let Some(guard) = &mut self.guard {
            guard.kills += u64::from(killed && !oom);
        }
        self.channel.emit(EventBody::Killed { app: name.to_owned(), oom })?;
        // Fails while something is left in it; the next start then finds it there.
        let _ = std::fs::remove_dir(cgroup_path(&app.cgroup));
        Ok(())
    }
}

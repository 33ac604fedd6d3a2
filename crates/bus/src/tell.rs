// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The daemon's news as signals: of kills to those alone whose apps they were, of memory to all.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use fovea_client::news::{Killed, News};
use rustix::event::Timespec;
use zbus::blocking::Connection;
use zbus::names::UniqueName;
use zbus::object_server::SignalEmitter;

use crate::bounds::Subscribers;
use crate::daemon::State;
use crate::interface::{locked, Fovea, LowMemoryMonitor, MONITOR_PATH, PATH};

/// A warning that was not repeated for so long is over: the daemon repeats it each 10 s while anybody waits for memory, and looks no more when
/// nobody does.
const OVER: Timespec = Timespec { tv_sec: 15, tv_nsec: 0 };

/// Tells.
pub struct Teller {
    bus: Connection,
    state: Arc<State>,
    subscribers: Arc<Mutex<Subscribers>>,
}

impl Teller {
    pub fn new(bus: Connection, state: Arc<State>, subscribers: Arc<Mutex<Subscribers>>) -> Teller {
        Teller { bus, state, subscribers }
    }

    /// How long news are waited for: for ever while memory is not short.
    pub fn patience(&self) -> Option<Timespec> {
        (self.state.level.load(Ordering::Relaxed) > 0).then_some(OVER)
    }

    /// No news have come for that long.
    pub fn is_over(&self) -> Result<(), String> {
        self.tell(&News::Warning { level: 0 })
    }

    /// Tells of one thing.
    pub fn tell(&self, news: &News) -> Result<(), String> {
        let told = match news {
            News::Killed(killed) => self.kill(killed, true),
            News::AboutToKill(killed) => self.kill(killed, false),
            News::Warning { level } => self.warn(*level),
        };
        told.map_err(|e| format!("the message bus: {e}"))
    }

    fn kill(&self, killed: &Killed, is_done: bool) -> zbus::Result<()> {
        let names = locked(&self.subscribers).told_of(killed.uid);
        let reason = serde_json::to_value(killed.reason).unwrap_or_default();
        let (reason, process) = (reason.as_str().unwrap_or_default(), killed.process.as_deref().unwrap_or_default());
        let (unit, process) = (killed.unit.replace('\0', ""), process.replace('\0', ""));
        zbus::block_on(async {
            for name in names {
                let to = UniqueName::try_from(name)?;
                let emitter = SignalEmitter::new(self.bus.inner(), PATH)?.set_destination(to.into());
                match is_done {
                    true => Fovea::killed(&emitter, &unit, &process, reason, killed.size_bytes).await?,
                    false => Fovea::about_to_kill(&emitter, &unit, &process, reason, killed.size_bytes).await?,
                }
            }
            if is_done {
                self.state.kills.fetch_add(1, Ordering::Relaxed);
                let object = self.bus.object_server().inner().interface::<_, Fovea>(PATH).await?;
                object.get().await.kills_changed(object.signal_emitter()).await?;
            }
            Ok(())
        })
    }

    fn warn(&self, level: u8) -> zbus::Result<()> {
        let is_other = self.state.level.swap(level, Ordering::Relaxed) != level;
        zbus::block_on(async {
            if level > 0 {
                let emitter = SignalEmitter::new(self.bus.inner(), MONITOR_PATH)?;
                LowMemoryMonitor::low_memory_warning(&emitter, level).await?;
            }
            let object = self.bus.object_server().inner().interface::<_, Fovea>(PATH).await?;
            Fovea::warned(object.signal_emitter(), level).await?;
            if is_other {
                object.get().await.pressure_changed(object.signal_emitter()).await?;
            }
            Ok(())
        })
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The objects on the bus.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use fovea_apps::AppName;
use fovea_client::ClientError;
use serde::Serialize;
use zbus::fdo::{self, Error};
use zbus::message::{Flags, Header};
use zbus::object_server::SignalEmitter;
use zbus::Connection;

use crate::bounds::{Asked, Open, Opened, Subscriber, Subscribers, Users};
use crate::daemon::{Daemon, State};
use crate::value::{object, Object};
use crate::{polkit, shown};

/// The name and the object of Fovea's.
pub const NAME: &str = "org.fovea1";
/// Its object.
pub const PATH: &str = "/org/fovea1";
/// What GLib's GMemoryMonitor listens to.
pub const MONITOR_NAME: &str = "org.freedesktop.LowMemoryMonitor";
/// Its object.
pub const MONITOR_PATH: &str = "/org/freedesktop/LowMemoryMonitor";

/// `org.fovea1`.
pub struct Fovea {
    daemon: Mutex<Daemon>,
    state: Arc<State>,
    asked: Mutex<Asked>,
    open: Open,
    users: Mutex<Users>,
    subscribers: Arc<Mutex<Subscribers>>,
    began: Instant,
}

/// A panic elsewhere leaves nothing half done in what is locked here.
pub fn locked<T>(what: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who asks.
struct Caller<'a> {
    name: String,
    uid: u32,
    asks_user: bool,
    _open: Opened<'a>,
}

impl Fovea {
    /// The object, and those who are told of kills.
    pub fn new(daemon: Daemon, state: Arc<State>) -> (Fovea, Arc<Mutex<Subscribers>>) {
        let subscribers = Arc::<Mutex<Subscribers>>::default();
        let fovea = Fovea {
            daemon: Mutex::new(daemon),
            state,
            asked: Mutex::default(),
            open: Open::default(),
            users: Mutex::default(),
            subscribers: Arc::clone(&subscribers),
            began: Instant::now(),
        };
        (fovea, subscribers)
    }

    /// Who asks, by the bus's word. A user who asks too often is refused, and a connection that waits for too many answers already.
    async fn caller(&self, header: &Header<'_>, bus: &Connection) -> fdo::Result<Caller<'_>> {
        let name = header.sender().ok_or_else(|| Error::AccessDenied("a message of nobody".into()))?.to_string();
        let too_many = |mend: &str| Error::LimitsExceeded(format!("too many requests: {mend}"));
        let open = self.open.one(&name).ok_or_else(|| too_many("wait for answers first"))?;
        let known = locked(&self.users).of(&name);
        let uid = match known {
            Some(uid) => uid,
            None => {
                let uid = user_of(&name, bus).await?;
                locked(&self.users).note(&name, uid);
                uid
            }
        };
        if uid != 0 && !locked(&self.asked).may(uid, self.began.elapsed().as_secs()) {
            return Err(too_many("ask again in a minute"));
        }
        let asks_user = header.primary().flags().contains(Flags::AllowInteractiveAuth);
        Ok(Caller { name, uid, asks_user, _open: open })
    }

    /// Root may all; others by polkit.
    async fn permit(&self, caller: &Caller<'_>, action: &str, bus: &Connection) -> fdo::Result<()> {
        match caller.uid == 0 || polkit::allows(bus, &caller.name, action, caller.asks_user).await {
            true => Ok(()),
            false => Err(Error::AccessDenied(format!("polkit does not let user {} do {action}", caller.uid))),
        }
    }

    /// Whose apps are shown: the caller's, or nobody's in particular.
    async fn whose(&self, all: bool, header: &Header<'_>, bus: &Connection) -> fdo::Result<Option<u32>> {
        let caller = self.caller(header, bus).await?;
        if !all {
            return Ok(Some(caller.uid));
        }
        self.permit(&caller, polkit::SEE_ALL, bus).await?;
        Ok(None)
    }
}

/// The user of a connection.
async fn user_of(name: &str, bus: &Connection) -> fdo::Result<u32> {
    let driver = Some("org.freedesktop.DBus");
    let reply = bus.call_method(driver, "/org/freedesktop/DBus", driver, "GetConnectionUnixUser", &name).await;
    let reply = reply.map_err(|e| Error::AccessDenied(format!("the bus does not say whose {name} is: {e}")))?;
    Ok(reply.body().deserialize()?)
}

fn failed(error: ClientError) -> Error {
    Error::Failed(error.to_string())
}

fn json(what: impl Serialize) -> fdo::Result<serde_json::Value> {
    serde_json::to_value(what).map_err(|e| Error::Failed(e.to_string()))
}

#[zbus::interface(name = "org.fovea1")]
impl Fovea {
    /// The daemon's state, named as in `fovea status --json`, with the caller's apps; with all users' if `all`.
    async fn status(
        &self,
        all: bool,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] bus: &Connection,
    ) -> fdo::Result<Object> {
        let uid = self.whose(all, &header, bus).await?;
        let status = locked(&self.daemon).status().map_err(failed)?;
        let shown = match uid {
            Some(uid) => shown::status_for(status, uid),
            None => status,
        };
        Ok(object(json(shown)?))
    }

    /// The journal's latest entries, `limit` at most: of an app where one is named, of the caller's apps or of all users'.
    async fn explain(
        &self,
        app: &str,
        limit: u32,
        all: bool,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] bus: &Connection,
    ) -> fdo::Result<Vec<Object>> {
        let uid = self.whose(all, &header, bus).await?;
        let named = match app {
            "" => None,
            app => Some(app.parse::<AppName>().map_err(|e| Error::InvalidArgs(format!("{app}: {e}")))?),
        };
        let entries = locked(&self.daemon).story(named, uid, limit).map_err(failed)?;
        let shown = entries.into_iter().filter_map(|entry| match uid {
            Some(uid) => shown::entry_for(entry, uid),
            None => Some(entry),
        });
        Ok(shown.map(object).collect())
    }

    /// The owner's rules: those of the configuration, and those by command.
    async fn rules(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] bus: &Connection,
    ) -> fdo::Result<(Object, Object)> {
        let caller = self.caller(&header, bus).await?;
        self.permit(&caller, polkit::SEE_RULES, bus).await?;
        let (configured, said) = locked(&self.daemon).rules().map_err(failed)?;
        Ok((object(json(configured)?), object(json(said)?)))
    }

    /// Has `Killed` and `AboutToKill` sent to the caller, of its user's apps; of all users' if `all`.
    async fn subscribe(
        &self,
        all: bool,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] bus: &Connection,
    ) -> fdo::Result<()> {
        let caller = self.caller(&header, bus).await?;
        if all {
            self.permit(&caller, polkit::SEE_ALL, bus).await?;
        }
        locked(&self.subscribers).add(Subscriber { name: caller.name, uid: caller.uid, all });
        Ok(())
    }

    /// Ends that.
    async fn unsubscribe(&self, #[zbus(header)] header: Header<'_>) {
        if let Some(name) = header.sender() {
            locked(&self.subscribers).remove(name);
        }
    }

    /// An app was killed, or a process of it (else that is empty).
    #[zbus(signal)]
    pub async fn killed(
        emitter: &SignalEmitter<'_>,
        unit: &str,
        process: &str,
        reason: &str,
        bytes: u64,
    ) -> zbus::Result<()>;

    /// The same is asked to end, and is killed if it has not when its grace period is over.
    #[zbus(signal)]
    pub async fn about_to_kill(
        emitter: &SignalEmitter<'_>,
        unit: &str,
        process: &str,
        reason: &str,
        bytes: u64,
    ) -> zbus::Result<()>;

    /// Apps are asked to give memory back (50, 100, 255), again if it goes on; 0: they need not any more.
    #[zbus(signal, name = "Pressure")]
    pub async fn warned(emitter: &SignalEmitter<'_>, level: u8) -> zbus::Result<()>;

    /// The warning in force: 0, 50, 100 or 255.
    #[zbus(property)]
    fn pressure(&self) -> u8 {
        self.state.level.load(Ordering::Relaxed)
    }

    /// Kills since the daemon began.
    #[zbus(property)]
    fn kills(&self) -> u64 {
        self.state.kills.load(Ordering::Relaxed)
    }

    /// The daemon decides and does nothing.
    #[zbus(property(emits_changed_signal = "const"))]
    fn only_decides(&self) -> bool {
        self.state.only_decides
    }

    /// This program's version.
    #[zbus(property(emits_changed_signal = "const"))]
    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}

/// `org.freedesktop.LowMemoryMonitor`.
pub struct LowMemoryMonitor;

#[zbus::interface(name = "org.freedesktop.LowMemoryMonitor")]
impl LowMemoryMonitor {
    /// Memory is low, by GLib's levels: 50, 100, 255.
    #[zbus(signal)]
    pub async fn low_memory_warning(emitter: &SignalEmitter<'_>, level: u8) -> zbus::Result<()>;
}

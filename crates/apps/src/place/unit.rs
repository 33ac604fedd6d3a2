// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a unit is by its name, by the conventions of systemd, snapd, dbus-broker and the container runtimes.

use super::name::unescape;
use super::{parts, Place};

/// A unit of a user's manager outside of session.slice: what it is, and the app's ID if it has one.
pub(super) fn in_manager(above: &str, unit: &str) -> (Place, Option<String>) {
    if parts::is_service_of_session(unit) {
        return (Place::Session, None);
    }
    if let Some(id) = id_of_unit(unit) {
        return match parts::is_id_of_session(&id) {
            true => (Place::Session, Some(id)),
            false => (Place::App, Some(id)),
        };
    }
    if let Some(app) = app_of_snap(unit) {
        return (Place::App, Some(app));
    }
    // An app that wants several units has a slice of its own, named as its unit would be. The service in it is the
    // app itself (gnome-terminal-server.service); its scopes are what it starts (a tab's shell).
    let is_service = unit.ends_with(".service");
    match id_of_slice(above).filter(|_| is_service) {
        Some(id) => (Place::App, Some(id)),
        None => (Place::Job, bus_name_of_unit(unit)),
    }
}

/// `snap.NAME.APP-UUID.scope`: snapd has the user's manager make one for each start of a snap's app, and names it after
/// the snap. It is one program's as an app's scope is; whether it has a window is seen by focus, as of any app.
fn app_of_snap(unit: &str) -> Option<String> {
    let body = unit.strip_prefix("snap.")?.strip_suffix(".scope")?;
    let (name, uuid) = body.split_at_checked(body.len().checked_sub(UUID_BYTES)?)?;
    let app = name.strip_suffix('-')?;
    let is_uuid = uuid.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    (is_uuid && !app.is_empty()).then(|| unescape(app))
}

const UUID_BYTES: usize = 36;

/// `dbus-:1.2-NAME@N.service`: a service that dbus-broker starts for a name on the session's bus.
fn bus_name_of_unit(unit: &str) -> Option<String> {
    let body = unit.strip_prefix("dbus-:")?.strip_suffix(".service")?;
    let (_, name) = body.split_once('-')?;
    Some(unescape(name.split('@').next()?)).filter(|name| !name.is_empty())
}

/// The ID of `app[-LAUNCHER]-ID[-RANDOM].slice`, if such a slice is one app's.
fn id_of_slice(slice: &str) -> Option<String> {
    /// Slices that hold many apps: those of uwsm, and dbus-broker's, one for each name on the bus.
    const OF_MANY: [&str; 1] = ["app-graphical.slice"];
    let body = slice.strip_prefix("app-")?.strip_suffix(".slice")?;
    let is_of_many = OF_MANY.contains(&slice) || body.starts_with("dbus\\x2d:");
    (!is_of_many && !body.is_empty()).then(|| id_of_body(body, true))
}

/// The application ID in a unit's name; `None` if it is not named as an app's:
/// `app[-LAUNCHER]-ID[-RANDOM].scope`, `app[-LAUNCHER]-ID[@RANDOM].service`.
fn id_of_unit(unit: &str) -> Option<String> {
    let (body, is_scope) = match (unit.strip_suffix(".scope"), unit.strip_suffix(".service")) {
        (Some(body), _) => (body, true),
        (None, Some(body)) => (body, false),
        _ => return None,
    };
    let body = body.strip_prefix("app-")?;
    // What systemd makes of the desktop's autostart entries is called `@autostart`.
    let body = if is_scope { body } else { body.split('@').next().unwrap_or_default() };
    let id = id_of_body(body, is_scope);
    (!id.is_empty()).then_some(id)
}

/// `[LAUNCHER-]ID[-RANDOM]`: the random part is digits or hex; an ID's own last part with a dash is escaped as \x2d.
fn id_of_body(body: &str, may_be_random: bool) -> String {
    let body = match body.rsplit_once('-').filter(|_| may_be_random) {
        Some((id, random)) if !random.is_empty() && random.bytes().all(|b| b.is_ascii_hexdigit()) => id,
        _ => body,
    };
    unescape(body.rsplit_once('-').map_or(body, |(_launcher, id)| id))
}

/// The scopes of containers: Docker's, Podman's, containerd's and CRI-O's, which are named by root's or the user's own runtime.
pub(super) fn is_container(unit: &str) -> bool {
    const RUNTIMES: [&str; 6] = ["docker-", "libpod-", "cri-containerd-", "crio-", "nerdctl-", "podman-"];
    unit.ends_with(".scope") && RUNTIMES.iter().any(|runtime| unit.starts_with(runtime))
}

pub(super) fn is_session_number(name: &str) -> bool {
    let digits = name.strip_prefix('c').unwrap_or(name);
    !digits.is_empty() && digits.len() <= 9 && digits.bytes().all(|b| b.is_ascii_digit())
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which cgroups are apps, by what systemd and the desktops agree on (systemd.io/DESKTOP_ENVIRONMENTS):
//! `user.slice/user-U.slice/user@U.service/app.slice/[….slice/]UNIT`, with a unit named `app[-<launcher>]-<ApplicationID>[-<RANDOM>].scope`
//! or `app[-<launcher>]-<ApplicationID>[@<RANDOM>].service`. Anybody's other units are none, whatever their names.

use crate::AppName;

/// An app that systemd runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The application's ID: a label, which several apps may have.
    pub label: AppName,
    /// Whose it is.
    pub uid: u32,
}

/// Slices below `app.slice` that are looked into.
const SLICES_MAX: usize = 3;

/// Beginnings of application IDs that are the session's own parts: what desktops start as scopes among the apps, and nobody could miss
/// until it is gone. Compared without regard to case.
const PARTS: [&str; 27] = [
    "at-spi",
    "dbus",
    "dunst",
    "evolution-alarm",
    "fcitx",
    "gnome-keyring",
    "gnome-session",
    "gnome-shell",
    "gsd-",
    "gvfs",
    "ibus",
    "kded",
    "kwin",
    "lxpolkit",
    "mako",
    "org.a11y.",
    "org.freedesktop.",
    "org.gnome.evolution-alarm",
    "org.gnome.settingsdaemon",
    "org.gnome.shell",
    "org.kde.kded",
    "org.kde.plasmashell",
    "pipewire",
    "plasmashell",
    "swaybar",
    "waybar",
    "xdg-",
];

/// Words in application IDs of the session's own parts.
const PART_WORDS: [&str; 4] = ["polkit", "policykit", "authentication-agent", "portal"];

/// Slice of the apps that `fovea launch` starts where there is no systemd: each has a cgroup of its name there, which only root can make. So
/// a daemon that comes anew finds them again.
pub const OWN_SLICE: &str = "fovea.slice";

/// The scope in which systemd is to run an app, of which [`app_of_cgroup`] says the name again; `tag` tells it from others of that name.
pub fn scope_of_app(app: &AppName, tag: u32) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._".contains(&b);
    let escaped = |b: u8| if plain(b) { char::from(b).to_string() } else { format!("\\x{b:02x}") };
    let id: String = app.as_str().bytes().map(escaped).collect();
    format!("app-fovea-{id}-{tag}.scope")
}

/// The app of a cgroup (a path below the mount); `None` if it is none's.
pub fn app_of_cgroup(cgroup: &str) -> Option<Unit> {
    if let Some(name) = cgroup.strip_prefix(OWN_SLICE).and_then(|rest| rest.strip_prefix('/')) {
        return name.parse().ok().map(|label| Unit { label, uid: 0 });
    }
    let (slices, unit) = cgroup.rsplit_once('/')?;
    let (uid, below) = in_app_slice(slices)?;
    let plain = below.iter().all(|part| part.ends_with(".slice"));
    let label = app_of_unit(unit).filter(|_| plain && below.len() <= SLICES_MAX)?;
    (!is_part_of_session(label.as_str())).then_some(Unit { label, uid })
}

/// The user whose systemd made a cgroup; `None` where that is not to be seen of its name.
pub fn owner_of_cgroup(cgroup: &str) -> Option<u32> {
    let (slices, _) = cgroup.rsplit_once('/')?;
    in_app_slice(slices).map(|(uid, _)| uid)
}

/// Whether cgroups of apps may lie below this one.
pub fn leads_to_apps(cgroup: &str) -> bool {
    match cgroup.split('/').collect::<Vec<_>>()[..] {
        [""] | ["user.slice"] | [OWN_SLICE] => true,
        ["user.slice", user] => uid_of(user, "user-", ".slice").is_some(),
        ["user.slice", user, manager] => {
            let uid = uid_of(user, "user-", ".slice");
            uid.is_some() && uid == uid_of(manager, "user@", ".service")
        }
        _ => in_app_slice(cgroup)
            .is_some_and(|(_, below)| below.len() <= SLICES_MAX && below.iter().all(|part| part.ends_with(".slice"))),
    }
}

/// Whose app.slice a path leads into, and what is below it.
fn in_app_slice(cgroup: &str) -> Option<(u32, Vec<&str>)> {
    let mut parts = cgroup.split('/');
    let root = parts.next() == Some("user.slice");
    let uid = uid_of(parts.next()?, "user-", ".slice");
    let of_same = uid.is_some() && uid == uid_of(parts.next()?, "user@", ".service");
    let apps = parts.next() == Some("app.slice");
    (root && of_same && apps).then(|| Some((uid?, parts.collect())))?
}

fn uid_of(name: &str, before: &str, after: &str) -> Option<u32> {
    let digits = name.strip_prefix(before)?.strip_suffix(after)?;
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// The application ID in a unit's name; `None` if the unit runs no app.
fn app_of_unit(unit: &str) -> Option<AppName> {
    let (body, scope) = match (unit.strip_suffix(".scope"), unit.strip_suffix(".service")) {
        (Some(body), _) => (body, true),
        (None, Some(body)) => (body, false),
        _ => return None,
    };
    let body = body.strip_prefix("app-")?;
    // The random part is digits or hex; an ID's own last part with a dash would be escaped as \x2d.
    let body = if scope {
        match body.rsplit_once('-') {
            Some((id, random)) if !random.is_empty() && random.bytes().all(|b| b.is_ascii_hexdigit()) => id,
            _ => body,
        }
    } else {
        match body.split_once('@') {
            // What systemd's generator makes of the desktop's autostart entries (systemd-xdg-autostart-generator(8)).
            Some((_, "autostart")) => return None,
            Some((id, _)) => id,
            None => body,
        }
    };
    let id = body.rsplit_once('-').map_or(body, |(_launcher, id)| id);
    unescape(id)?.parse().ok()
}

fn is_part_of_session(id: &str) -> bool {
    let id = id.to_ascii_lowercase();
    PARTS.iter().any(|part| id.starts_with(part)) || PART_WORDS.iter().any(|word| id.contains(word))
}

/// Undoes systemd's escaping (`\x2d` for a dash).
fn unescape(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((head, tail)) = rest.split_once("\\x") {
        out.push_str(head);
        let code = u8::from_str_radix(tail.get(..2)?, 16).ok()?;
        out.push(code as char);
        rest = &tail[2..];
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const APPS: &str = "user.slice/user-1000.slice/user@1000.service/app.slice";

    fn label(cgroup: &str) -> Option<String> {
        app_of_cgroup(cgroup).map(|unit| unit.label.into())
    }

    #[test]
    fn a_cgroups_owner_is_the_user_whose_manager_it_lies_below() {
        let owner = |unit: &str| owner_of_cgroup(&format!("user.slice/user-1000.slice/user@1000.service/{unit}"));
        assert_eq!(owner("app.slice/app-mail-7.scope"), Some(1000));
        assert_eq!(owner("app.slice/app-gnome.slice/run-r7.scope"), Some(1000));
        assert_eq!(owner("session.slice/pipewire.service"), None);
        assert_eq!(owner_of_cgroup("fovea.slice/mail"), None);
        assert_eq!(owner_of_cgroup("mail"), None);
    }

    #[test]
    fn units_are_named_by_the_convention() {
        let app = |unit: &str| label(&format!("{APPS}/{unit}"));
        assert_eq!(app("app-gnome-org.gnome.Evince-4160.scope").as_deref(), Some("org.gnome.Evince"));
        assert_eq!(app("app-firefox-12ab.scope").as_deref(), Some("firefox"));
        assert_eq!(app("app-org.kde.dolphin@a1b2.service").as_deref(), Some("org.kde.dolphin"));
        assert_eq!(app("app-my\\x2dapp-77.scope").as_deref(), Some("my-app"));
        assert_eq!(app("app-flatpak-org.mozilla.firefox-2711.scope").as_deref(), Some("org.mozilla.firefox"));
        for other in ["session-2.scope", "dbus.service", "app-.scope", "gnome-terminal-server.service"] {
            assert_eq!(app(other), None, "{other}");
        }
    }

    #[test]
    fn what_launch_starts_is_found_again_by_its_name() {
        let unit = app_of_cgroup("fovea.slice/maps").unwrap();
        assert_eq!((unit.label.as_str(), unit.uid), ("maps", 0));
        assert_eq!(label("fovea.slice/maps/helper"), None);
        assert_eq!(label("fovea.slice/.."), None);
        for name in ["maps", "my-app", "a@b", "org.x.Y+1", "x_y-12", "7"] {
            let scope = scope_of_app(&name.parse().unwrap(), 4711);
            assert_eq!(label(&format!("{APPS}/{scope}")).as_deref(), Some(name), "{scope}");
            assert!(scope.bytes().all(|b| b.is_ascii_alphanumeric() || b":-_.\\".contains(&b)), "{scope}");
        }
    }

    #[test]
    fn only_what_lies_in_a_users_app_slice_is_an_app() {
        let unit = app_of_cgroup("user.slice/user-1001.slice/user@1001.service/app.slice/app-firefox-7.scope").unwrap();
        assert_eq!((unit.label.as_str(), unit.uid), ("firefox", 1001));
        assert_eq!(label(&format!("{APPS}/app-gnome.slice/app-gnome-x-1.scope")).as_deref(), Some("x"));
        for cgroup in [
            "app-web.service",
            "system.slice/app-web.service",
            "system.slice/system-app.slice/app-web@1.service",
            "user.slice/user-1000.slice/session-2.scope/app-x-1.scope",
            "user.slice/user-1000.slice/user@1000.service/session.slice/app-x-1.scope",
            "user.slice/user-1000.slice/user@1000.service/background.slice/app-x-1.scope",
            "user.slice/user-1000.slice/user@1001.service/app.slice/app-x-1.scope",
            "machine.slice/user.slice/user-1000.slice/user@1000.service/app.slice/app-x-1.scope",
            "user.slice/user-x.slice/user@x.service/app.slice/app-x-1.scope",
            "user.slice/user-1000.slice/user@1000.service/app.slice/podman-1.scope/app-x-1.scope",
        ] {
            assert_eq!(label(cgroup), None, "{cgroup}");
        }
    }

    #[test]
    fn autostart_helpers_agents_portals_and_the_sessions_own_parts_are_none() {
        for unit in [
            "app-org.kde.kdeconnect@autostart.service",
            "app-gnome-org.gnome.SettingsDaemon.Power-1650.scope",
            "app-gnome-org.gnome.Evolution\\x2dalarm\\x2dnotify-1655.scope",
            "app-polkit\\x2dgnome\\x2dauthentication\\x2dagent\\x2d1-1700.scope",
            "app-org.kde.polkit\\x2dkde\\x2dauthentication\\x2dagent\\x2d1-4.scope",
            "app-xdg\\x2ddesktop\\x2dportal\\x2dgtk-12.scope",
            "app-org.gnome.Shell-1.scope",
            "app-org.kde.plasmashell-88.scope",
            "app-ibus\\x2ddaemon-3.scope",
            "app-waybar-3.scope",
        ] {
            assert_eq!(label(&format!("{APPS}/{unit}")), None, "{unit}");
        }
    }

    #[test]
    fn every_folder_on_the_way_leads_to_apps_and_no_other() {
        let app = format!("{APPS}/app-gnome.slice/app-gnome-x-1.scope");
        for (at, _) in app.match_indices('/') {
            assert!(leads_to_apps(&app[..at]), "{}", &app[..at]);
        }
        assert!(leads_to_apps(""));
        for other in ["system.slice", "init.scope", "user.slice/user-1000.slice/session-2.scope", &app] {
            assert!(!leads_to_apps(other), "{other}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "(app-)?\\PC{0,40}(\\.scope|\\.service)?") {
            let _ = (app_of_cgroup(&format!("{APPS}/{text}")), app_of_cgroup(&text), leads_to_apps(&text));
        }
    }
}

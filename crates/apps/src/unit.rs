// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The app that a systemd unit runs, by the desktop environments' naming convention:
//! `app[-<launcher>]-<ApplicationID>[-<RANDOM>].scope` and `app[-<launcher>]-<ApplicationID>[@<RANDOM>].service`.

use crate::AppName;

/// The app of a unit's name; `None` if the unit runs no app.
pub fn app_of_unit(unit: &str) -> Option<AppName> {
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
        body.split_once('@').map_or(body, |(id, _)| id)
    };
    let id = body.rsplit_once('-').map_or(body, |(_launcher, id)| id);
    unescape(id)?.parse().ok()
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

    #[test]
    fn units_are_named_by_the_convention() {
        let app = |unit| app_of_unit(unit).map(String::from);
        assert_eq!(app("app-gnome-org.gnome.Evince-4160.scope").as_deref(), Some("org.gnome.Evince"));
        assert_eq!(app("app-firefox-12ab.scope").as_deref(), Some("firefox"));
        assert_eq!(app("app-org.kde.dolphin@a1b2.service").as_deref(), Some("org.kde.dolphin"));
        assert_eq!(app("app-my\\x2dapp-77.scope").as_deref(), Some("my-app"));
        assert_eq!(app("session-2.scope"), None);
        assert_eq!(app("dbus.service"), None);
        assert_eq!(app("app-.scope"), None);
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "(app-)?\\PC{0,40}(\\.scope|\\.service)?") {
            let _ = app_of_unit(&text);
        }
    }
}

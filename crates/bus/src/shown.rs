// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a user is shown: the own apps, and of the machine what says nothing of others.

use fovea_apps::owner_of_cgroup;
use fovea_client::Status;
use serde_json::Value;

/// What of a status is a user's to see. What is not named here is left out, so that what a later daemon adds is not shown to everybody.
pub fn status_for(status: Status, uid: u32) -> Status {
    let mut apps = status.apps;
    apps.retain(|app| owner_of_cgroup(&app.cgroup) == Some(uid));
    Status {
        pid: status.pid,
        only_decides: status.only_decides,
        screen_on: status.screen_on,
        focus_told: status.focus_told,
        foreground: status.foreground.filter(|front| apps.iter().any(|app| app.name == *front)),
        busy: status.busy,
        only_listed: status.only_listed,
        warning: status.warning,
        memory: status.memory,
        ecache: status.ecache,
        disk: status.disk,
        tiers: status.tiers,
        kills: status.kills,
        compressed_pages: status.compressed_pages,
        apps,
        ..Status::default()
    }
}

/// What of a journal's entry is its app's user's to see: not what other apps it was decided on.
pub fn entry_for(mut entry: Value, uid: u32) -> Option<Value> {
    if entry["uid"] != uid {
        return None;
    }
    entry.as_object_mut()?.remove("basis");
    Some(entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fovea_client::AppStatus;
    use serde_json::json;

    fn app(name: &str, cgroup: &str) -> AppStatus {
        let usage = fovea_apps::AppUsage::default();
        serde_json::from_value(json!({
            "name": name, "cgroup": cgroup, "importance": "hidden", "frozen": false, "usage": usage
        }))
        .unwrap()
    }

    fn of(uid: u32, unit: &str) -> String {
        format!("user.slice/user-{uid}.slice/user@{uid}.service/app.slice/{unit}")
    }

    #[test]
    fn a_user_sees_the_own_apps_and_nothing_that_names_others() {
        let whole = Status {
            foreground: "theirs".parse().ok(),
            runaways: vec![of(1001, "secret.service")],
            expected: vec![fovea_client::Expected { name: "secret".parse().unwrap(), returns_permille: 1 }],
            config_problems: vec!["secret".into()],
            missing: vec!["apps of user 1001: secret".into()],
            sources: vec!["secret".into()],
            kills: 7,
            apps: vec![
                app("mine", &of(1000, "app-mine-1.scope")),
                app("theirs", &of(1001, "app-secret-1.scope")),
                app("nobodys", "system.slice/secret.service"),
                // A cgroup that a user may make, with another's slice in its name.
                app("trick", &of(1001, "user-1000.slice/secret.scope")),
            ],
            ..Status::default()
        };
        let shown = status_for(whole.clone(), 1000);
        assert_eq!(shown.apps.iter().map(|app| app.name.as_str()).collect::<Vec<_>>(), ["mine"]);
        assert_eq!((shown.foreground.clone(), shown.kills), (None, 7));
        let text = serde_json::to_string(&shown).unwrap();
        assert!(!text.contains("secret") && !text.contains("theirs"), "{text}");
        let theirs = status_for(whole, 1001);
        assert_eq!(theirs.foreground.unwrap().as_str(), "theirs");
        assert_eq!(theirs.apps.len(), 2);
    }

    #[test]
    fn an_entry_is_its_apps_users_without_the_other_apps() {
        let entry = json!({ "action": "kill", "app": "mine", "uid": 1000, "basis": { "apps": ["theirs"] } });
        assert_eq!(entry_for(entry.clone(), 1000), Some(json!({ "action": "kill", "app": "mine", "uid": 1000 })));
        assert_eq!(entry_for(entry, 1001), None);
        assert_eq!(entry_for(json!({ "action": "start" }), 1000), None, "nobody's");
    }
}

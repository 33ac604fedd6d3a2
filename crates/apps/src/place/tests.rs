// SPDX-License-Identifier: GPL-2.0-only OR MIT
use super::*;

const USER: &str = "user.slice/user-1000.slice";

fn placed(cgroup: &str) -> (Place, String) {
    let placed = place_of_cgroup(cgroup);
    assert_eq!(placed.unit, cgroup);
    (placed.place, placed.label)
}

fn in_apps(unit: &str) -> (Place, String) {
    placed(&format!("{USER}/user@1000.service/app.slice/{unit}"))
}

fn of(place: Place, label: &str) -> (Place, String) {
    (place, label.to_owned())
}

#[test]
fn apps_are_named_by_the_convention_whatever_letters_their_names_have() {
    for (unit, id) in [
        ("app-gnome-org.gnome.Evince-4160.scope", "org.gnome.Evince"),
        ("app-firefox-12ab.scope", "firefox"),
        ("app-org.kde.dolphin@a1b2.service", "org.kde.dolphin"),
        ("app-my\\x2dapp-77.scope", "my-app"),
        ("app-flatpak-org.mozilla.firefox-2711.scope", "org.mozilla.firefox"),
        ("app-gnome-Half\\x2dLife\\x202-991.scope", "Half-Life 2"),
        ("app-gnome-\\xe5\\xbe\\xae\\xe4\\xbf\\xa1-5.scope", "微信"),
        ("app-gnome.slice/app-gnome-x-1.scope", "x"),
        ("app-graphical.slice/app-sway-foot-1a2b.scope", "foot"),
        ("app-org.kde.kdeconnect@autostart.service", "org.kde.kdeconnect"),
        // IDs that begin or end as a session part's do.
        ("app-gnome-org.freedesktop.Piper-4.scope", "org.freedesktop.Piper"),
        ("app-gnome-org.freedesktop.Bustle-4.scope", "org.freedesktop.Bustle"),
        ("app-gnome-Portal\\x202-4.scope", "Portal 2"),
        ("app-Hyprland-xdg\\x2dterminal\\x2dexec-4.scope", "xdg-terminal-exec"),
        ("app-kde-kwin\\x2deditor-4.scope", "kwin-editor"),
        ("app-gnome-makonotes-4.scope", "makonotes"),
        // A snap names its app; what a terminal has for each tab is a job of the app whose slice it is in.
        ("snap.firefox.firefox-8a3d1f6e-2b8c-4a51-9f0e-0c5b1d2e3f40.scope", "firefox.firefox"),
        ("app-org.gnome.Terminal.slice/gnome-terminal-server.service", "org.gnome.Terminal"),
    ] {
        assert_eq!(in_apps(unit), of(Place::App, id), "{unit}");
    }
    let long = format!("app-gnome-{}-7.scope", "x".repeat(200));
    assert_eq!(in_apps(&long), of(Place::App, &"x".repeat(200)));
}

#[test]
fn what_a_user_runs_besides_is_a_job() {
    for unit in [
        "vte-spawn-7f3c.scope",
        "app-org.gnome.Terminal.slice/vte-spawn-7f3c.scope",
        "ptyxis-spawn-7f3c.scope",
        "tmux-spawn-7f3c.scope",
        "run-r5d1f.scope",
        "run-u7.service",
        "slack.service",
        "podman.service",
        "app-.scope",
        "snap.-1.scope",
        "no-unit-at-all",
    ] {
        assert_eq!(in_apps(unit).0, Place::Job, "{unit}");
    }
    assert_eq!(placed(&format!("{USER}/session-4.scope")), of(Place::Job, "session-4"));
    assert_eq!(place_of_cgroup(&format!("{USER}/session-4.scope")).kind(), Some(Kind::Login));
    assert_eq!(placed("c2"), of(Place::Job, "c2"));
    assert_eq!(
        in_apps("app-dbus\\x2d:1.2\\x2dorg.gnome.Nautilus.slice/dbus-:1.2-org.gnome.Nautilus@0.service"),
        of(Place::Job, "org.gnome.Nautilus")
    );
    let background = format!("{USER}/user@1000.service/background.slice/tracker-miner-fs-3.service");
    assert_eq!(placed(&background).0, Place::Job);
}

#[test]
fn a_session_keeps_its_parts() {
    for unit in [
        "init.scope",
        "session.slice/org.gnome.Shell@wayland.service",
        "session.slice/app-x-1.scope",
        "session.slice/session-graphical.slice/anything.service",
        "app.slice/dbus.service",
        "app.slice/xdg-desktop-portal-gtk.service",
        "app.slice/wayland-wm@sway.service",
        "background.slice/plasma-polkit-agent.service",
        "app.slice/app-polkit\\x2dgnome\\x2dauthentication\\x2dagent\\x2d1@autostart.service",
        "app.slice/app-gnome-org.gnome.SettingsDaemon.DiskUtilityNotify-1650.scope",
        "app.slice/app-sway-waybar-88.scope",
    ] {
        let cgroup = format!("{USER}/user@1000.service/{unit}");
        assert_eq!(placed(&cgroup).0, Place::Session, "{unit}");
    }
    // A process in a slice is nobody's unit.
    for cgroup in ["", "/user@1000.service", "/user@1000.service/app.slice", "/user@1000.service/session.slice"] {
        assert_eq!(place_of_cgroup(&format!("{USER}{cgroup}")).place, Place::Session, "{cgroup}");
    }
    // Nobody is at a greeter's screen, and without it nobody logs in.
    assert_eq!(placed("user.slice/user-113.slice/session-c1.scope").0, Place::Session);
    assert_eq!(placed("user.slice/user-60578.slice/user@60578.service/app.slice/app-x-1.scope").0, Place::Session);
    assert_eq!(placed("user.slice/user-0.slice/session-7.scope").0, Place::Job, "root logs in as any person does");
}

#[test]
fn everything_that_is_no_users_is_the_systems_or_a_containers() {
    assert_eq!(placed("").0, Place::Kernel);
    for cgroup in [
        "init.scope",
        "system.slice/cups.service",
        "system.slice/system-getty.slice/getty@tty1.service",
        "system.slice/app-web.service",
        "user.slice/user-1000.slice/user-runtime-dir@1000.service",
        "openrc.sshd",
        "lxc.monitor.box",
        "mail",
    ] {
        assert_eq!(placed(cgroup).0, Place::System, "{cgroup}");
        assert_eq!(place_of_cgroup(cgroup).kind(), None);
    }
    for cgroup in [
        "machine.slice/systemd-nspawn@debian.service",
        "machine.slice/machine-qemu\\x2d1\\x2dvm.scope",
        "machine.slice/machine-libpod_pod_1.slice/libpod-2.scope",
        "system.slice/docker-7f.scope",
        "docker/7f",
        "lxc.payload.box",
        "kubepods.slice/kubepods-besteffort.slice/cri-containerd-7f.scope",
    ] {
        assert_eq!(placed(cgroup).0, Place::Payload, "{cgroup}");
        assert_eq!(place_of_cgroup(cgroup).kind(), None, "root's");
    }
    let own = format!("{USER}/user@1000.service/user.slice/libpod-7f.scope");
    let container = place_of_cgroup(&own);
    assert_eq!((container.place, container.owner, container.kind()), (Place::Payload, Some(1000), Some(Kind::Payload)));
}

#[test]
fn what_lies_below_a_unit_belongs_to_it() {
    for (cgroup, unit) in [
        ("machine.slice/systemd-nspawn@x.service/payload/user.slice/user-1000.slice/session-1.scope", 2),
        ("lxc.payload.box/user.slice/user-1000.slice/user@1000.service/app.slice/app-x-1.scope", 1),
        ("system.slice/docker.service/user.slice/app-x-1.scope", 2),
        ("user.slice/user-1000.slice/user@1000.service/app.slice/app-org.kde.konsole-5.scope/tab(7).scope", 5),
        ("user.slice/user-1000.slice/user@1000.service/app.slice/podman-1.scope/app-x-1.scope", 5),
        ("user.slice/user-1000.slice/session-2.scope/app-x-1.scope", 3),
        ("fovea.slice/maps/helper", 2),
    ] {
        let parts: Vec<&str> = cgroup.split('/').collect();
        let placed = place_of_cgroup(cgroup);
        assert_eq!(placed.unit, parts[..unit].join("/"), "{cgroup}");
        assert_eq!(placed.place, place_of_cgroup(placed.unit).place, "{cgroup}");
    }
}

#[test]
fn a_cgroups_owner_is_the_user_below_whose_slice_it_lies() {
    let apps = format!("{USER}/user@1000.service/app.slice");
    assert_eq!(owner_of_cgroup(&format!("{apps}/app-mail-7.scope")), Some(1000));
    assert_eq!(owner_of_cgroup(&format!("{USER}/session-7.scope")), Some(1000));
    assert_eq!(owner_of_cgroup("fovea.slice/user-1000.slice/mail"), Some(1000));
    assert_eq!(owner_of_cgroup("fovea.slice/mail"), None);
    assert_eq!(owner_of_cgroup("mail"), None);
    // Somebody else's manager is nothing that systemd makes.
    let odd = place_of_cgroup("user.slice/user-1000.slice/user@1001.service/app.slice/app-x-1.scope");
    assert_eq!(
        (odd.place, odd.owner, odd.unit),
        (Place::Job, Some(1000), "user.slice/user-1000.slice/user@1001.service")
    );
}

#[test]
fn what_launch_starts_is_found_again_by_its_name() {
    assert_eq!(placed("fovea.slice/maps"), of(Place::App, "maps"));
    for name in ["maps", "my-app", "a@b", "org.x.Y+1", "x_y-12", "7"] {
        let scope = scope_of_app(&name.parse().unwrap(), 4711);
        assert_eq!(in_apps(&scope), of(Place::App, name), "{scope}");
        assert!(scope.bytes().all(|b| b.is_ascii_alphanumeric() || b":-_.\\".contains(&b)), "{scope}");
    }
}

#[test]
fn names_are_shown_escaped_and_cut_and_stay_different() {
    let name = |label: &str| {
        let placed = Placed { place: Place::App, unit: "", label: label.to_owned(), owner: None };
        String::from(placed.name())
    };
    assert_eq!(name("org.gnome.Evince"), "org.gnome.Evince");
    assert_eq!(name("Half-Life 2"), "Half-Life_2");
    assert_eq!(name("微信"), "+5fae+4fe1");
    assert_eq!(name("-x"), "_-x");
    assert_eq!(name(""), "_");
    let (a, b) = (name(&format!("{}a", "x".repeat(90))), name(&format!("{}b", "x".repeat(90))));
    assert_eq!((a.len(), b.len()), (64, 64));
    assert_ne!(a, b);
}

#[test]
fn every_folder_on_the_way_leads_to_apps_and_no_other() {
    let app = format!("{USER}/user@1000.service/app.slice/app-gnome.slice/app-gnome-x-1.scope");
    for (at, _) in app.match_indices('/') {
        assert!(leads_to_apps(&app[..at]), "{}", &app[..at]);
    }
    assert!(leads_to_apps(""));
    assert!(leads_to_apps("fovea.slice/user-1000.slice"));
    let session = format!("{USER}/user@1000.service/session.slice");
    for other in ["system.slice", "init.scope", "machine.slice", &session, "fovea.slice/maps", &app] {
        assert!(!leads_to_apps(other), "{other}");
    }
}

mod drawn {
    use proptest::prelude::*;

    use super::*;

    /// Parts that mean something at one place or another, and any text.
    fn part() -> impl Strategy<Value = String> {
        let known = [
            "user.slice",
            "system.slice",
            "machine.slice",
            "fovea.slice",
            "user-1000.slice",
            "user-7.slice",
            "user@1000.service",
            "session.slice",
            "app.slice",
            "background.slice",
            "app-gnome.slice",
            "app-gnome-x-1.scope",
            "app-x@autostart.service",
            "session-2.scope",
            "vte-spawn-1.scope",
            "init.scope",
            "docker-7.scope",
            "libpod-1.scope",
            "docker",
            "lxc.payload.x",
            "payload",
            "dbus.service",
            "c1",
            "user-runtime-dir@1000.service",
            "app-org.gnome.Terminal.slice",
            "a.slice",
            ".slice",
        ];
        prop_oneof![
            6 => prop::sample::select(known.to_vec()).prop_map(str::to_owned),
            1 => "\\PC{0,12}(\\.scope|\\.service|\\.slice)?".prop_map(|text| text.replace('/', "-")),
        ]
    }

    proptest! {
        /// One place each: that of the unit, which the path begins with, and which has no other unit in it or around it.
        #[test]
        fn every_cgroup_has_one_place(parts in prop::collection::vec(part(), 0..14)) {
            let cgroup = parts.join("/");
            let placed = place_of_cgroup(&cgroup);
            prop_assert!(lies_within(&cgroup, placed.unit), "{} is not in {}", cgroup, placed.unit);
            prop_assert_eq!(&place_of_cgroup(placed.unit), &placed);
            let name = placed.name();
            prop_assert!(name.as_str().parse::<AppName>().is_ok());
            if cgroup.contains("//") || cgroup.starts_with('/') || cgroup.ends_with('/') {
                return Ok(());
            }
            // Above a unit there are only holders of units, below it none; whoever is found lies where apps are looked for.
            for at in 0..parts.len() {
                let above = parts[..at].join("/");
                let below_unit = above.len() >= placed.unit.len() && !holds_units(placed.unit);
                prop_assert_eq!(holds_units(&above), !below_unit, "{} of {}", above, cgroup);
                if placed.kind().is_some() && above.len() < placed.unit.len() {
                    prop_assert!(leads_to_apps(&above), "{} of {}", above, cgroup);
                }
            }
            // What holds units is nobody's to end.
            if holds_units(&cgroup) {
                prop_assert_eq!(placed.kind(), None, "{}", cgroup);
            }
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            let _ = (place_of_cgroup(&text), leads_to_apps(&text), holds_units(&text));
        }
    }

    fn lies_within(cgroup: &str, unit: &str) -> bool {
        cgroup.strip_prefix(unit).is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || unit.is_empty())
    }
}

/// Lines of two words; those that begin with `#` say where the rest comes from.
fn rows(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_once(' ').expect("two words"))
}

#[test]
fn services_that_debian_installs_for_users_are_what_they_were_judged_to_be() {
    let mut count = 0;
    for (expected, unit) in rows(include_str!("debian12-units.txt")) {
        let cgroup = format!("{USER}/user@1000.service/{unit}");
        assert_eq!(placed(&cgroup).0.name(), expected, "{unit}");
        count += 1;
    }
    assert!(count > 80, "{count} rows");
}

#[test]
fn trees_that_people_reported_are_what_they_were_judged_to_be() {
    for (cgroup, expected) in rows(include_str!("reported-trees.txt")) {
        assert_eq!(place_of_cgroup(cgroup).place.name(), expected, "{cgroup}");
    }
}

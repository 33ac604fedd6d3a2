// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea setup` on a machine of files: what it proposes, that it does it, and that all of it can be taken back.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

struct Machine(tempfile::TempDir);

impl Machine {
    /// A handset with systemd, earlyoom and GNOME Shell 48, and a film on a card.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for path in [
            "bin",
            "root/etc",
            "root/run/systemd/system",
            "root/run/systemd/seats",
            "root/proc",
            "root/dev",
            "root/usr/share/glib-2.0/schemas",
            "root/usr/local/share/fovea/gnome-shell/since-45",
        ] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        for (path, text) in [
            ("root/run/fovea-chassis", "handset\n"),
            ("root/proc/swaps", "Filename Type Size Used Priority\n"),
            ("root/proc/cmdline", "quiet\n"),
            ("root/etc/fstab", "# table\n/dev/mmcblk0p1 / ext4 defaults 0 1\n/dev/mmcblk0p3 /home ext4 defaults 0 2\n"),
            ("root/usr/local/share/fovea/gnome-shell/since-45/extension.js", "// it\n"),
        ] {
            fs::write(root.join(path), text).unwrap();
        }
        let log = root.join("log");
        let state = "case \"$*\" in *is-enabled*) exit 1;; *'is-active earlyoom'*) exit 0;; *is-active*) exit 3;; esac";
        for (name, body) in [
            ("systemctl", format!("{state}; echo systemctl \"$@\" >>{}", log.display())),
            ("gnome-shell", "echo GNOME Shell 48.7".to_owned()),
            ("glib-compile-schemas", "exit 0".to_owned()),
            ("dmsetup", "exit 0".to_owned()),
            ("modinfo", "exit 0".to_owned()),
        ] {
            let path = root.join("bin").join(name);
            fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
            fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        Self(folder)
    }

    fn run(&self, words: &[&str]) -> (i32, String) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/fovea-setup");
        let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", self.0.path().join("bin").display());
        let output = Command::new("sh")
            .arg(script)
            .args(words)
            .env("PATH", path)
            .env("FOVEA_SETUP_ROOT", self.0.path().join("root"))
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.code().unwrap(), text)
    }

    /// Every file, and what is in it.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let (mut found, mut folders) = (BTreeMap::new(), vec![self.0.path().join("root")]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => drop(found.insert(path.clone(), fs::read(&path).unwrap())),
                }
            }
        }
        found
    }

    fn log(&self) -> String {
        fs::read_to_string(self.0.path().join("log")).unwrap_or_default()
    }
}

#[test]
fn a_dry_run_tells_each_step_in_words_and_changes_nothing() {
    let machine = Machine::new();
    let before = machine.files();
    let (code, text) = machine.run(&["--dry-run"]);
    assert_eq!(code, 0, "{text}");
    for step in [
        "Start the daemon",
        "notification",
        "Stop earlyoom",
        "Freeze apps",
        "GNOME Shell 48",
        "/home (ext4 on /dev/mmcblk0p3",
    ] {
        assert!(text.contains(step), "{step}: {text}");
    }
    assert!(!text.contains("/dev/mmcblk0p1"), "root needs an initramfs: {text}");
    assert!(text.lines().all(|line| line.len() <= 120) && text.ends_with("Nothing was changed.\n"), "{text}");
    assert_eq!(machine.files(), before);
    assert_eq!(machine.log(), "");
}

#[test]
fn what_was_agreed_to_is_done_and_taken_back() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: not root");
        return;
    }
    let machine = Machine::new();
    let before = machine.files();
    let (code, text) = machine.run(&["--yes"]);
    assert_eq!(code, 0, "{text}");
    let root = machine.0.path().join("root");
    assert!(fs::read_to_string(root.join("etc/fovea.toml")).unwrap().contains("preset = \"handheld\""));
    assert!(fs::read_to_string(root.join("etc/fstab")).unwrap().contains("/dev/mapper/home /home"));
    assert_eq!(fs::read_to_string(root.join("etc/fovea/volumes")).unwrap(), "home /dev/mmcblk0p3\n");
    assert!(machine.log().contains("enable --now fovea\n") && machine.log().contains("disable --now earlyoom\n"));
    let (code, text) = machine.run(&["--undo"]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(machine.files(), before, "nothing is left");
    assert!(machine.log().contains("disable --now fovea\n") && machine.log().contains("enable --now earlyoom\n"));
    assert!(machine.run(&["--undo"]).1.contains("nothing to undo"));
}

#[test]
fn a_file_that_its_owner_has_changed_stays() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let machine = Machine::new();
    machine.run(&["--yes"]);
    let file = machine.0.path().join("root/etc/fovea.toml");
    fs::write(&file, "[lists]\nprotect = [\"mine\"]\n").unwrap();
    machine.run(&["--undo"]);
    assert!(fs::read_to_string(file).unwrap().contains("mine"));
}

#[test]
fn nobody_is_asked_where_nobody_can_answer() {
    let machine = Machine::new();
    let (code, text) = machine.run(&[]);
    assert!(code != 0 && (text.contains("use --yes") || text.contains("only root")), "{text}");
    assert_eq!(machine.log(), "");
    assert_eq!(machine.run(&["--dance"]).0, 2);
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Programs that do what the daemon does, by other rules: each alone works, two undo each other's work.

use std::collections::BTreeSet;

use crate::check::{missing, Finding};
use crate::file::{read_into, Root};

/// The program's name as the kernel has it (15 bytes at most), and what to do about it.
const PROGRAMS: [(&str, &str); 6] = [
    ("systemd-oomd", "it takes filled swap for distress, and swap is filled on purpose: systemctl disable --now systemd-oomd.socket systemd-oomd"),
    ("earlyoom", "it kills by oom_score_adj before compression is done: systemctl disable --now earlyoom"),
    ("nohang", "it kills by rules of its own: systemctl disable --now nohang nohang-desktop"),
    ("oomd", "it kills by rules of its own: systemctl disable --now oomd"),
    ("ananicy-cpp", "it sets oom_score_adj by name: apply_oom_score_adj = false in /etc/ananicy.d/ananicy.conf"),
    ("ananicy", "it sets oom_score_adj by name: apply_oom_score_adj=0 in /etc/ananicy.d/ananicy.conf"),
];

/// Looks who is there. gamemode changes nothing that the daemon changes, and is named so that nobody looks for it; the swap that zram-generator
/// makes is used as it is found.
pub(crate) fn look(root: &Root) -> Finding {
    let running = programs(root);
    let rivals: Vec<_> = PROGRAMS.iter().filter(|(name, _)| running.contains(*name)).collect();
    if !rivals.is_empty() {
        let names: Vec<_> = rivals.iter().map(|(name, _)| *name).collect();
        let mends: Vec<_> = rivals.iter().map(|(_, mend)| *mend).collect();
        return missing(names.join(", "), mends.join("; "));
    }
    let mut others = Vec::new();
    if running.contains("gamemoded") {
        others.push("gamemode, which gets along");
    }
    if root.join("run/systemd/generator/systemd-zram-setup@zram0.service").exists() {
        others.push("zram-generator, whose swap is used");
    }
    Finding::Present(if others.is_empty() { "nobody else".into() } else { others.join(", ") })
}

/// Whether a program runs.
pub(crate) fn runs(root: &Root, name: &str) -> bool {
    programs(root).contains(name)
}

fn programs(root: &Root) -> BTreeSet<String> {
    let mut text = Vec::new();
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(root.join("proc")).into_iter().flatten().flatten() {
        let is_process = entry.file_name().to_str().is_some_and(|name| name.bytes().all(|b| b.is_ascii_digit()));
        if is_process && read_into(&entry.path().join("comm"), &mut text).is_ok() {
            names.insert(String::from_utf8_lossy(text.trim_ascii()).into_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rivals_are_named_with_what_to_turn_off_and_others_pass() {
        let folder = tempfile::tempdir().unwrap();
        let run = |pid: u32, name: &str| {
            let process = folder.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&process).unwrap();
            std::fs::write(process.join("comm"), format!("{name}\n")).unwrap();
        };
        let root = Root::at(folder.path());
        assert!(matches!(look(&root), Finding::Present(found) if found == "nobody else"));
        run(7, "gamemoded");
        let generated = folder.path().join("run/systemd/generator");
        std::fs::create_dir_all(&generated).unwrap();
        std::fs::write(generated.join("systemd-zram-setup@zram0.service"), "").unwrap();
        assert!(
            matches!(look(&root), Finding::Present(found) if found.contains("gamemode") && found.contains("zram-generator"))
        );
        run(8, "earlyoom");
        run(9, "systemd-oomd");
        let Finding::Missing { found, mend } = look(&root) else { panic!("passed") };
        assert_eq!(found, "systemd-oomd, earlyoom");
        assert!(mend.contains("disable --now earlyoom") && mend.contains("systemd-oomd.socket"));
        assert!(PROGRAMS.iter().all(|(name, _)| name.len() <= 15), "the kernel cuts names");
    }
}

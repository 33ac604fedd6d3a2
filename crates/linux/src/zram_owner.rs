// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Whose zram devices are: by the configuration of the machine, for whoever sets one up may run
//! later (zram-generator, zram-tools, zram-init, zram-config, log2ram, a udev rule, a unit of the
//! owner's).

use std::ffi::OsStr;
use std::fs::{read_dir, File};
use std::io::Read;
use std::path::Path;

use memchr::memmem;

use crate::file::Root;

/// Where units, rules and settings are that may name a device.
const FOLDERS: [&str; 18] = [
    "etc/systemd",
    "etc/systemd/system",
    "etc/systemd/zram-generator.conf.d",
    "run/systemd/system",
    "run/systemd/generator",
    "run/systemd/zram-generator.conf.d",
    "usr/lib/systemd",
    "usr/lib/systemd/system",
    "usr/lib/systemd/zram-generator.conf.d",
    "usr/local/lib/systemd/system",
    "etc/udev/rules.d",
    "usr/lib/udev/rules.d",
    "etc/modprobe.d",
    "etc/default",
    "etc/conf.d",
    "etc/init.d",
    "etc/local.d",
    "etc",
];

/// Folders of modprobe's settings; of two files of one name the first counts (modprobe.d(5)).
const MODPROBE: [&str; 4] = ["etc/modprobe.d", "run/modprobe.d", "usr/local/lib/modprobe.d", "usr/lib/modprobe.d"];

/// Below `etc` itself only these are of interest.
const OF_ETC: [&str; 4] = ["fstab", "rc.local", "crypttab", "log2ram.conf"];

/// Files read of a folder, and bytes of a file, at most.
const FILES_MAX: usize = 2048;
const BYTES_MAX: u64 = 64 << 10;

/// Whether anything of the machine's configuration names this device, enabled or not.
pub(crate) fn names(root: &Root, number: u32) -> bool {
    let name = format!("zram{number}");
    FOLDERS.iter().any(|folder| {
        let entries = read_dir(root.join(folder)).into_iter().flatten().flatten().take(FILES_MAX);
        entries.map(|entry| entry.path()).any(|path| {
            let file_name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            if *folder == "etc" && !OF_ETC.contains(&file_name) {
                return false;
            }
            // An instance of a template or a drop-in of one: systemd-zram-setup@zram0.service.d.
            has_name(file_name.as_bytes(), &name) || has_name(&text_of(&path), &name)
        })
    })
}

/// A file's first bytes; nothing of a folder, or of what is no file.
fn text_of(path: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    if path.metadata().is_ok_and(|metadata| metadata.is_file()) {
        let _ = File::open(path).map(|file| file.take(BYTES_MAX).read_to_end(&mut text));
    }
    text
}

/// Whether a text has the name, not as a part of a longer one, and not in a comment of its own
/// line.
fn has_name(text: &[u8], name: &str) -> bool {
    let is_whole = |line: &[u8]| {
        let goes_on = |at: usize| line.get(at + name.len()).is_some_and(u8::is_ascii_digit);
        memmem::find_iter(line, name).any(|at| !goes_on(at) && (at == 0 || !line[at - 1].is_ascii_alphanumeric()))
    };
    text.split(|&b| b == b'\n').filter(|line| !line.trim_ascii_start().starts_with(b"#")).any(is_whole)
}

/// The parameters that modprobe would give the module.
pub(crate) fn options(root: &Root) -> String {
    let (mut seen, mut options) = (Vec::new(), Vec::new());
    for folder in MODPROBE {
        let mut paths: Vec<_> = read_dir(root.join(folder)).into_iter().flatten().flatten().collect();
        paths.sort_by_key(|entry| entry.file_name());
        for entry in paths.into_iter().filter(|entry| !seen.contains(&entry.file_name())).collect::<Vec<_>>() {
            let is_conf = entry.path().extension().is_some_and(|extension| extension == "conf");
            seen.push(entry.file_name());
            if is_conf {
                let text = text_of(&entry.path());
                options.extend(String::from_utf8_lossy(&text).lines().filter_map(options_of).collect::<Vec<_>>());
            }
        }
    }
    options.join(" ")
}

/// Of a line of modprobe.d(5).
fn options_of(line: &str) -> Option<String> {
    let mut words = line.split_ascii_whitespace();
    let is_ours = words.next() == Some("options") && words.next() == Some("zram");
    is_ours.then(|| words.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::capture;

    #[test]
    fn whoever_may_set_a_device_up_names_it_somewhere() {
        for (path, text) in [
            ("etc/systemd/zram-generator.conf", "[zram0]\nzram-size = ram / 2\n"),
            ("usr/lib/systemd/zram-generator.conf.d/50-x.conf", "[zram0]\n"),
            ("etc/udev/rules.d/99-zram.rules", "KERNEL==\"zram0\", ATTR{comp_algorithm}=\"zstd\"\n"),
            ("etc/systemd/system/swap.service", "ExecStart=/bin/sh -c 'echo 1G >/sys/block/zram0/disksize'\n"),
            ("etc/systemd/system/systemd-zram-setup@zram0.service", ""),
            ("etc/fstab", "/dev/zram0 none swap defaults 0 0\n"),
            ("etc/log2ram.conf", "DEVICE=zram0\n"),
        ] {
            let root = tempfile::tempdir().unwrap();
            let at = Root::at(root.path());
            assert!(!names(&at, 0));
            capture(root.path(), path, text);
            assert!(names(&at, 0), "{path}");
            assert!(!names(&at, 1), "{path}");
        }
        let root = tempfile::tempdir().unwrap();
        capture(root.path(), "etc/systemd/system/x.service", "# not zram0\nExecStart=/dev/zram01 /dev/zram00\n");
        capture(root.path(), "etc/hosts", "zram0\n");
        assert!(!names(&Root::at(root.path()), 0));
    }

    #[test]
    fn the_module_is_loaded_as_modprobe_would() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(options(&Root::at(root.path())), "");
        capture(root.path(), "etc/modprobe.d/zram.conf", "options zram num_devices=4\noptions loop max_loop=1\n");
        capture(root.path(), "usr/lib/modprobe.d/zram.conf", "options zram num_devices=1\n");
        capture(root.path(), "usr/lib/modprobe.d/readme", "options zram num_devices=2\n");
        assert_eq!(options(&Root::at(root.path())), "num_devices=4");
    }
}

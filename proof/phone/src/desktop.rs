// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A desktop's system for the guest: systemd as first process, D-Bus, a user manager, and the programs that are compared, all as Debian
//! packages them; of configuration what this machine needs and no more.

use std::path::{Path, PathBuf};

use crate::cache::Cache;
use crate::error::Result;
use crate::initramfs;
use crate::packages::{merged, Packages, MERGED};
use crate::progress::Progress;

pub(crate) const PACKAGES: Packages = Packages {
    folder: "desktop",
    what: "a desktop's packages",
    names: &["systemd", "dbus", "dbus-user-session", "libpam-systemd", "systemd-oomd", "earlyoom"],
    sign: "usr/bin/earlyoom",
};

/// Programs that the guest has, of all those in the packages.
const PROGRAMS: [&str; 7] =
    ["systemctl", "systemd-run", "journalctl", "dbus-daemon", "earlyoom", "oomctl", "systemd-tmpfiles"];

/// Libraries that none of these programs uses.
const LEFT_OUT: [&str; 7] = ["libperl", "libdb-5", "libmvec", "libsepol", "libsemanage", "libgdbm", "libssl"];

macro_rules! texts {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../desktop/", $path)))),*]
    };
}

/// Configuration, and units of our own.
const TEXTS: &[(&str, &str)] = texts![
    "etc/group",
    "etc/hostname",
    "etc/machine-id",
    "etc/nsswitch.conf",
    "etc/os-release",
    "etc/pam.d/other",
    "etc/pam.d/systemd-user",
    "etc/passwd",
    "etc/systemd/journald.conf",
    "etc/systemd/system/desktop.target",
    "etc/systemd/system/fovea-session.service",
];

/// The daemon's unit, as `make install` puts it.
const FOVEA_UNIT: (&str, &str) =
    ("usr/local/lib/systemd/system/fovea.service", include_str!("../../../packaging/fovea.service"));

/// Units of a machine that this one is not: it has no devices to find, no disks to check, no clock to keep, and begins anew at each boot.
const MASKED: [&str; 27] = [
    "cryptsetup.target",
    "dev-hugepages.mount",
    "dev-mqueue.mount",
    "integritysetup.target",
    "kmod-static-nodes.service",
    "modprobe@drm.service",
    "proc-sys-fs-binfmt_misc.automount",
    "sys-fs-fuse-connections.mount",
    "sys-kernel-config.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "systemd-ask-password-console.path",
    "systemd-binfmt.service",
    "systemd-firstboot.service",
    "systemd-journal-flush.service",
    "systemd-machine-id-commit.service",
    "systemd-modules-load.service",
    "systemd-pcrphase-sysinit.service",
    "systemd-pcrphase.service",
    "systemd-random-seed.service",
    "systemd-remount-fs.service",
    "systemd-repart.service",
    "systemd-sysctl.service",
    "systemd-sysusers.service",
    "systemd-tmpfiles-setup-dev.service",
    "systemd-update-utmp.service",
    "veritysetup.target",
];

/// The packages, unpacked, from the cache or fetched from the Debian that this machine is.
///
/// # Errors
/// They are not in the cache and cannot be fetched.
pub fn fetch(cache: &Cache, progress: &Progress) -> Result<PathBuf> {
    PACKAGES.fetch(cache, progress)
}

/// The archive of it.
pub(crate) fn archive(root: &Path) -> Result<Vec<u8>> {
    let masked: Vec<String> = MASKED.iter().map(|unit| format!("etc/systemd/system/{unit}")).collect();
    let mut links: Vec<(&str, &str)> = MERGED.to_vec();
    links.push(("etc/systemd/system/default.target", "desktop.target"));
    links.extend(masked.iter().map(|unit| (unit.as_str(), "/dev/null")));
    links.push(("usr/local/bin/fovea", "/bin/fovea"));
    let texts: Vec<(&str, &str)> = TEXTS.iter().copied().chain([FOVEA_UNIT]).collect();
    initramfs::tree(root, place, &links, &texts)
}

/// Where a file of the packages is in the guest; none if it is left out.
fn place(name: &str) -> Option<String> {
    let name = merged(name);
    let (folder, file) = name.rsplit_once('/')?;
    let library = folder.starts_with("usr/lib/x86_64-linux-gnu")
        && ["", "/security", "/systemd"].contains(&&folder["usr/lib/x86_64-linux-gnu".len()..])
        && !LEFT_OUT.iter().any(|prefix| file.starts_with(prefix));
    let systemd =
        folder.starts_with("usr/lib/systemd") && !["/boot", "/catalog", "/network"].iter().any(|f| folder.contains(f));
    let wanted = library
        || systemd
        || folder.starts_with("usr/lib64")
        || folder.starts_with("usr/share/dbus-1")
        || folder.starts_with("usr/lib/tmpfiles.d")
        || ["etc/dbus-1", "etc/security", "etc/systemd", "etc/default"].iter().any(|f| folder.starts_with(f))
        || folder == "usr/bin" && PROGRAMS.contains(&file);
    wanted.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_land_in_usr_whichever_way_their_package_names_them() {
        let at = |name: &str| place(name);
        assert_eq!(at("lib/systemd/systemd").as_deref(), Some("usr/lib/systemd/systemd"));
        assert_eq!(at("usr/lib/systemd/systemd").as_deref(), Some("usr/lib/systemd/systemd"));
        assert_eq!(at("bin/systemctl").as_deref(), Some("usr/bin/systemctl"));
        assert_eq!(at("lib64/ld-linux-x86-64.so.2").as_deref(), Some("usr/lib64/ld-linux-x86-64.so.2"));
        assert_eq!(
            at("lib/x86_64-linux-gnu/security/pam_systemd.so").as_deref().map(|n| n.starts_with("usr/lib/")),
            Some(true)
        );
    }

    #[test]
    fn what_no_program_here_uses_stays_out() {
        for name in [
            "usr/bin/perl",
            "usr/share/doc/systemd/README",
            "usr/lib/x86_64-linux-gnu/libperl.so.5.36",
            "usr/share/man/man1/x.1",
            "etc",
        ] {
            assert_eq!(place(name), None, "{name}");
        }
    }

    #[test]
    fn our_own_units_are_not_masked() {
        for (path, text) in TEXTS {
            assert!(!text.is_empty(), "{path}");
            assert!(MASKED.iter().all(|unit| !path.ends_with(unit)), "{path}");
        }
    }
}

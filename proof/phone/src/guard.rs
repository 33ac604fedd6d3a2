// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Programs that end apps when memory is short, for a phone that has no systemd: as Debian packages them, with what they load.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cache::Cache;
use crate::desktop;
use crate::error::{Error, Result};
use crate::initramfs;
use crate::packages::{merged, Packages, MERGED};
use crate::progress::Progress;

/// What all of them load.
const COMMON: [&str; 3] = [
    "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
    "usr/lib/x86_64-linux-gnu/libc.so.6",
    "usr/lib64/ld-linux-x86-64.so.2",
];

/// A program that ends apps.
struct Program {
    name: &'static str,
    packages: Packages,
    /// The program, and what it loads beside [`COMMON`]; a star stands for any part of a name.
    files: &'static [&'static str],
    /// Its configuration, where that is not its package's to the letter: what stands there, and what stands there instead.
    changes: Option<(&'static str, &'static [(&'static str, &'static str)])>,
    /// What comes to lie beside its files before it is started, as it does when its package is installed.
    made_bytes: u64,
}

const PROGRAMS: [Program; 4] = [
    Program {
        name: "earlyoom",
        packages: Packages {
            folder: "guard",
            what: "a program to compare with, earlyoom",
            names: &["earlyoom"],
            sign: "usr/bin/earlyoom",
        },
        files: &["usr/bin/earlyoom"],
        changes: None,
        made_bytes: 0,
    },
    Program {
        name: "nohang",
        packages: Packages {
            folder: "guard-nohang",
            what: "a program to compare with, nohang and Python",
            names: &["nohang"],
            sign: "usr/sbin/nohang",
        },
        files: &[
            "etc/nohang/nohang.conf",
            "usr/bin/python3*",
            "usr/lib/python3.*/_collections_abc.py",
            "usr/lib/python3.*/_sitebuiltins.py",
            "usr/lib/python3.*/_weakrefset.py",
            "usr/lib/python3.*/abc.py",
            "usr/lib/python3.*/codecs.py",
            "usr/lib/python3.*/collections/*.py",
            "usr/lib/python3.*/copyreg.py",
            "usr/lib/python3.*/ctypes/__init__.py",
            "usr/lib/python3.*/ctypes/_endian.py",
            "usr/lib/python3.*/encodings/__init__.py",
            "usr/lib/python3.*/encodings/aliases.py",
            "usr/lib/python3.*/encodings/utf_8.py",
            "usr/lib/python3.*/enum.py",
            "usr/lib/python3.*/functools.py",
            "usr/lib/python3.*/genericpath.py",
            "usr/lib/python3.*/io.py",
            "usr/lib/python3.*/keyword.py",
            "usr/lib/python3.*/operator.py",
            "usr/lib/python3.*/os.py",
            "usr/lib/python3.*/posixpath.py",
            "usr/lib/python3.*/re/*.py",
            "usr/lib/python3.*/reprlib.py",
            "usr/lib/python3.*/signal.py",
            "usr/lib/python3.*/site.py",
            "usr/lib/python3.*/sre_constants.py",
            "usr/lib/python3.*/stat.py",
            "usr/lib/python3.*/struct.py",
            "usr/lib/python3.*/types.py",
            "usr/lib/python3.*/warnings.py",
            "usr/lib/python3.*/weakref.py",
            "usr/lib/python3.*/lib-dynload/_ctypes.*",
            "usr/lib/x86_64-linux-gnu/libexpat.so.*",
            "usr/lib/x86_64-linux-gnu/libffi.so.*",
            "usr/lib/x86_64-linux-gnu/libm.so.*",
            "usr/lib/x86_64-linux-gnu/libz.so.*",
            "usr/sbin/nohang",
        ],
        // What it has for zram is off unless it is asked for.
        changes: Some(("etc/nohang/nohang.conf", &[("zram_checking_enabled = False", "zram_checking_enabled = True")])),
        made_bytes: 1 << 20,
    },
    Program {
        name: "oomd",
        packages: Packages {
            folder: "guard-oomd",
            what: "a program to compare with, oomd",
            names: &["oomd"],
            sign: "usr/bin/oomd",
        },
        files: &[
            "etc/oomd/oomd.json",
            "usr/bin/oomd",
            "usr/lib/x86_64-linux-gnu/libcap.so.*",
            "usr/lib/x86_64-linux-gnu/libgcc_s.so.*",
            "usr/lib/x86_64-linux-gnu/libgcrypt.so.*",
            "usr/lib/x86_64-linux-gnu/libgpg-error.so.*",
            "usr/lib/x86_64-linux-gnu/libjsoncpp.so.*",
            "usr/lib/x86_64-linux-gnu/liblz4.so.*",
            "usr/lib/x86_64-linux-gnu/liblzma.so.*",
            "usr/lib/x86_64-linux-gnu/libm.so.*",
            "usr/lib/x86_64-linux-gnu/libstdc++.so.*",
            "usr/lib/x86_64-linux-gnu/libsystemd.so.*",
            "usr/lib/x86_64-linux-gnu/libzstd.so.*",
        ],
        // A phone's apps lie where a desktop's session does.
        changes: Some((
            "etc/oomd/oomd.json",
            &[
                (
                    "user.slice/user-*.slice/session-*.scope,user.slice/user-*.slice/user@*.service/*,system.slice/*",
                    "apps/*",
                ),
                ("\"user.slice\"", "\"apps\""),
                ("\"system.slice\"", "\"system\""),
            ],
        )),
        made_bytes: 0,
    },
    Program {
        name: "systemd-oomd",
        packages: desktop::PACKAGES,
        files: &[
            "etc/systemd/oomd.conf",
            "usr/lib/systemd/oomd.conf.d/*.conf",
            "usr/lib/systemd/systemd-oomd",
            "usr/lib/x86_64-linux-gnu/libacl.so.*",
            "usr/lib/x86_64-linux-gnu/libaudit.so.*",
            "usr/lib/x86_64-linux-gnu/libblkid.so.*",
            "usr/lib/x86_64-linux-gnu/libcap.so.*",
            "usr/lib/x86_64-linux-gnu/libcap-ng.so.*",
            "usr/lib/x86_64-linux-gnu/libcrypt.so.*",
            "usr/lib/x86_64-linux-gnu/libcrypto.so.*",
            "usr/lib/x86_64-linux-gnu/libgcrypt.so.*",
            "usr/lib/x86_64-linux-gnu/libgpg-error.so.*",
            "usr/lib/x86_64-linux-gnu/libip4tc.so.*",
            "usr/lib/x86_64-linux-gnu/libkmod.so.*",
            "usr/lib/x86_64-linux-gnu/liblz4.so.*",
            "usr/lib/x86_64-linux-gnu/liblzma.so.*",
            "usr/lib/x86_64-linux-gnu/libm.so.*",
            "usr/lib/x86_64-linux-gnu/libmount.so.*",
            "usr/lib/x86_64-linux-gnu/libpam.so.*",
            "usr/lib/x86_64-linux-gnu/libpcre2-8.so.*",
            "usr/lib/x86_64-linux-gnu/libseccomp.so.*",
            "usr/lib/x86_64-linux-gnu/libselinux.so.*",
            "usr/lib/x86_64-linux-gnu/libzstd.so.*",
            "usr/lib/x86_64-linux-gnu/systemd/libsystemd-shared-*.so",
        ],
        changes: None,
        made_bytes: 0,
    },
];

/// A program that is ready for the guest.
#[derive(Debug)]
pub(crate) struct Guard {
    pub archive: Vec<u8>,
    /// What it takes of the guest's memory before it runs.
    pub bytes: u64,
}

/// The packages of a program, unpacked, from the cache or fetched from the Debian that this machine is.
///
/// # Errors
/// Nobody knows the program, or they are not in the cache and cannot be fetched.
pub fn fetch(cache: &Cache, name: &str, progress: &Progress) -> Result<PathBuf> {
    program(name)?.packages.fetch(cache, progress)
}

/// The archive of it.
pub(crate) fn guard(name: &str, root: &Path) -> Result<Guard> {
    let program = program(name)?;
    let text = program.changes.map(|(file, changes)| Ok((file, changed(&root.join(file), changes)?))).transpose()?;
    let texts: Vec<(&str, &str)> = text.iter().map(|(file, text)| (*file, text.as_str())).collect();
    // The phone has a /bin of its own.
    let links: Vec<(&str, &str)> = MERGED.into_iter().filter(|(from, _)| from.starts_with("lib")).collect();
    let archive = initramfs::tree(root, |file| program.place(file), &links, &texts)?;
    Ok(Guard { bytes: archive.len() as u64 + program.made_bytes, archive })
}

fn program(name: &str) -> Result<&'static Program> {
    let found = PROGRAMS.iter().find(|program| program.name == name);
    found.ok_or_else(|| Error::bad(name, "is a program that a phone without systemd cannot have"))
}

/// A text with changes; one that changes nothing is of another version of it.
fn changed(path: &Path, changes: &[(&str, &str)]) -> Result<String> {
    let text = fs::read_to_string(path).map_err(Error::io("read", path))?;
    changes.iter().try_fold(text, |text, (from, to)| match text.contains(from) {
        true => Ok(text.replace(from, to)),
        false => Err(Error::bad(path, format!("does not say {from:?}; say in guard.rs what this version's says"))),
    })
}

impl Program {
    /// Where a file of the packages is in the guest; none if it is left out.
    fn place(&self, name: &str) -> Option<String> {
        let name = merged(name);
        COMMON.iter().chain(self.files).any(|pattern| fits(pattern, &name)).then_some(name)
    }
}

/// Whether a path is one that a pattern means, whose stars stand for any part of a name.
fn fits(pattern: &str, path: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == path };
    path.strip_prefix(start).is_some_and(|left| {
        let most = left.find('/').unwrap_or(left.len());
        (0..=most).any(|at| left.get(at..).is_some_and(|left| fits(rest, left)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(of: &str, file: &str) -> Option<String> {
        program(of).unwrap().place(file)
    }

    #[test]
    fn the_programs_come_with_what_they_load_and_nothing_else() {
        assert_eq!(place("earlyoom", "usr/bin/earlyoom").as_deref(), Some("usr/bin/earlyoom"));
        assert_eq!(place("oomd", "lib64/ld-linux-x86-64.so.2").as_deref(), Some("usr/lib64/ld-linux-x86-64.so.2"));
        for libc in ["lib/x86_64-linux-gnu/libc.so.6", "usr/lib/x86_64-linux-gnu/libc.so.6"] {
            assert_eq!(place("nohang", libc).as_deref(), Some("usr/lib/x86_64-linux-gnu/libc.so.6"));
        }
        let all = |of: &str, files: &[&str]| files.iter().all(|file| place(of, file).as_deref() == Some(*file));
        let modules =
            ["usr/bin/python3", "usr/bin/python3.11", "usr/lib/python3.11/os.py", "usr/lib/python3.13/re/_parser.py"];
        assert!(all("nohang", &modules) && all("nohang", &["usr/lib/x86_64-linux-gnu/libffi.so.8.1.2"]));
        assert!(all("oomd", &["usr/bin/oomd", "etc/oomd/oomd.json", "usr/lib/x86_64-linux-gnu/libstdc++.so.6"]));
        let merged = place("systemd-oomd", "lib/systemd/systemd-oomd");
        assert_eq!(merged.as_deref(), Some("usr/lib/systemd/systemd-oomd"));
        assert!(all("systemd-oomd", &["usr/lib/x86_64-linux-gnu/systemd/libsystemd-shared-252.so"]));
        for (of, file) in [
            ("systemd-oomd", "usr/lib/systemd/systemd"),
            ("earlyoom", "usr/bin/iconv"),
            ("earlyoom", "lib/x86_64-linux-gnu/libm.so.6"),
            ("earlyoom", "etc/default/earlyoom"),
            ("earlyoom", "usr/share/doc/earlyoom/README"),
            ("nohang", "usr/lib/python3.11/asyncio/tasks.py"),
            ("nohang", "usr/lib/python3.11/ctypes/macholib/dyld.py"),
            ("nohang", "usr/bin/oomd"),
            ("oomd", "usr/lib/x86_64-linux-gnu/libcap-ng.so.0"),
        ] {
            assert_eq!(place(of, file), None, "{file}");
        }
        assert!(program("nobody").is_err());
    }

    #[test]
    fn a_configuration_is_the_packages_but_for_what_a_phone_has_elsewhere() {
        let root = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("etc/nohang/nohang.conf", "a = 1\nzram_checking_enabled = False\nb = 2\n");
        put("usr/sbin/nohang", "program");
        put("usr/sbin/other", "another");
        let nohang = guard("nohang", root.path()).unwrap();
        let text = String::from_utf8_lossy(&nohang.archive);
        assert!(text.contains("a = 1\nzram_checking_enabled = True\nb = 2\n") && !text.contains("= False"));
        assert!(text.contains("program") && !text.contains("another"));
        assert_eq!(nohang.bytes, nohang.archive.len() as u64 + (1 << 20));
        // Another version's.
        put("etc/nohang/nohang.conf", "a = 1\n");
        assert!(guard("nohang", root.path()).unwrap_err().to_string().contains("zram_checking_enabled"));
    }

    #[test]
    fn a_star_stays_within_a_name() {
        assert!(fits("usr/lib/python3.*/re/*.py", "usr/lib/python3.11/re/_parser.py"));
        assert!(fits("a*", "a") && fits("a", "a") && fits("*a*b", "xaayb"));
        assert!(!fits("a*", "a/b") && !fits("a*b", "ac") && !fits("a", "ab"));
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Programs that end apps when memory is short, for a phone that has no systemd: as Debian packages them, with the libraries that they load.

use std::path::{Path, PathBuf};

use crate::cache::Cache;
use crate::error::Result;
use crate::initramfs;
use crate::packages::{merged, Packages, MERGED};
use crate::progress::Progress;

const PACKAGES: Packages =
    Packages { folder: "guard", what: "programs to compare with", names: &["earlyoom"], sign: "usr/bin/earlyoom" };

/// The programs, and what they load.
const FILES: [&str; 4] = [
    "usr/bin/earlyoom",
    "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
    "usr/lib/x86_64-linux-gnu/libc.so.6",
    "usr/lib64/ld-linux-x86-64.so.2",
];

/// The packages, unpacked, from the cache or fetched from the Debian that this machine is.
///
/// # Errors
/// They are not in the cache and cannot be fetched.
pub fn fetch(cache: &Cache, progress: &Progress) -> Result<PathBuf> {
    PACKAGES.fetch(cache, progress)
}

/// The archive of it. The phone has a /bin of its own.
pub(crate) fn archive(root: &Path) -> Result<Vec<u8>> {
    let links: Vec<(&str, &str)> = MERGED.into_iter().filter(|(from, _)| from.starts_with("lib")).collect();
    initramfs::tree(root, place, &links, &[])
}

/// Where a file of the packages is in the guest; none if it is left out.
fn place(name: &str) -> Option<String> {
    let name = merged(name);
    FILES.contains(&name.as_str()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_come_with_what_they_load_and_nothing_else() {
        assert_eq!(place("usr/bin/earlyoom").as_deref(), Some("usr/bin/earlyoom"));
        assert_eq!(place("lib64/ld-linux-x86-64.so.2").as_deref(), Some("usr/lib64/ld-linux-x86-64.so.2"));
        for libc in ["lib/x86_64-linux-gnu/libc.so.6", "usr/lib/x86_64-linux-gnu/libc.so.6"] {
            assert_eq!(place(libc).as_deref(), Some("usr/lib/x86_64-linux-gnu/libc.so.6"));
        }
        for other in
            ["usr/bin/iconv", "lib/x86_64-linux-gnu/libm.so.6", "etc/default/earlyoom", "usr/share/doc/earlyoom/README"]
        {
            assert_eq!(place(other), None, "{other}");
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Debian's packages for the guest: fetched with all that they depend on and unpacked into the cache. Nothing of them is run here.

use std::path::{Path, PathBuf};

use crate::apt::{Apt, Origin};
use crate::cache::Cache;
use crate::error::Result;
use crate::fetch::unpack_deb;
use crate::platform::Platform;
use crate::progress::Progress;

/// Debian has merged these into /usr; older packages still name them.
pub(crate) const MERGED: [(&str, &str); 4] =
    [("bin", "usr/bin"), ("lib", "usr/lib"), ("lib64", "usr/lib64"), ("sbin", "usr/sbin")];

/// Packages that are fetched together.
pub(crate) struct Packages {
    /// Folder in the cache.
    pub folder: &'static str,
    /// For progress.
    pub what: &'static str,
    /// What is fetched, with all that it depends on.
    pub names: &'static [&'static str],
    /// A file that is there once they are unpacked.
    pub sign: &'static str,
}

impl Packages {
    /// Unpacked, from the cache or fetched from the Debian that this machine is.
    pub fn fetch(&self, cache: &Cache, progress: &Progress) -> Result<PathBuf> {
        let origin = Origin::of_host()?;
        let name = format!("{}/{}", self.folder, origin.codename);
        let done = |path: &Path| path.join(self.sign).exists();
        if done(&cache.path(&name)) {
            return Ok(cache.path(&name));
        }
        let lock = cache.lock()?;
        // Another run may have fetched them while this one waited for the lock.
        if done(&cache.path(&name)) {
            return Ok(cache.path(&name));
        }
        let scratch = cache.scratch_dir()?;
        let stage = progress.stage(format!("fetch: {}", self.what), 0);
        let apt = Apt::new(&scratch.path().join("apt"), &origin, Platform::X86_64)?;
        let debs = apt.download_all(self.names, &scratch.path().join("debs"))?;
        drop(stage);
        let stage = progress.stage(format!("unpack: {}", self.what), debs.len() as u64);
        cache.install_dir(&lock, &name, |dir| {
            (1..).zip(&debs).try_for_each(|(count, deb)| {
                stage.set(count);
                unpack_deb(deb, dir)
            })
        })
    }
}

/// A file's place once Debian's folders are merged.
pub(crate) fn merged(name: &str) -> String {
    let place = |(from, to): &(&str, &str)| Some(format!("{to}/{}", name.strip_prefix(from)?.strip_prefix('/')?));
    MERGED.iter().find_map(place).unwrap_or_else(|| name.to_owned())
}

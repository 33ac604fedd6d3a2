// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The kernel a phone boots: Debian's from the cache, or the user's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::platform::Platform;
use crate::unpack;

/// A kernel to boot.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The kind of machine it is for.
    pub platform: Platform,
    /// The kernel as QEMU boots it: uncompressed for a PC, Debian's image on ARM.
    pub vmlinux: PathBuf,
    /// The kernel as boot loaders and kexec take it; none if only the uncompressed one was named.
    pub vmlinuz: Option<PathBuf>,
    /// Folder like `/lib/modules/RELEASE`; none if the kernel is to do without modules.
    pub modules: Option<PathBuf>,
    /// Headers to build modules against, for `make -C`; none for a kernel of the user's own.
    pub headers: Option<PathBuf>,
    /// `uname -r`.
    pub release: String,
    /// Version of the Debian package; empty for a kernel of the user's own.
    pub package_version: String,
    /// Holds an unpacked kernel of the user's own as long as it is in use.
    _unpacked: Option<Arc<TempDir>>,
}

impl Kernel {
    /// A kernel in the cache.
    pub(crate) fn unpacked(dir: &Path, platform: Platform, release: String, package_version: String) -> Kernel {
        let root = dir.join("root");
        let vmlinuz = root.join("boot").join(format!("vmlinuz-{release}"));
        Kernel {
            platform,
            vmlinux: if platform.is_arm() { vmlinuz.clone() } else { dir.join("vmlinux") },
            // One that was built here has none.
            vmlinuz: vmlinuz.exists().then_some(vmlinuz),
            modules: Some(root.join("lib/modules").join(&release)),
            headers: Some(root.join("usr/src").join(format!("linux-headers-{release}"))),
            release,
            package_version,
            _unpacked: None,
        }
    }

    /// The user's own kernel (`--kernel FILE --modules DIR`): a vmlinuz or a vmlinux.
    ///
    /// # Errors
    /// The file is no kernel, cannot be read, or is compressed in a way we do not know.
    pub fn from_files(cache: &Cache, image: &Path, modules: Option<&Path>) -> Result<Kernel> {
        let bytes = fs::read(image).map_err(Error::io("read the kernel", image))?;
        let kernel = unpack::vmlinux(&bytes).map_err(|e| Error::bad(image, e.to_string()))?;
        let release = unpack::kernel_release(&kernel)
            .ok_or_else(|| Error::bad(image, "holds no \"Linux version\" banner; name a vmlinux or vmlinuz"))?;
        let found = image.canonicalize().map_err(Error::io("find", image))?;
        let (vmlinux, vmlinuz, scratch) = if kernel == bytes {
            (found, None, None)
        } else {
            let scratch = cache.scratch_dir()?;
            let path = scratch.path().join("vmlinux");
            fs::write(&path, kernel).map_err(Error::io("write", &path))?;
            (path, Some(found), Some(Arc::new(scratch)))
        };
        if let Some(dir) = modules.filter(|dir| !dir.is_dir()) {
            return Err(Error::bad(dir, "is no folder; name one like /lib/modules/RELEASE"));
        }
        let modules = modules.map(Path::to_path_buf);
        let package_version = String::new();
        let platform = Platform::X86_64;
        Ok(Kernel { platform, vmlinux, vmlinuz, modules, headers: None, release, package_version, _unpacked: scratch })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_of_the_users_own_is_booted_from_where_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path().join("cache")).unwrap();
        let image = dir.path().join("vmlinux");
        fs::write(&image, b"\x7fELF Linux version 6.1.0-mine (me)").unwrap();
        let kernel = Kernel::from_files(&cache, &image, None).unwrap();
        assert_eq!(kernel.release, "6.1.0-mine");
        assert_eq!(kernel.vmlinux, image.canonicalize().unwrap());
        assert!(Kernel::from_files(&cache, &image, Some(Path::new("/nowhere"))).is_err());
        fs::write(&image, b"text").unwrap();
        assert!(Kernel::from_files(&cache, &image, None).unwrap_err().to_string().contains("vmlinuz"));
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Gets Debian's stock kernels (image, headers, kbuild) and busybox into the cache, without installing anything.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::apt::{newest, Apt, Package};
use crate::cache::{Cache, CacheLock};
use crate::command;
use crate::error::{Error, Result};
use crate::foreign;
use crate::kernel::Kernel;
use crate::platform::Platform;
use crate::progress::Progress;
use crate::unpack;

mod line;

pub use line::Line;

/// Names the kernel in use; a file in the kernels' folder that holds the folder's name.
const CURRENT: &str = "current";
/// Where busybox is unpacked below the cache.
const BUSYBOX_DIR: &str = "busybox";
/// The record in a kernel's folder.
const RECORD: &str = "kernel.json";

/// What a kernel's folder says about itself.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    release: String,
    package_version: String,
}

/// The stock kernel from the cache, fetched first if there is none or `refresh` asks for the newest.
///
/// # Errors
/// It is not in the cache and cannot be fetched: no Debian, no network, no space.
pub fn kernel(cache: &Cache, refresh: bool, progress: &Progress) -> Result<Kernel> {
    kernel_of(cache, Line::Linux6_12, refresh, progress)
}

/// The same of another line.
///
/// # Errors
/// As [`kernel`].
pub fn kernel_of(cache: &Cache, line: Line, refresh: bool, progress: &Progress) -> Result<Kernel> {
    if !refresh {
        if let Some(kernel) = cached_of(cache, line)? {
            return Ok(kernel);
        }
    }
    let lock = cache.lock()?;
    // Another run may have fetched it while this one waited for the lock.
    if !refresh {
        if let Some(kernel) = cached_of(cache, line)? {
            return Ok(kernel);
        }
    }
    let scratch = cache.scratch_dir()?;
    let stage = progress.stage("fetch: package lists", 0);
    let apt = line.apt(&scratch.path().join("apt"))?;
    drop(stage);
    let packages = kernel_packages(&apt, line)?;
    let name = format!("{}/{}", line.folder(), packages.image.version);
    if !cache.path(&name).join(RECORD).exists() {
        let debs = download(&apt, packages.all(), scratch.path(), progress)?;
        cache.install_dir(&lock, &name, |dir| {
            unpack_kernel(dir, line.platform(), &packages, &debs, progress)?;
            // The others are of the host's own Debian, or build with what it has.
            if line != Line::Newest {
                return Ok(());
            }
            foreign::bring_tools(dir, &cache.path(&name), &packages.headers, &apt, scratch.path(), progress)
        })?;
    }
    let platform = line.platform();
    if !busybox_path(cache, platform).exists() {
        fetch_busybox(cache, platform, &lock, &apt, scratch.path(), progress)?;
    }
    cache.write_file(&format!("{}/{CURRENT}", line.folder()), packages.image.version.as_bytes())?;
    cached_of(cache, line)?
        .ok_or_else(|| Error::bad(cache.path(&name), "fetched, and yet incomplete; delete it and try again"))
}

/// The static busybox for the guest, from the cache or fetched.
///
/// # Errors
/// It is not in the cache and cannot be fetched.
pub fn busybox(cache: &Cache, progress: &Progress) -> Result<PathBuf> {
    busybox_of(cache, Platform::X86_64, progress)
}

/// The same for another machine.
///
/// # Errors
/// As [`busybox`].
pub fn busybox_of(cache: &Cache, platform: Platform, progress: &Progress) -> Result<PathBuf> {
    if !busybox_path(cache, platform).exists() {
        let lock = cache.lock()?;
        if !busybox_path(cache, platform).exists() {
            let scratch = cache.scratch_dir()?;
            let apt = Line::of(platform).apt(&scratch.path().join("apt"))?;
            fetch_busybox(cache, platform, &lock, &apt, scratch.path(), progress)?;
        }
    }
    Ok(busybox_path(cache, platform))
}

/// Below the cache; one that is not the PC's has its architecture in its name.
fn busybox_dir(platform: Platform) -> String {
    match platform {
        Platform::X86_64 => BUSYBOX_DIR.to_owned(),
        _ => format!("{BUSYBOX_DIR}-{}", platform.debian()),
    }
}

fn busybox_path(cache: &Cache, platform: Platform) -> PathBuf {
    // Debian 13 moved it to /usr/bin, and its package has no /bin.
    let at = |place: &str| cache.path(busybox_dir(platform)).join(place);
    if at("usr/bin/busybox").exists() {
        at("usr/bin/busybox")
    } else {
        at("bin/busybox")
    }
}

fn fetch_busybox(
    cache: &Cache,
    platform: Platform,
    lock: &CacheLock,
    apt: &Apt,
    scratch: &Path,
    progress: &Progress,
) -> Result<()> {
    let package = newest(apt.show(&[&platform.package("busybox-static")])?)?
        .ok_or_else(|| Error::missing("the mirror has no busybox-static", "choose another with FOVEA_MIRROR"))?;
    let debs = download(apt, vec![&package], scratch, progress)?;
    cache.install_dir(lock, &busybox_dir(platform), |dir| debs.iter().try_for_each(|deb| unpack_deb(deb, dir)))?;
    Ok(())
}

/// The stock kernel if it is in the cache; never fetches.
///
/// # Errors
/// The cache's record of it is damaged.
pub fn cached(cache: &Cache) -> Result<Option<Kernel>> {
    cached_of(cache, Line::Linux6_12)
}

/// The same of another line.
///
/// # Errors
/// As [`cached`].
pub fn cached_of(cache: &Cache, line: Line) -> Result<Option<Kernel>> {
    let folder = cache.path(line.folder());
    let Ok(version) = fs::read_to_string(folder.join(CURRENT)) else { return Ok(None) };
    let dir = folder.join(version.trim());
    let record = dir.join(RECORD);
    let Ok(text) = fs::read(&record) else { return Ok(None) };
    let record: Record =
        serde_json::from_slice(&text).map_err(|e| Error::bad(&record, format!("{e}; delete the folder it is in")))?;
    Ok(Some(Kernel::unpacked(&dir, line.platform(), record.release, record.package_version)))
}

/// The packages that make one kernel.
struct KernelPackages {
    image: Package,
    /// The flavour's headers.
    headers: Package,
    /// The common headers, kbuild, and the modules where the image is without.
    rest: Vec<Package>,
    release: String,
}

impl KernelPackages {
    fn all(&self) -> Vec<&Package> {
        [&self.image, &self.headers].into_iter().chain(&self.rest).collect()
    }
}

fn kernel_packages(apt: &Apt, line: Line) -> Result<KernelPackages> {
    let what = format!("the mirror has no {}", line.name());
    let none = || Error::missing(what.clone(), "choose another with FOVEA_MIRROR");
    let found = apt.search(line.image_pattern())?;
    let image = newest(found)?.ok_or_else(none)?;
    let release = release_of(&image.name).ok_or_else(none)?;
    let of_platform = |name: String| line.platform().package(&name);
    let headers = exactly(apt, &of_platform(format!("linux-headers-{release}")), Some(&image.version))?;
    // Which common headers and kbuild belong to it is the package's own word, so that a change of naming does no harm.
    let needed = header_dependencies(&headers);
    let mut rest = Vec::new();
    for name in &needed {
        rest.push(exactly(apt, name, None)?);
    }
    if image.name.starts_with(BINARY) {
        for part in ["base", "modules"] {
            rest.push(exactly(apt, &format!("linux-{part}-{release}"), Some(&image.version))?);
        }
    }
    Ok(KernelPackages { image, headers, rest, release })
}

/// What an image without its modules is called, in newer lines.
const BINARY: &str = "linux-binary-unsigned-";

/// `uname -r` from the image package's name.
fn release_of(image: &str) -> Option<String> {
    let whole = || image.strip_prefix("linux-image-")?.strip_suffix("-unsigned");
    // Nobody signs those of 32 bits.
    let never_signed = || image.strip_prefix("linux-image-").filter(|release| release.ends_with(line::NEVER_SIGNED));
    image.strip_prefix(BINARY).or_else(whole).or_else(never_signed).map(str::to_owned)
}

fn header_dependencies(headers: &Package) -> Vec<String> {
    let wanted = |name: &str| {
        (name.starts_with("linux-headers-") && name.ends_with("-common")) || name.starts_with("linux-kbuild-")
    };
    headers.depends.iter().filter(|name| wanted(name)).cloned().collect()
}

fn exactly(apt: &Apt, name: &str, version: Option<&str>) -> Result<Package> {
    let mut found = apt.show(&[name])?;
    // "NAME:ARCHITECTURE" asks for one that is not the host's.
    let name = name.split(':').next().unwrap_or(name);
    found.retain(|package| package.name == name && version.is_none_or(|v| package.version == v));
    newest(found)?.ok_or_else(|| {
        Error::missing(format!("the mirror has no {name}"), "try again later: the mirror is being updated")
    })
}

pub(crate) fn download(
    apt: &Apt,
    packages: Vec<&Package>,
    scratch: &Path,
    progress: &Progress,
) -> Result<Vec<PathBuf>> {
    let stage = progress.stage("fetch: packages", packages.len() as u64);
    let mut debs = Vec::new();
    for (index, package) in packages.iter().enumerate() {
        stage.message(&package.name);
        debs.push(apt.download(package, &scratch.join("debs"))?);
        stage.set(index as u64 + 1);
    }
    Ok(debs)
}

/// Where packages have modules: until Debian 12, and since Debian 13.
const MODULES: &str = "lib/modules";
const USR_MODULES: &str = "usr/lib/modules";

pub(crate) fn unpack_deb(deb: &Path, dir: &Path) -> Result<()> {
    command::stdout(Command::new("dpkg-deb").arg("-x").arg(deb).arg(dir), "use a Debian host").map(drop)
}

fn unpack_kernel(
    dir: &Path,
    platform: Platform,
    packages: &KernelPackages,
    debs: &[PathBuf],
    progress: &Progress,
) -> Result<()> {
    let stage = progress.stage("unpack: kernel", debs.len() as u64 + 1);
    let root = dir.join("root");
    fs::create_dir(&root).map_err(Error::io("make", &root))?;
    for (index, deb) in debs.iter().enumerate() {
        unpack_deb(deb, &root)?;
        stage.set(index as u64 + 1);
    }
    find_modules(&root)?;
    relocate_headers(&root, &packages.release)?;
    let vmlinuz = find_image(&root, &packages.release)?;
    // QEMU boots ARM's image as it is.
    if !platform.is_arm() {
        let image = fs::read(&vmlinuz).map_err(Error::io("read", &vmlinuz))?;
        let vmlinux = unpack::vmlinux(&image).map_err(Error::io("unpack", &vmlinuz))?;
        let target = dir.join("vmlinux");
        fs::write(&target, vmlinux).map_err(Error::io("write", &target))?;
    }
    let record = Record { release: packages.release.clone(), package_version: packages.image.version.clone() };
    let text = serde_json::to_vec(&record).map_err(|e| Error::bad(RECORD, e.to_string()))?;
    fs::write(dir.join(RECORD), text).map_err(Error::io("write", dir.join(RECORD)))
}

/// In /boot, where newer lines have it beside the modules.
fn find_image(root: &Path, release: &str) -> Result<PathBuf> {
    let boot = root.join("boot");
    let (vmlinuz, newer) =
        (boot.join(format!("vmlinuz-{release}")), root.join(USR_MODULES).join(release).join("vmlinuz.unsigned"));
    if !vmlinuz.exists() && newer.exists() {
        fs::create_dir_all(&boot).map_err(Error::io("make", &boot))?;
        fs::rename(&newer, &vmlinuz).map_err(Error::io("move", &newer))?;
    }
    Ok(vmlinuz)
}

/// Since Debian 13 the packages have /usr/lib/modules alone, which an installed system reaches by /lib as well.
fn find_modules(root: &Path) -> Result<()> {
    let link = root.join(MODULES);
    if link.exists() || !root.join(USR_MODULES).is_dir() {
        return Ok(());
    }
    fs::create_dir_all(root.join("lib")).map_err(Error::io("make", root.join("lib")))?;
    symlink(Path::new("..").join(USR_MODULES), &link).map_err(Error::io("link", &link))
}

/// Makes the headers work where they are: their Makefile includes an absolute path, and the modules' `build` and `source` links are
/// absolute. Relative ones survive the rename into the cache.
fn relocate_headers(root: &Path, release: &str) -> Result<()> {
    let makefile = root.join(format!("usr/src/linux-headers-{release}/Makefile"));
    let text = fs::read_to_string(&makefile).map_err(Error::io("read", &makefile))?;
    fs::write(&makefile, relative_includes(&text)).map_err(Error::io("write", &makefile))?;
    // The headers' vmlinux is there for BTF only, and makes module builds call pahole, which few machines have.
    let btf = root.join(format!("usr/src/linux-headers-{release}/vmlinux"));
    if btf.exists() {
        fs::remove_file(&btf).map_err(Error::io("remove", &btf))?;
    }
    let (folder, to_src) = match root.join(USR_MODULES).is_dir() {
        true => (USR_MODULES, "../../../src"),
        false => (MODULES, "../../../usr/src"),
    };
    for name in ["build", "source"] {
        let link = root.join(folder).join(release).join(name);
        let Ok(target) = fs::read_link(&link) else { continue };
        let Ok(inside) = target.strip_prefix("/usr/src") else { continue };
        fs::remove_file(&link).map_err(Error::io("replace", &link))?;
        symlink(Path::new(to_src).join(inside), &link).map_err(Error::io("link", &link))?;
    }
    Ok(())
}

fn relative_includes(makefile: &str) -> String {
    makefile
        .lines()
        .map(|line| match (line.strip_prefix("include /usr/src/"), line.strip_prefix("KBUILD_OUTPUT=/usr/src/")) {
            (Some(rest), _) => format!("include $(dir $(lastword $(MAKEFILE_LIST)))../{rest}\n"),
            // Newer lines say so. At once: later the last file is another one.
            (_, Some(_)) => "KBUILD_OUTPUT := $(abspath $(dir $(lastword $(MAKEFILE_LIST))))\n".into(),
            _ => format!("{line}\n"),
        })
        .collect()
}

#[cfg(test)]
#[path = "fetch_tests.rs"]
mod tests;

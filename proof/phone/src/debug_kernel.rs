// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A debug kernel for the virtual phone: Debian's source of the stock kernel with every checker switched on (`debug_kernel/debug.config`),
//! built into the cache. Modules build against it as against the stock one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash64;

use crate::apt::{newest, Apt, Origin, Package};
use crate::cache::Cache;
use crate::command;
use crate::error::{BuildFailure, Error, Result};
use crate::fetch;
use crate::kernel::Kernel;
use crate::kmod::clean_make;
use crate::platform::Platform;
use crate::progress::Progress;

const SOURCE: &str = "linux-source-6.12";
const CONFIG: &str = include_str!("debug_kernel/debug.config");
/// Where finished ones are, below the cache; `current` there names the one in use.
const FOLDER: &str = "kernel-debug";
const RECORD: &str = "kernel.json";
/// What the address sanitizer looks at beside our modules. All of the kernel would take three times as long, to build and to run.
const SANITIZED: &str =
    "block block/% drivers/block drivers/block/% drivers/dma-buf drivers/dma-buf/% drivers/md drivers/md/% \
    fs fs/ext4 fs/jbd2 mm";
const TOOLS: [&str; 5] = ["make", "gcc", "flex", "bison", "bc"];
const TOOLS_MEND: &str = "apt-get install gcc make flex bison bc libelf-dev";
/// Lines of the build's output that an error shows.
const TAIL_LINES: usize = 20;

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    release: String,
    package_version: String,
}

/// The debug kernel if it is in the cache; never builds.
///
/// # Errors
/// The cache's record of it is damaged.
pub fn cached(cache: &Cache) -> Result<Option<Kernel>> {
    let Ok(name) = fs::read_to_string(cache.path(FOLDER).join("current")) else { return Ok(None) };
    let dir = cache.path(FOLDER).join(name.trim());
    // One of another configuration than ours is none.
    let Ok(text) = fs::read(dir.join(RECORD)) else { return Ok(None) };
    if !name.trim().ends_with(&configuration()) {
        return Ok(None);
    }
    let record: Record = serde_json::from_slice(&text)
        .map_err(|e| Error::bad(dir.join(RECORD), format!("{e}; delete the folder it is in")))?;
    Ok(Some(Kernel::unpacked(&dir, Platform::X86_64, record.release, record.package_version)))
}

/// The debug kernel from the cache, or built: half an hour of two CPUs. A build that is broken off goes on where it was.
///
/// # Errors
/// A tool or the source is missing, or the source does not build with our configuration.
pub fn kernel(cache: &Cache, progress: &Progress) -> Result<Kernel> {
    if let Some(kernel) = cached(cache)? {
        return Ok(kernel);
    }
    check_tools()?;
    let (version, build) = unpack(cache, progress)?;
    let package_version = format!("{version}-{}", configuration());
    configure(&build)?;
    let stage = progress.stage("build: debug kernel", 0);
    stage.message("half an hour on two CPUs");
    let sanitized = format!("KASAN_SANITIZE=$(if $(filter {SANITIZED},$(obj)),,n)");
    make(&build, &[&sanitized, "vmlinux", "modules"])?;
    let release = make(&build, &["-s", "kernelrelease"])?.trim().to_owned();
    // Others want the cache while this is built, so it is locked for the end only.
    let lock = cache.lock()?;
    cache.install_dir(&lock, &format!("{FOLDER}/{package_version}"), |dir| {
        keep(&build, dir, &release)?;
        let text = serde_json::to_vec(&Record { release: release.clone(), package_version: package_version.clone() })
            .map_err(|e| Error::bad(RECORD, e.to_string()))?;
        fs::write(dir.join(RECORD), text).map_err(Error::io("write", dir.join(RECORD)))
    })?;
    stage.finish("done");
    cache.write_file(&format!("{FOLDER}/current"), package_version.as_bytes())?;
    let _ = fs::remove_dir_all(&build);
    cached(cache)?.ok_or_else(|| Error::bad(cache.path(FOLDER), "built, and yet incomplete; delete it and try again"))
}

/// A word for the configuration, so that a kernel of another one is not taken for it.
fn configuration() -> String {
    format!("debug-{:08x}", XxHash64::oneshot(0, [CONFIG, SANITIZED].concat().as_bytes()) as u32)
}

fn check_tools() -> Result<()> {
    for tool in TOOLS {
        command::stdout(Command::new(tool).arg("--version"), TOOLS_MEND)?;
    }
    match Path::new("/usr/include/libelf.h").exists() {
        true => Ok(()),
        false => Err(Error::missing("libelf's headers are not installed", TOOLS_MEND)),
    }
}

/// The source package in a folder of its own that outlives a build that fails: version and tree.
fn unpack(cache: &Cache, progress: &Progress) -> Result<(String, PathBuf)> {
    let scratch = cache.scratch_dir()?;
    let stage = progress.stage("fetch: kernel source", 0);
    let apt = Apt::new(&scratch.path().join("apt"), &Origin::of_host()?, Platform::X86_64)?;
    let package = source(&apt, fetch::cached(cache)?.map(|kernel| kernel.package_version).as_deref())?;
    let dir = cache.path("build").join(format!("{}-{}", package.version, configuration()));
    let tree = dir.join(SOURCE);
    if !tree.join("Makefile").exists() {
        stage.message("140 MB");
        let deb = apt.download(&package, scratch.path())?;
        let root = scratch.path().join("root");
        command::stdout(Command::new("dpkg-deb").arg("-x").arg(deb).arg(&root), "use a Debian host")?;
        let staged = scratch.path().join("tree");
        fs::create_dir(&staged).map_err(Error::io("make", &staged))?;
        let archive = root.join(format!("usr/src/{SOURCE}.tar.xz"));
        command::stdout(
            Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(&staged),
            "apt-get install tar xz-utils",
        )?;
        fs::create_dir_all(&dir).map_err(Error::io("make", &dir))?;
        fs::rename(staged.join(SOURCE), &tree).map_err(Error::io("move the source to", &tree))?;
    }
    Ok((package.version, tree))
}

/// The source of the stock kernel in the cache, else the newest.
fn source(apt: &Apt, version: Option<&str>) -> Result<Package> {
    let found = apt.show(&[SOURCE])?;
    let same = found.iter().find(|package| Some(package.version.as_str()) == version).cloned();
    same.map_or_else(|| newest(found), |package| Ok(Some(package)))?
        .ok_or_else(|| Error::missing(format!("the mirror has no {SOURCE}"), "choose another with FOVEA_MIRROR"))
}

fn configure(tree: &Path) -> Result<()> {
    let wanted = tree.join(".fovea.config");
    fs::write(&wanted, CONFIG).map_err(Error::io("write", &wanted))?;
    make(tree, &[&format!("KCONFIG_ALLCONFIG={}", wanted.display()), "-s", "allnoconfig"])?;
    let path = tree.join(".config");
    let made = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
    let untrue = untrue(CONFIG, &made);
    match untrue.is_empty() {
        true => Ok(()),
        false => Err(Error::bad(tree, format!("this source does not take {}", untrue.join(", ")))),
    }
}

/// Lines of the wish that the configuration does not hold: an option that is gone, or waits for another.
fn untrue<'a>(wish: &'a str, made: &str) -> Vec<&'a str> {
    let holds = |line: &str| match line.strip_suffix("=n") {
        Some(name) => !made.lines().any(|one| one.strip_prefix(name).is_some_and(|rest| rest.starts_with('='))),
        None => made.lines().any(|one| one == line),
    };
    wish.lines().filter(|line| line.starts_with("CONFIG_") && !holds(line)).collect()
}

/// Kernel, modules and headers, laid out as the packages of the stock one are.
fn keep(tree: &Path, dir: &Path, release: &str) -> Result<()> {
    let (from, to) = (tree.join("vmlinux"), dir.join("vmlinux"));
    fs::copy(&from, &to).map_err(Error::io("copy", &from))?;
    let root = dir.join("root");
    make(tree, &[&format!("INSTALL_MOD_PATH={}", root.display()), "DEPMOD=true", "modules_install"])?;
    let headers = root.join(format!("usr/src/linux-headers-{release}"));
    let command = format!("KBUILD_RUN_COMMAND=scripts/package/install-extmod-build {}", headers.display());
    make(tree, &[&command, "run-command"]).map(drop)
}

/// Politely: half an hour of all CPUs.
fn make(tree: &Path, arguments: &[&str]) -> Result<String> {
    let mut make = clean_make("nice");
    let jobs = std::thread::available_parallelism().map_or(1, |n| n.get());
    make.args(["-n", "10", "make", &format!("-j{jobs}"), "KBUILD_BUILD_USER=fovea", "KBUILD_BUILD_HOST=fovea"]);
    make.args(arguments).current_dir(tree);
    let out = command::output(&mut make, TOOLS_MEND)?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned();
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let reason = lines.iter().find(|line| line.contains("error:") || line.contains("***")).or(lines.last());
    Err(Error::Build(Box::new(BuildFailure {
        reason: reason.map_or_else(|| "make said nothing".to_owned(), |line| line.trim().to_owned()),
        tail: lines[lines.len().saturating_sub(TAIL_LINES)..].iter().map(|&line| line.to_owned()).collect(),
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_source_does_not_take_is_named() {
        let wish = "# CONFIG_X=y\nCONFIG_A=y\nCONFIG_B=m\nCONFIG_C=n\nCONFIG_D=y\nCONFIG_E=n\n";
        let made = "CONFIG_A=y\nCONFIG_B=y\n# CONFIG_C is not set\nCONFIG_DD=y\nCONFIG_E=m\n";
        assert_eq!(untrue(wish, made), ["CONFIG_B=m", "CONFIG_D=y", "CONFIG_E=n"]);
    }

    #[test]
    fn one_of_another_configuration_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path()).unwrap();
        for (name, usable) in [("1-debug-0".to_owned(), false), (format!("1-{}", configuration()), true)] {
            cache.write_file(&format!("{FOLDER}/current"), name.as_bytes()).unwrap();
            assert!(cached(&cache).unwrap().is_none(), "an unfinished folder");
            let record = format!("{FOLDER}/{name}/{RECORD}");
            cache.write_file(&record, br#"{"release":"r","package_version":"1"}"#).unwrap();
            assert_eq!(cached(&cache).unwrap().is_some(), usable, "{name}");
        }
    }
}

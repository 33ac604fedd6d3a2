// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Builds Fovea's kernel modules for a kernel, out of tree, once for each state of their sources.
//!
//! `make` works in a copy in the cache, since the sources may be read-only, and one for each kernel, in which it compiles what has changed
//! since the last time: of another variant of the same sources that is little. The `.ko` files of each are kept beside it.

mod sources;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::Cache;
use crate::command;
use crate::error::{BuildFailure, Error, Result};
use crate::foreign;
use crate::kernel::Kernel;
use crate::platform::Platform;
use crate::progress::Progress;

pub use sources::Sources;

const TOOLS_MEND: &str = "apt-get install gcc make";
/// Lines of the compiler's output that an error shows.
const TAIL_LINES: usize = 20;
/// What an outer `make` (that of `make test`) tells an inner one, which has nothing to do with it.
const OUTER_MAKE: [&str; 5] = ["MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MAKEFILES"];

/// Modules that were built for one kernel.
#[derive(Clone, Debug)]
pub struct BuiltModules {
    dir: PathBuf,
}

impl BuiltModules {
    /// The `.ko` of each.
    ///
    /// # Errors
    /// The cache cannot be read.
    pub fn files(&self) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(Error::io("read", &self.dir))? {
            let path = entry.map_err(Error::io("read", &self.dir))?.path();
            if path.extension().is_some_and(|ending| ending == "ko") {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }
}

/// Builds the modules of `sources` for a kernel, or takes them from the cache. `broken` names a safety to leave out (`BROKEN=` of
/// `kmod/Makefile`), for tests that must notice.
///
/// # Errors
/// [`Error::Missing`] if the kernel came without headers or this machine has no compiler that works with them; [`Error::Build`] if the
/// sources do not compile.
pub fn build(
    cache: &Cache,
    kernel: &Kernel,
    sources: &Sources,
    broken: Option<&str>,
    progress: &Progress,
) -> Result<BuiltModules> {
    let headers = kernel.headers.as_deref().ok_or_else(|| {
        Error::missing(
            format!("kernel {} was named without its headers, so no module can be built for it", kernel.release),
            "leave --kernel out to have Debian's",
        )
    })?;
    let files = sources.read()?;
    let variant = broken.unwrap_or("");
    let digest = sources::digest(&files, &[&kernel.release, &kernel.package_version, variant]);
    let name = format!("kmod/{}-{digest:016x}", kernel.release);
    let dir = cache.path(&name);
    if dir.is_dir() {
        return Ok(BuiltModules { dir });
    }
    let lock = cache.lock()?;
    // Another run may have built them while this one waited for the lock.
    if !dir.is_dir() {
        let label =
            broken.map_or_else(|| "build: kernel modules".to_owned(), |b| format!("build: modules without {b}"));
        let _stage = progress.stage(label, 0);
        check_tools(kernel.platform, headers)?;
        cache.install_dir(&lock, &name, |staged| {
            let package = sources::digest(&BTreeMap::new(), &[&kernel.package_version]);
            let tree = cache.path(format!("kmod-build/{}-{package:016x}", kernel.release));
            if compile(&tree, &files, kernel.platform, headers, broken, staged)? == 0 {
                return Err(Error::bad(sources.root(), "make was content, and yet there is no .ko below kmod/"));
            }
            Ok(())
        })?;
    }
    Ok(BuiltModules { dir })
}

/// Makes the modules below `tree`, from what is there of the last time, and moves them to a folder; returns how many there were.
fn compile(
    tree: &Path,
    files: &BTreeMap<PathBuf, Vec<u8>>,
    platform: Platform,
    headers: &Path,
    broken: Option<&str>,
    to: &Path,
) -> Result<u32> {
    // A compiler that was killed leaves half an object, which is younger than its source.
    let unfinished = tree.join("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(tree).map_err(Error::io("remove", tree))?;
    }
    fs::create_dir_all(tree).map_err(Error::io("make", tree))?;
    fs::write(&unfinished, "").map_err(Error::io("write", &unfinished))?;
    let kmod = tree.join("kmod");
    let made = sources::update(files, tree).and_then(|()| make(&kmod, platform, headers, broken));
    match made.and_then(|()| take_modules(&kmod, to)) {
        Ok(taken) => fs::remove_file(&unfinished).map_err(Error::io("remove", &unfinished)).map(|()| taken),
        Err(error) => {
            let _ = fs::remove_dir_all(tree);
            Err(error)
        }
    }
}

/// The compiler, `make`, and the programs that come with the headers, which are built for Debian's libraries.
fn check_tools(platform: Platform, headers: &Path) -> Result<()> {
    let cross = platform.cross_compiler();
    let (compiler, mend) = match cross {
        None => ("gcc".to_owned(), TOOLS_MEND.to_owned()),
        Some(gnu) => (format!("{gnu}-gcc"), format!("apt-get install make gcc-{gnu}")),
    };
    for tool in ["make", &compiler] {
        command::stdout(Command::new(tool).arg("--version"), &mend)?;
    }
    for tool in ["scripts/basic/fixdep", "scripts/mod/modpost"] {
        let path = headers.join(tool);
        if !path.is_file() {
            return Err(Error::bad(headers, format!("no {tool} in the headers; delete the cache's kernel folder")));
        }
        // Without arguments both complain about that; what cannot run here complains about a library, or is not started at all.
        let runs =
            command::output(&mut Command::new(&path), "use Debian 12 or newer on amd64").map_err(|e| e.to_string());
        let complaint = match runs {
            Ok(out) => loader_complaint(&String::from_utf8_lossy(&out.stderr)),
            Err(why) => Some(why),
        };
        if let Some(why) = complaint {
            return Err(Error::missing(
                format!("{tool} of the kernel's headers does not run on this machine: {why}"),
                "use Debian 12 or newer on amd64",
            ));
        }
    }
    Ok(())
}

/// The line by which the dynamic loader says that a program cannot run.
fn loader_complaint(stderr: &str) -> Option<String> {
    let mut lines = stderr.lines();
    lines.find(|line| line.contains("error while loading") || line.contains("GLIBC_")).map(str::to_owned)
}

fn make(kmod: &Path, platform: Platform, headers: &Path, broken: Option<&str>) -> Result<()> {
    let mut make = clean_make("make");
    let jobs = std::thread::available_parallelism().map_or(1, |n| n.get());
    make.arg(format!("-j{jobs}")).arg("-C").arg(kmod);
    make.arg(assignment("KDIR", headers.as_os_str())).arg(assignment("BROKEN", broken.unwrap_or("").as_ref()));
    if let Some(gnu) = platform.cross_compiler() {
        make.arg(format!("ARCH={}", platform.kernel_arch())).arg(format!("CROSS_COMPILE={gnu}-"));
    } else if let Some(compiler) = foreign::compiler(headers) {
        make.arg(assignment("CC", compiler.as_os_str()));
    }
    let out = command::output(&mut make, TOOLS_MEND)?;
    if out.status.success() {
        return Ok(());
    }
    let text = [out.stdout, out.stderr].concat();
    Err(Error::Build(Box::new(failure(&String::from_utf8_lossy(&text), kmod))))
}

/// A command that an outer `make` has no say in.
pub(crate) fn clean_make(program: &str) -> Command {
    let mut make = Command::new(program);
    OUTER_MAKE.iter().for_each(|name| {
        make.env_remove(name);
    });
    make
}

fn assignment(name: &str, value: &std::ffi::OsStr) -> std::ffi::OsString {
    let mut text = std::ffi::OsString::from(name);
    text.push("=");
    text.push(value);
    text
}

/// What the compiler said, with the copy's folder left out of the file names.
fn failure(output: &str, kmod: &Path) -> BuildFailure {
    let output = output.replace(&format!("{}/", kmod.display()), "kmod/");
    let lines: Vec<&str> = output.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    // The first error is the cause; those of make only say that there was one.
    let first = |mark: &str| lines.iter().find(|line| line.contains(mark) && !line.starts_with("make"));
    let reason = first("error:").or_else(|| first("ERROR:")).or_else(|| first("***")).or(lines.last());
    let tail = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    BuildFailure {
        reason: reason.map_or_else(|| "make said nothing".to_owned(), |line| line.trim().to_owned()),
        tail: tail.iter().map(|&line| line.to_owned()).collect(),
    }
}

/// Moves every `.ko` below a folder, so that none of a module that is no more stays; returns how many there were.
fn take_modules(from: &Path, to: &Path) -> Result<u32> {
    let mut taken = 0;
    for entry in fs::read_dir(from).map_err(Error::io("read", from))? {
        let path = entry.map_err(Error::io("read", from))?.path();
        if path.is_dir() {
            taken += take_modules(&path, to)?;
        } else if let (Some("ko"), Some(name)) = (path.extension().and_then(|e| e.to_str()), path.file_name()) {
            fs::rename(&path, to.join(name)).map_err(Error::io("move", &path))?;
            taken += 1;
        }
    }
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_is_the_reason_and_the_end_is_shown() {
        let text =
            "make[1]: Entering directory '/h'\n  CC [M]  /c/kmod/x/x.o\n/c/kmod/x/x.c:3:1: error: expected ';'\n\
                    make[2]: *** [x.o] Error 1\nmake: *** [all] Error 2\n";
        let failure = failure(text, Path::new("/c/kmod"));
        assert_eq!(failure.reason, "kmod/x/x.c:3:1: error: expected ';'");
        assert_eq!((failure.tail.len(), failure.tail.last().unwrap().as_str()), (5, "make: *** [all] Error 2"));
        let modpost = super::failure("ERROR: modpost: \"nope\" [x.ko] undefined!\nmake: *** x\n", Path::new("/c"));
        assert!(modpost.reason.starts_with("ERROR: modpost"));
        assert_eq!(super::failure("\n", Path::new("/c")).reason, "make said nothing");
    }

    #[test]
    fn a_tool_for_another_system_is_told_from_one_that_wants_arguments() {
        assert_eq!(loader_complaint("Usage: fixdep <depfile> <target> <cmdline>\n"), None);
        assert!(loader_complaint("./modpost: /lib/libc.so.6: version `GLIBC_2.38' not found\n").is_some());
        assert!(loader_complaint("modpost: error while loading shared libraries: libelf.so.1\n").is_some());
    }
}

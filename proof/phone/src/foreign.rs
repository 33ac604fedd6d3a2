// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Building modules for the kernel of a newer Debian than the host's: its compiler, and what its headers bring as programs, are built
//! against a newer C library. They are unpacked beside the kernel with that library, and run by way of its loader; nothing is installed.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::apt::{newest, Apt, Package};
use crate::error::{Error, Result};
use crate::fetch::{download, unpack_deb};
use crate::progress::Progress;

/// In a kernel's folder: the compiler to build with, if it is not the host's.
const COMPILER: &str = "compiler";
const TOOLS: &str = "tools";
const LIBRARIES: &str = "tools/usr/lib/x86_64-linux-gnu";

/// The compiler that came with the headers' kernel; none if the host's own will do.
pub(crate) fn compiler(headers: &Path) -> Option<PathBuf> {
    // DIR/root/usr/src/HEADERS
    let text = fs::read_to_string(headers.ancestors().nth(4)?.join(COMPILER)).ok()?;
    Some(PathBuf::from(text.trim()))
}

/// Whether the headers' programs and the compiler they ask for run here: what cannot complains about a library.
fn run_here(headers: &Path, compiler: &str) -> bool {
    let started = |program: &Path| {
        let output = Command::new(program).arg("--version").output();
        output.is_ok_and(|out| !String::from_utf8_lossy(&out.stderr).contains("GLIBC_"))
    };
    started(&headers.join("scripts/mod/modpost")) && started(Path::new(&format!("x86_64-linux-gnu-{compiler}")))
}

/// Brings to a kernel in `dir`, which will be `target`, what building for it needs, if this host's own programs do not do.
pub(crate) fn bring_tools(
    dir: &Path,
    target: &Path,
    headers: &Package,
    apt: &Apt,
    scratch: &Path,
    progress: &Progress,
) -> Result<()> {
    let root = dir.join("root");
    let here = root.join("usr/src").join(&headers.name);
    let none = |what: &str| Error::missing(format!("the mirror has no {what}"), "choose another with FOVEA_MIRROR");
    // "gcc-14-for-host": the compiler of whatever machine builds.
    let compiler = headers
        .depends
        .iter()
        .find_map(|name| name.strip_suffix("-for-host").or(name.strip_suffix("-x86-64-linux-gnu")));
    let compiler = compiler.filter(|name| name.starts_with("gcc-")).ok_or_else(|| none("compiler for it"))?;
    if run_here(&here, compiler) {
        return Ok(());
    }
    let version = compiler.trim_start_matches("gcc-");
    let elf = newest(apt.search("^libelf1(t64)?$")?)?.ok_or_else(|| none("libelf1"))?;
    let names = [
        "libc6",
        "zlib1g",
        "libzstd1",
        "libisl23",
        "libmpc3",
        "libmpfr6",
        "libgmp10",
        &format!("{compiler}-x86-64-linux-gnu"),
        &format!("cpp-{version}-x86-64-linux-gnu"),
        &format!("lib{compiler}-dev"),
    ];
    let mut packages = vec![elf];
    for name in names {
        let mut found = apt.show(&[name])?;
        found.retain(|package| package.name == name);
        packages.push(newest(found)?.ok_or_else(|| none(name))?);
    }
    let tools = dir.join(TOOLS);
    fs::create_dir(&tools).map_err(Error::io("make", &tools))?;
    for deb in download(apt, packages.iter().collect(), scratch, progress)? {
        unpack_deb(&deb, &tools)?;
    }
    let gcc = format!("{TOOLS}/usr/bin/x86_64-linux-gnu-{compiler}");
    let mut programs = vec![dir.join(&gcc)];
    let libexec = dir.join(TOOLS).join("usr/libexec/gcc/x86_64-linux-gnu").join(version);
    programs.extend(["cc1", "collect2"].map(|name| libexec.join(name)));
    for folder in ["usr/lib", "usr/src"] {
        files(&root.join(folder), &mut programs)?;
    }
    for program in programs.iter().filter(|path| is_program(path)) {
        wrap(program, dir, target)?;
    }
    let path = dir.join(COMPILER);
    fs::write(&path, target.join(gcc).display().to_string()).map_err(Error::io("write", &path))
}

/// Files below linux-kbuild and the headers, whatever they are.
fn files(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Error::io("read", folder))?.flatten() {
        let (path, kind) = (entry.path(), entry.file_type().map_err(Error::io("look at", folder))?);
        if kind.is_dir() && path.file_name().is_some_and(|name| name != "modules") {
            files(&path, found)?;
        } else if kind.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

/// An executable file for x86-64.
fn is_program(path: &Path) -> bool {
    let executable = fs::metadata(path).is_ok_and(|about| about.permissions().mode() & 0o100 != 0);
    let mut head = [0; 20];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    executable && read.is_ok() && head.starts_with(b"\x7fELF\x02") && head[18] == 62
}

/// Puts a script in a program's place that starts it with its own loader and libraries.
fn wrap(program: &Path, dir: &Path, target: &Path) -> Result<()> {
    let mut elf = program.as_os_str().to_owned();
    elf.push(".elf");
    let elf = PathBuf::from(elf);
    fs::rename(program, &elf).map_err(Error::io("rename", program))?;
    let inside = elf.strip_prefix(dir).map_err(|_| Error::bad(&elf, "lies outside of its folder"))?;
    let libraries = target.join(LIBRARIES);
    let text = format!(
        "#!/bin/sh\nexec {libraries}/ld-linux-x86-64.so.2 --library-path {libraries} --argv0 \"$0\" {program} \"$@\"\n",
        libraries = libraries.display(),
        program = target.join(inside).display(),
    );
    fs::write(program, text).map_err(Error::io("write", program))?;
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).map_err(Error::io("make executable", program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapped_program_is_started_by_its_own_loader_where_it_will_be() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("modpost");
        fs::copy("/proc/self/exe", &program).unwrap();
        assert!(is_program(&program) && !is_program(Path::new("/etc/passwd")));
        wrap(&program, dir.path(), Path::new("/final")).unwrap();
        let text = fs::read_to_string(&program).unwrap();
        assert!(text.contains("/final/tools/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"), "{text}");
        assert!(text.contains(" /final/modpost.elf ") && is_program(&dir.path().join("modpost.elf")), "{text}");
        assert!(!is_program(&program), "a script is not wrapped again");
    }

    #[test]
    fn only_a_kernel_that_brought_a_compiler_has_one() {
        let dir = tempfile::tempdir().unwrap();
        let headers = dir.path().join("root/usr/src/linux-headers-7");
        fs::create_dir_all(&headers).unwrap();
        assert_eq!(compiler(&headers), None);
        fs::write(dir.path().join(COMPILER), "/x/gcc-14\n").unwrap();
        assert_eq!(compiler(&headers), Some("/x/gcc-14".into()));
    }
}

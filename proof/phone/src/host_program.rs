// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Programs of this machine for the guest, with the libraries they need.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::error::{Error, Result};
use crate::initramfs::GuestFile;

/// Where programs are looked for; `PATH` of a plain user has no sbin.
const PLACES: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];

/// The files that a program of this machine consists of: itself, as `/bin/NAME` in the guest, its libraries and their loader.
/// `name` may be a path. `mend` says how to get the program.
///
/// # Errors
/// The program or one of its libraries is not there.
pub fn with_libraries(name: &str, mend: &str) -> Result<Vec<GuestFile>> {
    let program = PLACES.iter().map(|place| Path::new(place).join(name)).find(|path| path.is_file());
    let program = program.ok_or_else(|| Error::missing(format!("{name} is not installed"), mend))?;
    let listing = command::stdout(Command::new("ldd").arg(&program), "use a Debian host")?;
    let libraries = libraries(&listing).map_err(|library| {
        Error::missing(format!("{} needs {library}, which is not installed", program.display()), mend)
    })?;
    let file_name = program.file_name().unwrap_or(program.as_os_str());
    let mut files = vec![GuestFile { to: Path::new("/bin").join(file_name), from: program.clone() }];
    files.extend(libraries.into_iter().map(|path| GuestFile { to: path.clone(), from: path }));
    Ok(files)
}

/// Paths in what ldd prints: `name => /path (0x…)`, or `/path (0x…)` for the loader. The kernel's own page (vdso) has none. The error
/// is the library that was not found.
fn libraries(listing: &str) -> std::result::Result<Vec<PathBuf>, String> {
    let mut paths = Vec::new();
    for line in listing.lines() {
        let (name, path) = line.split_once("=>").map_or((line, line), |(name, path)| (name, path));
        let path = path.trim();
        if path.starts_with("not found") {
            return Err(name.trim().to_owned());
        }
        if path.starts_with('/') {
            paths.push(PathBuf::from(path.split(" (").next().unwrap_or(path)));
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_loader_are_read_from_ldd() {
        let text = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let found = libraries(text).unwrap();
        assert_eq!(found, ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from));
        assert_eq!(libraries("\tlibx.so.1 => not found\n").unwrap_err(), "libx.so.1");
        assert!(libraries("\tstatically linked\n").unwrap().is_empty());
    }

    #[test]
    fn what_is_not_installed_is_named_with_its_mend() {
        let error = with_libraries("fovea-no-such-program", "install it").unwrap_err();
        assert!(error.is_missing() && error.to_string().ends_with("install it"), "{error}");
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Loading kernel modules without modprobe: small devices and the virtual phone have none.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::file::{read, Root};
use crate::Error;

/// `MODULE_INIT_COMPRESSED_FILE`: the kernel decompresses (CONFIG_MODULE_DECOMPRESS, since 5.17).
const COMPRESSED_FILE: i32 = 4;

/// Deepest chain of dependencies followed.
const DEPTH_MAX: u32 = 16;

/// Loads a module and what it depends on. Files are taken from `/lib/modules/RELEASE` by its modules.dep or, where that is
/// missing, from the flat folder `/modules` (`NN-name.ko`) by the `depends=` in the files. Loaded modules are passed over.
pub fn load(root: &Root, name: &'static str) -> Result<(), Error> {
    found(root, name)?.iter().try_for_each(|file| insert_if_new(file))
}

/// Loads a module, as [`load`] does, if there is a file of that name; whether there is.
pub(crate) fn load_if_there(root: &Root, name: &str) -> Result<bool, Error> {
    let Some(files) = files(root, name)? else { return Ok(false) };
    files.iter().try_for_each(|file| insert_if_new(file))?;
    Ok(true)
}

/// As [`load`], with parameters for the module itself ("size=4M devices=a:1M,b:2M").
///
/// # Errors
/// As the kernel says: EEXIST if it is loaded, and what the module refuses its parameters with.
pub fn load_with(root: &Root, name: &'static str, parameters: &str) -> Result<(), Error> {
    let text = CString::new(parameters).map_err(|_| Error::Refused {
        what: format!("parameters {parameters:?} for module {name}"),
        mend: "leave the NUL byte out".into(),
    })?;
    let files = found(root, name)?;
    let Some((file, dependencies)) = files.split_last() else { return Ok(()) };
    dependencies.iter().try_for_each(|file| insert_if_new(file))?;
    insert(file, &text)
}

fn found(root: &Root, name: &'static str) -> Result<Vec<PathBuf>, Error> {
    files(root, name)?.ok_or_else(|| Error::Missing {
        what: name,
        mend: format!(
            "no such module in {} or {}: install the kernel's module package, or build the module in",
            root.join("lib/modules").display(),
            root.join("modules").display()
        ),
    })
}

fn insert_if_new(file: &Path) -> Result<(), Error> {
    match insert(file, c"") {
        Err(Error::Call { source, .. }) if source.raw_os_error() == Some(libc::EEXIST) => Ok(()),
        result => result,
    }
}

/// Unloads a module, like rmmod.
///
/// # Errors
/// As the kernel says: EWOULDBLOCK (or EBUSY) while something uses it, ENOENT if it is not loaded.
pub fn remove(name: &str) -> Result<(), Error> {
    let text = CString::new(name).map_err(|e| Error::call("delete_module", name, io::Error::from(e)))?;
    rustix::system::delete_module(&text, libc::O_NONBLOCK).map_err(|e| Error::call("delete_module", name, e))
}

/// Whether the module's file is there.
pub fn is_available(root: &Root, name: &str) -> bool {
    files(root, name).is_ok_and(|files| files.is_some())
}

/// Unloads a module; it stays if something uses it.
pub(crate) fn unload(name: &str) {
    let _ = remove(name);
}

/// The files to load, in order.
fn files(root: &Root, name: &str) -> Result<Option<Vec<PathBuf>>, Error> {
    let release = read(&root.join("proc/sys/kernel/osrelease"))?;
    let folder = root.join("lib/modules").join(String::from_utf8_lossy(release.trim_ascii()).as_ref());
    if let Some(files) = read(&folder.join("modules.dep")).ok().and_then(|text| from_modules_dep(&text, name)) {
        return Ok(Some(files.iter().map(|file| folder.join(file)).collect()));
    }
    let mut order = Vec::new();
    Ok(from_flat_folder(&root.join("modules"), name, DEPTH_MAX, &mut order).then_some(order))
}

/// The module's line of modules.dep, `path: dependency dependency…`, back to front: a module stands before what it needs.
fn from_modules_dep(text: &[u8], name: &str) -> Option<Vec<String>> {
    let text = String::from_utf8_lossy(text);
    let (path, dependencies) = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(path, _)| module_name(Path::new(path)).as_deref() == Some(name))?;
    let mut files: Vec<String> = dependencies.split_whitespace().map(str::to_owned).collect();
    files.reverse();
    files.push(path.to_owned());
    Some(files)
}

/// Appends a module's file after those of its dependencies. A dependency without a file is left out: it may be built in.
fn from_flat_folder(folder: &Path, name: &str, depth: u32, order: &mut Vec<PathBuf>) -> bool {
    let mut entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let Some(path) = entries.find(|path| module_name(path).as_deref() == Some(name)) else { return false };
    if order.contains(&path) || depth == 0 {
        return true;
    }
    let needed = File::open(&path).and_then(dependencies).unwrap_or_default();
    for dependency in needed {
        from_flat_folder(folder, &dependency, depth - 1, order);
    }
    order.push(path);
    true
}

/// What the .modinfo section of an uncompressed module says: `depends=a,b` between two NUL bytes. Names are as the kernel has them,
/// with underscores. Read piece by piece: with its debug information a module has megabytes.
///
/// # Errors
/// It cannot be read.
pub fn dependencies(mut module: impl Read) -> io::Result<Vec<String>> {
    const MARK: &[u8] = b"\0depends=";
    const PIECE_BYTES: u64 = 64 << 10;
    let mut held = Vec::new();
    loop {
        let read = module.by_ref().take(PIECE_BYTES).read_to_end(&mut held)?;
        let found = memchr::memmem::find(&held, MARK);
        let list = found.map(|at| &held[at + MARK.len()..]);
        if let Some((list, end)) = list.and_then(|list| Some((list, memchr::memchr(0, list)?))) {
            let names = String::from_utf8_lossy(&list[..end]).replace('-', "_");
            return Ok(names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect());
        }
        if read == 0 {
            return Ok(Vec::new());
        }
        // What goes on in the next piece stays.
        held.drain(..found.unwrap_or(held.len().saturating_sub(MARK.len())));
    }
}

/// The module's name: the file's, without what orders it (`07-`) and without `.ko`, `.ko.xz` and their like; the kernel takes `-`
/// and `_` for the same.
fn module_name(path: &Path) -> Option<String> {
    let file = path.file_name()?.to_str()?;
    let (name, rest) = file.split_once(".ko")?;
    if !matches!(rest, "" | ".xz" | ".gz" | ".zst") {
        return None;
    }
    let name = match name.split_once('-') {
        Some((order, rest)) if !order.is_empty() && order.bytes().all(|b| b.is_ascii_digit()) => rest,
        _ => name,
    };
    Some(name.replace('-', "_"))
}

fn insert(path: &Path, parameters: &CStr) -> Result<(), Error> {
    let compressed = path.extension().is_some_and(|e| e != "ko");
    let file = File::open(path).map_err(|e| Error::file("opening", path, e))?;
    let flags = if compressed { COMPRESSED_FILE } else { 0 };
    match rustix::system::finit_module(&file, parameters, flags).map_err(io::Error::from) {
        Ok(()) => Ok(()),
        Err(e) => match e.raw_os_error() {
            Some(libc::EINVAL | libc::EOPNOTSUPP) if compressed => Err(Error::Missing {
                what: "loading compressed modules",
                mend: format!("this kernel cannot (CONFIG_MODULE_DECOMPRESS): run modprobe for {}", path.display()),
            }),
            Some(libc::EPERM) => Err(Error::Missing {
                what: "loading modules",
                mend: format!(
                    "{} needs root and, with secure boot, a signature; or modules are disabled",
                    path.display()
                ),
            }),
            _ => Err(Error::call("finit_module", path.display(), e)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn dependencies_come_first() {
        let text = b"kernel/a.ko:\nkernel/zram/zram.ko.xz: kernel/zsmalloc.ko.xz kernel/lz4-compress.ko.xz kernel/base.ko.xz\n";
        let files = from_modules_dep(text, "zram").unwrap();
        assert_eq!(
            files,
            ["kernel/base.ko.xz", "kernel/lz4-compress.ko.xz", "kernel/zsmalloc.ko.xz", "kernel/zram/zram.ko.xz"]
        );
        assert!(from_modules_dep(text, "lz4").is_none());
    }

    #[test]
    fn a_flat_folder_is_ordered_by_what_the_files_say() {
        let folder = tempfile::tempdir().unwrap();
        for (name, depends) in [
            ("01-zram.ko", "zsmalloc,lz4-compress,built_in"),
            ("02-zsmalloc.ko", ""),
            ("03-lz4-compress.ko", "zsmalloc"),
        ] {
            fs::write(folder.path().join(name), format!("ELF\0license=GPL\0depends={depends}\0name=x\0")).unwrap();
        }
        let mut order = Vec::new();
        assert!(from_flat_folder(folder.path(), "zram", DEPTH_MAX, &mut order));
        let names: Vec<_> = order.iter().map(|p| p.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["02-zsmalloc.ko", "03-lz4-compress.ko", "01-zram.ko"]);
        assert!(!from_flat_folder(folder.path(), "ext4", DEPTH_MAX, &mut order));
    }

    #[test]
    fn dependencies_are_found_wherever_they_lie() {
        let list = b"\0depends=dm-mod,fovea-heap\0name=x\0";
        // Across the borders of the pieces, and in all of the first and the last of them.
        for before in (0..70).chain((64 << 10) - 70..(64 << 10) + 70).chain([200_000]) {
            let module = [&vec![b'x'; before][..], list, &[b'x'; 100_000]].concat();
            assert_eq!(dependencies(&module[..]).unwrap(), ["dm_mod", "fovea_heap"], "{before}");
        }
        for none in [&b""[..], b"\0depends=\0", b"\0depends=cut", b"depends=a\0"] {
            assert!(dependencies(none).unwrap().is_empty());
        }
    }

    #[test]
    fn a_missing_module_is_named_with_the_mend() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("proc/sys/kernel")).unwrap();
        fs::write(folder.path().join("proc/sys/kernel/osrelease"), "6.1.0\n").unwrap();
        let error = load(&Root::at(folder.path()), "zram").unwrap_err();
        assert!(matches!(error, Error::Missing { what: "zram", .. }), "{error}");
    }

    #[test]
    fn names_are_what_the_kernel_calls_them() {
        let name = |file: &str| module_name(Path::new(file));
        assert_eq!(name("a/lz4-compress.ko.zst").as_deref(), Some("lz4_compress"));
        assert_eq!(name("12-null_blk.ko").as_deref(), Some("null_blk"));
        assert_eq!((name("zram.ko.sig"), name("readme")), (None, None));
    }
}

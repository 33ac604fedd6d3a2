// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The guest's file system: newc cpio archives, the same bytes for the same content.
//!
//! The kernel unpacks archives that follow each other, so what all boots share is built once ([`base`]) and each boot's plan is
//! appended ([`with_plan`]).

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use cpio::newc;
use fovea_scenario::Plan;

use crate::error::{Error, Result};
use crate::modules::Module;
use crate::platform::Platform;
use crate::static_program::static_program;

/// Something in an archive.
#[derive(Clone, Debug)]
enum Node {
    Dir,
    File { permissions: u32, bytes: Vec<u8> },
    Symlink(String),
    CharDevice { permissions: u32, major: u32, minor: u32 },
}

/// Programs that go into the guest; each must be static.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    /// The first process, `/init`.
    pub init: PathBuf,
    /// The command line, `/bin/fovea`, which is the daemon too.
    pub fovea: PathBuf,
    /// `/bin/busybox`, also `/bin/sh`.
    pub busybox: PathBuf,
}

impl Programs {
    /// `fovea-guest` and `fovea` from `$FOVEA_GUEST_DIR` if that is set, else from beside the running program, else from
    /// `../lib/fovea` as seen from there. Installed, it is called `fovea-lab`: the same program as in a checkout, and so the same figures.
    ///
    /// # Errors
    /// One is in none of these places.
    pub fn find(busybox: PathBuf) -> Result<Programs> {
        Programs::find_for(Platform::X86_64, busybox)
    }

    /// The same for another machine: in each of those places in the folder named after its Rust target; in a checkout the folder `target`
    /// has one beside the host's.
    ///
    /// # Errors
    /// As [`Programs::find`].
    pub fn find_for(platform: Platform, busybox: PathBuf) -> Result<Programs> {
        let named = std::env::var_os("FOVEA_GUEST_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let here = std::env::current_exe().map_err(Error::io("find the running program", "/proc/self/exe"))?;
        let places = places(named, &here, platform);
        let mend = match platform {
            Platform::X86_64 => "run `make build`".to_owned(),
            other => format!("run `make guest MACHINE={other}`"),
        };
        let fovea = find("fovea-lab", &places, &mend).or_else(|_| find("fovea", &places, &mend))?;
        Ok(Programs { init: find("fovea-guest", &places, &mend)?, fovea, busybox })
    }

    /// A program that only some phones have, `/bin/NAME` in the guest, from where the command line is.
    ///
    /// # Errors
    /// It is not there.
    pub fn beside(&self, name: &str) -> Result<GuestFile> {
        let places: Vec<PathBuf> = self.fovea.parent().into_iter().map(Path::to_path_buf).collect();
        Ok(GuestFile { to: Path::new("/bin").join(name), from: find(name, &places, "run `make build`")? })
    }
}

fn places(named: Option<PathBuf>, exe: &Path, platform: Platform) -> Vec<PathBuf> {
    let beside = exe.parent().unwrap_or(Path::new("."));
    let places = named.map_or_else(|| vec![beside.to_path_buf(), beside.join("../lib/fovea")], |dir| vec![dir]);
    if platform == Platform::X86_64 {
        return places;
    }
    let target = platform.rust_target();
    let other = |dir: &PathBuf| {
        // TARGET/PROFILE; of another machine's programs there is one profile.
        let is_target = |dir: &Path| dir.file_name().is_some_and(|name| name == Platform::X86_64.rust_target());
        let above = dir.ancestors().find(|dir| is_target(dir)).and_then(Path::parent);
        above.map_or_else(|| dir.join(target), |above| above.join(target).join(GUEST_PROFILE))
    };
    places.iter().map(other).collect()
}

/// The profile that programs for the guest of another machine are built in.
const GUEST_PROFILE: &str = "phone";

fn find(name: &str, places: &[PathBuf], mend: &str) -> Result<PathBuf> {
    places.iter().map(|dir| dir.join(name)).find(|path| path.is_file()).ok_or_else(|| {
        let looked: Vec<String> = places.iter().map(|dir| dir.display().to_string()).collect();
        Error::missing(format!("no {name} in {}", looked.join(" or ")), mend)
    })
}

/// The archive that all boots share: programs, modules as `/modules/NN-name.ko` in load order, device nodes, empty folders.
///
/// # Errors
/// A program cannot be read, is not static, or is another machine's.
pub fn base(programs: &Programs, platform: Platform, modules: &[Module]) -> Result<Vec<u8>> {
    let mut nodes = BTreeMap::new();
    for dir in ["bin", "dev", "etc", "mnt", "modules", "proc", "run", "sys", "tmp"] {
        nodes.insert(dir.to_owned(), Node::Dir);
    }
    // The kernel opens /dev/console for the first process before anything is mounted.
    nodes.insert("dev/console".into(), Node::CharDevice { permissions: 0o600, major: 5, minor: 1 });
    nodes.insert("dev/null".into(), Node::CharDevice { permissions: 0o666, major: 1, minor: 3 });
    for (name, path) in [("init", &programs.init), ("bin/fovea", &programs.fovea), ("bin/busybox", &programs.busybox)] {
        nodes.insert(name.into(), Node::File { permissions: 0o755, bytes: static_program(path, platform)? });
    }
    nodes.insert("bin/sh".into(), Node::Symlink("busybox".into()));
    for (index, module) in modules.iter().enumerate() {
        let name = format!("modules/{index:02}-{}.ko", module.name);
        nodes.insert(name, Node::File { permissions: 0o644, bytes: module.bytes.clone() });
    }
    archive(&nodes)
}

/// The whole image of one boot: the shared archive and `/plan.json` behind it.
///
/// # Errors
/// The plan cannot be written as JSON.
pub fn with_plan(base: &[u8], plan: &Plan) -> Result<Vec<u8>> {
    let bytes = serde_json::to_vec(plan).map_err(|e| Error::bad("plan.json", e.to_string()))?;
    let nodes = BTreeMap::from([("plan.json".to_owned(), Node::File { permissions: 0o644, bytes })]);
    Ok([base, &archive(&nodes)?].concat())
}

/// A file for the guest beside the programs that every phone has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestFile {
    /// Where it is in the guest: an absolute path.
    pub to: PathBuf,
    /// The file on this machine; its permissions come along.
    pub from: PathBuf,
}

/// An archive of such files with the folders they are in.
///
/// # Errors
/// A file cannot be read, or its place in the guest is no absolute path.
pub fn files(files: &[GuestFile]) -> Result<Vec<u8>> {
    let mut nodes = BTreeMap::new();
    for file in files {
        let name = file.to.strip_prefix("/").ok().and_then(Path::to_str).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| Error::bad(&file.to, "is no place in the guest; begin it with /"))?;
        for folder in Path::new(name).ancestors().skip(1).filter_map(Path::to_str).filter(|name| !name.is_empty()) {
            nodes.insert(folder.to_owned(), Node::Dir);
        }
        let bytes = fs::read(&file.from).map_err(Error::io("read", &file.from))?;
        let permissions = fs::metadata(&file.from).map_err(Error::io("read", &file.from))?.permissions().mode() & 0o777;
        nodes.insert(name.to_owned(), Node::File { permissions, bytes });
    }
    archive(&nodes)
}

/// An archive of what lies below a folder and `place` gives a path in the guest, with the folders it is in. `links` are symbolic links and
/// `texts` files beside that. Of two at one place the text counts, then the link.
///
/// # Errors
/// Something in the folder cannot be read.
pub(crate) fn tree(
    root: &Path,
    place: impl Fn(&str) -> Option<String>,
    links: &[(&str, &str)],
    texts: &[(&str, &str)],
) -> Result<Vec<u8>> {
    let mut nodes = BTreeMap::new();
    walk(root, root, &place, &mut nodes)?;
    for (name, target) in links {
        nodes.insert((*name).to_owned(), Node::Symlink((*target).to_owned()));
    }
    for (name, text) in texts {
        nodes.insert((*name).to_owned(), Node::File { permissions: 0o644, bytes: text.as_bytes().to_vec() });
    }
    let parents: Vec<String> = nodes
        .keys()
        .flat_map(|name| Path::new(name).ancestors().skip(1).filter_map(Path::to_str).map(str::to_owned))
        .filter(|name| !name.is_empty())
        .collect();
    for name in parents {
        nodes.entry(name).or_insert(Node::Dir);
    }
    archive(&nodes)
}

fn walk(
    root: &Path,
    dir: &Path,
    place: &impl Fn(&str) -> Option<String>,
    nodes: &mut BTreeMap<String, Node>,
) -> Result<()> {
    for entry in fs::read_dir(dir).map_err(Error::io("read", dir))? {
        let path = entry.map_err(Error::io("read", dir))?.path();
        let about = fs::symlink_metadata(&path).map_err(Error::io("read", &path))?;
        if about.is_dir() {
            walk(root, &path, place, nodes)?;
            continue;
        }
        let name = path.strip_prefix(root).ok().and_then(Path::to_str);
        let Some(name) = name.and_then(place) else { continue };
        let node = if about.is_symlink() {
            let target = fs::read_link(&path).map_err(Error::io("read", &path))?;
            Node::Symlink(target.to_string_lossy().into_owned())
        } else {
            let bytes = fs::read(&path).map_err(Error::io("read", &path))?;
            Node::File { permissions: about.permissions().mode() & 0o777, bytes }
        };
        nodes.insert(name, node);
    }
    Ok(())
}

fn archive(nodes: &BTreeMap<String, Node>) -> Result<Vec<u8>> {
    write_archive(nodes).map_err(Error::io("build", "the guest's image"))
}

/// A sorted map has a folder before what is in it, as the kernel needs.
fn write_archive(nodes: &BTreeMap<String, Node>) -> io::Result<Vec<u8>> {
    const DIR: u32 = 0o040_000;
    const FILE: u32 = 0o100_000;
    const SYMLINK: u32 = 0o120_000;
    const CHAR_DEVICE: u32 = 0o020_000;
    let mut out = Vec::new();
    for (ino, (name, node)) in (1u32..).zip(nodes) {
        let entry = newc::Builder::new(name).ino(ino);
        let (entry, content): (_, &[u8]) = match node {
            Node::Dir => (entry.mode(DIR | 0o755).nlink(2), b""),
            Node::File { permissions, bytes } => (entry.mode(FILE | permissions), bytes),
            Node::Symlink(target) => (entry.mode(SYMLINK | 0o777), target.as_bytes()),
            Node::CharDevice { permissions, major, minor } => {
                (entry.mode(CHAR_DEVICE | permissions).rdev_major(*major).rdev_minor(*minor), b"")
            }
        };
        let size = u32::try_from(content.len()).map_err(|_| io::Error::other(format!("/{name} is over 4 GiB")))?;
        let mut writer = entry.write(&mut out, size);
        writer.write_all(content)?;
        writer.finish()?;
    }
    newc::trailer(&mut out)?;
    // The next archive must begin at a multiple of four; cpio's own block size is the customary one.
    out.resize(out.len().next_multiple_of(512), 0);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Name, mode, rdev, content.
    type Found = (String, u32, (u32, u32), Vec<u8>);

    /// Everything in archives that follow each other, as the kernel would see it.
    fn read_back(mut bytes: &[u8]) -> Vec<Found> {
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let mut reader = newc::Reader::new(bytes).unwrap();
            let entry = reader.entry();
            assert_eq!((entry.mtime(), entry.uid(), entry.gid()), (0, 0, 0));
            if entry.is_trailer() {
                let rest = reader.finish().unwrap();
                bytes = &rest[rest.iter().take_while(|&&byte| byte == 0).count()..];
                continue;
            }
            let (name, mode) = (entry.name().to_owned(), entry.mode());
            let rdev = (entry.rdev_major(), entry.rdev_minor());
            let mut content = Vec::new();
            reader.read_to_end(&mut content).unwrap();
            found.push((name, mode, rdev, content));
            bytes = reader.finish().unwrap();
        }
        found
    }

    /// A minimal program: an ELF header and one program header of the type asked for.
    fn elf(program_header: u32) -> Vec<u8> {
        let mut bytes = vec![0u8; 64 + 56];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        bytes[16..20].copy_from_slice(&[2, 0, 62, 0]); // ET_EXEC, x86-64
        bytes[20] = 1;
        bytes[32] = 64; // e_phoff
        bytes[52] = 64; // e_ehsize
        bytes[54] = 56; // e_phentsize
        bytes[56] = 1; // e_phnum
        bytes[64..68].copy_from_slice(&program_header.to_le_bytes());
        bytes
    }

    fn programs(dir: &Path) -> Programs {
        for name in ["fovea-guest", "fovea", "busybox"] {
            fs::write(dir.join(name), elf(object::elf::PT_LOAD)).unwrap();
        }
        let at = |name| dir.join(name);
        Programs { init: at("fovea-guest"), fovea: at("fovea"), busybox: at("busybox") }
    }

    #[test]
    fn the_image_reads_back_as_what_went_in() {
        let dir = tempfile::tempdir().unwrap();
        let programs = programs(dir.path());
        let modules = ["null_blk", "zram"].map(|name| Module { name: name.into(), bytes: name.as_bytes().to_vec() });
        let base = base(&programs, Platform::X86_64, &modules).unwrap();
        assert_eq!(base.len() % 512, 0);
        assert_eq!(base, super::base(&programs, Platform::X86_64, &modules).unwrap(), "the same bytes every time");
        let plan = crate::testing::plan();
        let found = read_back(&with_plan(&base, &plan).unwrap());
        let names: Vec<&str> = found.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "bin",
                "bin/busybox",
                "bin/fovea",
                "bin/sh",
                "dev",
                "dev/console",
                "dev/null",
                "etc",
                "init",
                "mnt",
                "modules",
                "modules/00-null_blk.ko",
                "modules/01-zram.ko",
                "proc",
                "run",
                "sys",
                "tmp",
                "plan.json",
            ]
        );
        let get = |name: &str| found.iter().find(|(n, ..)| n == name).unwrap();
        assert_eq!(get("init").1, 0o100_755);
        assert_eq!(get("bin/sh").1, 0o120_777);
        assert_eq!(get("bin/sh").3, b"busybox");
        assert_eq!((get("dev/console").1, get("dev/console").2), (0o020_600, (5, 1)));
        assert_eq!((get("dev/null").1, get("dev/null").2), (0o020_666, (1, 3)));
        assert_eq!(get("modules/00-null_blk.ko").3, b"null_blk");
        assert_eq!(serde_json::from_slice::<Plan>(&get("plan.json").3).unwrap(), plan);
    }

    #[test]
    fn other_files_come_with_their_folders_and_permissions() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("tool");
        fs::write(&from, "tool").unwrap();
        fs::set_permissions(&from, fs::Permissions::from_mode(0o755)).unwrap();
        let file = |to: &str| GuestFile { to: to.into(), from: from.clone() };
        let found = read_back(&files(&[file("/usr/sbin/tool"), file("/usr/lib/x")]).unwrap());
        let names: Vec<&str> = found.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, ["usr", "usr/lib", "usr/lib/x", "usr/sbin", "usr/sbin/tool"]);
        assert_eq!((found[4].1, found[4].3.as_slice()), (0o100_755, b"tool".as_slice()));
        assert!(files(&[file("relative")]).is_err() && files(&[file("/")]).is_err());
    }

    #[test]
    fn a_dynamically_linked_program_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let programs = programs(dir.path());
        fs::write(&programs.fovea, elf(object::elf::PT_INTERP)).unwrap();
        let error = base(&programs, Platform::X86_64, &[]).unwrap_err().to_string();
        assert!(error.contains("dynamically linked") && error.contains("make build"), "{error}");
        fs::write(&programs.fovea, elf(object::elf::PT_LOAD)).unwrap();
        let error = base(&programs, Platform::VirtArm64, &[]).unwrap_err().to_string();
        assert!(error.contains("another machine than virt-arm64"), "{error}");
        fs::write(&programs.fovea, "#!/bin/sh").unwrap();
        assert!(base(&programs, Platform::X86_64, &[]).is_err());
    }

    #[test]
    fn programs_are_looked_for_beside_us_and_in_lib_unless_a_folder_is_named() {
        let exe = Path::new("/usr/bin/fovea");
        let pc = Platform::X86_64;
        assert_eq!(places(None, exe, pc), [Path::new("/usr/bin"), Path::new("/usr/bin/../lib/fovea")]);
        assert_eq!(places(Some("/x".into()), exe, pc), [Path::new("/x")]);
        let arm = Platform::VirtArm64Pages16K;
        assert_eq!(places(None, exe, arm)[1], Path::new("/usr/bin/../lib/fovea/aarch64-unknown-linux-gnu"));
        let checkout = Path::new("/c/target/x86_64-unknown-linux-gnu/debug/deps");
        let built = Path::new("/c/target/aarch64-unknown-linux-gnu/phone");
        assert_eq!(places(Some(checkout.to_owned()), exe, arm), [built]);
        let error = find("fovea-guest", &places(Some("/nowhere".into()), exe, pc), "run `make build`").unwrap_err();
        assert_eq!(error.to_string(), "no fovea-guest in /nowhere; run `make build`");
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which kernel modules go into the image, and in which order.
//!
//! Dependencies are read from the modules themselves (`depends=` in their `.modinfo` section, written by modpost): a package that was
//! unpacked and not installed has no `modules.dep`, and modules built out of tree are in none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection};

use crate::error::{Error, Result};
use crate::unpack;

/// A module, decompressed, ready to be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its name, with underscores.
    pub name: String,
    /// The `.ko`.
    pub bytes: Vec<u8>,
}

/// Modules that can be had, by name.
#[derive(Debug, Default)]
pub struct ModuleTree {
    files: BTreeMap<String, PathBuf>,
    builtin: BTreeSet<String>,
}

impl ModuleTree {
    /// Looks a folder like `/lib/modules/RELEASE` through: `kernel/`, `updates/` and `extra/` below it, and `modules.builtin`.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn open(dir: &Path) -> Result<ModuleTree> {
        let mut tree = ModuleTree::default();
        // depmod's default search order: what is in updates/ goes before the kernel's own.
        for sub in ["kernel", "extra", "updates"] {
            let sub = dir.join(sub);
            if sub.is_dir() {
                tree.walk(&sub)?;
            }
        }
        let list = dir.join("modules.builtin");
        let builtin = fs::read_to_string(&list).map_err(Error::io("read", &list))?;
        tree.builtin = builtin.lines().filter_map(|line| module_name(Path::new(line))).collect();
        Ok(tree)
    }

    /// Adds a module built elsewhere, in the place of one of the same name, and returns its name.
    ///
    /// # Errors
    /// The file's name is not a module's.
    pub fn add(&mut self, ko: &Path) -> Result<String> {
        let name = module_name(ko).ok_or_else(|| Error::bad(ko, "is no .ko, .ko.xz, .ko.zst or .ko.gz"))?;
        self.files.insert(name.clone(), ko.to_path_buf());
        Ok(name)
    }

    fn walk(&mut self, dir: &Path) -> Result<()> {
        for entry in fs::read_dir(dir).map_err(Error::io("read", dir))? {
            let entry = entry.map_err(Error::io("read", dir))?;
            let path = entry.path();
            if entry.file_type().map_err(Error::io("read", &path))?.is_dir() {
                self.walk(&path)?;
            } else if let Some(name) = module_name(&path) {
                self.files.insert(name, path);
            }
        }
        Ok(())
    }

    /// Codecs that zram has modprobe load, of which a guest has none: before Linux 6.12 it compresses through the crypto API. What Fovea asks
    /// for, and the kernel's own default; as far as they are there, and not where zram itself depends on what it compresses with.
    ///
    /// # Errors
    /// As [`ModuleTree::load_order`], for zram.
    pub fn zram_codecs(&self) -> Result<Vec<&'static str>> {
        const CODECS: [&str; 2] = ["lz4", "lzo-rle"];
        let by_itself = self.load_order(&["zram"])?.iter().any(|module| module.name.ends_with("_compress"));
        Ok(CODECS.into_iter().filter(|name| !by_itself && self.files.contains_key(&normal(name))).collect())
    }

    /// The wanted modules and all they depend on, each after what it depends on, none twice, none that is built in.
    ///
    /// # Errors
    /// One is not there, is no module, or modules depend on each other in a circle.
    pub fn load_order(&self, wanted: &[&str]) -> Result<Vec<Module>> {
        let mut order = Order { tree: self, done: BTreeSet::new(), path: Vec::new(), modules: Vec::new() };
        wanted.iter().try_for_each(|name| order.add(&normal(name)))?;
        Ok(order.modules)
    }
}

struct Order<'a> {
    tree: &'a ModuleTree,
    done: BTreeSet<String>,
    /// From a wanted module down to the one at hand.
    path: Vec<String>,
    modules: Vec<Module>,
}

impl Order<'_> {
    fn add(&mut self, name: &str) -> Result<()> {
        if self.done.contains(name) || self.tree.builtin.contains(name) && !self.tree.files.contains_key(name) {
            return Ok(());
        }
        let Some(file) = self.tree.files.get(name) else {
            let needed = self.path.last().map(|by| format!(" (needed by {by})")).unwrap_or_default();
            return Err(Error::missing(
                format!("neither the kernel nor this project has a module {name}{needed}"),
                "correct the name, or name a kernel that has it with --kernel and --modules",
            ));
        };
        if self.path.iter().any(|above| above == name) {
            return Err(Error::bad(file, format!("depends on itself through {}", self.path.join(", "))));
        }
        let packed = fs::read(file).map_err(Error::io("read", file))?;
        let bytes = unpack::decompress(&packed).map_err(|e| Error::bad(file, e.to_string()))?;
        let depends = depends(&bytes).map_err(|why| Error::bad(file, why))?;
        self.path.push(name.to_owned());
        depends.iter().try_for_each(|needed| self.add(needed))?;
        self.path.pop();
        self.done.insert(name.to_owned());
        self.modules.push(Module { name: name.to_owned(), bytes });
        Ok(())
    }
}

/// A module's name from its file's: without the ending, with underscores as the kernel has it.
fn module_name(path: &Path) -> Option<String> {
    let file = path.file_name()?.to_str()?;
    let stem = [".ko", ".ko.xz", ".ko.zst", ".ko.gz"].iter().find_map(|ending| file.strip_suffix(ending))?;
    Some(normal(stem))
}

fn normal(name: &str) -> String {
    name.replace('-', "_")
}

/// Names after `depends=` in a module's `.modinfo`.
fn depends(ko: &[u8]) -> std::result::Result<Vec<String>, String> {
    let file = object::File::parse(ko).map_err(|e| format!("is no kernel module: {e}"))?;
    let section = file.section_by_name(".modinfo").ok_or("is no kernel module: it has no .modinfo")?;
    let data = section.data().map_err(|e| format!("has a damaged .modinfo: {e}"))?;
    let list = data.split(|&byte| byte == 0).find_map(|field| field.strip_prefix(b"depends=")).unwrap_or(b"");
    let list = std::str::from_utf8(list).map_err(|_| "has dependencies that are no text")?;
    Ok(list.split(',').filter(|name| !name.is_empty()).map(normal).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::write::{Object as ObjectWriter, StandardSegment};
    use object::{Architecture, BinaryFormat, Endianness, SectionKind};

    fn ko(depends: &str) -> Vec<u8> {
        let mut file = ObjectWriter::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
        let segment = file.segment_name(StandardSegment::Data).to_vec();
        let section = file.add_section(segment, b".modinfo".to_vec(), SectionKind::ReadOnlyData);
        file.append_section_data(section, format!("license=GPL\0depends={depends}\0name=x\0").as_bytes(), 1);
        file.write().unwrap()
    }

    fn tree(dir: &Path, modules: &[(&str, &str)]) -> ModuleTree {
        let sub = dir.join("kernel/drivers");
        fs::create_dir_all(&sub).unwrap();
        fs::write(dir.join("modules.builtin"), "kernel/lib/crc32.ko\nkernel/mm/z-pool.ko\n").unwrap();
        for (file, depends) in modules {
            let bytes = match file.ends_with(".zst") {
                true => zstd::stream::encode_all(&ko(depends)[..], 1).unwrap(),
                false => ko(depends),
            };
            fs::write(sub.join(file), bytes).unwrap();
        }
        ModuleTree::open(dir).unwrap()
    }

    fn names(modules: &[Module]) -> Vec<&str> {
        modules.iter().map(|module| module.name.as_str()).collect()
    }

    #[test]
    fn each_module_comes_after_what_it_depends_on_and_once() {
        let dir = tempfile::tempdir().unwrap();
        let tree = tree(
            dir.path(),
            &[
                ("top.ko", "left,right"),
                ("left.ko", "base-x"),
                ("right.ko.zst", "base_x,crc32"),
                ("base-x.ko", "z_pool"),
            ],
        );
        let modules = tree.load_order(&["top", "base-x", "crc32", "left"]).unwrap();
        assert_eq!(names(&modules), ["base_x", "left", "right", "top"]);
        assert_eq!(modules[2].bytes, ko("base_x,crc32"), "decompressed");
    }

    #[test]
    fn a_module_of_ones_own_takes_the_kernels_place() {
        let dir = tempfile::tempdir().unwrap();
        let mut tree = tree(dir.path(), &[("dm-mod.ko", ""), ("base.ko", "")]);
        let own = dir.path().join("base.ko");
        fs::write(&own, ko("dm-mod")).unwrap();
        assert_eq!(tree.add(&own).unwrap(), "base");
        assert_eq!(names(&tree.load_order(&["base"]).unwrap()), ["dm_mod", "base"]);
        assert!(tree.add(Path::new("x.so")).is_err());
    }

    #[test]
    fn a_zram_that_names_its_codecs_to_modprobe_alone_comes_with_them() {
        let codecs =
            |modules: &[(&str, &str)]| tree(tempfile::tempdir().unwrap().path(), modules).zram_codecs().unwrap();
        let crypto = [("lz4.ko", "lz4_compress"), ("lz4_compress.ko", ""), ("lzo-rle.ko", "")];
        assert_eq!(codecs(&[&[("zram.ko", "")][..], &crypto].concat()), ["lz4", "lzo-rle"], "Linux 6.1");
        assert_eq!(codecs(&[&[("zram.ko", "lz4_compress")][..], &crypto].concat()), [""; 0], "Linux 6.12");
        assert_eq!(codecs(&[("zram.ko", "")]), [""; 0], "what is not there is not missed");
    }

    #[test]
    fn what_cannot_be_loaded_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let tree = tree(dir.path(), &[("a.ko", "b"), ("b.ko", "a"), ("c.ko", "gone")]);
        assert!(tree.load_order(&["a"]).unwrap_err().to_string().contains("depends on itself through a, b"));
        assert!(tree.load_order(&["c"]).unwrap_err().to_string().contains("has a module gone (needed by c)"));
        fs::write(dir.path().join("kernel/drivers/a.ko"), "junk").unwrap();
        assert!(tree.load_order(&["a"]).is_err());
    }
}

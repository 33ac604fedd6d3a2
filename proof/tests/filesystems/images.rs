// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! File systems that are only read, made of a folder by their programs: what a read brings is compressed there, and is not what the
//! page then holds.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use fovea_tests::kernel::{at, run, write_file, Outcome};
use rustix::mount::MountFlags;

use crate::filesystem::{at_once, load, read_all_ways, TREE_KIB};
use crate::tree::{Evict, Read, Tree};
use crate::Lab;

/// A kind of image.
#[derive(Clone, Copy, Debug)]
pub enum Image {
    /// How it is packed; how compressed data is cached (`cache_strategy=`).
    Erofs {
        packed: &'static [&'static str],
        strategy: &'static str,
    },
    Squashfs {
        compressor: &'static str,
    },
}

impl Image {
    fn make(self, image: &Path, source: &Path) -> Outcome<()> {
        let (image, source) = (image.to_string_lossy(), source.to_string_lossy());
        match self {
            Image::Erofs { packed, .. } => {
                let arguments = packed.iter().copied().chain([image.as_ref(), source.as_ref()]);
                run("/bin/mkfs.erofs", &arguments.collect::<Vec<_>>())
            }
            Image::Squashfs { compressor } => run(
                "/bin/mksquashfs",
                &[
                    &source,
                    &image,
                    "-comp",
                    compressor,
                    "-b",
                    "65536",
                    "-noappend",
                    "-no-progress",
                    "-quiet",
                    "-processors",
                    "1",
                ],
            ),
        }
    }

    fn options(self) -> (&'static str, String) {
        match self {
            Image::Erofs { strategy, .. } => ("erofs", format!("cache_strategy={strategy}")),
            Image::Squashfs { .. } => ("squashfs", String::new()),
        }
    }

    pub fn test(self, lab: &mut Lab) -> Outcome<()> {
        let folder = PathBuf::from("/tmp/source");
        let image = PathBuf::from("/tmp/image");
        let _ = fs::remove_dir_all(&folder);
        at("source", fs::create_dir_all(&folder))?;
        let mut tree = Tree::new(&folder, lab.seed, TREE_KIB, lab.report);
        tree.write()?;
        self.make(&image, &folder)?;
        at("source", fs::remove_dir_all(&folder))?;

        let disk = lab.bed.disk(16, 4096)?;
        let copied = File::open(&image).and_then(|mut from| {
            let mut to = File::options().write(true).open(&disk)?;
            io::copy(&mut from, &mut to)?;
            to.sync_all()
        });
        at("image", copied)?;
        at("image", fs::remove_file(&image))?;
        let volume = lab.bed.volume(&disk)?;
        let (kind, options) = self.options();
        load(kind)?;
        tree.root = lab.bed.mount(&volume.node, kind, MountFlags::RDONLY | MountFlags::NOATIME, &options)?;
        Self::in_parts(&tree)?;
        read_all_ways(lab, &tree)?;
        at_once(&tree)?;
        tree.migrate(1).map(|moved| lab.moved += moved)?;
        write_file("/proc/sys/vm/compact_memory", "1")?;
        tree.evict(Evict::PageOut)?;
        tree.verify(Read::Mapped, "moved and evicted");
        lab.compare(&volume)?;
        lab.bed.unmount(&tree.root)?;
        lab.compare(&volume)?;
        tree.root = lab.bed.mount(&volume.node, kind, MountFlags::RDONLY | MountFlags::NOATIME, &options)?;
        tree.verify(Read::Buffered, "mounted again");
        lab.bed.unmount(&tree.root)
    }

    /// The first reading of all: of every other page, and the rest when those are evicted. A compressed block is then read twice
    /// before any page is.
    fn in_parts(tree: &Tree) -> Outcome<()> {
        for (when, rest) in [("read for the first time", 0), ("the other pages for the first time", 1)] {
            tree.verify_pages(Read::Mapped, when, |page| page % 2 == rest);
            write_file("/proc/sys/vm/drop_caches", "1")?;
        }
        Ok(())
    }
}

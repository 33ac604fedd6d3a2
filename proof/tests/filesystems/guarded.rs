// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! ext4 that changes or checks what it reads before anybody sees it: encryption, which decrypts in the page cache's own pages, and
//! verity, whose hashes lie in the file's page cache behind its end.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use fovea_tests::kernel::{at, load_module, Outcome};

use crate::bed::Volume;
use crate::calls::{add_key, enable_verity, encrypt_folder};
use crate::cases::EXT4_GUARDED;
use crate::filesystem::{at_once, read_all_ways, work, TREE_KIB};
use crate::tree::{Evict, Read, Tree};
use crate::Lab;

fn mounted(lab: &mut Lab) -> Outcome<(Volume, PathBuf)> {
    let disk = lab.bed.disk(EXT4_GUARDED.disk_mib, EXT4_GUARDED.sector_bytes)?;
    let volume = lab.bed.volume(&disk)?;
    EXT4_GUARDED.make(&volume.node)?;
    let mount_point = EXT4_GUARDED.mount(lab, &volume.node)?;
    Ok((volume, mount_point))
}

/// All blocks and all files once more, cold; `unlock` is what makes them readable after a mount.
fn end(lab: &mut Lab, volume: &Volume, tree: &mut Tree, unlock: impl Fn(&Path) -> Outcome<()>) -> Outcome<()> {
    let folder = tree.root.clone();
    let (Some(mount_point), Some(name)) = (folder.parent(), folder.file_name()) else { return Err("no folder".into()) };
    lab.compare(volume)?;
    tree.verify(Read::Mapped, "after all blocks were compared");
    lab.bed.unmount(mount_point)?;
    lab.compare(volume)?;
    EXT4_GUARDED.check(&volume.node)?;
    let mount_point = EXT4_GUARDED.mount(lab, &volume.node)?;
    unlock(&mount_point)?;
    tree.root = mount_point.join(name);
    tree.verify(Read::Buffered, "mounted again");
    tree.evict(Evict::DropCaches)?;
    tree.verify(Read::Mapped, "mounted again and evicted");
    lab.bed.unmount(&mount_point)
}

fn key(mount_point: &Path) -> Outcome<[u8; 16]> {
    at("adding a key", add_key(mount_point, &[0x5a; 64]))
}

pub fn encrypted(lab: &mut Lab) -> Outcome<()> {
    for name in ["xts", "cts"] {
        load_module(name)?;
    }
    let (volume, mount_point) = mounted(lab)?;
    let folder = mount_point.join("secret");
    at("folder", fs::create_dir(&folder))?;
    at("encrypting a folder", encrypt_folder(&folder, key(&mount_point)?))?;
    let mut tree = Tree::new(&folder, lab.seed, TREE_KIB, lab.report);
    tree.write()?;
    work(lab, &mut tree)?;
    end(lab, &volume, &mut tree, |mount_point| key(mount_point).map(drop))
}

pub fn verity(lab: &mut Lab) -> Outcome<()> {
    let (volume, mount_point) = mounted(lab)?;
    let folder = mount_point.join("sealed");
    at("folder", fs::create_dir(&folder))?;
    let mut tree = Tree::new(&folder, lab.seed, TREE_KIB, lab.report);
    tree.write()?;
    for name in tree.files.keys() {
        at(name, File::open(tree.path(name)).and_then(|file| enable_verity(&file)))?;
    }
    read_all_ways(lab, &tree)?;
    at_once(&tree)?;
    lab.moved += tree.migrate(1)?;
    tree.evict(Evict::PageOut)?;
    tree.verify(Read::Mapped, "moved and evicted");
    end(lab, &volume, &mut tree, |_| Ok(()))
}

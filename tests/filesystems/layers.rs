// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The target below and above other layers: overlayfs, loop devices, logical volumes and their snapshots, RAID, encryption, swap.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use fovea_linux::swap;
use fovea_tests::content::Random;
use fovea_tests::door::{at, load_module, Outcome};
use fovea_tests::pressure::swapped_pages;
use rustix::mount::MountFlags;

use crate::bed::Volume;
use crate::calls::Memory;
use crate::cases::EXT4;
use crate::filesystem::{load, work, TREE_KIB};
use crate::tree::{Read, Tree};
use crate::Lab;

const DISK_MIB: u64 = 48;

fn mounted_ext4(lab: &mut Lab) -> Outcome<(Volume, PathBuf)> {
    let disk = lab.bed.disk(DISK_MIB, 4096)?;
    let volume = lab.bed.volume(&disk)?;
    EXT4.make(&volume.node)?;
    let mount_point = EXT4.mount(lab, &volume.node)?;
    Ok((volume, mount_point))
}

/// A folder, empty, below another one.
fn folder(above: &Path, name: &str) -> Outcome<PathBuf> {
    let path = above.join(name);
    at(path.display(), fs::create_dir(&path)).map(|()| path)
}

/// overlayfs with both its layers on one ext4.
pub fn overlay(lab: &mut Lab) -> Outcome<()> {
    load("overlay")?;
    let (volume, below) = mounted_ext4(lab)?;
    let [lower, upper, scratch] = ["lower", "upper", "work"].map(|name| folder(&below, name));
    let (lower, upper, scratch) = (lower?, upper?, scratch?);
    let mut tree = Tree::new(&lower, lab.seed, TREE_KIB, lab.report);
    tree.write()?;
    let options = format!("lowerdir={},upperdir={},workdir={}", lower.display(), upper.display(), scratch.display());
    // Files of the lower layer are read through it, and copied up when they change.
    tree.root = lab.bed.mount(Path::new("overlay"), "overlay", MountFlags::empty(), &options)?;
    work(lab, &mut tree)?;
    lab.compare(&volume)?;
    tree.verify(Read::Mapped, "after all blocks were compared");
    lab.bed.unmount(&tree.root)?;
    lab.bed.unmount(&below)?;
    lab.compare(&volume)?;
    EXT4.check(&volume.node)
}

/// ext4 in a file of an ext4 on the target.
pub fn loop_above(lab: &mut Lab) -> Outcome<()> {
    load_module("loop")?;
    let (volume, below) = mounted_ext4(lab)?;
    let file = sparse(&below.join("disk"), 24)?;
    let node = lab.bed.loop_device(&file)?;
    EXT4.test_on(lab, &volume, &node)
}

/// The target on a loop device, whose file is on a file system of its own.
pub fn loop_below(lab: &mut Lab) -> Outcome<()> {
    load_module("loop")?;
    let disk = lab.bed.disk(DISK_MIB, 4096)?;
    EXT4.make(&disk)?;
    let below = EXT4.mount(lab, &disk)?;
    let file = sparse(&below.join("disk"), 32)?;
    let node = lab.bed.loop_device(&file)?;
    EXT4.test_above(lab, &node)
}

fn sparse(path: &Path, mib: u64) -> Outcome<PathBuf> {
    at(path.display(), File::create(path).and_then(|file| file.set_len(mib << 20)))?;
    Ok(path.to_owned())
}

/// A logical volume of two pieces, on two disks.
pub fn linear_below(lab: &mut Lab) -> Outcome<()> {
    let disks = [lab.bed.disk(12, 4096)?, lab.bed.disk(20, 4096)?];
    let joined = lab.bed.join(&disks)?;
    EXT4.test_above(lab, &joined)
}

/// The target under a physical volume: the file system's device is then not the target's.
pub fn linear_above(lab: &mut Lab) -> Outcome<()> {
    let disk = lab.bed.disk(32, 4096)?;
    let volume = lab.bed.volume(&disk)?;
    let node = lab.bed.map("linear", &volume.node, |number| format!("{number} 0"))?;
    EXT4.test_on(lab, &volume, &node)
}

/// A logical volume of which a snapshot is kept: what is written is copied away first.
pub fn snapshot_below(lab: &mut Lab) -> Outcome<()> {
    load_module("dm_snapshot")?;
    let (disk, copies) = (lab.bed.disk(32, 4096)?, lab.bed.disk(40, 4096)?);
    let copies = lab.bed.number(&copies)?;
    let origin = lab.bed.map("snapshot-origin", &disk, str::to_owned)?;
    lab.bed.map("snapshot", &disk, |number| format!("{number} {copies} P 8"))?;
    EXT4.test_above(lab, &origin)
}

/// A thin volume: its blocks are taken when they are first written, and given back when they are discarded.
pub fn thin_below(lab: &mut Lab) -> Outcome<()> {
    load_module("dm_thin_pool")?;
    let (metadata, data) = (lab.bed.disk(4, 4096)?, lab.bed.disk(32, 4096)?);
    let metadata = lab.bed.number(&metadata)?;
    let (name, pool) = lab.bed.named("thin-pool", &data, |number| format!("{metadata} {number} 128 0"))?;
    lab.bed.message(&name, "create_thin 0")?;
    let thin = lab.bed.map("thin", &pool, |number| format!("{number} 0"))?;
    EXT4.test_above(lab, &thin)
}

pub fn raid1_below(lab: &mut Lab) -> Outcome<()> {
    // The kernel would call modprobe for it.
    load_module("raid1")?;
    load_module("dm_raid")?;
    let (first, second) = (lab.bed.disk(32, 4096)?, lab.bed.disk(32, 4096)?);
    let second = lab.bed.number(&second)?;
    let raid = lab.bed.map("raid", &first, |number| format!("raid1 2 0 nosync 2 - {number} - {second}"))?;
    EXT4.test_above(lab, &raid)
}

pub fn crypt_below(lab: &mut Lab) -> Outcome<()> {
    load_module("dm_crypt")?;
    let disk = lab.bed.disk(24, 4096)?;
    let plain = lab.bed.crypt(&disk)?;
    EXT4.test_above(lab, &plain)
}

pub fn crypt_above(lab: &mut Lab) -> Outcome<()> {
    load_module("dm_crypt")?;
    let disk = lab.bed.disk(24, 4096)?;
    let volume = lab.bed.volume(&disk)?;
    let plain = lab.bed.crypt(&volume.node)?;
    EXT4.test_on(lab, &volume, &plain)
}

/// Anonymous memory goes to the area and comes back, changed in between.
fn use_swap(lab: &Lab, area: &Path) -> Outcome<()> {
    const BYTES: usize = 8 << 20;
    at("swapon", swap::on(area, -1))?;
    let mut memory = at("memory", Memory::plain(BYTES))?;
    let mut random = Random::new(lab.seed, 800);
    let mut wrong = 0;
    for round in 0..3 {
        let seed = random.draw();
        let word = |number: usize| seed.wrapping_mul(2 * number as u64 + 1).to_le_bytes();
        memory.bytes().chunks_exact_mut(8).enumerate().for_each(|(number, to)| to.copy_from_slice(&word(number)));
        // Twice: swapped in and out again unchanged, a page is not written a second time.
        for _ in 0..2 {
            at("MADV_PAGEOUT", memory.page_out())?;
            wrong += memory.bytes().chunks_exact(8).enumerate().filter(|(number, is)| **is != word(*number)).count();
        }
        if wrong > 0 {
            lab.report.fail(format_args!("wrong content: {wrong} words of swapped memory in round {round}"));
            break;
        }
    }
    let swapped = swapped_pages()?;
    lab.report.check("memory was swapped", swapped > 1000, format_args!("{swapped} pages since boot"));
    at("swapoff", swap::off(area))
}

pub fn swap_partition(lab: &mut Lab) -> Outcome<()> {
    let disk = lab.bed.disk(32, 4096)?;
    let volume = lab.bed.volume(&disk)?;
    at("mkswap", swap::make(&volume.node, volume.size_bytes))?;
    use_swap(lab, &volume.node)?;
    lab.compare(&volume)
}

pub fn swap_file(lab: &mut Lab) -> Outcome<()> {
    const BYTES: u64 = 24 << 20;
    let (volume, mount_point) = mounted_ext4(lab)?;
    let path = mount_point.join("swap");
    // Without holes, which swapon refuses.
    at("swap file", fs::write(&path, vec![0x5a; BYTES as usize]))?;
    at("mkswap", swap::make(&path, BYTES))?;
    use_swap(lab, &path)?;
    lab.compare(&volume)?;
    lab.bed.unmount(&mount_point)?;
    EXT4.check(&volume.node)
}

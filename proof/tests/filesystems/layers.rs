// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The target below and above other layers: overlayfs, loop devices, logical volumes and their snapshots, RAID, encryption, swap.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fovea_linux::dm::Suspend;
use fovea_linux::swap;
use fovea_tests::content::Random;
use fovea_tests::kernel::{at, load_module, target, Outcome, SECTOR};
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

/// A snapshot of a device above the target: what it keeps is read through the target, too.
pub fn snapshot_above(lab: &mut Lab) -> Outcome<()> {
    load_module("dm_snapshot")?;
    let (disk, copies) = (lab.bed.disk(32, 4096)?, lab.bed.disk(40, 4096)?);
    let volume = lab.bed.volume(&disk)?;
    let copies = lab.bed.number(&copies)?;
    // First: an origin that resumes without one does not part its writes at the borders of what is kept.
    let snapshot = lab.bed.map("snapshot", &volume.node, |number| format!("{number} {copies} N 8"))?;
    let origin = lab.bed.map("snapshot-origin", &volume.node, str::to_owned)?;
    EXT4.test_on(lab, &volume, &origin)?;
    // It is of an empty disk.
    let kept = at(snapshot.display(), fs::read(&snapshot))?;
    let wrong = kept.chunks(4096).filter(|block| block.iter().any(|&byte| byte != 0)).count();
    lab.report.check("wrong content: the snapshot is of before", wrong == 0, format_args!("{wrong} blocks"));
    Ok(())
}

/// Both disks of a pool of thin volumes are targets.
pub fn thin_above(lab: &mut Lab) -> Outcome<()> {
    load_module("dm_thin_pool")?;
    let (metadata, data) = (lab.bed.disk(4, 4096)?, lab.bed.disk(32, 4096)?);
    let (metadata, volume) = (lab.bed.volume(&metadata)?, lab.bed.volume(&data)?);
    let number = lab.bed.number(&metadata.node)?;
    let (name, pool) = lab.bed.named("thin-pool", &volume.node, |data| format!("{number} {data} 128 0"))?;
    lab.bed.message(&name, "create_thin 0")?;
    let thin = lab.bed.map("thin", &pool, |number| format!("{number} 0"))?;
    EXT4.test_on(lab, &volume, &thin)
}

/// A device of two targets, whose border lies inside of the file system, and files.
pub fn two_targets(lab: &mut Lab) -> Outcome<()> {
    const FIRST: u64 = (9 << 20) / SECTOR;
    let disk = lab.bed.disk(32, 4096)?;
    let volume = lab.bed.volume(&disk)?;
    let (mapper, number, name) = (lab.bed.mapper(), lab.bed.number(&disk)?, &volume.name);
    let part = |start, sectors| target(lab.kind, start, sectors, format!("{number} {start}"));
    // dm-linear has the same arguments.
    at("load", mapper.load(name, &[part(0, FIRST), part(FIRST, volume.size_bytes / SECTOR - FIRST)]))?;
    at("suspend", mapper.suspend(name, Suspend::Flush))?;
    at("resume", mapper.resume(name))?;
    EXT4.test_on(lab, &volume, &volume.node)
}

/// The target grows and shrinks behind the file system's end while its files are worked on.
pub fn resized(lab: &mut Lab) -> Outcome<()> {
    const SMALL: u64 = (32 << 20) / SECTOR;
    let disk = lab.bed.disk(48, 4096)?;
    let mut volume = lab.bed.volume(&disk)?;
    let (mapper, number, kind) = (lab.bed.mapper(), lab.bed.number(&disk)?, lab.kind.to_owned());
    let (name, whole) = (volume.name.clone(), volume.size_bytes / SECTOR);
    let resize = |sectors| -> Outcome<()> {
        at("load", mapper.load(&name, &[target(&kind, 0, sectors, format!("{number} 0"))]))?;
        at("suspend", mapper.suspend(&name, Suspend::Flush))?;
        at("resume", mapper.resume(&name)).map(drop)
    };
    resize(SMALL)?;
    EXT4.make(&volume.node)?;
    let mount_point = EXT4.mount(lab, &volume.node)?;
    let mut tree = Tree::new(&mount_point, lab.seed, TREE_KIB, lab.report);
    tree.write()?;
    let stop = AtomicBool::new(false);
    let rounds = std::thread::scope(|scope| {
        let (stop, resize) = (&stop, &resize);
        let resizing = scope.spawn(move || -> Outcome<u32> {
            let mut rounds = 0;
            while !stop.load(Ordering::Relaxed) {
                resize(if rounds % 2 == 0 { whole } else { SMALL })?;
                rounds += 1;
                std::thread::sleep(Duration::from_millis(20));
            }
            resize(SMALL).map(|()| rounds)
        });
        let worked = work(lab, &mut tree);
        stop.store(true, Ordering::Relaxed);
        let rounds = resizing.join().map_err(|_| "panicked".to_owned())?;
        worked.and(rounds)
    })?;
    lab.report.check("the target was resized", rounds > 10, format_args!("{rounds} times"));
    volume.size_bytes = SMALL * SECTOR;
    lab.compare(&volume)?;
    tree.verify(Read::Mapped, "resized");
    lab.bed.unmount(&mount_point)?;
    lab.compare(&volume)?;
    EXT4.check(&volume.node)
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

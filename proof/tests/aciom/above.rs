// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What people put above a disk: ext4 on LUKS2, LVM, btrfs on two volumes. The same load as on the volume itself, and the same checks.

use std::path::{Path, PathBuf};

use fovea_tests::kernel::{at, load_module, run, Outcome};
use fovea_tests::report::Report;

use crate::files::{self, FileSystem, BTRFS, EXT4};
use crate::stack::{Disk, Volume};
use crate::Options;

const MBPS: u64 = 40;
const NAME: &str = "above";

/// One by its name; none of others.
pub fn case(name: &str, options: &Options, report: &Report) -> Option<Outcome<()>> {
    // Nobody answers device-mapper's cookies here.
    std::env::set_var("DM_DISABLE_UDEV", "1");
    Some(match name {
        "luks" => luks(options, report),
        "lvm" => lvm(options, report),
        "btrfs-two" => two(options, report),
        "hook" => hook(options, report),
        _ => return None,
    })
}

fn volume(name: &'static str, disk: &Disk) -> Outcome<Volume> {
    Volume::direct(name, &disk.make()?, (disk.mib << 20) / 512, &format!("cmax={}", MBPS << 20))
}

/// Both directions through dm-crypt's threads: its writes come from one, with pages of its own.
fn luks(options: &Options, report: &Report) -> Outcome<()> {
    load_module("dm_crypt")?;
    load_module("algif_skcipher")?;
    // Some kernels have one or both built in. Where either lacks, cryptsetup fails.
    for cipher in ["xts", "ecb"] {
        let _ = load_module(cipher);
    }
    let disk = Disk { name: "luks", mib: EXT4.mib + 16, mbps: MBPS };
    let volume = volume("l", &disk)?;
    let key = "/tmp/key";
    at(key, std::fs::write(key, "not a secret"))?;
    let below = volume.node.to_string_lossy().into_owned();
    let format = ["--batch-mode", "luksFormat", "--type", "luks2", "--pbkdf", "pbkdf2"];
    let quick = ["--pbkdf-force-iterations", "1000", "--key-file", key, &below];
    run("/bin/cryptsetup", &[&format[..], &quick[..]].concat())?;
    run("/bin/cryptsetup", &["open", "--key-file", key, &below, NAME])?;
    let node = mapped(NAME)?;
    files::all(&volume, &node, &EXT4, options, report)?;
    run("/bin/cryptsetup", &["close", NAME])?;
    volume.remove()?;
    disk.remove()
}

/// A logical volume in two pieces, and one that has a snapshot while it is written to.
fn lvm(options: &Options, report: &Report) -> Outcome<()> {
    load_module("dm_snapshot")?;
    let disk = Disk { name: "lvm", mib: 2 * EXT4.mib, mbps: MBPS };
    let volume = volume("p", &disk)?;
    let below = volume.node.to_string_lossy().into_owned();
    let filter = format!("devices {{ filter = [ \"a|^{below}$|\", \"r|.*|\" ] use_devicesfile = 0 }}");
    let tool = |command: &str, args: &[&str]| {
        let quiet = ["--config", &filter, "--noudevsync"];
        let quiet = if command == "pvcreate" { &quiet[..2] } else { &quiet[..] };
        run("/bin/lvm", &[&[command][..], quiet, args].concat())
    };
    tool("pvcreate", &[&below])?;
    run("/bin/lvm", &["vgcreate", "--config", &filter, "vg", &below])?;
    tool("lvcreate", &["-Wn", "-Zn", "-L", "20M", "-n", "lv", "vg"])?;
    tool("lvcreate", &["-Wn", "-Zn", "-L", "8M", "-n", "between", "vg"])?;
    tool("lvextend", &["-L", &format!("{}M", EXT4.mib), "vg/lv"])?;
    let node = mapped("vg-lv")?;
    files::all(&volume, &node, &EXT4, options, report)?;
    tool("lvcreate", &["-s", "-L", "24M", "-n", "snap", "vg/lv"])?;
    files::all(&volume, &node, &EXT4, options, report)?;
    tool("vgchange", &["-an", "vg"])?;
    volume.remove()?;
    disk.remove()
}

/// Two disks, each with its own queue, and every write to both.
fn two(options: &Options, report: &Report) -> Outcome<()> {
    load_module(BTRFS.kind)?;
    let disks = [Disk { name: "b0", mib: BTRFS.mib, mbps: MBPS }, Disk { name: "b1", mib: BTRFS.mib, mbps: MBPS }];
    let volumes = [volume("one", &disks[0])?, volume("two", &disks[1])?];
    // The checker looks for the file system's devices in /dev, and would find the disks below.
    for disk in &disks {
        let node = Path::new("/dev").join(disk.name);
        at(node.display(), std::fs::remove_file(&node))?;
    }
    let other: &'static str = volumes[1].node.to_string_lossy().into_owned().leak();
    let make = ["mkfs.btrfs", "-q", "-f", "-K", "-d", "raid1", "-m", "raid1", other];
    let mount = format!("nodiscard,device={other}");
    let mount = at("a mount option", std::ffi::CString::new(mount))?;
    let system =
        FileSystem { make: Vec::from(make).leak(), options: Some(Box::leak(mount.into_boxed_c_str())), ..BTRFS };
    files::all(&volumes[0], &volumes[0].node, &system, options, report)?;
    let written = volumes[1].written_pages()?;
    report.check("the second volume has its half", written > 100, format_args!("{written} pages"));
    volumes.iter().try_for_each(Volume::remove)?;
    disks.iter().try_for_each(Disk::remove)
}

/// The initramfs's script makes root and swap, leaves out what is not there, and does nothing a second time.
fn hook(options: &Options, report: &Report) -> Outcome<()> {
    const SCRIPT: &str = include_str!("../../../packaging/initramfs-tools/scripts/local-top/fovea-aciom");
    let disks = [Disk { name: "r", mib: EXT4.mib, mbps: MBPS }, Disk { name: "s", mib: 16, mbps: MBPS }];
    for disk in &disks {
        disk.make()?;
    }
    let volumes = "# what root and swap are on\nroot /dev/r cmax=40000000\nswap /dev/s\n\nlost /dev/none\nnothing\n";
    at("volumes", std::fs::write("/tmp/volumes", volumes))?;
    at("script", std::fs::write("/tmp/local-top", SCRIPT))?;
    // What the initramfs has as programs of their own.
    let shell = "/bin/busybox mkdir -p /tmp/bin; /bin/busybox --install -s /tmp/bin; \
                 export PATH=/tmp/bin:/bin; sh /tmp/local-top && sh /tmp/local-top";
    let mut script = std::process::Command::new("/bin/busybox");
    let made = script.args(["sh", "-c", shell]).envs([("VOLUMES", "/tmp/volumes"), ("WAIT_S", "1")]).output();
    let made = at("the script", made)?;
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    let names = said.contains("lost: /dev/none has not come") && said.contains("\"nothing\" names no device");
    report.check("the initramfs's script says what is not there", made.status.success() && names, &said);
    let root = Volume::made("root")?;
    report.check("the volume of root has its option", root.count("cmax")? == 40_000_000, "");
    files::all(&root, &root.node, &EXT4, options, report)?;
    let swap = Volume::made("swap")?;
    at("mkswap", fovea_linux::swap::make(&swap.node, swap.size_bytes))?;
    at("swapon", fovea_linux::swap::on(&swap.node, -1))?;
    at("swapoff", fovea_linux::swap::off(&swap.node))?;
    root.remove()?;
    swap.remove()?;
    disks.iter().try_for_each(Disk::remove)
}

/// Where device-mapper's own node of a name is.
fn mapped(name: &str) -> Outcome<PathBuf> {
    let path = Path::new("/dev/mapper").join(name);
    at(path.display(), std::fs::canonicalize(&path))
}

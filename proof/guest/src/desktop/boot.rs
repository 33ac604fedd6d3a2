// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a first process does before it becomes systemd: the flash, the swap, and which of the programs that are compared is there.

use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use fovea_scenario::{Flash, Plan, Swap};

use super::owner;
use crate::channel::Channel;
use crate::flash;
use crate::outcome::{read_file, write_file, At, Outcome};

const SYSTEMD: &str = "/usr/lib/systemd/systemd";
const UNITS: &str = "/etc/systemd/system";

/// What Debian's zram-tools says unless it is told otherwise (/etc/default/zramswap); so it does for the size, half of the memory. Its
/// priority means nothing where there is one area.
const ZRAM_ALGORITHM: &str = "lz4";

/// The guard of memory that systemd brings along.
const SYSTEMD_OOMD: &str = "systemd-oomd.service";

/// Name of the partition's device.
const PARTITION: &str = "n1";

/// Prepares the machine and becomes systemd; returns only if that fails.
pub fn run(plan: &Plan, swap: Swap) -> Outcome<()> {
    flash::set_up(plan)?;
    set_up_swap(plan, swap)?;
    units(plan)?;
    write_file("/etc/fovea.toml", &plan.daemon_config)?;
    Channel::renounce();
    let error = Command::new(SYSTEMD).env_clear().env("PATH", "/usr/sbin:/usr/bin:/bin").exec();
    Err(format!("becoming {SYSTEMD}: {error}"))
}

fn set_up_swap(plan: &Plan, swap: Swap) -> Outcome<()> {
    let size_bytes = swap.size_bytes(plan.phone.memory_bytes);
    let device = match swap {
        Swap::None => return Ok(()),
        Swap::Owned => return owner::choose(),
        Swap::Zram => {
            let number = read_file("/sys/class/zram-control/hot_add")?;
            let name = format!("zram{}", number.trim());
            let folder = Path::new("/sys/block").join(&name);
            write_file(folder.join("comp_algorithm"), ZRAM_ALGORITHM)?;
            write_file(folder.join("disksize"), &size_bytes.to_string())?;
            name
        }
        Swap::Disk => {
            flash::make_device(PARTITION, &Flash { size_bytes, ..plan.phone.flash })?;
            PARTITION.to_owned()
        }
    };
    let device = format!("/dev/{device}");
    busybox(&["mkswap", &device])?;
    busybox(&["swapon", &device])
}

pub fn busybox(args: &[&str]) -> Outcome<()> {
    let output = Command::new("/bin/busybox").args(args).output().at(|| format!("running busybox {args:?}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("busybox {args:?}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// Starts what guards memory with the machine. Where systemd-oomd is not it, its units are as if it were not installed: slices that it would watch call for
/// it by themselves.
fn units(plan: &Plan) -> Outcome<()> {
    let link = |name: &str, target: &Path| {
        let at = Path::new(UNITS).join(name);
        symlink(target, &at).at(|| format!("making {}", at.display()))
    };
    if !plan.configuration.guards().any(|unit| unit == SYSTEMD_OOMD) {
        for name in [SYSTEMD_OOMD, "systemd-oomd.socket"] {
            link(name, Path::new("/dev/null"))?;
        }
    }
    let wants = Path::new(UNITS).join("desktop.target.wants");
    std::fs::create_dir_all(&wants).at(|| format!("making {}", wants.display()))?;
    plan.configuration.guards().try_for_each(|unit| {
        let found =
            ["/usr/lib/systemd/system", "/usr/local/lib/systemd/system"].map(|folder| Path::new(folder).join(unit));
        let found = found.iter().find(|path| path.exists()).ok_or_else(|| format!("no {unit} in the image"))?;
        link(&format!("desktop.target.wants/{unit}"), found)
    })
}

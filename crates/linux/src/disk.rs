// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What this machine has to treat disk requests by whose they are: dm-aciom's volumes, else cgroup v2's `io` controller (docs/design/aciom.md).

use std::path::{Path, PathBuf};

use fovea_apps::{DiskControl, IoClass};
use fovea_contract::{ACIOM_FORGET, ACIOM_SET_CLASS, ACIOM_SET_CMAX, ACIOM_TARGET};

use crate::cgroup::{has_controller, Cgroups, Controller};
use crate::check::{missing, Finding};
use crate::dm::DeviceMapper;
use crate::error::is_gone;
use crate::file::{read, Root};
use crate::{module, Error};

/// The scheduler's weights, and those of the controller's cost model.
const BFQ_WEIGHT: &str = "io.bfq.weight";
const COST_WEIGHT: &str = "io.weight";

/// The volumes of dm-aciom; none on a machine without device-mapper.
pub fn volumes(root: &Root) -> Result<Vec<String>, Error> {
    // Without the module there is none, and device-mapper need not be asked.
    if !root.join(format!("sys/module/{}", fovea_contract::ACIOM_MODULE)).is_dir() {
        return Ok(Vec::new());
    }
    let mapper = match DeviceMapper::open(root) {
        Err(Error::Missing { what: "device-mapper", .. }) => return Ok(Vec::new()),
        mapper => mapper?,
    };
    let has_target = |name: &String| {
        // One that is taken away meanwhile has none.
        mapper.table(name).is_ok_and(|table| table.iter().any(|target| target.kind == ACIOM_TARGET))
    };
    Ok(mapper.list()?.into_iter().filter(has_target).collect())
}

/// Sends words to one volume: classes are the module's.
fn tell_one(root: &Root, text: &str) -> Result<(), Error> {
    let mapper = DeviceMapper::open(root)?;
    for volume in volumes(root)? {
        match mapper.message(&volume, first_sector(&mapper, &volume)?, text) {
            Err(Error::Call { source, .. }) if source.raw_os_error() == Some(libc::ENXIO) => {}
            sent => return sent.map(drop),
        }
    }
    Err(Error::Missing { what: "a volume of dm-aciom", mend: "make one: fovea-aciom(4)".into() })
}

/// Where the target is that takes the message: a volume may be made of several.
fn first_sector(mapper: &DeviceMapper, volume: &str) -> Result<u64, Error> {
    let table = mapper.table(volume)?;
    Ok(table.iter().find(|target| target.kind == ACIOM_TARGET).map_or(0, |target| target.start_sectors))
}

pub(crate) fn set_class(root: &Root, id: u64, class: IoClass) -> Result<(), Error> {
    tell_one(root, &format!("{ACIOM_SET_CLASS} {id} {}", class.name()))
}

pub(crate) fn forget_class(root: &Root, id: u64) -> Result<(), Error> {
    if volumes(root)?.is_empty() {
        // Nothing is ordered by it.
        return Ok(());
    }
    match tell_one(root, &format!("{ACIOM_FORGET} {id}")) {
        Err(Error::Call { source, .. }) if source.raw_os_error() == Some(libc::ENOENT) => Ok(()),
        result => result,
    }
}

pub(crate) fn set_rate(root: &Root, bytes_per_s: u64) -> Result<(), Error> {
    let mapper = DeviceMapper::open(root)?;
    for volume in volumes(root)? {
        mapper.message(&volume, first_sector(&mapper, &volume)?, &format!("{ACIOM_SET_CMAX} {bytes_per_s}"))?;
    }
    Ok(())
}

/// The kernel's number of a cgroup.
pub(crate) fn id(cgroups: &Cgroups, cgroup: &str) -> Result<Option<u64>, Error> {
    let path = cgroups.path(cgroup)?;
    match crate::cgroup::number(&path) {
        Err(e) if is_gone(&e) => Ok(None),
        Err(e) => Err(Error::file("looking at", path, e)),
        Ok(number) => Ok(Some(number)),
    }
}

fn has_io(folder: &Path, file: &str) -> bool {
    has_controller(folder, file, Controller::Io)
}

/// The files of weights that something goes by: a queue that bfq orders, a disk that the cost model is on for.
pub(crate) fn weights(root: &Root, cgroups: &Cgroups) -> Vec<&'static str> {
    let queues = std::fs::read_dir(root.join("sys/block")).into_iter().flatten().flatten();
    let is_bfq = |disk: PathBuf| {
        read(&disk.join("queue/scheduler")).is_ok_and(|text| memchr::memmem::find(&text, b"[bfq]").is_some())
    };
    let mut files = Vec::new();
    files.extend(queues.map(|disk| disk.path()).any(is_bfq).then_some(BFQ_WEIGHT));
    let cost = read(&cgroups.mount().join("io.cost.qos")).unwrap_or_default();
    files.extend(memchr::memmem::find(&cost, b"enable=1").map(|_| COST_WEIGHT));
    files
}

pub(crate) fn control(root: &Root, cgroups: &Cgroups, with_rate: bool) -> Result<DiskControl, Error> {
    if !volumes(root)?.is_empty() {
        return Ok(DiskControl::Volumes);
    }
    Ok(match has_io(cgroups.mount(), "cgroup.controllers") {
        true if with_rate => DiskControl::Limits,
        true if !weights(root, cgroups).is_empty() => DiskControl::Weights,
        _ => DiskControl::Absent,
    })
}

/// `8:0 rbytes=1 wbytes=2 rios=…`, a line a device.
pub(crate) fn parse_usage(text: &str) -> Vec<(String, u64)> {
    let line = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let device = words.next().filter(|word| word.contains(':'))?;
        let bytes = words.filter_map(|word| {
            let (name, number) = word.split_once('=')?;
            matches!(name, "rbytes" | "wbytes").then(|| number.parse::<u64>().ok()).flatten()
        });
        Some((device.to_owned(), bytes.fold(0, u64::saturating_add)))
    };
    text.lines().filter_map(line).collect()
}

/// What stands in a file for a device, or by default, as it can be written back.
pub(crate) fn parse_setting(text: &str, device: Option<&str>) -> Option<String> {
    match device {
        Some(device) => {
            let of = |line: &&str| line.split_ascii_whitespace().next() == Some(device);
            let unlimited = || format!("{device} rbps=max wbps=max");
            Some(text.lines().find(of).map_or_else(unlimited, |line| line.trim().to_owned()))
        }
        None => {
            let number = text.lines().find_map(|line| line.trim().strip_prefix("default "));
            number.or_else(|| text.lines().next()).map(|number| format!("default {}", number.trim()))
        }
    }
}

/// Writes a setting and reads it back: the kernel takes some and keeps others.
pub(crate) fn set_setting(cgroups: &Cgroups, cgroup: &str, file: &str, value: &str) -> Result<(), Error> {
    let path = cgroups.path(cgroup)?.join(file);
    match crate::file::write(&path, value) {
        Err(e) if is_gone(&e) && !path.parent().is_some_and(Path::exists) => return Ok(()),
        written => written.map_err(|e| Error::file("writing", &path, e))?,
    }
    let text = read(&path)?;
    let text = String::from_utf8_lossy(&text);
    let mut words = value.split_ascii_whitespace();
    let first = words.next().unwrap_or_default();
    let now = parse_setting(&text, (first != "default").then_some(first)).unwrap_or_default();
    match words.all(|word| now.split_ascii_whitespace().any(|stands| stands == word)) {
        true => Ok(()),
        false => Err(Error::parse(path, now.as_bytes())),
    }
}

/// The row `disk` of `fovea check`.
pub(crate) fn look(root: &Root, cgroups: Option<&Cgroups>) -> Finding {
    let Some(cgroups) = cgroups else { return missing("no cgroup v2", "mount cgroup v2") };
    let volumes = match volumes(root) {
        Ok(volumes) => volumes,
        Err(Error::Missing { what, mend }) => return missing(format!("without {what}"), mend),
        Err(e) => return Finding::Unknown(e.to_string()),
    };
    let has_controller = has_io(cgroups.mount(), "cgroup.controllers");
    let passes = has_io(cgroups.mount(), "cgroup.subtree_control");
    let mut found = match (volumes.is_empty(), weights(root, cgroups)) {
        (false, _) => format!("dm-aciom on {}", volumes.join(", ")),
        (true, _) if !has_controller => {
            return missing(
                "no volume of dm-aciom and no io controller",
                "a kernel with CONFIG_BLK_CGROUP, or dm-aciom: fovea-aciom(4)",
            )
        }
        (true, weights) if weights.is_empty() => "cgroup io.max, where disk.cmax_bytes_per_s is given".into(),
        (true, weights) => format!("cgroup io.max, where disk.cmax_bytes_per_s is given, else {}", weights.join(", ")),
    };
    if volumes.is_empty() {
        let installed = module::is_available(root, "dm-aciom");
        found += if installed { "; dm-aciom is there, no disk is below it" } else { "; no module dm-aciom" };
    }
    match passes {
        true => Finding::Present(found),
        false => missing(
            format!("{found}; but the root's cgroup.subtree_control lacks io, so apps cannot be told apart"),
            "disk.enable_controller = true in the configuration, or systemd's IOAccounting=yes for the apps' units",
        ),
    }
}

/// A file of a cgroup as text; nothing where it is not.
pub(crate) fn text(cgroups: &Cgroups, cgroup: &str, file: &str, buffer: &mut Vec<u8>) -> Result<Option<String>, Error> {
    let there = cgroups.text(cgroup, file, buffer)?;
    Ok(there.then(|| String::from_utf8_lossy(buffer.trim_ascii()).into_owned()))
}

#[cfg(test)]
#[path = "disk_tests.rs"]
mod tests;

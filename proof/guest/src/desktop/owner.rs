// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Somebody else's zram: a service that chooses the algorithm, and has the size when the daemon
//! runs already (log2ram, zram-init).

use std::path::{Path, PathBuf};

use fovea_scenario::{EventBody, Swap};

use super::boot::busybox;
use crate::outcome::{read_file, write_file, At, Outcome};
use crate::phone::Phone;

const DEVICE: &str = "zram0";
/// Not the kernel's own choice, and not what anybody else here asks for.
const ALGORITHM: &str = "zstd";

fn file(name: &str) -> PathBuf {
    Path::new("/sys/block").join(DEVICE).join(name)
}

/// Makes the device, and chooses.
pub fn choose() -> Outcome<()> {
    let number = read_file("/sys/class/zram-control/hot_add")?;
    match number.trim() {
        "0" => write_file(file("comp_algorithm"), ALGORITHM),
        other => Err(format!("the first zram is number {other}: nobody may make one before")),
    }
}

/// As the service goes on.
pub fn set_up(phone: &mut Phone) -> Outcome<()> {
    let done = write_file(file("comp_algorithm"), ALGORITHM)
        .and_then(|()| write_file(file("disksize"), &size_bytes(phone).to_string()))
        .and_then(|()| busybox(&["mkswap", &format!("/dev/{DEVICE}")]))
        .and_then(|()| busybox(&["swapon", &format!("/dev/{DEVICE}")]));
    emit(phone, "set-up", done.err())
}

/// How it is once the daemon has stopped.
pub fn report(phone: &mut Phone) -> Outcome<()> {
    match phone.plan.desktop {
        Some(Swap::Owned) => emit(phone, "end", None),
        _ => Ok(()),
    }
}

fn size_bytes(phone: &Phone) -> u64 {
    Swap::Owned.size_bytes(phone.plan.phone.memory_bytes)
}

fn emit(phone: &mut Phone, label: &str, refused: Option<String>) -> Outcome<()> {
    let algorithm = read_file(file("comp_algorithm"))?;
    let size: u64 = read_file(file("disksize"))?.trim().parse().at(|| "disksize".into())?;
    // The one in use stands in brackets.
    let is_his = algorithm.contains(&format!("[{ALGORITHM}]")) && size == size_bytes(phone);
    if let Some(error) = &refused {
        println!("fovea-guest: the owner of {DEVICE} was refused: {error}");
    }
    println!("fovea-guest: {DEVICE} {label}: {} bytes, {}", size, algorithm.trim());
    phone.channel.emit(EventBody::OwnedZram { label: label.into(), refused, is_his })
}

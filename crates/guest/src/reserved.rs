// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a boot does with the memory that is reserved for devices: the modules that serve it, the eCache below the file system, and
//! its state.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::path::{Path, PathBuf};

use fovea_linux::dm::{device_number, DeviceMapper, Target};
use fovea_linux::Root;
use fovea_scenario::{PhoneProfile, Plan, Reservation, PAGE_BYTES};

use crate::outcome::{read_file, write_file, At, Outcome};
use crate::readings::{field, list};

/// Name of the eCache's device.
const VOLUME: &str = "flash";

const MODULE: &str = "/sys/module/dm_ecache";
const MEASURE_HELD: &str = "measure_held=";

/// Whether a module takes part in what the plan does with reserved memory, and with which parameters it is loaded; `None` for modules
/// that have nothing to do with that.
pub fn module_parameters(plan: &Plan, module: &str) -> Outcome<Option<Option<CString>>> {
    let reservation = plan.configuration.reservation();
    let wanted = match module {
        "dm_mod" | "dm_ecache" => matches!(reservation, Reservation::Idle | Reservation::Ecache),
        "contig_heap" => reservation == Reservation::Migrate,
        _ => return Ok(None),
    };
    if !wanted {
        return Ok(Some(None));
    }
    let parameters = match module {
        "dm_ecache" => {
            let parameters = ecache_parameters(&plan.phone, reservation)? + " " + &plan.module_parameters;
            parameters.trim_end().to_owned()
        }
        "contig_heap" => contig_parameters(&plan.phone, &read_file("/proc/zoneinfo")?)?,
        _ => String::new(),
    };
    Ok(Some(Some(CString::new(parameters).at(|| format!("parameters of {module}"))?)))
}

fn devices(phone: &PhoneProfile) -> String {
    let each: Vec<String> = phone.reserved_bytes.iter().map(|(name, bytes)| format!("{name}:{bytes}")).collect();
    each.join(",")
}

fn carveout_bytes(phone: &PhoneProfile) -> Outcome<fovea_scenario::Carveout> {
    phone.carveout().ok_or_else(|| format!("phone {} reserves no memory: add reserved_bytes", phone.name))
}

fn ecache_parameters(phone: &PhoneProfile, reservation: Reservation) -> Outcome<String> {
    let carveout = carveout_bytes(phone)?;
    // Idle: devices are served and nothing is cached.
    let caching = if reservation == Reservation::Idle { "N" } else { "Y" };
    let (size, address) = (carveout.size_bytes, carveout.address);
    Ok(format!("carveouts={size}@{address} devices={} caching={caching}", devices(phone)))
}

/// The lower end of ZONE_MOVABLE: at its upper end lies what was allocated at boot before there were zones, which cannot be moved.
fn contig_parameters(phone: &PhoneProfile, zoneinfo: &str) -> Outcome<String> {
    let size = carveout_bytes(phone)?.size_bytes;
    let zone = zoneinfo.split("Node ").find(|zone| zone.lines().next().is_some_and(|line| line.ends_with("Movable")));
    let of = |name: &str| {
        let lines = zone?.lines().map(str::trim_start);
        lines.filter_map(|line| field(line, name)).next()
    };
    let pages = size / PAGE_BYTES as u64;
    match (of("start_pfn:"), of("spanned")) {
        (Some(first), Some(spanned)) if spanned >= pages => {
            Ok(format!("region={size}@{} devices={}", first * PAGE_BYTES as u64, devices(phone)))
        }
        _ => Err(format!(
            "/proc/zoneinfo: no Movable zone of {pages} pages: is movablecore= on the kernel's command line?"
        )),
    }
}

/// The block device that the file system is made on: the flash itself, or the eCache over it.
pub fn volume(plan: &Plan, flash: &Path) -> Outcome<PathBuf> {
    if plan.configuration.reservation() != Reservation::Ecache {
        return Ok(flash.to_owned());
    }
    let mapper = DeviceMapper::open(&Root::at("/")).map_err(|e| e.to_string())?;
    let name = flash.file_name().unwrap_or_default().to_string_lossy();
    let path = format!("/sys/block/{name}/size");
    let size_sectors = read_file(&path)?.trim().parse().at(|| path)?;
    let lower = device_number(flash).map_err(|e| e.to_string())?;
    let kind = "ecache".into();
    let table = [Target { start_sectors: 0, size_sectors, kind, parameters: format!("{lower} 0") }];
    mapper.create(VOLUME).map_err(|e| e.to_string())?;
    mapper.load(VOLUME, &table).map_err(|e| e.to_string())?;
    Ok(mapper.resume(VOLUME).map_err(|e| e.to_string())?.node())
}

/// Forgets what setting up has cached: the apps begin with an empty eCache, as with an empty page cache. From here on its work is
/// measured.
pub fn begin(plan: &Plan) -> Outcome<()> {
    if plan.configuration.reservation() != Reservation::Ecache {
        return Ok(());
    }
    let mapper = DeviceMapper::open(&Root::at("/")).map_err(|e| e.to_string())?;
    mapper.message(VOLUME, 0, "drop").map_err(|e| e.to_string())?;
    // Both at once, each would be in what the other counts.
    if plan.module_parameters.contains(MEASURE_HELD) {
        return Ok(());
    }
    write_file(format!("{MODULE}/parameters/measure"), "Y")
}

/// The eCache's state by the module's own names; `None` if nothing is cached in this boot.
pub fn pool(plan: &Plan) -> Outcome<Option<BTreeMap<String, u64>>> {
    if plan.configuration.reservation() != Reservation::Ecache {
        return Ok(None);
    }
    let folder = Path::new(MODULE).join("pool");
    let mut values = BTreeMap::new();
    for name in list(&folder)? {
        let path = folder.join(&name);
        values.insert(name, read_file(&path)?.trim().parse().at(|| path.display().to_string())?);
    }
    Ok(Some(values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fovea_scenario::Catalog;

    fn nexus() -> PhoneProfile {
        Catalog::builtin().unwrap().phone("nexus-s-emmc").unwrap().clone()
    }

    #[test]
    fn the_modules_are_told_what_the_phone_reserves() {
        let devices = "devices=fimc:12582912,jpeg:8388608,mfc0:35651584,mfc1:37748736";
        assert_eq!(
            ecache_parameters(&nexus(), Reservation::Ecache).unwrap(),
            format!("carveouts=94371840@268435456 {devices} caching=Y")
        );
        assert!(ecache_parameters(&nexus(), Reservation::Idle).unwrap().ends_with("caching=N"));
        let zones = "Node 0, zone    DMA32\n  pages free 5\n        spanned  100\n  start_pfn:           4096\n\
                     Node 0, zone  Movable\n  pages free 7\n        spanned  23552\n  start_pfn:           143360\n";
        assert_eq!(contig_parameters(&nexus(), zones).unwrap(), format!("region=94371840@587202560 {devices}"));
        assert!(contig_parameters(&nexus(), "Node 0, zone  Movable\n spanned 0\n")
            .unwrap_err()
            .contains("movablecore"));
        assert!(contig_parameters(&nexus(), "").is_err());
        let mut none = nexus();
        none.reserved_bytes.clear();
        assert!(contig_parameters(&none, zones).is_err());
    }
}

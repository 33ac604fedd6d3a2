// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a boot does with the memory that is reserved for devices: the modules that serve it, the eCache below the file system, and
//! its state.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::path::{Path, PathBuf};

use fovea_contract::contig_parameters::{DEVICES as CONTIG_DEVICES, REGION};
use fovea_contract::ecache_parameters::{CACHING, CARVEOUTS, DEVICES, MEASURE, MEASURE_HELD};
use fovea_contract::{CONTIG_MODULE, ECACHE_DROP, ECACHE_MODULE, ECACHE_TARGET};
use fovea_linux::dm::{device_number, DeviceMapper, Target};
use fovea_linux::{PageSize, Root};
use fovea_scenario::{PhoneProfile, Plan, Reservation};

use crate::outcome::{read_file, write_file, At, Outcome};
use crate::readings::{field, list};

/// Name of the eCache's device.
const VOLUME: &str = "flash";

/// A file of the eCache's module.
fn module_file(name: &str) -> PathBuf {
    Path::new("/sys/module").join(ECACHE_MODULE).join(name)
}

/// The modules that serve reserved memory, and when. What they need, they say themselves.
const SERVING: [(&str, &[Reservation]); 2] =
    [(ECACHE_MODULE, &[Reservation::Idle, Reservation::Ecache]), (CONTIG_MODULE, &[Reservation::Migrate])];

/// What a plan does without, of an image's modules: what serves reserved memory in other plans, and what nothing but that needs.
/// `needs` tells what a module depends on.
pub fn unwanted(
    reservation: Reservation,
    image: &BTreeSet<String>,
    needs: impl Fn(&str) -> Outcome<Vec<String>>,
) -> Outcome<BTreeSet<String>> {
    let here = SERVING.iter().filter(|(name, _)| image.contains(*name));
    let (serving, idle): (Vec<_>, Vec<_>) = here.partition(|(_, when)| when.contains(&reservation));
    let with_needs = |names: Vec<String>| {
        let (mut found, mut open) = (BTreeSet::new(), names);
        while let Some(name) = open.pop() {
            if image.contains(&name) && found.insert(name.clone()) {
                open.extend(needs(&name)?);
            }
        }
        Outcome::Ok(found)
    };
    let names = |modules: Vec<&(&str, _)>| modules.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
    let idle = with_needs(names(idle))?;
    if idle.is_empty() {
        return Ok(idle);
    }
    let others = image.difference(&idle).cloned().chain(names(serving)).collect();
    let wanted = with_needs(others)?;
    Ok(idle.difference(&wanted).cloned().collect())
}

/// The parameters that a module is loaded with.
pub fn module_parameters(plan: &Plan, module: &str) -> Outcome<CString> {
    let parameters = match module {
        ECACHE_MODULE => {
            let parameters = ecache_parameters(&plan.phone, plan.configuration.reservation)?;
            format!("{parameters} {}", plan.module_parameters).trim_end().to_owned()
        }
        CONTIG_MODULE => contig_parameters(&plan.phone, &read_file("/proc/zoneinfo")?)?,
        _ => String::new(),
    };
    CString::new(parameters).at(|| format!("parameters of {module}"))
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
    // Where memory is reserved by a device tree, its node says where.
    let carveout = if cfg!(target_arch = "x86_64") { format!("{size}@{address}") } else { "of:fovea,carveout".into() };
    Ok(format!("{CARVEOUTS}={carveout} {DEVICES}={} {CACHING}={caching}", devices(phone)))
}

/// The lower end of ZONE_MOVABLE: at its upper end lies what was allocated at boot before there were zones, which cannot be moved.
fn contig_parameters(phone: &PhoneProfile, zoneinfo: &str) -> Outcome<String> {
    let size = carveout_bytes(phone)?.size_bytes;
    let zone = zoneinfo.split("Node ").find(|zone| zone.lines().next().is_some_and(|line| line.ends_with("Movable")));
    let of = |name: &str| {
        let lines = zone?.lines().map(str::trim_start);
        lines.filter_map(|line| field(line, name)).next()
    };
    let page_bytes = PageSize::of_system().bytes();
    let pages = size / page_bytes;
    match (of("start_pfn:"), of("spanned")) {
        (Some(first), Some(spanned)) if spanned >= pages => {
            Ok(format!("{REGION}={size}@{} {CONTIG_DEVICES}={}", first * page_bytes, devices(phone)))
        }
        _ => Err(format!(
            "/proc/zoneinfo: no Movable zone of {pages} pages: is movablecore= on the kernel's command line?"
        )),
    }
}

/// The block device that the file system is made on: the flash itself, or the eCache over it.
pub fn volume(plan: &Plan, flash: &Path) -> Outcome<PathBuf> {
    if plan.configuration.reservation != Reservation::Ecache {
        return Ok(flash.to_owned());
    }
    let mapper = DeviceMapper::open(&Root::at("/")).map_err(|e| e.to_string())?;
    let name = flash.file_name().unwrap_or_default().to_string_lossy();
    let path = format!("/sys/block/{name}/size");
    let size_sectors = read_file(&path)?.trim().parse().at(|| path)?;
    let lower = device_number(flash).map_err(|e| e.to_string())?;
    let kind = ECACHE_TARGET.into();
    let table = [Target { start_sectors: 0, size_sectors, kind, parameters: format!("{lower} 0") }];
    mapper.create(VOLUME).map_err(|e| e.to_string())?;
    mapper.load(VOLUME, &table).map_err(|e| e.to_string())?;
    Ok(mapper.resume(VOLUME).map_err(|e| e.to_string())?.node())
}

/// Forgets what setting up has cached: the apps begin with an empty eCache, as with an empty page cache. From here on its work is
/// measured.
pub fn begin(plan: &Plan) -> Outcome<()> {
    if plan.configuration.reservation != Reservation::Ecache {
        return Ok(());
    }
    let mapper = DeviceMapper::open(&Root::at("/")).map_err(|e| e.to_string())?;
    mapper.message(VOLUME, 0, ECACHE_DROP).map_err(|e| e.to_string())?;
    // Both at once, each would be in what the other counts.
    if plan.module_parameters.contains(&format!("{MEASURE_HELD}=")) {
        return Ok(());
    }
    write_file(module_file("parameters").join(MEASURE), "Y")
}

/// The eCache's state by the module's own names; `None` if nothing is cached in this boot.
pub fn pool(plan: &Plan) -> Outcome<Option<BTreeMap<String, u64>>> {
    if plan.configuration.reservation != Reservation::Ecache {
        return Ok(None);
    }
    let folder = module_file("pool");
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
    fn a_plan_gets_the_modules_that_serve_it_and_all_that_these_need() {
        let image = ["configfs", "null_blk", "dm_mod", "fovea_heap", "dm_ecache", "contig_heap", "dm_delay"];
        let needs = |name: &str| {
            let list: &[&str] = match name {
                "null_blk" => &["configfs"],
                "dm_ecache" => &["dm_mod", "fovea_heap"],
                "contig_heap" => &["fovea_heap", "built_in"],
                "dm_delay" => &["dm_mod"],
                _ => &[],
            };
            Ok(list.iter().map(|&name| name.to_owned()).collect())
        };
        let without = |reservation, image: &[&str]| {
            let image = image.iter().map(|&name| name.to_owned()).collect();
            let names: Vec<_> = unwanted(reservation, &image, needs).unwrap().into_iter().collect();
            names.join(" ")
        };
        for reservation in [Reservation::Idle, Reservation::Ecache] {
            assert_eq!(without(reservation, &image), "contig_heap");
        }
        assert_eq!(without(Reservation::Migrate, &image), "dm_ecache", "dm_delay needs dm_mod");
        assert_eq!(without(Reservation::Migrate, &image[..6]), "dm_ecache dm_mod");
        assert_eq!(without(Reservation::Returned, &image[..6]), "contig_heap dm_ecache dm_mod fovea_heap");
        let unread = |name: &str| panic!("{name} is none of the plan's");
        assert!(unwanted(Reservation::Absent, &["null_blk".to_owned()].into(), unread).unwrap().is_empty());
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

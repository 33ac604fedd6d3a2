// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Setting the device up: compressed swap where there is none, and the eCache's module.

use fovea_contract::ECACHE_MODULE;
use fovea_linux::{Device, Error, StorageSwap, ZramDevice, ZramWish};
use serde_json::json;

use super::Memory;
use crate::engine::engine_state::EngineState;

/// Pages that are read back at once: for disks; zram pays for every page.
const PAGE_CLUSTER: &str = "vm/page-cluster";

impl Memory {
    /// Sets the device up: compressed swap where there is none.
    pub(super) fn set_up_all<D: Device>(&mut self, shared: &mut EngineState<D>, now_ns: u64) -> Result<(), Error> {
        self.reading = shared.device.memory()?;
        (self.looked_ns, self.set_up_ns) = (now_ns, now_ns);
        set_up_ecache(shared, now_ns);
        if !shared.config.zram.enabled {
            return Ok(());
        }
        if let Some(zram) = shared.undo.changed().zram.clone() {
            shared.write(now_ns, "zram-taken-over", None, None, json!({ "number": zram.number }));
            let storage = shared.device.storage_swap();
            set_page_cluster(shared, &storage);
            return Ok(());
        }
        if self.reading.zram.is_some() {
            return Ok(());
        }
        let storage = shared.device.storage_swap();
        if !shared.config.zram.goes_above(&storage, self.reading.total_bytes) {
            shared.write(now_ns, "zram-left-out", None, None, json!({ "storage": storage }));
            return Ok(());
        }
        let (total_bytes, mode) = (self.reading.total_bytes, shared.config.memory.mode);
        let (limit_bytes, disk_bytes) = shared.config.zram.sizes(total_bytes, mode, storage.size_bytes > 0);
        let wish = ZramWish {
            algorithm: Some(shared.config.zram.algorithm.clone()),
            disk_bytes,
            limit_bytes,
            priority: shared.config.zram.priority,
        };
        match set_up_zram(shared, &wish) {
            Ok(zram) => {
                shared.write(now_ns, "zram", None, None, json!({ "device": zram, "limit_bytes": limit_bytes }));
                set_page_cluster(shared, &storage);
                self.reading = shared.device.memory()?;
            }
            // A device without zram is served without compression: named, not fatal.
            Err(e) => shared.lacks(now_ns, format!("zram: {e}")),
        }
        Ok(())
    }
}

/// Where the algorithm cannot be had, with the kernel's own: worse compression is better than none.
fn set_up_zram<D: Device>(shared: &mut EngineState<D>, wish: &ZramWish) -> Result<ZramDevice, Error> {
    let refused = match try_zram(shared, wish) {
        Err(refused @ Error::Refused { .. }) => refused,
        result => return result,
    };
    let kernels = ZramWish { algorithm: None, ..wish.clone() };
    match try_zram(shared, &kernels) {
        Ok(zram) => {
            say!("fovea: {refused}: zram compresses with {} instead", zram.algorithm);
            Ok(zram)
        }
        Err(_) => Err(refused),
    }
}

/// A device that was claimed and not set up is nobody's again: whoever sets it up later keeps it when the daemon ends.
fn try_zram<D: Device>(shared: &mut EngineState<D>, wish: &ZramWish) -> Result<ZramDevice, Error> {
    let undo = &mut shared.undo;
    let made = shared.device.zram_setup(wish, &mut |zram| undo.zram(zram));
    if made.is_err() {
        undo.zram_gone().map_err(|e| Error::Call { call: "giving up the claim", what: "zram".into(), source: e })?;
    }
    made
}

/// One setting for all swap. Where a disk turns it needs its own more than zram does: a page alone takes the disk as long as eight, and the
/// kernel reads most of a zram's pages one by one whatever the setting says. From flash the kernel reads what lies around in the app, not on
/// the flash, so eight pages may be eight requests.
fn set_page_cluster<D: Device>(shared: &mut EngineState<D>, storage: &StorageSwap) {
    if storage.rotational_bytes == 0 {
        shared.set_sysctl(PAGE_CLUSTER, "0");
    }
}

/// Gives the eCache's module its settings. A device without it is served without it: `fovea check` names it.
fn set_up_ecache<D: Device>(shared: &mut EngineState<D>, now_ns: u64) {
    if !shared.config.ecache.enabled {
        return;
    }
    match shared.device.ecache() {
        Ok(None) => {}
        Ok(Some(pool)) => {
            let parameters = shared.config.ecache.parameters();
            for (name, value) in &parameters {
                shared.set_parameter(ECACHE_MODULE, name, value);
            }
            shared.write(now_ns, "ecache", None, None, json!({ "frames": pool.frames, "parameters": parameters }));
        }
        Err(e) => shared.lacks(now_ns, format!("ecache: {e}")),
    }
}

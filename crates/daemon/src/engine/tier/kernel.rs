// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the kernel is told: how it moves pages, and whose go to slow memory. What was there before is written down first.

use fovea_apps::MemoryTiers;
use fovea_linux::{Controller, Device, Error, TierSetting};

use super::EngineState;
use crate::undo::Setting;

/// Whether the kernel looks as often as that already, or holds as much for hot: who set it so wants it.
fn is_enough(setting: TierSetting, old: &str, value: &str) -> bool {
    match (old.parse::<u64>(), value.parse::<u64>()) {
        (Ok(old), Ok(value)) if setting == TierSetting::HotThreshold => old >= value,
        (Ok(old), Ok(value)) => old <= value,
        _ => false,
    }
}

pub(super) fn set<D: Device>(shared: &mut EngineState<D>, setting: TierSetting, value: &str) {
    let done = shared.device.tier_setting(setting).and_then(|old| match old {
        Some(old) if is_enough(setting, &old, value) => Ok(()),
        // A kernel that spells it otherwise (Y, 1) is not written to for that.
        Some(old) if old != value && shared.undo.tier_setting(setting, &old).is_ok() => {
            shared.device.set_tier_setting(setting, value)?;
            if let Some(is_now) = shared.device.tier_setting(setting)? {
                shared.is_ours(Setting::Tier(setting), &is_now);
            }
            Ok(())
        }
        _ => Ok(()),
    });
    done.unwrap_or_else(|e| say!("fovea: {e}"));
}

/// False if its cgroup has no such rule, or one of somebody else's.
pub(super) fn keep_out<D: Device>(
    shared: &mut EngineState<D>,
    cgroup: &str,
    tiers: &MemoryTiers,
) -> Result<bool, Error> {
    if !shared.pass_on(cgroup, Controller::Cpuset)? {
        return Ok(false);
    }
    if shared.device.allowed_nodes(cgroup)?.is_none_or(|nodes| !nodes.is_empty()) {
        return Ok(false);
    }
    if let Err(e) = shared.undo.kept_out(cgroup) {
        say!("fovea: writing the undo log: {e}");
        return Ok(false);
    }
    let nodes: Vec<_> = tiers.slow.iter().map(u32::to_string).collect();
    shared.device.set_allowed_nodes(cgroup, &nodes.join(",")).map(|()| true)
}

pub(super) fn let_in<D: Device>(shared: &mut EngineState<D>, cgroup: &str) -> Result<(), Error> {
    shared.device.set_allowed_nodes(cgroup, "")?;
    shared.undo.let_in(cgroup).unwrap_or_else(|e| say!("fovea: writing the undo log: {e}"));
    Ok(())
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The daemon's configuration file for each configuration of a comparison.

use crate::{Combined, Configuration, Daemon, Ksmd, Merging, PhoneProfile, Thresholds, Tiering, MEDIA_ROOT};

/// What a kernel keeps for itself on a phone of this age, unless a scenario says otherwise: an estimate, made before any boot.
pub const KERNEL_BYTES: u64 = 78 << 20;

/// What apps can have, estimated: the phone's memory without its reservations and the kernel's part.
pub fn user_memory_bytes(phone: &PhoneProfile, kernel_bytes: u64) -> u64 {
    let reserved = phone.reserved_bytes.values().fold(0u64, |sum, &b| sum.saturating_add(b));
    phone.memory_bytes.saturating_sub(reserved).saturating_sub(kernel_bytes)
}

/// Swap is a quarter of user memory (LowMem13, section 4.2: "25% of user space").
const PAPER_ZRAM_PERCENT: u64 = 25;

/// The daemon's configuration file for a configuration and so much user memory.
///
/// `Paper`: the thresholds are Android's (LowMem13, figure 2-19), and so is the swap's size unless `zram_percent` gives another.
/// `stock` and `zram` leave apps running in the background, as Android did; `fovea` freezes them a second after they are left.
///
/// `Device`: the daemon's defaults, which freeze nothing; `stock` and `zram` differ in the mode and the swap.
pub(crate) fn daemon_config(
    configuration: &Configuration,
    thresholds: Thresholds,
    user_bytes: u64,
    zram_percent: Option<u64>,
) -> String {
    if let Some(Combined { net, merge, .. }) = configuration.combined {
        let single = Configuration { combined: None, queue: None, merging: None, ..configuration.clone() };
        // The network's section is the last: what the link brings is added to it.
        return daemon_config(&single, thresholds, user_bytes, zram_percent)
            + &format!("\n[merge]\nenabled = {merge}\n\n[net]\nenabled = {net}\n");
    }
    if configuration.queue.is_some() {
        // What the link brings is told, as in the paper; nothing is frozen, for what is in the background downloads.
        let enabled = configuration.daemon == Daemon::Full;
        return format!("[zram]\nenabled = false\n\n[net]\nenabled = {enabled}\n");
    }
    if let Some(Merging { ksmd, for_kin, .. }) = configuration.merging {
        let enabled = ksmd == Ksmd::Windows;
        let kin = if for_kin { "executable" } else { "any" };
        // Android's killer in each, and nothing else that would move pages.
        return format!(
            "[memory]\nmode = \"ladder\"\nminfree_pages = [2048, 3072, 4096, 6144, 7168, 8192]\nkill_grace_ms = 0\n\n\
             [zram]\nenabled = false\n\n[merge]\nenabled = {enabled}\nkin = \"{kin}\"\n"
        );
    }
    if let Some(tiering) = configuration.tiering {
        let enabled = tiering == Tiering::Managed;
        // Nothing else moves pages: memory is not short in all.
        return format!(
            "[memory]\nmode = \"ladder\"\nminfree_pages = [0, 0, 0, 0, 0, 0]\n\n[zram]\nenabled = false\n\n\
             [merge]\nenabled = false\n\n[tier]\nenabled = {enabled}\n"
        );
    }
    let size_percent = zram_percent.or((thresholds == Thresholds::Paper).then_some(PAPER_ZRAM_PERCENT));
    let size = size_percent.map(|percent| format!("size_percent = {percent}\n")).unwrap_or_default();
    let zram = format!("[zram]\nenabled = {}\n{size}user_memory_bytes = {user_bytes}\n", configuration.zram);
    let (mode, classes, debounce_ms) = match configuration.daemon {
        Daemon::Absent => return String::new(),
        // What stands for its disks lies in memory, and MemTotal counts it. On a real machine that is the memory there is.
        Daemon::AsInstalled => return format!("[zram]\nuser_memory_bytes = {user_bytes}\n"),
        Daemon::Idle => {
            // The plain ladder's zram, which whoever goes by SwapFree needs.
            return format!("[memory]\nmode = \"ladder\"\n\n{zram}\n[lists]\nignore = [\"*\"]\n");
        }
        Daemon::Ranks => {
            return format!("[memory]\nmode = \"ladder\"\nminfree_pages = [0, 0, 0, 0, 0, 0]\n\n{zram}");
        }
        Daemon::Ladder => ("ladder", "", 0),
        Daemon::Full | Daemon::Deaf => ("full", r#""hidden", "empty""#, 1000),
    };
    if thresholds == Thresholds::Device {
        return format!("[memory]\nmode = \"{mode}\"\n\n{zram}");
    }
    format!(
        "[memory]\nmode = \"{mode}\"\nminfree_pages = [2048, 3072, 4096, 6144, 7168, 8192]\n\
         thrash_refaults_per_s = 600\nkill_grace_ms = 0\n\n\
         {zram}\n\
         [freeze]\nclasses = [{classes}]\ndebounce_ms = {debounce_ms}\n"
    )
}

/// Where the daemon looks who plays, on a phone with a sound server.
pub(crate) fn sound_section(configuration: &Configuration, has_sound: bool) -> String {
    match has_sound && configuration.daemon != Daemon::Deaf {
        true => format!("\n[daemon]\nmedia_root = \"{MEDIA_ROOT}\"\n"),
        false => String::new(),
    }
}

/// The daemon's part in a slow disk, where there is one.
pub(crate) fn disk_section(configuration: &Configuration, rate: Option<u64>) -> String {
    match configuration.disk {
        None => String::new(),
        Some(setting) => {
            let (enabled, rate) = (setting.is_managed(), rate.unwrap_or(0));
            format!("\n[disk]\nenabled = {enabled}\ncmax_bytes_per_s = {rate}\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::desktop::FOVEA as DESKTOP;
    use crate::kinds::managed::MANAGED;
    use crate::{Catalog, Scenario};

    #[test]
    fn each_configuration_is_toml_and_differs() {
        let texts: Vec<_> = MANAGED
            .iter()
            .map(|c| daemon_config(c, Thresholds::Paper, 400_000_000, None).parse::<toml::Table>().unwrap())
            .collect();
        assert_eq!(texts[0]["zram"]["enabled"].as_bool(), Some(false));
        assert_eq!(texts[1]["zram"]["user_memory_bytes"].as_integer(), Some(400_000_000));
        assert_eq!(texts[2]["memory"]["mode"].as_str(), Some("full"));
        assert_eq!(texts[2]["freeze"]["classes"].as_array().map(Vec::len), Some(2));
        assert_eq!(texts[2]["freeze"]["debounce_ms"].as_integer(), Some(1000));
        assert!(texts[0] != texts[1] && texts[1] != texts[2]);
        assert_eq!(texts[1]["zram"]["size_percent"].as_integer(), Some(25));
        let other = daemon_config(&MANAGED[1], Thresholds::Paper, 400_000_000, Some(50));
        assert_eq!(other, daemon_config(&MANAGED[1], Thresholds::Paper, 400_000_000, None).replace("= 25", "= 50"));
    }

    #[test]
    fn a_device_says_nothing_that_the_daemon_knows_better() {
        let text = daemon_config(&MANAGED[2], Thresholds::Device, 400_000_000, None);
        let table = text.parse::<toml::Table>().unwrap();
        assert_eq!(table["memory"].as_table().unwrap().keys().collect::<Vec<_>>(), ["mode"]);
        assert_eq!(table["zram"]["user_memory_bytes"].as_integer(), Some(400_000_000));
        assert!(table.get("freeze").is_none());
    }

    #[test]
    fn where_all_run_at_once_the_file_says_which_and_ends_with_the_network() {
        let all = Catalog::builtin().unwrap();
        let scenario = Scenario::load("day", &[]).unwrap();
        for plan in scenario.plans(&all, true).unwrap() {
            let table = plan.daemon_config.parse::<toml::Table>().unwrap();
            let name = plan.configuration.name();
            let combined = plan.configuration.combined.unwrap();
            assert_eq!(table["net"]["enabled"].as_bool(), Some(combined.net), "{name}");
            assert_eq!(table["net"]["capacity_bytes_per_s"].as_integer(), Some(300_000), "{name}");
            assert_eq!(table["merge"]["enabled"].as_bool(), Some(combined.merge), "{name}");
            assert_eq!(table["zram"]["enabled"].as_bool(), Some(true), "{name}");
            let disk = plan.configuration.disk.unwrap();
            assert_eq!(table["disk"]["enabled"].as_bool(), Some(disk.is_managed()), "{name}");
            assert!(table["disk"]["cmax_bytes_per_s"].as_integer().is_some_and(|rate| rate > 10_000_000), "{name}");
        }
    }

    #[test]
    fn as_installed_says_only_how_much_memory_there_would_be_with_real_disks() {
        let text = daemon_config(&DESKTOP, Thresholds::Device, 400_000_000, None);
        assert_eq!(text, "[zram]\nuser_memory_bytes = 400000000\n");
    }
}

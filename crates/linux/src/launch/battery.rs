// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How much a battery still holds (Documentation/ABI/testing/sysfs-class-power).

use std::path::Path;

use crate::file::Root;

/// Percent that the fullest battery of the machine holds; none if none discharges, or mains are there.
pub fn discharging_percent(root: &Root) -> Option<u64> {
    let supplies = std::fs::read_dir(root.join("sys/class/power_supply")).ok()?.flatten();
    let (mut fullest, mut discharges) = (None, false);
    for supply in supplies {
        let folder = supply.path();
        let text = |name: &str| short(&folder.join(name));
        match text("type").as_deref() {
            // A mouse's, or a pen's.
            _ if text("scope").as_deref() == Some("Device") => {}
            Some("Battery") => {
                discharges |= text("status").as_deref() == Some("Discharging");
                fullest = fullest.max(text("capacity").and_then(|percent| percent.parse().ok()));
            }
            Some(_) if text("online").as_deref() == Some("1") => return None,
            _ => {}
        }
    }
    fullest.filter(|_| discharges)
}

fn short(path: &Path) -> Option<String> {
    let mut text = Vec::new();
    crate::file::read_into(path, &mut text).ok()?;
    Some(String::from_utf8_lossy(&text).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::capture;

    #[test]
    fn the_fullest_battery_counts_while_it_discharges_and_a_mouses_never() {
        let root = tempfile::tempdir().unwrap();
        let percent = || discharging_percent(&Root::at(root.path()));
        let set = |supply: &str, texts: &[(&str, &str)]| {
            for (name, text) in texts {
                capture(root.path(), &format!("sys/class/power_supply/{supply}/{name}"), &format!("{text}\n"));
            }
        };
        assert_eq!(percent(), None, "a board has none");
        set("mouse", &[("type", "Battery"), ("scope", "Device"), ("status", "Discharging"), ("capacity", "3")]);
        assert_eq!(percent(), None);
        set("BAT0", &[("type", "Battery"), ("status", "Discharging"), ("capacity", "11")]);
        set("BAT1", &[("type", "Battery"), ("status", "Unknown"), ("capacity", "40")]);
        assert_eq!(percent(), Some(40));
        set("AC", &[("type", "Mains"), ("online", "0")]);
        assert_eq!(percent(), Some(40));
        set("AC", &[("online", "1")]);
        assert_eq!(percent(), None);
    }
}

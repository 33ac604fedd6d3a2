// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The owner's lists: which app is meant by which entry, now.

use fovea_apps::{AppName, Identity, Listed, Lists, Pattern, Standing};
use fovea_linux::Device;
use serde_json::json;

use super::engine_state::{EngineState, SharedAppState};

/// How old what is known of an app's programs may be while memory is short; before it is frozen or killed they are read again.
const PROGRAMS_FRESH_NS: u64 = 2_000_000_000;

/// Entries that commands may add.
const SAID_MAX: usize = 256;

impl<D: Device> EngineState<D> {
    /// The lists in force: the configuration's, and what was said since.
    pub(super) fn relist(&mut self, now_ns: u64) {
        self.lists = self.config.lists.clone();
        for list in Standing::LISTS {
            if let Some(entries) = self.lists.of_mut(list) {
                entries.extend_from_slice(self.said.of(list));
            }
        }
        let names: Vec<_> = self.registry.iter().map(|app| app.name.clone()).collect();
        for name in names {
            self.identify(&name, now_ns);
        }
        self.reorder(now_ns);
    }

    /// Finds out on which list an app is; says whether that has changed.
    pub(super) fn identify(&mut self, name: &AppName, now_ns: u64) -> bool {
        let (Some(app), Some(known)) = (self.registry.get(name), self.apps.get_mut(name)) else { return false };
        let mut listed = None;
        if !self.lists.is_empty() {
            known.identified_ns = now_ns;
            let programs = match self.device.programs(&app.cgroup) {
                Ok(programs) => programs,
                Err(e) => {
                    if !e.is_put_off() {
                        say!("fovea: {e}: going by the name of {name} alone");
                    }
                    Vec::new()
                }
            };
            let label = fovea_apps::label_of_cgroup(&app.cgroup);
            listed = self.lists.entry(&Identity {
                name: name.as_str(),
                label: label.as_deref(),
                cgroup: &app.cgroup,
                programs: &programs,
            });
        }
        if listed.is_none() {
            let preference = self.device.preference(&app.cgroup).unwrap_or_else(|e| {
                say!("fovea: {e}: what is preferred of {name} is not known");
                None
            });
            listed = preference.and_then(|preference| preference.entry(self.registry.has_one_owner()));
        }
        if listed == known.listed {
            return false;
        }
        known.listed.clone_from(&listed);
        let outcome = match &listed {
            Some(Listed { list, pattern }) => json!({ "list": list, "entry": pattern }),
            None => json!({ "list": null }),
        };
        self.write(now_ns, "listed", Some(name), None, outcome);
        true
    }

    /// The same before something is done to an app that a list may forbid, or that is perceptible: what runs in it may be new.
    pub(super) fn has_changed(&mut self, name: &AppName, now_ns: u64) -> bool {
        let listed = self.identify(name, now_ns);
        if listed {
            self.reorder(now_ns);
        }
        let is_perceived = |shared: &Self| shared.apps.get(name).is_some_and(|known| known.perceived.is_some());
        let was_perceived = is_perceived(self);
        self.perceive_at(now_ns);
        listed || is_perceived(self) != was_perceived
    }

    /// While memory is short, what runs in the apps is looked at now and then.
    pub(super) fn identify_all(&mut self, now_ns: u64) {
        if self.lists.is_empty() {
            return;
        }
        let old = |known: &SharedAppState| now_ns.saturating_sub(known.identified_ns) >= PROGRAMS_FRESH_NS;
        let names: Vec<_> = self.apps.iter().filter(|(_, known)| old(known)).map(|(name, _)| name.clone()).collect();
        let changed = names.iter().filter(|name| self.identify(name, now_ns)).count();
        if changed > 0 {
            self.reorder(now_ns);
        }
    }

    /// Puts an entry on a list until the daemon ends.
    pub(super) fn list_add(&mut self, list: Standing, pattern: Pattern, now_ns: u64) -> Result<(), String> {
        if Standing::LISTS.iter().map(|&list| self.said.of(list).len()).sum::<usize>() >= SAID_MAX {
            return Err(format!("{SAID_MAX} entries have been added: put them into the configuration's [lists]"));
        }
        let known = self.lists.of(list).contains(&pattern);
        let entries =
            self.said.of_mut(list).ok_or("there is no list of that name: protect, avoid, prefer or ignore")?;
        if !known {
            entries.push(pattern);
            self.relist(now_ns);
        }
        Ok(())
    }

    /// Takes one off that [`Self::list_add`] put there.
    pub(super) fn list_remove(&mut self, list: Standing, pattern: &Pattern, now_ns: u64) -> Result<(), String> {
        let entries =
            self.said.of_mut(list).ok_or("there is no list of that name: protect, avoid, prefer or ignore")?;
        let before = entries.len();
        entries.retain(|entry| entry != pattern);
        if entries.len() < before {
            self.relist(now_ns);
            return Ok(());
        }
        Err(match self.config.lists.of(list).contains(pattern) {
            true => {
                format!("{list} {pattern} is in the configuration: take it out there and reload the daemon (SIGHUP)")
            }
            false => format!("{list} has no entry {pattern}: see `fovea rules show`"),
        })
    }

    /// The configuration's lists, and what was added to them.
    pub(super) fn both_lists(&self) -> (Lists, Lists) {
        (self.config.lists.clone(), self.said.clone())
    }
}

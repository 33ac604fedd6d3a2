// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The kinds of scenarios. Each is a file of its own: its parameters, the steps that follow from them, the figures and verdicts that are made of
//! what boots report, and what its paper prints. To add one: its file, its two lines here, its scenario in `profiles/scenarios`.

pub mod burst;
pub mod cold;
pub mod day;
pub mod desktop;
pub mod disk;
pub mod ecache;
pub mod incompressible;
pub mod ksm;
pub mod leak;
pub mod lowmem;
pub mod managed;
pub mod mapcache;
pub mod monkey;
pub mod music;
pub(crate) mod name;
pub mod net;
pub mod outsiders;
pub mod pair;
mod peers;
pub mod prefetch;
pub mod steps;
pub mod tier;
pub mod workload;

use std::fmt::Debug;

use fovea_report::panel::Panel;
use fovea_report::paper::Paper;
use serde::Deserialize;

use crate::figures::fold::Folded;
use crate::scenario::Scenario;
use crate::script::{BadParameter, Script};
use crate::{AppProfile, Boot, Case, Catalog, Configuration, Error, PhoneProfile, Verdict};

/// Hands the list of kinds to a macro: name, module and parameters of each. Those of `sections` have a section of the file to themselves; those of
/// `keys` are keys of the file.
macro_rules! kinds {
    ($define:ident) => {
        $define! {
            sections {
                /// The low-memory tests of LowMem13, section 4.2.
                "lowmem" => lowmem::Lowmem,
                /// A user's day (eCache12, section 5.2).
                "workload" => workload::Workload,
                /// Random events (LowMem13, section 4.1).
                "monkey" => monkey::Monkey,
                /// What becomes of the memory reserved for devices (eCache12, section 5).
                "ecache" => ecache::Ecache,
                /// Launches with and without their files in the page cache (eCache12, figure 3).
                "cold" => cold::Cold,
                /// Starts with what they read there before they ask, or not.
                "prefetch" => prefetch::Prefetching,
                /// A video played through buffers that stay mapped, or not (MapCache15).
                "mapcache" => mapcache::Mapcache,
                /// Apps whose pages are alike (LowMem13, sections 4.3 and 4.4).
                "ksm" => ksm::Ksm,
                /// A desktop with a leaking app, a fork bomb and a build.
                "desktop" => desktop::Desktop,
                /// Somebody takes memory who is none of the user's apps.
                "outsiders" => outsiders::Outsiders,
                /// An app that takes memory without end, beside eight that do not.
                "leak" => leak::Leak,
                /// Two large apps, back and forth.
                "pair" => pair::Pair,
                /// Music in the background through a user's day (Aciom11; LowMem13).
                "music" => music::Music,
                /// Apps in front while a job in the background takes memory in bursts.
                "burst" => burst::Burst,
                /// Apps whose pages do not compress.
                "incompressible" => incompressible::Incompressible,
                /// A film beside a copy on a slow disk (Aciom11, section 6.2).
                "disk" => disk::Disk,
                /// A stream beside a download (Aciom11, section 6.3).
                "net" => net::Net,
                /// Apps in fast and slow memory (Hybrid15).
                "tier" => tier::Tier,
                /// A day in which all happens at once.
                "day" => day::Day,
            }
            keys {
                /// The steps that the file lists.
                "steps" => steps::Steps,
            }
        }
    };
}
pub(crate) use kinds;

macro_rules! define {
    (
        sections { $($(#[$doc:meta])* $name:literal => $module:ident::$Parameters:ident,)* }
        keys { $($(#[$key_doc:meta])* $key_name:literal => $key_module:ident::$KeyParameters:ident,)* }
    ) => {
        /// What a scenario does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
        pub enum Kind {
            $($(#[$doc])* #[serde(rename = $name)] $Parameters,)*
            $($(#[$key_doc])* #[serde(rename = $key_name)] $KeyParameters,)*
        }

        pub(crate) static ABOUT: &[About] = &[
            $(About { name: $name, has_section: true, ..$module::ABOUT },)*
            $(About { name: $key_name, has_section: false, ..$key_module::ABOUT },)*
        ];

        impl Kind {
            /// What holds of the kind whatever its parameters are.
            pub(crate) fn about(self) -> &'static About {
                &ABOUT[self as usize]
            }
        }

        impl Scenario {
            /// The parameters of its kind.
            pub(crate) fn parameters(&self) -> &dyn Parameters {
                match self.kind {
                    $(Kind::$Parameters => &self.$module,)*
                    $(Kind::$KeyParameters => &self.$key_module,)*
                }
            }
        }
    };
}
kinds!(define);

/// What holds of a kind whatever its parameters are.
pub(crate) struct About {
    /// As a scenario's file says it; the list's.
    pub name: &'static str,
    /// Whether its parameters stand in a section of its name; the list's.
    pub has_section: bool,
    /// What can be compared, and is unless the file says otherwise.
    pub configurations: &'static [Configuration],
    /// What can be compared as well, where the file asks for it by name.
    pub peers: &'static [Configuration],
    /// Built-in scenarios: path below `profiles/`, and text.
    pub scenarios: &'static [(&'static str, &'static str)],
    /// Keys of which the command line may give one value or several: `cases=L,N`.
    pub lists: &'static [&'static str],
    /// What the command line may call another key, and which one: `workload=N`.
    pub shorthands: &'static [(&'static str, &'static str)],
    /// Its verdicts need figures alone, no boots: documents of its parts can be merged.
    pub is_judged_by_figures: bool,
    /// What its paper prints.
    pub paper: Option<Paper>,
    /// What a person notices of it.
    pub panels: &'static [Panel],
}

/// What papers print of the scenarios.
pub fn papers() -> Vec<Paper> {
    ABOUT.iter().filter_map(|kind| kind.paper).collect()
}

/// What a person notices of the scenarios, in the order of the page.
pub fn panels() -> Vec<Panel> {
    ABOUT.iter().flat_map(|kind| kind.panels).copied().collect()
}

fn scenarios() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    ABOUT.iter().flat_map(|kind| kind.scenarios)
}

/// The built-in scenario of that name: file name for messages, and text.
pub(crate) fn builtin_scenario(name: &str) -> Option<(String, &'static str)> {
    scenarios()
        .find(|(path, _)| *path == format!("scenarios/{name}.toml"))
        .map(|(path, text)| (format!("profiles/{path}"), *text))
}

/// Names of the built-in scenarios.
pub fn builtin_scenarios() -> impl Iterator<Item = &'static str> {
    scenarios().map(|(path, _)| path.trim_start_matches("scenarios/").trim_end_matches(".toml"))
}

impl About {
    /// All that can be compared.
    pub fn known(&self) -> impl Iterator<Item = &'static Configuration> {
        self.configurations.iter().chain(self.peers)
    }

    /// Nothing known yet: what a kind's own begins with.
    pub const NONE: About = About {
        name: "",
        has_section: false,
        configurations: &[],
        peers: &[],
        scenarios: &[],
        lists: &[],
        shorthands: &[],
        is_judged_by_figures: false,
        paper: None,
        panels: &[],
    };
}

/// The parameters of one kind, and all that follows from them.
pub(crate) trait Parameters: Debug {
    /// What is wrong with them by themselves.
    fn check(&self) -> Result<(), BadParameter>;

    /// The boots, by case and round. `scale` is for what is no app's size.
    fn scripts(&self, scenario: &Scenario, scale: f64, catalog: &Catalog) -> Result<Vec<Script>, Error>;

    /// The factor of all sizes, of what was asked for, if anything was, and of what apps can have on the phone.
    fn scale(&self, asked: Option<f64>, phone: &PhoneProfile, _user_bytes: u64) -> f64 {
        asked.unwrap_or(1.0) * phone.app_scale
    }

    /// An app as this kind uses it, not scaled yet. Devices have memory on `devices`, and none without it.
    fn app(
        &self,
        app: &AppProfile,
        _scenario: &Scenario,
        _devices: Option<&PhoneProfile>,
        _catalog: &Catalog,
    ) -> Result<AppProfile, Error> {
        Ok(app.clone())
    }

    /// The figures.
    fn cases(&self, scenario: &Scenario, folded: &[Folded]) -> Vec<Case>;

    /// What is claimed of them.
    fn verdicts(&self, scenario: &Scenario, cases: &[Case], boots: &[Boot<'_>]) -> Vec<Verdict>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_kind_state_its_defaults() {
        for about in ABOUT {
            assert!(!about.scenarios.is_empty() && !about.configurations.is_empty(), "{}", about.name);
            for (path, text) in about.scenarios {
                let file = Scenario::from_text(path, text, &[]).unwrap();
                assert_eq!(file.kind.about().name, about.name);
                // Where these have no section, the file is the scenario.
                if about.has_section {
                    let bare = format!("kind = \"{}\"\n", about.name);
                    let bare = Scenario::from_text("bare.toml", &bare, &[]).unwrap();
                    assert_eq!(format!("{:?}", file.parameters()), format!("{:?}", bare.parameters()));
                    assert_eq!((file.zygote_mib, file.kernel_mib), (bare.zygote_mib, bare.kernel_mib));
                }
            }
        }
    }
}

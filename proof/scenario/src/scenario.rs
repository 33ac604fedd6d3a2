// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Scenario files: what is compared, and with which parameters.

use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use crate::app_file::AppEntry;
use crate::error::{file_error, line_of, parse, Error};
use crate::kinds::name::Name;
use crate::kinds::{builtin_scenario, builtin_scenarios, kinds, Kind};
use crate::overrides;
use crate::seeds::Seeds;
use crate::{Configuration, Lacks};

macro_rules! define {
    (
        sections { $($(#[$doc:meta])* $name:literal => $module:ident::$Parameters:ident,)* }
        keys { $($(#[$key_doc:meta])* $key_name:literal => $key_module:ident::$KeyParameters:ident,)* }
    ) => {
        /// A scenario, as its file says and the command line changed it.
        #[derive(Clone, Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Scenario {
            /// Its name; the file's name without `.toml` unless it says one.
            #[serde(default)]
            pub name: String,
            /// What it does.
            pub kind: Kind,
            /// The phone's name.
            #[serde(default = "default_phone")]
            pub phone: String,
            /// What is compared, if it says so.
            #[serde(rename = "configurations")]
            given: Option<Vec<Name>>,
            /// What is compared; what the kind compares unless it says otherwise.
            #[serde(skip)]
            pub configurations: Vec<Configuration>,
            /// Seed of everything drawn, if it says one.
            #[serde(rename = "seed")]
            given_seed: Option<u64>,
            /// Several, if it says so.
            #[serde(rename = "seeds")]
            given_seeds: Option<Seeds>,
            /// Seeds of everything drawn: each boot is made once with each. At least one.
            #[serde(skip)]
            pub seeds: Vec<u64>,
            /// The first of them.
            #[serde(skip)]
            pub seed: u64,
            /// Factor of all sizes; for `lowmem` without it, user memory / 835 MB.
            pub scale: Option<f64>,
            /// Memory the zygote preloads, before scaling.
            #[serde(default = "default_zygote_mib")]
            pub zygote_mib: f64,
            /// What the kernel keeps for itself.
            #[serde(default = "default_kernel_mib")]
            pub kernel_mib: f64,
            /// Most memory that compressed swap may take, percent of user memory, in every configuration that has it; none: what the
            /// phone's thresholds come with.
            pub zram_percent: Option<u64>,
            /// Apps started at boot.
            #[serde(default)]
            pub services: Vec<String>,
            /// Apps of the scenario's own.
            #[serde(default)]
            pub(crate) app: Vec<Spanned<AppEntry>>,
            $(
                #[doc = concat!("Parameters of kind `", $name, "`.")]
                #[serde(default, rename = $name)]
                pub $module: crate::kinds::$module::$Parameters,
            )*
            /// What the phone lacks.
            #[serde(default)]
            pub lacks: Lacks,
            $(
                #[doc = concat!("Parameters of kind `", $key_name, "`.")]
                #[serde(default, rename = $key_name)]
                pub $key_module: crate::kinds::$key_module::$KeyParameters,
            )*
            /// Where it came from, and its text: for messages.
            #[serde(skip)]
            pub(crate) origin: (String, String),
        }
    };
}
kinds!(define);

const DEFAULT_SEED: u64 = 1;

fn default_phone() -> String {
    "nexus-s".into()
}
fn default_zygote_mib() -> f64 {
    4.0
}
fn default_kernel_mib() -> f64 {
    78.0
}

impl Scenario {
    /// Loads a scenario by the name of a built-in one or the path of a file, then applies `key=value` overrides.
    pub fn load(name_or_path: &str, overrides: &[String]) -> Result<Scenario, Error> {
        if let Some((file, text)) = builtin_scenario(name_or_path) {
            return Scenario::from_text(&file, text, overrides);
        }
        let path = Path::new(name_or_path);
        if !path.exists() && path.extension().is_none() {
            let known: Vec<_> = builtin_scenarios().collect();
            return Err(Error::Scenario {
                scenario: name_or_path.into(),
                what: "no such scenario or file".into(),
                mend: format!("name {}, or a TOML file", known.join(", ")),
            });
        }
        let text = std::fs::read_to_string(path).map_err(|e| file_error(path, &e))?;
        Scenario::from_text(name_or_path, &text, overrides)
    }

    /// A scenario from the text of a file; `file` is used in messages, and for the name if the text gives none.
    pub fn from_text(file: &str, text: &str, overrides: &[String]) -> Result<Scenario, Error> {
        // Once as it is written, so that an error names the line, then with the overrides, so that an error names the override.
        let mut scenario: Scenario = parse(file, text)?;
        if !overrides.is_empty() {
            let apps = std::mem::take(&mut scenario.app);
            // The apps as they stand in the file: their positions are the file's.
            scenario = Scenario { app: apps, ..overrides::apply(scenario, file, text, overrides)? };
        }
        scenario.origin = (file.into(), text.into());
        if scenario.name.is_empty() {
            scenario.name =
                Path::new(file).file_stem().map_or_else(|| "steps".into(), |s| s.to_string_lossy().into_owned());
        }
        scenario.check()?;
        scenario.configurations = scenario.chosen().cloned().collect();
        scenario.seeds = match scenario.given_seeds.take() {
            Some(Seeds(seeds)) => seeds,
            None => vec![scenario.given_seed.unwrap_or(DEFAULT_SEED)],
        };
        scenario.seed = scenario.seeds[0];
        Ok(scenario)
    }

    /// What is compared: what the file names, in its order, or all that the kind knows.
    fn chosen(&self) -> impl Iterator<Item = &'static Configuration> + '_ {
        let about = self.kind.about();
        let named = self.given.iter().flatten().flat_map(|name| about.known().find(|c| c.name() == name.0));
        about.configurations.iter().filter(|_| self.given.is_none()).chain(named)
    }

    fn check(&self) -> Result<(), Error> {
        let (file, text) = &self.origin;
        // Line of the key, if the file has it.
        let at = |key: &str, what: String, mend: &str| {
            let offset = text.lines().scan(0, |at, line| {
                let start = *at;
                *at += line.len() + 1;
                Some((start, line))
            });
            let start = offset.filter(|(_, l)| l.trim_start().starts_with(key)).map(|(s, _)| s).next().unwrap_or(0);
            Err(Error::Content { file: file.clone(), line: line_of(text, start), what, mend: mend.into() })
        };
        let known = || self.kind.about().known();
        let names = || known().map(|c| c.name()).collect::<Vec<_>>().join(", ");
        if self.given.as_ref().is_some_and(Vec::is_empty) {
            return at("configurations", "no configuration".into(), &format!("name some of {}", names()));
        }
        if let Some(Name(other)) = self.given.iter().flatten().find(|given| known().all(|c| c.name() != given.0)) {
            let what = format!("configuration {other} is of another kind of scenario");
            return at("configurations", what, &format!("name some of {}", names()));
        }
        if self.given_seed.is_some() && self.given_seeds.is_some() {
            return at("seeds", overrides::BOTH_SEEDS.0.into(), overrides::BOTH_SEEDS.1);
        }
        if let Some(scale) = self.scale {
            if !(scale.is_finite() && scale > 0.0 && scale <= 100.0) {
                return at("scale", format!("scale is {scale}"), "choose one above 0 and at most 100");
            }
        }
        for (key, mib) in [("zygote_mib", self.zygote_mib), ("kernel_mib", self.kernel_mib)] {
            if !(mib.is_finite() && (0.0..=65536.0).contains(&mib)) {
                return at(key, format!("{key} is {mib}"), "choose one from 0 to 65536");
            }
        }
        if self.zram_percent.is_some_and(|percent| !(1..=100).contains(&percent)) {
            return at("zram_percent", "zram_percent is not a share".into(), "choose one from 1 to 100");
        }
        // A word of its own: it must not end the line or begin another argument, and the guest's image must be found.
        let plain = |arg: &String| !arg.is_empty() && arg.bytes().all(|b| b.is_ascii_graphic() && b != b'"');
        if let Some(arg) = self.lacks.kernel_args.iter().find(|arg| !plain(arg)) {
            return at(
                "kernel_args",
                format!("kernel argument {arg:?}"),
                "write one word per argument, without quotes",
            );
        }
        match self.parameters().check() {
            Ok(()) => Ok(()),
            Err((key, what)) => at(key, format!("{key}: {what}"), "see docs/guide/scenarios.md for what it may be"),
        }
    }
}

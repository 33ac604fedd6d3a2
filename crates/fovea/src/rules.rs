// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea rules`: what the device's owner says of single apps.

use std::path::Path;

use clap::{Subcommand, ValueEnum};
use fovea_apps::{Pattern, Standing};
use fovea_client::protocol::{Reply, Request};
use fovea_client::{tell, ClientError};

use crate::failure::Failure;
use crate::output::{print, print_json};

#[derive(Subcommand)]
pub enum Rules {
    /// Print the lists, and whether the configuration or a command put an entry there.
    Show {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Put an entry on a list, until the daemon ends; in the configuration's [lists] it stays.
    Add(Entry),
    /// Take an entry off that was put there so.
    Remove(Entry),
}

#[derive(clap::Args)]
pub struct Entry {
    list: Name,
    /// An app's name, a systemd unit, a program's name or (with a slash) its path; *, ? and [a-z] as in a shell.
    #[arg(value_name = "PATTERN")]
    entry: Pattern,
}

#[derive(Clone, Copy, ValueEnum)]
enum Name {
    /// Never killed, never frozen.
    Protect,
    /// Killed only when nothing else gives memory.
    Avoid,
    /// Killed before others of its importance.
    Prefer,
    /// Left alone in every respect.
    Ignore,
}

impl From<Name> for Standing {
    fn from(name: Name) -> Standing {
        match name {
            Name::Protect => Standing::Protect,
            Name::Avoid => Standing::Avoid,
            Name::Prefer => Standing::Prefer,
            Name::Ignore => Standing::Ignore,
        }
    }
}

pub fn rules(run_folder: &Path, rules: Rules) -> Result<(), Failure> {
    match rules {
        Rules::Show { json } => show(run_folder, json),
        Rules::Add(Entry { list, entry }) => Ok(tell(run_folder, &Request::ListAdd { list: list.into(), entry })?),
        Rules::Remove(Entry { list, entry }) => {
            Ok(tell(run_folder, &Request::ListRemove { list: list.into(), entry })?)
        }
    }
}

fn show(run_folder: &Path, json: bool) -> Result<(), Failure> {
    let (configured, said) = match fovea_client::request(run_folder, &Request::List {})? {
        Reply::Lists { configured, said } => (configured, said),
        other => return Err(ClientError::from(other).into()),
    };
    if json {
        return print_json(&serde_json::json!({ "configured": configured, "said": said }));
    }
    let mut out = String::new();
    for list in Standing::LISTS {
        for (by, lists) in [("configuration", &configured), ("command", &said)] {
            for entry in lists.of(list) {
                out += &format!("{:<8} {:<40} by {by}\n", list.name(), entry.as_str());
            }
        }
    }
    if out.is_empty() {
        out = "nothing is listed: `fovea rules add protect NAME`, or [lists] in the configuration\n".into();
    }
    print(&out)
}

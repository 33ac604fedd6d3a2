// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who reads what an app's start will want before it asks, where that is compared.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use fovea_apps::OWN_SLICE;
use fovea_scenario::{AppProfile, EventBody, Plan, Prefetch};

use crate::files::FLASH_ROOT;
use crate::outcome::{write_file, At, Outcome};
use crate::phone::Phone;
use crate::setup::{cgroup_path, make_cgroup};
use crate::spawn::{self, Setting};

/// Word on this program's command line that has it read the files named after it.
pub const WORD: &str = "read-all";

const PROGRAM: &str = "/bin/fovea-prefetch";
const CGROUP: &str = "system/prefetch";

/// Read at once.
const CHUNK_BYTES: usize = 128 << 10;

/// Makes the slice of the apps, and starts fovea-prefetch where it takes part.
pub fn begin(plan: &Plan) -> Outcome<()> {
    let Some(prefetch) = plan.configuration.prefetch else { return Ok(()) };
    make_cgroup(OWN_SLICE)?;
    make_cgroup(CGROUP)?;
    if !prefetch.has_program() {
        return Ok(());
    }
    let path = cgroup_path(CGROUP);
    let cgroup = File::open(&path).at(|| format!("opening {}", path.display()))?;
    let ahead = (prefetch == Prefetch::Ahead).then_some("--ahead");
    let args: Vec<&str> = ["fovea-prefetch", "run"].into_iter().chain(ahead).collect();
    spawn::exec_into(&cgroup, Path::new(PROGRAM), &args, Setting::default())?;
    Ok(())
}

/// An app's process has been started, in that cgroup, in which all of its files are read if that is compared.
pub fn started(plan: &Plan, profile: &AppProfile, cgroup: &File) -> Outcome<()> {
    if plan.configuration.prefetch != Some(Prefetch::WholeFiles) {
        return Ok(());
    }
    let files: Vec<String> = paths(profile).map(|path| path.display().to_string()).collect();
    let args: Vec<&str> = ["fovea-guest", WORD].into_iter().chain(files.iter().map(String::as_str)).collect();
    spawn::exec_into(cgroup, Path::new("/init"), &args, Setting::default())?;
    Ok(())
}

/// Something is about to be opened: all of its files are read first if that is compared.
pub fn before_open(phone: &Phone, profile: &AppProfile) -> Outcome<()> {
    match phone.plan.configuration.prefetch {
        Some(Prefetch::Beforehand) => paths(profile).try_for_each(|path| read_through(&path)),
        _ => Ok(()),
    }
}

/// An app is about to end: who still reads its files whole ends with it.
pub fn before_crash(phone: &Phone, app: &str) -> Outcome<()> {
    match phone.apps.get(app) {
        Some(app) if phone.plan.configuration.prefetch == Some(Prefetch::WholeFiles) => {
            write_file(cgroup_path(&app.cgroup).join("cgroup.kill"), "1")
        }
        _ => Ok(()),
    }
}

fn paths(profile: &AppProfile) -> impl Iterator<Item = PathBuf> + '_ {
    let files = profile.shared_files.iter().chain(&profile.private_files);
    files.map(|file| Path::new(FLASH_ROOT).join(&file.path))
}

fn read_through(path: &Path) -> Outcome<()> {
    let mut file = File::open(path).at(|| format!("opening {}", path.display()))?;
    let mut buffer = vec![0u8; CHUNK_BYTES];
    while file.read(&mut buffer).at(|| format!("reading {}", path.display()))? > 0 {}
    Ok(())
}

/// The program that reads whole files.
pub fn main() {
    for path in std::env::args().skip(2) {
        if let Err(error) = read_through(Path::new(&path)) {
            eprintln!("fovea-guest: {error}");
        }
    }
}

/// What fovea-prefetch says of itself at the end.
pub fn report(phone: &mut Phone) -> Outcome<()> {
    if !phone.plan.configuration.prefetch.is_some_and(Prefetch::has_program) {
        return Ok(());
    }
    let (code, text) = phone.run_fovea(&["fovea", "prefetch", "status", "--json"])?;
    if code != 0 {
        return Err(format!("`fovea prefetch status` ended with exit code {code}: see the console"));
    }
    let starts = serde_json::from_str(&text).at(|| "what `fovea prefetch status` printed".into())?;
    phone.channel.emit(EventBody::Prefetched { starts })
}

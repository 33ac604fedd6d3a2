// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A program with a window in a login's own cgroup: told of by one of the program's own sources, it
//! is moved to a scope that the user's systemd makes.

use std::fs::File;
use std::path::Path;

use super::outside::SESSION;
use super::session::MANAGER;
use crate::buffers::sleep_ns;
use crate::outcome::{write_file, At, Outcome};
use crate::readings::now_ns;
use crate::setup::cgroup_path;
use crate::spawn::{self, Setting};

/// What the source reads: whose process is in front.
const FOLDER: &str = "/run/top-app";

/// How long it may take.
const LIMIT_NS: u64 = 30_000_000_000;

/// Time between two looks.
const LOOK_NS: u64 = 20_000_000;

/// Has a source tell of the process, and waits until it runs in an app's scope of the user's
/// systemd. The source ends then: who is in front is told by whoever plays the user.
pub fn adopted(pid: u32) -> Outcome<()> {
    std::fs::create_dir_all(FOLDER).at(|| format!("making {FOLDER}"))?;
    let procs = format!("{FOLDER}/cgroup.procs");
    std::fs::write(&procs, format!("{pid}\n")).at(|| format!("writing {procs}"))?;
    let path = cgroup_path(SESSION);
    let cgroup = File::open(&path).at(|| format!("opening {}", path.display()))?;
    let args = ["fovea", "source", "top-app", "--folder", FOLDER];
    let source = spawn::exec_into(&cgroup, Path::new("/bin/fovea"), &args, Setting::default())?;
    let wanted = format!("0::/{MANAGER}/app.slice/app-");
    let until_ns = now_ns() + LIMIT_NS;
    let moved = loop {
        let file = format!("/proc/{pid}/cgroup");
        let cgroup = std::fs::read_to_string(&file).at(|| format!("reading {file}"))?;
        if cgroup.starts_with(&wanted) && cgroup.trim_end().ends_with(".scope") {
            break Ok(());
        }
        if now_ns() > until_ns {
            break Err(format!(
                "process {pid} is in {}: a scope in {wanted}… should have been made",
                cgroup.trim_end()
            ));
        }
        sleep_ns(LOOK_NS);
    };
    // SAFETY: takes no pointer; the process is our child.
    unsafe { libc::kill(source as libc::pid_t, libc::SIGTERM) };
    write_file(&procs, "")?;
    moved
}

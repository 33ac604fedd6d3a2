// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which programs an app's processes run.

use rustix::fs::readlinkat;

use crate::file::Root;
use crate::probe::watched;
use crate::process::Process;
use crate::Error;

/// Processes looked at: what a fork bomb adds is not worth the time.
const PROCESSES_MAX: usize = 256;

/// What the kernel adds to the path of a program that was replaced (by an upgrade) while it runs.
const REPLACED: &str = " (deleted)";

/// The programs' paths, the oldest process first, each once. A process whose program cannot be read (it is ending, or not ours to look at) is
/// passed over.
pub(crate) fn programs(root: &Root, cgroup: &str, pids: &[u32]) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    let mut text = Vec::new();
    for &pid in pids.iter().take(PROCESSES_MAX) {
        if !watched::touch(pid) {
            continue;
        }
        let Some(process) = Process::open_in(root, cgroup, pid)? else { continue };
        let (Some(path), Ok(Some(stat))) = (program(&process), process.stat(&mut text)) else { continue };
        found.push((stat.start_ticks, pid, path));
    }
    found.sort();
    let mut paths: Vec<String> = Vec::new();
    for (_, _, path) in found {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    Ok(paths)
}

/// Those of which the program may not be read, or which are not to be seen at all.
pub(crate) fn unseen(root: &Root, pids: &[u32]) -> Vec<u32> {
    let hidden = |pid: &u32| {
        let folder = root.join(format!("proc/{pid}"));
        match std::fs::read_link(folder.join("exe")) {
            Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => true,
            // Of a process that has ended and is not buried the folder is still there.
            Err(_) => !folder.exists(),
            Ok(_) => false,
        }
    };
    pids.iter().copied().filter(hidden).collect()
}

fn program(process: &Process) -> Option<String> {
    let path = readlinkat(process.folder(), "exe", Vec::new()).ok()?;
    let path = path.to_string_lossy();
    Some(path.strip_suffix(REPLACED).unwrap_or(&path).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn each_program_is_named_once_the_oldest_process_first() {
        let own = std::process::id();
        let Ok(Some(cgroup)) = crate::System::at("/").cgroup_of(own) else {
            println!("skipped: no cgroup v2");
            return;
        };
        let mut cats =
            [(); 2].map(|()| Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap());
        let pids = [cats[1].id(), u32::MAX, own, cats[0].id()];
        let found = programs(&Root::at("/"), &cgroup, &pids).unwrap();
        let elsewhere = programs(&Root::at("/"), "fovea-test-no-such-group", &pids).unwrap();
        for cat in &mut cats {
            cat.kill().unwrap();
            cat.wait().unwrap();
        }
        assert_eq!(found[0], std::env::current_exe().unwrap().to_str().unwrap());
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[1].ends_with("cat") || found[1].ends_with("busybox"), "{found:?}");
        assert_eq!(elsewhere, Vec::<String>::new());
    }
}

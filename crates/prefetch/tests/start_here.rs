// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Apps start on this machine, in namespaces of their own. Skipped, with a word, where root, cgroup v2 or a file system with a disk is missing.

#[path = "../../fovea/tests/common/console.rs"]
mod console;

use std::path::Path;
use std::process::Command;

use console::Console;
use fovea_linux::cgroup::Cgroups;
use fovea_linux::Root;

/// What the program may have resident at any time.
const RESIDENT_MAX_KIB: u64 = 12 << 10;

/// Runs the script in a cgroup of its own; `None` with a word where that cannot be.
fn run(folder: &Path) -> Option<Console> {
    let skip = |why: &str| {
        eprintln!("skipped: {why}");
        None
    };
    if !rustix::process::geteuid().is_root() {
        return skip("only root may start apps of others");
    }
    let Ok(cgroups) = Cgroups::find(&Root::at("/")) else { return skip("no cgroup v2 here") };
    let device = rustix::fs::stat(folder).unwrap().st_dev;
    if rustix::fs::major(device) == 0 {
        return skip("the target folder is on no disk");
    }
    let cgroup = format!("fovea-prefetch-test-{}", std::process::id());
    let path = cgroups.create(&cgroup).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/start/here.sh");
    let inner = r#"echo $$ >"$1/cgroup.procs"; shift; exec timeout -s KILL 200 unshare -C -m -p -f --kill-child --mount-proc bash "$@""#;
    let output = Command::new("bash")
        .args(["-c", inner, "bash"])
        .arg(&path)
        .args([script, env!("CARGO_BIN_EXE_fovea-prefetch")])
        .arg(folder)
        .output()
        .unwrap();
    let _ = cgroups.remove(&cgroup);
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{said}{errors}");
    Some(Console(said.into_owned()))
}

#[test]
fn what_a_user_may_read_is_there_before_the_app_asks_and_nothing_else() {
    // Beside the program: /tmp may have no disk.
    let folder = tempfile::tempdir_in(Path::new(env!("CARGO_BIN_EXE_fovea-prefetch")).parent().unwrap()).unwrap();
    let Some(console) = run(folder.path()) else { return };
    assert_eq!(console.lines("at the end").len(), 1, "it did not get there");
    // Pages of the shell's that others need too come and go.
    assert!(console.number("accuracy:") >= 90);
    let own: Vec<u64> =
        console.lines("read by the app itself:").iter().map(|line| line.trim().parse().unwrap()).collect();
    // Two files, of each 16 reads of 16 KiB.
    assert!(own[0] >= 512 << 10 && own[1] >= 512 << 10 && own[2] < 64 << 10, "{own:?}");
    let pages: Vec<u64> =
        console.lines("prefetched pages:")[0].split_whitespace().map(|number| number.parse().unwrap()).collect();
    assert!(pages.iter().all(|pages| *pages >= 64), "{pages:?}");
    assert!(console.number("pages of what may be read:") >= 64);
    assert_eq!(console.number("pages of an upgraded file:"), 0);
    assert_eq!(console.number("wake-ups in 10 s:"), 0);
    let resident = console.lines("VmHWM:")[0].trim().trim_end_matches(" kB").parse::<u64>().unwrap();
    assert!(resident <= RESIDENT_MAX_KIB, "{resident} KiB");
    if Path::new("/dev/fuse").exists() {
        assert_eq!((console.lines("served:").len(), console.lines("silent:").len()), (1, 1));
    }
    assert_eq!(console.number("starts forgotten on a full disk:"), 0);
    assert_eq!((console.number("pages of what may not:"), console.number("pages through a link:")), (0, 0));
}

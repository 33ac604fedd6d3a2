// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `oom_score_adj` of a program that forks all the time, while the focus goes to and fro and the
//! daemon is killed: nobody ends below its own value, and nobody keeps one of ours.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use common::{is_root, run, until, Client, Daemon};
use fovea_linux::System;
use rustix::process::{kill_process, Signal};

const CHANGES: usize = 50;

/// What every process here has without Fovea.
const OWN: i32 = 33;

/// `make test-scores` has 10,000.
fn forks() -> usize {
    std::env::var("FOVEA_TEST_FORKS").ok().and_then(|text| text.parse().ok()).unwrap_or(1000)
}

/// A cgroup with a program in it that goes on by a step for each line that it is sent.
struct App {
    folder: PathBuf,
    cgroup: String,
    shell: Child,
}

impl App {
    fn new(name: &str, script: &str) -> Option<App> {
        let mount = System::new().ok()?.cgroup_mount().ok()?;
        let cgroup = format!("fovea-test-{name}-{}", std::process::id());
        let folder = mount.join(&cgroup);
        if !is_root() || fs::create_dir(&folder).is_err() {
            println!("skipped: no cgroup can be made here");
            return None;
        }
        let enter =
            format!("echo {OWN} >/proc/self/oom_score_adj; echo $$ >{}/cgroup.procs; {script}", folder.display());
        let mut command = Command::new("sh");
        let shell = command.args(["-c", &enter]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        Some(App { folder, cgroup, shell })
    }

    fn scores(&self) -> BTreeMap<i32, usize> {
        let mut scores = BTreeMap::new();
        for pid in fs::read_to_string(self.folder.join("cgroup.procs")).unwrap().lines() {
            if let Ok(score) = fs::read_to_string(Path::new("/proc").join(pid).join("oom_score_adj")) {
                *scores.entry(score.trim().parse().unwrap()).or_default() += 1;
            }
        }
        scores
    }

    fn step(&mut self) {
        use std::io::Write;
        writeln!(self.shell.stdin.as_mut().unwrap()).unwrap();
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let _ = fs::write(self.folder.join("cgroup.kill"), "1");
        let _ = self.shell.wait();
        until(&|| "its cgroup is never empty".into(), || fs::remove_dir(&self.folder).is_ok());
    }
}

fn register(daemon: &Daemon, apps: [(&str, &App); 2]) -> Client {
    let client = Client::connect(&daemon.run_folder());
    client.say(r#"{"request":"attend","name":"test"}"#);
    for (name, app) in apps {
        client.say(&format!(r#"{{"request":"register","app":"{name}","cgroup":"{}"}}"#, app.cgroup));
    }
    client
}

/// Both of its processes at once, as the machine's end would: nothing is put back.
fn kill(mut daemon: Daemon) -> Daemon {
    let worker = daemon.worker();
    kill_process(daemon.supervisor_pid(), Signal::STOP).unwrap();
    kill_process(worker, Signal::KILL).unwrap();
    kill_process(daemon.supervisor_pid(), Signal::KILL).unwrap();
    daemon.ended();
    daemon
}

#[test]
fn nobody_ends_below_its_own_score_whatever_forks_and_whenever_the_daemon_dies() {
    let each = forks().div_ceil(CHANGES);
    // Each step forks some, a tenth of which live on.
    let script = format!(
        "while read line; do i=0; while [ $i -lt {each} ]; do \
         if [ $((i % 10)) = 0 ]; then sleep 1000 & else : & fi; i=$((i+1)); done; echo done; done"
    );
    let Some(mut job) = App::new("job", &script) else { return };
    let Some(mail) = App::new("mail", "read line; sleep 1000") else { return };
    let mut done = BufReader::new(job.shell.stdout.take().unwrap()).lines();
    let mut daemon = Daemon::start();
    let mut client = register(&daemon, [("job", &job), ("mail", &mail)]);
    let mut marked = false;
    for change in 0..CHANGES {
        // The change falls into the midst of the forks.
        job.step();
        let app = if change % 2 == 0 { "job" } else { "mail" };
        client.say(&format!(r#"{{"request":"focus","app":"{app}"}}"#));
        done.next().unwrap().unwrap();
        let scores = job.scores();
        assert!(scores.keys().all(|&score| score >= OWN), "{scores:?}");
        marked |= scores.keys().any(|&score| score > OWN);
        if change % 17 == 16 {
            job.step();
            let dead = kill(daemon);
            let output = run(&dead.run_folder(), &["restore", "--wait"]);
            assert_eq!(output.status.code(), Some(0), "{output:?}");
            done.next().unwrap().unwrap();
            daemon = Daemon::start();
            client = register(&daemon, [("job", &job), ("mail", &mail)]);
        }
        if change == 3 {
            // Old enough by now to be marked.
            until(&|| format!("nobody is ever marked: {:?}", job.scores()), || {
                client.say(r#"{"request":"focus","app":"job"}"#);
                client.say(r#"{"request":"focus","app":"mail"}"#);
                job.scores().keys().any(|&score| score > OWN)
            });
        }
    }
    assert!(marked);
    let dead = kill(daemon);
    assert_eq!(run(&dead.run_folder(), &["restore", "--wait"]).status.code(), Some(0));
    assert_eq!(job.scores().keys().copied().collect::<Vec<_>>(), [OWN], "{:?}", job.scores());
    assert_eq!(mail.scores().keys().copied().collect::<Vec<_>>(), [OWN]);
    assert!(job.scores()[&OWN] >= forks() / 10);
    assert_eq!(fs::read(dead.run_folder().join("undo.log")).unwrap(), b"");
}

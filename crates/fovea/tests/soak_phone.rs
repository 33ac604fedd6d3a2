// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! One user works, another attacks the daemon in every way at once, with a plain login's limits: nobody's app dies for it, no leak is
//! left to the kernel, answers come in time, and the daemon stays small. As long as FOVEA_SOAK_SECONDS says: `make soak`. Skipped,
//! with a word, where something is missing.

#[path = "common/console.rs"]
mod console;

use std::fs;
use std::path::Path;
use std::time::Duration;

use console::Console;
use fovea_phone::{fetch, Cache, Error, GuestFile, Phone, Programs, Progress, RunOptions};
use fovea_scenario::kinds::managed::STOCK;
use fovea_scenario::{Lacks, Plan};

const SCRIPT: &str = include_str!("soak/guest.sh");

/// An answer on the control socket may take so long, but for one in a hundred.
const ANSWER_P99_MAX_US: u64 = 50_000;

/// A kill follows its wake-up in so much time, whatever else is asked and looked at.
const SIGNAL_AFTER_MAX_NS: u64 = 50_000_000;

/// What the daemon's processes may have resident at any time.
const RESIDENT_MAX_KIB: u64 = 16 << 10;

fn boot(dir: &Path, seconds: u64) -> Result<String, Error> {
    let cache = Cache::open()?;
    let kernel = fetch::cached(&cache)?.ok_or_else(|| Error::Missing {
        what: "no kernel in the cache".into(),
        mend: "`make fetch` gets one".into(),
    })?;
    let busybox = fetch::busybox(&cache, &Progress::quiet())?;
    let hostile = Path::new(env!("CARGO_BIN_EXE_fovea")).with_file_name("examples/hostile");
    let programs = Programs { init: busybox.clone(), ..Programs::find(busybox)? };
    let script = dir.join("guest.sh");
    fs::write(&script, SCRIPT).unwrap();
    let files =
        [GuestFile { to: "/guest.sh".into(), from: script }, GuestFile { to: "/bin/hostile".into(), from: hostile }];
    let phone = Phone::prepare(&cache, kernel, &programs, &["zram"], None, &Progress::quiet())?.with_files(&files)?;
    let mut kernel_args = ["rdinit=/bin/busybox", "loglevel=3", "--", "sh", "/guest.sh"].map(String::from).to_vec();
    kernel_args.push(seconds.to_string());
    let plan = Plan {
        configuration: STOCK,
        lacks: Lacks { kernel_args, ..Lacks::default() },
        // An answer's time is then the guest's own, whatever else the host does.
        exact: true,
        ..Plan::bare("soak", 768 << 20, 2)
    };
    let options = RunOptions { timeout: Duration::from_secs(600 + 20 * seconds), results: dir.join("results") };
    // A shell cannot say the word that ends a plan; its last line tells.
    let logs = match phone.run(&plan, &options, &Progress::quiet(), |_| ()) {
        Ok(outcome) => outcome.logs,
        Err(Error::Boot(failure)) => failure.logs.clone(),
        Err(e) => return Err(e),
    };
    Ok(String::from_utf8_lossy(&fs::read(logs.join("console.log")).unwrap()).into_owned())
}

#[test]
#[ignore = "takes minutes: make soak"]
fn beside_a_hostile_user_nobody_dies_wrongly_and_the_daemon_answers_and_stays_small() {
    let seconds = std::env::var("FOVEA_SOAK_SECONDS").map_or(300, |text| text.parse().expect("FOVEA_SOAK_SECONDS"));
    let dir = tempfile::tempdir().unwrap();
    let console = match boot(dir.path(), seconds) {
        Ok(console) => console,
        Err(e) if e.is_missing() => return fovea_phone::skip(e),
        Err(e) => panic!("{e}"),
    };
    println!("{console}");
    let console = Console(console);
    let (lines, number) = (|mark| console.lines(mark), |mark| console.number(mark));
    assert_eq!(lines("at the end").len(), 1, "it did not get there");
    assert_eq!(number("apps that live:"), 6);
    assert!(lines("killed:").iter().all(|line| !line.contains("\"work")), "nobody who works is killed");
    assert_eq!(number("oom kills:"), 0, "no shortage is left to the kernel");
    assert_eq!(number("open to others:"), 0);
    assert!(number("leaks that ended:") > 0, "a leak ends");
    assert!(number("answers:") >= seconds, "it can be asked all the time");
    assert!(lines("no answer:").is_empty());
    assert!(number("answer p99 us:") <= ANSWER_P99_MAX_US);
    for after in lines("signalled after ns:") {
        assert!(
            after.trim().parse::<u64>().unwrap() <= SIGNAL_AFTER_MAX_NS,
            "{after} ns from the wake-up to the last signal"
        );
    }
    let resident = lines("process ");
    assert!(resident.len() >= 2, "of both processes");
    for line in resident {
        let kib: u64 = line.rsplit("VmHWM:").next().unwrap().trim().trim_end_matches(" kB").parse().unwrap();
        assert!(kib <= RESIDENT_MAX_KIB, "{line}");
    }
}

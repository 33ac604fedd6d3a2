// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea trace record` on a real kernel, of real programs (python3, git, sqlite3 of this machine, from ext4 on a block device of the
//! virtual phone), and what it makes replayed. Skipped, with a word, where something for it is missing.
//!
//! `FOVEA_RECORDINGS=FOLDER` keeps the recordings: the samples in `lab/samples` were made so.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use fovea_lab::{info, replay, store::Reader, FileNote, Op, ReplayOptions, Size};
use fovea_phone::{fetch, with_libraries, Cache, Error, GuestFile, Phone, Programs, Progress, RunOptions};
use fovea_scenario::kinds::managed::STOCK;
use fovea_scenario::{Lacks, Plan};
use serde_json::Value;

const SCRIPT: &str = include_str!("record/guest.sh");

/// Packages of Python's library that the workload needs, beside its plain files.
const PYTHON: [&str; 7] = ["collections", "encodings", "importlib", "json", "lib-dynload", "re", "sqlite3"];

/// What the guest said.
struct Said {
    console: String,
    files: BTreeMap<String, Vec<u8>>,
}

impl Said {
    fn lines(&self, mark: &str) -> Vec<&str> {
        self.console.lines().filter_map(|line| line.trim_end().strip_prefix(mark)).collect()
    }

    fn line(&self, mark: &str) -> &str {
        match self.lines(mark)[..] {
            [line] => line,
            ref lines => panic!("{mark:?}: {lines:?}\n{}", self.text()),
        }
    }

    fn json(&self, file: &str) -> Value {
        let bytes = self.files.get(file).unwrap_or_else(|| panic!("no {file}\n{}", self.text()));
        serde_json::from_slice(bytes).unwrap_or_else(|e| panic!("{file}: {e}"))
    }

    /// A recording, put into a folder.
    fn trace(&self, name: &str, dir: &Path) -> PathBuf {
        let path = dir.join(format!("{name}.parquet"));
        let bytes = self.files.get(&format!("{name}.parquet")).unwrap_or_else(|| panic!("no {name}\n{}", self.text()));
        fs::write(&path, bytes).unwrap();
        path
    }

    /// The console without the files on it.
    fn text(&self) -> String {
        let short = |line: &&str| line.len() != 76 || line.contains(' ');
        self.console.lines().filter(short).collect::<Vec<_>>().join("\n")
    }
}

fn base64(text: &[&str]) -> Vec<u8> {
    let value = |byte: u8| {
        let at = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".iter().position(|&b| b == byte);
        at.map(|at| at as u32)
    };
    let (mut out, mut held, mut bits) = (Vec::new(), 0u32, 0);
    for six in text.iter().flat_map(|line| line.bytes()).filter_map(value) {
        (held, bits) = ((held << 6 | six) & 0xffff, bits + 6);
        if bits >= 8 {
            bits -= 8;
            out.push((held >> bits) as u8);
        }
    }
    out
}

fn parse(console: String) -> Said {
    let mut files = BTreeMap::new();
    let mut lines = console.lines().map(str::trim_end);
    while let Some(line) = lines.next() {
        if let Some(path) = line.strip_prefix("=== file ") {
            let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "=== end").collect();
            files.insert(path.rsplit('/').next().unwrap_or(path).to_owned(), base64(&text));
        }
    }
    Said { console, files }
}

fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn missing(what: &str, mend: &str) -> Error {
    Error::Missing { what: what.into(), mend: mend.into() }
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            copy_tree(&path, &to.join(entry.file_name()));
        } else if path.is_file() {
            fs::copy(&path, to.join(entry.file_name())).unwrap();
        }
    }
}

/// A repository with a history.
fn repository(at: &Path) {
    let git = |args: &[&str], day: u32| {
        let mut command = Command::new("/usr/bin/git");
        command.arg("-C").arg(at).args(["-c", "user.name=n", "-c", "user.email=e", "-c", "init.defaultBranch=main"]);
        let date = format!("2026-01-{day:02}T12:00:00Z");
        command.args(args).env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
        run(command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1"));
    };
    fs::create_dir_all(at).unwrap();
    git(&["init", "-q"], 1);
    for day in 1..=8u32 {
        for file in 0..40u32 {
            let lines: String =
                (0..60 + day).map(|l| format!("line {l} of {file}, {}\n", (l + day * file) * 7919)).collect();
            let folder = at.join(format!("part{}", file % 5));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(format!("file{file}.txt")), lines).unwrap();
        }
        git(&["add", "."], day);
        git(&["commit", "-q", "-m", &format!("day {day}")], day);
    }
}

/// The file system with the programs and what they work on.
fn image(dir: &Path) -> Result<PathBuf, Error> {
    let tree = dir.join("tree");
    for folder in ["bin", "proc", "dev", "etc", "tmp", "data", "usr/lib"] {
        fs::create_dir_all(tree.join(folder)).unwrap();
    }
    for program in ["python3", "git", "sqlite3"] {
        for file in with_libraries(program, &format!("apt-get install {program}"))? {
            let to = tree.join(file.to.strip_prefix("/").unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(&file.from, &to).unwrap();
        }
    }
    // Its modules' libraries are those of sqlite3.
    let stdlib = run(Command::new("/usr/bin/python3").args([
        "-S",
        "-c",
        "import sysconfig; print(sysconfig.get_path('stdlib'))",
    ]));
    let (stdlib, place) = (PathBuf::from(&stdlib), tree.join(stdlib.trim_start_matches('/')));
    fs::create_dir_all(place.join("__pycache__")).unwrap();
    for folder in PYTHON {
        copy_tree(&stdlib.join(folder), &place.join(folder));
    }
    for folder in ["", "__pycache__"] {
        for entry in fs::read_dir(stdlib.join(folder)).unwrap().flatten().filter(|entry| entry.path().is_file()) {
            fs::copy(entry.path(), place.join(folder).join(entry.file_name())).unwrap();
        }
    }
    fs::write(tree.join("etc/gitconfig"), "[safe]\n\tdirectory = *\n[core]\n\tpager = cat\n").unwrap();
    let data = tree.join("data");
    repository(&data.join("repository"));
    fs::write(data.join("small"), "x".repeat(20_000)).unwrap();
    fs::write(data.join("zeros"), vec![0; 24 << 20]).unwrap();
    let rows: Vec<Value> =
        (0..4000u64).map(|i| serde_json::json!({"id": i, "text": format!("row {}", i * 7919 % 4001)})).collect();
    fs::write(data.join("rows.json"), serde_json::to_vec(&rows).unwrap()).unwrap();
    fs::write(data.join("load.py"), include_str!("record/load.py")).unwrap();
    fs::write(data.join("query.sql"), include_str!("record/query.sql")).unwrap();
    run(Command::new("/usr/bin/sqlite3").arg(data.join("notes.db")).arg(include_str!("record/make.sql")));
    let image = dir.join("disk.img");
    let mke2fs = ["/usr/sbin/mke2fs", "/sbin/mke2fs"].into_iter().find(|path| Path::new(path).exists());
    let mke2fs = mke2fs.ok_or_else(|| missing("mke2fs is not installed", "apt-get install e2fsprogs"))?;
    run(Command::new(mke2fs).args(["-q", "-t", "ext4", "-b", "4096", "-d"]).arg(&tree).arg(&image).arg("128M"));
    Ok(image)
}

fn plan() -> Plan {
    Plan {
        configuration: STOCK,
        lacks: Lacks {
            // The rest of the line goes to the first process.
            kernel_args: ["rdinit=/bin/busybox", "loglevel=3", "--", "sh", "/guest.sh"].map(String::from).to_vec(),
            ..Lacks::default()
        },
        ..Plan::bare("record", 768 << 20, 2)
    }
}

/// Boots the phone with everything in it.
fn boot(dir: &Path) -> Result<Said, Error> {
    let cache = Cache::open()?;
    let kernel = fetch::cached(&cache)?.ok_or_else(|| missing("no kernel in the cache", "`make fetch` gets one"))?;
    let busybox = fetch::busybox(&cache, &Progress::quiet())?;
    // Without what only a debugger wants of it; the image lies in the phone's memory.
    let fovea = dir.join("fovea");
    let stripped = Command::new("strip").arg("-o").arg(&fovea).arg(env!("CARGO_BIN_EXE_fovea")).status();
    if !stripped.is_ok_and(|status| status.success()) {
        return Err(missing("strip is not installed", "apt-get install binutils"));
    }
    let programs = Programs { init: busybox.clone(), fovea, busybox };
    let script = dir.join("guest.sh");
    fs::write(&script, SCRIPT).unwrap();
    let files =
        [GuestFile { to: "/guest.sh".into(), from: script }, GuestFile { to: "/disk.img".into(), from: image(dir)? }];
    let phone = Phone::prepare(&cache, kernel, &programs, &["null_blk"], None, &Progress::quiet())?
        .with_files(&files)?
        .by_turns();
    let options = RunOptions { timeout: Duration::from_secs(600), results: dir.join("results") };
    // A shell cannot say the word that ends a plan; its last line tells.
    let logs = match phone.run(&plan(), &options, &Progress::quiet(), |_| ()) {
        Ok(outcome) => outcome.logs,
        Err(Error::Boot(failure)) => failure.logs.clone(),
        Err(e) => return Err(e),
    };
    Ok(parse(String::from_utf8_lossy(&fs::read(logs.join("console.log")).unwrap()).into_owned()))
}

#[test]
fn real_programs_are_recorded_on_a_real_kernel_and_replayed() {
    let dir = tempfile::tempdir().unwrap();
    let said = match boot(dir.path()) {
        Ok(said) => said,
        Err(e) if e.is_missing() => return fovea_phone::skip(e),
        Err(e) => panic!("{e}"),
    };
    println!("{}", said.text());
    assert_eq!(said.lines("the end").len(), 1, "it did not come to its end");
    if let Some(folder) = std::env::var_os("FOVEA_RECORDINGS").map(PathBuf::from) {
        fs::create_dir_all(&folder).unwrap();
        for (name, bytes) in &said.files {
            fs::write(folder.join(name), bytes).unwrap();
        }
    }
    programs_are_recorded(&said, dir.path());
    failures_are_told(&said, dir.path());
    apps_are_told(&said, dir.path());
}

fn programs_are_recorded(said: &Said, dir: &Path) {
    assert_eq!(said.line("python out: "), "4000 rows, 4001 texts at most, all there");
    assert_eq!(said.line("git out: "), (8 * 43).to_string());
    for name in ["python", "git", "sqlite"] {
        assert_eq!(said.line(&format!("{name} status: ")), "0");
        let counted = said.json(&format!("{name}.json"));
        assert_eq!(counted["lost_events"], 0, "{counted}");
        assert_eq!(counted["partial"], false);
        assert_eq!(counted["command_exit_status"], 0);
        assert_eq!(counted["missing_tracepoints"], serde_json::json!([]));
        // The caches were cold: what was read came from the disk, on behalf of the program.
        for kind in ["page-get", "page-add", "page-map", "block-issue", "block-complete", "exec"] {
            assert!(counted["events"][kind].as_u64().unwrap_or(0) > 0, "{name}: no {kind}: {counted}");
        }
        let path = said.trace(name, dir);
        let mut reader = Reader::open(&path).unwrap();
        let files = FileNote::all(&reader.notes());
        let batch: Vec<_> = std::iter::from_fn(|| reader.batch().unwrap()).flatten().collect();
        assert_eq!(batch.len() as u64, counted["records"].as_u64().unwrap());
        assert!(batch.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns));
        let reads = batch.iter().filter(|r| r.op == Op::Block && !r.write && !r.app.is_empty()).count();
        assert!(reads > 10, "{name}: {reads} block reads of its own");
        let options = ReplayOptions {
            trace: path,
            policies: vec!["lru".parse().unwrap()],
            sizes: vec![Size::Bytes(1 << 20), Size::Bytes(1 << 30)],
            dense: Default::default(),
            counting: Default::default(),
        };
        let report = replay(&options, |_, _, _| {}).unwrap();
        let misses: Vec<u64> = report.outcomes.iter().map(|o| o.misses()).collect();
        assert_eq!(misses[1], report.footprint.objects, "a cache that holds everything misses each page once");
        assert!(misses[0] >= misses[1]);
        println!("{name}: {} records, {} requests, {misses:?} misses", batch.len(), report.outcomes[0].requests);
        if name == "sqlite" {
            let inode: u64 = said.line("inode notes.db ").parse().unwrap();
            let note = files.iter().find(|f| f.path.as_deref() == Some("/mnt/data/notes.db")).unwrap();
            assert_eq!(note.object, inode);
            let gets = batch
                .iter()
                .filter(|r| r.op == Op::PageGet && r.object == inode && r.space == note.space.as_str().into());
            assert!(gets.count() > 100, "the database is read by pages");
        }
    }
}

fn failures_are_told(said: &Said, dir: &Path) {
    let one_line = |name: &str, status: &str, word: &str| {
        assert_eq!(said.line(&format!("{name} status: ")), status);
        let line = said.line(&format!("{name} says: "));
        assert!(line.starts_with("fovea: ") && line.contains(word), "{line}");
    };
    one_line("not-found", "1", "/no/such/program: No such file");
    one_line("bad-cgroup", "1", "systemd-cgls");
    assert_eq!(said.line("exit-status status: "), "0");
    assert!(said.lines("exit-status says: ")[0].ends_with("the command ended with exit status 7"));

    assert_eq!(said.line("full status: "), "1");
    let says = said.lines("full says: ");
    assert!(
        says.last().unwrap().starts_with("fovea: /small/full.parquet: no space left on the disk; the "),
        "{says:?}"
    );
    assert_eq!(said.lines("full left: "), ["full.parquet"]);
    let full = info(&said.trace("full", dir), |_, _| {}).unwrap();
    let note = |key: &str| full.notes[key].as_str();
    assert_eq!((note("fovea.record.partial"), note("fovea.record.ended")), ("true", "the disk was full"));
    assert!(full.records >= 16_384);

    assert_eq!(said.line("signal status: "), "0");
    let signal = said.json("signal.json");
    assert_eq!(
        (&signal["partial"], &signal["ended"], &signal["command_still_runs"]),
        (&true.into(), &"SIGINT came".into(), &true.into())
    );
    // Nothing stays behind; after a recorder that was killed, until the next one.
    assert_eq!((said.line("after-three instances: "), said.line("after-sweep instances: ")), ("0", "0"));
    assert_eq!(said.line("after-kill instances: "), "2");
    assert!(said.lines("/tmp/").is_empty(), "files of recordings that never were");
    let lossy = said.json("lossy.json");
    assert_eq!(said.line("lossy status: "), "0");
    // Each of the reads is either there or counted as lost.
    let (lost, gets) = (lossy["lost_events"].as_u64().unwrap(), lossy["events"]["page-get"].as_u64().unwrap());
    assert!(lost > 0 && lost + gets >= 30_000, "{lossy}");
}

fn apps_are_told(said: &Said, dir: &Path) {
    for name in ["cgroup", "pid"] {
        assert_eq!(said.line(&format!("{name} status: ")), "0");
        let apps = info(&said.trace(name, dir), |_, _| {}).unwrap().apps;
        assert!(apps["apps/mail"] > 10, "{apps:?}");
        assert!(apps.keys().all(|app| app == "apps/mail" || app.is_empty()), "{apps:?}");
    }
    let mut reader = Reader::open(&said.trace("daemon", dir)).unwrap();
    let mut ranks = Vec::new();
    while let Some(batch) = reader.batch().unwrap() {
        ranks.extend(batch.iter().filter(|r| &*r.app == "maps").map(|r| format!("{:?}", r.importance.unwrap())));
    }
    ranks.dedup();
    assert_eq!(ranks, ["Foreground", "Service"]);
}

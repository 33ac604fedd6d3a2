// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What plays the users of the soak (crates/fovea/tests/soak_phone.rs): one who works, one who attacks, and root, who asks. Each word is
//! a part of theirs:
//!
//! - `as UID CGROUP WORD...`: becomes that user in that cgroup, and plays the part.
//! - `hold MIB`, `leak`: memory that is used again and again; memory that is taken until the end.
//! - `churn FOLDER`: cgroups come and go, and a thousand are there below an app's own.
//! - `streams FILE`: calls itself a sound server, opens a stream all the time beside 900 sockets, and closes connections that linger.
//! - `sockets RUN_FOLDER`: connects to all sockets, stays, floods, and looks for what can be locked or read.
//! - `forks COUNT`: so many processes, which come and go.
//! - `freezes FILE`: freezes and thaws the own app.
//! - `ask RUN_FOLDER SECONDS`: how long answers take.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::net::{connect, send, socket_with, AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["as", uid, cgroup, ref part @ ..] => become_user(uid.parse().expect("a UID"), cgroup, part),
        ["hold", mib] => hold(mib.parse().expect("MiB")),
        ["leak"] => leak(),
        ["churn", folder] => churn(Path::new(folder)),
        ["streams", file] => streams(file),
        ["sockets", folder] => sockets(Path::new(folder)),
        ["forks", count] => forks(count.parse().expect("a count")),
        ["freezes", file] => freezes(file),
        ["ask", folder, seconds] => ask(Path::new(folder), Duration::from_secs(seconds.parse().expect("seconds"))),
        _ => panic!("{words:?} is no part"),
    }
}

fn become_user(uid: u32, cgroup: &str, part: &[&str]) {
    fs::create_dir_all(cgroup).expect(cgroup);
    fs::write(Path::new(cgroup).join("cgroup.procs"), std::process::id().to_string()).expect(cgroup);
    let error = Command::new("/proc/self/exe").args(part).uid(uid).gid(uid).exec();
    panic!("{error}");
}

/// Half of it compresses.
fn fill(bytes: usize, seed: u64) -> Vec<u8> {
    let (mut memory, mut state) = (vec![0; bytes], seed | 1);
    for page in memory.chunks_mut(8192) {
        let half = page.len().min(4096);
        for word in page[..half].chunks_exact_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_le_bytes());
        }
        page[page.len() - 1] = 1;
    }
    memory
}

fn hold(mib: usize) {
    let mut memory = fill(mib << 20, std::process::id().into());
    for round in 0.. {
        // A tenth of it each time.
        for page in memory.chunks_mut(4096).skip(round % 10).step_by(10) {
            page[9] = page[9].wrapping_add(1);
        }
        sleep(Duration::from_millis(500));
    }
}

fn leak() {
    let mut taken = Vec::new();
    loop {
        taken.push(fill(8 << 20, taken.len() as u64));
        sleep(Duration::from_millis(250));
    }
}

fn churn(folder: &Path) {
    let below = folder.join("app-wide-1.scope");
    for nth in 0..1000 {
        let _ = fs::create_dir_all(below.join(format!("c{nth}")));
    }
    let mut child = Command::new("/bin/busybox").args(["sleep", "100000"]).spawn().expect("a process");
    let _ = fs::write(below.join("cgroup.procs"), child.id().to_string());
    for nth in 0_u64.. {
        let scope = folder.join(format!("app-\u{1b}[31m\u{7}{nth}-{nth}.scope"));
        let _ = fs::create_dir(&scope);
        if nth % 100 == 0 {
            let _ = fs::write(scope.join("cgroup.procs"), child.id().to_string());
            let _ = fs::write(below.join("cgroup.procs"), child.id().to_string());
        }
        let _ = fs::remove_dir(&scope);
    }
    let _ = child.wait();
}

fn streams(file: &str) {
    rustix::thread::set_name(c"pipewire").expect("a name");
    let pairs: Vec<(UnixStream, UnixStream)> = (0..450).filter_map(|_| UnixStream::pair().ok()).collect();
    let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
    let address = listener.local_addr().expect("an address");
    let started = Instant::now();
    for round in 0_u64.. {
        drop(File::open(file));
        // 42 a second, as was seen to cost most.
        sleep(Duration::from_millis(24));
        if round % 4 == 0 {
            // Nobody reads, so that the last close waits.
            let Ok(mut stream) = TcpStream::connect(address) else { continue };
            let peer = listener.accept();
            let _ = stream.set_nonblocking(true);
            while matches!(stream.write(&[1; 65536]), Ok(1..)) {}
            let _ = rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::from_secs(10)));
            std::thread::spawn(move || {
                sleep(Duration::from_millis(round % 40));
                // Lets go after a while, or the machine's sockets would all be in it.
                std::thread::spawn(move || {
                    sleep(Duration::from_secs(1));
                    drop(peer);
                });
                drop(stream);
            });
        }
        if started.elapsed() > Duration::from_secs(100_000) {
            break;
        }
    }
    drop(pairs);
}

fn try_connect(path: &Path) -> Option<OwnedFd> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).ok()?;
    connect(&socket, &SocketAddrUnix::new(path).ok()?).ok()?;
    Some(socket)
}

fn sockets(run_folder: &Path) {
    let mut held = Vec::new();
    let mut refused = 0_u64;
    loop {
        held.extend(try_connect(&run_folder.join("news.sock")));
        for socket in &held {
            let _ = send(socket, b"{\"request\":\"screen\",\"on\":false}", SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        }
        if held.len() > 300 {
            held.clear();
        }
        refused += u64::from(try_connect(&run_folder.join("control.sock")).is_none());
        for name in ["lock", "undo.log", "journal.jsonl", "journal.kept.jsonl"] {
            let path = run_folder.join(name);
            if OpenOptions::new().read(true).open(&path).is_ok() {
                println!("open to everybody: {}", path.display());
            }
        }
        sleep(Duration::from_millis(if refused % 64 == 0 { 100 } else { 2 }));
    }
}

fn forks(count: usize) {
    let mut living: Vec<Child> = Vec::new();
    loop {
        match Command::new("/bin/busybox").args(["sleep", "100000"]).spawn() {
            Ok(child) => living.push(child),
            Err(_) => sleep(Duration::from_millis(50)),
        }
        if living.len() >= count {
            for mut child in living.drain(..count / 10) {
                let _ = child.kill();
                let _ = child.wait();
            }
            sleep(Duration::from_millis(500));
        }
    }
}

fn freezes(file: &str) {
    loop {
        let _ = fs::write(file, "1");
        let _ = fs::write(file, "0");
    }
}

fn ask(run_folder: &Path, lasts: Duration) {
    let (began, mut took) = (Instant::now(), Vec::new());
    while began.elapsed() < lasts {
        let asked = Instant::now();
        // One page, as whoever asks is served one at a time.
        match fovea_client::status(run_folder, 0, Some(16)) {
            Ok(_) => took.push(asked.elapsed().as_micros() as u64),
            Err(error) => println!("no answer: {error}"),
        }
        sleep(Duration::from_millis(50));
    }
    took.sort_unstable();
    let part = |permille: usize| took.get(took.len() * permille / 1000).copied().unwrap_or(u64::MAX);
    println!("answers: {}", took.len());
    println!("answer p50 us: {}", part(500));
    println!("answer p99 us: {}", part(990));
    println!("answer worst us: {}", took.last().copied().unwrap_or(u64::MAX));
}

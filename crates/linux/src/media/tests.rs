// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Sound and video devices that are files, used by processes that are real.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use super::*;

struct Bed {
    folder: tempfile::TempDir,
    children: Vec<Child>,
}

impl Drop for Bed {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Bed {
    fn new() -> Bed {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("dev/snd")).unwrap();
        Bed { folder, children: Vec::new() }
    }

    fn media(&self) -> Media {
        Media::at(Root::at(self.folder.path()))
    }

    fn stream(&self, name: &str, state: &str, owner: u32) {
        let folder = self.folder.path().join("proc/asound/card0").join(name).join("sub0");
        fs::create_dir_all(&folder).unwrap();
        let text = match state {
            "closed" => "closed\n".into(),
            state => format!("state: {state}\nowner_pid   : {owner}\ntrigger_time: 1.2\ndelay       : 0\n"),
        };
        fs::write(folder.join("status"), text).unwrap();
    }

    /// A process that holds a file open, as its standard input. It opens it itself: what were open here, the children of other tests
    /// would have too until they run their programs.
    fn holds(&mut self, path: &Path) -> u32 {
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec <\"$0\" && echo && exec sleep 1000"]).arg(path).stdout(Stdio::piped());
        let mut child = shell.spawn().unwrap();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
        self.children.push(child);
        self.children.last().unwrap().id()
    }

    /// A program under another name, which takes a listener and one accepted connection for its own.
    fn server(&mut self, name: &str, listener: UnixListener, accepted: UnixStream) -> u32 {
        let program = self.folder.path().join(name);
        let sleep = ["/usr/bin/sleep", "/bin/sleep"].into_iter().find(|p| Path::new(p).exists()).unwrap();
        assert!(Command::new("cp").arg(sleep).arg(&program).status().unwrap().success());
        let (listener, accepted): (std::os::fd::OwnedFd, std::os::fd::OwnedFd) = (listener.into(), accepted.into());
        let mut command = Command::new(program);
        let child = command.arg("1000").stdin(Stdio::from(listener)).stdout(Stdio::from(accepted)).spawn().unwrap();
        let pid = child.id();
        self.children.push(child);
        // It runs a moment before it has its name.
        while fs::read_to_string(format!("/proc/{pid}/comm")).unwrap().trim() != name {
            std::thread::yield_now();
        }
        pid
    }
}

const LIVE: &str = "/";

fn user(pid: u32, perceived: Perceived) -> MediaUser {
    MediaUser { pid, perceived }
}

#[test]
fn streams_name_their_owners_and_closed_ones_nobody() {
    let mut bed = Bed::new();
    let null = Path::new("/dev/null");
    let (player, recorder) = (bed.holds(null), bed.holds(null));
    let mut media = bed.media();
    assert_eq!(media.users(&Root::at(LIVE), true).unwrap(), [], "no sound at all");
    bed.stream("pcm0p", "PREPARED", player);
    bed.stream("pcm0c", "RUNNING", recorder);
    bed.stream("pcm3p", "closed", 0);
    bed.stream("pcm4p", "RUNNING", u32::MAX - 1);
    let users = media.users(&Root::at(LIVE), false).unwrap();
    assert_eq!(users, [user(player, Perceived::PlaysSound), user(recorder, Perceived::RecordsSound)]);
    bed.stream("pcm0p", "closed", 0);
    assert_eq!(media.users(&Root::at(LIVE), false).unwrap().len(), 1);
}

#[test]
fn a_thread_that_owns_a_stream_stands_for_its_process() {
    let bed = Bed::new();
    let (tell, told) = std::sync::mpsc::channel();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        tell.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
        let _ = ended.recv();
    });
    let task = told.recv().unwrap();
    assert_ne!(task, std::process::id());
    bed.stream("pcm0p", "RUNNING", task);
    let users = bed.media().users(&Root::at(LIVE), false).unwrap();
    assert_eq!(users, [user(std::process::id(), Perceived::PlaysSound)]);
    drop(end);
    thread.join().unwrap();
}

/// Connects to the first socket and serves the second, under a server's name.
const MIDDLE: &str = r#"use Socket; $0 = "pipewire-pulse"; $| = 1;
socket(S, PF_UNIX, SOCK_STREAM, 0) && connect(S, sockaddr_un($ARGV[0])) or die;
socket(L, PF_UNIX, SOCK_STREAM, 0) && bind(L, sockaddr_un($ARGV[1])) && listen(L, 1) or die;
print "ready\n"; accept(A, L) or die; print "accepted\n"; sleep 1000;"#;

#[test]
fn while_a_sound_servers_stream_runs_its_clients_are_told_and_those_of_the_server_behind_it() {
    let mut bed = Bed::new();
    let (pulse_at, pipewire_at) = (bed.folder.path().join("native"), bed.folder.path().join("pipewire-0"));
    let listener = UnixListener::bind(&pipewire_at).unwrap();
    let mut perl = Command::new("perl");
    perl.args(["-e", MIDDLE]).args([&pipewire_at, &pulse_at]).stdout(Stdio::piped());
    bed.children.push(perl.spawn().expect("perl (perl-base)"));
    let pulse = bed.children[0].id();
    let mut lines = BufReader::new(bed.children[0].stdout.take().unwrap()).lines();
    let accepted = listener.accept().unwrap().0;
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    let pipewire = bed.server("pipewire", listener, accepted);
    let users = |bed: &Bed| bed.media().users(&Root::at(LIVE), false).unwrap();
    bed.stream("pcm0p", "RUNNING", pipewire);
    assert_eq!(users(&bed), [], "the server behind it is nobody's app, and has no client yet");
    let _client = UnixStream::connect(&pulse_at).unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "accepted");
    let client = vec![user(std::process::id(), Perceived::UsesServer)];
    for (server, state, expected) in [
        (pipewire, "RUNNING", &client),
        (pulse, "DRAINING", &client),
        (pipewire, "PREPARED", &vec![]),
        (pipewire, "closed", &vec![]),
    ] {
        bed.stream("pcm0p", state, server);
        assert_eq!(&users(&bed), expected, "{state}");
    }
}

#[test]
fn a_server_with_a_bluetooth_socket_plays_though_no_stream_is_open() {
    let mut bed = Bed::new();
    let path = bed.folder.path().join("pipewire-0");
    let listener = UnixListener::bind(&path).unwrap();
    let _client = UnixStream::connect(&path).unwrap();
    let accepted = listener.accept().unwrap().0;
    // Any socket of the server's will do, if the list has its number.
    let link = fs::read_link(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&accepted))).unwrap();
    let number: u32 = link.to_str().unwrap().trim_start_matches("socket:[").trim_end_matches(']').parse().unwrap();
    bed.server("pipewire", listener, accepted);
    let users = |number: u32| {
        fs::create_dir_all(bed.folder.path().join("proc/net")).unwrap();
        let list = format!("sk RefCnt Rmem Wmem User Inode Parent\n00 2 0 0 1000 {number} 0\n");
        fs::write(bed.folder.path().join("proc/net/l2cap"), list).unwrap();
        bed.media().users(&Root::at(LIVE), false).unwrap()
    };
    assert_eq!(users(0), []);
    assert_eq!(users(u32::MAX), [], "somebody else's");
    assert_eq!(users(number), [user(std::process::id(), Perceived::UsesServer)]);
}

#[test]
fn video_is_looked_for_when_told_to_and_by_the_device_not_its_name() {
    let mut bed = Bed::new();
    let (node, elsewhere) = (bed.folder.path().join("dev/video0"), bed.folder.path().join("video0"));
    fs::write(&elsewhere, "").unwrap();
    bed.holds(&elsewhere);
    let mut media = bed.media();
    assert_eq!(media.users(&Root::at(LIVE), true).unwrap(), [], "no device");
    fs::write(&node, "").unwrap();
    let camera = bed.holds(&node);
    assert_eq!(media.users(&Root::at(LIVE), false).unwrap(), [], "not looked for");
    assert_eq!(media.users(&Root::at(LIVE), true).unwrap(), [user(camera, Perceived::UsesVideo)]);
    assert_eq!(media.users(&Root::at(LIVE), false).unwrap().len(), 1, "remembered");
    bed.children.drain(..).for_each(|mut child| {
        child.kill().unwrap();
        child.wait().unwrap();
    });
    assert_eq!(media.users(&Root::at(LIVE), false).unwrap(), [], "ended");
}

#[test]
fn opening_and_closing_is_told_of_devices_that_come_later_too() {
    let bed = Bed::new();
    let dev = bed.folder.path().join("dev");
    let (stream, video) = (dev.join("snd/pcmC0D0p"), dev.join("video0"));
    fs::write(&stream, "").unwrap();
    fs::write(dev.join("snd/controlC0"), "").unwrap();
    fs::write(dev.join("null"), "").unwrap();
    let mut watch = MediaWatch::new(&Root::at(bed.folder.path())).unwrap();
    let change = |sound, video| MediaChange { sound, video };
    assert_eq!(watch.take(), change(false, false));
    for other in ["snd/controlC0", "null"] {
        drop(File::open(dev.join(other)).unwrap());
        assert_eq!(watch.take(), change(false, false), "{other}");
    }
    let open = File::open(&stream).unwrap();
    assert_eq!(watch.take(), change(true, false));
    drop(open);
    assert_eq!(watch.take(), change(true, false));
    // Made by others beside this test, so that it is not open when it is first watched.
    fs::write(&video, "").unwrap();
    assert_eq!(watch.take(), change(true, true), "it has come");
    drop(File::open(&video).unwrap());
    assert_eq!(watch.take(), change(false, true));
    fs::remove_file(&video).unwrap();
    watch.take();
    fs::write(dev.join("videotape"), "").unwrap();
    assert_eq!(watch.take(), change(false, false));
}

/// Else who opens a stream without a pause could keep us at it.
#[test]
fn of_many_openings_so_many_are_taken_at_once_and_none_is_lost() {
    let bed = Bed::new();
    let stream = bed.folder.path().join("dev/snd/pcmC0D0p");
    fs::write(&stream, "").unwrap();
    let mut watch = MediaWatch::new(&Root::at(bed.folder.path())).unwrap();
    // Each is opened and closed, which are 16 bytes each: two and a half buffers.
    (0..320).for_each(|_| drop(File::open(&stream).unwrap()));
    let takes = std::iter::from_fn(|| Some(watch.take_at_most(1)).filter(|change| change.sound)).take(100);
    assert_eq!(takes.count(), 3);
}

#[test]
fn a_folder_of_sound_that_comes_later_is_watched() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("dev")).unwrap();
    let mut watch = MediaWatch::new(&Root::at(folder.path())).unwrap();
    fs::create_dir(folder.path().join("dev/snd")).unwrap();
    assert!(watch.take().sound);
    let stream = folder.path().join("dev/snd/pcmC0D0c");
    fs::write(&stream, "").unwrap();
    assert!(watch.take().sound);
    drop(File::open(&stream).unwrap());
    assert!(watch.take().sound);
    assert_eq!(watch.take(), MediaChange::default());
    assert!(MediaWatch::new(&Root::at(folder.path().join("nowhere"))).is_err());
}

#[test]
#[ignore = "a measurement"]
fn the_cost_beside_500_processes_is_printed() {
    let mut bed = Bed::new();
    let null = Path::new("/dev/null");
    for _ in 0..500 {
        bed.holds(null);
    }
    fs::write(bed.folder.path().join("dev/video0"), "").unwrap();
    let player = bed.children[0].id();
    for n in 0..8 {
        bed.stream(&format!("pcm{n}p"), if n == 0 { "RUNNING" } else { "closed" }, player);
    }
    let mut media = bed.media();
    for look_for_video in [false, true] {
        let start = Instant::now();
        const ROUNDS: u32 = 20;
        for _ in 0..ROUNDS {
            assert_eq!(media.users(&Root::at(LIVE), look_for_video).unwrap().len(), 1);
        }
        println!("with video {look_for_video}: {} us", start.elapsed().as_micros() / u128::from(ROUNDS));
    }
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "(state: [A-Z]{0,8}\n)?(owner_pid[ :]{0,4}[0-9]{0,22}\n)?\\PC{0,40}") {
        let _ = parse_status(text.as_bytes());
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A sound server as far as apps and the daemon can tell: a process of a known server's name with a unix socket that apps send sound to, and below
//! [`MEDIA_ROOT`] a sound card whose stream it has open while somebody plays. What it takes at a loudspeaker's rate nobody hears; it keeps account of
//! when there was nothing to take.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use fovea_scenario::{Heard, Mix, MEDIA_ROOT, PAGE_BYTES, SOUND_BYTES_PER_S};
use rustix::net::sockopt::set_socket_send_buffer_size;

use crate::buffers::sleep_ns;
use crate::memory::Anon;
use crate::outcome::{read_file, write_file, At, Outcome};
use crate::readings::now_ns;
use crate::setup::cgroup_path;
use crate::spawn::{self, Parent, Side};

/// The kernel's name of the process, by which the daemon knows a sound server.
const SERVER: &str = "pipewire";
const CGROUP: &str = "system/sound";
const SOCKET: &str = "/run/pipewire-0";
const ACCOUNT: &str = "/run/sound.json";

/// What a loudspeaker takes at a time: 20 ms of sound.
const PERIOD_NS: u64 = 20_000_000;
const PERIOD_BYTES: usize = (SOUND_BYTES_PER_S * PERIOD_NS / 1_000_000_000) as usize;

/// What waits in the socket: a third of a second with what the kernel counts for each piece.
const BUFFER_BYTES: usize = 38_400;

/// Of its account, written at least so often.
const ACCOUNT_PERIODS: u64 = 50;

fn stream_status() -> PathBuf {
    Path::new(MEDIA_ROOT).join("proc/asound/card0/pcm0p/sub0/status")
}

fn stream_node() -> PathBuf {
    Path::new(MEDIA_ROOT).join("dev/snd/pcmC0D0p")
}

/// Starts it.
pub fn start() -> Outcome<()> {
    for path in [stream_status(), stream_node()] {
        let folder = path.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(folder).at(|| format!("making {}", folder.display()))?;
    }
    write_file(stream_status(), "closed\n")?;
    write_file(stream_node(), "")?;
    let listener = UnixListener::bind(SOCKET).at(|| format!("listening on {SOCKET}"))?;
    let path = cgroup_path(CGROUP);
    std::fs::create_dir(&path).at(|| format!("making {}", path.display()))?;
    let cgroup = File::open(&path).at(|| format!("opening {}", path.display()))?;
    if let Side::Child = spawn::clone_into(cgroup.as_fd(), Parent::Caller)? {
        spawn::keep_only(&listener.into());
        spawn::unblock_signals();
        let served = write_file("/proc/self/comm", SERVER).and_then(|()| serve(spawn::inherited_socket().into()));
        if let Err(error) = &served {
            eprintln!("fovea-guest: sound: {error}");
        }
        std::process::exit(1);
    }
    Ok(())
}

/// What was heard until now.
pub fn heard() -> Outcome<Heard> {
    serde_json::from_str(&read_file(ACCOUNT)?).at(|| ACCOUNT.into())
}

/// Serves one player after the other.
fn serve(listener: UnixListener) -> Outcome<()> {
    let mut account = Account::default();
    let mut buffer = vec![0; PERIOD_BYTES];
    // Until somebody plays for the first time nobody misses anything.
    let mut player = Some(accept(&listener)?);
    listener.set_nonblocking(true).at(|| SOCKET.into())?;
    let mut next_ns = now_ns();
    loop {
        next_ns += PERIOD_NS;
        sleep_ns(next_ns.saturating_sub(now_ns()));
        let mut taken = 0;
        if let Some((stream, _)) = &mut player {
            match take(stream, &mut buffer) {
                Some(bytes) => taken = bytes,
                None => {
                    player = None;
                    write_file(stream_status(), "closed\n")?;
                }
            }
        } else if let Ok(stream) = listener.accept() {
            player = Some(open(stream.0)?);
        }
        if account.add(taken) {
            write_file(ACCOUNT, &serde_json::to_string(&account.heard).at(|| ACCOUNT.into())?)?;
        }
    }
}

/// Waits for a player and for the first of its sound.
fn accept(listener: &UnixListener) -> Outcome<(UnixStream, File)> {
    let (stream, _) = listener.accept().at(|| SOCKET.into())?;
    let mut first = [0];
    (&stream).read_exact(&mut first).at(|| SOCKET.into())?;
    open(stream)
}

/// The stream is opened for it: the kernel has written down whose it is by the time that anybody hears of it.
fn open(stream: UnixStream) -> Outcome<(UnixStream, File)> {
    stream.set_nonblocking(true).at(|| SOCKET.into())?;
    write_file(stream_status(), &format!("state: RUNNING\nowner_pid   : {}\n", std::process::id()))?;
    let node = File::open(stream_node()).at(|| stream_node().display().to_string())?;
    Ok((stream, node))
}

/// What there is of a period's sound; `None` if the player has gone.
fn take(stream: &mut UnixStream, buffer: &mut [u8]) -> Option<usize> {
    let mut taken = 0;
    while taken < buffer.len() {
        match stream.read(&mut buffer[taken..]) {
            Ok(0) => return (taken > 0).then_some(taken),
            Ok(bytes) => taken += bytes,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => break,
            Err(_) => return None,
        }
    }
    Some(taken)
}

/// What was played and what was not.
#[derive(Default)]
struct Account {
    heard: Heard,
    gap_ns: u64,
    periods: u64,
}

impl Account {
    /// Takes note of a period for which there were so many bytes; whether that is to be written down.
    fn add(&mut self, bytes: usize) -> bool {
        let played_ns = PERIOD_NS * bytes.min(PERIOD_BYTES) as u64 / PERIOD_BYTES as u64;
        let silent_ns = PERIOD_NS - played_ns;
        self.heard.played_ns += played_ns;
        self.heard.silent_ns += silent_ns;
        self.heard.gaps += u64::from(silent_ns > 0 && self.gap_ns == 0);
        self.gap_ns = if silent_ns > 0 { self.gap_ns + silent_ns } else { 0 };
        self.heard.longest_gap_ns = self.heard.longest_gap_ns.max(self.gap_ns);
        self.periods += 1;
        silent_ns > 0 || self.periods % ACCOUNT_PERIODS == 1
    }
}

/// A player's part: it goes through its decoder's memory and sends what that makes, for as long as there is a server.
pub fn play(mix: Mix, seed: u64, pages: u64, pages_per_chunk: u32) -> Outcome<()> {
    let mut anon = Anon::new(pages, mix, seed)?;
    (0..pages).for_each(|page| anon.fill(page));
    let mut server = UnixStream::connect(SOCKET).at(|| format!("connecting to {SOCKET}"))?;
    set_socket_send_buffer_size(&server, BUFFER_BYTES).at(|| SOCKET.into())?;
    let chunk = [0; PAGE_BYTES];
    let mut next = 0;
    loop {
        for _ in 0..pages_per_chunk {
            if anon.check(next % pages) == Some(false) {
                return Err("a page of the decoder came back wrong".into());
            }
            next += 1;
        }
        // Blocks while the server has enough.
        server.write_all(&chunk).at(|| format!("writing to {SOCKET}"))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_counted_by_its_gaps_and_the_longest_of_them() {
        let mut account = Account::default();
        let full = PERIOD_BYTES;
        for bytes in [full, full, 0, full / 2, full, 0, full, 2 * full] {
            account.add(bytes);
        }
        let heard = account.heard;
        assert_eq!((heard.played_ns, heard.silent_ns), (PERIOD_NS * 11 / 2, PERIOD_NS * 5 / 2));
        assert_eq!((heard.gaps, heard.longest_gap_ns), (2, PERIOD_NS * 3 / 2));
    }

    #[test]
    fn a_period_takes_what_there_is_and_the_end_is_noticed_after_the_last_of_it() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let mut buffer = [0; 8];
        assert_eq!(take(&mut ours, &mut buffer), Some(0));
        theirs.write_all(&[1; 11]).unwrap();
        assert_eq!(take(&mut ours, &mut buffer), Some(8));
        drop(theirs);
        assert_eq!(take(&mut ours, &mut buffer), Some(3));
        assert_eq!(take(&mut ours, &mut buffer), None);
    }
}

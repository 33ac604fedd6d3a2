// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which of a process's sockets are unix sockets that it has accepted, by the kernel's list of its network namespace
//! (proc_pid_net(5), `/proc/PID/net/unix`). Nothing is opened or copied for that, so a socket of another kind, of which
//! even a copy's closing may wait for hours (SO_LINGER), is not touched.

use std::collections::BTreeSet;
use std::io;

use crate::file::{read_into, Root};

/// `SO_ACCEPTCON` in the column of flags: the one that listens (net/unix/af_unix.c, unix_seq_show).
const LISTENS: u32 = 1 << 16;

/// `SS_CONNECTED` in the column of states.
const CONNECTED: u32 = 3;

/// The numbers of connected sockets with a name: an accepted one has that of the one that listens.
pub(super) fn accepted(root: &Root, pid: u32, text: &mut Vec<u8>) -> io::Result<BTreeSet<u32>> {
    read_into(&root.join(format!("proc/{pid}/net/unix")), text)?;
    Ok(text.split(|&byte| byte == b'\n').skip(1).filter_map(parse).collect())
}

pub(super) fn fuzz(line: &[u8]) {
    let _ = parse(line);
}

/// The number in a line: `0000000000000000: 00000003 00000000 00000000 0001 03 12345 /run/socket`.
fn parse(line: &[u8]) -> Option<u32> {
    let mut columns = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let hexadecimal = |word: &[u8]| u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok();
    let flags = hexadecimal(columns.nth(3)?)?;
    let state = hexadecimal(columns.nth(1)?)?;
    let number = std::str::from_utf8(columns.next()?).ok()?.parse().ok()?;
    // The name is all that follows.
    let is_named = columns.next().is_some();
    (flags & LISTENS == 0 && state == CONNECTED && is_named).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::os::unix::net::{UnixListener, UnixStream};

    #[test]
    fn only_accepted_connections_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a socket");
        let listener = UnixListener::bind(&path).unwrap();
        let client = UnixStream::connect(&path).unwrap();
        let accepted_end = listener.accept().unwrap().0;
        let pair = UnixStream::pair().unwrap();
        // Closing a copy of one of these may wait for as long as its owner likes (SO_LINGER).
        let internet = TcpListener::bind("127.0.0.1:0").unwrap();
        let caller = TcpStream::connect(internet.local_addr().unwrap()).unwrap();
        let called = internet.accept().unwrap().0;
        let found = accepted(&Root::at("/"), std::process::id(), &mut Vec::new()).unwrap();
        let number = |socket: &dyn AsFd| rustix::fs::fstat(socket.as_fd()).unwrap().st_ino as u32;
        assert!(found.contains(&number(&accepted_end)));
        for other in [&listener as &dyn AsFd, &client, &pair.0, &pair.1, &internet, &caller, &called] {
            assert!(!found.contains(&number(other)));
        }
    }

    #[test]
    fn lines_that_are_none_name_nobody() {
        assert_eq!(parse(b"0000000000000000: 00000003 00000000 00000000 0001 03 12345 /x"), Some(12345));
        for line in [
            &b"0000000000000000: 00000003 00000000 00000000 0001 03 12345"[..],
            b"0000000000000000: 00000002 00000000 00010000 0001 01 12345 /x",
            b"0: 3 0 zz 1 3 5 /x",
            b"",
            b"0 0 0 0 0 0 99999999999 /x",
        ] {
            assert_eq!(parse(line), None, "{}", String::from_utf8_lossy(line));
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Where the text goes: a file that is replaced in one step, or whoever asks by HTTP.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::text::CONTENT_TYPE;

/// A request's head is no longer.
const HEAD_MAX_BYTES: usize = 8192;
/// How long a client may take in all: the next one waits for it.
const CLIENT_LIMIT: Duration = Duration::from_secs(2);

/// Replaces a file's content in one step: a reader has the old one or the new one.
pub fn replace(path: &Path, content: &[u8], mode: u32) -> Result<(), String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |e: std::io::Error| format!("{}: {e}: name a file in a folder that can be written to", path.display());
    // Not ending in .prom, so that no collector reads it.
    let mut file = tempfile::Builder::new().prefix(".fovea-").suffix(".new").tempfile_in(folder).map_err(failed)?;
    file.write_all(content).map_err(failed)?;
    file.as_file().set_permissions(PermissionsExt::from_mode(mode)).map_err(failed)?;
    file.persist(path).map(drop).map_err(|e| failed(e.error))
}

/// Answers until ended.
pub fn serve(address: &str, mut text: impl FnMut() -> Result<String, String>) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("{address}: {e}: name HOST:PORT or unix:PATH that is free");
    if let Some(path) = address.strip_prefix("unix:") {
        // One that another run of this program left.
        if std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket()) {
            std::fs::remove_file(path).map_err(failed)?;
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        crate::say(&format!("answers at {address}"));
        answer_all(listener.incoming(), &mut text);
        return Ok(());
    }
    let listener = TcpListener::bind(address).map_err(failed)?;
    crate::say(&format!("answers at {address}"));
    answer_all(listener.incoming(), &mut text);
    Ok(())
}

/// A connection whose reads and writes can be bounded.
trait Client: Read + Write {
    /// Each of them takes no longer from now on.
    fn limit(&self, most: Duration) -> std::io::Result<()>;
}

impl Client for UnixStream {
    fn limit(&self, most: Duration) -> std::io::Result<()> {
        self.set_read_timeout(Some(most)).and(self.set_write_timeout(Some(most)))
    }
}

impl Client for TcpStream {
    fn limit(&self, most: Duration) -> std::io::Result<()> {
        self.set_read_timeout(Some(most)).and(self.set_write_timeout(Some(most)))
    }
}

/// A client until its time is over, however many reads and writes it makes of it: one who sends a byte now and then would keep all others waiting.
struct Within<C> {
    client: C,
    ends: Instant,
}

impl<C: Client> Within<C> {
    fn left(&self) -> std::io::Result<()> {
        match self.ends.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            Some(left) => self.client.limit(left),
            None => Err(std::io::ErrorKind::TimedOut.into()),
        }
    }
}

impl<C: Client> Read for Within<C> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.left()?;
        self.client.read(buffer)
    }
}

impl<C: Client> Write for Within<C> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.left()?;
        self.client.write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        self.client.flush()
    }
}

/// Answers one client after the other, each within a time.
fn answer_all<C: Client>(
    clients: impl Iterator<Item = std::io::Result<C>>,
    text: &mut impl FnMut() -> Result<String, String>,
) {
    for client in clients.flatten() {
        answer(&mut Within { client, ends: Instant::now() + CLIENT_LIMIT }, text);
    }
}

/// Answers one request. A client that leaves has not been answered, and that is its affair.
fn answer(client: &mut (impl Read + Write), text: &mut impl FnMut() -> Result<String, String>) {
    let Some(head) = head_of(client) else { return };
    let (status, kind, body) = match response(&head) {
        Some(refusal) => (refusal, "text/plain; charset=utf-8", String::new()),
        None => match text() {
            Ok(text) => ("200 OK", CONTENT_TYPE, text),
            Err(line) => {
                crate::say(&line);
                ("503 Service Unavailable", "text/plain; charset=utf-8", line + "\n")
            }
        },
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    let _ = client.write_all(head.as_bytes()).and_then(|()| client.write_all(body.as_bytes()));
}

/// Reads to the empty line; `None` of what is no request.
fn head_of(client: &mut impl Read) -> Option<String> {
    let (mut head, mut buffer) = (Vec::new(), [0; 1024]);
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        let read = client.read(&mut buffer).ok().filter(|&read| read > 0)?;
        head.extend_from_slice(&buffer[..read]);
        if head.len() > HEAD_MAX_BYTES {
            return None;
        }
    }
    String::from_utf8(head).ok()
}

/// What a request is refused with; `None` if it is answered.
fn response(head: &str) -> Option<&'static str> {
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    match (words.next(), words.next().map(|path| path.split('?').next().unwrap_or_default())) {
        (Some("GET"), Some("/metrics" | "/")) => None,
        (Some("GET"), _) => Some("404 Not Found"),
        _ => Some("405 Method Not Allowed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client's request, and what it gets.
    struct Played(&'static [u8], Vec<u8>);

    impl Read for Played {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            // In small parts, as a network may give it.
            let part = self.0.len().min(7);
            buffer[..part].copy_from_slice(&self.0[..part]);
            self.0 = &self.0[part..];
            Ok(part)
        }
    }

    impl Write for Played {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.1.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn asked(request: &'static [u8], text: Result<String, String>) -> String {
        let mut client = Played(request, Vec::new());
        answer(&mut client, &mut || text.clone());
        String::from_utf8(client.1).unwrap()
    }

    #[test]
    fn a_scrape_is_answered_and_nothing_else() {
        let text = || Ok("# EOF\n".to_owned());
        let answer = asked(b"GET /metrics?x=1 HTTP/1.1\r\nHost: x\r\n\r\n", text());
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n# EOF\n"), "{answer}");
        assert!(
            answer.contains("openmetrics-text; version=1.0.0") && answer.contains("Content-Length: 6\r\n"),
            "{answer}"
        );
        assert!(asked(b"GET /secret HTTP/1.1\r\n\r\n", text()).starts_with("HTTP/1.1 404"));
        assert!(asked(b"POST /metrics HTTP/1.1\r\n\r\n", text()).starts_with("HTTP/1.1 405"));
        let failed = asked(b"GET / HTTP/1.0\r\n\r\n", Err("permission denied".into()));
        assert!(failed.starts_with("HTTP/1.1 503") && failed.ends_with("permission denied\n"), "{failed}");
        assert_eq!(asked(b"GET / HTTP/1.0\r\n", text()), "", "it left in between");
        assert_eq!(asked(&[b'x'; 2 * HEAD_MAX_BYTES], text()), "", "a head without an end");
    }

    #[test]
    fn a_client_of_one_byte_now_and_then_keeps_the_next_one_waiting_no_longer_than_any() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scrape.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let (mut slow, mut next) = (UnixStream::connect(&path).unwrap(), UnixStream::connect(&path).unwrap());
        std::thread::spawn(move || answer_all(listener.incoming(), &mut || Ok("# EOF\n".into())));
        std::thread::spawn(move || {
            while slow.write_all(b"x").is_ok() {
                std::thread::sleep(CLIENT_LIMIT / 20);
            }
        });
        next.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        next.set_read_timeout(Some(10 * CLIENT_LIMIT)).unwrap();
        let mut answer = String::new();
        next.read_to_string(&mut answer).expect("an answer in time");
        assert!(answer.ends_with("# EOF\n"), "{answer}");
    }

    #[test]
    fn a_file_is_replaced_in_one_step_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fovea.prom");
        replace(&path, b"old", 0o644).unwrap();
        let old = std::fs::File::open(&path).unwrap();
        replace(&path, b"new", 0o644).unwrap();
        let mut text = String::new();
        { old }.read_to_string(&mut text).unwrap();
        assert_eq!(text, "old", "whoever reads it already");
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o644,
            "the collector is another user"
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        let line = replace(&folder.path().join("none/fovea.prom"), b"", 0o644).unwrap_err();
        assert!(line.contains("none/fovea.prom") && line.contains("can be written to"), "{line}");
    }
}

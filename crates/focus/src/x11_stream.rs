// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The stream from an X server, of which no packet is let through that is too long: the library makes room for what a
//! packet's head announces (up to 16 GiB), before anything of it has come.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};

use fovea_apps::limits::X11_PACKET_MAX_BYTES;
use x11rb::errors::{ConnectError, DisplayParsingError};
use x11rb::reexports::x11rb_protocol::parse_display::{parse_display, ConnectAddress};
use x11rb::reexports::x11rb_protocol::xauth::{get_auth, Family};
use x11rb::rust_connection::{DefaultStream, PollMode, RustConnection, Stream};
use x11rb::utils::RawFdContainer;

/// The stream, and where in its packets it is.
#[derive(Debug)]
pub struct BoundedStream {
    stream: DefaultStream,
    packets: Mutex<Packets>,
}

impl BoundedStream {
    /// A stream on which nothing has been read yet.
    pub fn new(stream: DefaultStream) -> Self {
        Self { stream, packets: Mutex::new(Packets::default()) }
    }
}

/// A connection over it.
pub type Link = RustConnection<BoundedStream>;

/// Connects to a display as the library does; returns the number of its screen, too.
pub fn connect(display: &str) -> std::result::Result<(Link, usize), ConnectError> {
    let parsed = parse_display(Some(display))?;
    let screen = usize::from(parsed.screen);
    let mut failed = None;
    for address in parsed.connect_instruction() {
        match stream_to(&address) {
            Ok((stream, (family, host))) => {
                // Who finds no word that lets him in tries without.
                let word = get_auth(family, &host, parsed.display).ok().flatten();
                let (name, data) = word.unwrap_or_default();
                let stream = BoundedStream::new(stream);
                return Ok((Link::connect_to_stream_with_auth_info(stream, screen, name, data)?, screen));
            }
            Err(e) => failed = Some(e),
        }
    }
    Err(failed.map_or(ConnectError::DisplayParsingError(DisplayParsingError::Unknown), ConnectError::IoError))
}

/// As the library does, but for names of machines: to look those up takes a tenth of a megabyte of the C library, which on a device
/// is for nothing, since windows on another machine's display are of no help there.
fn stream_to(address: &ConnectAddress<'_>) -> Result<(DefaultStream, (Family, Vec<u8>))> {
    match *address {
        ConnectAddress::Socket(ref path) => DefaultStream::from_unix_stream(UnixStream::connect(path)?),
        ConnectAddress::Hostname(host, port) => {
            let machine = match host {
                "localhost" => Ok(IpAddr::V4(Ipv4Addr::LOCALHOST)),
                _ => host.parse(),
            };
            let machine = machine.map_err(|_| {
                let line = format!("the display's machine {host:?} is a name: give its address, as in 10.0.0.5:0");
                Error::new(ErrorKind::InvalidInput, line)
            })?;
            DefaultStream::from_tcp_stream(TcpStream::connect(SocketAddr::new(machine, port))?)
        }
        _ => Err(Error::new(ErrorKind::Unsupported, "the display is at no kind of address that is known")),
    }
}

impl Stream for BoundedStream {
    fn poll(&self, mode: PollMode) -> Result<()> {
        self.stream.poll(mode)
    }

    fn read(&self, into: &mut [u8], fds: &mut Vec<RawFdContainer>) -> Result<usize> {
        let length = self.stream.read(into, fds)?;
        let mut packets = self.packets.lock().unwrap_or_else(PoisonError::into_inner);
        packets.pass(&into[..length])?;
        Ok(length)
    }

    fn write(&self, bytes: &[u8], fds: &mut Vec<RawFdContainer>) -> Result<usize> {
        self.stream.write(bytes, fds)
    }

    fn write_vectored(&self, parts: &[IoSlice<'_>], fds: &mut Vec<RawFdContainer>) -> Result<usize> {
        self.stream.write_vectored(parts, fds)
    }
}

/// Follows the packets of a stream (X Window System Protocol, appendix B): the answer to the connection's set-up has a
/// head of 8 bytes, every later packet one of 32.
#[derive(Debug, Default)]
struct Packets {
    head: Vec<u8>,
    is_set_up: bool,
    /// What is left of the packet whose head has been seen.
    left: usize,
}

const SET_UP_HEAD: usize = 8;
const HEAD: usize = 32;
const REPLY: u8 = 1;
/// Without the bit that says that another client sent it.
const GENERIC_EVENT: u8 = 35;

impl Packets {
    /// Lets bytes pass; an error at the head of a packet that is too long.
    fn pass(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            if self.left > 0 {
                let passed = self.left.min(bytes.len());
                self.left -= passed;
                bytes = &bytes[passed..];
                continue;
            }
            let wanted = if self.is_set_up { HEAD } else { SET_UP_HEAD };
            let taken = (wanted - self.head.len()).min(bytes.len());
            self.head.extend(&bytes[..taken]);
            bytes = &bytes[taken..];
            if self.head.len() == wanted {
                self.left = self.announced();
                (self.is_set_up, self.head) = (true, Vec::new());
                if self.left > X11_PACKET_MAX_BYTES {
                    let line =
                        format!("a packet of {} bytes, of which at most {X11_PACKET_MAX_BYTES} are read", self.left);
                    return Err(Error::new(ErrorKind::InvalidData, line));
                }
            }
        }
        Ok(())
    }

    /// What follows the head, by its count of 4-byte units in the machine's byte order, which is what we ask for.
    fn announced(&self) -> usize {
        let byte = |at: usize| self.head.get(at).copied().unwrap_or_default();
        let units = match (self.is_set_up, byte(0) & 0x7f) {
            (false, _) => u32::from(u16::from_ne_bytes([byte(6), byte(7)])),
            (true, REPLY | GENERIC_EVENT) => u32::from_ne_bytes([byte(4), byte(5), byte(6), byte(7)]),
            _ => 0,
        };
        (units as usize).saturating_mul(4)
    }
}

/// Lets any bytes pass, for fuzzing; none are let through of a packet that is too long.
pub(crate) fn fuzz(bytes: &[u8]) {
    let mut packets = Packets::default();
    for part in bytes.chunks(7) {
        if packets.pass(part).is_err() {
            return;
        }
        assert!(packets.left <= X11_PACKET_MAX_BYTES && packets.head.len() < HEAD);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_display_on_a_machine_that_is_named_is_refused_with_the_mend_and_an_address_is_tried() {
        let refused = |host| stream_to(&ConnectAddress::Hostname(host, 1)).unwrap_err();
        assert!(refused("kiosk.example").to_string().contains("give its address"));
        for host in ["localhost", "127.0.0.1", "::1"] {
            // Nobody listens at that port.
            assert_ne!(refused(host).kind(), ErrorKind::InvalidInput, "{host}");
        }
    }

    fn set_up() -> Vec<u8> {
        let mut bytes = vec![1, 0, 11, 0, 0, 0];
        bytes.extend(5u16.to_ne_bytes());
        bytes.extend([9; 20]);
        bytes
    }

    fn packet(kind: u8, units: u32) -> Vec<u8> {
        let mut bytes = vec![kind, 0, 1, 0];
        bytes.extend(units.to_ne_bytes());
        bytes.resize(HEAD, 7);
        bytes
    }

    #[test]
    fn a_reply_that_announces_a_gigabyte_is_refused_at_its_head() {
        let mut packets = Packets::default();
        packets.pass(&set_up()).unwrap();
        // An error and an event have no length, whatever stands there.
        packets.pass(&packet(0, u32::MAX)).unwrap();
        packets.pass(&packet(28, u32::MAX)).unwrap();
        packets.pass(&packet(REPLY, 2)).unwrap();
        packets.pass(&[1; 8]).unwrap();
        let error = packets.pass(&packet(REPLY, 1 << 28)).unwrap_err();
        assert!(error.to_string().contains("1073741824 bytes"), "{error}");
        let mut packets = Packets { is_set_up: true, ..Packets::default() };
        assert!(packets.pass(&packet(GENERIC_EVENT | 0x80, 1 << 28)).is_err());
    }

    proptest! {
        /// Cut anywhere, the same bytes come to the same end.
        #[test]
        fn where_reads_end_makes_no_difference(
            units in prop::collection::vec((any::<bool>(), 0u32..40), 0..6),
            cuts in prop::collection::vec(1usize..50, 1..20),
        ) {
            let mut bytes = set_up();
            for &(is_reply, units) in &units {
                bytes.extend(packet(if is_reply { REPLY } else { 12 }, units));
                bytes.resize(bytes.len() + if is_reply { units as usize * 4 } else { 0 }, 3);
            }
            let mut packets = Packets::default();
            let (mut rest, mut cuts) = (&bytes[..], cuts.iter().cycle());
            while !rest.is_empty() {
                let (part, later) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
                prop_assert!(packets.pass(part).is_ok());
                rest = later;
            }
            prop_assert!(packets.left == 0 && packets.head.is_empty());
        }
    }
}

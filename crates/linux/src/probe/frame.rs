// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Between daemon and probe: a length of four bytes, then that much JSON. Both ends are bounded in size, and the
//! daemon's in time.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::Serialize;

/// Far above the answer for all processes of a large machine.
const MAX_BYTES: usize = 4 << 20;

/// A time at which nobody waits any more, for who waits for ever.
pub(super) fn never() -> Option<Instant> {
    None
}

pub(super) fn write(link: &mut UnixStream, what: &impl Serialize, until: impl Into<Option<Instant>>) -> io::Result<()> {
    let text = serde_json::to_vec(what)?;
    let length = u32::try_from(text.len()).ok().filter(|&n| n as usize <= MAX_BYTES);
    let length = length.ok_or_else(|| io::Error::other("too much to say at once"))?;
    let mut rest = &[&length.to_ne_bytes()[..], &text].concat()[..];
    let until = until.into();
    while !rest.is_empty() {
        link.set_write_timeout(left(until)?)?;
        match link.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => rest = &rest[written..],
            Err(e) => again(e)?,
        }
    }
    Ok(())
}

/// What has come, up to the end of a frame: one that is read in time in part only is read on later.
#[derive(Debug, Default)]
pub(super) struct Incoming(Vec<u8>);

impl Incoming {
    pub fn read<T: DeserializeOwned>(
        &mut self,
        link: &mut UnixStream,
        until: impl Into<Option<Instant>>,
    ) -> io::Result<T> {
        let until = until.into();
        let mut part = [0; 4096];
        loop {
            if let Some(frame) = self.whole()? {
                return Ok(serde_json::from_slice(&frame)?);
            }
            link.set_read_timeout(left(until)?)?;
            match link.read(&mut part) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => self.0.extend(&part[..length]),
                Err(e) => again(e)?,
            }
        }
    }

    /// Takes the first frame, if all of it is there.
    fn whole(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(&length) = self.0.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_ne_bytes(length) as usize;
        if length > MAX_BYTES {
            return Err(io::Error::other("an answer that is too long"));
        }
        if self.0.len() < 4 + length {
            return Ok(None);
        }
        let rest = self.0.split_off(4 + length);
        let frame = std::mem::replace(&mut self.0, rest);
        Ok(Some(frame[4..].to_vec()))
    }
}

/// A moment at least: a time of none would be for ever.
fn left(until: Option<Instant>) -> io::Result<Option<Duration>> {
    let Some(until) = until else { return Ok(None) };
    Ok(Some(until.saturating_duration_since(Instant::now()).max(Duration::from_micros(100))))
}

fn again(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::Interrupted => Ok(()),
        // The socket's own word for a time that has run out.
        io::ErrorKind::WouldBlock => Err(io::ErrorKind::TimedOut.into()),
        _ => Err(error),
    }
}

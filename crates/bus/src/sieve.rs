// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is read of the bus. Anybody may send us messages of 32 MiB, ones of a later specification, which the library takes for the end of the
//! connection, and more of them than can be refused in time. They are passed over here: whoever sent them gets no answer, and everybody else
//! does.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use async_io::Async;
use async_trait::async_trait;
use fovea_apps::{bus_is_unasked, bus_next, bus_sender, BusNext, BUS_HEAD_BYTES};
use zbus::connection::socket::{BoxedSplit, ReadHalf, Split};
use zbus::message::Message;
use zbus::Error;

use crate::bounds::Sent;

/// Where a message's flags are, and those that have a meaning; others "must be ignored".
const FLAGS: usize = 2;
const KNOWN_FLAGS: u8 = 0x7;

/// The bus itself, as a sender.
const BUS: &str = "org.freedesktop.DBus";

/// The reading half of a connection.
#[derive(Debug)]
struct Sieve {
    from: Box<dyn ReadHalf>,
    sent: Sent,
    began: Instant,
}

/// A connection that is read so. It takes no file descriptors either: closing one may wait for whoever serves the file.
pub fn sifted(stream: UnixStream) -> zbus::Result<BoxedSplit> {
    let (from, to) = BoxedSplit::from(Async::new(stream)?).take();
    Ok(Split::new(Box::new(Sieve { from, sent: Sent::default(), began: Instant::now() }), to))
}

impl Sieve {
    /// Reads until there are so many bytes.
    async fn fill(&mut self, bytes: &mut Vec<u8>, length: usize) -> zbus::Result<()> {
        let mut filled = bytes.len();
        bytes.resize(filled.max(length), 0);
        while filled < length {
            // Of none it makes an error itself.
            filled += self.from.recvmsg(&mut bytes[filled..]).await?.0;
        }
        Ok(())
    }

    /// Whether a message is one too many of its sender's. An answer is none: the bus lets through what was asked for. Nor is the bus's own.
    fn is_too_many(&mut self, message: &[u8]) -> bool {
        let seconds = self.began.elapsed().as_secs();
        let mut is = |sender| sender != BUS && !self.sent.may(sender, seconds);
        bus_is_unasked(message) && bus_sender(message).is_none_or(&mut is)
    }

    /// Passes over so many bytes, of which some have been read.
    async fn pass(&mut self, read: &mut Vec<u8>, length: usize) -> zbus::Result<()> {
        let mut left = length - length.min(read.len());
        read.drain(..length - left);
        let mut some = [0; 4096];
        while left > 0 {
            let most = left.min(some.len());
            left -= self.from.recvmsg(&mut some[..most]).await?.0;
        }
        Ok(())
    }
}

#[async_trait]
impl ReadHalf for Sieve {
    async fn receive_message(
        &mut self,
        seq: u64,
        read: &mut Vec<u8>,
        descriptors: &mut Vec<OwnedFd>,
    ) -> zbus::Result<Message> {
        loop {
            self.fill(read, BUS_HEAD_BYTES).await?;
            let head = read.first_chunk().ok_or(Error::InvalidField)?;
            match bus_next(head).ok_or(Error::IncorrectEndian)? {
                BusNext::Passed(length) => self.pass(read, length).await?,
                BusNext::Message(length) => {
                    self.fill(read, length).await?;
                    if self.is_too_many(&read[..length]) {
                        read.drain(..length);
                        continue;
                    }
                    read[FLAGS] &= KNOWN_FLAGS;
                    let rest = read.split_off(length);
                    let message = self.from.receive_message(seq, read, descriptors).await;
                    *read = rest;
                    // All of it was there; so an error is about what is in it.
                    if let Ok(message) = message {
                        return Ok(message);
                    }
                }
            }
        }
    }

    async fn recvmsg(&mut self, bytes: &mut [u8]) -> std::io::Result<(usize, Vec<OwnedFd>)> {
        self.from.recvmsg(bytes).await
    }
}

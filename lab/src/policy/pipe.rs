// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Our ends of the pipes to a program. Whoever waits for it can be told to end: a program may be silent for ever.

use std::{
    io::{self, Read, Write},
    os::fd::AsFd,
};

use rustix::{
    event::{poll, PollFd, PollFlags, Timespec},
    fs::{fcntl_setfl, OFlags},
    io::Errno,
};

use crate::Stop;

/// How long a wish to end may wait for an answer.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// An end of a pipe.
pub(super) struct End<T> {
    pipe: T,
    stop: Stop,
}

impl<T: AsFd> End<T> {
    /// The other end, the program's, goes on waiting as it did.
    pub(super) fn new(pipe: T, stop: &Stop) -> io::Result<End<T>> {
        fcntl_setfl(&pipe, OFlags::NONBLOCK)?;
        Ok(End { pipe, stop: stop.clone() })
    }

    /// Does it as soon as it can be done.
    fn patiently<R>(&mut self, flags: PollFlags, mut act: impl FnMut(&mut T) -> io::Result<R>) -> io::Result<R> {
        loop {
            match act(&mut self.pipe) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
            self.stop.check().map_err(io::Error::other)?;
            match poll(&mut [PollFd::new(&self.pipe, flags)], Some(&PATIENCE)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl<T: AsFd + Read> Read for End<T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.patiently(PollFlags::IN, |pipe| pipe.read(bytes))
    }
}

impl<T: AsFd + Write> Write for End<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.patiently(PollFlags::OUT, |pipe| pipe.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! lz4's frames, one after the other. The decoder of `lz4_flex` takes the end of the file for the end of a frame.

use std::io::{self, BufRead, Read};

use lz4_flex::frame::FrameDecoder;

/// Tells whether more was asked for than there is.
struct Watched<R> {
    raw: R,
    ended: bool,
}

impl<R: BufRead> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.raw.read(buffer)?;
        self.ended |= count == 0 && !buffer.is_empty();
        Ok(count)
    }
}

/// All frames of a file, decompressed.
pub(super) struct Frames<R: BufRead> {
    decoder: FrameDecoder<Watched<R>>,
    done: bool,
}

impl<R: BufRead> Frames<R> {
    pub(super) fn new(raw: R) -> Self {
        Frames { decoder: FrameDecoder::new(Watched { raw, ended: false }), done: false }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.done && !buffer.is_empty() {
            let count = self.decoder.read(buffer)?;
            if count > 0 {
                return Ok(count);
            }
            let input = self.decoder.get_mut();
            if input.ended {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.done = input.raw.fill_buf()?.is_empty();
        }
        Ok(0)
    }
}

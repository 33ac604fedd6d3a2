// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Requests that are in flight while the program does something else: Linux AIO, as databases use it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use libc::{syscall, SYS_io_destroy, SYS_io_getevents, SYS_io_setup, SYS_io_submit};

/// One read or write of a file opened with O_DIRECT; what was done is left in `bytes_done`.
pub struct Request<'a> {
    pub offset: u64,
    pub bytes: &'a mut [u8],
    pub write: bool,
}

/// `struct iocb` of linux/aio_abi.h.
#[repr(C)]
struct Block {
    data: u64,
    key: u32,
    flags: u32,
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    size_bytes: u64,
    offset: u64,
    reserved: u64,
    more_flags: u32,
    event_file: u32,
}

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Default)]
struct Event {
    data: u64,
    block: u64,
    result: i64,
    more: i64,
}

/// The kernel's queue. Its end waits for whatever is in flight.
struct Queue(u64);

impl Queue {
    fn new(depth: usize) -> io::Result<Queue> {
        let mut context = 0u64;
        // SAFETY: the kernel writes one word to `context`.
        super::calls::checked(unsafe { syscall(SYS_io_setup, depth, &raw mut context) })?;
        Ok(Queue(context))
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: our own queue, and nobody uses it afterwards.
        let _ = unsafe { syscall(SYS_io_destroy, self.0) };
    }
}

/// Has all requests under way at once, does `meanwhile`, and waits for their ends.
///
/// # Errors
/// A request was not accepted, failed, or ended short; then `meanwhile`'s error, if it has one.
pub fn beside(file: &File, requests: &mut [Request<'_>], meanwhile: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    const READ: u16 = 0;
    const WRITE: u16 = 1;
    let blocks: Vec<Block> = requests
        .iter_mut()
        .map(|request| Block {
            data: request.bytes.len() as u64,
            key: 0,
            flags: 0,
            opcode: if request.write { WRITE } else { READ },
            priority: 0,
            file: file.as_raw_fd() as u32,
            buffer: request.bytes.as_mut_ptr() as u64,
            size_bytes: request.bytes.len() as u64,
            offset: request.offset,
            reserved: 0,
            more_flags: 0,
            event_file: 0,
        })
        .collect();
    let pointers: Vec<*const Block> = blocks.iter().map(|block| &raw const *block).collect();
    // Dropped first, also when `meanwhile` panics: the buffers are borrowed until all has ended.
    let queue = Queue::new(blocks.len())?;
    // SAFETY: as many pointers as are named, to blocks and buffers that outlive the queue.
    let taken = super::calls::checked(unsafe { syscall(SYS_io_submit, queue.0, pointers.len(), pointers.as_ptr()) })?;
    let done = meanwhile();
    let mut events = vec![Event::default(); blocks.len()];
    // SAFETY: room for as many events as are asked for; without a time-out it waits for all that were taken.
    let ended = super::calls::checked(unsafe {
        syscall(SYS_io_getevents, queue.0, taken, taken, events.as_mut_ptr(), std::ptr::null::<libc::timespec>())
    })?;
    if ended != taken || taken != blocks.len() as i64 {
        return Err(io::Error::other(format!("of {} requests {taken} were taken, and {ended} ended", blocks.len())));
    }
    for event in events {
        match event.result {
            error if error < 0 => return Err(io::Error::from_raw_os_error(-error as i32)),
            size if size as u64 != event.data => {
                return Err(io::Error::other(format!("{size} bytes of {} were done", event.data)));
            }
            _ => {}
        }
    }
    done
}

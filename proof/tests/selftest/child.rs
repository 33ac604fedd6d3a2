// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Processes that play apps: they fill memory with known content, and verify or change it when told.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Instant;

use fovea_scenario::{page_content, page_kind, Mix, PageKind};
use rustix::mm::{mmap_anonymous, MapFlags, ProtFlags};

pub const PAGE: usize = 4096;

/// Mappings begin at a multiple of this, so that windows and runs of alike pages coincide.
const ALIGNMENT: usize = 2 << 20;

/// What an app is told to do; it answers each with two numbers.
#[derive(Clone, Copy)]
#[repr(u8)]
pub enum Order {
    /// Compare all pages: (wrong pages, major faults meanwhile).
    Verify,
    /// Read a word of each page: (nanoseconds, major faults meanwhile).
    Touch,
    /// Fork a child that waits: (its pid, 0).
    Fork,
    /// Lock all memory: (0 if done, 0).
    Lock,
}

/// What an app's memory holds.
#[derive(Clone, Copy)]
pub struct Content {
    pub pages: usize,
    pub mix: Mix,
    pub seed: u64,
    /// Address space mapped in all; the pages lie at its end.
    pub span_bytes: usize,
}

impl Content {
    pub fn new(pages: usize, mix: Mix) -> Content {
        Content { pages, mix, seed: 7, span_bytes: pages * PAGE }
    }

    /// Pages that are to be compressed: all but the random ones.
    pub fn compressible_pages(&self) -> u64 {
        (0..self.pages as u64).filter(|&i| page_kind(&self.mix, self.seed, i) != PageKind::Random).count() as u64
    }
}

/// A mix of `compressible` percent compressible pages, `zero` percent zero pages, the rest random.
pub fn mix(compressible: u32, zero: u32) -> Mix {
    Mix {
        zero_percent: zero,
        duplicate_percent: 0,
        compressible_percent: compressible,
        random_percent: 100 - compressible - zero,
        compressed_percent: 35,
    }
}

/// A forked process. Killed and reaped when dropped.
pub struct Child {
    pub pid: u32,
    socket: UnixStream,
}

impl Child {
    /// Forks; the child moves into the cgroup first of all, does `body` and ends.
    pub fn fork(folder: &Path, body: impl FnOnce(UnixStream)) -> Child {
        let (ours, theirs) = UnixStream::pair().expect("socketpair");
        // SAFETY: this program has one thread, so the child may go on as an ordinary process.
        match unsafe { libc::fork() } {
            0 => {
                drop(ours);
                std::fs::write(folder.join("cgroup.procs"), "0").expect("moving into the cgroup");
                body(theirs);
                // SAFETY: ends the child without running what belongs to its parent.
                unsafe { libc::_exit(0) }
            }
            pid if pid > 0 => Child { pid: pid as u32, socket: ours },
            _ => panic!("fork: {}", std::io::Error::last_os_error()),
        }
    }

    /// An app with memory; returns once it is filled.
    pub fn app(folder: &Path, content: Content) -> Child {
        let mut child = Child::fork(folder, |socket| play(socket, content));
        child.wait_ready();
        child
    }

    pub fn wait_ready(&mut self) {
        self.socket.read_exact(&mut [0; 16]).expect("the child ended early");
    }

    /// Gives an order and waits for the answer.
    pub fn tell(&mut self, order: Order) -> (u64, u64) {
        self.socket.write_all(&[order as u8]).expect("telling a child");
        let mut answer = [0; 16];
        self.socket.read_exact(&mut answer).expect("a child's answer");
        let word = |at: usize| u64::from_ne_bytes(answer[at..at + 8].try_into().expect("eight bytes"));
        (word(0), word(8))
    }

    /// Kills and reaps it.
    pub fn end(self) {}
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: our own child, not reaped before, so that the PID is its.
        unsafe {
            libc::kill(self.pid as i32, libc::SIGKILL);
            libc::waitpid(self.pid as i32, std::ptr::null_mut(), 0);
        }
    }
}

fn major_faults() -> u64 {
    // SAFETY: a zeroed structure of integers that the kernel fills.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: points to that structure.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    usage.ru_majflt as u64
}

/// Maps memory at a multiple of [`ALIGNMENT`] (whole huge pages are split as they are paged out).
pub fn map(bytes: usize) -> *mut u8 {
    // SAFETY: a fresh mapping; the part before the aligned address stays unused.
    let area = unsafe {
        mmap_anonymous(
            std::ptr::null_mut(),
            bytes + ALIGNMENT,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE | MapFlags::NORESERVE,
        )
    }
    .expect("mmap");
    (area as usize).next_multiple_of(ALIGNMENT) as *mut u8
}

fn play(mut socket: UnixStream, content: Content) {
    // SAFETY: the span is mapped, and the pages lie within it.
    let base =
        unsafe { map(content.span_bytes).add(content.span_bytes - content.pages * PAGE) } as *mut [u64; PAGE / 8];
    // SAFETY: `content.pages` pages from `base` on are mapped, writable, and used by nobody else.
    let pages = unsafe { std::slice::from_raw_parts_mut(base, content.pages) };
    for (index, page) in pages.iter_mut().enumerate() {
        page_content(&content.mix, content.seed, index as u64, 0, page);
        // A zero page was perhaps only read: write it, so that it is the app's own.
        // SAFETY: inside the page.
        unsafe { page.as_mut_ptr().write_volatile(page[0]) };
    }
    let mut answer = |first: u64, second: u64| {
        let mut bytes = first.to_ne_bytes().to_vec();
        bytes.extend(second.to_ne_bytes());
        socket.write_all(&bytes).is_ok().then(|| {
            let mut order = [0];
            socket.read_exact(&mut order).ok().map(|()| order[0])
        })
    };
    let mut next = answer(0, 0);
    let mut expected = [0; PAGE / 8];
    while let Some(Some(order)) = next {
        let faults = major_faults();
        next = if order == Order::Verify as u8 {
            let mut wrong = 0;
            for (index, page) in pages.iter().enumerate() {
                page_content(&content.mix, content.seed, index as u64, 0, &mut expected);
                wrong += u64::from(*page != expected);
            }
            answer(wrong, major_faults() - faults)
        } else if order == Order::Touch as u8 {
            let began = Instant::now();
            for page in pages.iter() {
                // SAFETY: inside the page.
                unsafe { page.as_ptr().read_volatile() };
            }
            answer(began.elapsed().as_nanos() as u64, major_faults() - faults)
        } else if order == Order::Fork as u8 {
            // SAFETY: one thread.
            match unsafe { libc::fork() } {
                0 => loop {
                    // SAFETY: waits for a signal.
                    unsafe { libc::pause() };
                },
                pid => answer(pid as u64, 0),
            }
        } else {
            answer(u64::from(rustix::mm::mlockall(rustix::mm::MlockAllFlags::CURRENT).is_err()), 0)
        };
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The zygote: a process that has loaded what every app needs and becomes an app by forking, as Android's does. The preloaded
//! pages are shared copy-on-write by all its apps.

use std::os::fd::AsFd;

use fovea_scenario::{page_content, Mix, PAGE_BYTES};
use rustix::mm::{mmap_anonymous, MapFlags, ProtFlags};

use crate::outcome::{At, Outcome};
use crate::pagemap::Pagemap;
use crate::spawn::{self, Parent, Side};
use crate::wire::{receive, send, Count, Fork, Forked};
use crate::{app, memory};

/// Content of the preloaded pages: classes and resources, alike wherever they are loaded.
const MIX: Mix =
    Mix { zero_percent: 0, duplicate_percent: 100, compressible_percent: 0, random_percent: 0, compressed_percent: 40 };

/// The preloaded pages, in the zygote and in the apps forked from it.
pub struct Preloaded {
    base: *mut [u64; memory::WORDS],
    pages: u64,
}

impl Preloaded {
    /// None: an app that was not forked from the zygote.
    pub fn none() -> Self {
        Self { base: std::ptr::null_mut(), pages: 0 }
    }

    fn load(bytes: u64) -> Outcome<Self> {
        let pages = bytes.div_ceil(PAGE_BYTES as u64);
        if pages == 0 {
            return Ok(Self::none());
        }
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing of ours.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                pages as usize * PAGE_BYTES,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }
        .at(|| format!("preloading {pages} pages"))?
        .cast::<[u64; memory::WORDS]>();
        for page in 0..pages {
            // SAFETY: a page of the mapping just made, which nothing else refers to yet.
            page_content(&MIX, 0, page, 0, unsafe { &mut *base.add(page as usize) });
        }
        Ok(Self { base, pages })
    }

    /// How many.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Reads a page: whether it holds what was preloaded.
    pub fn check(&self, page: u64) -> bool {
        assert!(page < self.pages, "page {page} of {} preloaded", self.pages);
        let mut expected = [0u64; memory::WORDS];
        page_content(&MIX, 0, page, 0, &mut expected);
        // SAFETY: inside the mapping, which lives as long as the process and is never written again.
        expected.as_slice() == unsafe { &*self.base.add(page as usize) }.as_slice()
    }

    /// Checks all of them, leaving swap as it was.
    pub fn verify(&self, pagemap: &Pagemap) -> Outcome<Count> {
        memory::verify_windows(self.base.cast(), self.pages, pagemap, |page| Some(self.check(page)))
    }
}

/// The zygote's life: preload, say so, then fork on request until the first process goes away. If `merged`, the pages of all that it
/// forks may be merged.
pub fn run(preload_bytes: u64, merged: bool) -> ! {
    let socket = spawn::inherited_socket();
    let registered = if merged { fovea_linux::register_for_merging() } else { Ok(()) };
    let loaded = registered.at(|| "the zygote".into()).and_then(|()| Preloaded::load(preload_bytes));
    let first = Forked { pid: loaded.as_ref().map(|_| std::process::id()).map_err(Clone::clone) };
    let sent = send(&socket, &first, &[]);
    let (Ok(preloaded), Ok(true)) = (loaded, sent) else { std::process::exit(1) };
    loop {
        let fds = match receive::<Fork>(&socket) {
            Ok(Some((Fork {}, fds))) => fds,
            Ok(None) => std::process::exit(0),
            Err(error) => {
                eprintln!("fovea-guest: zygote: {error}");
                std::process::exit(1);
            }
        };
        let pid = match fds.as_slice() {
            [app_socket, cgroup] => match spawn::clone_into(cgroup.as_fd(), Parent::Parent) {
                Ok(Side::Child) => {
                    spawn::keep_only(app_socket);
                    // The descriptors are closed or taken over; their owners must not close them a second time.
                    std::mem::forget((fds, socket));
                    app::run(preloaded);
                }
                Ok(Side::Parent(pid)) => Ok(pid),
                Err(error) => Err(error),
            },
            _ => Err(format!("a fork needs 2 descriptors, not {}", fds.len())),
        };
        if !matches!(send(&socket, &Forked { pid }, &[]), Ok(true)) {
            std::process::exit(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preloaded_pages_are_right_until_one_is_damaged() {
        let preloaded = Preloaded::load(40 * PAGE_BYTES as u64).unwrap();
        let pagemap = Pagemap::open().unwrap();
        assert_eq!(preloaded.verify(&pagemap).unwrap(), Count { checked: 40, wrong: 0 });
        // SAFETY: a page of the test's own mapping.
        unsafe { (*preloaded.base.add(33))[0] ^= 1 };
        assert_eq!(preloaded.verify(&pagemap).unwrap(), Count { checked: 40, wrong: 1 });
    }
}

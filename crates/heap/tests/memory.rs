// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The library on memory of the host's: a memfd stands for a buffer of another process's; `/dev/udmabuf` and the kernel's heap where they are.
//! On Fovea's own heap, with devices: proof/tests/mapcache, in the virtual phone.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;

use fovea_heap::{Access, Buffer, Growth, Heap};

const PAGE: usize = 4096;

fn memory(size_bytes: u64) -> OwnedFd {
    let fd = rustix::fs::memfd_create("heap-test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&fd, size_bytes).unwrap();
    fd
}

/// How many mappings of the process are of that name.
fn mappings(name: &str) -> usize {
    std::fs::read_to_string("/proc/self/maps").unwrap().lines().filter(|line| line.contains(name)).count()
}

#[test]
fn a_mapping_outlives_its_use_and_ends_with_the_buffer() {
    let fd = rustix::fs::memfd_create("heap-kept", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&fd, 4 * PAGE as u64).unwrap();
    let buffer = Buffer::import(fd.as_fd()).unwrap();
    assert_eq!((buffer.size_bytes(), mappings("heap-kept")), (4 * PAGE, 0));
    let first = buffer.map().unwrap();
    let start = first.words().as_ptr();
    first.words()[7].store(9, Ordering::Relaxed);
    drop(first);
    assert_eq!(mappings("heap-kept"), 1);
    let (again, beside) = (buffer.map().unwrap(), buffer.map().unwrap());
    assert_eq!((again.words().as_ptr(), beside.words().as_ptr()), (start, start));
    assert_eq!(buffer.trim().unwrap_err().raw_os_error(), Some(libc::EBUSY));
    // The mapping holds the buffer.
    drop(buffer);
    assert_eq!(again.words()[7].load(Ordering::Relaxed), 9);
    drop((again, beside));
    assert_eq!(mappings("heap-kept"), 0);
}

#[test]
fn a_buffer_is_known_by_whatever_descriptor() {
    let fd = memory(PAGE as u64);
    let (one, two) = (Buffer::import(fd.as_fd()).unwrap(), Buffer::import(fd.try_clone().unwrap().as_fd()).unwrap());
    let (here, there) = (one.map().unwrap(), two.map().unwrap());
    assert_eq!(here.words().as_ptr(), there.words().as_ptr());
    let other = Buffer::import(memory(PAGE as u64).as_fd()).unwrap();
    assert_ne!(other.map().unwrap().words().as_ptr(), here.words().as_ptr());
    drop((here, there));
    one.trim().unwrap();
    assert_eq!(two.access(Access::ReadWrite, || 5).unwrap(), 5, "memory has no device to be told");
}

#[test]
fn what_is_no_buffer_is_refused() {
    let error = Heap::open("/dev/null").unwrap().allocate(4096).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
    let error = Heap::open("/dev/null").unwrap().allocate(u64::MAX).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    let error = Heap::open("/dev/ecache/none").unwrap_err();
    assert!(error.to_string().contains("/dev/ecache/none") && error.io().raw_os_error() == Some(libc::ENOENT));
    let import = |file: &str| Buffer::import(File::open(file).unwrap().as_fd()).unwrap_err().raw_os_error();
    assert_eq!(import("/dev/null"), Some(libc::EINVAL));
    let (pipe, _end) = rustix::pipe::pipe().unwrap();
    assert_eq!(Buffer::import(pipe.as_fd()).unwrap_err().raw_os_error(), Some(libc::EINVAL));
    let buffer = Buffer::import(memory(8192).as_fd()).unwrap();
    assert_eq!(buffer.resize(4096, Growth::Whole).unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
    assert_eq!(buffer.size_bytes(), 8192);
}

#[test]
fn threads_may_do_all_of_it_at_once() {
    let fds: Vec<OwnedFd> = (0..4).map(|_| memory(3 * PAGE as u64)).collect();
    std::thread::scope(|scope| {
        for thread in 0..4usize {
            let fds = &fds;
            scope.spawn(move || {
                for round in 0..2000usize {
                    let buffer = Buffer::import(fds[(thread * 7 + round) % 4].as_fd()).unwrap();
                    let mapping = buffer.map().unwrap();
                    mapping.words()[thread].fetch_add(1, Ordering::Relaxed);
                    drop(mapping);
                    if round % 5 == 0 {
                        // Somebody may use it.
                        let _ = buffer.trim();
                    }
                }
            });
        }
    });
    let sum = |fd: &OwnedFd| {
        let mapping = Buffer::import(fd.as_fd()).unwrap().map().unwrap();
        mapping.words()[..4].iter().map(|word| word.load(Ordering::Relaxed)).sum::<u64>()
    };
    assert_eq!(fds.iter().map(sum).sum::<u64>(), 4 * 2000);
}

/// Skipped, with a word, where the node is missing.
#[test]
fn any_heap_of_the_host_will_do() {
    for path in ["/dev/udmabuf", "/dev/dma_heap/system"] {
        if !Path::new(path).exists() {
            println!("{path}: skipped, this machine has none");
            continue;
        }
        let buffer = Heap::open(path).unwrap().allocate(5000).unwrap();
        let mapping = buffer.map().unwrap();
        let work = || mapping.words()[1023].swap(3, Ordering::Relaxed);
        assert_eq!((buffer.access(Access::ReadWrite, work).unwrap(), buffer.size_bytes()), (0, 2 * PAGE));
    }
}

/// The header is C11 and C++; the library is a program's without Rust.
#[test]
fn c_and_cxx_programs_can_use_it() {
    let lib = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lib/heap");
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("example");
    let run = |command: &mut Command| match command.status() {
        Ok(status) => assert!(status.success(), "{command:?}"),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => println!("{command:?}: skipped, not installed"),
        Err(e) => panic!("{command:?}: {e}"),
    };
    let strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];
    run(Command::new("cc")
        .args(["-std=c11"])
        .args(strict)
        .arg("-I")
        .arg(&lib)
        .args(["-pthread", "-o"])
        .arg(&program)
        .args([lib.join("example.c"), lib.join("heap.c")]));
    run(Command::new(&program).arg("test"));
    run(Command::new("c++")
        .args(["-std=c++17", "-fsyntax-only"])
        .args(strict)
        .args(["-x", "c++"])
        .arg(lib.join("fovea-heap.h")));
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The processes of a unit that is no app's of the plan: a shell, a program with work that is not
//! saved, and one that takes memory.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;

use fovea_scenario::outsider::{Leaks, LEAKER, SIBLINGS};
use fovea_scenario::{Forks, Outsider, PAGE_BYTES};
use rustix::net::{connect, socket_with, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use serde::{Deserialize, Serialize};

use crate::buffers::sleep_ns;
use crate::hash::mix64;
use crate::memory::Anon;
use crate::outcome::{At, Outcome};
use crate::pagemap::Pagemap;
use crate::readings::{now_ns, Memory};
use crate::spawn::{self, Side};
use crate::wire::{receive, send, Count};

/// What makes of this program the first process of such a unit.
pub const WORD: &str = "outsider";

/// Where whoever plays the user waits for it. systemd may start it, so that it inherits nothing.
pub const ADDRESS: &str = "/run/fovea-outsider";

/// A download, say.
const TMPFS_FILE: &str = "/dev/shm/file";

/// To one of the processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "kebab-case")]
pub enum ToOutsider {
    /// First message to the shell, with the sockets of the others in the order of their names. Each
    /// of the three answers `Here`.
    Setup {
        /// Who they are.
        outsider: Outsider,
        /// Of the content of their pages.
        seed: u64,
    },
    /// To the leaker: it begins, and is not spoken to any more.
    Begin {},
    /// To the shell: processes come and go. Answered by `Here` at the end.
    Fork {
        /// How many, how fast.
        forks: Forks,
    },
    /// To a sibling: answered by `Checked`.
    Verify {},
}

/// From one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "kebab-case")]
pub enum FromOutsider {
    /// It has its memory.
    Here {
        /// Its PID.
        pid: u32,
    },
    /// Its pages.
    Checked(Count),
}

/// The unit's first process.
pub fn run() -> ! {
    end(live())
}

fn end(result: Outcome<()>) -> ! {
    if let Err(error) = &result {
        eprintln!("fovea-guest: outsider: {error}");
    }
    std::process::exit(i32::from(result.is_err()));
}

fn live() -> Outcome<()> {
    // SAFETY: takes no pointer. Nobody waits for the children.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .at(|| "making a socket".into())?;
    let address = SocketAddrUnix::new(ADDRESS).at(|| ADDRESS.into())?;
    match (connect(&socket, &address), std::env::args().nth(2)) {
        (Ok(()), _) => {}
        // Its first life was the one that somebody waited for.
        (Err(_), Some(anew)) => {
            let outsider = serde_json::from_str(&anew).at(|| anew.clone())?;
            return take(&outsider, outsider_pages(&outsider, 2)?);
        }
        (result, None) => result.at(|| format!("connecting to {ADDRESS}"))?,
    }
    let Some((ToOutsider::Setup { outsider, seed }, fds)) = receive(&socket)? else {
        return Err("the first message must say who it is".into());
    };
    let mut fds = fds.into_iter();
    let (Some(unsaved), Some(leaker)) = (fds.next(), fds.next()) else {
        return Err("the first message must come with two sockets".into());
    };
    let leak_seed = mix64(seed ^ 2);
    if outsider.leaks == Leaks::Anew {
        drop((socket, unsaved));
        return leak(&leaker, &outsider, leak_seed);
    }
    if let Side::Child = spawn::fork()? {
        drop((socket, leaker));
        end(keep(&unsaved, SIBLINGS[1], outsider, 1, seed));
    }
    // Of parent and child one is the leaker, the other the shell.
    let is_child = matches!(spawn::fork()?, Side::Child);
    drop(unsaved);
    if is_child == (outsider.leaks == Leaks::Child) {
        drop(socket);
        end(leak(&leaker, &outsider, leak_seed));
    }
    drop(leaker);
    keep(&socket, SIBLINGS[0], outsider, 0, seed)
}

fn here(socket: &OwnedFd, name: &str) -> Outcome<()> {
    let name = std::ffi::CString::new(name).at(|| "naming the process".into())?;
    rustix::thread::set_name(&name).at(|| "naming the process".into())?;
    send(socket, &FromOutsider::Here { pid: std::process::id() }, &[]).map(drop)
}

/// A sibling: has memory, and does what it is told.
fn keep(socket: &OwnedFd, name: &str, outsider: Outsider, number: usize, seed: u64) -> Outcome<()> {
    let pages = outsider.sibling_pages[number];
    let mut anon = Anon::new(pages, outsider.mix, mix64(seed ^ number as u64))?;
    (0..pages).for_each(|page| anon.fill(page));
    if number == 1 && outsider.file_pages > 0 {
        put_on_tmpfs(outsider.file_pages)?;
    }
    here(socket, name)?;
    while let Some((message, _)) = receive(socket)? {
        match message {
            ToOutsider::Verify {} => {
                let count = anon.verify(&Pagemap::open()?)?;
                send(socket, &FromOutsider::Checked(count), &[])?;
            }
            ToOutsider::Fork { forks } => {
                come_and_go(&forks)?;
                here(socket, name)?;
            }
            other => return Err(format!("{name} was told {other:?}")),
        }
    }
    Ok(())
}

/// A file on the tmpfs that everybody may write to.
fn put_on_tmpfs(pages: u64) -> Outcome<()> {
    let mut file = File::create(TMPFS_FILE).at(|| format!("making {TMPFS_FILE}"))?;
    for page in 0..pages {
        let content = [mix64(page) as u8; PAGE_BYTES];
        file.write_all(&content).at(|| format!("writing {TMPFS_FILE}"))?;
    }
    Ok(())
}

/// Each lives until so many more have come; the last ones stay.
fn come_and_go(forks: &Forks) -> Outcome<()> {
    let life_ns = forks.living * forks.period_ns;
    for number in 0..forks.processes {
        let next_ns = now_ns() + forks.period_ns;
        if let Side::Child = spawn::fork()? {
            let is_last = number + forks.living >= forks.processes;
            sleep_ns(if is_last { u64::MAX / 4 } else { life_ns });
            // Nothing of this process is to be written at its end.
            // SAFETY: takes no pointer.
            unsafe { libc::_exit(0) };
        }
        sleep_ns(next_ns.saturating_sub(now_ns()));
    }
    Ok(())
}

fn leak(socket: &OwnedFd, outsider: &Outsider, seed: u64) -> Outcome<()> {
    let anon = outsider_pages(outsider, seed)?;
    here(socket, LEAKER)?;
    let Some((ToOutsider::Begin {}, _)) = receive(socket)? else { return Ok(()) };
    take(outsider, anon)?;
    // What it has it keeps.
    receive::<ToOutsider>(socket).map(drop)
}

/// What a leaker begins with.
fn outsider_pages(outsider: &Outsider, seed: u64) -> Outcome<Anon> {
    let growth = outsider.growth;
    let mut anon = match growth.shared {
        true => Anon::shared(growth.first_pages, outsider.mix, seed)?,
        false => Anon::new(growth.first_pages, outsider.mix, seed)?,
    };
    (0..growth.first_pages).for_each(|page| anon.fill(page));
    Ok(anon)
}

/// Takes memory until it is told to stop by what it looks at.
fn take(outsider: &Outsider, mut anon: Anon) -> Outcome<()> {
    let growth = outsider.growth;
    while growth.pages > 0 && anon.pages() + growth.pages <= growth.most_pages {
        if growth.least_available_bytes > 0 && Memory::read()?.available < growth.least_available_bytes {
            break;
        }
        let next_ns = now_ns() + growth.period_ns;
        let first = anon.pages();
        anon.grow(growth.pages)?;
        (first..anon.pages()).for_each(|page| anon.fill(page));
        if growth.rereads {
            anon.reread();
        }
        sleep_ns(next_ns.saturating_sub(now_ns()));
    }
    Ok(())
}

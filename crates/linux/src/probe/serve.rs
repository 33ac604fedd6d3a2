// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The probe's side: answers what it is asked on its standard input, until that is closed.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::process::{set_parent_process_death_signal, Signal};
use rustix::thread::{capabilities, set_capabilities, set_no_new_privs, CapabilitySet, CapabilitySets};

use super::{frame, watched, Answer, Question};
use crate::file::Root;
use crate::media::Media;
use crate::net::{Hand, Source};

/// What it takes to see what other users' processes have open.
const NEEDED: CapabilitySet = CapabilitySet::SYS_PTRACE.union(CapabilitySet::DAC_READ_SEARCH);

/// Before most, and far from all: any user decides how much there is to look at.
const NICE: i32 = -10;

/// Serves until nobody asks any more. `root` is where `proc` is, `devices` where sound and video devices are.
pub fn serve(root: PathBuf, devices: PathBuf) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    set_no_new_privs(true)?;
    // It is asked when memory is short, too: its own must be there. And whoever asks waits for it, while others compute.
    let _ = crate::selfcare::lock_memory();
    let _ = rustix::process::setpriority_process(None, NICE);
    drop_capabilities()?;
    let mut link = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let (root, mut media) = (Root::at(root), Media::at(Root::at(devices)));
    frame::write(&mut link, &Answer::Ready, frame::never())?;
    let mut incoming = frame::Incoming::default();
    loop {
        let question = match incoming.read(&mut link, frame::never()) {
            Ok(question) => question,
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(e) => return Err(e),
        };
        let answer = answer(&root, &mut media, question, &link)?;
        frame::write(&mut link, &answer, frame::never())?;
    }
}

fn answer(root: &Root, media: &mut Media, question: Question, link: &UnixStream) -> io::Result<Answer> {
    let watch = |blamed| link.try_clone().map(|link| watched::begin(link, blamed));
    Ok(match question {
        Question::Media { look_for_video, blamed } => {
            watch(blamed)?;
            Answer::Media(media.users(root, look_for_video).map_err(|e| e.to_string()))
        }
        Question::Services { table, blamed } => {
            watch(blamed)?;
            Answer::Services(crate::services::users(root, media.devices(), &table).map_err(|e| e.to_string()))
        }
        Question::Connection { pid, fd, inode, act } => {
            watch(Vec::new())?;
            let done = Source::default().act(pid, fd, inode, act);
            Answer::Connection(done.map_err(|e| e.raw_os_error().unwrap_or(libc::EIO)))
        }
    })
}

/// Keeps what is needed, of what there is.
fn drop_capabilities() -> io::Result<()> {
    let kept = capabilities(None)?.permitted.intersection(NEEDED);
    let none = CapabilitySet::empty();
    Ok(set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: none })?)
}

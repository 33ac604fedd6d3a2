// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The probe's side: answers what it is asked on its standard input, until that is closed.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::process::{set_parent_process_death_signal, Signal};
use rustix::thread::{capabilities, set_capabilities, set_no_new_privs, CapabilitySet, CapabilitySets};

use super::blame::Owner;
use super::{frame, watched, Answer, Question};
use crate::file::Root;
use crate::media::Media;
use crate::net::{Hand, Source};
use crate::System;

/// Capabilities that it takes to read other users' open files and memory maps, and to advise on their memory.
const NEEDED: CapabilitySet =
    CapabilitySet::SYS_PTRACE.union(CapabilitySet::DAC_READ_SEARCH).union(CapabilitySet::SYS_NICE);

/// Ahead of ordinary processes, but not of all: any user can decide how much the probe has to read.
pub(super) const NICE: i32 = -10;

/// Answers questions until the daemon closes the connection. `root` is where `proc` is, `devices` where sound and video devices are.
pub fn serve(root: PathBuf, devices: PathBuf) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    set_no_new_privs(true)?;
    // The daemon asks when memory is short, too, so the probe's own pages must stay in memory. The daemon waits for the
    // answer, so the probe goes before ordinary processes.
    let _ = crate::selfcare::lock_memory();
    let _ = rustix::process::setpriority_process(None, NICE);
    drop_capabilities()?;
    let mut link = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let touches = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let (mut system, mut media) = (System::at(root), Media::at(Root::at(devices)));
    frame::write(&mut link, &Answer::Ready, frame::never())?;
    let mut incoming = frame::Incoming::default();
    loop {
        let question = match incoming.read(&mut link, frame::never()) {
            Ok(question) => question,
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(e) => return Err(e),
        };
        let watch = |blamed, held_up| touches.try_clone().map(|touches| watched::begin(touches, blamed, held_up));
        let answer = answer(&mut system, &mut media, question, &watch)?;
        frame::write(&mut link, &answer, frame::never())?;
    }
}

fn answer(
    system: &mut System,
    media: &mut Media,
    question: Question,
    watch: &dyn Fn(Vec<Owner>, Vec<u32>) -> io::Result<()>,
) -> io::Result<Answer> {
    let root = system.root();
    Ok(match question {
        Question::Process { task, held_up } => {
            watch(Vec::new(), held_up)?;
            Answer::Process(task.run(system))
        }
        Question::Media { look_for_video, blamed } => {
            watch(blamed, Vec::new())?;
            Answer::Media(media.users(root, look_for_video).map_err(|e| e.to_string()))
        }
        Question::Services { table, blamed } => {
            watch(blamed, Vec::new())?;
            Answer::Services(crate::services::users(root, media.devices(), &table).map_err(|e| e.to_string()))
        }
        Question::Connection { pid, fd, inode, act } => {
            watch(Vec::new(), Vec::new())?;
            let done = Source::default().act(pid, fd, inode, act);
            Answer::Connection(done.map_err(|e| e.raw_os_error().unwrap_or(libc::EIO)))
        }
    })
}

/// Keeps those of the needed capabilities that this process has, and drops all others.
fn drop_capabilities() -> io::Result<()> {
    let kept = capabilities(None)?.permitted.intersection(NEEDED);
    let none = CapabilitySet::empty();
    Ok(set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: none })?)
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! This program again in a cgroup of its own, doing a job of a step: what it prints is read while the phone goes on.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::pipe::{pipe_with, PipeFlags};

use crate::outcome::{At, Outcome};
use crate::phone::{Phone, Woke};
use crate::setup::cgroup_path;
use crate::spawn::{exec_into, Setting};

pub struct Program {
    name: String,
    output: OwnedFd,
    said: Vec<u8>,
}

impl Program {
    /// With these words on its command line, of which the second is told where something is wrong with it.
    pub fn start(cgroup: &str, words: &[&str]) -> Outcome<Program> {
        let path = cgroup_path(cgroup);
        std::fs::create_dir_all(&path).at(|| format!("making {}", path.display()))?;
        let folder = File::open(&path).at(|| format!("opening {}", path.display()))?;
        let (output, theirs) = pipe_with(PipeFlags::CLOEXEC).at(|| "making a pipe".into())?;
        let args = [&["fovea-guest"], words].concat();
        exec_into(&folder, Path::new("/init"), &args, Setting { stdout: Some(&theirs), ..Setting::default() })?;
        let name = words.get(1).copied().unwrap_or("a program").to_owned();
        Ok(Program { name, output, said: Vec::new() })
    }

    /// Waits for more of what it says; false at its end.
    fn hear(&mut self, phone: &mut Phone, deadline_ns: u64) -> Outcome<bool> {
        loop {
            match phone.wait(Some(deadline_ns), None, Some(self.output.as_fd()))? {
                Woke::Time => return Err(format!("{} says nothing in time: see the console", self.name)),
                Woke::Other => {
                    let mut buffer = [0u8; 16384];
                    let length =
                        rustix::io::read(&self.output, &mut buffer).at(|| format!("reading from {}", self.name))?;
                    self.said.extend_from_slice(&buffer[..length]);
                    return Ok(length > 0);
                }
                Woke::App | Woke::Death => {}
            }
        }
    }

    /// Its next line.
    pub fn line(&mut self, phone: &mut Phone, deadline_ns: u64) -> Outcome<String> {
        loop {
            if let Some(end) = self.said.iter().position(|&byte| byte == b'\n') {
                let rest = self.said.split_off(end + 1);
                let line = std::mem::replace(&mut self.said, rest);
                return Ok(String::from_utf8_lossy(line.trim_ascii()).into_owned());
            }
            if !self.hear(phone, deadline_ns)? {
                return Err(format!("{} has ended: see the console", self.name));
            }
        }
    }

    /// All that it says until its end.
    pub fn all(mut self, phone: &mut Phone, deadline_ns: u64) -> Outcome<String> {
        while self.hear(phone, deadline_ns)? {}
        Ok(String::from_utf8_lossy(&self.said).into_owned())
    }
}

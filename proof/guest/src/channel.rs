// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The way out of the virtual phone: events as bytes to QEMU, and its exit status. What carries them is the machine's own and costs few
//! instructions, so that reporting hardly changes what it reports on.

#[cfg_attr(target_arch = "x86_64", path = "channel/ports.rs")]
#[cfg_attr(any(target_arch = "aarch64", target_arch = "arm"), path = "channel/semihosting.rs")]
mod host;

use fovea_scenario::{Event, EventBody};

use crate::outcome::Outcome;
use crate::readings::now_ns;
use host::Host;

/// The results channel. Existing means that this process may use it.
pub struct Channel(Host);

impl Channel {
    /// Gets access.
    pub fn open() -> Outcome<Self> {
        Host::open().map(Self)
    }

    /// Gives access up again, in a process forked from one that had it.
    pub fn renounce() {
        Host::renounce();
    }

    /// Reports an event, stamped with the time of this call.
    pub fn emit(&self, body: EventBody) -> Outcome<()> {
        let mut line = serde_json::to_vec(&Event { t_ns: now_ns(), body })
            .map_err(|error| format!("writing an event: {error}"))?;
        line.push(b'\n');
        self.0.write(&line);
        Ok(())
    }

    /// Ends the machine: QEMU exits with 1 if the plan was followed, 3 if not.
    pub fn exit(&self, done: bool) -> ! {
        self.0.exit(done);
        // Under somebody's own QEMU command line, which has no such exit, the machine is switched off as any other is.
        let _ = rustix::system::reboot(rustix::system::RebootCommand::PowerOff);
        loop {
            std::thread::park();
        }
    }
}

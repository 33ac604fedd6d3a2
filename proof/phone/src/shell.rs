// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A shell in the phone, on the user's terminal.

use fovea_scenario::Plan;

use crate::error::{Error, Result};
use crate::phone::Phone;
use crate::qemu::Console;

/// Kernel argument that makes the guest start `/bin/sh` in place of following its plan.
pub const SHELL_ARG: &str = "fovea.shell";

impl Phone {
    /// Boots the plan's phone with a shell on the terminal; returns when the user leaves. The plan's steps are not followed.
    ///
    /// # Errors
    /// QEMU cannot be started or fails.
    pub fn shell(&self, plan: &Plan) -> Result<()> {
        if plan.desktop.is_some() {
            return Err(Error::bad(
                &plan.scenario,
                "has systemd as its first process and no shell; name a phone's scenario",
            ));
        }
        let (_scratch, initrd) = self.write_image(plan)?;
        let mut machine = self.machine(plan, initrd, Console::Terminal)?;
        machine.kernel_args.push(SHELL_ARG.into());
        eprintln!("Starting {}; leave with Ctrl-A X.", plan.phone.name);
        let program = machine.platform.qemu();
        let failed = |detail: String| Error::Command { program: program.into(), detail };
        let status = machine.command().status().map_err(|e| failed(e.to_string()))?;
        // 0: Ctrl-A X, or the shell ended and the kernel with it; 1: the guest left by its exit port.
        match status.code() {
            Some(0 | 1) => Ok(()),
            _ => Err(failed(format!("{status}; what it said is above"))),
        }
    }
}

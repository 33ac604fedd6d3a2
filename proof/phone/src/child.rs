// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A QEMU under way: its events come through a pipe, and it does not outlive us.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::qemu::Machine;

/// A running QEMU; killed when dropped.
pub(crate) struct Running {
    program: &'static str,
    child: Child,
    chunks: Receiver<Vec<u8>>,
}

/// What came next.
pub(crate) enum Next {
    /// Bytes of the event stream.
    Bytes(Vec<u8>),
    /// Nothing within the time.
    Nothing,
    /// QEMU has closed the stream: it has ended.
    Ended,
}

impl Running {
    /// Starts a machine whose console goes to a file. What QEMU itself says goes to `log`.
    pub(crate) fn start(machine: &Machine, log: &Path) -> Result<Running> {
        let stderr = File::create(log).map_err(Error::io("write", log))?;
        let program = machine.platform.qemu();
        let mut command = machine.command();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr);
        let mut child =
            command.spawn().map_err(|e| Error::Command { program: program.into(), detail: e.to_string() })?;
        let (sender, chunks) = mpsc::channel();
        let stdout = child.stdout.take();
        // The thread ends with the pipe, that is, with QEMU.
        thread::spawn(move || {
            let Some(mut stdout) = stdout else { return };
            let mut buffer = vec![0; 64 << 10];
            while let Ok(count @ 1..) = stdout.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Ok(Running { program, child, chunks })
    }

    /// The next piece of the event stream, waited for at most so long.
    pub(crate) fn next(&mut self, patience: Duration) -> Next {
        match self.chunks.recv_timeout(patience) {
            Ok(bytes) => Next::Bytes(bytes),
            Err(RecvTimeoutError::Timeout) => Next::Nothing,
            Err(RecvTimeoutError::Disconnected) => Next::Ended,
        }
    }

    /// How QEMU ended; to be called once the stream has.
    pub(crate) fn wait(&mut self) -> Result<ExitStatus> {
        self.child.wait().map_err(|e| Error::Command { program: self.program.into(), detail: e.to_string() })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Long work without the interpreter's lock, which Ctrl-C ends.

use std::{sync::mpsc, thread, time::Duration};

use fovea_lab::{Result, Stop};
use pyo3::{create_exception, exceptions::PyException, prelude::*};

create_exception!(fovea, Error, PyException, "What was wrong, where, and the mend: one line.");

/// How long Ctrl-C may wait for an answer.
const PATIENCE: Duration = Duration::from_millis(50);

/// The lab's error as Python's.
pub fn fail(error: fovea_lab::Error) -> PyErr {
    Error::new_err(error.to_string())
}

/// Works on a thread of its own while this one looks for signals, which only Python's main thread is told of.
pub fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce(&Stop) -> Result<T> + Send) -> PyResult<T> {
    let stop = Stop::default();
    py.detach(|| {
        let (done, result) = mpsc::channel();
        thread::scope(|scope| {
            let worker = stop.clone();
            scope.spawn(move || done.send(work(&worker)));
            let mut signalled = None;
            loop {
                match result.recv_timeout(PATIENCE) {
                    Ok(found) => return signalled.map_or_else(|| found.map_err(fail), Err),
                    Err(mpsc::RecvTimeoutError::Timeout) if signalled.is_none() => {
                        if let Err(error) = Python::attach(|py| py.check_signals()) {
                            stop.ask();
                            signalled = Some(error);
                        }
                    }
                    Err(mpsc::RecvTimeoutError::Timeout) => {}
                    // The worker panicked, which the scope passes on.
                    Err(mpsc::RecvTimeoutError::Disconnected) => return Err(Error::new_err("the lab panicked")),
                }
            }
        })
    })
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Telling an app's story to a client.

use super::*;

impl<D: Device> Loop<D> {
    /// Tells a story in a thread of its own, for it takes half a second to read; one at a time.
    pub(super) fn tell(&self, client: &OwnedFd, of: Of, limit: Option<usize>) -> Option<Reply> {
        let busy = |what: &str| Some(Reply::Error { error: format!("{what}: ask again in a moment") });
        let Ok(client) = client.try_clone() else { return busy("too many clients") };
        if self.telling.swap(true, Ordering::AcqRel) {
            return busy("somebody else is being told a story");
        }
        let (telling, path) = (Arc::clone(&self.telling), self.journal_path.clone());
        let tell = move || {
            // The loop's priority is for killing.
            let _ = rustix::process::setpriority_process(None, 0);
            let story = Journal::story_in(&path, &of, journal::at_most(limit));
            telling.store(false, Ordering::Release);
            let _ = socket::reply(&client, &journal::story_reply(story));
        };
        match std::thread::Builder::new().name("story".into()).spawn(tell) {
            Ok(_) => None,
            Err(e) => {
                self.telling.store(false, Ordering::Release);
                busy(&format!("starting a thread: {e}"))
            }
        }
    }
}

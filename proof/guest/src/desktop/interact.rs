// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The user's work with the app in front: timed interactions, and how long the app waited for memory in each.

use fovea_scenario::{follow, EventBody, Touch};

use super::session::stalled_ns;
use crate::outcome::Outcome;
use crate::phone::Phone;
use crate::readings::now_ns;
use crate::steps;
use crate::wire::ToApp;

/// Works with an app. One that was killed meanwhile is opened again, as a user would; one that cannot be opened is given up.
pub fn run(phone: &mut Phone, name: &str, interactions: u32, period_ns: u64, touch: Touch) -> Outcome<()> {
    let (mut elapsed_ns, mut stall_ns, mut wrong_pages) = (Vec::new(), Vec::new(), 0);
    for turn in 0..u64::from(interactions) {
        let begin = now_ns();
        if !phone.apps.contains_key(name) || phone.book.focused.as_deref() != Some(name) {
            follow::open(phone, name)?;
            if !phone.apps.contains_key(name) {
                break;
            }
        }
        let asked = now_ns();
        phone.tell(name, &ToApp::Interact { turn, touch })?;
        if let Some(count) = steps::ready(phone, name)? {
            elapsed_ns.push(now_ns() - asked);
            stall_ns.push(since_last(phone, name));
            wrong_pages += count.wrong;
        }
        phone.pass((begin + period_ns).saturating_sub(now_ns()))?;
    }
    phone.channel.emit(EventBody::Interacted { app: name.to_owned(), elapsed_ns, stall_ns, wrong_pages })
}

fn since_last(phone: &mut Phone, name: &str) -> u64 {
    let Some(app) = phone.apps.get(name) else { return 0 };
    let now = stalled_ns(&app.cgroup);
    let Some(session) = &mut phone.desktop else { return 0 };
    let since = now.saturating_sub(session.stalled_ns);
    session.stalled_ns = now;
    since
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What comes out of a decision.

use serde::{Deserialize, Serialize};

use crate::memory::{Pressure, Warning};
use crate::{Action, Reason};

/// What to do now, and when to look again if nothing happens before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Actions in order, each with its reason.
    pub actions: Vec<(Action, Reason)>,
    /// When to look again; `None`: not before something happens.
    pub wake_at_ns: Option<u64>,
    /// When to look at memory though nothing calls: no PSI, a shortage that may come without a stall, an app whose turn comes to be compressed
    /// ahead of need. This is no work under way.
    #[serde(default)]
    pub watch_at_ns: Option<u64>,
    /// The pressure the decision rests on.
    pub pressure: Option<Pressure>,
    /// What apps are to be warned of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<Warning>,
    /// A kill is due, and all that could be killed for it is on the owner's lists: the kernel's OOM killer may be next.
    #[serde(default)]
    pub only_listed: bool,
    /// Somebody outside of apps leaks: nothing is done to any app for him, and the kernel's OOM killer is to end him.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "aside_for")]
    pub left_to_kernel: Option<String>,
}

impl Decision {
    pub(crate) fn push(&mut self, action: Action, reason: Reason) {
        self.actions.push((action, reason));
    }

    /// Takes another one's actions after its own, and the earlier of their times.
    pub(crate) fn and(mut self, other: Decision) -> Decision {
        self.actions.extend(other.actions);
        other.wake_at_ns.into_iter().for_each(|at_ns| self.wake_by(at_ns));
        other.watch_at_ns.into_iter().for_each(|at_ns| self.watch_by(at_ns));
        self.pressure = self.pressure.or(other.pressure);
        self.warning = self.warning.or(other.warning);
        self.only_listed |= other.only_listed;
        self.left_to_kernel = self.left_to_kernel.or(other.left_to_kernel);
        self
    }

    pub(crate) fn wake_by(&mut self, at_ns: u64) {
        self.wake_at_ns = Some(self.wake_at_ns.map_or(at_ns, |t| t.min(at_ns)));
    }

    /// Has the device looked at again by then, though nothing may be due.
    pub fn watch_by(&mut self, at_ns: u64) {
        self.watch_at_ns = Some(self.watch_at_ns.map_or(at_ns, |t| t.min(at_ns)));
    }
}

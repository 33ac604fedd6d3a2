// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! An action that is to be performed, with what it was decided on.

use fovea_policy::{Action, Reason, Snapshot};

/// One action of a decision.
pub(super) struct Step<'a> {
    pub(super) action: &'a Action,
    pub(super) reason: Reason,
    /// The snapshot that it was decided on.
    pub(super) snapshot: &'a Snapshot,
}

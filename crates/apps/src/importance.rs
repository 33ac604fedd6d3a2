// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The ladder of importance (LowMem13, figure 2-18) with Android's numbers beside it.

use serde::{Deserialize, Serialize};

/// How much an app matters to the user now. The order is the order of value: the greatest is the first to be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Importance {
    /// On the screen.
    Foreground,
    /// Seen by the user but not in front (a widget, an input method).
    Visible,
    /// Does work for others (mail, contacts, the home screen).
    Service,
    /// In the background, still open.
    Hidden,
    /// Kept only for what it provides to others.
    ContentProvider,
    /// Closed by the user, kept so that it opens quickly.
    Empty,
}

impl Importance {
    /// Every class, most important first: the order of the six minfree values.
    pub const ALL: [Importance; 6] = [
        Importance::Foreground,
        Importance::Visible,
        Importance::Service,
        Importance::Hidden,
        Importance::ContentProvider,
        Importance::Empty,
    ];

    /// The class's place in [`Importance::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// The weight of LowMem13, figure 2-18.
    pub fn weight(self) -> i32 {
        [0, 1, 2, 7, 14, 15][self.index()]
    }

    /// Android's `oom_score_adj` for the class.
    pub fn oom_score_adj(self) -> i32 {
        [0, 100, 500, 700, 900, 950][self.index()]
    }
}

/// What an app is when it is not on the screen; declared at launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// An ordinary app: hidden when left, empty when closed.
    #[default]
    App,
    /// Always visible while it runs (an input method, a panel).
    Visible,
    /// A service: ranks as one while it runs.
    Service,
    /// A content provider.
    ContentProvider,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_seeds_and_androids() {
        let weights: Vec<_> = Importance::ALL.iter().map(|i| i.weight()).collect();
        let adjs: Vec<_> = Importance::ALL.iter().map(|i| i.oom_score_adj()).collect();
        assert_eq!(weights, [0, 1, 2, 7, 14, 15]);
        assert_eq!(adjs, [0, 100, 500, 700, 900, 950]);
        assert!(Importance::ALL.windows(2).all(|w| w[0] < w[1]));
    }
}

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

/// What is added to the `oom_score_adj` of each of an app's processes, so that it has the one wanted. What was there before says which of them matters more
/// (a browser's tabs have a higher value than the browser, systemd gives the session's own parts a lower one): those offsets stay, so the
/// same is added to all, and no more than the kernel takes. A process with a value below 0 is protected by somebody, and left alone.
pub fn score_shift(wanted: i32, scores: impl IntoIterator<Item = i32>) -> i32 {
    let highest = scores.into_iter().filter(|&score| score >= 0).max().unwrap_or(0);
    wanted.min(SCORE_MAX - highest).max(0)
}

/// The kernel's OOM_SCORE_ADJ_MAX.
const SCORE_MAX: i32 = 1000;

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
    fn what_was_there_before_keeps_its_offsets() {
        assert_eq!(score_shift(Importance::Hidden.oom_score_adj(), [0]), 700);
        assert_eq!(score_shift(Importance::Hidden.oom_score_adj(), [100, 300]), 700);
        assert_eq!(score_shift(Importance::Empty.oom_score_adj(), [100, 300]), 700, "1000 is the most");
        assert_eq!(score_shift(Importance::Empty.oom_score_adj(), [-900, 0]), 950);
        assert_eq!(score_shift(Importance::Foreground.oom_score_adj(), [200, 1000]), 0);
        assert_eq!(score_shift(Importance::Hidden.oom_score_adj(), [1000]), 0);
    }

    #[test]
    fn numbers_are_the_seeds_and_androids() {
        let weights: Vec<_> = Importance::ALL.iter().map(|i| i.weight()).collect();
        let adjs: Vec<_> = Importance::ALL.iter().map(|i| i.oom_score_adj()).collect();
        assert_eq!(weights, [0, 1, 2, 7, 14, 15]);
        assert_eq!(adjs, [0, 100, 500, 700, 900, 950]);
        assert!(Importance::ALL.windows(2).all(|w| w[0] < w[1]));
    }
}

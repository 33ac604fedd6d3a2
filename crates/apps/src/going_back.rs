// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How often the user goes back to the app that he left last: some go to and fro between two, some go through many in turn.

use crate::AppName;

/// An eighth is the newest time's: after two rounds through as many apps nothing is left of a guess, and one return more counts for some time.
const WEIGHT: u32 = 8;

/// Before anybody knows.
const FIRST_PPM: u32 = 500_000;

/// Counts, by names: one that was ended meanwhile is started again under its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GoingBack {
    share_ppm: u32,
    /// What came to the front last, and what before that.
    recent: [Option<AppName>; 2],
}

impl Default for GoingBack {
    fn default() -> Self {
        GoingBack { share_ppm: FIRST_PPM, recent: [None, None] }
    }
}

impl GoingBack {
    /// The app that came to the front last; it may be there still.
    pub(crate) fn newest(&self) -> Option<&AppName> {
        self.recent[0].as_ref()
    }

    /// An app comes to the front; the newest was there until now, or had left for what is no app.
    pub(crate) fn comes(&mut self, name: &AppName, newest_was_front: bool) {
        let [newest, before] = &mut self.recent;
        let left_last = if newest_was_front { &*before } else { &*newest };
        if let Some(left_last) = left_last {
            self.share_ppm -= self.share_ppm / WEIGHT;
            self.share_ppm += if left_last == name { 1_000_000 / WEIGHT } else { 0 };
        }
        if newest.as_ref() != Some(name) {
            *before = newest.replace(name.clone());
        }
    }

    /// The user has closed it: it is not one to go back to.
    pub(crate) fn closed(&mut self, name: &AppName) {
        let [newest, before] = &mut self.recent;
        if newest.as_ref() == Some(name) {
            *newest = before.take();
        }
        before.take_if(|before| before == name);
    }

    /// Of the times that an app came to the front, so many thousandths were to the one left last.
    pub(crate) fn permille(&self) -> u32 {
        self.share_ppm / 1000
    }
}

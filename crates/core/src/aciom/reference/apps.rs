// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Apps' classes, and when a request of theirs is due.

use super::{weigh, App, Error, Last, Model, Stage, LATEST_NS, MS, SECOND};
use crate::aciom::Class;

impl Model {
    /// Gives an app a class.
    ///
    /// # Errors
    /// The number is taken or out of range.
    pub fn add(&mut self, app: u32, class: Class, now_ns: u64) -> Result<(), Error> {
        if app >= self.config.max_apps {
            return Err(Error::Invalid);
        }
        if self.apps.contains_key(&app) {
            return Err(Error::Taken);
        }
        self.tick(now_ns);
        self.born += 1;
        self.apps.insert(app, App::new(class, self.born));
        Ok(())
    }

    /// Gives an app that was added another class.
    ///
    /// # Errors
    /// It was not added.
    pub fn class(&mut self, app: u32, class: Class, now_ns: u64) -> Result<(), Error> {
        if !self.apps.contains_key(&app) {
            return Err(Error::Invalid);
        }
        self.tick(now_ns);
        if self.apps.get(&app).is_some_and(|known| known.class != class) {
            self.remove(app, now_ns)?;
            self.born += 1;
            self.apps.insert(app, App::new(class, self.born));
        }
        Ok(())
    }

    /// Frees an app's number.
    ///
    /// # Errors
    /// It was not added.
    pub fn remove(&mut self, app: u32, now_ns: u64) -> Result<(), Error> {
        if !self.apps.contains_key(&app) {
            return Err(Error::Invalid);
        }
        self.tick(now_ns);
        self.empty(app);
        self.apps.remove(&app);
        self.open_gates();
        Ok(())
    }

    pub(super) fn arrive_sensitive(&mut self, number: u32, size: u64) -> u64 {
        let now = self.now_ns;
        let Some(app) = self.apps.get_mut(&number) else { return now };
        let mut before = now;
        match app.last {
            None => app.mean_size = size << 8,
            Some(last) => {
                if app.active_until_ns.is_some() {
                    app.period_ns = weigh(app.period_ns, now - last.arrival_ns).max(1000);
                }
                app.mean_size = weigh(app.mean_size, size << 8);
                before = last.due_ns;
            }
        }
        let ahead = before.saturating_sub(now);
        let due_ns = now + (ahead - ahead / 8) + app.period_ns;
        app.last = Some(Last { arrival_ns: now, due_ns });
        app.active_until_ns = Some(now + (8 * app.period_ns).clamp(250 * MS, 2 * SECOND));
        due_ns
    }

    pub(super) fn arrive_bursty(&mut self, number: u32, size: u64) -> u64 {
        let (now, limited) = (self.now_ns, self.is_limited() && self.cmax > 0);
        let Some(app) = self.apps.get_mut(&number) else { return now };
        app.active_until_ns = Some(now + SECOND);
        let last = app.last;
        let mut due_ns = now;
        if limited {
            let left = self.cmax.saturating_sub(self.reserved() + self.cmax / 10).max(self.cmax / 16);
            self.budget = (left / self.active(Class::Bursty).count() as u64).max(16 << 10);
            let pace = (u128::from(SECOND) << 20) / u128::from(self.budget);
            let step = (u128::from(size) * pace) >> 20;
            due_ns = last.map_or(now, |last| last.due_ns + step as u64).clamp(now, now + LATEST_NS);
        }
        let held = self.waiting.iter().filter(|r| r.app == number && r.stage == Stage::Held);
        due_ns = held.map(|r| r.release_ns).fold(due_ns, u64::max);
        if let Some(app) = self.apps.get_mut(&number) {
            app.last = Some(Last { arrival_ns: now, due_ns });
        }
        due_ns
    }
}

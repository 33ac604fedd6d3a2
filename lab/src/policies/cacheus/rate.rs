// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Cacheus' learning rate (section 4.2, algorithm 2): after each period of N requests it goes on in the direction that raised the hit
//! rate, back from one that lowered it, and at random where it did not move; after ten periods that did no good it begins anew, and after a
//! tenth that lowered the hit rate, if that is later. Hit rates are compared to three digits, as in the authors' program.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

const LEAST: f64 = 0.001;

pub(super) struct Rate {
    period: u64,
    first: f64,
    value: f64,
    /// Over the last period, and over the one before.
    current: f64,
    previous: f64,
    previous_hit_rate: f64,
    requests: u64,
    hits: u64,
    idle_periods: u32,
    worse_periods: u32,
}

fn three_digits(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

impl Rate {
    pub(super) fn new(period: u64) -> Self {
        let period = period.max(1);
        let value = (2.0 * 2f64.ln() / period as f64).sqrt();
        Rate {
            period,
            first: value.clamp(LEAST, 1.0),
            value,
            current: value,
            previous: 0.0,
            previous_hit_rate: 0.0,
            requests: 0,
            hits: 0,
            idle_periods: 0,
            worse_periods: 0,
        }
    }

    pub(super) fn value(&self) -> f64 {
        self.value
    }

    pub(super) fn request(&mut self, hit: bool, random: &mut ChaCha8Rng) {
        self.requests += 1;
        self.hits += u64::from(hit);
        if self.requests == self.period {
            self.end_period(random);
            (self.requests, self.hits) = (0, 0);
        }
    }

    fn end_period(&mut self, random: &mut ChaCha8Rng) {
        let hit_rate = three_digits(self.hits as f64 / self.period as f64);
        let gain = three_digits(hit_rate - self.previous_hit_rate);
        let change = three_digits(self.current) - three_digits(self.previous);
        let direction = gain * change;
        if direction != 0.0 {
            let by = (self.value * change).abs();
            self.value = if direction > 0.0 { (self.value + by).min(1.0) } else { (self.value - by).max(LEAST) };
            (self.idle_periods, self.worse_periods) = (0, 0);
        } else if gain < 0.0 || (gain == 0.0 && hit_rate == 0.0) {
            self.idle_periods += 1;
            self.worse_periods += u32::from(gain < 0.0);
            if self.idle_periods >= 10 {
                (self.value, self.idle_periods) = (self.first, 0);
            } else if gain < 0.0 {
                match self.worse_periods {
                    ..10 => self.turn(random),
                    _ => (self.value, self.worse_periods) = (self.first, 0),
                }
            }
        }
        (self.previous, self.current, self.previous_hit_rate) = (self.current, self.value, hit_rate);
    }

    fn turn(&mut self, random: &mut ChaCha8Rng) {
        self.value = match self.value {
            high if high >= 1.0 => 0.9,
            low if low <= LEAST => 0.005,
            value if random.gen::<bool>() => (value * 1.25).min(1.0),
            value => (value * 0.75).max(LEAST),
        };
    }
}

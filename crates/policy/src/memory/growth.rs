// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Growth, by readings over time. Only what goes on counts: what many short-lived processes take and give back does not, nor a program that
//! takes much at once and stays so.

use fovea_apps::Holder;

/// Readings kept of one.
const READINGS: usize = 8;

/// Least time between two of them.
const STEP_NS: u64 = 250_000_000;

/// Older ones say nothing of now.
const WINDOW_NS: u64 = 5_000_000_000;

/// Readings, and time between the first and the last, that growth must have gone on for.
const LEAST_READINGS: usize = 5;
const LEAST_SPAN_NS: u64 = 1_000_000_000;

/// Slower growth is nobody's emergency, however little is left.
pub(crate) const LEAST_BYTES_PER_S: u64 = 4 << 20;

/// Readings that it must have grown in. However far apart they are: memory is not looked at while nobody waits for it.
const LEAST_RUN_READINGS: usize = 4;

/// However little is left, this much is gained by accident.
pub const LEAST_GAINED_BYTES: u64 = 16 << 20;

/// Growth is over when nothing was added for so long. What has a rhythm is over when nothing was added for twice as long as the
/// shorter of its last two pauses: 200 MB every 7 s is growth. What was loaded and stands has no rhythm, nor has it after a second time.
const PAUSE_NS: u64 = 5_000_000_000;

/// What began so short a time ago, and grows now at least half as fast as it has since, has taken all that it has since.
pub const YOUNG_NS: u64 = 120_000_000_000;

/// What a reading may be below an earlier one, or processes below their cgroup, without anything being given back: the kernel adds its counters
/// up now and then.
const NOISE_BYTES: u64 = 1 << 20;

/// What one app or service occupied over the last seconds.
#[derive(Clone, Debug, Default)]
pub struct Growth {
    /// Time and bytes, oldest first.
    readings: [(u64, u64); READINGS],
    length: usize,
    /// The most that was replaced of one of these: when that was read, and bytes.
    replaced: (u64, u64),
    /// When it began with nothing, if that was seen.
    born_ns: Option<u64>,
    run: Run,
    rhythm: Rhythm,
    /// When its largest process began, and what that holds, if it began a short time ago.
    youngest: Option<(u64, u64)>,
    /// The least it had since it began, was first read or was left; `None` before the first reading.
    least_bytes: Option<u64>,
    /// When it last went to the background; 0 if it never has.
    left_ns: u64,
    /// When it came to the front, and what was known then, if it had grown in the background by then.
    before_front: Option<(u64, Box<Growth>)>,
    /// For how long it was in front, if it has left since the newest reading.
    back_after_ns: Option<u64>,
    front: Front,
}

/// What it took in front, between and just before those stays in the background in which it has grown.
#[derive(Clone, Copy, Debug, Default)]
struct Front {
    ns: u64,
    bytes: u64,
    /// It went on growing in the background when it had been in front again.
    goes_on: bool,
}

/// Growth in steps.
#[derive(Clone, Copy, Debug, Default)]
struct Rhythm {
    /// What there was when something was last added, or first read, or when it last gave back.
    had_bytes: Option<u64>,
    /// When something was last added; 0 if nothing was.
    added_ns: u64,
    /// The last two times that nothing was added for more than [`PAUSE_NS`], and then something was.
    pauses_ns: [u64; 2],
}

impl Rhythm {
    fn record(&mut self, now_ns: u64, bytes: u64) {
        let had_bytes = *self.had_bytes.get_or_insert(bytes);
        if bytes.saturating_add(NOISE_BYTES) < had_bytes {
            *self = Rhythm { had_bytes: Some(bytes), ..Rhythm::default() };
        } else if bytes > had_bytes.saturating_add(NOISE_BYTES) {
            let pause_ns = now_ns.saturating_sub(self.added_ns);
            if self.added_ns > 0 && pause_ns > PAUSE_NS {
                self.pauses_ns = [self.pauses_ns[1], pause_ns];
            }
            (self.had_bytes, self.added_ns) = (Some(bytes), now_ns);
        }
    }

    /// For how long nothing may be added before growth is over.
    fn pause_ns(&self) -> u64 {
        let [earlier, later] = self.pauses_ns;
        PAUSE_NS.max(earlier.min(later).saturating_mul(2))
    }
}

/// Growth without a pause, however long.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    readings: usize,
    from: (u64, u64),
    /// The most it had, and when it first had so much.
    top: (u64, u64),
    /// The reading before the newest, however old it is.
    before: (u64, u64),
    /// The most that was replaced of a reading.
    replaced_bytes: u64,
}

impl Growth {
    /// Of what begins now.
    pub fn born(now_ns: u64) -> Growth {
        Growth { born_ns: Some(now_ns), ..Growth::default() }
    }

    /// Adds a reading of what it occupies, compressed memory included: what is compressed has not been given back.
    pub fn record(&mut self, now_ns: u64, bytes: u64) {
        if let Some(front_ns) = self.back_after_ns.take() {
            self.leave_out_front(front_ns, bytes);
        }
        let known = self.known();
        let before = known.last().copied().unwrap_or_default();
        if !known.is_empty() && now_ns.saturating_sub(before.0) < STEP_NS {
            return;
        }
        let old = known.iter().filter(|&&(then_ns, _)| now_ns.saturating_sub(then_ns) > WINDOW_NS).count();
        let gone = old.max((self.length + 1).saturating_sub(READINGS));
        self.readings.copy_within(gone..self.length, 0);
        self.length -= gone;
        self.readings[self.length] = (now_ns, bytes);
        self.length += 1;
        let begins_bytes = if self.born_ns.is_some() { 0 } else { bytes };
        self.least_bytes = Some(self.least_bytes.unwrap_or(begins_bytes).min(bytes));
        let run = &mut self.run;
        let gave_back = bytes + NOISE_BYTES < run.top.1;
        self.rhythm.record(now_ns, bytes);
        let paused = bytes <= run.top.1 && now_ns.saturating_sub(run.top.0) > self.rhythm.pause_ns();
        if run.readings == 0 || gave_back || paused {
            // What follows is no longer what it has taken since it began.
            if run.readings > 0 {
                self.born_ns = None;
                self.front = Front::default();
            }
            *run = Run { from: (now_ns, bytes), top: (now_ns, bytes), ..Run::default() };
        } else {
            run.before = before;
            if bytes > run.top.1 {
                run.top = (now_ns, bytes);
            }
        }
        run.readings += 1;
    }

    fn known(&self) -> &[(u64, u64)] {
        &self.readings[..self.length]
    }

    /// It has come to the front. If it goes back to the background, what it took there before counts on.
    pub fn fronted(&mut self, now_ns: u64) {
        let has_grown = self.run.top.1 > self.run.from.1;
        if self.left_ns > 0 && self.before_front.is_none() && has_grown {
            self.before_front = Some((now_ns, Box::new(self.clone())));
        }
    }

    /// It went to the background at that time. What it took before, its user may have wanted, and while nobody looked its growth may have
    /// ended: from here on only what it takes in the background speaks of a runaway, and what it took there before it came to the front.
    pub fn left(&mut self, at_ns: u64) {
        if at_ns <= self.left_ns {
            return;
        }
        let run = self.run;
        if let Some((fronted_ns, before)) = self.before_front.take() {
            *self = Growth { back_after_ns: Some(at_ns.saturating_sub(fronted_ns)), ..*before };
        } else if run.readings > 0 && run.from.0 < at_ns {
            self.run = Run::default();
            self.born_ns = None;
            self.youngest = None;
            self.least_bytes = None;
            self.rhythm = Rhythm::default();
            let goes_on = at_ns.saturating_sub(run.top.0) <= PAUSE_NS;
            let front = Front { ns: run.top.0 - run.from.0, bytes: run.top.1 - run.from.1, goes_on: false };
            self.front = if goes_on { front } else { Front::default() };
        }
        self.left_ns = at_ns;
    }

    /// Moves all that is known by the time that it was in front and by what it gained since the reading before. Time in the background in
    /// which nothing was gained is a pause as any other, whether somebody looked or not.
    fn leave_out_front(&mut self, front_ns: u64, bytes: u64) {
        let Some(&(_, then_bytes)) = self.known().last() else { return };
        let gained_bytes = bytes.saturating_sub(then_bytes);
        let moved = |reading: &mut (u64, u64)| *reading = (reading.0 + front_ns, reading.1 + gained_bytes);
        self.readings.iter_mut().for_each(moved);
        [&mut self.run.from, &mut self.run.top, &mut self.run.before].into_iter().for_each(moved);
        self.replaced.0 += front_ns;
        self.rhythm.added_ns += if self.rhythm.added_ns > 0 { front_ns } else { 0 };
        self.rhythm.had_bytes = self.rhythm.had_bytes.map(|had_bytes| had_bytes + gained_bytes);
        self.least_bytes = self.least_bytes.map(|least_bytes| least_bytes + gained_bytes);
        // When it began says nothing of what it took since.
        self.born_ns = None;
        self.front.ns += front_ns;
        self.front.bytes = self.front.bytes.saturating_add(gained_bytes);
        self.front.goes_on = true;
    }

    /// Whether it grows so that it may be taken for a runaway: whose growth it is should be known then.
    pub fn is_suspect(&self) -> bool {
        self.bytes_per_s() >= LEAST_BYTES_PER_S || self.gained().is_some_and(|(_, bytes)| bytes >= LEAST_GAINED_BYTES)
    }

    /// Takes off its growth what its processes replace, told who holds what it has now; nothing, where nobody is told.
    ///
    /// Memory is looked at while it is short, and that is when a job of many short-lived processes has the most: by readings alone its peaks
    /// look like growth that goes on. What it gives back between two looks shows by the age of those who hold what it has now. So much may be
    /// there or not whenever somebody looks, and is by itself the difference between two readings.
    pub fn take_off_replaced(&mut self, holders: &[Holder]) {
        if holders.is_empty() {
            return;
        }
        let replaced = |&(then_ns, bytes): &(u64, u64)| {
            let were_there = holders.iter().filter(|holder| holder.started_ns <= then_ns);
            let held_bytes = were_there.fold(0, |sum: u64, holder| sum.saturating_add(holder.bytes));
            let replaced_bytes = bytes.saturating_sub(held_bytes);
            (then_ns, if replaced_bytes > NOISE_BYTES { replaced_bytes } else { 0 })
        };
        self.replaced = self.known().iter().map(replaced).max_by_key(|&(_, bytes)| bytes).unwrap_or_default();
        let run = &mut self.run;
        let known = self.readings[..self.length].iter().filter(|then| then.0 >= run.from.0);
        let of_run = known.chain([&run.from, &run.before]).map(|then| replaced(then).1);
        run.replaced_bytes = of_run.fold(run.replaced_bytes, u64::max);
    }

    /// Takes note of the largest process. Memory is not looked at while nobody waits for it: of a program that has leaked since it began, the
    /// readings tell of the last seconds alone, and others die in those. Not to be told of what was in front: its user may have wanted it.
    pub fn note_largest(&mut self, holders: &[Holder], now_ns: u64) {
        let is_young = |holder: &&Holder| now_ns.saturating_sub(holder.started_ns) < YOUNG_NS;
        let largest = holders.iter().max_by_key(|holder| holder.bytes).filter(is_young);
        self.youngest = largest.map(|holder| (holder.started_ns, holder.bytes));
    }

    /// Since when a young process has grown all its life, and by how much.
    fn gained_since_it_began(&self) -> Option<(u64, u64)> {
        let (started_ns, bytes) = self.youngest?;
        let for_ns = self.known().last()?.0.saturating_sub(started_ns);
        (self.bytes_per_s().saturating_mul(2) >= per_s(bytes, for_ns).max(1)).then_some((started_ns, bytes))
    }

    /// Since when it has grown without a pause, and by how much, where that is no chance.
    ///
    /// What goes on growing in the background each time that it was in front takes memory of its own accord. As much as it took in front at
    /// the pace of the background counts too; what it took faster its user may have wanted.
    pub fn gained(&self) -> Option<(u64, u64)> {
        let read = self.gained_by_readings();
        let since_it_began = self.gained_since_it_began();
        since_it_began.filter(|&(_, bytes)| read.is_none_or(|(_, gained_bytes)| bytes > gained_bytes)).or(read)
    }

    fn gained_by_readings(&self) -> Option<(u64, u64)> {
        let run = &self.run;
        let gained_bytes = (run.top.1 - run.from.1).saturating_sub(run.replaced_bytes);
        if run.readings < LEAST_RUN_READINGS || gained_bytes == 0 {
            return None;
        }
        let (ns, front) = (run.top.0 - run.from.0, self.front);
        if !front.goes_on {
            return Some((run.from.0, gained_bytes));
        }
        let at_pace_bytes = u128::from(per_s(gained_bytes, ns)) * u128::from(front.ns) / 1_000_000_000;
        let front_bytes = front.bytes.min(at_pace_bytes.min(u128::from(u64::MAX)) as u64);
        let front_ns = (u128::from(ns) * u128::from(front_bytes) / u128::from(gained_bytes)).min(u128::from(front.ns));
        Some((run.from.0.saturating_sub(front_ns as u64), gained_bytes.saturating_add(front_bytes)))
    }

    /// What it has now beyond the least it had since it began, was first read or was left, however slowly or in what steps it
    /// came to that.
    pub fn hoarded_bytes(&self) -> u64 {
        let last_bytes = self.known().last().map_or(0, |&(_, bytes)| bytes);
        last_bytes.saturating_sub(self.least_bytes.unwrap_or(last_bytes))
    }

    /// When it began, if that was seen, and nothing speaks against its having grown ever since.
    pub fn born_ns(&self) -> Option<u64> {
        self.born_ns
    }

    /// How fast it grows, if it does all the time; else 0.
    pub fn bytes_per_s(&self) -> u64 {
        let known = self.known();
        let (Some(&(from_ns, from)), Some(&(to_ns, to))) = (known.first(), known.last()) else { return 0 };
        let span_ns = to_ns - from_ns;
        if self.length < LEAST_READINGS || span_ns < LEAST_SPAN_NS {
            return 0;
        }
        let (earlier, later) = known.split_at(self.length / 2);
        let most_before = earlier.iter().map(|&(_, bytes)| bytes).max().unwrap_or(u64::MAX);
        let never_back = later.iter().all(|&(_, bytes)| bytes >= most_before);
        if !never_back || to <= later[0].1 {
            return 0;
        }
        let (replaced_ns, replaced_bytes) = self.replaced;
        let replaced_bytes = if replaced_ns >= from_ns { replaced_bytes } else { 0 };
        per_s((to - from).saturating_sub(replaced_bytes), span_ns)
    }
}

pub(crate) fn per_s(bytes: u64, ns: u64) -> u64 {
    (u128::from(bytes) * 1_000_000_000 / u128::from(ns.max(1))).min(u128::from(u64::MAX)) as u64
}

#[cfg(test)]
#[path = "growth_tests.rs"]
mod tests;

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The same rules as `core/aciom`, the slow and obvious way: one list of waiting requests that every step looks through from its
//! beginning, no sets, no times remembered, everything computed when it is asked for.

mod apps;
mod early;
mod latency;
mod rate;
mod ready;

use std::collections::BTreeMap;

use super::{Class, Config, Counters, Error, Kind, MAX_APPS, MAX_RATE};

/// The longest that a bursty request is held.
pub const LATEST_NS: u64 = SECOND;
/// The longest that time-sensitive apps alone are served.
pub const PATIENCE_NS: u64 = 125 * MS;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;
const PAST: u128 = 249_037;
const WHOLE: u128 = 1 << 18;

/// Where a waiting request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Urgent,
    Sensitive,
    Held,
    /// And how many were ready before.
    Ready(u64),
}

#[derive(Clone, Debug)]
struct Request {
    id: u64,
    app: u32,
    /// Of the app as it was.
    born: Option<u64>,
    class: Class,
    stage: Stage,
    arrival_ns: u64,
    due_ns: u64,
    /// The same, less what its app's earlier ones went ahead of theirs.
    release_ns: u64,
    dispatched_ns: u64,
    size_bytes: u64,
    write: bool,
    counted: bool,
}

impl Request {
    /// Whether it is one of the writes that are bounded.
    fn is_bounded(&self) -> bool {
        self.write && self.stage != Stage::Urgent && self.class != Class::TimeSensitive
    }
}

/// What is known of an app since it has its class.
#[derive(Clone, Debug)]
struct App {
    class: Class,
    /// Different from all others, and from itself in another class.
    born: u64,
    last: Option<Last>,
    /// Until when it counts as active; `None`: it does not.
    active_until_ns: Option<u64>,
    period_ns: u64,
    mean_size: u64,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    arrival_ns: u64,
    due_ns: u64,
}

fn weigh(past: u64, sample: u64) -> u64 {
    ((u128::from(past) * PAST + u128::from(sample) * (WHOLE - PAST)) / WHOLE) as u64
}

impl App {
    fn new(class: Class, born: u64) -> App {
        App { class, born, last: None, active_until_ns: None, period_ns: 125 * MS, mean_size: 0 }
    }

    /// Bytes a second.
    fn bandwidth(&self) -> u64 {
        let per_period = u128::from(self.mean_size) * u128::from(SECOND);
        ((per_period / u128::from(self.period_ns)) >> 8).min(u128::from(MAX_RATE)) as u64
    }
}

/// The model.
#[derive(Clone, Debug)]
pub struct Model {
    config: Config,
    now_ns: u64,
    apps: BTreeMap<u32, App>,
    /// In the order of arrival.
    waiting: Vec<Request>,
    flying: Vec<Request>,
    readied: u64,
    born: u64,
    ready_since_ns: u64,
    writes_since_ns: u64,
    turn_bytes: u64,
    /// Since when reads and writes are ready both: how much went of each.
    ahead: [u64; 2],
    write_turn: bool,
    measures: bool,
    open: bool,
    slack: bool,
    cmax: u64,
    budget: u64,
    window_bytes: u64,
    cut_ns: u64,
    base_ns: [Option<u64>; 2],
    base_epoch_ns: u64,
    /// Of what came here, and of what did not.
    rates: [Rate; 2],
    /// By class, in the order of completion.
    taken_ns: [Vec<u64>; 3],
    counters: Counters,
}

/// Bytes that completed since an epoch began.
#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    epoch_ns: u64,
    bytes: u64,
}

impl Model {
    /// One without apps.
    ///
    /// # Errors
    /// The configuration is out of range.
    pub fn new(config: &Config) -> Result<Model, Error> {
        if config.max_apps > MAX_APPS || config.cmax > MAX_RATE {
            return Err(Error::Invalid);
        }
        let mut model = Model {
            config: *config,
            now_ns: 0,
            apps: BTreeMap::new(),
            waiting: Vec::new(),
            flying: Vec::new(),
            readied: 0,
            born: 0,
            ready_since_ns: 0,
            writes_since_ns: 0,
            turn_bytes: 0,
            ahead: [0; 2],
            write_turn: false,
            measures: config.cmax == 0,
            open: false,
            slack: true,
            cmax: config.cmax,
            budget: 0,
            window_bytes: 128 << 10,
            cut_ns: 0,
            base_ns: [None; 2],
            base_epoch_ns: 0,
            rates: [Rate::default(); 2],
            taken_ns: Default::default(),
            counters: Counters::default(),
        };
        model.window_bytes = model.window_cap().min(model.window_bytes);
        Ok(model)
    }

    fn active(&self, class: Class) -> impl Iterator<Item = &App> {
        self.apps.values().filter(move |app| app.class == class && app.active_until_ns.is_some())
    }

    fn reserved(&self) -> u64 {
        self.active(Class::TimeSensitive).map(App::bandwidth).sum()
    }

    /// Whether there is anything to protect.
    pub fn is_limited(&self) -> bool {
        !self.open && self.active(Class::TimeSensitive).next().is_some()
    }

    fn make_ready(&mut self, at: usize) {
        if !self.has_ready() {
            self.ready_since_ns = self.now_ns;
        }
        if self.waiting[at].write && self.first_ready(true).is_none() {
            self.writes_since_ns = self.now_ns;
        }
        self.waiting[at].stage = Stage::Ready(self.readied);
        self.readied += 1;
    }

    /// All of an app's that waits for its time.
    fn empty(&mut self, app: u32) {
        for at in 0..self.waiting.len() {
            if self.waiting[at].app == app && matches!(self.waiting[at].stage, Stage::Sensitive | Stage::Held) {
                self.make_ready(at);
            }
        }
    }

    fn open_gates(&mut self) {
        if self.is_limited() {
            return;
        }
        let mut apps: Vec<u32> = self.waiting.iter().filter(|r| r.stage == Stage::Held).map(|r| r.app).collect();
        apps.sort_unstable();
        apps.into_iter().for_each(|app| self.empty(app));
    }

    fn expire(&mut self, class: Class, stay_ns: u64) {
        for number in self.apps.keys().copied().collect::<Vec<_>>() {
            let now = self.now_ns;
            let has = |r: &Request| r.app == number && matches!(r.stage, Stage::Sensitive | Stage::Held);
            let mut waits = self.waiting.iter().any(has);
            let Some(app) = self.apps.get_mut(&number).filter(|app| app.class == class) else { continue };
            waits |= self.flying.iter().any(|r| r.born == Some(app.born));
            if app.active_until_ns.is_some_and(|until| until <= now) {
                app.active_until_ns = waits.then_some(now + stay_ns);
                self.open_gates();
            }
        }
    }

    /// Of each app's first, the one that is due first.
    fn first(&self, stage: Stage) -> Option<usize> {
        let is_first = |at: usize| {
            let same = |r: &Request| r.stage == stage && r.app == self.waiting[at].app;
            self.waiting.iter().position(same) == Some(at)
        };
        (0..self.waiting.len())
            .filter(|&at| self.waiting[at].stage == stage && is_first(at))
            .min_by_key(|&at| (self.waiting[at].release_ns, self.waiting[at].app, at))
    }

    fn tick(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        self.expire(Class::TimeSensitive, 250 * MS);
        self.expire(Class::Bursty, SECOND);
        while let Some(at) = self.first(Stage::Held).filter(|&at| self.waiting[at].release_ns <= self.now_ns) {
            self.make_ready(at);
        }
    }

    /// Says how many requests of one app are held at most.
    pub fn set_hold(&mut self, hold_limit: u32, now_ns: u64) {
        self.tick(now_ns);
        self.config.hold_limit = hold_limit;
        for app in self.apps.keys().copied().collect::<Vec<_>>() {
            let held = |r: &Request| r.app == app && r.stage == Stage::Held;
            while self.waiting.iter().filter(|r| held(r)).count() as u64 > u64::from(hold_limit) {
                let oldest = self.waiting.iter().position(held).unwrap_or(0);
                self.make_ready(oldest);
            }
        }
    }

    /// Holds nothing from now on, or again.
    pub fn set_open(&mut self, open: bool, now_ns: u64) {
        self.tick(now_ns);
        self.open = open;
        self.open_gates();
    }

    /// A request arrives; returns when it is due.
    pub fn enqueue(&mut self, id: u64, app: u32, size_bytes: u32, kind: Kind, now_ns: u64) -> u64 {
        self.tick(now_ns);
        let size_bytes = u64::from(size_bytes).min(1 << 25);
        let class = self.apps.get(&app).map_or(Class::Plain, |app| app.class);
        let due_ns = match class {
            Class::Plain => self.now_ns,
            Class::TimeSensitive => self.arrive_sensitive(app, size_bytes),
            Class::Bursty => self.arrive_bursty(app, size_bytes),
        };
        let stage = match class {
            _ if kind.urgent => Stage::Urgent,
            Class::TimeSensitive => Stage::Sensitive,
            _ => Stage::Held,
        };
        let arrival_ns = self.now_ns;
        let born = self.apps.get(&app).map(|app| app.born);
        self.waiting.push(Request {
            id,
            app,
            born,
            class,
            stage,
            arrival_ns,
            due_ns,
            release_ns: due_ns,
            dispatched_ns: 0,
            size_bytes,
            write: kind.write,
            counted: false,
        });
        self.counters.arrived += 1;
        self.counters.urgent += u64::from(kind.urgent);
        self.counters.throttled += u64::from(kind.throttled);
        if stage == Stage::Held && due_ns <= self.now_ns {
            self.make_ready(self.waiting.len() - 1);
        } else if stage == Stage::Held {
            self.counters.held += 1;
            let held = |r: &&Request| r.app == app && r.stage == Stage::Held;
            if self.waiting.iter().filter(held).count() as u64 > u64::from(self.config.hold_limit) {
                let oldest = self.waiting.iter().position(|r| held(&r)).unwrap_or(0);
                self.make_ready(oldest);
            }
        }
        due_ns
    }

    fn in_flight_bytes(&self) -> u64 {
        self.flying.iter().map(|r| r.size_bytes).sum()
    }

    fn take(&mut self, at: usize) -> (u64, u64) {
        let mut request = self.waiting.remove(at);
        request.dispatched_ns = self.now_ns;
        request.counted = request.stage == Stage::Sensitive;
        match request.class {
            Class::Plain => self.counters.plain += 1,
            Class::TimeSensitive => self.counters.time_sensitive += 1,
            Class::Bursty => self.counters.bursty += 1,
        }
        if matches!(request.stage, Stage::Ready(_)) {
            self.leave_ready(&request);
        }
        let answer = (request.id, request.due_ns);
        self.flying.push(request);
        answer
    }

    /// The request that is to go now, and when it was due.
    pub fn dispatch(&mut self, now_ns: u64) -> Option<(u64, u64)> {
        self.tick(now_ns);
        if let Some(at) = self.waiting.iter().position(|r| r.stage == Stage::Urgent) {
            return Some(self.take(at));
        }
        let limited = self.is_limited();
        let ready = self.next_ready();
        let sensitive = self.first(Stage::Sensitive);
        let waited = self.now_ns - self.ready_since_ns >= PATIENCE_NS;
        match (ready, sensitive) {
            (Some(at), _) if limited && (self.turn_bytes > 0 || waited) => {
                if self.turn_bytes == 0 {
                    self.turn_bytes = (self.cmax / 128).max(1);
                }
                self.turn_bytes = self.turn_bytes.saturating_sub(self.waiting[at].size_bytes.max(1));
                self.counters.turns += 1;
                Some(self.take(at))
            }
            (_, Some(at)) => {
                let bytes: u64 = self.flying.iter().filter(|r| r.counted).map(|r| r.size_bytes).sum();
                let cap = (self.cmax / 64).max(2 * self.pipe_bytes());
                let full = limited && self.cmax > 0 && bytes > 0 && bytes >= cap;
                (!full).then(|| self.take(at))
            }
            (Some(at), None) => {
                let bytes = self.in_flight_bytes();
                let full = limited && bytes > 0 && bytes >= self.window_bytes;
                (!full).then(|| self.take(at))
            }
            (None, None) => self.early().map(|at| self.take_early(at)),
        }
    }

    /// When the first held request is due.
    pub fn next_release_ns(&self) -> Option<u64> {
        self.first(Stage::Held).map(|at| self.waiting[at].release_ns)
    }

    /// Requests that wait, by number, and since when; whether each is held.
    pub fn waiting(&self) -> impl Iterator<Item = (u64, u64, bool)> + '_ {
        self.waiting.iter().map(|r| (r.id, r.arrival_ns, r.stage == Stage::Held))
    }

    /// The counters at this moment.
    pub fn counters(&self) -> Counters {
        Counters {
            latency: std::array::from_fn(|class| self.latency(class)),
            queued: self.waiting.len() as u64,
            queued_write_bytes: self.write_bytes(false) + self.write_bytes(true),
            in_flight: self.flying.len() as u64,
            in_flight_bytes: self.in_flight_bytes(),
            window_bytes: self.window_bytes,
            cmax: self.cmax,
            reserved: self.reserved(),
            budget: self.budget,
            active_time_sensitive: self.active(Class::TimeSensitive).count() as u64,
            active_bursty: self.active(Class::Bursty).count() as u64,
            ..self.counters
        }
    }
}

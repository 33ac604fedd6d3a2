// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Fast memory is kept for the app in front: the kernel moves what is used there (hint faults), and is told whose pages go to slow memory.

mod kernel;

use std::collections::BTreeMap;

use fovea_apps::{AppName, MemoryNode, MemoryTiers, PAGE_BYTES};
use fovea_client::Status;
use fovea_linux::{Device, Error, TierSetting};
use fovea_policy::tier::{self, AppTier, Budget, TierState};
use fovea_policy::{Action, Config, Decision, Reason, Snapshot};
use serde_json::{json, Value};

use super::engine_state::EngineState;
use super::mechanism::{About, Event, Mechanism, Need, Turn};
use super::step::Step;
use kernel::{keep_out, let_in, set};

const BALANCING: &str = "kernel/numa_balancing";
const PROMOTED: &str = "kernel/numa_balancing_promote_rate_limit_MBps";

/// `numa_balancing`: pages that are used go to the CPU's node, and to fast memory.
const NORMAL: u64 = 1;
const TIERING: u64 = 2;

/// From one look to the next while something changes, and at most: after each that finds nothing to do it is twice as long.
const LOOK_NS: [u64; 2] = [250_000_000, 8_000_000_000];

/// An app of which no page was unused for long is not asked for more before.
const HOT_NS: u64 = 8_000_000_000;

/// What keeping an app out took at the most, however often it did not last: it is let in again after so long.
const STEER_MOST_NS: u64 = 600_000_000_000;

#[derive(Debug, Default)]
pub(super) struct Tier {
    /// There is memory of two speeds, and moving pages is not somebody else's.
    tiers: Option<MemoryTiers>,
    state: TierState,
    budget: Option<Budget>,
    apps: BTreeMap<AppName, AppTier>,
    /// Since when apps are in the background, and the pages that they had of all memory then, or when they were kept out.
    had: BTreeMap<AppName, (u64, u64)>,
    look_interval_ns: u64,
    /// For how long who is kept out stays so, at least.
    steer_ns: u64,
    /// Whom fast memory was free for last.
    let_in: Option<AppName>,
    /// The kernel does not tell what is unused.
    is_blind: bool,
    demoted_pages: u64,
    /// The kernel was told not to move what is used, after it was told to.
    is_off: bool,
}

impl Tier {
    fn is_anyone_steered(&self) -> bool {
        self.apps.values().any(|app| app.steered)
    }

    fn look_soon(&mut self) {
        self.look_interval_ns = LOOK_NS[0];
        self.state.look_ns = 0;
    }

    /// Has the kernel promote what is used and demote what is not. What was set before is written down.
    fn begin<D: Device>(&mut self, shared: &mut EngineState<D>, tiers: MemoryTiers, now_ns: u64) {
        let balancing = shared.device.sysctl(BALANCING).ok().and_then(|text| text.parse::<u64>().ok());
        let Some(balancing) = balancing.filter(|&mode| mode != 0) else {
            // Who switched it off meant it; without it nothing that is used would come into fast memory.
            shared.lacks(
                now_ns,
                "keeping fast memory for the app in front: kernel.numa_balancing is 0 or missing".into(),
            );
            return;
        };
        let config = shared.policy.tier.clone();
        // Between several fast nodes pages go on being moved to the CPU that uses them.
        let mode = TIERING | if tiers.fast.len() > 1 { balancing & NORMAL } else { 0 };
        shared.set_sysctl(BALANCING, &mode.to_string());
        shared.set_sysctl(PROMOTED, &((config.pages_per_s * PAGE_BYTES) >> 20).max(1).to_string());
        set(shared, TierSetting::Demotion, "true");
        let period_ms = config.scan_period_ms.to_string();
        set(shared, TierSetting::ScanPeriod, &period_ms);
        // The first look is no later than the others: an app that has just started would use a second of its CPU time with what it uses in slow memory.
        set(shared, TierSetting::ScanDelay, &period_ms);
        // In the background an app uses little, and the kernel would look at it ever less often, up to once a minute of its CPU time: once it is in front,
        // nothing that it uses would be known for as long. What looking takes the kernel itself keeps below 3 % of the app's time.
        set(shared, TierSetting::ScanPeriodMax, &period_ms);
        // With the kernel's own second, what the app in front uses less often than that would stay in slow memory.
        set(shared, TierSetting::HotThreshold, &config.hot_threshold_ms.to_string());
        self.budget = Some(Budget::new(config.pages_per_s, config.batch_pages, now_ns));
        self.steer_ns = config.steer_ms * 1_000_000;
        shared.write(now_ns, "tiers", None, None, json!({ "fast": tiers.fast, "slow": tiers.slow }));
        self.tiers = Some(tiers);
        self.look_soon();
    }

    /// Whether the kernel goes on moving what is used. Who switched that off meant it: what went to slow memory would stay there.
    fn still_moves<D: Device>(&mut self, shared: &mut EngineState<D>, now_ns: u64) -> Result<bool, Error> {
        let mode = shared.device.sysctl(BALANCING)?;
        let moves = mode.parse::<u64>().is_ok_and(|mode| mode & TIERING != 0);
        if self.is_off == moves {
            self.is_off = !moves;
            let how = if moves { "goes on" } else { "rests" };
            say!("fovea: keeping fast memory for the app in front {how}: kernel.numa_balancing is {mode}");
            shared.write(now_ns, "tiers", None, None, json!({ "numa_balancing": mode }));
        }
        Ok(moves)
    }

    /// Reads what is free; says whether there are two kinds of memory still, and the kernel moves pages between them.
    fn read<D: Device>(&mut self, shared: &mut EngineState<D>, now_ns: u64) -> Result<bool, Error> {
        let nodes = shared.device.memory_nodes()?;
        // Memory may have been taken away, or added.
        self.tiers = if self.still_moves(shared, now_ns)? { MemoryTiers::of(&nodes) } else { None };
        let Some(tiers) = &self.tiers else {
            (self.state.fast_pages, self.state.demoting) = (0, false);
            return Ok(false);
        };
        let sum = |fast: bool, of: fn(&MemoryNode) -> u64| -> u64 {
            nodes.iter().filter(|node| tiers.fast.contains(&node.node) == fast).map(of).sum::<u64>() / PAGE_BYTES
        };
        let free = |node: &MemoryNode| node.free_bytes.saturating_sub(node.kept_bytes);
        self.state.fast_pages = sum(true, |node| node.total_bytes);
        self.state.slow_pages = sum(false, |node| node.total_bytes);
        (self.state.fast_free_pages, self.state.slow_free_pages) = (sum(true, free), sum(false, free));
        Ok(true)
    }

    /// Reads what apps have of fast memory.
    fn read_apps<D: Device>(&mut self, shared: &mut EngineState<D>) -> Result<(), Error> {
        let Some(tiers) = &self.tiers else { return Ok(()) };
        for app in shared.registry.iter() {
            let nodes = shared.device.node_bytes(&app.cgroup)?;
            let bytes: u64 = nodes.iter().filter(|(node, _)| tiers.fast.contains(node)).map(|(_, bytes)| bytes).sum();
            let known = self.apps.entry(app.name.clone()).or_default();
            known.fast_pages = bytes / PAGE_BYTES;
            let pages = nodes.values().fold(0u64, |sum, &bytes| sum.saturating_add(bytes)) / PAGE_BYTES;
            let since_ns = shared.apps.get(&app.name).map_or(0, |known| known.background_since_ns);
            let had = self.had.entry(app.name.clone()).or_insert((since_ns, pages));
            // What it took in front is nothing against it, whether or not anybody looked meanwhile; and what it gives back it may take again.
            *had = (since_ns, if had.0 == since_ns { pages.min(had.1) } else { pages });
            known.grown_pages = pages - had.1;
            if !known.steered {
                // What the owner, or another daemon, has said of its nodes holds.
                known.foreign = shared.device.allowed_nodes(&app.cgroup)?.is_some_and(|nodes| !nodes.is_empty());
            }
        }
        Ok(())
    }

    fn try_observe<D: Device>(&mut self, shared: &mut EngineState<D>, now_ns: u64) -> Result<(), Error> {
        // Who may have no other memory than slow memory is looked after whenever somebody waits for memory.
        let is_due =
            now_ns >= self.state.look_ns || self.state.demoting || (shared.psi_fired && self.is_anyone_steered());
        if !shared.attention.screen_on || !is_due {
            return Ok(());
        }
        if !self.read(shared, now_ns)? {
            self.state.look_ns = now_ns.saturating_add(LOOK_NS[1]);
            return Ok(());
        }
        if let Some(budget) = &self.budget {
            self.state.budget_pages = budget.pages(now_ns);
        }
        let mut snapshot = shared.snapshot(now_ns);
        <Self as Mechanism<D>>::describe(self, &mut snapshot);
        if self.state.demoting || tier::may_be_short(&snapshot, &shared.policy.tier) {
            self.read_apps(shared)?;
            <Self as Mechanism<D>>::describe(self, &mut snapshot);
        }
        let reserve = tier::reserve_pages(&snapshot, &shared.policy.tier);
        let enough = if self.state.demoting { reserve + reserve / 2 } else { reserve };
        self.state.demoting = self.state.fast_free_pages < enough;
        if now_ns >= self.state.look_ns {
            self.state.look_ns = now_ns.saturating_add(self.look_interval_ns);
            if !tier::is_settling(&snapshot) {
                self.look_interval_ns = (2 * self.look_interval_ns).min(LOOK_NS[1]);
            }
        }
        Ok(())
    }

    fn demote<D: Device>(&mut self, shared: &mut EngineState<D>, name: &AppName, pages: u64, now_ns: u64) -> Value {
        let (Some(tiers), Some(cgroup)) = (&self.tiers, cgroup_of(shared, name)) else { return Value::Null };
        let outcome = match shared.device.demote(&cgroup, &tiers.fast, pages, shared.policy.tier.unused_ms) {
            Ok(outcome) => outcome,
            Err(e) => {
                if !std::mem::replace(&mut self.is_blind, true) {
                    shared.lacks(now_ns, format!("making room in fast memory ahead of need: {e}"));
                }
                // Asking again at once would only fail again.
                self.state.rests_until_ns = now_ns + LOOK_NS[1];
                return json!({ "error": e.to_string() });
            }
        };
        if let Some(budget) = &mut self.budget {
            budget.spend(outcome.pages, now_ns);
        }
        self.demoted_pages += outcome.pages;
        let known = self.apps.entry(name.clone()).or_default();
        known.fast_pages = known.fast_pages.saturating_sub(outcome.pages);
        match outcome.pages {
            // Where nothing was old enough, there has to be time for that; the next in turn may have something.
            0 => known.hot_until_ns = now_ns + HOT_NS,
            _ => self.look_interval_ns = LOOK_NS[0],
        }
        let share = shared.policy.tier.cpu_percent;
        let rest_ns = outcome.cpu_ns * (100 - share) / share;
        self.state.rests_until_ns = now_ns.saturating_add(rest_ns);
        json!(outcome)
    }

    fn keep_out<D: Device>(&mut self, shared: &mut EngineState<D>, name: &AppName, now_ns: u64) -> Value {
        let (Some(tiers), Some(cgroup)) = (self.tiers.clone(), cgroup_of(shared, name)) else { return Value::Null };
        let done = keep_out(shared, &cgroup, &tiers);
        let known = self.apps.entry(name.clone()).or_default();
        match done {
            Ok(true) => {
                known.steered = true;
                // What it takes from now on is counted.
                if let Some((_, pages)) = self.had.get_mut(name) {
                    *pages = pages.saturating_add(std::mem::take(&mut known.grown_pages));
                }
                self.look_interval_ns = LOOK_NS[0];
                // One that was let in, and had to go at once, is let in later than the last time.
                self.steer_ns = match self.let_in.take() {
                    Some(last) if last == *name => (2 * self.steer_ns).min(STEER_MOST_NS),
                    _ => self.steer_ns,
                };
                self.state.release_ns = now_ns.saturating_add(self.steer_ns);
                json!({ "nodes": tiers.slow })
            }
            Ok(false) => {
                known.foreign = true;
                Value::Null
            }
            Err(e) => {
                known.foreign = true;
                say!("fovea: {e}: {name} goes on having fast memory");
                json!({ "error": e.to_string() })
            }
        }
    }

    fn let_in<D: Device>(&mut self, shared: &mut EngineState<D>, name: &AppName, reason: Reason, now_ns: u64) -> Value {
        if let Some(known) = self.apps.get_mut(name) {
            known.steered = false;
        }
        let Some(cgroup) = cgroup_of(shared, name) else { return Value::Null };
        if matches!(reason, Reason::FastFree | Reason::GrowsNoMore) {
            self.let_in = Some(name.clone());
            self.state.release_ns = now_ns.saturating_add(self.steer_ns);
        }
        match let_in(shared, &cgroup) {
            Ok(()) => Value::Null,
            Err(e) => {
                say!("fovea: {e}");
                json!({ "error": e.to_string() })
            }
        }
    }
}

fn cgroup_of<D: Device>(shared: &EngineState<D>, name: &AppName) -> Option<String> {
    shared.registry.get(name).map(|app| app.cgroup.clone())
}

impl<D: Device> Mechanism<D> for Tier {
    fn about(&self) -> About {
        const NEEDS: [Need; 1] =
            [Need::shown("tiers", "fast memory for the app in front, where there is memory of two speeds")];
        About { name: "tier", needs: &NEEDS }
    }

    fn set_up(&mut self, shared: &mut EngineState<D>, now_ns: u64) -> Result<(), Error> {
        let nodes = shared.device.memory_nodes().unwrap_or_default();
        match MemoryTiers::of(&nodes) {
            // `fovea check` says so: with HBM beside the CPUs' own memory the kernel would promote nothing.
            Some(tiers) if shared.policy.tier.enabled && tiers.are_promoted_to(&nodes) => {
                self.begin(shared, tiers, now_ns)
            }
            _ => {}
        }
        Ok(())
    }

    fn on(&mut self, shared: &mut EngineState<D>, event: Event, _now_ns: u64) {
        match event {
            Event::Came(_) | Event::Fronted(_) => self.look_soon(),
            // Its cgroup may stay, and be its next start's.
            Event::Gone(app) | Event::Undo(app) => {
                self.had.remove(&app.name);
                if self.apps.remove(&app.name).is_some_and(|known| known.steered) {
                    let_in(shared, &app.cgroup).unwrap_or_else(|e| say!("fovea: {e}"));
                }
            }
            _ => {}
        }
    }

    fn at_once(&self, snapshot: &Snapshot, config: &Config) -> Decision {
        tier::let_in(snapshot, &config.tier)
    }

    fn observe(&mut self, shared: &mut EngineState<D>, now_ns: u64) -> Result<(), Error> {
        if self.budget.is_none() || !shared.policy.tier.enabled {
            return Ok(());
        }
        // Memory must be looked after though this cannot.
        if let Err(e) = self.try_observe(shared, now_ns) {
            say!("fovea: {e}: nobody is moved between fast and slow memory meanwhile");
            (self.state.fast_pages, self.state.demoting) = (0, false);
            self.state.look_ns = now_ns.saturating_add(LOOK_NS[1]);
        }
        Ok(())
    }

    fn describe(&self, snapshot: &mut Snapshot) {
        if self.budget.is_none() {
            return;
        }
        snapshot.tier = self.state;
        for app in &mut snapshot.apps {
            app.tier = Some(self.apps.get(&app.name).copied().unwrap_or_default());
        }
    }

    fn decide(&self, snapshot: &Snapshot, config: &Config) -> Decision {
        tier::decide(snapshot, &config.tier)
    }

    fn perform(&mut self, shared: &mut EngineState<D>, step: &Step, _turn: &mut Turn) -> bool {
        let now_ns = step.snapshot.now_ns;
        let outcome = match step.action {
            Action::Demote { app, pages } => self.demote(shared, app, *pages, now_ns),
            Action::KeepOut { app } => self.keep_out(shared, app, now_ns),
            Action::LetIn { app } => self.let_in(shared, app, step.reason, now_ns),
            _ => return false,
        };
        shared.journal_step(step, outcome);
        true
    }

    fn report(&self, status: &mut Status, _now_ns: u64) {
        status.tiers = self.tiers.as_ref().filter(|_| self.budget.is_some()).map(|_| fovea_client::Tiers {
            fast_bytes: self.state.fast_pages * PAGE_BYTES,
            fast_free_bytes: self.state.fast_free_pages * PAGE_BYTES,
            kept_out: self.apps.values().filter(|app| app.steered).count(),
            demoted_bytes: self.demoted_pages * PAGE_BYTES,
        });
    }
}

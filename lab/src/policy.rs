// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a cache policy is, and the registry of all of them.
//!
//! Each file of `src/policies/` is one policy: it has a type that implements [`Policy`] and `pub static POLICY: Descriptor`.
//! The build lists the files, so adding a file is all it takes to see a policy in every comparison.

mod aged;
mod drawn;
mod external;
mod hooks;
mod pipe;
mod places;
mod ranked;
mod table;

pub use aged::Aged;
pub use drawn::Drawn;
pub use external::{Program, NAME as EXTERNAL};
pub use hooks::{Hooks, PARAMETERS as HOOKS};
pub use ranked::{Rank, Ranked};
pub use table::{Slot, Table, ABSENT};

use std::sync::Arc;

use crate::{Error, Result, Stop};

#[allow(missing_docs)]
mod registry {
    include!(concat!(env!("OUT_DIR"), "/policies.rs"));
}

pub use registry::*;

/// One request, as a policy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The object's dense number.
    pub id: u32,
    /// What it weighs in the capacity's unit: 1 by objects, its bytes by bytes. At least 1 and at most [`MOST_BYTES`].
    pub size: u64,
    /// Requests until the next one for the same object, [`NEVER`] if there is none. Only for policies that know the future.
    pub next_distance: u32,
    /// When, in ns of the trace's clock. Only for what expires by the clock; else 0.
    pub time_ns: u64,
}

/// The largest object that can be replayed: 256 TiB.
pub const MOST_BYTES: u64 = (1 << 48) - 1;

/// No further request for the object.
pub const NEVER: u32 = u32::MAX;

/// Requests in columns; those that a replay does not need are absent.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// Dense object numbers.
    pub ids: &'a [u32],
    /// Weights; absent if every request weighs 1.
    pub sizes: Option<&'a [u64]>,
    /// Distances to the next request for the same object.
    pub next_distances: Option<&'a [u32]>,
    /// Times.
    pub times_ns: Option<&'a [u64]>,
}

/// What came of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests served from the cache.
    pub hits: u64,
    /// Weight of those.
    pub hit_weight: u64,
}

/// A cache of limited capacity.
pub trait Policy: Send {
    /// Announces that ids below `ids` will be used. Called before any such id is; memory is taken here and not per request.
    fn ensure_ids(&mut self, ids: u32);

    /// Serves a request and says whether it was a hit. An object that is too large is not kept.
    fn access(&mut self, request: Request) -> bool;

    /// Weight of what is in the cache.
    fn used(&self) -> u64;

    /// Whether the object is in the cache.
    fn contains(&self, id: u32) -> bool;

    /// Why what it served last counts for nothing, if it could not serve it: one that is a [`Program`] may end or break its word.
    fn failure(&self) -> Option<&str> {
        None
    }

    /// Serves requests in order. A provided method, so that each policy's own `access` is compiled into the loop.
    fn run(&mut self, batch: Batch<'_>) -> Tally {
        let mut tally = Tally::default();
        match (batch.sizes, batch.next_distances, batch.times_ns) {
            (None, None, None) => {
                for &id in batch.ids {
                    tally.hits += u64::from(self.access(Request { id, size: 1, next_distance: NEVER, time_ns: 0 }));
                }
                tally.hit_weight = tally.hits;
            }
            (sizes, next, times) => {
                for (at, &id) in batch.ids.iter().enumerate() {
                    let size = sizes.map_or(1, |s| s[at]);
                    let (next_distance, time_ns) = (next.map_or(NEVER, |n| n[at]), times.map_or(0, |t| t[at]));
                    let hit = self.access(Request { id, size, next_distance, time_ns });
                    tally.hits += u64::from(hit);
                    tally.hit_weight += if hit { size } else { 0 };
                }
            }
        }
        tally
    }
}

/// A number that tunes a policy.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Used unless told otherwise.
    pub default: f64,
    /// Least value.
    pub least: f64,
    /// Greatest value.
    pub greatest: f64,
    /// What it does.
    pub meaning: &'static str,
}

/// A policy as the registry lists it.
pub struct Descriptor {
    /// Its name on the command line.
    pub name: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// What tunes it.
    pub parameters: &'static [Parameter],
    /// Whether it must be told the future.
    pub needs_future: bool,
    /// Memory per distinct object of the trace.
    pub bytes_per_object: usize,
    /// Makes an empty cache. The parameters are in the order of `parameters`.
    pub build: fn(capacity: u64, parameters: &[f64]) -> Box<dyn Policy>,
}

/// A policy and its parameters, as asked for: `lru`, `s3-fifo:small=0.2:ghost=0.5:ttl=1000`.
#[derive(Clone)]
pub struct Choice {
    /// The policy.
    pub policy: &'static Descriptor,
    /// Values in the order of the policy's parameters.
    pub parameters: Vec<f64>,
    /// What stands before it.
    pub hooks: Hooks,
    /// What serves in place of the registry's policy.
    pub program: Option<Arc<Program>>,
}

impl Choice {
    /// The value of one of its parameters, if it has that.
    pub fn parameter(&self, name: &str) -> Option<f64> {
        let at = self.policy.parameters.iter().position(|p| p.name == name)?;
        self.parameters.get(at).copied()
    }

    /// What decides what it draws, or what is let in; nothing if neither draws.
    pub fn seed(&self) -> Option<f64> {
        self.parameter(Drawn::SEED.name).or_else(|| self.hooks.seed())
    }

    /// The same with another seed; nothing if nothing is drawn.
    pub fn with_seed(&self, seed: f64) -> Option<Choice> {
        self.seed()?;
        let mut other = self.clone();
        let own = self.policy.parameters.iter().position(|p| p.name == Drawn::SEED.name);
        match own.and_then(|at| other.parameters.get_mut(at)) {
            Some(value) => *value = seed,
            None => other.hooks.set_seed(seed),
        }
        Some(other)
    }

    /// An empty cache of that capacity.
    pub fn build(&self, capacity: u64) -> Box<dyn Policy> {
        self.build_until(capacity, &Stop::default())
    }

    /// The same, and where it waits for a program, a wish to stop ends that.
    pub fn build_until(&self, capacity: u64, stop: &Stop) -> Box<dyn Policy> {
        self.hooks.before(match &self.program {
            Some(program) => program.build(capacity, stop),
            None => (self.policy.build)(capacity, &self.parameters),
        })
    }

    /// Whether requests must have times.
    pub fn needs_times(&self) -> bool {
        self.hooks.needs_times() || self.program.as_ref().is_some_and(|program| program.needs_times())
    }
}

impl Choice {
    /// Of `external:PATH:name=value…`, given what stands behind the first colon. What is no parameter of every policy is the program's.
    fn external<'a>(text: &str, mut parts: impl Iterator<Item = &'a str>) -> Result<Choice> {
        let wrong = |what: String| Error::Usage(format!("policy {text:?}: {what}"));
        let name = parts.next().unwrap_or_default();
        let (mut own, mut hooks) = (Vec::new(), Hooks::default());
        for part in parts {
            let no_parameter =
                || wrong(format!("{part:?} is no parameter; write name=value behind the program's path"));
            let (key, value) = part.split_once('=').ok_or_else(no_parameter)?;
            match HOOKS.iter().position(|p| p.name == key) {
                Some(at) => hooks.set(at, HOOKS[at].value(value, true).map_err(wrong)?).map_err(wrong)?,
                None => own.push((key.to_owned(), value.to_owned())),
            }
        }
        let program = Some(Arc::new(Program::new(name, own)?));
        Ok(Choice { policy: &external::DESCRIPTOR, parameters: Vec::new(), hooks, program })
    }
}

impl Parameter {
    /// What the text says; a hook's default, out of its range, says that there is none.
    fn value(&self, text: &str, hook: bool) -> Result<f64, String> {
        let Parameter { name, default, least, greatest, .. } = self;
        let value = text.parse().ok().filter(|v| (least..=greatest).contains(&v) || (hook && v == default));
        value.ok_or_else(|| format!("{name} is {text:?}; take a number from {least} to {greatest}"))
    }
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.program {
            Some(program) => program.fmt(f)?,
            None => f.write_str(self.policy.name)?,
        }
        for (parameter, &value) in self.policy.parameters.iter().zip(&self.parameters) {
            if value != parameter.default {
                write!(f, ":{}={value}", parameter.name)?;
            }
        }
        for (name, value) in self.hooks.named() {
            write!(f, ":{name}={value}")?;
        }
        Ok(())
    }
}

impl std::str::FromStr for Choice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.trim().split(':');
        let name = parts.next().unwrap_or_default();
        if name == EXTERNAL {
            return Choice::external(text, parts);
        }
        let Some(policy) = ALL.iter().find(|p| p.name.eq_ignore_ascii_case(name)) else {
            let known: Vec<_> = ALL.iter().map(|p| p.name).collect();
            return Err(Error::Usage(format!(
                "policy {name:?}: not known; take one of {}, or {EXTERNAL}:PROGRAM",
                known.join(", ")
            )));
        };
        let mut parameters: Vec<f64> = policy.parameters.iter().map(|p| p.default).collect();
        let mut hooks = Hooks::default();
        for part in parts {
            let wrong = |what: String| Error::Usage(format!("policy {text:?}: {what}"));
            let known = || {
                let own: Vec<_> = policy.parameters.iter().map(|p| format!("{}={}", p.name, p.default)).collect();
                let own = if own.is_empty() { "none of its own".to_owned() } else { own.join(", ") };
                format!("it has {own}, and as every policy {}", HOOKS.map(|p| p.name).join(", "))
            };
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| wrong(format!("{part:?} is no parameter; write name=number, {}", known())))?;
            let at = |known: &[Parameter]| known.iter().position(|p| p.name == key);
            let (own, hook) = (at(policy.parameters), at(&HOOKS));
            let Some(parameter) = own.map(|at| &policy.parameters[at]).or(hook.map(|at| &HOOKS[at])) else {
                return Err(wrong(format!("no parameter {key:?}; {}", known())));
            };
            let value = parameter.value(value, own.is_none()).map_err(wrong)?;
            match (own, hook) {
                (Some(at), _) => parameters[at] = value,
                (None, hook) => hooks.set(hook.unwrap_or_default(), value).map_err(wrong)?,
            }
        }
        Ok(Choice { policy, parameters, hooks, program: None })
    }
}

/// Every policy with its default parameters.
pub fn all() -> Vec<Choice> {
    let with_defaults = |&policy: &&'static Descriptor| Choice {
        policy,
        parameters: policy.parameters.iter().map(|p| p.default).collect(),
        hooks: Hooks::default(),
        program: None,
    };
    ALL.iter().map(with_defaults).collect()
}

/// The share of a capacity, at least one unit.
pub(crate) fn share(capacity: u64, ratio: f64) -> u64 {
    ((capacity as f64 * ratio) as u64).clamp(1, capacity.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_policy_is_answered_with_the_known_ones() {
        let error = "lruu".parse::<Choice>().err().unwrap().to_string();
        assert!(error.starts_with("policy \"lruu\": not known; take one of "), "{error}");
        for policy in ALL {
            assert!(error.contains(policy.name));
        }
    }

    #[test]
    fn parameters_are_checked() {
        assert_eq!("s3-fifo:small=0.2".parse::<Choice>().unwrap().to_string(), "s3-fifo:small=0.2");
        assert_eq!("s3-fifo:small=0.1:fill=0".parse::<Choice>().unwrap().to_string(), "s3-fifo");
        let hooked = "s3-fifo:ttl=50:small=0.2:admit-probability=0.5";
        assert_eq!(hooked.parse::<Choice>().unwrap().to_string(), "s3-fifo:small=0.2:ttl=50:admit-probability=0.5");
        assert_eq!("lru:ttl-s=0.5:ttl=9".parse::<Choice>().unwrap().to_string(), "lru:ttl=9:ttl-s=0.5");
        assert_eq!("lru:ttl=0:ttl-s=0:admit-probability=1".parse::<Choice>().unwrap().to_string(), "lru");
        for wrong in [
            "lru:ttl=-1",
            "lru:ttl-s=1e-7",
            "lru:ttl-s=1e10",
            "lru:ttl-s=NaN",
            "lru:ttl=1.5",
            "lru:ttl=0.5",
            "lru:admit-probability=1.1",
            "lru:admit=2",
        ] {
            let error = wrong.parse::<Choice>().err().unwrap().to_string();
            assert!(error.starts_with(&format!("policy {wrong:?}: ")) && error.lines().count() == 1, "{error}");
        }
        for wrong in ["s3-fifo:small=2", "s3-fifo:small", "s3-fifo:large=1", "lru:x=1", "s3-fifo:small=NaN"] {
            assert!(wrong.parse::<Choice>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = ALL.iter().map(|p| p.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }
}

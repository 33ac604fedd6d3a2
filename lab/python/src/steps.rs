// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! One cache, asked request by request.

use std::sync::{Mutex, PoisonError};

use fovea_lab::policy::{Choice, Policy, Request, MOST_BYTES, NEVER};
use fovea_lab::{Error, Size};
use pyo3::prelude::*;

use crate::interrupt::fail;

struct Cache {
    policy: Box<dyn Policy>,
    /// Ids that were announced.
    ids: u32,
    /// What it holds; kept only if somebody wants to know what is evicted.
    held: Option<Vec<u32>>,
}

/// A cache of the lab's, under a policy that needs no future.
#[pyclass(frozen)]
pub struct Steps {
    cache: Mutex<Cache>,
    #[pyo3(get)]
    capacity: u64,
    #[pyo3(get)]
    by_bytes: bool,
    #[pyo3(get)]
    policy: String,
}

#[pymethods]
impl Steps {
    #[new]
    fn new(policy: &str, size: &str, tells_evictions: bool) -> PyResult<Self> {
        let choice: Choice = policy.parse().map_err(fail)?;
        let wrong = |what: &str| fail(Error::Usage(format!("policy {choice}: {what}")));
        if choice.policy.needs_future {
            return Err(wrong("needs the future, which a cache that is asked step by step has not; take fovea.replay"));
        }
        if choice.program.is_some() {
            return Err(wrong("a program gets its requests in batches; take fovea.replay"));
        }
        let (capacity, by_bytes) = match size.parse::<Size>().map_err(fail)? {
            Size::Objects(objects) => (objects, false),
            Size::Bytes(bytes) => (bytes, true),
            _ => return Err(fail(Error::Usage(format!("capacity {size}: a share of no trace; take 1000 or '64MiB'")))),
        };
        let cache = Cache { policy: choice.build(capacity), ids: 0, held: tells_evictions.then(Vec::new) };
        Ok(Steps { cache: Mutex::new(cache), capacity, by_bytes, policy: choice.to_string() })
    }

    /// Serves a request: whether it was a hit, whether the object is held afterwards, and what was evicted, if that is to be told.
    fn get(&self, id: u32, size: u64, time_ns: u64) -> PyResult<(bool, bool, Vec<u32>)> {
        if size > MOST_BYTES {
            return Err(fail(Error::Usage(format!("size {size}: take {MOST_BYTES} bytes or fewer"))));
        }
        let size = if self.by_bytes { size.max(1) } else { 1 };
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let cache = &mut *cache;
        if id >= cache.ids {
            cache.ids = (id + 1).max(1024).checked_next_power_of_two().unwrap_or(u32::MAX - 16);
            cache.policy.ensure_ids(cache.ids);
        }
        let hit = cache.policy.access(Request { id, size, next_distance: NEVER, time_ns });
        let held = cache.policy.contains(id);
        let mut evicted = Vec::new();
        if let Some(known) = &mut cache.held {
            if !hit {
                let policy = &cache.policy;
                known.retain(|&one| {
                    let stays = policy.contains(one);
                    evicted.extend((!stays).then_some(one));
                    stays
                });
            }
            // An expired object is fetched anew in its place.
            if held && !hit && !known.contains(&id) {
                known.push(id);
            }
        }
        Ok((hit, held, evicted))
    }

    fn contains(&self, id: u32) -> bool {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).policy.contains(id)
    }

    #[getter]
    fn used(&self) -> u64 {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).policy.used()
    }
}

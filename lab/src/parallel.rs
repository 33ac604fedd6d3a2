// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The same work on several threads, with the same result whatever their number.

use std::sync::{
    atomic::{AtomicUsize, Ordering},
    Mutex,
};

/// Threads to use: as asked for, else one per core.
pub fn threads(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1)
}

/// `work` on each item; the results are in the items' order. `done` is told how many are finished.
pub fn map<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
    done: impl Fn(usize) + Sync,
) -> Vec<R> {
    let (next, finished) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let results: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, items.len().max(1)) {
            scope.spawn(|| loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(item) = items.get(at) else { return };
                let result = work(item);
                results.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((at, result));
                done(finished.fetch_add(1, Ordering::Relaxed) + 1);
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    results.sort_by_key(|&(at, _)| at);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items_whatever_the_threads() {
        let items: Vec<u64> = (0..100).collect();
        let expected: Vec<u64> = items.iter().map(|i| i * i).collect();
        for threads in [0, 1, 3, 200] {
            assert_eq!(map(&items, threads, |i| i * i, |_| {}), expected, "{threads} threads");
        }
        assert_eq!(map(&[] as &[u64], 2, |i| *i, |_| {}), Vec::<u64>::new());
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What Aciom's decisions come to on a disk: one that serves one request after the other at a rate, simulated.

use std::collections::VecDeque;

use fovea_core::aciom::{Aciom, Class, Config, Counters, Kind};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;
/// The paper's disk: bytes a second, and what a request costs beside its bytes.
const CMAX: u64 = 10_000_000;
const REQUEST_NS: u64 = 100_000;

/// Who asks for what: so many requests at once under way, each followed by the next, or one every period.
#[derive(Clone, Copy)]
struct Load {
    class: Class,
    size_bytes: u32,
    depth: u32,
    /// 0: as soon as one completes.
    period_ns: u64,
    from_ns: u64,
    write: bool,
}

/// What one load got.
#[derive(Clone, Debug, Default)]
struct Got {
    bytes: u64,
    latencies_ns: Vec<u64>,
}

impl Got {
    fn percentile(&mut self, percent: usize) -> u64 {
        self.latencies_ns.sort_unstable();
        self.latencies_ns[(self.latencies_ns.len() - 1) * percent / 100]
    }

    fn over(&self, limit_ns: u64) -> usize {
        self.latencies_ns.iter().filter(|&&ns| ns > limit_ns).count()
    }
}

fn simulate(loads: &[Load], cmax: u64, for_ns: u64) -> (Vec<Got>, Counters) {
    let mut aciom = Aciom::new(&Config { cmax, max_apps: 16, hold_limit: 1024 }).unwrap();
    for (app, load) in (0..).zip(loads) {
        aciom.add(app, load.class, 0).unwrap();
    }
    let mut got = vec![Got::default(); loads.len()];
    // Number of each request: load, and when it arrived.
    let mut requests: Vec<(usize, u64)> = Vec::new();
    let mut disk: VecDeque<u64> = VecDeque::new();
    let mut ends_ns = 0;
    let mut arrivals: Vec<(u64, usize)> =
        (0..loads.len()).flat_map(|load| (0..loads[load].depth).map(move |nth| (u64::from(nth), load))).collect();
    arrivals.iter_mut().for_each(|(at, load)| *at += loads[*load].from_ns);
    let mut now = 0;
    while now < for_ns {
        arrivals.sort_unstable_by(|a, b| b.cmp(a));
        while arrivals.last().is_some_and(|next| next.0 <= now) {
            let Some((at, load)) = arrivals.pop() else { break };
            let kind = Kind { write: loads[load].write, ..Kind::default() };
            aciom.enqueue(requests.len() as u64, load as u32, loads[load].size_bytes, kind, now);
            requests.push((load, now));
            if loads[load].period_ns > 0 {
                arrivals.push((at + loads[load].period_ns, load));
                arrivals.sort_unstable_by(|a, b| b.cmp(a));
            }
        }
        if disk.front().is_some_and(|_| ends_ns <= now) {
            let Some(id) = disk.pop_front() else { break };
            aciom.complete(id, now);
            let (load, arrived) = requests[id as usize];
            got[load].bytes += u64::from(loads[load].size_bytes);
            got[load].latencies_ns.push(now - arrived);
            if loads[load].period_ns == 0 {
                arrivals.push((now, load));
            }
            ends_ns = 0;
        }
        while let Some((id, _)) = aciom.dispatch(now) {
            disk.push_back(id);
        }
        if ends_ns == 0 {
            if let Some(&id) = disk.front() {
                let size = u64::from(loads[requests[id as usize].0].size_bytes);
                ends_ns = now + REQUEST_NS + size * SECOND / CMAX;
            }
        }
        let next = arrivals.iter().map(|next| next.0).min();
        let end = (ends_ns > 0).then_some(ends_ns);
        // Always later: whatever is due now is done in the next round.
        now = [next, end, aciom.wake_ns()].into_iter().flatten().min().unwrap_or(for_ns).max(now);
        aciom.check().unwrap();
    }
    (got, aciom.counters())
}

/// 2.2 MB/s at 30 frames a second.
fn player(class: Class) -> Load {
    Load { class, size_bytes: 73_728, depth: 1, period_ns: 33_333_333, from_ns: 0, write: false }
}

fn dperf(class: Class) -> Load {
    Load { class, size_bytes: 131_072, depth: 16, period_ns: 0, from_ns: 0, write: false }
}

fn rate(got: &Got, for_ns: u64) -> u64 {
    got.bytes * 1000 / (for_ns / MS)
}

#[test]
fn a_player_misses_nothing_beside_a_copy_that_takes_all() {
    let run = 60 * SECOND;
    let (mut plain, _) = simulate(&[player(Class::Plain), dperf(Class::Plain)], CMAX, run);
    let (mut aciom, counters) = simulate(&[player(Class::TimeSensitive), dperf(Class::Bursty)], CMAX, run);
    let frame = 33_333_333;
    println!(
        "plain: {} of {} late, p99 {} ns; aciom: {} late, p99 {} ns; copy {} and {} bytes/s; {counters:?}",
        plain[0].over(frame),
        plain[0].latencies_ns.len(),
        plain[0].percentile(99),
        aciom[0].over(frame),
        aciom[0].percentile(99),
        rate(&plain[1], run),
        rate(&aciom[1], run),
    );
    assert!(plain[0].over(frame) > 1000);
    // The first frames come before anybody knows; after that one copy's request is ahead at most.
    assert!(aciom[0].over(frame) <= 2, "{}", aciom[0].over(frame));
    assert!(aciom[0].percentile(99) * 2 < plain[0].percentile(99));
    // All: what the headroom is not needed for goes to the copy as well.
    let total = |got: &[Got]| rate(&got[0], run) + rate(&got[1], run);
    assert!(total(&aciom) > total(&plain) * 98 / 100, "{} of {}", total(&aciom), total(&plain));
}

/// Half of what bursty apps may have is an app's that saves 1 MiB a second; the copy has what that leaves.
#[test]
fn what_one_leaves_of_its_part_is_the_others() {
    let run = 30 * SECOND;
    let saves =
        Load { class: Class::Bursty, size_bytes: 1 << 20, depth: 1, period_ns: SECOND, from_ns: 0, write: true };
    let (got, counters) = simulate(&[player(Class::TimeSensitive), dperf(Class::Bursty), saves], CMAX, run);
    let rates: Vec<u64> = got.iter().map(|got| rate(got, run)).collect();
    println!("{rates:?} {counters:?}");
    assert!(rates.iter().sum::<u64>() > CMAX * 96 / 100, "{rates:?}");
    assert!(rates[2] > (1 << 20) * 95 / 100, "who saves has what it needs: {rates:?}");
}

/// Who had what others left does not pay for it: from the moment they come, each has its part.
#[test]
fn nobody_is_charged_for_what_others_left() {
    let come_ns = 30 * SECOND;
    let late = Load { from_ns: come_ns, ..dperf(Class::Bursty) };
    let bytes = |for_ns| {
        let (got, _) = simulate(&[player(Class::TimeSensitive), dperf(Class::Bursty), late], CMAX, for_ns);
        [got[1].bytes, got[2].bytes]
    };
    let (before, after) = (bytes(come_ns), bytes(come_ns + SECOND / 2));
    let [first, second] = [after[0] - before[0], after[1] - before[1]];
    println!("in half a second: {first} and {second} bytes");
    // What the first has queued by then goes at the pace of when it was alone.
    assert!(first < 2 * second && second < 2 * first, "{first} and {second}");
}

/// On a disk on which one request of a copy takes longer than a period, nothing goes before its time: that is for the budget to allow.
#[test]
fn nothing_goes_early_at_a_deadlines_cost() {
    let run = 30 * SECOND;
    let fast = Load { size_bytes: 16_384, period_ns: 8_333_333, ..player(Class::TimeSensitive) };
    let (mut got, counters) = simulate(&[fast, dperf(Class::Bursty)], CMAX, run);
    let late = got[0].over(8_333_333);
    println!("{late} of {} late, p99 {} ns, {counters:?}", got[0].latencies_ns.len(), got[0].percentile(99));
    // Until its period is known, in the first second, some do.
    assert!(counters.early < 30, "{}", counters.early);
}

#[test]
fn a_time_sensitive_app_that_takes_all_starves_nobody() {
    let run = 30 * SECOND;
    let greedy = Load { class: Class::TimeSensitive, ..dperf(Class::TimeSensitive) };
    let small = Load { size_bytes: 4096, depth: 1, ..dperf(Class::Plain) };
    let (got, counters) = simulate(&[greedy, dperf(Class::Bursty), small], CMAX, run);
    println!("{:?} {counters:?}", got.iter().map(|got| rate(got, run)).collect::<Vec<_>>());
    assert!(rate(&got[1], run) > CMAX / 20, "the bursty one has its floor: {}", rate(&got[1], run));
    assert!(got[2].latencies_ns.iter().all(|&ns| ns < 10 * SECOND) && got[2].latencies_ns.len() > 20);
    assert!(counters.turns > 50);
}

#[test]
fn bursty_apps_share_alike_and_the_rate_is_found_without_being_told() {
    let run = 60 * SECOND;
    // Alone first it would see the whole disk; here the copies see it before the player is known.
    let loads = [player(Class::TimeSensitive), dperf(Class::Bursty), dperf(Class::Bursty)];
    let (mut got, counters) = simulate(&loads, 0, run);
    println!("{:?} {counters:?}", got.iter().map(|got| rate(got, run)).collect::<Vec<_>>());
    assert!(counters.cmax > CMAX * 8 / 10 && counters.cmax < CMAX * 11 / 10, "{}", counters.cmax);
    let (one, other) = (rate(&got[1], run), rate(&got[2], run));
    assert!(one.abs_diff(other) < one / 20, "{one} and {other}");
    assert!(got[0].percentile(99) < 40 * MS, "{}", got[0].percentile(99));
}

/// A write-back of 50 MB beside a player, all of it at once: a reader of no class waits for what the disk has, and not for that.
#[test]
fn a_read_does_not_wait_for_a_whole_write_back() {
    let run = 8 * SECOND;
    let sync = Load { write: true, depth: 400, from_ns: SECOND, ..dperf(Class::Plain) };
    let reader = Load { class: Class::Plain, size_bytes: 4096, depth: 1, period_ns: 20 * MS, from_ns: 0, write: false };
    for class in [Class::Plain, Class::Bursty] {
        let sync = Load { class, ..sync };
        let (mut got, counters) = simulate(&[player(Class::TimeSensitive), sync, reader], CMAX, run);
        println!("{class:?}: worst {} ns, {counters:?}", got[2].percentile(100));
        assert!(got[2].percentile(100) < 100 * MS, "{}", got[2].percentile(100));
        assert!(got[0].over(33_333_333) <= 2, "{}", got[0].over(33_333_333));
        assert!(rate(&got[1], run) > CMAX / 2, "{}", rate(&got[1], run));
    }
}

/// Readers that take all leave writes a third, as mq-deadline does.
#[test]
fn reads_starve_no_write() {
    let run = 10 * SECOND;
    let writes = Load { write: true, ..dperf(Class::Plain) };
    let (mut got, counters) = simulate(&[player(Class::TimeSensitive), dperf(Class::Plain), writes], CMAX, run);
    let [reads, writes] = [rate(&got[1], run), rate(&got[2], run)];
    println!("{reads} and {writes} bytes/s, worst write {} ns, {counters:?}", got[2].percentile(100));
    assert!(writes * 2 > reads * 9 / 10 && writes * 2 < reads * 11 / 10, "{reads} and {writes}");
    assert!(got[2].percentile(100) < 2 * SECOND, "{}", got[2].percentile(100));
    assert!(counters.write_turns > 0);
}

/// What the status says of a class is what its requests took.
#[test]
fn the_histogram_says_what_requests_took() {
    let run = 10 * SECOND;
    let (mut got, counters) = simulate(&[player(Class::TimeSensitive), dperf(Class::Bursty)], CMAX, run);
    for (got, class) in got.iter_mut().zip([Class::TimeSensitive, Class::Bursty]) {
        let said = counters.latency[class as usize];
        println!("{class:?}: {said:?}");
        assert_eq!(said.worst_ns, got.percentile(100));
        for (said, is) in [(said.p50_ns, got.percentile(50)), (said.p99_ns, got.percentile(99))] {
            // One more or less, where so many of a hundred is no whole number.
            assert!(said >= is && said <= is + is / 8 + MS, "{class:?}: {said}, is {is}");
        }
    }
    assert_eq!(counters.longest_wait_ns, got[1].percentile(100));
    assert_eq!(counters.latency[Class::Plain as usize].worst_ns, 0);
}

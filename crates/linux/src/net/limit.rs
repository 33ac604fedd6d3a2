// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Limits of what arrives by UDP for apps. No window holds that, so what is above a rate is dropped when it arrives, in each network namespace
//! in which such an app has processes. Undone by the kernel: see [`crate::nftables`].

use std::collections::BTreeMap;
use std::io;

use super::{namespace, Complaints, Hand, Network, PROCESSES_MAX};
use crate::cgroup::{is_within, Cgroups};
use crate::file::Root;
use crate::nftables::{why, Cgroup, Count, Rule, Table};
use crate::Error;

/// What Ethernet adds to each packet, which its interface counts.
const ETHERNET_BYTES: u64 = 14;

/// A packet, until some have been seen.
const PACKET_BYTES: u64 = 1250;

/// So many say how large they are.
const PACKETS_LEAST: u64 = 8;

/// What may come at once, beyond the rate: of a second's. A bucket much smaller than a sender's burst drops what the rate would let through.
const BURST_OF_A_SECOND: u64 = 10;

#[derive(Clone, Copy, Debug)]
struct Limit {
    rate_bytes_per_s: u64,
    /// The cgroup's number as it was when the rules were made; none while there is no such cgroup.
    id: Option<u64>,
    /// A packet of those that came last, and what the rules were made with.
    packet_bytes: u64,
    ruled_packet_bytes: u64,
}

/// What came for one app since the last time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Arrived {
    pub arrived_bytes: u64,
    pub dropped_bytes: u64,
}

/// All that are in force.
#[derive(Debug, Default)]
pub(super) struct Limits {
    by_cgroup: BTreeMap<String, Limit>,
    /// By namespace.
    tables: BTreeMap<u64, Table>,
    /// As they were told of last, by namespace and cgroup.
    counts: BTreeMap<(u64, u64), Count>,
}

fn level(cgroup: &str) -> u32 {
    cgroup.split('/').count() as u32
}

fn id(cgroups: &Cgroups, cgroup: &str) -> Option<u64> {
    crate::cgroup::number(&cgroups.path(cgroup).ok()?).ok()
}

impl Limits {
    pub fn is_empty(&self) -> bool {
        self.by_cgroup.is_empty()
    }

    /// Limits an app, or lets it receive as it likes. `apps` are the cgroups of all, of which those below a limited one are left alone.
    pub fn set(
        &mut self,
        hand: &mut dyn Hand,
        root: &Root,
        cgroups: &Cgroups,
        apps: &[String],
        cgroup: &str,
        rate_bytes_per_s: Option<u64>,
    ) -> Result<(), Error> {
        match rate_bytes_per_s {
            None => drop(self.by_cgroup.remove(cgroup)),
            Some(rate_bytes_per_s) => {
                let new =
                    Limit { rate_bytes_per_s, id: None, packet_bytes: PACKET_BYTES, ruled_packet_bytes: PACKET_BYTES };
                self.by_cgroup.entry(cgroup.to_owned()).or_insert(new).rate_bytes_per_s = rate_bytes_per_s;
            }
        }
        self.rule(hand, root, cgroups, apps).map_err(|e| {
            // Whatever is in force is not what was asked for; then rather nothing.
            *self = Limits::default();
            let (wrong, mend) = why(&e);
            Error::Refused { what: format!("a limit of UDP for {cgroup}: {wrong}"), mend: mend.into() }
        })
    }

    /// Makes the rules anew if they are about another cgroup of that name, or packets of another size; and at any rate if `anyway`, for processes may be
    /// in other namespaces by now.
    pub fn refresh(
        &mut self,
        hand: &mut dyn Hand,
        root: &Root,
        cgroups: &Cgroups,
        apps: &[String],
        anyway: bool,
        complaints: &mut Complaints,
    ) {
        let is_stale = |(cgroup, limit): (&String, &Limit)| {
            id(cgroups, cgroup) != limit.id
                || limit.packet_bytes.abs_diff(limit.ruled_packet_bytes) > limit.ruled_packet_bytes / 8
        };
        if self.is_empty() || !(anyway || self.by_cgroup.iter().any(is_stale)) {
            return;
        }
        if let Err(e) = self.rule(hand, root, cgroups, apps) {
            let (wrong, mend) = why(&e);
            complaints.add(format!("limits of UDP: {wrong}: {mend}"));
        }
    }

    fn rule(&mut self, hand: &mut dyn Hand, root: &Root, cgroups: &Cgroups, apps: &[String]) -> io::Result<()> {
        if self.is_empty() {
            *self = Limits::default();
            return Ok(());
        }
        let mut there = BTreeMap::new();
        for (cgroup, limit) in &mut self.by_cgroup {
            (limit.id, limit.ruled_packet_bytes) = (id(cgroups, cgroup), limit.packet_bytes);
            let mut own = Vec::new();
            // One that has ended has none.
            if cgroups.processes(cgroup, &mut own).is_ok() {
                own.truncate(PROCESSES_MAX);
                // One that cannot be looked into keeps none of the others from their limit.
                there.extend(hand.namespaces(root, cgroup, own).unwrap_or_default());
            }
        }
        let rules = self.rules(cgroups, apps);
        self.tables.retain(|namespace, _| there.contains_key(namespace));
        let tables = &self.tables;
        self.counts.retain(|(namespace, _), _| tables.contains_key(namespace));
        let mut failure = None;
        for (namespace, pid) in there {
            if let Err(e) = self.rule_there(root, namespace, pid, &rules) {
                // Nothing rather than rules of which nobody knows; closing it takes them with it.
                self.tables.remove(&namespace);
                // A process that has ended took its namespace with it.
                if root.join(format!("proc/{pid}")).exists() {
                    failure = Some(e);
                }
            }
        }
        failure.map_or(Ok(()), Err)
    }

    fn rule_there(&mut self, root: &Root, namespace: u64, pid: u32, rules: &[Rule]) -> io::Result<()> {
        let table = match self.tables.entry(namespace) {
            std::collections::btree_map::Entry::Occupied(there) => there.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => {
                let own = namespace::id(root, "self").ok();
                let made = if own == Some(namespace) { Table::new() } else { namespace::within(root, pid, Table::new) };
                place.insert(made?)
            }
        };
        table.replace(rules)
    }

    /// The deepest first: an app below a limited one that is none itself is found before.
    fn rules(&self, cgroups: &Cgroups, apps: &[String]) -> Vec<Rule> {
        let limited = self.by_cgroup.iter().filter_map(|(cgroup, limit)| {
            let packet_bytes = (limit.packet_bytes + ETHERNET_BYTES).max(1);
            let rule = Rule::Limit {
                cgroup: Cgroup { level: level(cgroup), id: limit.id? },
                packets_per_1000_s: limit.rate_bytes_per_s.saturating_mul(1000) / packet_bytes,
                burst_packets: (limit.rate_bytes_per_s / BURST_OF_A_SECOND / packet_bytes).clamp(4, 1 << 16) as u32,
            };
            Some((level(cgroup), rule))
        });
        let spared = apps.iter().filter_map(|cgroup| {
            let is_below = self.by_cgroup.keys().any(|limited| is_within(cgroup, limited));
            let is_spared = is_below && !self.by_cgroup.contains_key(cgroup);
            let rule = Rule::Spare(Cgroup { level: level(cgroup), id: is_spared.then(|| id(cgroups, cgroup))?? });
            Some((level(cgroup), rule))
        });
        let mut rules: Vec<(u32, Rule)> = limited.chain(spared).collect();
        rules.sort_by_key(|&(level, _)| std::cmp::Reverse(level));
        rules.into_iter().map(|(_, rule)| rule).collect()
    }

    /// What came for each limited app since the last call.
    pub fn take(&mut self, complaints: &mut Complaints) -> BTreeMap<String, Arrived> {
        let mut fresh: BTreeMap<u64, (Arrived, u64, u64)> = BTreeMap::new();
        let Self { by_cgroup, tables, counts } = self;
        tables.retain(|&namespace, table| {
            let counted = match table.counts() {
                Ok(counted) => counted,
                Err(e) => {
                    // What is left of a broken answer would be taken for the next one's. It is made anew in time.
                    complaints.add(format!("counting what arrives by UDP: {e}"));
                    return false;
                }
            };
            for (id, now) in counted {
                let before = counts.insert((namespace, id), now).unwrap_or_default();
                let packets = now.arrived_packets.saturating_sub(before.arrived_packets);
                let bytes = now.arrived_bytes.saturating_sub(before.arrived_bytes);
                let dropped_packets = now.dropped_packets.saturating_sub(before.dropped_packets);
                let (arrived, all_bytes, all_packets) = fresh.entry(id).or_default();
                arrived.arrived_bytes += bytes + ETHERNET_BYTES * packets;
                arrived.dropped_bytes +=
                    now.dropped_bytes.saturating_sub(before.dropped_bytes) + ETHERNET_BYTES * dropped_packets;
                *all_bytes += bytes;
                *all_packets += packets;
            }
            true
        });
        let mut took = BTreeMap::new();
        for (cgroup, limit) in by_cgroup {
            let Some((arrived, bytes, packets)) = limit.id.and_then(|id| fresh.get(&id)) else { continue };
            if *packets >= PACKETS_LEAST {
                limit.packet_bytes = bytes / packets;
            }
            took.insert(cgroup.clone(), *arrived);
        }
        took
    }
}

impl Network {
    /// Limits what arrives by UDP for an app, or lets it receive as it likes.
    pub fn limit_udp(
        &mut self,
        hand: &mut dyn Hand,
        root: &Root,
        cgroups: &Cgroups,
        cgroup: &str,
        rate_bytes_per_s: Option<u64>,
    ) -> Result<(), Error> {
        self.limits.set(hand, root, cgroups, &self.asked, cgroup, rate_bytes_per_s)
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What comes over the network for each app, and how fast: the receive windows of its TCP connections (Aciom11, section 5).
//!
//! Whose a connection is the kernel says by the cgroup in which the socket was made, so no process is looked into for counting. Where it is, among the
//! descriptors of the app's processes, is looked for only when its window is to be held, and remembered.

mod complaints;
mod diag;
mod hold;
mod limit;
mod namespace;
mod traffic;
mod window;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

use complaints::Complaints;
use diag::{Protocol, Socket};
use hold::Hold;
use limit::{Arrived, Limits};
use namespace::Namespace;
pub(crate) use namespace::{has_network, leave_for_an_empty_namespace, of_processes as namespaces};
pub use traffic::{AppTraffic, HoldOutcome, Traffic};
pub use window::HeldSocket;
pub(crate) use window::{find_descriptors, Act, Descriptors, Done, Hand, Source};

use crate::cgroup::Cgroups;
use crate::file::Root;
use crate::Error;

/// Looks from one at which namespaces and cgroups are looked for anew to the next.
const LOOKS: u32 = 10;

/// Namespaces looked into; a sandbox has one of its own, with nothing in it.
const NAMESPACES_MAX: usize = 32;

/// Processes of an app that are looked into.
const PROCESSES_MAX: usize = 1024;

/// Cgroups below an app's.
const CGROUPS_MAX: usize = 1024;

/// Ethernet, IP and TCP with timestamps, beside what they carry.
const HEADERS_BYTES: u64 = 66;

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    received_bytes: u64,
    segments: u32,
    seen: bool,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    inode: u64,
    segment_bytes: u32,
}

/// What is remembered from look to look.
#[derive(Debug, Default)]
pub(crate) struct Network {
    namespaces: Vec<Namespace>,
    looks: u32,
    asked: Vec<String>,
    /// The app of each cgroup's number, as its place in `asked`; none for those of no app that was asked for.
    cgroups: HashMap<u64, Option<usize>>,
    known: HashMap<u64, Known>,
    flows: BTreeMap<String, Vec<Flow>>,
    /// Connected UDP sockets of each app, and the others.
    udp: BTreeMap<usize, [u32; 2]>,
    limits: Limits,
    places: BTreeMap<u64, (u32, i32)>,
    /// Not in any descriptor when it was looked for.
    nowhere: HashSet<u64>,
    held: BTreeMap<u64, Hold>,
    complaints: Complaints,
    buffer: Vec<u8>,
    text: Vec<u8>,
}

impl Network {
    /// What came since the last look for the apps of these cgroups; `hand` touches their connections.
    pub fn traffic(
        &mut self,
        hand: &mut dyn Hand,
        root: &Root,
        cgroups: &Cgroups,
        asked: &[&str],
    ) -> Result<Traffic, Error> {
        if self.looks == 0 || self.asked != asked {
            self.look_around(hand, root, cgroups, asked)?;
        }
        let with_udp = self.looks == 0;
        self.limits.refresh(hand, root, cgroups, &self.asked, with_udp, &mut self.complaints);
        self.looks = (self.looks + 1) % LOOKS;
        let mut apps = vec![AppTraffic::default(); asked.len()];
        let mut flows = vec![Vec::new(); asked.len()];
        self.known.values_mut().for_each(|known| known.seen = false);
        if with_udp {
            self.udp.clear();
        }
        let first = self.known.is_empty();
        let mut received_bytes = 0;
        let Self { namespaces, cgroups: numbers, known, held, nowhere, udp, buffer, text, complaints, .. } = self;
        namespaces.retain_mut(|namespace| {
            let mut each = |socket: Socket| {
                let Some(at) = socket.cgroup.and_then(|id| *numbers.entry(id).or_default()) else { return };
                if socket.is_local {
                    return;
                }
                let fresh = Known { received_bytes: socket.received_bytes, segments: socket.segments, seen: true };
                // One that was made since the last look has received all that it has since then.
                let before = known.insert(socket.cookie, fresh).unwrap_or(if first { fresh } else { Known::default() });
                let came = socket.received_bytes.saturating_sub(before.received_bytes)
                    + HEADERS_BYTES * u64::from(socket.segments.saturating_sub(before.segments));
                let app = &mut apps[at];
                app.flows += 1;
                app.received_bytes += came;
                app.segment_bytes = app.segment_bytes.max(socket.segment_bytes);
                let is_held = held.get_mut(&socket.inode).is_some_and(|hold| {
                    hold.offers(socket.window_bytes);
                    hold.window_bytes > 0
                });
                app.unheld_flows += u32::from(!is_held && !nowhere.contains(&socket.inode));
                if came > 0 {
                    app.active_flows += 1;
                    let shorter = app.rtt_us == 0 || socket.rtt_us < app.rtt_us;
                    if socket.rtt_us > 0 && shorter {
                        app.rtt_us = socket.rtt_us;
                    }
                }
                flows[at].push(Flow { inode: socket.inode, segment_bytes: socket.segment_bytes });
            };
            let looked = diag::dump(&namespace.diag, Protocol::Tcp, buffer, &mut each).and_then(|()| {
                if with_udp {
                    let mut each = |socket: Socket| {
                        if let Some(at) = socket.cgroup.and_then(|id| *numbers.entry(id).or_default()) {
                            udp.entry(at).or_default()[usize::from(!socket.is_connected)] +=
                                u32::from(!socket.is_local);
                        }
                    };
                    // A kernel without udp_diag tells nothing of it.
                    let _ = diag::dump(&namespace.diag, Protocol::Udp, buffer, &mut each);
                }
                received_bytes = received_bytes.max(namespace.received_bytes(text)?);
                Ok(())
            });
            // What is left of a broken answer would be taken for the next one's: a namespace is opened anew.
            looked.map_err(|e| complaints.add(format!("connections of a network namespace: {e}"))).is_ok()
        });
        self.known.retain(|_, known| known.seen);
        for (&at, &[connected, others]) in &self.udp {
            (apps[at].udp_sockets, apps[at].unconnected_udp_sockets) = (connected, others);
        }
        let arrived = self.limits.take(&mut self.complaints);
        for (app, cgroup) in apps.iter_mut().zip(asked) {
            let Arrived { arrived_bytes, dropped_bytes } = arrived.get(*cgroup).copied().unwrap_or_default();
            (app.udp_arrived_bytes, app.udp_dropped_bytes) = (arrived_bytes, dropped_bytes);
        }
        self.forget_closed(hand, &flows);
        self.flows = asked.iter().map(|&cgroup| cgroup.to_owned()).zip(flows).collect();
        let apps = asked.iter().map(|&cgroup| cgroup.to_owned()).zip(apps).collect();
        Ok(Traffic { received_bytes, apps, complaints: std::mem::take(&mut self.complaints.fresh) })
    }

    /// What is held is forgotten only when it is closed: one that is merely not told of (its namespace could not be asked) would be taken for fresh
    /// later, and our window for its own.
    fn forget_closed(&mut self, hand: &mut dyn Hand, flows: &[Vec<Flow>]) {
        let there: HashSet<u64> = flows.iter().flatten().map(|flow| flow.inode).collect();
        self.held.retain(|inode, Hold { before, .. }| {
            there.contains(inode) || !matches!(hand.act(before.pid, before.fd, *inode, Act::Find), Ok(None))
        });
        self.places.retain(|inode, _| there.contains(inode));
    }

    /// Looks for the namespaces and the cgroups of apps.
    fn look_around(
        &mut self,
        hand: &mut dyn Hand,
        root: &Root,
        cgroups: &Cgroups,
        asked: &[&str],
    ) -> Result<(), Error> {
        self.looks = 0;
        self.asked = asked.iter().map(|&cgroup| cgroup.to_owned()).collect();
        self.cgroups.clear();
        self.nowhere.clear();
        let mut there = BTreeMap::new();
        for (at, cgroup) in asked.iter().enumerate() {
            let numbers = cgroups.numbers(cgroup, CGROUPS_MAX)?;
            self.cgroups.extend(numbers.into_iter().map(|number| (number, Some(at))));
            let mut own = Vec::new();
            cgroups.processes(cgroup, &mut own)?;
            own.truncate(PROCESSES_MAX);
            match hand.namespaces(root, cgroup, own) {
                Ok(of_app) => there.extend(of_app),
                Err(Error::PutOff { .. }) => (),
                Err(e) => self.complaints.add(e.to_string()),
            }
        }
        let own = namespace::id(root, "self").map_err(|e| Error::call("stat", "our network namespace", e))?;
        // The machine's own, where its interfaces are: ours may be an empty one (PrivateNetwork= of the unit).
        there.entry(namespace::id(root, "1").unwrap_or(own)).or_insert(1);
        self.namespaces.retain(|namespace| there.contains_key(&namespace.id));
        for (id, pid) in there {
            if self.namespaces.iter().any(|namespace| namespace.id == id) || self.namespaces.len() >= NAMESPACES_MAX {
                continue;
            }
            let opened = if id == own { Namespace::own(root) } else { Namespace::of(root, pid) };
            match opened {
                Ok(namespace) => self.namespaces.push(namespace),
                Err(e) if crate::error::is_gone(&e) => (),
                Err(e) => self.complaints.add(format!("network namespace of process {pid}: {e}")),
            }
        }
        Ok(())
    }

    /// Holds an app's connections, as the last look found them, to a window. If there are any that were not held yet, `claimed` is
    /// called with all that will be, as they were before, and before anything is done to them.
    pub fn hold(
        &mut self,
        hand: &mut dyn Hand,
        root: &Root,
        cgroups: &Cgroups,
        cgroup: &str,
        window_bytes: u32,
        claimed: &mut dyn FnMut(&[HeldSocket]) -> io::Result<()>,
    ) -> Result<HoldOutcome, Error> {
        let mut flows = self.flows.get(cgroup).cloned().unwrap_or_default();
        self.find(hand, root, cgroups, cgroup, &flows)?;
        // A process's one after the other: it is opened once.
        flows.sort_unstable_by_key(|flow| self.places.get(&flow.inode).copied());
        let (mut fresh, mut outcome) = (Vec::new(), HoldOutcome::default());
        for flow in &flows {
            let Some(&(pid, fd)) = self.places.get(&flow.inode) else { continue };
            if self.held.contains_key(&flow.inode) {
                continue;
            }
            match hand.act(pid, fd, flow.inode, Act::Read) {
                Ok(Some((lock, clamp_bytes))) => {
                    fresh.push(HeldSocket { pid, fd, inode: flow.inode, lock, clamp_bytes });
                }
                Ok(None) => drop(self.places.remove(&flow.inode)),
                Err(e) => self.refused(flow.inode, pid, &e),
            }
        }
        if !fresh.is_empty() {
            let held = flows.iter().filter_map(|flow| Some(self.held.get(&flow.inode)?.before));
            let all: Vec<HeldSocket> = held.chain(fresh.iter().copied()).collect();
            claimed(&all).map_err(|e| Error::call("writing down the windows", cgroup, e))?;
            let hold = |before: HeldSocket| (before.inode, Hold { before, window_bytes: 0, undone: 0 });
            self.held.extend(fresh.into_iter().map(hold));
        }
        for flow in flows {
            // Below a segment of its own a connection comes to a crawl.
            let window_bytes = window_bytes.max(flow.segment_bytes);
            match self.held.get(&flow.inode).copied() {
                None => outcome.missed += 1,
                Some(hold) if hold.window_bytes == window_bytes => outcome.held += 1,
                Some(hold) => match self.set(hand, hold, window_bytes) {
                    true => outcome.held += 1,
                    false => outcome.missed += 1,
                },
            }
        }
        Ok(outcome)
    }

    fn set(&mut self, hand: &mut dyn Hand, hold: Hold, window_bytes: u32) -> bool {
        let HeldSocket { inode, lock, pid, .. } = hold.before;
        // One that is held already is locked.
        let act = match hold.window_bytes {
            0 => Act::Hold { lock, window_bytes },
            _ => Act::Change { window_bytes },
        };
        let place = self.places.get(&inode).copied();
        let done = place.map_or(Ok(None), |(pid, fd)| hand.act(pid, fd, inode, act));
        let is_set = matches!(done, Ok(Some(_)));
        self.held.insert(inode, Hold { window_bytes: if is_set { window_bytes } else { 0 }, ..hold });
        match done {
            Ok(Some(_)) => (),
            // It is elsewhere by now, or closed.
            Ok(None) => drop(self.places.remove(&inode)),
            Err(e) => self.refused(inode, pid, &e),
        }
        is_set
    }

    /// Looks where an app has those of its connections of which nobody knows it.
    fn find(
        &mut self,
        hand: &mut dyn Hand,
        root: &Root,
        cgroups: &Cgroups,
        cgroup: &str,
        flows: &[Flow],
    ) -> Result<(), Error> {
        let is_unknown = |flow: &&Flow| !self.places.contains_key(&flow.inode) && !self.nowhere.contains(&flow.inode);
        let unknown: Vec<u64> = flows.iter().filter(is_unknown).map(|flow| flow.inode).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let mut pids = Vec::new();
        cgroups.processes(cgroup, &mut pids)?;
        pids.truncate(PROCESSES_MAX);
        let found = match hand.sockets(root, cgroup, &pids, &unknown, &self.places) {
            // They are as unknown as before.
            Err(Error::PutOff { .. }) => return Ok(()),
            found => found?,
        };
        for inode in unknown {
            match found.get(&inode) {
                Some(&place) => drop(self.places.insert(inode, place)),
                None => drop(self.nowhere.insert(inode)),
            }
        }
        Ok(())
    }

    /// It is left alone until the next time around; until the next look where there was only no time for it.
    fn refused(&mut self, inode: u64, pid: u32, error: &io::Error) {
        if crate::probe::is_not_now(error) {
            return;
        }
        self.nowhere.insert(inode);
        self.places.remove(&inode);
        let why = match error.raw_os_error() {
            Some(libc::EPERM) => {
                "forbidden: CAP_SYS_PTRACE is needed in the app's user namespace, and no filter against pidfd_getfd"
                    .into()
            }
            _ => error.to_string(),
        };
        self.complaints.add(format!("the receive window of a connection of process {pid}: {why}: it stays as it is"));
    }

    /// Gives connections of an app the windows they had. One that has been closed is not an error.
    pub fn release(
        &mut self,
        hand: &mut dyn Hand,
        root: &Root,
        cgroups: &Cgroups,
        cgroup: &str,
        sockets: &[HeldSocket],
    ) -> Result<(), Error> {
        let (mut elsewhere, mut failure) = (None, None);
        for held in sockets {
            let mut done = hand.act(held.pid, held.fd, held.inode, Act::Release(*held));
            if matches!(done, Ok(None)) {
                // The app may have moved it, to another descriptor or another of its processes.
                let found = match &elsewhere {
                    Some(found) => found,
                    None => {
                        let mut pids = Vec::new();
                        cgroups.processes(cgroup, &mut pids)?;
                        let wanted: Vec<u64> = sockets.iter().map(|held| held.inode).collect();
                        elsewhere.insert(hand.sockets(root, cgroup, &pids, &wanted, &BTreeMap::new())?)
                    }
                };
                let there = found.get(&held.inode);
                let release = Act::Release(*held);
                done = there.map_or(Ok(None), |&(pid, fd)| hand.act(pid, fd, held.inode, release));
            }
            match done {
                Ok(_) => drop(self.held.remove(&held.inode)),
                Err(e) => failure = Some(Error::call("setsockopt", format!("a connection of process {}", held.pid), e)),
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// Nobody asks any more: what came until the next look is nobody's, and no namespace is kept from ending.
    pub fn forget(&mut self) {
        *self = Network { complaints: std::mem::take(&mut self.complaints), ..Network::default() };
    }
}

/// A socket of sock_diag's answer, for fuzzing.
pub(crate) fn fuzz(message: &[u8]) {
    diag::fuzz(message);
}

/// Whether sockets can be asked about, and say whose they are; the reason if not.
pub(crate) fn probe(root: &Root) -> io::Result<bool> {
    namespace::probe(root)
}

#[cfg(test)]
mod tests;

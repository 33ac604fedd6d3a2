// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A table of nf_tables in one network namespace, over netlink (linux/netfilter/nf_tables.h): it drops what arrives by UDP for the sockets of some
//! cgroups above a rate, and counts.
//!
//! The table has an owner (`NFT_TABLE_F_OWNER`, Linux 5.12): the kernel removes it when the netlink socket that made it is closed, by SIGKILL too, and
//! lets nobody else change it. That is why this is not a child process of `nft`: that opens another socket whenever a dump of its cache collides with
//! somebody's change, and the table would go with the first.
//!
//! Everything is done in transactions: all rules are replaced at once, and no packet sees a part of them.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{netlink, recv, send, socket_with, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use crate::netlink::{attributes, error_of, messages, number, BUFFER_BYTES, NLMSG_DONE, NLMSG_ERROR, NLM_F_DUMP};

mod message;

use message::{Batch, Writer};

const NLM_F_ACK: u16 = 4;
const NLM_F_EXCL: u16 = 0x200;
const NLM_F_CREATE: u16 = 0x400;
const NLM_F_APPEND: u16 = 0x800;

const NFT_MSG_NEWTABLE: u16 = 0;
const NFT_MSG_NEWCHAIN: u16 = 3;
const NFT_MSG_NEWRULE: u16 = 6;
const NFT_MSG_DELRULE: u16 = 8;
const NFT_MSG_NEWOBJ: u16 = 18;
const NFT_MSG_GETOBJ: u16 = 19;
const NFT_MSG_DELOBJ: u16 = 20;

const NFT_TABLE_F_OWNER: u32 = 2;
const NFT_OBJECT_COUNTER: u32 = 1;
const NF_INET_LOCAL_IN: u32 = 1;

const TABLE: &str = "fovea";
const CHAIN: &str = "in";

/// Before everybody's filters: what they drop has crossed the link too.
const PRIORITY: i32 = -200;

/// Messages read of one answer: beyond that something is wrong with it.
const MESSAGES_MAX: usize = 1 << 12;

/// A cgroup as the kernel finds it from a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cgroup {
    /// How far below the root.
    pub level: u32,
    /// Its folder's inode.
    pub id: u64,
}

/// What becomes of UDP for a cgroup and those below it. Of rules that match a packet the first counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Nothing.
    Spare(Cgroup),
    /// Counted, and dropped above so many packets in a thousand seconds. A limit in bytes would begin with all that a second brings in its bucket
    /// (`nft_limit_init`), each time that it is changed: changed at every look it would never drop anything.
    Limit { cgroup: Cgroup, packets_per_1000_s: u64, burst_packets: u32 },
}

/// What has come for a cgroup in all, without what Ethernet adds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub arrived_bytes: u64,
    pub arrived_packets: u64,
    pub dropped_bytes: u64,
    pub dropped_packets: u64,
}

/// Ours, as long as this lives.
#[derive(Debug)]
pub(crate) struct Table {
    socket: OwnedFd,
    /// Cgroups that have counters.
    counted: Vec<u64>,
}

impl Table {
    /// Makes it, empty, in the calling thread's namespace.
    pub fn new() -> io::Result<Table> {
        // Not inherited: the kernel must see it closed when this process ends.
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::NETFILTER))?;
        let mut batch = Batch::new();
        batch.add(NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, |table| {
            table.text(1, TABLE);
            table.be32(2, NFT_TABLE_F_OWNER);
        });
        batch.add(NFT_MSG_NEWCHAIN, NLM_F_CREATE, |chain| {
            chain.text(1, TABLE);
            chain.text(3, CHAIN);
            chain.nest(4, |hook| {
                hook.be32(1, NF_INET_LOCAL_IN);
                hook.be32(2, PRIORITY as u32);
            });
            chain.text(7, "filter");
        });
        let table = Table { socket, counted: Vec::new() };
        match table.commit(batch) {
            // Who may ask at all is refused because of another owner.
            Err(e) if e.raw_os_error() == Some(libc::EPERM) && table.counts().is_ok() => {
                Err(io::Error::from_raw_os_error(libc::EEXIST))
            }
            made => made.map(|()| table),
        }
    }

    /// Replaces all rules. Counts go on for who was limited before.
    pub fn replace(&mut self, rules: &[Rule]) -> io::Result<()> {
        let limited = |rule: &Rule| match rule {
            Rule::Limit { cgroup, .. } => Some(cgroup.id),
            Rule::Spare(_) => None,
        };
        let counted: Vec<u64> = rules.iter().filter_map(limited).collect();
        let mut batch = Batch::new();
        batch.add(NFT_MSG_DELRULE, NLM_F_ACK, |chain| {
            chain.text(1, TABLE);
            chain.text(2, CHAIN);
        });
        for id in counted.iter().filter(|id| !self.counted.contains(id)) {
            counters(*id).iter().for_each(|name| batch.add(NFT_MSG_NEWOBJ, NLM_F_CREATE, |new| new_counter(new, name)));
        }
        for rule in rules {
            batch.add(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND, |new| {
                new.text(1, TABLE);
                new.text(2, CHAIN);
                new.nest(4, |list| expressions(list, rule));
            });
        }
        for id in self.counted.iter().filter(|id| !counted.contains(id)) {
            for name in counters(*id) {
                batch.add(NFT_MSG_DELOBJ, 0, |old| {
                    old.text(1, TABLE);
                    old.text(2, &name);
                    old.be32(3, NFT_OBJECT_COUNTER);
                });
            }
        }
        self.commit(batch)?;
        self.counted = counted;
        Ok(())
    }

    /// All or nothing. The kernel has answered when `send` returns.
    fn commit(&self, batch: Batch) -> io::Result<()> {
        send(&self.socket, &batch.end(), SendFlags::empty())?;
        let mut buffer = vec![0; BUFFER_BYTES];
        let (mut answer, mut is_done) = (Ok(()), false);
        for _ in 0..MESSAGES_MAX {
            let received = crate::file::retry(|| recv(self.socket.as_fd(), &mut buffer[..], RecvFlags::DONTWAIT));
            let length = match received.map_err(io::Error::from) {
                Ok((length, _)) => length,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) => return Err(e),
            };
            messages(&buffer[..length], &mut |kind, body| {
                if kind == NLMSG_ERROR {
                    is_done = true;
                    if answer.is_ok() {
                        answer = error_of(body);
                    }
                }
            });
        }
        answer.and(if is_done { Ok(()) } else { Err(io::Error::other("nf_tables does not answer")) })
    }

    /// What has come for each cgroup that is limited.
    pub fn counts(&self) -> io::Result<BTreeMap<u64, Count>> {
        let request = message::one(NFT_MSG_GETOBJ, NLM_F_DUMP, |objects| objects.text(1, TABLE));
        send(&self.socket, &request, SendFlags::empty())?;
        let (mut counts, mut buffer) = (BTreeMap::new(), vec![0; BUFFER_BYTES]);
        for _ in 0..MESSAGES_MAX {
            let (length, _) = crate::file::retry(|| recv(self.socket.as_fd(), &mut buffer[..], RecvFlags::empty()))?;
            let mut end = None;
            messages(&buffer[..length], &mut |kind, body| match kind {
                NLMSG_DONE => end = Some(Ok(())),
                NLMSG_ERROR => end = Some(error_of(body)),
                _ => drop(counter(body, &mut counts)),
            });
            if let Some(end) = end {
                return end.map(|()| counts);
            }
        }
        Err(io::Error::other("the kernel's answer does not end"))
    }
}

/// Names of a cgroup's two: what arrived, and what of it was dropped.
fn counters(id: u64) -> [String; 2] {
    [format!("a{id}"), format!("d{id}")]
}

fn new_counter(new: &mut Writer, name: &str) {
    new.text(1, TABLE);
    new.text(2, name);
    new.be32(3, NFT_OBJECT_COUNTER);
    new.nest(4, |_| ());
}

fn expressions(list: &mut Writer, rule: &Rule) {
    let (Rule::Spare(cgroup) | Rule::Limit { cgroup, .. }) = *rule;
    message::meta_is(list, message::META_L4PROTO, true, &[libc::IPPROTO_UDP as u8]);
    // The loopback's number, which carries nothing of the link's.
    message::meta_is(list, message::META_IIF, false, &1_u32.to_ne_bytes());
    message::socket_is_below(list, cgroup.level, cgroup.id);
    match *rule {
        Rule::Spare(_) => message::verdict(list, libc::NF_ACCEPT as u32),
        Rule::Limit { cgroup, packets_per_1000_s, burst_packets } => {
            let [arrived, dropped] = counters(cgroup.id);
            message::object(list, NFT_OBJECT_COUNTER, &arrived);
            message::over(list, packets_per_1000_s.max(1), 1000, burst_packets.max(1));
            message::object(list, NFT_OBJECT_COUNTER, &dropped);
            message::verdict(list, libc::NF_DROP as u32);
        }
    }
}

/// An object as it is dumped.
fn counter(body: &[u8], counts: &mut BTreeMap<u64, Count>) -> Option<()> {
    let (mut name, mut data) = (None, None);
    for (kind, value) in attributes(body.get(message::FAMILY_BYTES..)?) {
        match kind & message::KIND_MASK {
            2 => name = std::str::from_utf8(value.strip_suffix(b"\0")?).ok(),
            4 => data = Some(value),
            _ => (),
        }
    }
    let name = name?;
    let count = counts.entry(name.get(1..)?.parse().ok()?).or_default();
    let (bytes, packets) = match name.as_bytes()[0] {
        b'a' => (&mut count.arrived_bytes, &mut count.arrived_packets),
        _ => (&mut count.dropped_bytes, &mut count.dropped_packets),
    };
    for (kind, value) in attributes(data?) {
        let value = number(value, 0).map(u64::from_be_bytes)?;
        match kind & message::KIND_MASK {
            1 => *bytes = value,
            2 => *packets = value,
            _ => (),
        }
    }
    Some(())
}

/// What it takes, as far as a namespace that ends with this call can tell; nobody else sees what is made in it.
pub(crate) fn probe() -> io::Result<()> {
    let there = || {
        crate::net::leave_for_an_empty_namespace()?;
        let rule = Rule::Limit { cgroup: Cgroup { level: 1, id: 1 }, packets_per_1000_s: 1000, burst_packets: 1 };
        Table::new()?.replace(&[rule])
    };
    let thread = std::thread::Builder::new().name("nftables".into()).spawn(there)?;
    thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread panicked")))
}

/// What was wrong, and the mend.
pub(crate) fn why(error: &io::Error) -> (String, &'static str) {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => (
            "CAP_NET_ADMIN is missing".into(),
            "give the unit CapabilityBoundingSet=CAP_NET_ADMIN by a drop-in, or run as root",
        ),
        Some(libc::EPROTONOSUPPORT | libc::ECONNREFUSED | libc::EOPNOTSUPP | libc::EINVAL) => (
            format!("no tables with an owner: {error}"),
            "Linux 5.12 with CONFIG_NF_TABLES and CONFIG_NF_TABLES_INET has them",
        ),
        Some(libc::ENOENT) => (
            "nf_tables does not know sockets, limits or counters".into(),
            "modprobe nft_socket nft_limit, or build with CONFIG_NFT_SOCKET and CONFIG_NFT_LIMIT",
        ),
        Some(libc::EEXIST) => (
            "there is a table inet fovea of somebody else's".into(),
            "nft delete table inet fovea, or end who holds it",
        ),
        _ => (error.to_string(), "see limit_udp in fovea.toml(5)"),
    }
}

#[cfg(test)]
mod tests;

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is said to nf_tables: netlink messages, with numbers in the network's order, but for what rules compare with.

use crate::netlink::request;

const NFNL_SUBSYS_NFTABLES: u16 = 10;
const NFNL_MSG_BATCH_BEGIN: u16 = 16;
const NFNL_MSG_BATCH_END: u16 = 17;
const NFPROTO_UNSPEC: u8 = 0;
/// IPv4 and IPv6.
const NFPROTO_INET: u8 = 1;
const NLA_F_NESTED: u16 = 0x8000;

/// `struct nfgenmsg`.
pub(super) const FAMILY_BYTES: usize = 4;
/// Of an attribute's kind, without its flags.
pub(super) const KIND_MASK: u16 = 0x3fff;

pub(super) const META_IIF: u32 = 4;
pub(super) const META_L4PROTO: u32 = 16;
const SOCKET_CGROUPV2: u32 = 3;
const REGISTER: u32 = 1;
const REGISTER_VERDICT: u32 = 0;
const CMP_EQ: u32 = 0;
const CMP_NEQ: u32 = 1;
const LIMIT_PACKETS: u32 = 0;
const LIMIT_OVER: u32 = 1;

/// Attributes, one after the other.
#[derive(Debug, Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub fn bytes(&mut self, kind: u16, value: &[u8]) {
        self.0.extend(((4 + value.len()) as u16).to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    pub fn text(&mut self, kind: u16, value: &str) {
        self.bytes(kind, &[value.as_bytes(), b"\0"].concat());
    }

    pub fn be32(&mut self, kind: u16, value: u32) {
        self.bytes(kind, &value.to_be_bytes());
    }

    fn be64(&mut self, kind: u16, value: u64) {
        self.bytes(kind, &value.to_be_bytes());
    }

    pub fn nest(&mut self, kind: u16, within: impl FnOnce(&mut Writer)) {
        let mut inner = Writer::default();
        within(&mut inner);
        self.bytes(kind | NLA_F_NESTED, &inner.0);
    }
}

fn message(kind: u16, flags: u16, family: u8, resource: u16, body: &[u8]) -> Vec<u8> {
    let [high, low] = resource.to_be_bytes();
    request(kind, flags, &[&[family, 0, high, low], body])
}

/// A message about nf_tables by itself.
pub(super) fn one(kind: u16, flags: u16, within: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut body = Writer::default();
    within(&mut body);
    message(NFNL_SUBSYS_NFTABLES << 8 | kind, flags, NFPROTO_INET, 0, &body.0)
}

/// Messages that are done together or not at all.
#[derive(Debug)]
pub(super) struct Batch(Vec<u8>);

impl Batch {
    pub fn new() -> Batch {
        Batch(message(NFNL_MSG_BATCH_BEGIN, 0, NFPROTO_UNSPEC, NFNL_SUBSYS_NFTABLES, &[]))
    }

    pub fn add(&mut self, kind: u16, flags: u16, within: impl FnOnce(&mut Writer)) {
        self.0.extend(one(kind, flags, within));
    }

    pub fn end(mut self) -> Vec<u8> {
        self.0.extend(message(NFNL_MSG_BATCH_END, 0, NFPROTO_UNSPEC, NFNL_SUBSYS_NFTABLES, &[]));
        self.0
    }
}

/// One of a rule's expressions.
fn expression(list: &mut Writer, name: &str, within: impl FnOnce(&mut Writer)) {
    list.nest(1, |element| {
        element.text(1, name);
        element.nest(2, within);
    });
}

fn compare(list: &mut Writer, operation: u32, value: &[u8]) {
    expression(list, "cmp", |cmp| {
        cmp.be32(1, REGISTER);
        cmp.be32(2, operation);
        cmp.nest(3, |data| data.bytes(1, value));
    });
}

/// Goes on where what is known of a packet is this, or is not.
pub(super) fn meta_is(list: &mut Writer, key: u32, is: bool, value: &[u8]) {
    expression(list, "meta", |meta| {
        meta.be32(1, REGISTER);
        meta.be32(2, key);
    });
    compare(list, if is { CMP_EQ } else { CMP_NEQ }, value);
}

/// Goes on where the packet is for a socket of a cgroup, or of one below it.
pub(super) fn socket_is_below(list: &mut Writer, level: u32, id: u64) {
    expression(list, "socket", |socket| {
        socket.be32(1, SOCKET_CGROUPV2);
        socket.be32(2, REGISTER);
        socket.be32(3, level);
    });
    compare(list, CMP_EQ, &id.to_ne_bytes());
}

/// Names an object that takes note of the packet.
pub(super) fn object(list: &mut Writer, kind: u32, name: &str) {
    expression(list, "objref", |objref| {
        objref.be32(1, kind);
        objref.bytes(2, name.as_bytes());
    });
}

/// Goes on above a rate.
pub(super) fn over(list: &mut Writer, packets: u64, per_s: u64, burst_packets: u32) {
    expression(list, "limit", |limit| {
        limit.be64(1, packets);
        limit.be64(2, per_s);
        limit.be32(3, burst_packets);
        limit.be32(4, LIMIT_PACKETS);
        limit.be32(5, LIMIT_OVER);
    });
}

/// What becomes of the packet.
pub(super) fn verdict(list: &mut Writer, code: u32) {
    expression(list, "immediate", |immediate| {
        immediate.be32(1, REGISTER_VERDICT);
        immediate.nest(2, |data| data.nest(2, |verdict| verdict.be32(1, code)));
    });
}

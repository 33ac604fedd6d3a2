// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Interfaces, addresses and queueing disciplines, by rtnetlink(7): what `ip` and `tc` do elsewhere. Of the thread's network namespace.

use std::ffi::CString;
use std::os::fd::OwnedFd;

use rustix::net::{recv, send, socket_with, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use crate::outcome::{At, Outcome};

/// linux/rtnetlink.h, linux/netlink.h, linux/if_link.h, linux/pkt_sched.h and their like.
const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWQDISC: u16 = 36;
const RTM_NEWTFILTER: u16 = 44;
const REQUEST_AND_ACK: u16 = 0x5;
const CREATE: u16 = 0x600;
const IFLA_IFNAME: u16 = 3;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_PID: u16 = 19;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const IFLA_GSO_MAX_SIZE: u16 = 41;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const INGRESS: u32 = 0xFFFF_FFF1;
const INGRESS_HANDLE: u32 = 0xFFFF_0000;
const ROOT: u32 = 0xFFFF_FFFF;

/// A message's body: a fixed part and attributes.
#[derive(Default)]
struct Body(Vec<u8>);

impl Body {
    fn words(words: &[u32]) -> Body {
        Body(words.iter().flat_map(|word| word.to_ne_bytes()).collect())
    }

    fn attribute(mut self, kind: u16, value: &[u8]) -> Body {
        self.0.extend(((4 + value.len()) as u16).to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    fn text(self, kind: u16, text: &str) -> Body {
        self.attribute(kind, &[text.as_bytes(), b"\0"].concat())
    }

    fn word(self, kind: u16, word: u32) -> Body {
        self.attribute(kind, &word.to_ne_bytes())
    }

    fn nested(self, kind: u16, inner: Body) -> Body {
        self.attribute(kind, &inner.0)
    }
}

/// A socket to one namespace's network.
pub struct Netlink(OwnedFd);

impl Netlink {
    /// To the calling thread's.
    pub fn open() -> Outcome<Netlink> {
        // NETLINK_ROUTE is 0, which is what no protocol means.
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None);
        Ok(Netlink(socket.at(|| "making a netlink socket".into())?))
    }

    fn ask(&self, kind: u16, flags: u16, body: &Body, what: &str) -> Outcome<()> {
        let mut message = Vec::new();
        message.extend(((16 + body.0.len()) as u32).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend((REQUEST_AND_ACK | flags).to_ne_bytes());
        message.extend([0; 8]);
        message.extend(&body.0);
        send(&self.0, &message, SendFlags::empty()).at(|| what.to_owned())?;
        let mut answer = [0u8; 4096];
        let (length, _) = recv(&self.0, &mut answer[..], RecvFlags::empty()).at(|| what.to_owned())?;
        let code = answer[..length].get(16..20).and_then(|code| code.try_into().ok()).map(i32::from_ne_bytes);
        match code {
            Some(0) => Ok(()),
            Some(code) => Err(format!("{what}: {}", std::io::Error::from_raw_os_error(-code))),
            None => Err(format!("{what}: the kernel's answer is too short")),
        }
    }

    /// A pair of interfaces, of which the second is in the namespace of a process. Neither passes more than a packet at a time, as a modem does.
    pub fn add_pair(&self, name: &str, peer: &str, pid: u32) -> Outcome<()> {
        let one = |body: Body| body.word(IFLA_GSO_MAX_SEGS, 1).word(IFLA_GSO_MAX_SIZE, 65536);
        let there = one(Body::words(&[0; 4]).text(IFLA_IFNAME, peer).word(IFLA_NET_NS_PID, pid));
        let info = Body::default().text(1, "veth").nested(2, Body::default().nested(1, there));
        let here = one(Body::words(&[0; 4]).text(IFLA_IFNAME, name)).nested(IFLA_LINKINFO, info);
        self.ask(RTM_NEWLINK, CREATE, &here, "making a pair of interfaces")
    }

    /// An interface whose queue incoming packets of another can be led through.
    pub fn add_ifb(&self, name: &str) -> Outcome<()> {
        let info = Body::default().text(1, "ifb");
        let link = Body::words(&[0; 4]).text(IFLA_IFNAME, name).nested(IFLA_LINKINFO, info);
        self.ask(RTM_NEWLINK, CREATE, &link, "making an ifb")
    }

    /// Switches an interface on.
    pub fn up(&self, interface: u32) -> Outcome<()> {
        self.ask(RTM_NEWLINK, 0, &Body::words(&[0, interface, 1, 1]), "switching an interface on")
    }

    /// Gives it an address of a network of 256.
    pub fn add_address(&self, interface: u32, address: [u8; 4]) -> Outcome<()> {
        let head = u32::from_ne_bytes([libc::AF_INET as u8, 24, 0, 0]);
        let body = Body::words(&[head, interface]).attribute(2, &address).attribute(1, &address);
        self.ask(RTM_NEWADDR, CREATE, &body, "giving an interface an address")
    }

    fn qdisc(&self, interface: u32, [handle, parent]: [u32; 2], kind: &str, options: Body) -> Outcome<()> {
        let body = Body::words(&[0, interface, handle, parent, 0]).text(TCA_KIND, kind).nested(TCA_OPTIONS, options);
        self.ask(RTM_NEWQDISC, CREATE & !0x200 | 0x100, &body, &format!("queueing by {kind}"))
    }

    /// What is sent by it is delayed, and passes at a rate (0: any) from a queue of so many packets, first come, first served.
    pub fn delay(&self, interface: u32, delay_ns: u64, bytes_per_s: u32, packets: u32) -> Outcome<()> {
        let mut options = Body::words(&[0, packets, 0, 0, 0, 0]).attribute(10, &delay_ns.to_ne_bytes());
        if bytes_per_s > 0 {
            options = options.nested(6, Body::words(&[bytes_per_s, 0, 0, 0]));
        }
        self.qdisc(interface, [0x1_0000, ROOT], "netem", options)
    }

    /// What is sent by it passes at a rate, by fq_codel.
    pub fn fq_codel(&self, interface: u32, bytes_per_s: u32) -> Outcome<()> {
        const ETHERNET: u32 = 1 << 8;
        const BURST_BYTES: u32 = 3028;
        let rate = [ETHERNET, 0, bytes_per_s];
        let parameters = Body::words(&[rate[0], rate[1], rate[2], 0, 0, 0, 1 << 20, 0, 0]);
        let options = Body::default().nested(1, parameters).word(6, BURST_BYTES);
        self.qdisc(interface, [0x1_0000, ROOT], "tbf", options)?;
        self.qdisc(interface, [0x2_0000, 0x1_0001], "fq_codel", Body::default())
    }

    /// What is sent by it passes at a rate, by cake.
    pub fn cake(&self, interface: u32, bytes_per_s: u64) -> Outcome<()> {
        let options = Body::default().attribute(2, &bytes_per_s.to_ne_bytes());
        self.qdisc(interface, [0x1_0000, ROOT], "cake", options)
    }

    /// Leads what comes in by an interface through another's queue.
    pub fn redirect(&self, interface: u32, through: u32) -> Outcome<()> {
        const ALL_PROTOCOLS_FIRST: u32 = 1 << 16 | 0x0300;
        const STOLEN: u32 = 4;
        const EGRESS_REDIRECT: u32 = 1;
        self.qdisc(interface, [INGRESS_HANDLE, INGRESS], "ingress", Body::default())?;
        let mirred = Body::default().nested(2, Body::words(&[0, 0, STOLEN, 0, 0, EGRESS_REDIRECT, through]));
        let action = Body::default().nested(1, Body::default().text(1, "mirred").nested(2, mirred));
        let head = Body::words(&[0, interface, 0, INGRESS_HANDLE, ALL_PROTOCOLS_FIRST]);
        let body = head.text(TCA_KIND, "matchall").nested(TCA_OPTIONS, Body::default().nested(2, action));
        self.ask(RTM_NEWTFILTER, CREATE, &body, "leading packets through another queue")
    }
}

/// The number of an interface; `None` if there is none of that name in the thread's namespace.
pub fn index(name: &str) -> Option<u32> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name ends in 0 and lives until the call has returned.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    (index > 0).then_some(index)
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A stream beside a download, over a link of which the other end is in another network namespace.

mod netlink;
pub mod peer;
mod playout;

use fovea_apps::Role;
use fovea_client::protocol::Request;
use fovea_scenario::{EventBody, Queue, Traffic};
use serde::Deserialize;

use crate::outcome::{At, Outcome};
use crate::phone::Phone;
use crate::program::Program;
use crate::readings::now_ns;
use crate::setup::{cgroup_path, APPS};
use netlink::{index, Netlink};

/// The interfaces of the link, and the one through which incoming packets are led.
const OURS: &str = "link0";
const PEER: &str = "link1";
const THROUGH: &str = "in0";
const RECEIVER: [u8; 4] = [10, 0, 0, 2];
const SENDER: [u8; 4] = [10, 0, 0, 1];

/// What a queue at the receiver is given of the link's rate, so that packets wait there and not before the link.
const SHAPED_PERCENT: u64 = 95;

/// Time for everybody to be there before the stream begins.
const BEGIN_NS: u64 = 1_000_000_000;

/// How much longer than planned all may take.
const PATIENCE_NS: u64 = 60_000_000_000;

#[derive(Deserialize)]
struct Said {
    #[serde(default)]
    degraded_ns: u64,
    bytes_by_second: Vec<u64>,
}

fn start(role: &str, cgroup: &str, traffic: &Traffic, began_ns: u64) -> Outcome<Program> {
    let plan = serde_json::to_string(traffic).at(|| "writing a plan".into())?;
    Program::start(cgroup, &["net", role, &plan, &began_ns.to_string()])
}

/// What a program says at its end.
fn said(program: &mut Program, phone: &mut Phone, deadline_ns: u64) -> Outcome<Said> {
    let line = program.line(phone, deadline_ns)?;
    serde_json::from_str(&line).at(|| format!("understanding {line}"))
}

/// The link, with what the configuration puts before the receiver.
fn link(sender: u32, traffic: &Traffic, queue: Option<Queue>) -> Outcome<()> {
    let netlink = Netlink::open()?;
    netlink.add_pair(OURS, PEER, sender)?;
    let find = |name: &str| index(name).ok_or_else(|| format!("no interface {name}"));
    let ours = find(OURS)?;
    netlink.add_address(ours, RECEIVER)?;
    netlink.up(ours)?;
    netlink.delay(ours, traffic.rtt_ns / 2, 0, 1000)?;
    let shaped = traffic.link_bytes_per_s * SHAPED_PERCENT / 100;
    let through = |queue: &dyn Fn(u32) -> Outcome<()>| {
        netlink.add_ifb(THROUGH)?;
        let through = find(THROUGH)?;
        netlink.up(through)?;
        queue(through)?;
        netlink.redirect(ours, through)
    };
    match queue {
        None | Some(Queue::Pfifo) => Ok(()),
        Some(Queue::FqCodel) => through(&|interface| netlink.fq_codel(interface, shaped as u32)),
        Some(Queue::Cake) => through(&|interface| netlink.cake(interface, shaped)),
    }
}

/// Follows the step.
pub fn run(phone: &mut Phone, traffic: &Traffic) -> Outcome<()> {
    let deadline_ns = now_ns() + PATIENCE_NS;
    let mut sender = start("sender", "system/sender", traffic, 0)?;
    expect(&sender.line(phone, deadline_ns)?, "ready")?;
    let pid = std::fs::read_to_string(cgroup_path("system/sender").join("cgroup.procs"));
    let pid = pid.at(|| "finding the sender".into())?.trim().parse().at(|| "finding the sender".into())?;
    link(pid, traffic, phone.plan.configuration.queue)?;
    expect(&sender.line(phone, deadline_ns)?, "listening")?;
    let began_ns = now_ns() + BEGIN_NS;
    let mut programs = Vec::new();
    for (role, app) in [("player", "player"), ("bulk", "download")] {
        let cgroup = format!("{APPS}/{app}");
        programs.push(start(role, &cgroup, traffic, began_ns)?);
        // Where what is in the background is frozen, a download is a service that tells its user so.
        let role = match role == "bulk" && phone.plan.configuration.combined.is_some() {
            true => Role::Service,
            false => Role::App,
        };
        let app = app.parse().at(|| "naming an app".into())?;
        let request = Request::Register { app, cgroup, role, io_class: None };
        phone.daemon.insist(&request)?;
    }
    // Nothing is said of classes: who is looked at must receive in time, who is not can wait.
    let focus = Request::Focus { app: "player".parse().at(|| "naming an app".into())? };
    phone.daemon.insist(&focus)?;
    let deadline_ns = began_ns + traffic.end_ns + PATIENCE_NS;
    let [mut player, mut bulk] = <[Program; 2]>::try_from(programs).map_err(|_| "there must be two".to_owned())?;
    let (stream, bursty) = (said(&mut player, phone, deadline_ns)?, said(&mut bulk, phone, deadline_ns)?);
    phone.channel.emit(EventBody::Traffic {
        degraded_ns: stream.degraded_ns,
        stream_bytes: stream.bytes_by_second,
        bursty_bytes: bursty.bytes_by_second,
    })
}

fn expect(line: &str, word: &str) -> Outcome<()> {
    match line == word {
        true => Ok(()),
        false => Err(format!("the sender said {line:?} when it should have said {word:?}")),
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The part of steps that only concerns apps in use, their device memory, and the eCache.

use std::collections::BTreeMap;

use fovea_scenario::{AppProfile, EventBody};

use crate::outcome::Outcome;
use crate::phone::{Answer, Phone};
use crate::readings::{now_ns, processes, Activity};
use crate::setup::{cgroup_path, DAEMON};
use crate::wire::{FromApp, ToApp};
use crate::{flash, merging, reserved};

/// The app whose launches are looked at by kind of file (eCache12, table 10).
const LOOKED_AT: &str = "movies";

/// An app that is in front is worked with.
pub fn work(phone: &mut Phone, name: &str, ns: u64) -> Outcome<()> {
    let end = now_ns() + ns;
    if phone.book.focused.as_deref() == Some(name) && phone.apps.contains_key(name) {
        // Already counted up by its opening.
        let turn = phone.book.turns.get(name).copied().unwrap_or(1).saturating_sub(1);
        let read_before = flash::read_bytes()?;
        phone.tell(name, &ToApp::Use { turn, ns })?;
        match phone.answer(name)? {
            Answer::Said(FromApp::Used(count)) => phone.channel.emit(EventBody::Used {
                app: name.to_owned(),
                read_bytes: flash::read_bytes()? - read_before,
                wrong_pages: count.wrong,
                verified_pages: count.checked,
            })?,
            Answer::Said(other) => return Err(format!("app {name} said {other:?} when it should have been used")),
            Answer::Ended => {}
        }
        report(phone, name)?;
    }
    phone.pass(end.saturating_sub(now_ns()))
}

/// An app goes to the background; if it holds device memory, that is given back before anything else happens.
pub fn background(phone: &mut Phone, name: &str, churn: bool) -> Outcome<()> {
    let waits = phone.apps.contains_key(name) && phone.plan.apps.iter().any(|a| a.name == name && a.has_buffers());
    phone.tell(name, &ToApp::Background { churn })?;
    if !waits {
        return Ok(());
    }
    match phone.answer(name)? {
        Answer::Said(FromApp::Released {}) | Answer::Ended => Ok(()),
        Answer::Said(other) => Err(format!("app {name} said {other:?} when it should have given its buffers back")),
    }
}

/// Has an app that uses devices tell what it allocated.
pub fn report(phone: &mut Phone, name: &str) -> Outcome<()> {
    let uses_devices = phone.plan.apps.iter().any(|a| a.name == name && a.has_buffers());
    if !uses_devices || !phone.apps.contains_key(name) {
        return Ok(());
    }
    phone.tell(name, &ToApp::Log {})?;
    match phone.answer(name)? {
        Answer::Said(FromApp::Log { buffers }) if buffers.is_empty() => Ok(()),
        Answer::Said(FromApp::Log { buffers }) => {
            phone.channel.emit(EventBody::Buffers { app: name.to_owned(), buffers })
        }
        Answer::Said(other) => Err(format!("app {name} said {other:?} when it should have told of its buffers")),
        Answer::Ended => Ok(()),
    }
}

/// Reports memory and, with it, the eCache.
pub fn sample(phone: &mut Phone, label: &str) -> Outcome<()> {
    phone.sample(label)?;
    pool(phone, label)?;
    if phone.plan.configuration.combined.is_some() {
        let daemon = processes(&cgroup_path(DAEMON)).into_iter().map(|pid| Activity::of(pid).peak_bytes).sum();
        let written_bytes = flash::written_bytes()?;
        phone.channel.emit(EventBody::Wrote { label: label.to_owned(), written_bytes, daemon_bytes: daemon })?;
    }
    if phone.plan.configuration.merging.is_some() {
        phone.channel.emit(EventBody::Merging { label: label.to_owned(), values: merging::values()? })?;
    }
    let kinds = match phone.trace.as_mut() {
        Some(trace) if label == "begin" => return trace.mark(),
        Some(trace) => trace.all()?,
        None => return Ok(()),
    };
    phone.channel.emit(EventBody::FileKinds { label: "boot".into(), kinds })
}

fn pool(phone: &mut Phone, label: &str) -> Outcome<()> {
    match reserved::pool(&phone.plan)? {
        Some(values) => phone.channel.emit(EventBody::Pool { label: label.to_owned(), values }),
        None => Ok(()),
    }
}

/// The eCache before an app that takes memory from it is opened, and hits by file before a launch that is looked at.
pub fn before_open(phone: &mut Phone, profile: &AppProfile) -> Outcome<Option<BTreeMap<u64, [u64; 2]>>> {
    if profile.has_buffers() {
        pool(phone, "open")?;
    }
    match &phone.trace {
        Some(trace) if profile.name == LOOKED_AT => trace.read().map(Some),
        _ => Ok(None),
    }
}

/// Hits by file during a launch.
pub fn after_open(phone: &mut Phone, profile: &AppProfile, before: Option<BTreeMap<u64, [u64; 2]>>) -> Outcome<()> {
    let (Some(trace), Some(before)) = (&phone.trace, before) else { return Ok(()) };
    let kinds = trace.since(&before)?;
    phone.channel.emit(EventBody::FileKinds { label: profile.name.clone(), kinds })
}

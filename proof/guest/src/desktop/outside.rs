// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Somebody beside the user's apps, as seen by who plays the user: started in its unit, watched,
//! and asked for what is left at the end.

use std::collections::BTreeMap;
use std::fs::{File, Permissions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use fovea_client::protocol::Request;
use fovea_scenario::outsider::{Leaks, Unit, LEAKER, SIBLINGS};
use fovea_scenario::{Daemon, EventBody, Meanwhile, Outsider};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::net::{accept, bind, listen, socket_with, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::outsider::{FromOutsider, ToOutsider, ADDRESS, WORD};
use super::session::{MANAGER, USER};
use super::{interact, owner, scores, window};
use crate::files::FLASH_ROOT;
use crate::outcome::{write_file, At, Outcome};
use crate::phone::Phone;
use crate::readings::now_ns;
use crate::setup::cgroup_path;
use crate::spawn::{self, Setting, User};
use crate::wire::{self, receive, send, Count};

/// Words that make of this program one that looks for names.
pub const DENTRIES: &str = "dentries";

/// Where whoever plays the user is, from where the system's systemd takes what becomes a scope.
pub(super) const SESSION: &str = "system.slice/fovea-session.service";

/// How long it may take to start, or to answer.
const LIMIT_S: i64 = 120;

/// Somebody beside the apps.
#[derive(Debug)]
pub struct Outside {
    /// Its unit.
    pub unit: Unit,
    /// Its processes that live, by name: PID and socket. An end of the socket is the end of the
    /// process.
    pub living: BTreeMap<&'static str, (u32, OwnedFd)>,
    /// When the leaker ended.
    ended_ns: Option<u64>,
    /// For how long the user worked beside it.
    watched_ns: u64,
    /// Processes that were seen below their score.
    pub scores_below: u32,
}

/// Starts it, and waits until each of its processes has the memory that it begins with.
pub fn start(phone: &mut Phone, outsider: &Outsider) -> Outcome<()> {
    let unit = outsider.place.unit();
    let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .at(|| "making a socket".into())?;
    bind(&listener, &SocketAddrUnix::new(ADDRESS).at(|| ADDRESS.into())?).at(|| format!("binding {ADDRESS}"))?;
    std::fs::set_permissions(ADDRESS, Permissions::from_mode(0o666)).at(|| ADDRESS.into())?;
    listen(&listener, 1).at(|| format!("listening at {ADDRESS}"))?;
    // Whoever is started anew is told again what it is.
    let anew = (outsider.leaks == Leaks::Anew).then(|| serde_json::to_string(outsider).at(|| "naming a leaker".into()));
    let anew = anew.transpose()?;
    let words: Vec<&str> = [WORD].into_iter().chain(anew.as_deref()).collect();
    run_in(&unit, &words, anew.is_some())?;
    await_readable(&listener)?;
    let shell = accept(&listener).at(|| format!("accepting at {ADDRESS}"))?;
    let (unsaved, its) = wire::pair()?;
    let (leaker, leakers) = wire::pair()?;
    let setup = ToOutsider::Setup { outsider: *outsider, seed: phone.plan.seed };
    send(&shell, &setup, &[std::os::fd::AsFd::as_fd(&its), std::os::fd::AsFd::as_fd(&leakers)])?;
    drop((its, leakers));
    let mut living = BTreeMap::new();
    for (name, socket) in [(SIBLINGS[0], shell), (SIBLINGS[1], unsaved), (LEAKER, leaker)] {
        if anew.is_some() && name != LEAKER {
            continue;
        }
        match answer(&socket)? {
            Some(FromOutsider::Here { pid }) => drop(living.insert(name, (pid, socket))),
            other => return Err(format!("{name} said {other:?} when it should have said that it is there")),
        }
    }
    let cgroup =
        std::fs::read_to_string(format!("/proc/{}/cgroup", living[LEAKER].0)).at(|| "reading a cgroup".into())?;
    if cgroup.trim_end() != format!("0::/{}", unit.cgroup()) {
        return Err(format!("{LEAKER} is in {}: it should be in {}", cgroup.trim_end(), unit.cgroup()));
    }
    if outsider.has_window && phone.plan.configuration.daemon != Daemon::Absent {
        window::adopted(living[LEAKER].0)?;
    }
    if outsider.growth.first_pages > 0 {
        // It has taken what it takes.
        phone.channel.emit(EventBody::Leaking { app: LEAKER.into() })?;
    }
    let Some(session) = &mut phone.desktop else { return Err("this is no desktop".into()) };
    session.outside = Some(Outside { unit, living, ended_ns: None, watched_ns: 0, scores_below: 0 });
    Ok(())
}

/// Runs this program in a unit, as systemd and the desktops' programs do.
fn run_in(unit: &Unit, words: &[&str], anew: bool) -> Outcome<()> {
    let path = cgroup_path(SESSION);
    let by_user = cgroup_path(MANAGER).join("init.scope");
    let path = if unit.by_user { by_user } else { path };
    let cgroup = File::open(&path).at(|| format!("opening {}", path.display()))?;
    let (slice, name) = (format!("--slice={}", unit.slice), format!("--unit={}", unit.name));
    let (uid, gid) = (format!("--uid={}", unit.uid), format!("--gid={}", unit.uid));
    let adj = format!("--property=OOMScoreAdjust={}", unit.oom_score_adj);
    let mut args = vec!["systemd-run", "--quiet", "--collect", &slice, &name];
    match (unit.by_user, unit.is_service()) {
        (true, false) => args.extend(["--user", "--scope"]),
        (true, true) => args.extend(["--user", &adj]),
        (false, false) => args.extend(["--scope", &uid, &gid]),
        (false, true) => args.extend([&*adj, &uid, &gid]),
    }
    if anew {
        args.extend(["--property=Restart=always", "--property=RestartSec=100ms"]);
    }
    args.push("/init");
    args.extend(words);
    let root = User { id: 0, environment: &[], oom_score_adj: unit.oom_score_adj };
    let user = Some(if unit.by_user { User { oom_score_adj: unit.oom_score_adj, ..USER } } else { root });
    let setting = Setting { user, ..Setting::default() };
    spawn::exec_into(&cgroup, Path::new("/usr/bin/systemd-run"), &args, setting).map(drop)
}

fn await_readable(what: &OwnedFd) -> Outcome<()> {
    let limit = Timespec { tv_sec: LIMIT_S, tv_nsec: 0 };
    match poll(&mut [PollFd::new(what, PollFlags::IN)], Some(&limit)).at(|| "waiting for an outsider".into())? {
        0 => Err(format!("an outsider said nothing within {LIMIT_S} s: see the console")),
        _ => Ok(()),
    }
}

fn answer(socket: &OwnedFd) -> Outcome<Option<FromOutsider>> {
    await_readable(socket)?;
    Ok(receive(socket)?.map(|(message, _)| message))
}

/// Has the leaker begin, and the user work with one app after the other until it has ended for a
/// while, or for long enough.
pub fn grow(phone: &mut Phone, meanwhile: &Meanwhile) -> Outcome<()> {
    let began_ns = now_ns();
    let Some(outside) = outside(phone) else { return Err("no outsider has started".into()) };
    if let Some((_, socket)) = outside.living.get(LEAKER) {
        send(socket, &ToOutsider::Begin {}, &[])?;
        phone.channel.emit(EventBody::Leaking { app: LEAKER.into() })?;
    }
    let limit_ns = began_ns + meanwhile.limit_ns;
    for app in meanwhile.apps.iter().cycle() {
        let until_ns = match outside_of(phone).ended_ns {
            Some(ended_ns) => limit_ns.min(ended_ns.max(began_ns) + meanwhile.after_ns),
            None => limit_ns,
        };
        if now_ns() >= until_ns {
            break;
        }
        if meanwhile.to_and_fro {
            look_at_leaker(phone, meanwhile)?;
        }
        let next_ns = now_ns() + meanwhile.period_ns;
        interact::run(phone, app, meanwhile.interactions, meanwhile.period_ns, meanwhile.touch)?;
        // An app that cannot be opened is given up at once.
        phone.pass(next_ns.saturating_sub(now_ns()))?;
    }
    outside_of(phone).watched_ns = now_ns() - began_ns;
    Ok(())
}

/// The leaker is in front for as long as an app is.
fn look_at_leaker(phone: &mut Phone, meanwhile: &Meanwhile) -> Outcome<()> {
    let Some(&(pid, _)) = outside_of(phone).living.get(LEAKER) else { return Ok(()) };
    if phone.plan.configuration.daemon != Daemon::Absent {
        phone.daemon.insist(&Request::Windows { front: Some(pid), visible: vec![pid] })?;
    }
    phone.pass(u64::from(meanwhile.interactions) * meanwhile.period_ns)
}

fn outside(phone: &mut Phone) -> Option<&mut Outside> {
    phone.desktop.as_mut()?.outside.as_mut()
}

/// Where it has been started.
pub fn outside_of(phone: &mut Phone) -> &mut Outside {
    outside(phone).expect("steps that need an outsider begin with asking for one")
}

impl Phone {
    /// Where each of its processes tells of its end.
    pub fn outside_sockets(&self) -> impl Iterator<Item = &OwnedFd> {
        let outside = self.desktop.iter().flat_map(|session| &session.outside);
        outside.flat_map(|outside| outside.living.values().map(|(_, socket)| socket))
    }

    /// Takes those of its processes that have ended.
    pub fn outside_ended(&mut self) -> Outcome<()> {
        let Some(outside) = outside(self) else { return Ok(()) };
        let mut ended = Vec::new();
        for (&name, (_, socket)) in &outside.living {
            let mut fd = [PollFd::new(socket, PollFlags::empty())];
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            let is_over = matches!(poll(&mut fd, Some(&now)), Ok(1..)) && fd[0].revents().contains(PollFlags::HUP);
            ended.extend(is_over.then_some(name));
        }
        for name in ended {
            let outside = outside_of(self);
            outside.living.remove(name);
            if name == LEAKER {
                outside.ended_ns = Some(now_ns());
            }
            let oom = self.by_oom_killer()?;
            if let Some(session) = &mut self.desktop {
                session.kills += u64::from(!oom);
            }
            println!("fovea-guest: {name} ended{}", if oom { " (OOM killer)" } else { "" });
            self.channel.emit(EventBody::Killed { app: name.into(), oom })?;
        }
        Ok(())
    }
}

/// Has a service of the system's make entries of the kernel's cache of names, and waits for its
/// end.
pub fn dentries(names: u64) -> Outcome<()> {
    // With huge pages the kernel keeps so much free that it forgets the names before anybody could
    // take them for memory in use.
    write_file("/sys/kernel/mm/transparent_hugepage/enabled", "never")?;
    let count = names.to_string();
    let args = ["--quiet", "--collect", "--wait", "--unit=updatedb.service", "/init", DENTRIES, &count];
    let output = std::process::Command::new("/usr/bin/systemd-run").args(args).output();
    let output = output.at(|| "running systemd-run".into())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("looking for names: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// Looks for names that are not there, on the flash: the kernel remembers each.
pub fn look_for_names() -> ! {
    let count: u64 = std::env::args().nth(2).and_then(|count| count.parse().ok()).unwrap_or(0);
    for number in 0..count {
        // Longer than what a dentry has room for: its name is memory of its own.
        let name = format!("{FLASH_ROOT}/a-name-that-is-not-there-and-that-is-longer-than-forty-{number}");
        std::hint::black_box(std::fs::symlink_metadata(&name).is_ok());
    }
    std::process::exit(0);
}

/// Reports what is left, once the daemon has stopped.
pub fn finish(phone: &mut Phone) -> Outcome<()> {
    phone.catch_up()?;
    if outside(phone).is_none() {
        return Ok(());
    }
    let (mut lost, mut pages) = (0, Count::default());
    for name in SIBLINGS {
        match outside_of(phone).living.get(name) {
            Some((_, socket)) => {
                send(socket, &ToOutsider::Verify {}, &[])?;
                match answer(socket)? {
                    Some(FromOutsider::Checked(count)) => pages += count,
                    None => lost += 1,
                    other => return Err(format!("{name} said {other:?} when it should have checked its pages")),
                }
            }
            None => lost += 1,
        }
    }
    phone.channel.emit(EventBody::Used {
        app: SIBLINGS[1].into(),
        read_bytes: 0,
        wrong_pages: pages.wrong,
        verified_pages: pages.checked,
    })?;
    if phone.plan.configuration.daemon != Daemon::Absent {
        scores::systemctl(&["stop", "fovea.service"])?;
    }
    owner::report(phone)?;
    let (changed, scores) = scores::changed(phone);
    let outside = outside_of(phone);
    let body = EventBody::Outsider {
        watched_ns: outside.watched_ns,
        leaker_ended: !outside.living.contains_key(LEAKER),
        siblings_lost: lost,
        scores_changed: changed,
        scores,
        scores_below: outside.scores_below,
    };
    phone.channel.emit(body)
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Opening what the loop waits for.

use fovea_client::protocol::SOCKET_NAME;
use fovea_linux::psi::Kind;
use fovea_linux::Probe;
use rustix::event::epoll::EventFlags;

use super::*;

/// What the mechanisms need and this machine lacks, each in one line. What shows when it is set up (PSI, cgroup v2, zram) is not among it.
fn lacks(system: &System) -> Vec<String> {
    let report = system.check();
    // Without cgroup v2 there are no controllers either, and no need to say it twice.
    if report.row("cgroup2").is_some_and(|row| row.state == State::Missing) {
        return Vec::new();
    }
    engine::lacks::<System>(&report)
}

/// The control socket of a run folder: for its owner alone, and nobody makes the daemon wait there.
fn listen(run_folder: &Path) -> std::io::Result<OwnedFd> {
    let listener = socket::listen_at(&run_folder.join(SOCKET_NAME), 0o600)?;
    rustix::io::ioctl_fionbio(&listener, true)?;
    Ok(listener)
}

/// Runs the daemon until it is told to stop. Restoring the device is the caller's part.
pub fn work(loaded: Loaded, signals: Signals) -> Result<(), String> {
    let Loaded { mut config, problems } = loaded;
    let mut missing = Vec::new();
    let acts = config.daemon.act;
    // Whom a source is told to make a scope for is moved into it.
    config.daemon.windows_make_apps &= acts;
    let system = System::new().map_err(|e| e.to_string())?;
    let system = if acts { system } else { system.that_only_looks() };
    let system = system.with_media_at(&config.daemon.media_root);
    let (mut system, probing) = system.with_probe(Probe::for_loop());
    if let Err(e) = probing {
        missing.push(format!("probe: {e}: who plays, and who uses which service, is not known while there is none"));
    }
    let run_folder = config.daemon.run_folder.clone();
    let listener = listen(&run_folder).map_err(|e| match e.kind() {
        std::io::ErrorKind::Other => format!("{}: {e}", run_folder.display()),
        _ => format!("{}: {e}: make the folder writable", run_folder.display()),
    })?;

    let trigger = match system.pressure_trigger(Kind::Some, config.daemon.psi_stall_us, crate::config::PSI_WINDOW_US) {
        Ok(trigger) => Some(trigger),
        Err(e) => {
            missing.push(format!("psi: {e}"));
            None
        }
    };
    let watcher = match system
        .cgroup_mount()
        .map_err(|e| e.to_string())
        .and_then(|m| Watcher::new(&m, |line| say!("fovea: {line}")).map_err(|e| e.to_string()))
    {
        Ok(watcher) => Some(watcher),
        Err(e) => {
            missing.push(format!("cgroup v2: {e}"));
            None
        }
    };
    let media = match system.media_watch() {
        Ok(media) => Some(media),
        Err(e) => {
            missing.push(format!("sound and video: {e}: a camera that is opened from now on is not seen"));
            None
        }
    };
    let news = match config.watch.notifications.then(|| news::News::open(&run_folder)).transpose() {
        Ok(news) => news,
        Err(e) => {
            missing.push(format!("notifications: {}: {e}", run_folder.display()));
            None
        }
    };
    missing.extend(lacks(&system));
    missing.iter().for_each(|what| say!("fovea: going on without {what}"));
    problems.iter().for_each(|problem| say!("fovea: {problem}"));
    // Locked and last to be killed, or else the shortage it is there to end would stop it first.
    system.lock_memory().and_then(|()| system.set_self_oom_protection()).unwrap_or_else(|e| say!("fovea: {e}"));

    let file_error = |e: std::io::Error| format!("{}: {e}", run_folder.display());
    let journal = Journal::open(&config.journal_path(), config.daemon.journal_max_bytes)
        .map_err(|e| format!("{}: {e}: name a writable journal in [daemon]", config.journal_path().display()))?;
    let journal = journal.with_acts(acts);
    let undo = UndoLog::open(&run_folder).map_err(file_error)?;
    let undo = if acts { undo } else { undo.that_writes_nothing() };
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|e| file_error(e.into()))?;
    let add = |fd: &dyn AsFd, source: Source, flags| {
        epoll::add(&epoll, fd.as_fd(), source.data(), flags).map_err(|e| file_error(e.into()))
    };
    add(&listener, Source::Listener, EventFlags::IN)?;
    add(&signals.stop, Source::Signal, EventFlags::IN)?;
    add(&signals.reload, Source::Reload, EventFlags::IN)?;
    if let Some(trigger) = &trigger {
        add(trigger, Source::Pressure, EventFlags::PRI)?;
    }
    if let Some(watcher) = &watcher {
        add(&watcher.fd(), Source::Cgroups, EventFlags::IN)?;
    }
    if let Some(media) = &media {
        add(&media.fd(), Source::Media, EventFlags::IN)?;
    }
    if let Some(news) = &news {
        add(&news.fd(), Source::News, EventFlags::IN)?;
    }
    let own_cgroup = system.cgroup_of(std::process::id()).ok().flatten().filter(|own| !own.is_empty());
    let discover = config.daemon.discover;
    let syslog = Syslog::at(Path::new("/dev/log"));
    let journal_path = config.journal_path();
    let engine = Engine::new(system, config, journal, undo, missing).with_syslog(syslog).with_problems(problems);
    let polls_memory = trigger.is_none();
    let mut engine = engine.polls_memory(polls_memory);
    engine.set_up(now_ns()).map_err(|e| e.to_string())?;
    let mut all = Loop {
        epoll,
        engine,
        watcher,
        media,
        news,
        listener,
        signals,
        journal_path,
        telling: Arc::default(),
        unread: false,
        _trigger: trigger,
        clients: BTreeMap::new(),
        sources: BTreeSet::new(),
        of_user: BTreeMap::new(),
        only_ask: BTreeSet::new(),
        followers: BTreeSet::new(),
        victims: BTreeMap::new(),
        real_time: RealTime::new(polls_memory, now_ns()),
        media_change: MediaChange::default(),
        media_due_ns: None,
        media_looked_ns: None,
        media_rate: Rate::per_minute(limits::PERCEIVED_PER_MIN, limits::PERCEIVED_AT_ONCE, now_ns()),
        next_id: FIRST_ID,
        own_cgroup,
        renamed: Vec::new(),
        stopping: false,
    };
    if discover {
        let seen = all.watcher.as_mut().map(Watcher::discover).unwrap_or_default();
        all.seen(seen);
    }
    // First on the CPU too: between a pressure event and the kill signal nobody else should run.
    // Where nothing is done, nobody waits for it.
    if acts {
        System::run_first().unwrap_or_else(|e| say!("fovea: {e}: a kill may have to wait for the CPU"));
    } else {
        say!("fovea: [daemon] act = false: what is decided is written to the journal, and nothing is done");
    }
    all.run()
}

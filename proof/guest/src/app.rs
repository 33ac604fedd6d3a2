// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! An app: does what its profile says when it is told to, and sleeps otherwise.

use std::os::fd::OwnedFd;
use std::path::Path;

use fovea_scenario::{AppProfile, FileUse, Load, Touch, PAGE_BYTES};
use rustix::event::{poll, PollFd, PollFlags};
use rustix::time::{
    timerfd_create, timerfd_settime, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec,
};

use crate::activity::{self, Devices};
use crate::buffers::sleep_ns;
use crate::files::{UsedFile, FLASH_ROOT};
use crate::memory::Anon;
use crate::outcome::{At, Outcome};
use crate::pagemap::Pagemap;
use crate::spin::spin;
use crate::touch::touch_set;
use crate::wire::{receive, send, Count, FromApp, ToApp};
use crate::zygote::Preloaded;
use crate::{hash, load, spawn};

/// Of the pages that a resume touches, one in so many is written, the others are read.
const REWRITE_ONE_IN: u64 = 4;

/// The app's life; its socket is descriptor 3. It ends when the first process closes its side.
pub fn run(preloaded: Preloaded) -> ! {
    let socket = spawn::inherited_socket();
    match live(&socket, preloaded) {
        Ok(()) => std::process::exit(0),
        Err(error) => {
            eprintln!("fovea-guest: app: {error}");
            std::process::exit(1);
        }
    }
}

/// What an app keeps.
struct App {
    profile: AppProfile,
    seed: u64,
    exact: bool,
    /// It computes between its files, and not after them.
    spreads: bool,
    anon: Anon,
    preloaded: Preloaded,
    shared: Vec<UsedFile>,
    private: Vec<UsedFile>,
    pagemap: Pagemap,
    devices: Devices,
    churn: Churn,
}

fn live(socket: &OwnedFd, preloaded: Preloaded) -> Outcome<()> {
    let Some((ToApp::Setup { profile, seed, exact, spreads }, _)) = receive(socket)? else {
        return Err("the first message must be the app's profile".into());
    };
    // For `ps` and the kernel's messages; the kernel keeps the first 15 characters.
    let name = std::ffi::CString::new(profile.name.as_str()).at(|| "naming the process".into())?;
    rustix::thread::set_name(&name).at(|| "naming the process".into())?;
    let pages = profile.anon_bytes.div_ceil(PAGE_BYTES as u64);
    let mut app = App {
        anon: Anon::new(pages, profile.mix, seed)?,
        churn: Churn::new(&profile, pages, seed)?,
        profile: *profile,
        seed,
        exact,
        spreads,
        preloaded,
        shared: Vec::new(),
        private: Vec::new(),
        pagemap: Pagemap::open()?,
        devices: Devices::default(),
    };
    loop {
        let (told, ticked) = {
            let mut fds = [PollFd::new(socket, PollFlags::IN), PollFd::new(&app.churn.timer, PollFlags::IN)];
            match poll(&mut fds, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(format!("waiting for a message: {error}")),
            }
            (!fds[0].revents().is_empty(), fds[1].revents().contains(PollFlags::IN))
        };
        // Messages first: an app that comes to the screen does not first do its background work.
        if told {
            let Some((message, _)) = receive(socket)? else { return Ok(()) };
            app.obey(message, socket)?;
        } else if ticked {
            app.churn.turn(&mut app.anon)?;
        }
    }
}

impl App {
    fn obey(&mut self, message: ToApp, socket: &OwnedFd) -> Outcome<()> {
        match message {
            ToApp::Setup { .. } => return Err("a second profile: an app is set up once".into()),
            ToApp::Launch { turn } => {
                let count = self.launch(turn)?;
                send(socket, &FromApp::Ready(count), &[])?;
                (0..self.anon.pages()).for_each(|page| self.anon.fill(page));
                self.devices.fill()?;
                load::begin(&self.profile, self.seed, self.exact)?;
            }
            ToApp::Resume { turn } => {
                self.churn.stop()?;
                let count = self.resume(turn)?;
                send(socket, &FromApp::Ready(count), &[])?;
                self.devices.fill()?;
            }
            ToApp::Interact { turn, touch } => {
                let mut count = self.touch_files(touch, turn)?;
                count += self.touch_anon(touch, turn);
                send(socket, &FromApp::Ready(count), &[])?;
            }
            ToApp::Use { turn, ns } => {
                let count = self.work(turn, ns)?;
                send(socket, &FromApp::Used(count), &[])?;
            }
            ToApp::Log {} => {
                send(socket, &FromApp::Log { buffers: self.devices.log() }, &[])?;
            }
            ToApp::Background { churn } => {
                self.churn.start(churn)?;
                if self.profile.has_buffers() {
                    self.devices.release();
                    send(socket, &FromApp::Released {}, &[])?;
                }
            }
            ToApp::Verify {} => {
                let mut count = self.anon.verify(&self.pagemap)?;
                count += self.preloaded.verify(&self.pagemap)?;
                count += self.devices.verify()?;
                send(socket, &FromApp::Checked(count), &[])?;
            }
            ToApp::Grow { pages } => {
                let first = self.anon.pages();
                self.anon.grow(pages)?;
                (first..first + pages).for_each(|page| self.anon.fill(page));
                send(socket, &FromApp::Ready(Count::default()), &[])?;
            }
        }
        Ok(())
    }

    /// Loads files, uses the preloaded pages, fills its first memory and computes.
    fn launch(&mut self, turn: u64) -> Outcome<Count> {
        let root = Path::new(FLASH_ROOT);
        self.shared = open_all(root, &self.profile.shared_files)?;
        self.private = open_all(root, &self.profile.private_files)?;
        let touch = self.profile.launch;
        let files = (self.shared.len() + self.private.len()).max(1) as u64;
        let (between, after) = match self.spreads {
            true => (touch.compute_insns / files, touch.compute_insns % files),
            false => (0, touch.compute_insns),
        };
        let count = self.touch_files_of(touch, self.seed, turn, between)?;
        self.touch_preloaded(touch, turn);
        self.take_devices();
        for run in touch_set(self.anon.pages(), touch.anon_percent, self.seed, turn) {
            run.for_each(|page| self.anon.fill(page));
        }
        spin(after, self.exact);
        Ok(count)
    }

    /// Comes back: reads and checks what it needs, writes some of it, and computes.
    fn resume(&mut self, turn: u64) -> Outcome<Count> {
        let touch = self.profile.resume;
        let count = self.touch_files(touch, turn)?;
        self.touch_preloaded(touch, turn);
        self.take_devices();
        // Wrong pages are counted by the verification that follows; here the reading itself is what matters.
        self.touch_anon(touch, turn);
        Ok(count)
    }

    /// Reads and writes its own memory, and computes; counts pages that were wrong.
    fn touch_anon(&mut self, touch: Touch, turn: u64) -> Count {
        let mut count = Count::default();
        for run in touch_set(self.anon.pages(), touch.anon_percent, self.seed, turn) {
            for page in run {
                if hash::mix64(page ^ self.seed) % REWRITE_ONE_IN == 0 {
                    self.anon.rewrite(page);
                } else if let Some(right) = self.anon.check(page) {
                    count.page(right);
                }
            }
        }
        spin(touch.compute_insns, self.exact);
        count
    }

    /// Device memory is allocated in the middle of launching (eCache12, section 5.3): files are read before, the app's own memory is
    /// used and things are computed afterwards.
    fn take_devices(&mut self) {
        if let Some(activity) = &self.profile.activity {
            self.devices.take(&activity.buffers, self.seed);
        }
    }

    /// Is worked with, in front.
    fn work(&mut self, turn: u64, ns: u64) -> Outcome<Count> {
        let Some(activity) = self.profile.activity.take() else {
            sleep_ns(ns);
            return Ok(Count::default());
        };
        let mut devices = std::mem::take(&mut self.devices);
        let touch = activity.screens.touch;
        let done = activity::follow(&activity, &mut devices, self.seed, turn, ns, |screen| {
            let count = self.touch_files_of(touch, hash::mix64(self.seed ^ hash::mix64(screen + 1)), turn, 0)?;
            spin(touch.compute_insns, self.exact);
            Ok(count)
        });
        self.devices = devices;
        self.profile.activity = Some(activity);
        done
    }

    fn touch_files(&self, touch: Touch, turn: u64) -> Outcome<Count> {
        self.touch_files_of(touch, self.seed, turn, 0)
    }

    /// Computes so long after each file.
    fn touch_files_of(&self, touch: Touch, seed: u64, turn: u64, insns: u64) -> Outcome<Count> {
        let mut count = Count::default();
        for (files, percent) in [(&self.shared, touch.shared_percent), (&self.private, touch.private_percent)] {
            for file in files {
                count += file.touch(percent, seed, turn)?;
                spin(insns, self.exact);
            }
        }
        Ok(count)
    }

    /// Preloaded classes are used in the same share as the app's own memory.
    fn touch_preloaded(&self, touch: Touch, turn: u64) {
        for run in touch_set(self.preloaded.pages(), touch.anon_percent, self.seed, turn) {
            for page in run {
                std::hint::black_box(self.preloaded.check(page));
            }
        }
    }
}

fn open_all(root: &Path, uses: &[FileUse]) -> Outcome<Vec<UsedFile>> {
    uses.iter().map(|usage| UsedFile::open(root, usage)).collect()
}

/// Background writing: every period the next pages of the set that a resume touches, round and round.
struct Churn {
    timer: OwnedFd,
    pages: u64,
    period_ns: u64,
    set: Vec<u64>,
    next: usize,
    /// Pages that a leak takes at each turn.
    leak_pages: u64,
}

impl Churn {
    fn new(profile: &AppProfile, pages: u64, seed: u64) -> Outcome<Self> {
        let churn = profile.churn;
        let set = if churn.pages == 0 || churn.period_ns == 0 {
            Vec::new()
        } else {
            touch_set(pages, profile.resume.anon_percent.max(1), seed, 0).into_iter().flatten().collect()
        };
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)
            .at(|| "making a timer".into())?;
        let (period_ns, leak_pages) = match profile.load {
            Some(Load::Leak { pages, period_ns }) => (period_ns, pages),
            _ => (churn.period_ns, 0),
        };
        Ok(Self { timer, pages: churn.pages, period_ns, set, next: 0, leak_pages })
    }

    /// Begins (or, for an app that has nothing to write, does not).
    fn start(&self, wanted: bool) -> Outcome<()> {
        self.set_period(if wanted && (self.leak_pages > 0 || !self.set.is_empty()) { self.period_ns } else { 0 })
    }

    fn stop(&self) -> Outcome<()> {
        self.set_period(0)
    }

    fn set_period(&self, period_ns: u64) -> Outcome<()> {
        let period = Timespec { tv_sec: (period_ns / 1_000_000_000) as i64, tv_nsec: (period_ns % 1_000_000_000) as _ };
        let timer = Itimerspec { it_interval: period, it_value: period };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &timer).at(|| "setting a timer".into())?;
        Ok(())
    }

    /// One turn, however many periods passed meanwhile: a frozen app does not catch up.
    fn turn(&mut self, anon: &mut Anon) -> Outcome<()> {
        match rustix::io::read(&self.timer, &mut [0u8; 8]) {
            Ok(_) => {}
            Err(rustix::io::Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(format!("reading a timer: {error}")),
        }
        if self.leak_pages > 0 {
            let first = anon.pages();
            anon.grow(self.leak_pages)?;
            (first..anon.pages()).for_each(|page| anon.fill(page));
        }
        for _ in 0..self.pages.min(self.set.len() as u64) {
            anon.rewrite(self.set[self.next]);
            self.next = (self.next + 1) % self.set.len();
        }
        Ok(())
    }
}

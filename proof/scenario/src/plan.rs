// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A plan: what one boot of the phone does, step by step. The guest interprets it and knows no scenario.

use serde::{Deserialize, Serialize};

use crate::{
    AppProfile, Configuration, Daemon, DiskLoad, Flash, Forks, Importers, Meanwhile, Outsider, PhoneProfile, TierLoad,
    Touch,
};

/// What a desktop swaps to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Swap {
    /// Compressed memory, as Debian's zram-tools sets it up: lz4, half of the memory.
    Zram,
    /// A partition of the same size on storage as fast as the flash.
    Disk,
    /// Nothing.
    None,
    /// zram0, whose owner chose its algorithm before the daemon began, and sets its size up afterwards.
    Owned,
}

impl Swap {
    /// The name of the case.
    pub fn name(self) -> &'static str {
        match self {
            Swap::Zram => "zram",
            Swap::Disk => "disk",
            Swap::None => "none",
            Swap::Owned => "owned",
        }
    }

    /// Size of the area: half of the memory.
    pub fn size_bytes(self, memory_bytes: u64) -> u64 {
        memory_bytes / 2
    }
}

/// One boot's work. Travels to the guest as `/plan.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Name of the scenario.
    pub scenario: String,
    /// Case within it, e.g. the workload's name; may be empty.
    pub case: String,
    /// What is compared.
    pub configuration: Configuration,
    /// Seed of everything drawn.
    pub seed: u64,
    /// The scenario's seed that the boot belongs to, if it has several; `seed` is another in later rounds. Nothing to the guest, whose image
    /// must be the same to the byte, however many seeds there are.
    #[serde(skip)]
    pub of_seed: Option<u64>,
    /// Whether instructions are nanoseconds here.
    pub exact: bool,
    /// The phone.
    pub phone: PhoneProfile,
    /// The daemon's configuration file, as text.
    pub daemon_config: String,
    /// Pages the zygote preloads, shared copy-on-write by the apps forked from it.
    pub zygote_anon_bytes: u64,
    /// Apps that steps refer to by name.
    pub apps: Vec<AppProfile>,
    /// What this phone lacks.
    #[serde(default)]
    pub lacks: Lacks,
    /// Whether hits and misses of the eCache are counted by file, which costs time in every read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trace_files: bool,
    /// Further parameters of dm-ecache, as its loader takes them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub module_parameters: String,
    /// It is a desktop, with systemd as its first process and the apps in a user's scopes, and swaps to this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desktop: Option<Swap>,
    /// It has two devices that import buffers, behind this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub importers: Option<Importers>,
    /// It has a sound server, as far as the daemon can see, which says what was heard.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sound: bool,
    /// What to do.
    pub steps: Vec<Step>,
}

impl Plan {
    /// What tells the boot from others: scenario, case, configuration and, if there are several, the seed.
    pub fn names(&self) -> Vec<String> {
        let seed = self.of_seed.map(|seed| format!("seed-{seed}"));
        let names = [self.scenario.clone(), self.case.clone(), self.configuration.name().to_owned()];
        names.into_iter().chain(seed).filter(|name| !name.is_empty()).collect()
    }

    /// A boot of no steps on a phone that has memory and CPUs and nothing else: what tests with a first process of their own begin with.
    pub fn bare(scenario: &str, memory_bytes: u64, cpus: u32) -> Plan {
        Plan {
            scenario: scenario.into(),
            case: String::new(),
            configuration: Configuration { zram: true, ..Configuration::new("fovea", Daemon::Full) },
            seed: 1,
            of_seed: None,
            exact: false,
            phone: PhoneProfile {
                name: scenario.into(),
                memory_bytes,
                reserved_bytes: Default::default(),
                cpus,
                flash: Flash { size_bytes: 0, request_ns: 0, command_bytes: None },
                huge_pages: Default::default(),
                thresholds: Default::default(),
                app_scale: 1.0,
                tiers: None,
                source: String::new(),
            },
            daemon_config: String::new(),
            zygote_anon_bytes: 0,
            apps: Vec::new(),
            lacks: Lacks::default(),
            trace_files: false,
            module_parameters: String::new(),
            desktop: None,
            importers: None,
            sound: false,
            steps: Vec::new(),
        }
    }
}

/// A stream and a download over one link. What is not told is the paper's (Aciom11, section 6.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Traffic {
    /// What the link brings, headers included.
    pub link_bytes_per_s: u64,
    /// Round trip without a queue.
    pub rtt_ns: u64,
    /// Packets that wait before the link at most.
    pub queue_packets: u32,
    /// Size of a frame of the stream.
    pub frame_bytes: u32,
    /// Frames a second.
    pub frames_per_s: u32,
    /// The player begins when it has so much.
    pub buffer_ns: u64,
    /// Connections of the download.
    pub bulk_flows: u32,
    /// When they begin.
    pub bulk_from_ns: u64,
    /// When the stream ends.
    pub stream_ns: u64,
    /// When the download ends.
    pub end_ns: u64,
}

impl Default for Traffic {
    fn default() -> Self {
        Traffic {
            link_bytes_per_s: 300_000,
            rtt_ns: 30_000_000,
            queue_packets: 100,
            frame_bytes: 5_000,
            frames_per_s: 25,
            buffer_ns: 2_000_000_000,
            bulk_flows: 1,
            bulk_from_ns: 10_000_000_000,
            stream_ns: 90_000_000_000,
            end_ns: 100_000_000_000,
        }
    }
}

impl Traffic {
    /// Time from one frame to the next.
    pub fn frame_ns(&self) -> u64 {
        1_000_000_000 / u64::from(self.frames_per_s.max(1))
    }

    /// Frames of the stream.
    pub fn frames(&self) -> u64 {
        self.stream_ns / self.frame_ns()
    }

    /// Seconds in all.
    pub fn seconds(&self) -> usize {
        self.end_ns.div_ceil(1_000_000_000) as usize
    }
}

/// What a phone lacks that others have, to see how the daemon gets on without it. By default nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Lacks {
    /// Words for the kernel's command line, after all others, e.g. `psi=0`.
    pub kernel_args: Vec<String>,
    /// Kernel modules that are not there.
    pub modules: Vec<String>,
    /// System calls that answer ENOSYS to the daemon and to `fovea check`: a filter plays the old kernel that has not got them.
    pub syscalls: Vec<Syscall>,
}

/// A system call that a phone may lack; the name is the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Syscall {
    /// Since Linux 5.10.
    ProcessMadvise,
    /// Since Linux 5.15.
    ProcessMrelease,
    /// Since Linux 5.3.
    PidfdOpen,
}

/// Whose buffers a video is played through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exporter {
    /// `fovea-system-heap`.
    #[default]
    Ours,
    /// The kernel's system heap.
    Stock,
    /// The same with `fovea-heap-wrap`.
    Wrapped,
    /// Those that the phone reserves for its video decoder: compressed frames in mfc1, decoded ones in mfc0.
    Reserved,
}

impl Exporter {
    fn is_default(&self) -> bool {
        *self == Exporter::default()
    }
}

/// A video to play: how its frames go from hand to hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Play {
    /// Label of the event.
    pub label: String,
    /// Whether no two pages of a buffer are neighbours.
    pub scatter: bool,
    /// Whether buffers stay mapped, for devices and for the player.
    pub mapcache: bool,
    /// Whose buffers.
    #[serde(default, skip_serializing_if = "Exporter::is_default")]
    pub exporter: Exporter,
    /// Frames that are measured; so many as there are buffers come before them.
    pub frames: u32,
    /// Buffers for decoded frames, and the size of each.
    pub frame_buffers: u32,
    /// Size of each.
    pub frame_bytes: u64,
    /// Buffers for compressed frames.
    pub video_buffers: u32,
    /// Size of each.
    pub video_bytes: u64,
    /// What the player writes for a frame.
    pub compressed_bytes: u64,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// The user opens an app: it is resumed if it runs, started if not. Timed, then all its memory is verified.
    Open {
        /// App.
        app: String,
    },
    /// An app starts without the user's doing and without coming to the screen (a service at boot).
    Start {
        /// App.
        app: String,
    },
    /// The user works with the app on the screen, as its profile's `activity` says; then the content of its device buffers is
    /// verified. Nothing happens if it is not in front any more.
    Use {
        /// App.
        app: String,
        /// How long, guest time.
        ns: u64,
    },
    /// The user works with the app in front on a desktop, in so many timed interactions; one that was killed is opened again.
    Interact {
        /// App.
        app: String,
        /// How many.
        interactions: u32,
        /// From the beginning of one to that of the next, if it does not take longer.
        period_ns: u64,
        /// What each touches.
        touch: Touch,
    },
    /// An app in front receives a stream while another downloads.
    Traffic(Traffic),
    /// Apps in fast and slow memory read and write their pages.
    Tier(TierLoad),
    /// Somebody starts on a desktop, in a unit that is no app's of the plan.
    Outsider(Outsider),
    /// Its leaker takes memory while the user works.
    Outgrow(Meanwhile),
    /// The owner of zram0 sets it up.
    OwnZram {},
    /// Processes come and go in its unit while the focus changes and the daemon is killed.
    Forks(Forks),
    /// A service of the system's looks for so many files that are not there, each of which the kernel remembers.
    Dentries {
        /// Names.
        names: u64,
    },
    /// Checks every page of every app that runs.
    Verify {},
    /// An app takes more memory all the time, wherever it is, until it is killed. It must not be frozen.
    Leak {
        /// App.
        app: String,
        /// Pages taken at a time.
        pages: u64,
        /// From the beginning of one time to that of the next, if it does not take longer.
        period_ns: u64,
        /// It stops by itself after so long.
        limit_ns: u64,
    },
    /// The user presses home: nothing is in front.
    Home {},
    /// The user closes an app (swipes it away); it is kept as an empty one. Nothing happens if it is not running.
    Close {
        /// App.
        app: String,
    },
    /// The screen is turned on or off.
    Screen {
        /// On.
        on: bool,
    },
    /// Time passes; the apps do what they do.
    Wait {
        /// How long, guest time.
        ns: u64,
    },
    /// Waits until the daemon says it has nothing more to do, at most so long.
    Settle {
        /// Limit, guest time; reaching it is a failure.
        limit_ns: u64,
    },
    /// Starts a service app of the size that leaves so much free memory (`MemAvailable`).
    Fill {
        /// App whose mix and role are used; its size is ignored.
        app: String,
        /// What should be left.
        available_bytes: u64,
    },
    /// The page cache loses every page that nobody maps.
    DropCaches {},
    /// Records the state of memory under a label.
    Sample {
        /// Label of the event.
        label: String,
    },
    /// Records what the sound server has played until now.
    Heard {},
    /// Records in which pieces memory is free.
    Pieces {
        /// Apps that have been opened until then.
        launches: u32,
    },
    /// Records the daemon's wake-ups, CPU time and resident memory over a time in which nothing happens.
    IdleCheck {
        /// How long, guest time.
        ns: u64,
    },
    /// Kills the daemon with SIGKILL and checks that the device is as it was before the daemon: nothing frozen, no limit, no
    /// zram of the daemon's, every oom_score_adj restored; then starts it again.
    KillDaemon {},
    /// Checks that no process is frozen that the daemon does not say is.
    CheckFrozen {},
    /// Apps use a slow disk at once.
    Disk {
        /// What they do, and for how long.
        load: DiskLoad,
    },
    /// Runs `fovea check --json` and reports what it says.
    Check {
        /// What must be missing, and nothing else: names of the report's rows. The daemon's own status must name these too, unless
        /// it does not use them. Without it anything may be.
        #[serde(default)]
        missing: Option<Vec<String>>,
    },
    /// A video is played through buffers that player, decoder and display share.
    Play(Play),
    /// An app's process ends by SIGKILL without the daemon's doing, as by a defect of its own.
    Crash {
        /// App; it must be running.
        app: String,
    },
}

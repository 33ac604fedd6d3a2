// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Pure decisions: a snapshot and a configuration in, actions with reasons out. No clock, no I/O, no hidden state: the same
//! snapshot gives the same decision in the daemon, in the lab and in a replay from the journal (`fovea explain --replay`).
//!
//! One module a mechanism, and one entry in the list below: what it may do and why, its section of the configuration, what it decides at
//! once on a change, and what on a look at the device.

use fovea_apps::{AppName, IoClass, PAGE_BYTES};
use serde::{Deserialize, Serialize};

mod decision;
pub mod disk;
pub mod freeze;
mod list;
pub mod memory;
pub mod merge;
pub mod net;
mod plan;
pub mod rank;
mod snapshot;
pub mod tier;

pub use decision::Decision;
pub use disk::DiskConfig;
pub use freeze::FreezeConfig;
pub use plan::{plan, Plan, Step};
pub use snapshot::{AppState, Asked, Outsider, Snapshot};

fn mb(pages: u64) -> u64 {
    (pages * PAGE_BYTES) >> 20
}

list::mechanisms! {
    $
    config {
        /// The memory ladder.
        memory: memory::MemoryConfig,
        /// The freezer.
        freeze: freeze::FreezeConfig,
        /// Disk requests by what apps are doing.
        disk: disk::DiskConfig,
        /// Receive windows.
        net: net::NetConfig,
        /// Pages that are alike.
        merge: merge::MergeConfig,
        /// Memory of two speeds.
        tier: tier::TierConfig,
    }
    rank {
        at_once: |snapshot, _| rank::decide(snapshot),
        actions {
            /// Tell the kernel's OOM killer how much it matters.
            Rank {
                app,
                /// What its most killable process should have.
                oom_score_adj: i32
            } = "rank", format!("tell the kernel that {app} has {oom_score_adj}");
        }
        reasons {
            /// It matters more, or less, than the kernel was told.
            Importance = "it matters more, or less, than the kernel was told";
        }
    }
    freeze {
        turn: |snapshot, config| freeze::decide(snapshot, &config.freeze),
        actions {
            /// Stop an app from running.
            Freeze { app } [harms] = "freeze", format!("freeze {app}");
            /// Let it run again.
            Thaw { app } = "thaw", format!("thaw {app}");
        }
        reasons {
            /// In the background for the debounce time.
            Background = "in the background for the debounce time";
            /// Not in the background any more; of pages, that its return touches them.
            Needed = "needed";
            /// Nobody tells any more who is in front.
            Untold = "nobody tells any more who is in front";
        }
    }
    disk {
        turn: |snapshot, config| disk::decide(snapshot, &config.disk),
        actions {
            /// Tell the disk what an app's requests need.
            DiskClass {
                app,
                /// Time-sensitive, bursty or plain.
                class: IoClass
            } = "disk-class", format!("tell the disk that {app} is {class}");
            /// Have the disk forget what it was told of an app.
            DiskForget { app } = "disk-forget", format!("have the disk forget {app}");
            /// Limit what an app may have of the disk.
            DiskLimit {
                app,
                /// Bytes a second; none: no limit any more.
                bytes_per_s: Option<u64>
            } = "disk-limit", match bytes_per_s {
                Some(bytes) => format!("limit {app} to {} KB a second of the disk", bytes / 1000),
                None => format!("limit {app} on the disk no longer"),
            };
        }
        reasons {
            /// What its I/O needs has changed, or was never told.
            IoClass = "what its disk and network traffic needs is another thing now";
            /// It is not the daemon's business any more.
            Unmanaged = "it is to be left alone, or nothing treats the disk by classes any more";
            /// Time-sensitive apps use the disk.
            Budget = "it has what others, whose requests must be in time, leave over";
            /// None does any more.
            NobodyWaits = "nobody whose requests must be in time uses the disk, or it is one of them now";
        }
    }
    memory {
        at_once: |snapshot, config| memory::read_back(snapshot, &config.memory),
        turn: |snapshot, config| memory::decide(snapshot, &config.memory),
        actions {
            /// Move some of its pages to compressed swap.
            Compress {
                app,
                /// How many pages before memory is looked at again.
                pages: u64
            } = "compress", format!("compress up to {} MiB of {app}", mb(*pages));
            /// Read compressed pages back ahead of its touching them.
            Prefetch {
                app,
                /// How many pages at most.
                pages: u64
            } = "prefetch", format!("read up to {} MiB of {app} back", mb(*pages));
            /// Ask it to end, and kill it when its grace is over.
            Ask { app } [harms] = "ask", format!("ask {app} to end");
            /// End it.
            Kill { app } [harms] = "kill", format!("kill {app}");
        }
        reasons {
            /// The screen is off and the app is empty: compress before anyone needs the memory.
            ScreenOff = "the screen is off and the app is closed";
            /// The device is idle, the app was not used for a while, and memory is not plentiful.
            Idle = "nobody has used it for a while, the device is idle, and memory is not plentiful";
            /// Memory is short and the app is empty.
            ShortOfMemoryEmpty = "memory is short and the app is closed";
            /// Memory is short, no empty app is left to compress, and the app is hidden.
            ShortOfMemoryHidden = "memory is short and no closed app is left to compress";
            /// Memory is short and compression can give no more.
            NothingToCompress = "memory is short and compression can give no more";
            /// Memory is short and swap can really take no more.
            SwapFull = "memory is short and zram can really take no more";
            /// What is reclaimed is read back at once.
            Thrash = "memory is read back as fast as it is reclaimed";
            /// Memory is short because of it: it grows fast, and others would die for it.
            Runaway = "it grows fast, and others would die for it";
            /// Below the threshold of its class (`ladder` mode).
            Minfree = "free memory and file cache are below the threshold of its class";
        }
    }
    net {
        at_once: |snapshot, config| net::release(snapshot, &config.net),
        turn: |snapshot, config| net::decide(snapshot, &config.net),
        actions {
            /// Hold the receive window of each of its TCP connections.
            HoldWindow {
                app,
                /// Each one's.
                window_bytes: u64
            } = "hold-window", format!("hold each connection of {app} to {window_bytes} bytes a round trip");
            /// Let them receive as they like.
            ReleaseWindow { app } = "release-window", format!("let {app} receive as it likes");
            /// Drop what arrives for it by UDP above a rate.
            LimitUdp {
                app,
                /// That rate.
                rate_bytes_per_s: u64
            } = "limit-udp", format!("drop what arrives by UDP for {app} above {rate_bytes_per_s} bytes a second");
            /// Let all of it arrive.
            ReleaseUdp { app } = "release-udp", format!("let {app} receive by UDP as it likes");
        }
        reasons {
            /// A time-sensitive app receives something.
            ReceivesInTime = "another app must receive in time";
            /// No time-sensitive app does any more.
            NobodyReceives = "no other app must receive in time any more";
            /// It is not bursty any more.
            NotBursty = "its own traffic is not bursty any more";
            /// The configuration says so, or it cannot be done.
            UdpUnwanted = "the configuration does not limit UDP, or this machine cannot";
        }
    }
    merge {
        at_once: |snapshot, config| merge::stop(snapshot, &config.merge),
        turn: |snapshot, config| merge::decide(snapshot, &config.merge),
        actions {
            /// Have the kernel look for pages that are alike.
            Merge {
                app,
                /// How many it looks at before it sleeps.
                pages: u64
            } = "merge", format!("have the kernel look for pages that {app} and its kin have in common, {pages} at a time");
            /// Have it look no longer; what is merged stays so.
            StopMerging { app } = "stop-merging", format!("have the kernel look for no pages any more, as it did for {app}");
        }
        reasons {
            /// Apps have gone to the background whose pages were not looked at yet.
            Newcomers = "it and its kin are new in the background";
            /// Merged pages have been written to.
            Parted = "many pages that were merged have been written to";
            /// Another speed keeps the kernel's thread to its share of the CPU.
            ScanRate = "a page costs more, or less, than was thought";
            /// A further pass is not expected to be worth its cost.
            NothingAlike = "a further pass would find too little";
            /// What it may take in the long run it has taken.
            Spent = "it has taken what it may in the long run";
            /// The CPUs are busy, the battery is low, or most of it would be the foreground's.
            Deferred = "the CPUs are busy, the battery is low, or most of what is looked at is in front";
            /// No two of them are left in the background.
            NoKin = "no two of its kin are left in the background";
            /// The configuration says so.
            MergingUnwanted = "the configuration does not want it any more";
        }
    }
    tier {
        at_once: |snapshot, config| tier::let_in(snapshot, &config.tier),
        turn: |snapshot, config| tier::decide(snapshot, &config.tier),
        actions {
            /// Have the kernel move pages that it did not use for long to slow memory.
            Demote {
                app,
                /// How many at most.
                pages: u64
            } = "demote", format!("move up to {} KB of {app} that it did not use for long to slow memory", pages * PAGE_BYTES / 1024);
            /// Have its memory be slow, until it is let in again.
            KeepOut { app } = "keep-out", format!("keep {app} out of fast memory");
            /// Let its pages be in fast memory again.
            LetIn { app } = "let-in", format!("let {app} into fast memory");
        }
        reasons {
            /// The app in front would find no room for a page that it uses.
            FastShort = "fast memory is short for the app in front";
            /// New pages of the background belong in slow memory.
            Grows = "it takes new memory in the background, and fast memory is short";
            /// What it has may be used as others' is.
            GrowsNoMore = "it takes no new memory any more";
            /// It is in front.
            NeedsFast = "it is in front now";
            /// There is more than anybody in front needs.
            FastFree = "fast memory is free";
            /// It would find no memory.
            SlowFull = "slow memory is nearly full";
            /// The configuration or its owner's list says so.
            TiersUnwanted = "it is to be left where it is";
        }
    }
}

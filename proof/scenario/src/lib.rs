// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What host and guest say to each other: profiles of phones and apps, plans of steps, events, and results.
//!
//! The host turns a scenario and the profiles it names into one [`Plan`] per configuration; the guest follows the plan and
//! writes [`Event`]s; the host folds the events into a results document ([`fovea_report`]).

mod app_file;
mod build;
mod catalog;
mod configuration;
mod content;
mod daemon_config;
mod disk_load;
mod error;
mod event;
mod figures;
mod file_kind;
pub mod follow;
mod footprint;
pub mod hash;
pub mod hybrid_prices;
mod importers;
pub mod kinds;
mod merge;
pub mod outsider;
mod overrides;
mod phone;
mod plan;
mod profile;
mod scenario;
mod script;
mod seeds;
pub mod series;
mod sound;
mod tier_load;
pub mod touch;

pub use catalog::{Catalog, Workload};
pub use configuration::{
    Combined, Configuration, Daemon, DiskSetting, Ksmd, Merging, Prefetch, Queue, Reservation, Tiering,
};
pub use content::{page_content, page_kind, PageKind, PAGE_BYTES};
pub use daemon_config::{user_memory_bytes, KERNEL_BYTES};
pub use disk_load::{DiskLoad, DiskUse, OpenLoop};
pub use error::Error;
pub use event::{BufferUse, CpuTimes, Event, EventBody, LaunchKind, Played, StartScore};
pub use figures::{document, Boot, Provenance};
pub use file_kind::FileKind;
pub use footprint::Footprint;
pub use importers::Importers;
pub use kinds::builtin_scenarios;
pub use merge::merge;
pub use outsider::{Forks, Growth, Meanwhile, Outsider, Place};
pub use phone::{Carveout, Flash, HugePages, PhoneProfile, Speed, Thresholds, Tiers};
pub use plan::{Exporter, Lacks, Plan, Play, Step, Swap, Syscall, Traffic};
pub use profile::{Activity, AppProfile, Buffer, Churn, FileUse, Load, Mix, Pictures, Reads, Screens, Spawn, Touch};
pub use scenario::Scenario;
pub use sound::{Heard, MEDIA_ROOT, SOUND_BYTES_PER_S};
pub use tier_load::{Requests, TierApp, TierLoad, TierUse};

use fovea_report::{Case, Document, Verdict};

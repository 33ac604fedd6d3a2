// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who is on screen: app identity, importance and I/O class.
//!
//! This crate is pure: it is told what happened (an app started, was focused, was closed) and keeps who matters.

mod app_name;
mod bus_message;
mod disk;
mod importance;
mod io_class;
mod keys;
pub mod limits;
mod lists;
mod marks;
mod merge;
mod perceived;
mod place;
mod reading;
mod registry;
mod reuse;
mod services;
mod text;
mod tiers;

pub use app_name::{AppName, BadName};
pub use bus_message::{bus_is_unasked, bus_next, bus_sender, BusNext, BUS_HEAD_BYTES};
pub use disk::DiskControl;
pub use importance::{Importance, Role};
pub use io_class::{classify, ClassBy, Classified, IoClass, Traits};
pub use keys::keys_of;
pub use lists::{BadPattern, Identity, Listed, Lists, Pattern, Preference, Standing};
pub use marks::Marks;
pub use merge::{Kinship, MergeReading, MergeSettings, SpareReading};
pub use perceived::{is_media_server, Perceived};
pub use place::{
    holds_units, label_of_cgroup, leads_to_apps, owner_of_cgroup, place_of_cgroup, scope_of_app, Kind, Place, Placed,
    OWN_SLICE,
};
pub use reading::{
    AppUsage, BufferHolder, CpuReading, Holder, MemoryReading, PoolReading, ProcessId, ZramReading, PAGE_BYTES,
};
pub use registry::{App, Registry, SourceId, Unknown};
pub use services::{Service, Services};
pub use text::{log_line, printable, printable_json, printable_lines};
pub use tiers::{MemoryNode, MemoryTiers};

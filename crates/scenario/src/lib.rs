// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What host and guest say to each other: profiles of phones and apps, plans of steps, events, and results.
//!
//! The host turns a scenario and the profiles it names into one [`Plan`] per configuration; the guest follows the plan and
//! writes [`Event`]s; the host folds the events into a results [`Document`].

mod content;
mod event;
mod phone;
mod plan;
mod profile;
mod results;

pub use content::{page_content, page_kind, PageKind, PAGE_BYTES};
pub use event::{Event, EventBody, LaunchKind};
pub use phone::{Flash, PhoneProfile};
pub use plan::{Configuration, Plan, Step};
pub use profile::{AppProfile, Churn, FileUse, Mix, Spawn, Touch};
pub use results::{Case, Document, Verdict};

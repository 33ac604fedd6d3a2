// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A desktop: systemd is the first process, and apps run in a user's scopes.

pub mod boot;
pub mod interact;
pub mod outside;
pub mod outsider;
pub mod owner;
pub mod scores;
pub mod service;
pub mod session;
mod window;

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the tests that take a kernel of their own share: `phones` boots a program with the modules under test; the rest is for the programs,
//! each of which is the first process of such a phone.

#![allow(missing_docs, reason = "read by the programs beside it and by nobody else")]

pub mod audit;
pub mod content;
pub mod file;
pub mod init;
pub mod kernel;
pub mod phones;
pub mod pressure;
pub mod raw;
pub mod report;
pub mod words;

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The virtual phone: builds its image, boots it, runs scenarios, collects results.

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What several tests need.

use fovea_scenario::kinds::managed::FOVEA;
use fovea_scenario::{Flash, PhoneProfile, Plan};

/// A small phone with a plan of no steps.
pub(crate) fn plan() -> Plan {
    Plan {
        scenario: "test".into(),
        case: "N".into(),
        configuration: FOVEA,
        seed: 1,
        of_seed: None,
        exact: true,
        phone: PhoneProfile {
            name: "small".into(),
            memory_bytes: 512 << 20,
            reserved_bytes: [("mfc0".to_owned(), 34 << 20), ("jpeg".to_owned(), 8 << 20)].into(),
            cpus: 2,
            flash: Flash { size_bytes: 100 << 20, request_ns: 1_510_000, command_bytes: None },
            huge_pages: Default::default(),
            thresholds: Default::default(),
            app_scale: 1.0,
            tiers: None,
            source: String::new(),
        },
        daemon_config: String::new(),
        zygote_anon_bytes: 0,
        apps: Vec::new(),
        lacks: Default::default(),
        trace_files: false,
        module_parameters: String::new(),
        desktop: None,
        importers: None,
        sound: false,
        steps: Vec::new(),
    }
}

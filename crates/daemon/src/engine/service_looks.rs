// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! When the services that apps use were read, and the names on message buses that focus sources report.

use std::collections::BTreeMap;

use fovea_apps::{Service, SourceId};
use fovea_client::protocol::BusName;
use fovea_linux::ServiceUser;

use super::perceptions::leased;

/// When services were looked at, and when they are to be.
#[derive(Debug, Default)]
pub(super) struct ServiceLooks {
    /// Some mechanism goes by classes: else nobody looks.
    pub(super) matter: bool,
    pub(super) looked_ns: Option<u64>,
    pub(super) again_ns: Option<u64>,
    /// When it was last said that they could not be read.
    pub(super) said_ns: Option<u64>,
    /// Names that processes have on a message bus, as each source that knows says.
    names: BTreeMap<SourceId, Vec<BusName>>,
}

impl ServiceLooks {
    /// Somebody has come, or come to the screen.
    pub(super) fn look_anew(&mut self) {
        self.looked_ns = None;
    }

    /// The names that processes have on a message bus, as a source says for as long as it is there.
    pub(super) fn names(&mut self, source: Option<SourceId>, names: Vec<BusName>) -> Result<(), String> {
        self.names.insert(leased(source)?, names);
        self.look_anew();
        Ok(())
    }

    /// Nobody says any more what a source said.
    pub(super) fn left(&mut self, source: SourceId) {
        if self.names.remove(&source).is_some() {
            self.look_anew();
        }
    }

    /// Who has a name of a service.
    pub(super) fn named(&self, table: &[Service]) -> Vec<ServiceUser> {
        let of = |named: &BusName| {
            let (pid, name) = (named.pid, named.name.clone());
            let rows = table.iter().enumerate().filter(move |(_, row)| row.is_name(&name));
            rows.map(move |(service, _)| ServiceUser { pid, service }).collect::<Vec<_>>()
        };
        self.names.values().flatten().flat_map(of).collect()
    }

    /// When somebody is to look though nothing happens.
    pub(super) fn due_ns(&self) -> Option<u64> {
        self.again_ns.filter(|_| self.matter)
    }
}

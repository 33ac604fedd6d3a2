// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is asked about apps' processes, and how a probe finds it out.

use std::collections::BTreeMap;
use std::io;
use std::mem::{discriminant, Discriminant};

use fovea_apps::{Holder, Kinship};
use serde::{Deserialize, Serialize};

use crate::adopt::ProgramTree;
use crate::device_traits::{Apps, Merging, Pages};
use crate::file::Root;
use crate::proc::Stat;
use crate::process::Process;
use crate::{net, Codec, CompressCursor, CompressOutcome, Error, PageRange, System};

use super::watched;

/// What is to be done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Task {
    Compress { cgroup: String, cursor: CompressCursor, pages: u64, under_permille: u32, is_zstd: bool },
    Resident { cgroup: String, most: usize },
    Prefetch { cgroup: String, ranges: Option<Vec<PageRange>>, pages: u64 },
    Kinship { cgroup: String },
    Holders { cgroup: String },
    Programs { cgroup: String },
    StartedBy { cgroup: String },
    ProgramTree { pid: u32, windows: Vec<u32> },
    Stats { pids: Vec<u32> },
    LastingBytes,
    Going { pids: Vec<u32> },
    Release { pids: Vec<u32> },
    Sockets { pids: Vec<u32>, wanted: Vec<u64>, known: Vec<Place> },
    Namespaces { pids: Vec<u32> },
}

/// What is done, and to which cgroup.
pub(super) type Key = (Discriminant<Task>, String);

/// A socket, the process that has it, and its descriptor there.
pub(crate) type Place = (u64, u32, i32);

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Outcome {
    Compressed(CompressOutcome),
    Ranges(Vec<PageRange>),
    Numbers(Vec<u64>),
    Kin(Option<Kinship>),
    Holders(Vec<Holder>),
    Texts(Vec<String>),
    Tree(Option<ProgramTree>),
    Stats(Vec<Stat>),
    Places(Vec<Place>),
}

/// Why nothing did.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Failure {
    /// The machine lacks something.
    is_missing: bool,
    errno: Option<i32>,
    text: String,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let errno = match &error {
            Error::File { source, .. } | Error::Call { source, .. } => source.raw_os_error(),
            _ => None,
        };
        Failure { is_missing: matches!(error, Error::Missing { .. }), errno, text: error.to_string() }
    }
}

impl Failure {
    pub fn into_error(self) -> Error {
        match self {
            Failure { is_missing: true, text, .. } => Error::Missing { what: "what a probe needs", mend: text },
            Failure { text, .. } => Error::call("looking into a process", "an app", io::Error::other(text)),
        }
    }
}

impl Task {
    /// What is answered while a probe goes on with it; `None` where somebody needs its answer.
    pub(super) fn under_way(&self) -> Option<Result<Outcome, Error>> {
        match self {
            Task::Compress { cursor, .. } => {
                Some(Ok(Outcome::Compressed(CompressOutcome { next: Some(*cursor), ..CompressOutcome::default() })))
            }
            Task::Resident { .. } | Task::Prefetch { .. } | Task::Kinship { .. } | Task::Release { .. } => {
                Some(Err(Error::PutOff { what: "the probe goes on with it".into() }))
            }
            _ => None,
        }
    }

    /// Of what goes on and is asked for again, as long as nothing has come of it.
    pub(super) fn key(&self) -> Option<Key> {
        match self {
            Task::Compress { cgroup, .. } | Task::Resident { cgroup, .. } | Task::Kinship { cgroup } => {
                Some((discriminant(self), cgroup.clone()))
            }
            _ => None,
        }
    }

    /// Does it, in whatever process this is.
    pub(super) fn run(self, system: &mut System) -> Result<Outcome, Failure> {
        let root = system.root().clone();
        Ok(match self {
            Task::Compress { cgroup, cursor, pages, under_permille, is_zstd } => {
                let codec = if is_zstd { Codec::Zstd } else { Codec::Lz4 };
                Outcome::Compressed(system.compress_by(&cgroup, cursor, pages, under_permille, codec)?)
            }
            Task::Resident { cgroup, most } => Outcome::Ranges(system.resident(&cgroup, most)?),
            Task::Prefetch { cgroup, ranges, pages } => {
                Outcome::Numbers(vec![system.prefetch(&cgroup, ranges.as_deref(), pages)?])
            }
            Task::Kinship { cgroup } => Outcome::Kin(system.kinship(&cgroup)?),
            Task::Holders { cgroup } => Outcome::Holders(system.holders(&cgroup)?),
            Task::Programs { cgroup } => Outcome::Texts(system.programs(&cgroup)?),
            Task::StartedBy { cgroup } => Outcome::Texts(system.started_by(&cgroup)?.into_iter().collect()),
            Task::ProgramTree { pid, windows } => Outcome::Tree(system.program_tree(pid, &windows)?),
            Task::Stats { pids } => Outcome::Stats(stats(&root, &pids)),
            Task::LastingBytes => Outcome::Numbers(vec![crate::lasting::find_bytes(&root)]),
            Task::Going { pids } => Outcome::Numbers(crate::lasting::going(&root, &pids, &mut Vec::new())),
            Task::Release { pids } => Outcome::Numbers(vec![release(&pids)]),
            Task::Sockets { pids, wanted, known } => {
                let known = known.into_iter().map(|(inode, pid, fd)| (inode, (pid, fd))).collect();
                let found = net::find_descriptors(&root, &pids, &wanted, &known);
                Outcome::Places(found.into_iter().map(|(inode, (pid, fd))| (inode, pid, fd)).collect())
            }
            Task::Namespaces { pids } => {
                let found: BTreeMap<u64, u32> = net::namespaces(&root, &pids);
                Outcome::Places(found.into_iter().map(|(id, pid)| (id, pid, 0)).collect())
            }
        })
    }
}

/// Of those that have not ended.
pub(super) fn stats(root: &Root, pids: &[u32]) -> Vec<Stat> {
    let mut text = Vec::new();
    let stat = |&pid: &u32| {
        if !watched::touch(pid) {
            return None;
        }
        crate::file::read_into(&root.join(format!("proc/{pid}/stat")), &mut text).ok()?;
        Stat::parse(&text)
    };
    pids.iter().filter_map(stat).collect()
}

/// Frees the memory of processes that were killed and are still held by who asks, so that these are they; says of how many.
fn release(pids: &[u32]) -> u64 {
    let released = |&&pid: &&u32| {
        if !watched::touch(pid) {
            return false;
        }
        let process = Process::open(&Root::at("/"), pid).ok().and_then(Process::into_pidfd);
        process.is_some_and(|pidfd| crate::kill::release(pid, &pidfd).unwrap_or(false))
    };
    pids.iter().filter(released).count() as u64
}

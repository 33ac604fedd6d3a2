// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a day is compared under: stock parts, Android's, all of ours, and ours without each.

use crate::{Combined, Configuration, Daemon, DiskSetting, Ksmd, Merging, Queue, Reservation};

/// Pages are registered for merging in all, as a phone's image would have it; ksmd runs where the daemon says so.
const MERGING: Merging = Merging { ksmd: Ksmd::Windows, only_kin: false, for_kin: true };

/// Stock parts: zram, and reserved memory that holds movable pages meanwhile.
const fn stock(mut configuration: Configuration, disk: DiskSetting, queue: Queue) -> Configuration {
    configuration.zram = true;
    configuration.reservation = Reservation::Migrate;
    configuration.disk = Some(disk);
    configuration.queue = Some(queue);
    configuration.combined = Some(Combined { net: false, merge: false, mapcache: false });
    configuration
}

/// What a good engineer ships today: earlyoom, told who matters, BFQ with weights set by hand, cake.
const DEBIAN: Configuration =
    stock(Configuration::guarded("debian", Daemon::Ranks, Some("earlyoom")), DiskSetting::BfqWeights, Queue::Cake);

/// Android's ladder, BFQ.
const ANDROID: Configuration = stock(Configuration::new("android", Daemon::Ladder), DiskSetting::Bfq, Queue::Pfifo);

/// All of ours.
const fn ours(name: &'static str) -> Configuration {
    let mut configuration = Configuration::new(name, Daemon::Full);
    configuration.zram = true;
    configuration.reservation = Reservation::Ecache;
    configuration.disk = Some(DiskSetting::FoveaDm);
    configuration.queue = Some(Queue::Pfifo);
    configuration.merging = Some(MERGING);
    configuration.combined = Some(Combined { net: true, merge: true, mapcache: true });
    configuration
}

const fn without_parts(name: &'static str, combined: Combined) -> Configuration {
    let mut configuration = ours(name);
    configuration.combined = Some(combined);
    configuration
}

/// Devices are served, and reserved memory lies idle until then.
const NO_ECACHE: Configuration = {
    let mut configuration = ours("no-ecache");
    configuration.reservation = Reservation::Idle;
    configuration
};

/// Android's ladder in place of the memory policy.
const NO_POLICY: Configuration = {
    let mut configuration = ours("no-policy");
    configuration.daemon = Daemon::Ladder;
    configuration
};

const NO_MERGE: Configuration = without_parts("no-merge", Combined { net: true, merge: false, mapcache: true });

/// The flash alone, and nothing orders its requests.
const NO_DISK: Configuration = {
    let mut configuration = ours("no-disk");
    configuration.disk = Some(DiskSetting::None);
    configuration
};

const NO_NET: Configuration = without_parts("no-net", Combined { net: false, merge: true, mapcache: true });

const NO_MAPCACHE: Configuration = without_parts("no-mapcache", Combined { net: true, merge: true, mapcache: false });

/// All of them.
pub(super) const ALL: &[Configuration] =
    &[DEBIAN, ANDROID, ours("fovea"), NO_ECACHE, NO_POLICY, NO_MERGE, NO_DISK, NO_NET, NO_MAPCACHE];

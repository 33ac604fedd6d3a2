// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The state of everything, as the daemon tells it.

use fovea_apps::{
    AppName, AppUsage, BufferHolder, Classified, DiskControl, Importance, Kind, MemoryReading, Perceived, PoolReading,
};
use fovea_policy::memory::Warning;
use serde::{Deserialize, Serialize};

use crate::protocol::REPLY_MAX_BYTES;

/// What `fovea status --json` prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The daemon's PID.
    pub pid: u32,
    /// The daemon decides and writes its decisions to the journal, but changes nothing (`[daemon] act = false`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_decides: bool,
    /// Whether the screen is on.
    pub screen_on: bool,
    /// Names of the connected focus sources.
    #[serde(default)]
    pub sources: Vec<String>,
    /// Whether a focus source reports the foreground app. Without one nothing is frozen, and nothing is compressed ahead.
    #[serde(default)]
    pub focus_told: bool,
    /// The foreground app; without a focus source, a guess.
    pub foreground: Option<AppName>,
    /// Whether there is work under way or a timer set; false when the daemon sleeps until something happens.
    pub busy: bool,
    /// Memory is short, and nobody but apps on the owner's lists could be killed: the kernel's OOM killer may be next.
    #[serde(default)]
    pub only_listed: bool,
    /// What apps were warned of, as far as it still holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<Warning>,
    /// Cgroups outside of apps that grew fast within the last minute, while memory was short.
    #[serde(default)]
    pub runaways: Vec<String>,
    /// Memory as last read.
    pub memory: MemoryReading,
    /// The eCache's pool; none without the module.
    #[serde(default)]
    pub ecache: Option<PoolReading>,
    /// The 16 cgroups that hold the most device buffers. That memory is charged to the cgroup and belongs to no process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buffer_holders: Vec<BufferHolder>,
    /// How the classes of apps are enforced on the disk.
    #[serde(default)]
    pub disk: DiskControl,
    /// Merging of equal pages; none if no app is registered for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merging: Option<Merging>,
    /// Fast and slow memory; none where there is one kind, or where another program moves the pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiers: Option<Tiers>,
    /// Kills since the daemon began.
    pub kills: u64,
    /// Pages compressed since the daemon began.
    pub compressed_pages: u64,
    /// Faults of the configuration file, and the values that are used instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub config_problems: Vec<String>,
    /// Apps that do not run and that the user may open next, the likeliest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<Expected>,
    /// What this device lacks, by name.
    pub missing: Vec<String>,
    /// Apps.
    pub apps: Vec<AppStatus>,
    /// The offset of the next request, if there are more apps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
}

impl Status {
    /// The part of it with the apps from one on: `limit` at most, and no more than a reply holds.
    #[must_use]
    pub fn page(mut self, offset: usize, limit: Option<usize>) -> Status {
        // Lists of others' names beside the apps are cut to what can be read.
        self.runaways.truncate(NAMES_MAX);
        self.missing.truncate(NAMES_MAX);
        self.config_problems.truncate(NAMES_MAX);
        self.expected.truncate(NAMES_MAX);
        let apps = std::mem::take(&mut self.apps);
        let (bytes, all) = (json_bytes(&self), apps.len());
        let mut left = REPLY_MAX_BYTES.saturating_sub(bytes + MARGIN_BYTES);
        let from = apps.into_iter().skip(offset).take(limit.unwrap_or(usize::MAX));
        let mut fits = |app: &AppStatus| {
            let takes = json_bytes(app) + 1;
            let fits = takes <= left;
            left = left.saturating_sub(takes);
            fits
        };
        self.apps = from.take_while(|app| fits(app)).collect();
        let next = offset.saturating_add(self.apps.len());
        self.next_offset = Some(next).filter(|&next| next < all && !self.apps.is_empty());
        self
    }
}

/// Names beside the apps in a status.
const NAMES_MAX: usize = 16;

/// For what a reply has around a status.
const MARGIN_BYTES: usize = 1024;

fn json_bytes(what: &impl Serialize) -> usize {
    serde_json::to_vec(what).map_or(0, |text| text.len())
}

/// Merging of equal pages (KSM).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merging {
    /// ksmd is scanning now.
    pub looking: bool,
    /// Only the daemon has switched ksmd on.
    pub ours: bool,
    /// Registered apps that have been in the background.
    pub registered_apps: usize,
    /// Memory saved, as the kernel counts it: a page that was written to since the last scan counts until the next one.
    pub saved_bytes: u64,
    /// CPU time of ksmd since boot.
    pub cpu_ns: u64,
}

/// Fast and slow memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tiers {
    /// All fast memory.
    pub fast_bytes: u64,
    /// Free fast memory above the kernel's watermarks, at the last reading.
    pub fast_free_bytes: u64,
    /// Apps whose new pages go to slow memory only.
    pub kept_out: usize,
    /// Bytes that the daemon has demoted since it started.
    pub demoted_bytes: u64,
}

/// An app that does not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// Name.
    pub name: AppName,
    /// Probability that it comes to the foreground soon, in thousandths.
    pub returns_permille: u32,
}

/// One app in [`Status`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AppStatus {
    /// Name.
    pub name: AppName,
    /// What it is: an app, a job, a container.
    #[serde(default)]
    pub kind: Kind,
    /// Cgroup.
    pub cgroup: String,
    /// Its importance now.
    pub importance: Importance,
    /// Probability that it comes back to the foreground soon, in thousandths; none for a service, and while it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returns_permille: Option<u32>,
    /// The owner's list that it is on, and the entry that matches it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// Why it is perceptible though it may not be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perceptible: Option<Perceived>,
    /// Its I/O class, and where that comes from.
    #[serde(default)]
    pub io_class: Classified,
    /// Window of each of its TCP connections, set so that another app receives in time; 0 if none is set.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub receive_window_bytes: u64,
    /// Limit of what it receives by UDP, in bytes a second, for the same reason; 0 if there is none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub udp_limit_bytes_per_s: u64,
    /// Frozen by the daemon.
    pub frozen: bool,
    /// What it occupies, as last read.
    pub usage: AppUsage,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Reply;

    fn app(number: usize) -> AppStatus {
        AppStatus {
            name: format!("app{number:03}").parse().unwrap(),
            // As long as systemd lets a unit's name be, in characters that JSON escapes.
            cgroup: format!("user.slice/{}.scope", "\u{1b}".repeat(240)),
            kind: Kind::App,
            importance: Importance::Hidden,
            returns_permille: None,
            list: None,
            perceptible: None,
            io_class: Classified::default(),
            receive_window_bytes: 0,
            udp_limit_bytes_per_s: 0,
            frozen: false,
            usage: AppUsage::default(),
        }
    }

    #[test]
    fn pages_hold_every_app_once_and_each_fits_into_a_reply() {
        let whole = Status { apps: (0..500).map(app).collect(), ..Status::default() };
        let (mut offset, mut names, mut pages) = (Some(0), Vec::new(), 0);
        while let Some(from) = offset {
            let page = whole.clone().page(from, None);
            offset = page.next_offset;
            names.extend(page.apps.iter().map(|app| app.name.clone()));
            let reply = serde_json::to_vec(&Reply::Status(Box::new(page))).unwrap();
            assert!(reply.len() <= REPLY_MAX_BYTES, "{}", reply.len());
            pages += 1;
        }
        assert!(pages > 1);
        assert_eq!(names, whole.apps.iter().map(|app| app.name.clone()).collect::<Vec<_>>());
        let few = whole.clone().page(7, Some(3));
        assert_eq!((few.apps.len(), few.apps[0].name.as_str(), few.next_offset), (3, "app007", Some(10)));
        assert_eq!(whole.page(500, None).next_offset, None);
    }
}

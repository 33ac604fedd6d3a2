// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The daemon's configuration file.

mod guard;
mod read;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use fovea_client::protocol::RUN_FOLDER;
use fovea_contract::{ecache_parameters, ecache_zero};
use fovea_linux::StorageSwap;
use fovea_policy::memory::Mode;

pub use guard::{files, Loaded};
pub use read::BadConfig;

fovea_policy::with_sections! {
    /// `/etc/fovea.toml`: the sections of the mechanisms, and these. Every key has a default; an unknown key is left out, and said.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct Config {
        /// What the device is.
        pub preset: Preset,
        /// Apps that the device's owner wants treated otherwise than their importance says.
        pub lists: fovea_apps::Lists,
        /// Services by which apps' I/O is classified.
        pub services: fovea_apps::Services,
        /// Compressed swap.
        pub zram: ZramConfig,
        /// Reserved memory as file cache.
        pub ecache: EcacheConfig,
        /// What users are told.
        pub watch: WatchConfig,
        /// Files and discovery.
        pub daemon: DaemonConfig,
    }
}

/// What the device is: defaults of its own for some keys, which a file's keys go before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// A desktop or laptop.
    #[default]
    Desktop,
    /// A phone, tablet or console: one app is seen, and what was left does nothing that its user would miss.
    Handheld,
    /// One app for ever, and nobody who reads notifications.
    Kiosk,
}

impl Preset {
    /// The keys it sets.
    pub fn text(name: &str) -> Option<&'static str> {
        match name {
            "handheld" => Some("[freeze]\nclasses = [\"hidden\", \"empty\"]\ndebounce_ms = 10000\n"),
            "kiosk" => Some("[watch]\nnotifications = false\n"),
            _ => None,
        }
    }
}

/// What users are told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WatchConfig {
    /// Whether users' sessions are told of the kills of their apps, for `fovea notify` to show.
    pub notifications: bool,
}

impl Default for WatchConfig {
    fn default() -> Self {
        Self { notifications: true }
    }
}

/// Compressed swap, set up by the daemon where no swap on zram is found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ZramConfig {
    /// Whether to set it up.
    pub enabled: bool,
    /// Compression algorithm, as the kernel names it.
    pub algorithm: String,
    /// Most memory the compressed pages may take, percent of user memory: an upper limit, nothing is set aside
    /// (LowMem13, section 2.4).
    pub size_percent: u64,
    /// Memory that apps can have; 0 for MemTotal. To be set where MemTotal counts what apps cannot have.
    pub user_memory_bytes: u64,
    /// Whether to set it up above swap on storage.
    pub above_storage: AboveStorage,
    /// Priority of the swap area.
    pub priority: i32,
}

/// Whether compressed swap is set up where there is swap on storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AboveStorage {
    /// Unless that is on SSDs and gives as much memory as compressed swap would, or zswap compresses already what goes there.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Reserved memory as file cache, where the module dm-ecache is loaded. The module's own settings come back when the daemon ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EcacheConfig {
    /// Whether the daemon sets what follows.
    pub enabled: bool,
    /// Pages that are saved from a device's region before it is first written to, at some 900 instructions each.
    pub salvage_pages: u32,
    /// When a buffer's memory is cleared.
    pub zero: EcacheZero,
}

/// When a buffer's memory is cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EcacheZero {
    /// Piece by piece, when somebody first can see it.
    Lazy,
    /// All of it before the allocation returns.
    Alloc,
}

impl Default for EcacheConfig {
    fn default() -> Self {
        Self { enabled: true, salvage_pages: 16384, zero: EcacheZero::Lazy }
    }
}

impl EcacheConfig {
    /// The module's parameters and their values.
    pub fn parameters(&self) -> [(&'static str, String); 2] {
        let zero = match self.zero {
            EcacheZero::Lazy => ecache_zero::LAZY,
            EcacheZero::Alloc => ecache_zero::ALLOC,
        };
        [(ecache_parameters::SALVAGE_PAGES, self.salvage_pages.to_string()), (ecache_parameters::ZERO, zero.to_owned())]
    }
}

impl Default for ZramConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            algorithm: "lz4".into(),
            size_percent: 25,
            user_memory_bytes: 0,
            above_storage: AboveStorage::Auto,
            priority: 100,
        }
    }
}

impl ZramConfig {
    /// (Memory it may take, what it may hold uncompressed), in bytes. Nothing is chosen that does not shrink to under half, so it can hold more
    /// than twice what it may take: 2.1 to 2.4 times as much where it ran full on the virtual phone. The plain ladder goes by SwapFree, so
    /// there the device is the usual double. So it is above swap on storage, and there without a limit (0): the kernel goes on to storage once the
    /// device has no place left, and not where it refuses a page that it has a place for.
    pub fn sizes(&self, memory_total_bytes: u64, mode: Mode, above_storage: bool) -> (u64, u64) {
        let limit = self.limit_bytes(memory_total_bytes);
        let disk = match mode {
            Mode::Full if !above_storage => limit / 2 * 5,
            _ => limit * 2,
        };
        (if above_storage { 0 } else { limit }, disk / 4096 * 4096)
    }

    fn limit_bytes(&self, memory_total_bytes: u64) -> u64 {
        let user = if self.user_memory_bytes > 0 { self.user_memory_bytes } else { memory_total_bytes };
        user / 100 * self.size_percent / 4096 * 4096
    }

    /// Whether to set it up beside that swap on storage. What it holds it holds in half the space, so it gives as much memory as it takes.
    /// From an SSD the same comes with less work of the CPU, and nearly as fast.
    pub fn goes_above(&self, storage: &StorageSwap, memory_total_bytes: u64) -> bool {
        match self.above_storage {
            _ if storage.size_bytes == 0 => true,
            AboveStorage::Auto => !storage.has_zswap && storage.ssd_bytes < self.limit_bytes(memory_total_bytes),
            AboveStorage::Always => true,
            AboveStorage::Never => false,
        }
    }
}

/// Files and discovery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DaemonConfig {
    /// Whether what is decided is done. If not, it is only written to the journal, and the device stays as it is.
    pub act: bool,
    /// Folder of the control socket and of what is to be undone; must not outlive a reboot.
    pub run_folder: PathBuf,
    /// The journal; relative to the run folder.
    pub journal: PathBuf,
    /// Size at which the journal is rotated (one old file is kept).
    pub journal_max_bytes: u64,
    /// Whether to find apps and jobs by their cgroups.
    pub discover: bool,
    /// Whether a program with a window that runs in its login's own cgroup gets a cgroup of its own.
    pub windows_make_apps: bool,
    /// Where `proc/asound` and `dev` are, in which users of sound and video are looked for.
    pub media_root: PathBuf,
    /// Stall that wakes the daemon: microseconds of waiting for memory within half a second.
    pub psi_stall_us: u64,
}

/// Time within which [`DaemonConfig::psi_stall_us`] is waited for.
pub const PSI_WINDOW_US: u64 = 500_000;

impl Default for DaemonConfig {
    fn default() -> Self {
        Self {
            act: true,
            run_folder: RUN_FOLDER.into(),
            journal: "journal.jsonl".into(),
            journal_max_bytes: 8 << 20,
            discover: true,
            windows_make_apps: true,
            media_root: "/".into(),
            // The kernel's reclaim thread at work counts as a stall, so 2 ms says "reclaim has begun", as the shrinker did to
            // Android's driver (LowMem13, 2.6.4).
            psi_stall_us: 2000,
        }
    }
}

impl Config {
    /// Where the journal is.
    pub fn journal_path(&self) -> PathBuf {
        self.daemon.run_folder.join(&self.daemon.journal)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn error(text: &str) -> String {
        Config::parse(text, Path::new("fovea.toml")).unwrap_err().to_string()
    }

    #[test]
    fn an_empty_file_is_the_defaults() {
        assert_eq!(Config::parse("", Path::new("x")).unwrap(), Config::default());
    }

    #[test]
    fn the_packaged_files_state_the_defaults() {
        for text in [include_str!("../../../packaging/fovea.toml"), include_str!("../../../packaging/expert.toml")] {
            assert_eq!(Config::parse(text, Path::new("fovea.toml")).unwrap(), Config::default());
        }
    }

    #[test]
    fn a_preset_sets_keys_that_there_are() {
        for name in ["desktop", "handheld", "kiosk"] {
            Config::parse(Preset::text(name).unwrap_or_default(), Path::new(name)).unwrap();
            Config::parse(&format!("preset = \"{name}\""), Path::new(name)).unwrap();
        }
    }

    /// What the manual and the unknown keys go by.
    #[test]
    fn every_section_names_its_keys() {
        let sections: Vec<_> = Config::sections().collect();
        let mut names: Vec<_> = sections.iter().map(|(name, _)| *name).collect();
        assert!(sections.iter().all(|(_, keys)| !keys.is_empty()), "{sections:?}");
        let mut all = fovea_apps::keys_of::<Config>().to_vec();
        all.retain(|name| *name != "preset");
        names.sort_unstable();
        all.sort_unstable();
        assert_eq!(names, all);
    }

    #[test]
    fn broken_files_name_file_line_and_mend() {
        assert!(error("[memory]\nmod = \"full\"").starts_with("fovea.toml:2: unknown key memory.mod: left out"));
        assert!(error("[zram]\n\nsize_percent = 0").starts_with("fovea.toml:3: zram.size_percent must be 1 to 100"));
        assert!(error("[memory]\nmode = \"sideways\"").starts_with("fovea.toml:2: mode: unknown variant `sideways`"));
        assert!(error("[memory\n").starts_with("fovea.toml:1: "));
        assert!(error("[memory]\nminfree_pages = [9,1,1,1,1,1]").contains("fovea.toml:2: memory.minfree_pages"));
        assert!(!error("[memory\nx").contains('\n'));
        for (text, named) in [
            ("[memory]\nwatch_ms = 9223372036854775807", "watch_ms must be 1 to 60000"),
            ("[memory]\nfocus_grace_ms = 9223372036854775807", "focus_grace_ms"),
            ("[memory]\nthrash_full_percent = nan", "thrash_full_percent must be 0 to 100"),
            ("[memory]\nminfree_pages = [1, 1, 1, 1, 1, 9223372036854775807]", "pages, not bytes"),
            ("[memory]\nladder_swap_free_percent = 101", "0 to 100"),
            ("[memory]\nbatch_pages = 31", "batch_pages"),
            ("[zram]\npriority = 40000", "zram.priority"),
            ("[daemon]\npsi_stall_us = 0", "daemon.psi_stall_us"),
            ("[lists]\nprotect = [\"a\", \"fire[fox\"]", "write [*], [?] or [[]"),
            ("[lists]\nignore = [\"\"]", "name an app, a unit or a program"),
            ("[lists]\nproect = []", "unknown key lists.proect"),
            (
                "[[services.row]]\nname = \"\"\nclass = \"bursty\"",
                "services.row.name must be 1 to 64 printable characters",
            ),
            (
                "[memory]\nwatch_ms = \"soon\"",
                "watch_ms: invalid type: string \"soon\", expected a whole number from 0 on",
            ),
            ("[daemon]\nrun_folder = \"run\"", "daemon.run_folder must begin with /"),
            ("[freeze]\nclasses = [\"visible\"]", "freeze.classes may name hidden and empty"),
        ] {
            let error = error(text);
            assert!(error.starts_with("fovea.toml:2: ") && error.contains(named), "{error}");
        }
    }

    #[test]
    fn the_size_is_a_limit_of_memory_and_the_device_holds_more_than_that() {
        let zram = ZramConfig { user_memory_bytes: 835 << 20, ..ZramConfig::default() };
        let (limit, disk) = zram.sizes(1 << 30, Mode::Ladder, false);
        assert_eq!(disk, 2 * limit);
        assert!((limit * 249 / 100..=limit * 5 / 2).contains(&zram.sizes(1 << 30, Mode::Full, false).1));
        assert_eq!(zram.sizes(1 << 30, Mode::Full, true), (0, disk), "what it does not take goes to storage");
        assert!((208 << 20..=209 << 20).contains(&limit), "LowMem13: 25 % of 835 MB is about 200 MB");
    }

    #[test]
    fn swap_on_ssds_that_gives_as_much_is_left_alone_and_so_is_zswap() {
        let goes_above = |above_storage, size_mb: u64, ssd_mb: u64, has_zswap| {
            let [size_bytes, ssd_bytes] = [size_mb, ssd_mb].map(|mb| mb << 20);
            let storage = StorageSwap { size_bytes, ssd_bytes, has_zswap, ..StorageSwap::default() };
            ZramConfig { above_storage, ..ZramConfig::default() }.goes_above(&storage, 2 << 30)
        };
        // A quarter of 2 GiB is 512 MiB, and a little less by rounding.
        let auto = |size_mb, ssd_mb, has_zswap| goes_above(AboveStorage::Auto, size_mb, ssd_mb, has_zswap);
        assert!(!auto(512, 512, false));
        assert!(auto(500, 500, false), "too little");
        assert!(auto(4096, 0, false), "a disk that turns, or a card");
        assert!(auto(4096, 500, false), "most of it is");
        assert!(!auto(4096, 0, true), "compressed twice");
        assert!(auto(0, 0, true), "nowhere else to go");
        assert!(goes_above(AboveStorage::Always, 4096, 4096, true));
        assert!(!goes_above(AboveStorage::Never, 100, 0, false));
        assert!(goes_above(AboveStorage::Never, 0, 0, false), "above nothing");
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}") {
            let _ = Config::parse(&text, Path::new("x"));
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A device is never left unguarded for a mistake in a file: where it cannot be used, the last one that could is.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use fovea_apps::limits::CONFIG_MAX_BYTES;

use super::{BadConfig, Config};
use crate::regular;

/// A configuration, and what is to be said of it.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// What counts.
    pub config: Config,
    /// What is wrong with the file, a line each.
    pub problems: Vec<String>,
}

impl Loaded {
    /// Reads a file; unknown keys are problems, anything else is an error.
    pub fn read(path: &Path) -> Result<Self, BadConfig> {
        Self::with_text(path).map(|(loaded, _)| loaded)
    }

    fn with_text(path: &Path) -> Result<(Self, String), BadConfig> {
        let text = regular::text(path, CONFIG_MAX_BYTES)
            .map_err(|source| BadConfig::Unreadable { path: path.to_owned(), source })?;
        let (config, unknown) = Config::read(&text, path)?;
        Ok((Self { config, problems: unknown.iter().map(BadConfig::to_string).collect() }, text))
    }

    /// Reads a file (none: the defaults), and whatever is wrong with it returns one that can be used: the last good one, of which `last_good`
    /// keeps a copy, or the defaults.
    pub fn guarded(path: Option<&Path>, last_good: &Path) -> Self {
        let Some(path) = path else {
            // The defaults are what was good last.
            let _ = std::fs::remove_file(last_good);
            return Self::default();
        };
        let error = match Self::with_text(path) {
            Ok((mut loaded, text)) => {
                loaded.problems.extend(keep(&text, last_good).err());
                return loaded;
            }
            Err(error) => error,
        };
        let (mut loaded, instead) = match Self::read(last_good) {
            Ok(loaded) => (loaded, format!("the last good one counts, {}", last_good.display())),
            Err(_) => (Self::default(), "the defaults count".to_owned()),
        };
        loaded.problems.insert(0, format!("{error}: until then {instead}"));
        loaded
    }
}

/// Keeps a copy of the very text that was found good: whole or not at all, and for its owner alone.
fn keep(text: &str, last_good: &Path) -> Result<(), String> {
    let new = last_good.with_extension("new");
    let copy = || {
        if regular::text(last_good, CONFIG_MAX_BYTES).is_ok_and(|kept| kept == text) {
            return Ok(());
        }
        std::fs::create_dir_all(last_good.parent().unwrap_or(Path::new("/")))?;
        let mut file = std::fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&new, last_good)
    };
    copy()
        .map_err(|e| format!("{}: {e}: no copy of the configuration is kept for when it cannot be read", new.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_file_falls_back_to_the_last_good_one_and_then_to_the_defaults() {
        let folder = tempfile::tempdir().unwrap();
        let (file, good) = (folder.path().join("fovea.toml"), folder.path().join("state/last-good.toml"));
        let load = |text: &str| {
            std::fs::write(&file, text).unwrap();
            Loaded::guarded(Some(&file), &good)
        };
        let bad = load("[zram]\nsize_percent = 0\n");
        assert_eq!(bad.config, Config::default());
        assert!(
            bad.problems[0].contains("fovea.toml:2: zram.size_percent")
                && bad.problems[0].ends_with("until then the defaults count")
        );
        let right = load("[zram]\nsize_percent = 30\n");
        assert_eq!((right.config.zram.size_percent, right.problems.len()), (30, 0));
        let bad = load("[zram\n");
        assert_eq!(bad.config.zram.size_percent, 30);
        assert!(bad.problems.len() == 1 && bad.problems[0].contains("last-good.toml"), "{:?}", bad.problems);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(Loaded::guarded(Some(&file), &good).config.zram.size_percent, 30, "a file that went");
        // Nobody wants a file any more.
        assert!(Loaded::guarded(None, &good).problems.is_empty());
        assert_eq!(load("[zram\n").config, Config::default());
    }

    #[test]
    fn a_newer_versions_key_is_left_out_and_said() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("fovea.toml");
        std::fs::write(&file, "[memory]\nidle_ms = 7\nmod = [\n1,\n]\n[newer]\nx = 1\n[[services.row]]\nname = \"a\"\nclass = \"bursty\"\nport = 1\n").unwrap();
        let loaded = Loaded::guarded(Some(&file), &folder.path().join("good"));
        assert_eq!((loaded.config.memory.idle_ms, loaded.config.services.row.len()), (7, 1));
        let said: Vec<&str> =
            loaded.problems.iter().filter_map(|p| p.split("fovea.toml:").nth(1)?.split(": left").next()).collect();
        assert_eq!(
            said,
            ["3: unknown key memory.mod", "6: unknown section [newer]", "11: unknown key services.row.port"]
        );
    }

    #[test]
    fn where_no_copy_can_be_kept_that_is_said_and_the_file_counts() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("fovea.toml");
        std::fs::write(&file, "[zram]\nsize_percent = 30\n").unwrap();
        let loaded = Loaded::guarded(Some(&file), &file.join("below"));
        assert_eq!(loaded.config.zram.size_percent, 30);
        assert!(loaded.problems.len() == 1 && loaded.problems[0].contains("no copy"), "{:?}", loaded.problems);
    }
}

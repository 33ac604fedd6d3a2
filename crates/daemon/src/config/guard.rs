// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A device is never left unguarded for a mistake in a file: where it cannot be used, the last one that could is.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

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
    /// Reads files, of which a later one's keys go before an earlier one's; unknown keys are problems, anything else is an error.
    pub fn read(paths: &[PathBuf]) -> Result<Self, BadConfig> {
        Self::with_text(paths).map(|(loaded, _)| loaded)
    }

    fn with_text(paths: &[PathBuf]) -> Result<(Self, Vec<(PathBuf, String)>), BadConfig> {
        let read = |path: &PathBuf| match regular::text(path, CONFIG_MAX_BYTES) {
            Ok(text) => Ok((path.clone(), text)),
            Err(source) => Err(BadConfig::Unreadable { path: path.clone(), source }),
        };
        let files = paths.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let (config, unknown) = Config::read_all(&files)?;
        Ok((Self { config, problems: unknown.iter().map(BadConfig::to_string).collect() }, files))
    }

    /// Reads files (none: the defaults), and whatever is wrong with them returns a configuration that can be used: the last good one, of which the
    /// folder `last_good` keeps copies, or the defaults.
    pub fn guarded(paths: &[PathBuf], last_good: &Path) -> Self {
        let error = match Self::with_text(paths) {
            Ok((mut loaded, files)) => {
                loaded.problems.extend(keep(&files, last_good).err());
                return loaded;
            }
            Err(error) => error,
        };
        let kept = kept(last_good);
        let (mut loaded, instead) = match Self::read(&kept) {
            Ok(loaded) if !kept.is_empty() => (loaded, format!("the last good one counts, {}", last_good.display())),
            _ => (Self::default(), "the defaults count".to_owned()),
        };
        loaded.problems.insert(0, format!("{error}: until then {instead}"));
        loaded
    }
}

/// The files of a folder that end in .toml, by their names.
pub fn drop_ins(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    files.sort();
    files
}

/// The copies in the folder, or in the one that was to take its place, if all of one configuration are there.
fn kept(folder: &Path) -> Vec<PathBuf> {
    let whole = |folder: PathBuf| {
        let files = drop_ins(&folder);
        let count = std::fs::read_to_string(folder.join(COUNT)).ok()?.parse();
        (Ok(files.len()) == count).then_some(files)
    };
    whole(folder.to_owned()).or_else(|| whole(folder.with_extension("new"))).unwrap_or_default()
}

/// How many copies belong together: the last that is written.
const COUNT: &str = "count";

fn remove(folder: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Keeps copies of the very texts that were found good: all or none, and for their owner alone.
fn keep(files: &[(PathBuf, String)], folder: &Path) -> Result<(), String> {
    let copy = || {
        let old = kept(folder);
        let same = |(old, (_, text)): (&PathBuf, &(PathBuf, String))| {
            regular::text(old, CONFIG_MAX_BYTES).is_ok_and(|kept| kept == *text)
        };
        if old.len() == files.len() && !old.is_empty() && old.iter().zip(files).all(same) {
            return Ok(());
        }
        let new = folder.with_extension("new");
        remove(&new)?;
        if files.is_empty() {
            // The defaults are what was good last.
            return remove(folder);
        }
        std::fs::create_dir_all(&new)?;
        let write = |name: &str, text: &str| {
            let mut file = std::fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(new.join(name))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()
        };
        for (i, (_, text)) in files.iter().enumerate() {
            write(&format!("{i:03}.toml"), text)?;
        }
        write(COUNT, &files.len().to_string())?;
        remove(folder)?;
        std::fs::rename(&new, folder)
    };
    copy().map_err(|e| {
        format!("{}: {e}: no copy of the configuration is kept for when it cannot be read", folder.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_file_falls_back_to_the_last_good_one_and_then_to_the_defaults() {
        let folder = tempfile::tempdir().unwrap();
        let (file, good) = (folder.path().join("fovea.toml"), folder.path().join("state/last-good"));
        let load = |text: &str| {
            std::fs::write(&file, text).unwrap();
            Loaded::guarded(std::slice::from_ref(&file), &good)
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
        assert!(bad.problems.len() == 1 && bad.problems[0].contains("last-good"), "{:?}", bad.problems);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(
            Loaded::guarded(std::slice::from_ref(&file), &good).config.zram.size_percent,
            30,
            "a file that went"
        );
        // Nobody wants a file any more.
        assert!(Loaded::guarded(&[], &good).problems.is_empty());
        assert_eq!(load("[zram\n").config, Config::default());
    }

    #[test]
    fn a_later_files_keys_go_before_an_earlier_ones_and_both_before_the_presets() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let vendors = file(
            "10.toml",
            "preset = \"handheld\"\n[zram]\nsize_percent = 30\npriority = 7\n[lists]\nprotect = [\"a\", \"b\"]\n",
        );
        let owners = file("fovea.toml", "[zram]\nsize_percent = 40\n[lists]\nprotect = [\"c\"]\n");
        let good = folder.path().join("state/last-good");
        let both = Loaded::guarded(&[vendors.clone(), owners.clone()], &good);
        assert!(both.problems.is_empty(), "{:?}", both.problems);
        let (config, zram) = (&both.config, &both.config.zram);
        assert_eq!((zram.size_percent, zram.priority, config.lists.protect.len()), (40, 7, 1));
        assert_eq!((config.preset, config.freeze.debounce_ms), (super::super::Preset::Handheld, 10_000));
        // The file that is wrong is named, and until it is mended all files count as they were.
        file("fovea.toml", "[zram]\nsize_percent = 0\n");
        let bad = Loaded::guarded(&[vendors.clone(), owners.clone()], &good);
        assert!(bad.problems[0].contains("fovea.toml:2: zram.size_percent"), "{:?}", bad.problems);
        assert_eq!(bad.config, both.config);
        // A section in braces takes no key of another file's away.
        file("fovea.toml", "zram = { size_percent = 40 }\n");
        let braces = Loaded::guarded(&[vendors.clone(), owners.clone()], &good).config.zram;
        assert_eq!((braces.size_percent, braces.priority), (40, 7));
        // A preset may be taken back, and its keys with it.
        file("fovea.toml", "preset = \"desktop\"\n");
        let desktop = Loaded::guarded(&[vendors.clone(), owners.clone()], &good).config;
        assert_eq!((desktop.freeze, desktop.zram.size_percent), (Config::default().freeze, 30));
        let unknown = file("fovea.toml", "preset = \"mainframe\"\n");
        assert!(Loaded::read(&[unknown]).unwrap_err().to_string().contains("fovea.toml:1: "));
    }

    #[test]
    fn copies_that_were_not_all_written_are_not_taken_for_a_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let (file, good) = (folder.path().join("fovea.toml"), folder.path().join("last-good"));
        let load = |text: &str| {
            std::fs::write(&file, text).unwrap();
            Loaded::guarded(std::slice::from_ref(&file), &good).config.zram.size_percent
        };
        assert_eq!(load("[zram]\nsize_percent = 30\n"), 30);
        // The daemon died when the new copies were whole and the old ones gone.
        std::fs::rename(&good, good.with_extension("new")).unwrap();
        assert_eq!(load("[zram\n"), 30);
        std::fs::remove_file(good.with_extension("new").join(COUNT)).unwrap();
        assert_eq!(load("[zram\n"), Config::default().zram.size_percent);
    }

    #[test]
    fn a_newer_versions_key_is_left_out_and_said() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("fovea.toml");
        std::fs::write(&file, "[memory]\nidle_ms = 7\nmod = [\n1,\n]\n[newer]\nx = 1\n[[services.row]]\nname = \"a\"\nclass = \"bursty\"\nport = 1\n").unwrap();
        let loaded = Loaded::guarded(&[file], &folder.path().join("good"));
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
        let loaded = Loaded::guarded(std::slice::from_ref(&file), &file.join("below"));
        assert_eq!(loaded.config.zram.size_percent, 30);
        assert!(loaded.problems.len() == 1 && loaded.problems[0].contains("no copy"), "{:?}", loaded.problems);
    }
}

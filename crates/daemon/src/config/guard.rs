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
            // Some editors begin a file with a byte-order mark, which is no part of its text.
            Ok(text) => Ok((path.clone(), text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))),
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

/// The files that there are: the vendor's, the owner's, and those of the owner's folder, as `/etc/fovea.toml.d`. As in systemd (systemd.unit(5)),
/// a file of that folder takes the place of the vendor's of the same name, and a link to /dev/null is no file. Without a vendor's folder the
/// owner's file was named by somebody: it is read whether it is there or not.
pub fn files(vendors: Option<&Path>, owners: &Path) -> Vec<PathBuf> {
    let mut folder = owners.as_os_str().to_owned();
    folder.push(".d");
    let drop_ins_above = drop_ins(Path::new(&folder));
    let is_replaced = |path: &PathBuf| drop_ins_above.iter().any(|above| above.file_name() == path.file_name());
    let mut files = vendors.map(drop_ins).unwrap_or_default();
    files.retain(|path| !is_replaced(path));
    // A link that leads nowhere is there: it is a mistake to be said.
    files.extend(Some(owners).filter(|path| vendors.is_none() || path.symlink_metadata().is_ok()).map(Path::to_owned));
    files.extend(drop_ins_above);
    files.retain(|path| path.canonicalize().ok().as_deref() != Some(Path::new("/dev/null")));
    files
}

/// The files of a folder that end in .toml, by their names. Those that editors hide are theirs.
fn drop_ins(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let seen =
        entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b".")).map(|entry| entry.path());
    let mut files: Vec<_> = seen.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    files.sort();
    files
}

/// The copies, of the folder or of the one that was to take its place, if all of one configuration are there; else the one file that versions without
/// drop-ins kept.
fn kept(folder: &Path) -> Vec<PathBuf> {
    let single = || Some(vec![single(folder)]).filter(|file| file[0].is_file());
    whole(folder).or_else(|| whole(&new(folder))).or_else(single).unwrap_or_default()
}

/// The copies in a folder, if all are there.
fn whole(folder: &Path) -> Option<Vec<PathBuf>> {
    let files = drop_ins(folder);
    let count = std::fs::read_to_string(folder.join(COUNT)).ok()?.parse();
    (Ok(files.len()) == count).then_some(files)
}

/// What is to take the folder's place.
fn new(folder: &Path) -> PathBuf {
    folder.with_extension("new")
}

/// Where one file was kept.
fn single(folder: &Path) -> PathBuf {
    folder.with_extension("toml")
}

/// An empty place for new copies. Where only the copies in it are whole, for the daemon ended before they took the folder's place, they take it
/// now: at no time are there none.
fn emptied_place(folder: &Path) -> std::io::Result<PathBuf> {
    let new = new(folder);
    if whole(folder).is_none() && whole(&new).is_some() {
        remove(folder)?;
        std::fs::rename(&new, folder)?;
    }
    remove(&new)?;
    Ok(new)
}

/// How many copies belong together: the last that is written.
const COUNT: &str = "count";

fn remove(path: &Path) -> std::io::Result<()> {
    match if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) } {
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
        if whole(folder).is_some() && old.len() == files.len() && !old.is_empty() && old.iter().zip(files).all(same) {
            return Ok(());
        }
        let new = emptied_place(folder)?;
        if files.is_empty() {
            // The defaults are what was good last.
            remove(&single(folder))?;
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
        std::fs::rename(&new, folder)?;
        remove(&single(folder))
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
    fn at_no_time_is_there_no_whole_copy() {
        let folder = tempfile::tempdir().unwrap();
        let (file, good) = (folder.path().join("fovea.toml"), folder.path().join("last-good"));
        let texts = |percent| vec![(file.clone(), format!("[zram]\nsize_percent = {percent}\n"))];
        keep(&texts(30), &good).unwrap();
        std::fs::rename(&good, new(&good)).unwrap();
        let place = emptied_place(&good).unwrap();
        assert!(!place.exists());
        assert_eq!(Loaded::read(&kept(&good)).unwrap().config.zram.size_percent, 30, "while the next one is written");
        keep(&texts(40), &good).unwrap();
        assert_eq!(Loaded::read(&kept(&good)).unwrap().config.zram.size_percent, 40);
    }

    #[test]
    fn the_one_file_that_an_older_version_kept_counts_until_there_are_copies() {
        let folder = tempfile::tempdir().unwrap();
        let (file, good) = (folder.path().join("fovea.toml"), folder.path().join("last-good"));
        let older = folder.path().join("last-good.toml");
        let load = |text: &str| {
            std::fs::write(&file, text).unwrap();
            Loaded::guarded(std::slice::from_ref(&file), &good).config.zram.size_percent
        };
        std::fs::write(&older, "[zram]\nsize_percent = 30\n").unwrap();
        assert_eq!(load("[zram\n"), 30);
        assert_eq!(load("[zram]\nsize_percent = 30\n"), 30);
        assert!(!older.exists(), "the copies are newer from now on");
        assert_eq!(load("[zram\n"), 30);
        std::fs::write(&older, "[zram]\nsize_percent = 31\n").unwrap();
        Loaded::guarded(&[], &good);
        assert_eq!(load("[zram\n"), Config::default().zram.size_percent, "the defaults were good last");
    }

    #[test]
    fn a_drop_in_takes_the_place_of_the_vendors_of_its_name_and_dev_null_masks_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let (vendors, owners) = (path("vendor"), path("fovea.toml"));
        for (name, text) in [
            ("vendor/10.toml", "[zram]\nsize_percent = 30\n"),
            ("vendor/20.toml", "[zram]\npriority = 7\n"),
            ("fovea.toml.d/20.toml", "[zram]\nalgorithm = \"zstd\"\n"),
        ] {
            std::fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            std::fs::write(path(name), text).unwrap();
        }
        let read = || Loaded::read(&files(Some(&vendors), &owners)).unwrap().config.zram;
        let zram = read();
        assert_eq!((zram.size_percent, zram.algorithm.as_str()), (30, "zstd"));
        assert_eq!(zram.priority, Config::default().zram.priority, "the owner's 20.toml stands in its place");
        std::os::unix::fs::symlink("/dev/null", path("fovea.toml.d/10.toml")).unwrap();
        std::os::unix::fs::symlink("/dev/null", &owners).unwrap();
        assert_eq!(read().size_percent, Config::default().zram.size_percent);
        // An editor's lock, which leads nowhere.
        std::os::unix::fs::symlink("me@here.1", path("fovea.toml.d/.#20.toml")).unwrap();
        assert_eq!(files(Some(&vendors), &owners), [path("fovea.toml.d/20.toml")]);
        // A named file is read if it is there or not.
        assert_eq!(files(None, &path("named.toml")), [path("named.toml")]);
    }

    #[test]
    fn what_is_no_file_among_the_drop_ins_is_named_with_its_own_mend() {
        let folder = tempfile::tempdir().unwrap();
        let owners = folder.path().join("fovea.toml");
        let drop_in = folder.path().join("fovea.toml.d/10.toml");
        std::fs::create_dir(drop_in.parent().unwrap()).unwrap();
        let said = || Loaded::read(&files(Some(Path::new("/nowhere")), &owners)).unwrap_err().to_string();
        std::os::unix::fs::symlink("gone", &drop_in).unwrap();
        assert!(said().ends_with("10.toml: the link leads nowhere: mend or remove it"), "{}", said());
        std::fs::rename(&drop_in, &owners).unwrap();
        assert!(said().ends_with("fovea.toml: the link leads nowhere: mend or remove it"), "{}", said());
        std::fs::remove_file(&owners).unwrap();
        std::fs::create_dir(&drop_in).unwrap();
        assert!(said().ends_with("10.toml: no regular file: mend or remove it"), "{}", said());
        std::fs::remove_dir(&drop_in).unwrap();
        std::fs::write(&drop_in, b"\xff\xfe[\0z\0").unwrap();
        assert!(said().ends_with("save it as UTF-8"), "{}", said());
        let named = Loaded::read(&files(None, &folder.path().join("none.toml"))).unwrap_err().to_string();
        assert!(named.ends_with("name a readable file with --config"), "{named}");
    }

    #[test]
    fn a_byte_order_mark_and_the_line_ends_of_other_systems_are_no_mistake() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("fovea.toml");
        std::fs::write(&file, "\u{feff}[zram]\r\nsize_percent = 30\r\nalgorithm = \"zstd\"\r\n").unwrap();
        let loaded = Loaded::read(std::slice::from_ref(&file)).unwrap();
        assert!(loaded.problems.is_empty() && loaded.config.zram.size_percent == 30, "{loaded:?}");
        assert_eq!(loaded.config.zram.algorithm, "zstd");
        std::fs::write(&file, "\u{feff}[zram]\r\n\r\nsize_percent = 0\r\n").unwrap();
        let said = Loaded::read(&[file]).unwrap_err().to_string();
        assert!(said.contains("fovea.toml:3: zram.size_percent"), "{said}");
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

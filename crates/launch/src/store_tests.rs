// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is kept comes back, what is damaged does not, and bounds hold.

use super::*;
use crate::Pages;

fn id(inode: u64) -> FileId {
    FileId { device: 1, inode, size: 1 << 20, mtime_ns: 5 }
}

/// An app's start that read so many files, in `ranges` ranges each.
fn start(store: &mut UserStore, name: &str, at_s: u64, files: std::ops::Range<u64>, ranges: u32) {
    let mut seen = Observation::default();
    for file in files {
        let path = format!("/usr/lib/some-folder/lib{file}.so");
        let Some(key) = store.key(path.as_bytes(), id(file)) else { continue };
        let read: Pages = (0..ranges).map(|nth| nth * 9..nth * 9 + 4).collect();
        seen.note(key, &Pages::new(), &read);
    }
    store.app_mut(name).observed(at_s, seen);
}

#[test]
fn what_is_kept_comes_back_and_shared_files_stand_there_once() {
    let mut store = UserStore::default();
    start(&mut store, "gimp", 10, 0..50, 5);
    start(&mut store, "gimp", 11, 0..50, 5);
    let (alone, _) = store.written();
    start(&mut store, "firefox", 20, 0..50, 5);
    store.spend(3, 77);
    let (bytes, dropped) = store.written();
    assert_eq!((dropped, store.files.len()), (0, 50));
    assert!(bytes.len() < alone.len() * 3 / 2, "{} and {}", bytes.len(), alone.len());
    let again = UserStore::read(&bytes).unwrap();
    assert_eq!(again, store);
    assert_eq!((again.left_today(3, 100), again.left_today(4, 100)), (23, 100));
    assert_eq!(again.app("gimp").unwrap().score.accuracy(), Some(100));
}

#[test]
fn a_torn_a_foreign_and_a_later_file_are_told_apart() {
    let mut store = UserStore::default();
    start(&mut store, "gimp", 10, 0..5, 5);
    let (bytes, _) = store.written();
    for length in 0..bytes.len() {
        let expected = if (1..8).contains(&length) { Damage::Foreign } else { Damage::Torn };
        assert_eq!(UserStore::read(&bytes[..length]), Err(expected), "{length}");
    }
    for at in HEAD_BYTES..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        assert_eq!(UserStore::read(&changed), Err(Damage::Torn), "{at}");
    }
    assert_eq!(UserStore::read(b"{\"apps\": []} and more of a file like that"), Err(Damage::Foreign));
    let mut later = bytes;
    later[8] = VERSION as u8 + 1;
    assert_eq!(UserStore::read(&later), Err(Damage::Version));
}

#[test]
fn a_file_that_changed_is_forgotten_by_every_app() {
    let mut store = UserStore::default();
    start(&mut store, "gimp", 10, 0..6, 5);
    start(&mut store, "firefox", 10, 0..6, 5);
    let path = b"/usr/lib/some-folder/lib1.so";
    let old = store.key(path, id(1)).unwrap();
    for changed in [
        FileId { mtime_ns: 6, ..id(1) },
        FileId { size: 2 << 20, ..id(1) },
        FileId { inode: 99, ..id(1) },
        FileId { device: 2, ..id(1) },
    ] {
        assert_eq!(store.clone().key_of(path, changed), None);
        let mut store = store.clone();
        assert!(store.key(path, changed).is_some());
        for name in ["gimp", "firefox"] {
            let expected = store.app(name).unwrap().expected();
            assert_eq!(expected.len(), 5);
            assert!(!expected.contains_key(&old) || store.file(old).unwrap().id == changed);
        }
    }
}

#[test]
fn ten_thousand_apps_of_a_user_leave_the_latest_and_stay_within_the_bounds() {
    let mut store = UserStore::default();
    for nth in 0..10_000u64 {
        start(&mut store, &format!("fake-{nth}"), nth, nth * 4..nth * 4 + 4, 3);
        if nth % 200 == 199 {
            // As it is after each start, when it is written and read again.
            let (bytes, _) = store.written();
            assert!(bytes.len() <= STORE_MAX_BYTES);
            store = UserStore::read(&bytes).unwrap();
        }
    }
    let names: Vec<&str> = store.apps().map(|(name, _)| name).collect();
    assert_eq!(names.len(), APPS_MAX);
    assert!(names.contains(&"fake-9999") && !names.contains(&"fake-0"));
}

#[test]
fn apps_that_read_much_give_way_by_age_until_the_file_fits() {
    let mut store = UserStore::default();
    for nth in 0..40u64 {
        start(&mut store, &format!("large-{nth:02}"), nth, nth * 200..nth * 200 + 200, 120);
        start(&mut store, &format!("large-{nth:02}"), nth, nth * 200..nth * 200 + 200, 120);
    }
    let before = store.apps.len();
    let (bytes, dropped) = store.written();
    assert!(bytes.len() <= STORE_MAX_BYTES && dropped > 0 && dropped < before, "{dropped} of {before}");
    assert!(store.app("large-39").is_some() && store.app("large-00").is_none());
    assert_eq!(UserStore::read(&bytes).unwrap(), store);
}

#[test]
fn names_and_paths_are_bounded() {
    let mut store = UserStore::default();
    let name = "ä".repeat(300);
    store.app_mut(&name).left(1, 0, 0);
    assert!(store.apps().all(|(name, _)| name.len() <= NAME_MAX_BYTES && name.len() >= NAME_MAX_BYTES - 1));
    assert_eq!(store.key(&vec![b'x'; PATH_MAX_BYTES + 1], id(1)), None);
    let (bytes, _) = store.written();
    assert_eq!(UserStore::read(&bytes).unwrap(), store);
}

#[test]
fn files_in_many_pieces_are_kept_in_fewer() {
    let mut store = UserStore::default();
    let key = store.key(b"/usr/bin/scattered", id(1)).unwrap();
    let mut seen = Observation::default();
    let before: Pages = (0..1000).map(|nth| nth * 6..nth * 6 + 1 + nth % 2).collect();
    let read: Pages = (0..200).map(|nth| nth * 30 + 3..nth * 30 + 4).collect();
    seen.note(key, &before, &before.union(&read));
    store.app_mut("scattered").observed(1, seen);
    let (bytes, _) = store.written();
    assert_eq!(UserStore::read(&bytes).as_ref(), Ok(&store));
    let start = &store.app("scattered").unwrap().history[0].files[&key];
    assert!(start.read.without(&read).count() > 0 && read.without(&start.read).is_empty());
}

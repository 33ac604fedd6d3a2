// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A dense form whose trace lies where nothing can be written goes to the user's cache folder, and if that cannot be either, nowhere.
//! Alone in its program, for it sets the environment.

use std::fs;

use fovea_lab::{
    dense::{Dense, DenseOptions},
    synthetic::{make, Synthetic},
};

#[test]
fn a_form_goes_where_it_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.parquet");
    make(&Synthetic { requests: 2000, objects: 50, zipf: 1.0, once_percent: 10.0, seed: 1 }, &trace, |_| ()).unwrap();
    // Root may write anywhere, but not below a file.
    fs::write(folder.path().join(".fovea-dense"), "").unwrap();
    let cache = folder.path().join("cache");
    std::env::set_var("XDG_CACHE_HOME", &cache);
    let options = DenseOptions { keep_requests: Some(0), ..DenseOptions::default() };
    let open = || Dense::open(&trace, &options, |_| {}).unwrap().footprint();
    let first = open();
    let kept: Vec<_> = fs::read_dir(cache.join("fovea/dense")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(kept.len(), 1);
    let made = fs::metadata(&kept[0]).unwrap().modified().unwrap();
    assert_eq!(open(), first);
    assert_eq!(fs::metadata(&kept[0]).unwrap().modified().unwrap(), made, "taken, and not made again");
    fs::remove_dir_all(&cache).unwrap();
    fs::write(&cache, "").unwrap();
    assert_eq!(open(), first);
}

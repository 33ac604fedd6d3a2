// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which packages make a kernel, and how they work where they are unpacked.

use super::*;

#[test]
fn the_release_is_in_the_image_packages_name() {
    let release = release_of("linux-image-6.12.95+deb12-cloud-amd64-unsigned");
    assert_eq!(release.as_deref(), Some("6.12.95+deb12-cloud-amd64"));
    let release = release_of("linux-image-6.1.0-56-cloud-amd64-unsigned");
    assert_eq!(release.as_deref(), Some("6.1.0-56-cloud-amd64"));
    let release = release_of("linux-binary-unsigned-7.3.4+deb13-cloud-amd64");
    assert_eq!(release.as_deref(), Some("7.3.4+deb13-cloud-amd64"));
    assert_eq!(release_of("linux-image-6.12.95+deb12-cloud-amd64"), None);
    let release = release_of("linux-image-6.12.95+deb12-armmp-lpae");
    assert_eq!(release.as_deref(), Some("6.12.95+deb12-armmp-lpae"), "nobody signs those");
}

#[test]
fn every_machine_has_a_line_of_its_own() {
    for platform in Platform::ALL {
        assert_eq!(Line::of(platform).platform(), platform);
    }
    let folders: std::collections::BTreeSet<_> = Platform::ALL.map(|platform| Line::of(platform).folder()).into();
    assert_eq!(folders.len(), Platform::ALL.len());
}

#[test]
fn headers_bring_the_common_ones_and_kbuild_and_no_image() {
    let depends = [
        "linux-base",
        "linux-headers-6.12.95+deb12-common",
        "linux-image-6.12.95+deb12-cloud-amd64",
        "linux-kbuild-6.12.95+deb12",
        "gcc-12",
    ];
    let headers = Package {
        name: "h".into(),
        version: "1".into(),
        architecture: None,
        depends: depends.map(String::from).to_vec(),
    };
    assert_eq!(header_dependencies(&headers), [depends[1], depends[3]]);
}

#[test]
fn headers_work_wherever_they_are() {
    headers_work_in(MODULES);
}

#[test]
fn modules_are_found_where_debian_13_puts_them() {
    headers_work_in(USR_MODULES);
}

#[test]
fn an_image_beside_its_modules_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join(USR_MODULES).join("7-x");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("vmlinuz.unsigned"), "image").unwrap();
    let found = find_image(dir.path(), "7-x").unwrap();
    assert_eq!((fs::read_to_string(&found).unwrap().as_str(), found), ("image", dir.path().join("boot/vmlinuz-7-x")));
}

fn headers_work_in(folder: &str) {
    let dir = tempfile::tempdir().unwrap();
    let (src, modules) = (dir.path().join("usr/src"), dir.path().join(folder).join("1-x"));
    fs::create_dir_all(src.join("linux-headers-1-x")).unwrap();
    fs::create_dir_all(src.join("linux-headers-1-common")).unwrap();
    fs::create_dir_all(&modules).unwrap();
    let makefile = src.join("linux-headers-1-x/Makefile");
    fs::write(&makefile, "include /usr/src/linux-headers-1-common/Makefile\nother: x\n").unwrap();
    symlink("/usr/src/linux-headers-1-x", modules.join("build")).unwrap();
    find_modules(dir.path()).unwrap();
    relocate_headers(dir.path(), "1-x").unwrap();
    assert_eq!(
        fs::read_to_string(&makefile).unwrap(),
        "include $(dir $(lastword $(MAKEFILE_LIST)))../linux-headers-1-common/Makefile\nother: x\n"
    );
    assert!(dir.path().join("lib/modules/1-x/build/Makefile").exists());
}

#[test]
fn a_kernel_without_its_record_is_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(dir.path()).unwrap();
    assert!(cached(&cache).unwrap().is_none());
    cache.write_file("kernel/current", b"6.12.1-1\n").unwrap();
    fs::create_dir_all(cache.path("kernel/6.12.1-1")).unwrap();
    assert!(cached(&cache).unwrap().is_none(), "an unfinished folder");
    cache.write_file("kernel/6.12.1-1/kernel.json", br#"{"release":"r","package_version":"6.12.1-1"}"#).unwrap();
    assert_eq!(cached(&cache).unwrap().unwrap().release, "r");
    assert!(cached_of(&cache, Line::Linux6_1).unwrap().is_none(), "each line has its own");
    cache.write_file("kernel/6.12.1-1/kernel.json", b"{").unwrap();
    assert!(cached(&cache).is_err());
}

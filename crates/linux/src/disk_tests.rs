// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Reading and writing what the disk is told, on captured files.

use super::*;
use crate::cgroup::Controller;
use crate::device_traits::{Apps, Disks};
use crate::file::capture;
use crate::System;

const APP: &str = "user.slice/app";

fn machine(subtree_control: &str) -> (tempfile::TempDir, System) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    capture(root, "proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    capture(root, "sys/fs/cgroup/cgroup.controllers", "cpu io memory\n");
    capture(root, "sys/fs/cgroup/cgroup.subtree_control", subtree_control);
    capture(root, "sys/fs/cgroup/user.slice/cgroup.subtree_control", "memory\n");
    capture(root, &format!("sys/fs/cgroup/{APP}/cgroup.procs"), "");
    let system = System::at(root);
    (folder, system)
}

#[test]
fn what_an_app_moved_is_the_sum_of_both_directions() {
    let text =
        "8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=99 dios=1\n253:3 rbytes=1 wbytes=0 rios=1 wios=0\n\n7:0 \n";
    assert_eq!(parse_usage(text), [("8:0".into(), 12288), ("253:3".into(), 1), ("7:0".into(), 0)]);
    assert_eq!(parse_usage("rubbish\n=3 4:\n"), []);
}

#[test]
fn a_setting_is_read_as_it_can_be_written_back() {
    let max = "8:0 rbps=max wbps=1048576 riops=max wiops=max\n";
    assert_eq!(parse_setting(max, Some("8:0")).unwrap(), "8:0 rbps=max wbps=1048576 riops=max wiops=max");
    assert_eq!(parse_setting(max, Some("8:16")).unwrap(), "8:16 rbps=max wbps=max");
    assert_eq!(parse_setting("default 100\n8:0 50\n", None).unwrap(), "default 100");
    assert_eq!(parse_setting("100\n", None).unwrap(), "default 100");
    assert_eq!(parse_setting("", None), None);
}

#[test]
fn without_volumes_the_controller_is_used_and_what_it_lacks_is_told() {
    let (folder, mut system) = machine("cpu memory\n");
    assert_eq!(system.disk_control(true).unwrap(), DiskControl::Limits);
    assert_eq!(system.disk_control(false).unwrap(), DiskControl::Absent);
    capture(folder.path(), "sys/block/sda/queue/scheduler", "none mq-deadline [bfq]\n");
    assert_eq!(system.disk_control(false).unwrap(), DiskControl::Weights);
    assert_eq!(system.io_weights().unwrap(), ["io.bfq.weight"]);
    let row = system.check().row("disk").unwrap().clone();
    assert!(row.found.contains("io.bfq.weight") && row.found.contains("lacks io"), "{row:?}");
    assert!(row.mend.contains("enable_controller"), "{row:?}");
    capture(folder.path(), "sys/fs/cgroup/io.cost.qos", "8:0 enable=1 ctrl=auto\n");
    assert_eq!(system.io_weights().unwrap(), ["io.bfq.weight", "io.weight"]);
}

#[test]
fn who_does_not_pass_the_controller_on_is_named_from_above() {
    let (folder, mut system) = machine("cpu memory\n");
    assert_eq!(system.without_controller(APP, Controller::Io).unwrap(), ["", "user.slice"]);
    capture(folder.path(), "sys/fs/cgroup/cgroup.subtree_control", "cpu io memory\n");
    assert_eq!(system.without_controller(APP, Controller::Io).unwrap(), ["user.slice"]);
    assert!(system.without_controller("../etc", Controller::Io).is_err());
    system.pass_controller_on("user.slice", Controller::Io, true).unwrap();
    let written = std::fs::read_to_string(folder.path().join("sys/fs/cgroup/user.slice/cgroup.subtree_control"));
    assert!(written.unwrap().starts_with("+io"));
    system.pass_controller_on("user.slice/gone", Controller::Io, false).unwrap();
}

#[test]
fn what_the_kernel_did_not_take_is_an_error_and_an_app_that_has_ended_none() {
    let (folder, mut system) = machine("io\n");
    let file = format!("sys/fs/cgroup/{APP}/io.max");
    capture(folder.path(), &file, "");
    system.set_io_setting(APP, "io.max", "8:0 rbps=1000 wbps=1000").unwrap();
    assert_eq!(system.io_setting(APP, "io.max", Some("8:0")).unwrap().unwrap(), "8:0 rbps=1000 wbps=1000");
    // A device where the file swallows everything.
    std::fs::remove_file(folder.path().join(&file)).unwrap();
    std::os::unix::fs::symlink("/dev/null", folder.path().join(&file)).unwrap();
    assert!(system.set_io_setting(APP, "io.max", "8:0 rbps=1000 wbps=1000").is_err());
    assert_eq!(system.io_setting(APP, "io.weight", None).unwrap(), None);
    system.set_io_setting("user.slice/gone", "io.max", "8:0 rbps=1 wbps=1").unwrap();
    assert_eq!(system.disk_id("user.slice/gone").unwrap(), None);
    assert!(system.disk_id(APP).unwrap().is_some());
}

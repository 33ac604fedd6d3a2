// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! GStreamer plays frames through the library's buffers (`lib/heap/gst`): those of `/dev/udmabuf` where there is one, and plain memory in
//! their place. Skipped, with a word, where GStreamer or its headers are missing.

use std::path::Path;
use std::process::Command;

#[test]
fn gstreamer_plays_frames_through_buffers() {
    let flags = Command::new("pkg-config").args(["--cflags", "--libs", "gstreamer-1.0"]).output();
    let flags = flags.ok().filter(|out| out.status.success()).map(|out| String::from_utf8(out.stdout).unwrap());
    let Some(flags) = flags else {
        println!("skipped: no GStreamer headers: apt-get install libgstreamer1.0-dev gstreamer1.0-plugins-base");
        return;
    };
    let lib = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lib/heap");
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("play");
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"]).arg(&lib).arg("-o").arg(&program);
    cc.args(["gst/play.c", "gst/foveaallocator.c", "heap.c"].map(|file| lib.join(file)));
    assert!(cc.args(flags.split_whitespace()).status().unwrap().success(), "{cc:?}");
    for heap in ["memory", "/dev/udmabuf"] {
        if heap.starts_with('/') && !Path::new(heap).exists() {
            println!("{heap}: skipped, this machine has none");
            continue;
        }
        let out = Command::new(&program).args([heap, "60"]).output().unwrap();
        let said = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        match out.status.code() {
            Some(3) => println!("{heap}: skipped: {said}"),
            code => assert!(code == Some(0) && said.contains("the same content"), "{heap}: {code:?}: {said}"),
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! GStreamer plays frames through buffers of each heap (`lib/heap/gst/play.c`), if the host has it: the content of every frame is that of
//! GStreamer's own memory, and a buffer that comes back is where it was mapped before.

use std::path::Path;
use std::process::Command;

use fovea_contract::{HEAP_SHARED_FOLDER, SYSTEM_NODE};
use fovea_tests::kernel::{at, Outcome};

use crate::bench::Bench;

/// The program, and beside it GStreamer's plugins.
const PLAY: &str = "/bin/play";
const FRAMES: &str = "40";

pub fn all(bench: &Bench) -> Outcome<()> {
    if !Path::new(PLAY).exists() {
        println!("     pipeline: left out, the host has no GStreamer");
        return Ok(());
    }
    for heap in
        [format!("/dev/{HEAP_SHARED_FOLDER}/{SYSTEM_NODE}"), "/dev/udmabuf".into(), "/dev/dma_heap/system".into()]
    {
        let mut play = Command::new(PLAY);
        play.args([&heap, FRAMES]).env("GST_PLUGIN_SYSTEM_PATH", "").env("GST_PLUGIN_PATH", "/bin");
        play.env("GST_REGISTRY", "/tmp/gstreamer").env("GST_REGISTRY_FORK", "no").env("HOME", "/tmp");
        let out = at(PLAY, play.output())?;
        let said = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()).concat();
        let right = out.status.success() && said.contains("the same content");
        bench.report.check(format_args!("wrong content: GStreamer through {heap}"), right, said);
    }
    Ok(())
}

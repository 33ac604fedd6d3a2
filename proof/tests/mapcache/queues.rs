// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! GStreamer's own V4L2 elements on stock drivers (`lib/heap/gst/share.c`): each frame's buffer goes to the queues of two outputs, and there are
//! more buffers than slots, so that with nearly each frame a buffer is mapped. With the cache it is found mapped.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use fovea_contract::{heap_mapcache_statistics as statistics, HEAP_SHARED_FOLDER, SYSTEM_NODE};
use fovea_linux::{module, Root};
use fovea_tests::kernel::{at, busy_ns, comes, Outcome};

use crate::bench::{set_cache, set_system, total, Bench};

/// The program, and beside it GStreamer's plugins.
const SHARE: &str = "/bin/share";
const DRIVER: &str = "vivid";
const OUTPUTS: [&str; 2] = ["/dev/video0", "/dev/video1"];
const FRAMES: u64 = 80;
/// What an HDMI output has when nobody chose, 1.8 MB a frame.
const SIZE: [&str; 2] = ["1280", "720"];

/// Of a pipeline: mappings found and made, and what the CPU worked for all tasks.
struct Played {
    found: u64,
    made: u64,
    busy_ns: u64,
    said: String,
}

pub fn all(bench: &Bench) -> Outcome<()> {
    if !module::is_available(&Root::at("/"), DRIVER) {
        return Ok(());
    }
    if !Path::new(SHARE).exists() {
        println!("     queues: left out, the host has no GStreamer with V4L2");
        return Ok(());
    }
    let parameters = "n_devs=2 node_types=0x100,0x100 num_outputs=1,1 output_types=1,1 no_error_inj=1 allocators=0,0";
    at(DRIVER, module::load_with(&Root::at("/"), DRIVER, parameters))?;
    comes(Duration::from_secs(10), || Ok(OUTPUTS.iter().all(|node| Path::new(node).exists())))?;
    set_system("scatter", "1")?;
    // The first looks at the plugins.
    play()?;
    let mut played = Vec::new();
    for on in [0, 1] {
        set_cache("mapcache", on)?;
        played.push(play()?);
    }
    set_system("scatter", "0")?;
    let per_frame = |number: u64| number as f64 / FRAMES as f64;
    for (name, one) in ["off", "on"].iter().zip(&played) {
        println!(
            "queues, cache {name}: a frame {:.2} mappings found, {:.2} made, {:.0} ns of the CPU; {}",
            per_frame(one.found),
            per_frame(one.made),
            per_frame(one.busy_ns),
            one.said
        );
    }
    let [off, on] = &played[..] else { return Err("two pipelines".into()) };
    let each = format_args!("{} and {} of {FRAMES} frames on {} outputs", off.made, on.made, OUTPUTS.len());
    // While one queue has a buffer mapped for the kernel, the other's mapping is the same.
    let wander = off.made * 4 >= FRAMES * 3 && off.found == 0;
    bench.check("stock V4L2 queues that share buffers map with most frames", wander, each);
    bench.check("with the cache each buffer is mapped once", on.made * 4 < off.made && on.found * 2 > FRAMES, each);
    let saved = off.busy_ns > on.busy_ns;
    let times = format_args!("{} and {} ns a frame", off.busy_ns / FRAMES, on.busy_ns / FRAMES);
    bench.check("and that saves time", saved, times);
    at("unloading vivid", module::remove(DRIVER))
}

fn play() -> Outcome<Played> {
    let mut share = Command::new(SHARE);
    let heap = format!("/dev/{HEAP_SHARED_FOLDER}/{SYSTEM_NODE}");
    share.args([&heap, &FRAMES.to_string()]).args(SIZE).args(OUTPUTS);
    share.env("GST_PLUGIN_SYSTEM_PATH", "").env("GST_PLUGIN_PATH", "/bin").env("HOME", "/tmp");
    share.env("GST_REGISTRY", "/tmp/gstreamer").env("GST_REGISTRY_FORK", "no");
    let numbers = || -> Outcome<[u64; 2]> { Ok([total(statistics::VMAP_HITS)?, total(statistics::VMAP_MISSES)?]) };
    let (before, busy) = (numbers()?, busy_ns()?);
    let out = at(SHARE, share.output())?;
    let (after, busy) = (numbers()?, busy_ns()? - busy);
    let said = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()).concat();
    if !out.status.success() {
        return Err(format!("{SHARE}: {}: {said}", out.status));
    }
    Ok(Played { found: after[0] - before[0], made: after[1] - before[1], busy_ns: busy, said })
}

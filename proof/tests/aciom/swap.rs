// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Swap on the volume: whoever must free memory waits for it, so what is held must not wait for memory. Apps of all classes use more than their
//! cgroups may keep, while classes change and the volume is suspended and loaded anew.

use std::time::{Duration, Instant};

use fovea_linux::swap;
use fovea_tests::content::{Contents, Random, State};
use fovea_tests::kernel::{at, write_file, Outcome};
use fovea_tests::raw::PAGE;
use fovea_tests::report::Report;

use crate::phases::churn;
use crate::stack::{App, Volume};
use crate::Options;

/// Of each app, and what of that its cgroup may keep.
const MEMORY_PAGES: usize = 5 << 8;
const KEPT_BYTES: u64 = 3 << 20;

/// The child's part: every page known, read and changed at random, and all of them at the end.
pub fn use_memory(ms: u64, seed: u64) -> Outcome<()> {
    let contents = Contents::new(seed);
    let mut random = Random::new(seed, 9);
    let mut memory = vec![0; MEMORY_PAGES * PAGE];
    let mut versions = vec![0; MEMORY_PAGES];
    let state = |page: usize, version| State { file: 0, page: page as u32, version };
    let compare = |page: usize, found: &[u8], version| match version == 0 || contents.holds(state(page, version), found)
    {
        true => Ok(()),
        false => {
            let is = contents.recognise(found);
            Err(format!("wrong content: page {page} of memory, version {version}, is {is}"))
        }
    };
    let end = Instant::now() + Duration::from_millis(ms);
    let mut version = 0;
    while Instant::now() < end {
        let page = random.index(MEMORY_PAGES);
        let found = &mut memory[page * PAGE..][..PAGE];
        compare(page, found, versions[page])?;
        if random.below(2) == 0 {
            version += 1;
            versions[page] = version;
            contents.write(state(page, version), found);
        }
    }
    memory
        .chunks_exact(PAGE)
        .zip(&versions)
        .enumerate()
        .try_for_each(|(page, (found, &version))| compare(page, found, version))
}

pub fn all(volume: &Volume, options: &Options, report: &Report) -> Outcome<()> {
    at("mkswap", swap::make(&volume.node, volume.size_bytes))?;
    at("swapon", swap::on(&volume.node, -1))?;
    let names = ["player", "copy", "sync", "shell"];
    let apps: Vec<App> = names.into_iter().map(App::make).collect::<Outcome<_>>()?;
    let before = volume.written_pages()?;
    let node = volume.node.to_string_lossy().into_owned();
    let mut children = Vec::new();
    for (nth, app) in (0..).zip(&apps) {
        // `memory.max` would have the kernel end an app whose swap stands still while the volume is suspended, on any device.
        write_file(app.path.join("memory.high"), &KEPT_BYTES.to_string())?;
        let words = [options.seconds * 1000, options.seed + nth].map(|word| word.to_string());
        children.push(app.start(&["memory", &node, &words[0], &words[1]])?);
    }
    churn(volume, &apps, &mut children, options, report)?;
    let swapped = volume.written_pages()? - before;
    report.check("memory went through the volume", swapped > 1000, format_args!("{swapped} pages"));
    apps.iter().try_for_each(|app| write_file(app.path.join("memory.high"), "max"))?;
    at("swapoff", swap::off(&volume.node))
}

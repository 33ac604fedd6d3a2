// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Fills the cache, so that the tests that boot a kernel find one: `cargo run -p fovea-phone --example fetch -- [--refresh] [--newest] [--debug]`.
//! `--newest` gets the newest line of kernels as well, `--debug` builds the debug kernel.

use fovea_phone::{debug_kernel, fetch, Cache, Error, Progress};

fn main() -> std::process::ExitCode {
    let asked = |word: &str| std::env::args().any(|arg| arg == word);
    let (refresh, newest, debug) = (asked("--refresh"), asked("--newest"), asked("--debug"));
    let fetched = (|| -> Result<(), Error> {
        let (cache, progress) = (Cache::open()?, Progress::auto());
        let kernel = fetch::kernel(&cache, refresh, &progress)?;
        let busybox = fetch::busybox(&cache, &progress)?;
        println!("{} ({}), {}", kernel.release, kernel.package_version, busybox.display());
        if newest {
            let kernel = fetch::kernel_of(&cache, fetch::Line::Newest, refresh, &progress)?;
            println!("{} ({})", kernel.release, kernel.package_version);
        }
        if debug {
            let kernel = debug_kernel::kernel(&cache, &progress)?;
            println!("{} ({})", kernel.release, kernel.package_version);
        }
        Ok(())
    })();
    match fetched {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            error.details().iter().for_each(|line| eprintln!("    {line}"));
            std::process::ExitCode::from(if error.is_missing() { 3 } else { 1 })
        }
    }
}

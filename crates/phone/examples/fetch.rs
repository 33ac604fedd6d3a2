// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Fills the cache, so that the tests that boot a kernel find one: `cargo run -p fovea-phone --example fetch [-- --refresh]`.

use fovea_phone::{fetch, Cache, Error, Progress};

fn main() -> std::process::ExitCode {
    let refresh = std::env::args().any(|arg| arg == "--refresh");
    let fetched = (|| -> Result<(), Error> {
        let (cache, progress) = (Cache::open()?, Progress::auto());
        let kernel = fetch::kernel(&cache, refresh, &progress)?;
        let busybox = fetch::busybox(&cache, &progress)?;
        println!("{} ({}), {}", kernel.release, kernel.package_version, busybox.display());
        Ok(())
    })();
    match fetched {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            std::process::ExitCode::from(if error.is_missing() { 3 } else { 1 })
        }
    }
}

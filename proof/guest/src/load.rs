// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a program does that is no ordinary app: a fork bomb, a build, music. (A leak is the app's own, `app.rs`.)

use fovea_scenario::{AppProfile, Load, Mix};

use crate::buffers::sleep_ns;
use crate::hash::mix64;
use crate::memory::Anon;
use crate::outcome::{At, Outcome};
use crate::readings::now_ns;
use crate::sound;
use crate::spawn::{self, Side};
use crate::spin::spin;

/// Exit status of a build one of whose compilers was killed.
pub const BROKEN_BUILD: i32 = 70;

/// Begins what the profile says, if anything. Does not return from a build.
pub fn begin(profile: &AppProfile, seed: u64, exact: bool) -> Outcome<()> {
    match profile.load {
        None | Some(Load::Leak { .. }) => Ok(()),
        Some(Load::Bomb { processes, fork_period_ns, pages, pieces, period_ns }) => {
            // SAFETY: takes no pointer. Nobody waits for the children.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
            for number in 0..u64::from(processes) {
                if let Side::Child = spawn::fork()? {
                    let own = mix64(seed ^ number);
                    end(hoard(profile.mix, own, pages, pieces, period_ns));
                }
                sleep_ns(fork_period_ns);
            }
            Ok(())
        }
        Some(Load::Music { pages, pages_per_chunk }) => {
            let mix = profile.mix;
            // A thread, for a process of its own would share all the app's pages.
            std::thread::spawn(move || {
                if let Err(error) = sound::play(mix, seed, pages, pages_per_chunk) {
                    eprintln!("fovea-guest: music: {error}");
                }
            });
            Ok(())
        }
        Some(Load::Build { jobs, pages, compute_insns, period_ns }) => {
            build(jobs, period_ns, |number| compile(profile.mix, mix64(seed ^ number), pages, compute_insns, exact))
        }
    }
}

/// Ends a child that has done its work.
fn end(result: Outcome<()>) -> ! {
    if let Err(error) = &result {
        eprintln!("fovea-guest: load: {error}");
    }
    std::process::exit(i32::from(result.is_err()));
}

fn hoard(mix: Mix, seed: u64, pages: u64, pieces: u32, period_ns: u64) -> Outcome<()> {
    let mut anon = Anon::new(pages * u64::from(pieces), mix, seed)?;
    for piece in 0..u64::from(pieces) {
        (piece * pages..(piece + 1) * pages).for_each(|page| anon.fill(page));
        sleep_ns(period_ns);
    }
    loop {
        sleep_ns(u64::MAX / 4);
    }
}

fn build(jobs: u32, period_ns: u64, compile: impl Fn(u64) -> Outcome<()>) -> Outcome<()> {
    let mut running = 0;
    let mut next_ns = now_ns();
    for number in 0.. {
        if period_ns > 0 {
            sleep_ns(next_ns.saturating_sub(now_ns()));
            next_ns = now_ns() + period_ns;
        }
        if running >= jobs.max(1) {
            let ended =
                rustix::process::wait(rustix::process::WaitOptions::empty()).at(|| "waiting for a compiler".into())?;
            if ended.is_some_and(|(_, status)| status.exit_status() != Some(0)) {
                std::process::exit(BROKEN_BUILD);
            }
            running -= 1;
        }
        if let Side::Child = spawn::fork()? {
            end(compile(number));
        }
        running += 1;
    }
    Ok(())
}

fn compile(mix: Mix, seed: u64, pages: u64, compute_insns: u64, exact: bool) -> Outcome<()> {
    let mut anon = Anon::new(pages, mix, seed)?;
    (0..pages).for_each(|page| anon.fill(page));
    spin(compute_insns, exact);
    match (0..pages).all(|page| anon.check(page) == Some(true)) {
        true => Ok(()),
        false => Err("a compiler's page came back wrong".into()),
    }
}

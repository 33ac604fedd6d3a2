// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What runs inside the virtual phone: its first process (`/init`), the zygote forked from it, and the apps.

mod activity;
mod app;
mod attend;
mod buffers;
mod channel;
mod checks;
mod daemon;
mod deny;
mod desktop;
mod devices;
mod disk;
mod file_content;
mod files;
mod flash;
mod fragment;
mod guard;
mod idle;
mod init;
mod load;
mod managed_oom;
mod memory;
mod merging;
mod net;
mod outcome;
mod pagemap;
mod phone;
mod play;
mod prefetch;
mod program;
mod readings;
mod recording;
mod reserved;
mod restore;
mod setup;
mod sound;
mod spawn;
mod spin;
mod steps;
mod tier;
mod trace;
mod wire;
mod zygote;

// Pure, and shared with the lab, which plays the same apps without a phone.
use fovea_scenario::{hash, touch};

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("app") => app::run(zygote::Preloaded::none()),
        Some(disk::WORD) => disk::main(),
        Some(tier::WORD) => tier::main(),
        Some(play::WORD) => play::main(),
        Some(prefetch::WORD) => prefetch::main(),
        Some("desktop") => desktop::service::run(),
        Some(desktop::outsider::WORD) => desktop::outsider::run(),
        Some(desktop::outside::DENTRIES) => desktop::outside::look_for_names(),
        Some("net") => {
            let args: Vec<String> = std::env::args().skip(2).collect();
            if let Err(error) = net::peer::run(&args) {
                eprintln!("fovea-guest: {error}");
                std::process::exit(1);
            }
        }
        _ if std::process::id() == 1 => init::run(),
        _ => {
            eprintln!("fovea-guest: this is /init of the virtual phone and must be process 1: use `fovea phone run`");
            std::process::exit(2);
        }
    }
}

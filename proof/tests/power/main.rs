// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! dm-ecache through every state of power, as the first process of a virtual phone with two disks: one for swap, where an image of
//! memory goes, and one with ext4 on a target. Before each state the cache is full and a device holds a buffer; after it, every block
//! must still be the disk's.
//!
//! Words on the kernel's command line, `fovea.power.KEY=VALUE`:
//!
//! ```text
//! to           hibernate: the boot ends so, and goes on in the next one; sleep: all states that come back; kexec
//! resume       1: this boot must find an image and go on in it; early: it also uses the module before, as an initramfs may
//! after        kexec: this is the kernel that was started that way
//! kind         of target; `linear` rehearses without the module          carveouts    the module's parameter
//! ```

mod device;
mod hibernate;
mod kexec;
mod sleep;
mod stack;
mod work;

use fovea_contract::ECACHE_TARGET;
use fovea_tests::init;
use fovea_tests::report::Report;
use fovea_tests::words::Words;

use crate::stack::Outcome;

/// What the command line asks for.
#[derive(Clone, Debug)]
pub struct Options {
    /// What this boot does.
    pub to: String,
    /// Whether it has to go on in an image, and how.
    pub resume: String,
    /// What started this kernel, if not the machine.
    pub after: String,
    /// Type of the target under test.
    pub kind: String,
    /// Which memory the module is given.
    pub carveouts: String,
}

impl Options {
    fn read(words: &Words) -> Options {
        let word = |key: &str| words.text(key).unwrap_or_default().to_owned();
        Options {
            to: word("to"),
            resume: word("resume"),
            after: word("after"),
            kind: word("kind"),
            carveouts: word("carveouts"),
        }
    }

    /// Whether the module is there, and not a stand-in for rehearsals.
    pub fn has_module(&self) -> bool {
        self.kind == ECACHE_TARGET
    }
}

fn main() {
    init::live("power", |words, report| {
        let options = Options::read(words);
        println!("power: {options:?}");
        run(&options, report)
    })
}

fn run(options: &Options, report: &Report) -> Outcome<()> {
    match (options.to.as_str(), options.resume.as_str(), options.after.as_str()) {
        (_, resume @ ("1" | "early"), _) => hibernate::resume(options, resume == "early"),
        (_, _, "kexec") => kexec::after(options, report),
        ("hibernate", ..) => hibernate::go(options, report),
        ("sleep", ..) => sleep::all(options, report),
        ("kexec", ..) => kexec::go(options, report),
        _ => Err(format!("nothing to do: {options:?}")),
    }
}

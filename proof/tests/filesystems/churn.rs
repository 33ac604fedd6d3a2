// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Directories and the journal at work beside the data: small files that come and go.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use fovea_tests::content::Random;
use fovea_tests::kernel::{at, Outcome};
use fovea_tests::report::Report;

/// For how long: so many operations, and not before a moment.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    pub operations: u64,
    pub until: Instant,
}

impl Length {
    pub fn goes_on(&self, done: u64) -> bool {
        done < self.operations || Instant::now() < self.until
    }
}

/// Files are made, renamed and removed, and must hold what they were made with.
pub fn churn(folder: &Path, mut random: Random, length: Length, report: &Report) -> Outcome<()> {
    at("folder", fs::create_dir(folder))?;
    let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for number in (0..).take_while(|&number| length.goes_on(number)) {
        match random.below(4) {
            0 | 1 if files.len() < 60 => {
                let path = folder.join(format!("f{number}"));
                let content = vec![number as u8 | 1; 1 + random.index(9000)];
                at("write", fs::write(&path, &content))?;
                files.push((path, content));
            }
            2 if !files.is_empty() => {
                let (path, content) = files.swap_remove(random.index(files.len()));
                let to = folder.join(format!("g{number}"));
                at("rename", fs::rename(&path, &to))?;
                files.push((to, content));
            }
            _ if !files.is_empty() => {
                let (path, content) = files.swap_remove(random.index(files.len()));
                if at("read", fs::read(&path))? != content {
                    report.fail(format_args!("wrong content: {}", path.display()));
                }
                at("unlink", fs::remove_file(&path))?;
            }
            _ => {}
        }
    }
    for (path, content) in files {
        if at("read", fs::read(&path))? != content {
            report.fail(format_args!("wrong content: {}", path.display()));
        }
    }
    Ok(())
}

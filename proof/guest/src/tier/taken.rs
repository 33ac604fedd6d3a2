// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! New memory that an app takes as it goes: pages of its own, and pages of a file that it reads once.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use fovea_scenario::PAGE_BYTES;

use crate::files::FLASH_ROOT;
use crate::outcome::{At, Outcome};

/// More than an app can read of it.
const FILE_BYTES: u64 = 1 << 40;

/// The next page that is taken, counted by kind.
pub enum Page {
    Memory(u64),
    File(u64),
}

/// What has been taken so far.
#[derive(Default)]
pub struct Taken {
    pages: u64,
    file: Option<File>,
}

impl Taken {
    pub fn next(&mut self) -> Page {
        let number = self.pages / 2;
        self.pages += 1;
        match self.pages % 2 {
            1 => Page::Memory(number),
            _ => Page::File(number),
        }
    }

    /// Pages of its own among them.
    pub fn memory_pages(&self) -> u64 {
        self.pages.div_ceil(2)
    }

    /// Reads a page of its file, which is a hole: the kernel makes page cache of it without waiting for storage, so that only where it lies counts.
    pub fn read(&mut self, app: u64, page: u64) -> Outcome<()> {
        let file = match self.file.take() {
            Some(file) => file,
            None => open(app)?,
        };
        let mut buffer = [0; PAGE_BYTES];
        let done = file.read_exact_at(&mut buffer, page * PAGE_BYTES as u64).at(|| "reading its file".into());
        self.file = Some(file);
        done
    }
}

fn open(app: u64) -> Outcome<File> {
    let path = Path::new(FLASH_ROOT).join(format!("tier-{app}"));
    let file = File::options().read(true).write(true).create(true).truncate(true).open(&path);
    let file = file.at(|| format!("making {}", path.display()))?;
    file.set_len(FILE_BYTES).at(|| format!("making {} long", path.display()))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_file_take_turns() {
        let mut taken = Taken::default();
        let kinds: Vec<_> = (0..5)
            .map(|_| match taken.next() {
                Page::Memory(number) => ("memory", number),
                Page::File(number) => ("file", number),
            })
            .collect();
        assert_eq!(kinds, [("memory", 0), ("file", 0), ("memory", 1), ("file", 1), ("memory", 2)]);
        assert_eq!(taken.memory_pages(), 3);
    }
}

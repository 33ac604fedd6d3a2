// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Changes to the files of a tree, made to them and to what they must hold: overwritten in every way, cut inside of pages, made
//! longer, holed, cloned, renamed, removed.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use fovea_tests::kernel::{at, Outcome};
use fovea_tests::raw::{FileMapping, Pages, PAGE};
use rustix::fs::{fallocate, FallocateFlags};

use crate::calls::clone_file;
use crate::tree::Tree;

impl Tree<'_> {
    /// A change to each file, another one each time. Nothing is synced.
    pub fn change(&mut self, round: usize) -> Outcome<()> {
        let names: Vec<String> = self.files.keys().cloned().collect();
        for (number, name) in names.iter().enumerate() {
            let mut bytes = self.files.remove(name).unwrap_or_default();
            let path = self.path(name);
            let file = at(name, File::options().read(true).write(true).open(&path))?;
            match (number + round) % 9 {
                0 => self.cut(&file, &mut bytes),
                1 => self.extend(&file, &mut bytes),
                2 => self.overwrite(&file, &mut bytes),
                3 => self.overwrite_mapped(&file, &mut bytes),
                4 => self.overwrite_direct(&path, &mut bytes),
                5 => self.punch(&file, &mut bytes),
                6 => self.clone_of(name, &file, &bytes, round),
                7 if name.starts_with("file") => {
                    at(name, fs::remove_file(&path))?;
                    continue;
                }
                _ => {
                    let new = format!("{name}-{round}");
                    at(name, fs::rename(&path, self.path(&new)))?;
                    self.files.insert(new, bytes);
                    continue;
                }
            }
            .map_err(|e| format!("{name}: {e}"))?;
            self.files.insert(name.clone(), bytes);
        }
        Ok(())
    }

    /// A second file of the same blocks, or of the same content where blocks are not shared.
    fn clone_of(&mut self, name: &str, file: &File, bytes: &[u8], round: usize) -> std::io::Result<()> {
        let new = format!("{name}-clone{round}");
        if clone_file(file, &File::create(self.path(&new))?).is_err() {
            fs::copy(self.path(name), self.path(&new))?;
        }
        self.files.insert(new, bytes.to_vec());
        Ok(())
    }

    /// To a length inside of a page, and inside of a block where blocks are smaller.
    fn cut(&mut self, file: &File, bytes: &mut Vec<u8>) -> std::io::Result<()> {
        let length =
            if bytes.len() > PAGE { bytes.len() - 1 - self.random.index(bytes.len() / 2) } else { bytes.len() / 2 };
        bytes.truncate(length);
        file.set_len(length as u64)
    }

    /// Cut, and then longer again: what was cut off must read as zeros.
    fn extend(&mut self, file: &File, bytes: &mut Vec<u8>) -> std::io::Result<()> {
        self.cut(file, bytes)?;
        bytes.resize(bytes.len() + 1 + self.random.index(20_000), 0);
        file.set_len(bytes.len() as u64)
    }

    fn new_bytes(&mut self, length: usize) -> Vec<u8> {
        let seed = self.random.draw();
        (0..length as u64).map(|i| (seed.rotate_left((i / 8) as u32) >> (i % 8 * 8)) as u8).collect()
    }

    fn overwrite(&mut self, file: &File, bytes: &mut Vec<u8>) -> std::io::Result<()> {
        for _ in 0..4 {
            let start = self.random.index(bytes.len() + 1);
            let length = 1 + self.random.index(9000);
            let new = self.new_bytes(length);
            bytes.resize(bytes.len().max(start + new.len()), 0);
            bytes[start..start + new.len()].copy_from_slice(&new);
            file.write_all_at(&new, start as u64)?;
        }
        Ok(())
    }

    fn overwrite_mapped(&mut self, file: &File, bytes: &mut [u8]) -> std::io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut mapping = FileMapping::new(file, 0, bytes.len())?;
        for _ in 0..4 {
            let start = self.random.index(bytes.len());
            let length = (1 + self.random.index(9000)).min(bytes.len() - start);
            let new = self.new_bytes(length);
            bytes[start..start + new.len()].copy_from_slice(&new);
            mapping.bytes()[start..start + new.len()].copy_from_slice(&new);
        }
        Ok(())
    }

    /// Whole pages; with a buffered write where the file system knows no O_DIRECT.
    fn overwrite_direct(&mut self, path: &std::path::Path, bytes: &mut [u8]) -> std::io::Result<()> {
        const PAGES: usize = 8;
        let pages = (bytes.len() / PAGE).min(PAGES);
        if pages == 0 {
            return Ok(());
        }
        let flags = File::options().write(true).custom_flags(libc::O_DIRECT).open(path);
        let file = flags.or_else(|_| File::options().write(true).open(path))?;
        let start = PAGE * self.random.index(bytes.len() / PAGE - pages + 1);
        let mut buffer = Pages::new(PAGES);
        let new = self.new_bytes(pages * PAGE);
        buffer.bytes(pages).copy_from_slice(&new);
        bytes[start..start + new.len()].copy_from_slice(&new);
        file.write_all_at(buffer.bytes(pages), start as u64)
    }

    fn punch(&mut self, file: &File, bytes: &mut [u8]) -> std::io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let start = self.random.index(bytes.len());
        let length = (1 + self.random.index(30_000)).min(bytes.len() - start);
        let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(file, how, start as u64, length as u64) {
            // FAT has no holes.
            Err(rustix::io::Errno::OPNOTSUPP) => file.write_all_at(&vec![0; length], start as u64)?,
            done => done?,
        }
        bytes[start..start + length].fill(0);
        Ok(())
    }
}

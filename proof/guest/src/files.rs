// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! An app's use of files: mapped and touched, or read into a buffer; every page touched is checked.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use fovea_scenario::{FileUse, PAGE_BYTES};
use rustix::mm::{mmap, MapFlags, ProtFlags};

use crate::file_content::{file_seed, page_is_right};
use crate::flash::write_content;
use crate::memory::WORDS;
use crate::outcome::{At, Outcome};
use crate::touch::{touch_set, RUN_PAGES};
use crate::wire::Count;

/// Where the flash is mounted.
pub const FLASH_ROOT: &str = "/flash";

/// How the app gets at the content.
enum Access {
    Mapped(*const [u64; WORDS]),
    Read(File),
}

/// A file that an app uses.
pub struct UsedFile {
    access: Access,
    seed: u64,
    size_bytes: u64,
}

impl UsedFile {
    /// Opens, and maps if so used, a file below `root`.
    pub fn open(root: &Path, usage: &FileUse) -> Outcome<Self> {
        let path = root.join(&usage.path);
        let file = File::open(&path).at(|| format!("opening {}", path.display()))?;
        let access = if usage.mapped && usage.size_bytes > 0 {
            // SAFETY: a new mapping at an address of the kernel's choice. Nobody shortens or writes the flash's files after boot.
            let base = unsafe {
                mmap(std::ptr::null_mut(), usage.size_bytes as usize, ProtFlags::READ, MapFlags::PRIVATE, &file, 0)
            };
            Access::Mapped(base.at(|| format!("mapping {}", path.display()))?.cast_const().cast())
        } else {
            Access::Read(file)
        };
        Ok(Self { access, seed: file_seed(&usage.path), size_bytes: usage.size_bytes })
    }

    /// Touches and checks `percent` of the file's pages, chosen as [`touch_set`] says.
    pub fn touch(&self, percent: u32, seed: u64, turn: u64) -> Outcome<Count> {
        let pages = self.size_bytes.div_ceil(PAGE_BYTES as u64);
        let mut buffer = vec![[0u64; WORDS]; RUN_PAGES as usize];
        let mut count = Count::default();
        for run in touch_set(pages, percent, seed ^ self.seed, turn) {
            let content: &[[u64; WORDS]] = match &self.access {
                Access::Mapped(base) => {
                    // SAFETY: the run lies inside the mapping, rounded up to whole pages as mappings are; read only.
                    unsafe { std::slice::from_raw_parts(base.add(run.start as usize), (run.end - run.start) as usize) }
                }
                Access::Read(file) => {
                    read_run(file, run.start, (run.end - run.start) as usize, &mut buffer)?;
                    &buffer
                }
            };
            for (page, words) in run.zip(content) {
                let bytes = (self.size_bytes - page * PAGE_BYTES as u64).min(PAGE_BYTES as u64);
                count.page(page_is_right(self.seed, page, &words[..bytes as usize / 8]));
            }
        }
        Ok(count)
    }
}

impl UsedFile {
    /// Reads the file from its beginning to its end, a run at a time, and checks it; `between` is called before each run.
    pub fn read_through(&self, mut between: impl FnMut()) -> Outcome<Count> {
        let Access::Read(file) = &self.access else { return Err("a mapped file is not read through".into()) };
        let pages = self.size_bytes.div_ceil(PAGE_BYTES as u64);
        let mut buffer = vec![[0u64; WORDS]; RUN_PAGES as usize];
        let mut count = Count::default();
        for first in (0..pages).step_by(RUN_PAGES as usize) {
            between();
            let run = (pages - first).min(RUN_PAGES) as usize;
            read_run(file, first, run, &mut buffer)?;
            for (page, words) in (first..).zip(&buffer[..run]) {
                let bytes = (self.size_bytes - page * PAGE_BYTES as u64).min(PAGE_BYTES as u64);
                count.page(page_is_right(self.seed, page, &words[..bytes as usize / 8]));
            }
        }
        Ok(count)
    }
}

/// Puts a new file in the place of one, whole or not at all, as an app does that may be killed meanwhile.
pub fn replace_file(root: &Path, path: &str, size_bytes: u64) -> Outcome<()> {
    let (to, part) = (root.join(path), root.join(format!("{path}.part")));
    write_content(&part, file_seed(path), size_bytes)?;
    std::fs::rename(&part, &to).at(|| format!("renaming {}", part.display()))
}

/// Reads `pages` pages from page `first`; the file may end within the last.
fn read_run(file: &File, first: u64, pages: usize, buffer: &mut [[u64; WORDS]]) -> Outcome<()> {
    // SAFETY: any bytes make a u64, and a [[u64; 512]] has no padding.
    let bytes = unsafe { std::slice::from_raw_parts_mut(buffer.as_mut_ptr().cast::<u8>(), size_of_val(buffer)) };
    let bytes = &mut bytes[..pages * PAGE_BYTES];
    let mut done = 0;
    while done < bytes.len() {
        match file.read_at(&mut bytes[done..], first * PAGE_BYTES as u64 + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("reading a file at page {first}: {error}")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::write_app_file;

    fn usage(mapped: bool) -> FileUse {
        FileUse { path: "a/b.dex".into(), size_bytes: 40 * 4096 + 100, mapped }
    }

    #[test]
    fn both_ways_read_what_was_written() {
        let folder = std::env::temp_dir().join(format!("fovea-guest-files-{}", std::process::id()));
        write_app_file(&folder, "a/b.dex", usage(false).size_bytes).unwrap();
        for mapped in [false, true] {
            let file = UsedFile::open(&folder, &usage(mapped)).unwrap();
            assert_eq!(file.touch(100, 5, 0).unwrap(), Count { checked: 41, wrong: 0 });
            assert_eq!(file.touch(30, 5, 0).unwrap().checked, 13);
        }
        let path = folder.join("a/b.dex");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[17 * 4096 + 9] ^= 4;
        std::fs::write(&path, bytes).unwrap();
        for mapped in [false, true] {
            let file = UsedFile::open(&folder, &usage(mapped)).unwrap();
            assert_eq!(file.touch(100, 5, 0).unwrap(), Count { checked: 41, wrong: 1 });
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which programs can run in the guest.

use std::fs;
use std::path::Path;

use object::read::elf::{ElfFile, FileHeader, ProgramHeader};
use object::{Endianness, FileKind};

use crate::error::{Error, Result};
use crate::platform::Platform;

/// Reads a program, and refuses one of another machine, and one that would look for a loader or libraries, which the guest has not.
pub(crate) fn static_program(path: &Path, platform: Platform) -> Result<Vec<u8>> {
    let bytes = fs::read(path).map_err(Error::io("read", path))?;
    let about = match FileKind::parse(&bytes[..]) {
        Ok(FileKind::Elf32) => about::<object::elf::FileHeader32<Endianness>>(&bytes),
        _ => about::<object::elf::FileHeader64<Endianness>>(&bytes),
    };
    let (machine, is_dynamic) =
        about.map_err(|e| Error::bad(path, format!("is no ELF program ({e}); run `make build`")))?;
    if machine != platform.elf_machine() {
        let mend = format!("build it with cargo's --target {}", platform.rust_target());
        return Err(Error::bad(path, format!("is a program for another machine than {platform}; {mend}")));
    }
    if is_dynamic {
        return Err(Error::bad(path, "is dynamically linked and cannot run in the guest; run `make build`"));
    }
    Ok(bytes)
}

/// `e_machine`, and whether it names a loader.
fn about<H: FileHeader<Endian = Endianness>>(bytes: &[u8]) -> object::Result<(u16, bool)> {
    let elf = ElfFile::<H>::parse(bytes)?;
    let endian = elf.endian();
    let is_dynamic = elf.elf_program_headers().iter().any(|header| header.p_type(endian) == object::elf::PT_INTERP);
    Ok((elf.elf_header().e_machine(endian), is_dynamic))
}

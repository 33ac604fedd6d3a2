// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Decompression, and the kernel out of a vmlinuz.

use std::io::{self, Read};

/// ELF's first bytes.
pub(crate) const ELF_MAGIC: &[u8] = b"\x7fELF";

/// Largest result of a decompression: a kernel with everything is below 256 MiB, and damaged input must not fill the memory.
const LIMIT_BYTES: u64 = 1 << 30;

/// First bytes of LZ4's legacy frames, the kernel's only kind: `lz4 -l`.
const LZ4_LEGACY_MAGIC: &[u8] = b"\x02\x21\x4c\x18";
/// What one block of such a frame holds at most.
const LZ4_BLOCK_BYTES: usize = 8 << 20;

/// Decompresses zstd, xz, gzip or LZ4 data, told apart by their first bytes; ELF data is returned as it is. What follows the first
/// compressed stream is ignored (the kernel's build appends the size), but for LZ4, whose frames have no end of their own.
///
/// # Errors
/// The format is none of these, or the data is damaged.
pub fn decompress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let reader: Box<dyn Read + '_> = if bytes.starts_with(ELF_MAGIC) {
        return Ok(bytes.to_vec());
    } else if bytes.starts_with(b"\x28\xb5\x2f\xfd") {
        let mut decoder = zstd::stream::read::Decoder::new(bytes)?.single_frame();
        // The kernel's build compresses a pipe with --ultra -22: the frame then asks for a window of 128 MiB.
        decoder.window_log_max(30)?;
        Box::new(decoder)
    } else if bytes.starts_with(b"\xfd7zXZ\0") {
        Box::new(liblzma::read::XzDecoder::new(bytes))
    } else if bytes.starts_with(b"\x1f\x8b") {
        Box::new(flate2::read::GzDecoder::new(bytes))
    } else if let Some(blocks) = bytes.strip_prefix(LZ4_LEGACY_MAGIC) {
        return lz4_blocks(blocks);
    } else {
        let head: Vec<String> = bytes.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        return Err(io::Error::other(format!(
            "compressed by something else than zstd, xz, gzip or LZ4 ({})",
            head.join(" ")
        )));
    };
    let mut out = Vec::new();
    reader.take(LIMIT_BYTES).read_to_end(&mut out)?;
    Ok(out)
}

/// Blocks, each behind its compressed size, and behind the last the size of it all, which has no block.
fn lz4_blocks(mut bytes: &[u8]) -> io::Result<Vec<u8>> {
    let damaged = || io::Error::other("the LZ4 data is damaged or cut short; fetch it again");
    let mut out = Vec::new();
    let mut block = vec![0; LZ4_BLOCK_BYTES];
    while let Some((&word, rest)) = bytes.split_first_chunk::<4>() {
        let number = u32::from_le_bytes(word) as usize;
        if rest.is_empty() {
            return if number == out.len() { Ok(out) } else { Err(damaged()) };
        }
        let compressed = rest.get(..number).ok_or_else(damaged)?;
        let length = lz4_flex::block::decompress_into(compressed, &mut block).map_err(|_| damaged())?;
        out.extend_from_slice(&block[..length]);
        if out.len() as u64 > LIMIT_BYTES {
            return Err(damaged());
        }
        bytes = &rest[number..];
    }
    Err(damaged())
}

/// The uncompressed kernel of a vmlinuz (bzImage), or the file itself if it is an uncompressed kernel already.
///
/// The place of the payload is in the setup header (Linux, Documentation/arch/x86/boot.rst: `setup_sects` at 0x1f1, "HdrS" at 0x202,
/// version at 0x206, `payload_offset` and `payload_length` at 0x248 since protocol 2.08).
///
/// # Errors
/// The file is not a kernel, or its compression is not known.
pub fn vmlinux(image: &[u8]) -> io::Result<Vec<u8>> {
    if image.starts_with(ELF_MAGIC) {
        return Ok(image.to_vec());
    }
    let word = |at: usize| -> Option<usize> {
        image.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)
    };
    if image.get(0x202..0x206) != Some(b"HdrS") {
        return Err(io::Error::other("neither a vmlinuz (no HdrS at 0x202) nor a vmlinux (no ELF)"));
    }
    if word(0x206).unwrap_or(0) & 0xffff < 0x0208 {
        return Err(io::Error::other("a vmlinuz from before boot protocol 2.08; use a kernel newer than 2.6.26"));
    }
    let truncated = || io::Error::other("the vmlinuz is cut short; fetch it again");
    let setup_sects = match image[0x1f1] {
        0 => 4, // as boot.rst says, for old images
        n => usize::from(n),
    };
    let (offset, length) = (word(0x248).ok_or_else(truncated)?, word(0x24c).ok_or_else(truncated)?);
    let start = (setup_sects + 1) * 512 + offset;
    let kernel = decompress(image.get(start..start + length).ok_or_else(truncated)?)?;
    if !kernel.starts_with(ELF_MAGIC) {
        return Err(io::Error::other("the vmlinuz's payload is not an ELF kernel"));
    }
    Ok(kernel)
}

/// `uname -r` of an uncompressed kernel, from its banner "Linux version RELEASE (…".
pub fn kernel_release(vmlinux: &[u8]) -> Option<String> {
    const BANNER: &[u8] = b"Linux version ";
    // The banner's text also occurs as a format string ("Linux version %s"), and only the true one begins with a digit.
    vmlinux.windows(BANNER.len() + 1).enumerate().find_map(|(at, window)| {
        if !window.starts_with(BANNER) || !window[BANNER.len()].is_ascii_digit() {
            return None;
        }
        let release: Vec<u8> =
            vmlinux[at + BANNER.len()..].iter().copied().take(128).take_while(u8::is_ascii_graphic).collect();
        String::from_utf8(release).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const KERNEL: &[u8] = b"\x7fELF....%s Linux version %s, Linux version 6.12.1-test (x@y) and so on";

    fn zst(bytes: &[u8]) -> Vec<u8> {
        zstd::stream::encode_all(bytes, 3).unwrap()
    }

    fn xz(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        liblzma::read::XzEncoder::new(bytes, 1).read_to_end(&mut out).unwrap();
        out
    }

    fn gz(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// In blocks of a few bytes, with the size at the end, which here is LZ4's only mark of it.
    fn lz4(bytes: &[u8]) -> Vec<u8> {
        let mut out = LZ4_LEGACY_MAGIC.to_vec();
        for block in bytes.chunks(30) {
            let block = lz4_flex::block::compress(block);
            out.extend_from_slice(&(block.len() as u32).to_le_bytes());
            out.extend_from_slice(&block);
        }
        out
    }

    fn bzimage(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0u8; (2 + 1) * 512 + 100];
        image[0x1f1] = 2;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x206..0x208].copy_from_slice(&0x020f_u16.to_le_bytes());
        image[0x248..0x24c].copy_from_slice(&100u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        image.extend_from_slice(payload);
        image.extend_from_slice(b"what follows the payload");
        image
    }

    #[test]
    fn the_kernel_comes_out_of_a_vmlinuz_of_each_compression() {
        for mut payload in [zst(KERNEL), xz(KERNEL), gz(KERNEL), lz4(KERNEL), KERNEL.to_vec()] {
            if !payload.starts_with(ELF_MAGIC) {
                payload.extend_from_slice(&(KERNEL.len() as u32).to_le_bytes());
            }
            assert_eq!(vmlinux(&bzimage(&payload)).unwrap(), KERNEL);
        }
        assert_eq!(vmlinux(KERNEL).unwrap(), KERNEL);
    }

    #[test]
    fn a_window_of_128_mib_is_decompressed() {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(27).unwrap();
        encoder.write_all(KERNEL).unwrap();
        assert_eq!(decompress(&encoder.finish().unwrap()).unwrap(), KERNEL);
    }

    #[test]
    fn damaged_images_are_errors() {
        let good = bzimage(&zst(KERNEL));
        for cut in [0, 4, 0x1f1, 0x205, 0x24b, 0x24f, 600, good.len() - 60] {
            assert!(vmlinux(&good[..cut]).is_err(), "cut at {cut}");
        }
        assert!(vmlinux(&bzimage(&zst(b"no kernel"))).is_err());
        assert!(vmlinux(&bzimage(b"BZh9 is bzip2")).unwrap_err().to_string().contains("42 5a 68 39"));
        let mut far = good.clone();
        far[0x248..0x24c].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(vmlinux(&far).is_err());
    }

    #[test]
    fn damaged_lz4_is_an_error_wherever_it_is_cut() {
        let mut whole = lz4(KERNEL);
        whole.extend_from_slice(&(KERNEL.len() as u32).to_le_bytes());
        assert_eq!(decompress(&whole).unwrap(), KERNEL);
        for cut in 0..whole.len() {
            assert!(decompress(&whole[..cut]).is_err(), "cut at {cut}");
        }
        for at in LZ4_LEGACY_MAGIC.len()..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            // No checksum tells of wrong literals; a wrong length is seen.
            assert!(decompress(&flipped).map_or(true, |out| out.len() == KERNEL.len()), "byte {at}");
        }
    }

    #[test]
    fn the_release_is_the_banners_and_not_the_format_strings() {
        assert_eq!(kernel_release(KERNEL).as_deref(), Some("6.12.1-test"));
        assert_eq!(kernel_release(b"Linux version %s"), None);
    }
}

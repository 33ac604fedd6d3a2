// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Files and other inputs, whole and cut off.

use super::*;
use std::io::Write;

fn lines(bytes: &[u8]) -> Result<Vec<String>> {
    let mut input = Input::from_bytes("t", bytes)?;
    let (mut buffer, mut lines) = (Vec::new(), Vec::new());
    while let Some(line) = input.line(&mut buffer)? {
        lines.push(line.into_owned());
    }
    Ok(lines)
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bz2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn every_compression_reads_alike() {
    let text = b"one\ntwo\r\nthree";
    for bytes in [text.to_vec(), gz(text), xz(text), bz2(text), lz4(text), zstd::encode_all(&text[..], 1).unwrap()] {
        assert_eq!(lines(&bytes).unwrap(), ["one", "two", "three"]);
    }
    for compress in [gz, bz2, lz4, xz] {
        let members = [compress(b"a\n"), compress(b"b\n")].concat();
        assert_eq!(lines(&members).unwrap(), ["a", "b"], "members of one file");
    }
}

#[test]
fn cut_compressed_files_say_so() {
    let text: Vec<u8> =
        (0..20_000u32).flat_map(|i| format!("{}\n", i.wrapping_mul(2_654_435_761)).into_bytes()).collect();
    for whole in [gz(&text), xz(&text), bz2(&text), lz4(&text), zstd::encode_all(&text[..], 1).unwrap()] {
        let error = lines(&whole[..whole.len() / 2]).unwrap_err().to_string();
        assert!(error.contains("data end too early") && error.contains("fetch the file again"), "{error}");
    }
}

#[test]
fn endless_lines_are_refused() {
    let error = lines(&vec![b'x'; 1 << 20]).unwrap_err().to_string();
    assert!(error.contains("t: line 1: longer than"), "{error}");
    assert_eq!(lines(&vec![b'x'; LINE_LIMIT_BYTES]).unwrap().len(), 1);
}

#[test]
fn peeking_takes_nothing() {
    let mut input = Input::from_bytes("t", b"abcdef").unwrap();
    assert_eq!(input.peek(4).unwrap(), b"abcd");
    assert_eq!(input.record::<6>().unwrap().unwrap(), *b"abcdef");
    assert!(input.record::<6>().unwrap().is_none());
}

#[test]
fn a_checksum_is_of_the_whole_file_whatever_was_read_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    for bytes in [b"line\n".repeat(200_000), gz(&b"line\n".repeat(200_000)), vec![7]] {
        std::fs::write(&path, &bytes).unwrap();
        let expected = crate::store::checksum_of(&path).unwrap();
        for lines in [0, 1, usize::MAX] {
            let (mut input, summed) = Input::open_summed(&path).unwrap();
            let mut buffer = Vec::new();
            for _ in 0..lines {
                if input.line(&mut buffer).unwrap().is_none() {
                    break;
                }
            }
            assert_eq!(summed.finish().unwrap(), expected, "{lines} lines of {} bytes", bytes.len());
        }
    }
}

#[test]
fn a_cut_record_is_named() {
    let mut input = Input::from_bytes("t", &[0; 30]).unwrap();
    input.record::<24>().unwrap().unwrap();
    let error = input.record::<24>().unwrap_err().to_string();
    assert!(error.starts_with("t: record 2: truncated: 6 of 24 bytes"), "{error}");
}

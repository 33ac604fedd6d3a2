// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Parts of text formats.

use crate::Op;

/// Bytes of a sector, whatever the disk's own.
pub const SECTOR_BYTES: u64 = 512;

/// Of a field that makes no sense so much is shown: of a file that is no text, a line may be all of it.
const SHOWN_CHARACTERS: usize = 40;

/// A field as an error quotes it.
pub fn quoted(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// A field that may be no text, as an error quotes it.
pub fn quoted_bytes(text: &[u8]) -> String {
    quoted(&String::from_utf8_lossy(text))
}

/// A line's field, with its name for the error.
pub fn number(text: Option<&str>, name: &str) -> Result<u64, String> {
    let text = text.ok_or_else(|| format!("no {name}"))?.trim();
    text.parse().map_err(|_| format!("{name} is {}, not a whole number", quoted(text)))
}

/// Decimal seconds as nanoseconds, exact to the last digit kept: a float would lose them for times since 1970.
pub fn seconds_ns(text: Option<&str>, name: &str) -> Result<u64, String> {
    let text = text.ok_or_else(|| format!("no {name}"))?.trim();
    let wrong = || format!("{name} is {}, not a time in seconds", quoted(text));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() || !(whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit())) {
        return Err(wrong());
    }
    let nine: u64 =
        fraction.bytes().chain(std::iter::repeat(b'0')).take(9).fold(0, |n, b| 10 * n + u64::from(b - b'0'));
    let seconds: u64 = whole.parse().map_err(|_| wrong())?;
    seconds.checked_mul(1_000_000_000).and_then(|ns| ns.checked_add(nine)).ok_or_else(wrong)
}

/// Sectors as bytes.
pub fn sectors(text: Option<&str>, name: &str) -> Result<u64, String> {
    let count = number(text, name)?;
    count.checked_mul(SECTOR_BYTES).ok_or_else(|| format!("{name} {count} lies past 2^64 bytes"))
}

/// A request's nature from the kernel's letters: R, W, D (discard), F (flush) and S (synchronous), e.g. `WS`, `FWFSM`.
/// A flush that carries data is a write.
pub fn rwbs(letters: &str) -> Result<(Op, bool, bool), String> {
    let has = |letter| letters.contains(letter);
    let sync = has('S');
    // A leading F is a preflush; after W it is FUA (kernel/trace/blktrace.c, blk_fill_rwbs).
    if has('D') || has('E') {
        Ok((Op::Discard, true, sync))
    } else if has('W') {
        Ok((Op::Block, true, sync))
    } else if has('R') {
        // A read is waited for unless it is read-ahead.
        Ok((Op::Block, false, !has('A')))
    } else if has('F') {
        Ok((Op::Flush, true, sync))
    } else {
        Err(format!("kind of request is {}, not one of R, W, D, F with S, A, M", quoted(letters)))
    }
}

/// Why the name of a task tells no app: threads of the kernel work on somebody's behalf.
pub fn hidden(comm: &str) -> Option<&'static str> {
    let numbered =
        |name: &str| comm.strip_prefix(name).is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    Some(match comm {
        "" => "no process told",
        "<...>" => "unresolved process",
        "0" | "swapper" => "in an interrupt",
        _ if comm.starts_with("swapper/") => "in an interrupt",
        _ if comm.starts_with("kworker/") => "kworker, on somebody's behalf",
        _ if comm.starts_with("jbd2/") => "jbd2, on somebody's behalf",
        _ if comm.starts_with("f2fs_") => "f2fs, on somebody's behalf",
        _ if NUMBERED.iter().any(|name| numbered(name)) => "a thread of the kernel",
        _ if THREADS.contains(&comm) || THREAD_PREFIXES.iter().any(|name| comm.starts_with(name)) => {
            "a thread of the kernel"
        }
        _ => return None,
    })
}

/// Threads of the kernel with a number behind their name (a node, a device).
const NUMBERED: [&str; 4] = ["kswapd", "kcompactd", "loop", "kdamond."];
const THREADS: [&str; 13] = [
    "kthreadd",
    "kjournald",
    "khugepaged",
    "ksmd",
    "kblockd",
    "kdmflush",
    "kcryptd",
    "kverityd",
    "dmcrypt_write",
    "writeback",
    "pdflush",
    "oom_reaper",
    "bdi-default",
];
const THREAD_PREFIXES: [&str; 14] = [
    "ksoftirqd/",
    "migration/",
    "rcu_",
    "rcuop/",
    "rcuos/",
    "irq/",
    "mmcqd/",
    "mmc-cmdqd/",
    "scsi_eh_",
    "dmcrypt_write/",
    "flush-",
    "xfsaild/",
    "btrfs-",
    "ext4-rsv-conver",
];

/// The first lines of a file's beginning that are whole, up to `count`.
pub fn first_lines(head: &[u8], count: usize) -> Vec<&str> {
    let Ok(text) = std::str::from_utf8(match head.iter().rposition(|&b| b == b'\n') {
        Some(end) => &head[..end],
        None => head,
    }) else {
        return Vec::new();
    };
    text.lines().filter(|l| !l.trim().is_empty()).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_the_kernel_are_no_apps() {
        for thread in
            ["kswapd0", "kswapd12", "loop7", "kworker/u16:3", "jbd2/sda-8", "irq/99-ufs", "kthreadd", "mmcqd/0"]
        {
            assert!(hidden(thread).is_some(), "{thread}");
        }
        for app in ["loop", "looper", "loop7x", "kswapd", "storageQueue", "com.kworker", "Binder:1_2", "flush"] {
            assert_eq!(hidden(app), None, "{app}");
        }
    }

    #[test]
    fn seconds_are_exact() {
        for (text, ns) in [
            ("0", 0),
            ("1.5", 1_500_000_000),
            ("49680.645025000005", 49_680_645_025_000),
            ("1425000000.000000001", 1_425_000_000_000_000_001),
        ] {
            assert_eq!(seconds_ns(Some(text), "time"), Ok(ns));
        }
        for wrong in ["", ".5", "-1", "1e9", "1.2.3", "99999999999999"] {
            assert!(seconds_ns(Some(wrong), "time").is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_kernels_letters_are_understood() {
        assert_eq!(rwbs("R"), Ok((Op::Block, false, true)));
        assert_eq!(rwbs("RA"), Ok((Op::Block, false, false)));
        assert_eq!(rwbs("W"), Ok((Op::Block, true, false)));
        assert_eq!(rwbs("WS"), Ok((Op::Block, true, true)));
        assert_eq!(rwbs("FWFSM"), Ok((Op::Block, true, true)));
        assert_eq!(rwbs("FN"), Ok((Op::Flush, true, false)));
        assert_eq!(rwbs("D"), Ok((Op::Discard, true, false)));
        assert!(rwbs("N").is_err());
    }
}

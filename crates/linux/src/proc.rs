// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Parsers of /proc's text. They take bytes, never panic, and leave out what they do not understand: a newer kernel may add
//! lines and an older one lack them.

use memchr::{memchr, memmem, memrchr};
use serde::{Deserialize, Serialize};

/// Reads the decimal number at the beginning of a text, blanks before it skipped; `None` if there is none or it does not fit.
pub fn number(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii_start();
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    if digits == 0 {
        return None;
    }
    text[..digits].iter().try_fold(0u64, |n, b| n.checked_mul(10)?.checked_add(u64::from(b - b'0')))
}

/// The same for a number that may be negative.
pub fn signed(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii_start();
    match text.split_first() {
        Some((b'-', rest)) if rest.first().is_some_and(u8::is_ascii_digit) => 0i64.checked_sub_unsigned(number(rest)?),
        _ => i64::try_from(number(text)?).ok(),
    }
}

/// What stands behind `key` on the line that begins with it; the key includes its `:` or blank.
pub fn after_key<'a>(text: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    // The whole text is searched at once: line by line costs ten times the instructions on vmstat.
    let mut from = 0;
    loop {
        let at = from + memmem::find(&text[from..], key)?;
        if at == 0 || text[at - 1] == b'\n' {
            let rest = &text[at + key.len()..];
            return Some(&rest[..memchr(b'\n', rest).unwrap_or(rest.len())]);
        }
        from = at + 1;
    }
}

/// The number behind `key`.
pub fn value(text: &[u8], key: &[u8]) -> Option<u64> {
    number(after_key(text, key)?)
}

/// The number of KiB behind `key`, in bytes.
pub fn kib_value(text: &[u8], key: &[u8]) -> Option<u64> {
    value(text, key)?.checked_mul(1024)
}

/// Bytes of anonymous memory by a cgroup's memory.stat, beside its memory.swap.current: what its processes have in memory, and what they have
/// in swap and have to wait for.
///
/// A page that came back from storage keeps its place in swap, written to or not, until that is wanted (until half of swap is in use, at
/// least): `anon` has it, and memory.swap.current too. Counted twice, whatever comes back looks as if it had grown.
pub fn anonymous(stat: &[u8], swapped_bytes: u64) -> (u64, u64) {
    let of = |key: &[u8]| value(stat, key).unwrap_or(0);
    let anon_bytes = of(b"anon ");
    // What is read ahead, or was written out and not yet taken, is on the lists and in no process.
    let listed_bytes = of(b"inactive_anon ").saturating_add(of(b"active_anon ")).saturating_sub(of(b"shmem "));
    let nobodys_bytes = listed_bytes.saturating_sub(anon_bytes);
    let twice_bytes = of(b"swapcached ").saturating_sub(nobodys_bytes);
    (anon_bytes, swapped_bytes.saturating_sub(twice_bytes))
}

/// /proc/meminfo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meminfo {
    /// MemTotal without Hugetlb: what an administrator set aside as huge pages no app gets.
    pub total_bytes: u64,
    /// MemFree.
    pub free_bytes: u64,
    /// MemAvailable; free memory and file pages on kernels before 3.14.
    pub available_bytes: u64,
    /// Active(file) + Inactive(file), less Dirty and Writeback.
    pub file_bytes: u64,
    /// KReclaimable; SReclaimable before 4.20.
    pub reclaimable_bytes: u64,
    /// SwapTotal.
    pub swap_total_bytes: u64,
    /// SwapFree.
    pub swap_free_bytes: u64,
}

impl Meminfo {
    /// `None` without MemTotal or MemFree.
    pub fn parse(text: &[u8]) -> Option<Meminfo> {
        let total_bytes = kib_value(text, b"MemTotal:")?;
        let free_bytes = kib_value(text, b"MemFree:")?;
        let of = |key: &[u8]| kib_value(text, key).unwrap_or(0);
        let cache_bytes = of(b"Active(file):").saturating_add(of(b"Inactive(file):"));
        let unwritten_bytes = of(b"Dirty:").saturating_add(of(b"Writeback:"));
        let reclaimable = kib_value(text, b"KReclaimable:").or_else(|| kib_value(text, b"SReclaimable:"));
        Some(Meminfo {
            total_bytes: total_bytes.saturating_sub(of(b"Hugetlb:")),
            free_bytes,
            available_bytes: kib_value(text, b"MemAvailable:").unwrap_or(free_bytes.saturating_add(cache_bytes)),
            file_bytes: cache_bytes.saturating_sub(unwritten_bytes),
            reclaimable_bytes: reclaimable.unwrap_or(0),
            swap_total_bytes: of(b"SwapTotal:"),
            swap_free_bytes: of(b"SwapFree:"),
        })
    }
}

/// The lines of /proc/vmstat that we use; 0 where the kernel lacks one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vmstat {
    /// workingset_refault_file; workingset_refault before 5.9.
    pub refault_file: u64,
    /// workingset_refault_anon.
    pub refault_anon: u64,
    /// oom_kill, since 4.13.
    pub oom_kills: u64,
}

impl Vmstat {
    /// Takes what is there.
    pub fn parse(text: &[u8]) -> Vmstat {
        Vmstat {
            refault_file: value(text, b"workingset_refault_file ")
                .or_else(|| value(text, b"workingset_refault "))
                .unwrap_or(0),
            refault_anon: value(text, b"workingset_refault_anon ").unwrap_or(0),
            oom_kills: value(text, b"oom_kill ").unwrap_or(0),
        }
    }

    /// Whether a text read so far has all of them: oom_kill comes last, and its line must be whole.
    pub(crate) fn is_complete(text: &[u8]) -> bool {
        memmem::find(text, b"\noom_kill ").is_some_and(|at| memchr(b'\n', &text[at + 1..]).is_some())
    }
}

/// The fields of /proc/PID/stat that we use (proc_pid_stat(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat {
    /// Field 1.
    pub pid: u32,
    /// Field 3: R, S, D, Z, …
    pub state: u8,
    /// Field 4.
    pub parent: u32,
    /// Field 22: start time in clock ticks since boot; with the PID it names a process for good.
    pub start_ticks: u64,
}

impl Stat {
    /// `None` if a field is missing. The name in parentheses may hold anything, parentheses and newlines too: what counts is
    /// the last one.
    pub fn parse(text: &[u8]) -> Option<Stat> {
        let rest = text.get(memrchr(b')', text)? + 1..)?;
        let mut fields = rest.split(u8::is_ascii_whitespace).filter(|f| !f.is_empty());
        let state = *fields.next()?.first()?;
        let parent = u32::try_from(number(fields.next()?)?).ok()?;
        Some(Stat { pid: u32::try_from(number(text)?).ok()?, state, parent, start_ticks: number(fields.nth(17)?)? })
    }
}

/// The lines of /proc/PID/status that we use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Real user; `None` if the line is missing.
    pub uid: Option<u32>,
    /// RssAnon: resident anonymous memory. 0 for kernel threads and zombies.
    pub anon_bytes: u64,
    /// VmRSS.
    pub resident_bytes: u64,
    /// RssShmem: resident shared memory, mapped by others too.
    pub shmem_bytes: u64,
    /// VmSwap.
    pub swap_bytes: u64,
    /// CapEff; `None` if the line is missing.
    pub capabilities: Option<u64>,
}

impl Status {
    /// Takes what is there.
    pub fn parse(text: &[u8]) -> Status {
        let kib = |key: &[u8]| kib_value(text, key).unwrap_or(0);
        let hex = after_key(text, b"CapEff:").and_then(|t| std::str::from_utf8(t.trim_ascii()).ok());
        Status {
            uid: value(text, b"Uid:").and_then(|uid| u32::try_from(uid).ok()),
            anon_bytes: kib(b"RssAnon:"),
            resident_bytes: kib(b"VmRSS:"),
            shmem_bytes: kib(b"RssShmem:"),
            swap_bytes: kib(b"VmSwap:"),
            capabilities: hex.and_then(|t| u64::from_str_radix(t, 16).ok()),
        }
    }
}

/// Where a process's code and its stack begin (fields 26 and 28 of /proc/PID/stat); `None` where that is kept from us.
pub fn layout(stat: &[u8]) -> Option<(u64, u64)> {
    let rest = stat.get(memrchr(b')', stat)? + 1..)?;
    let mut fields = rest.split(u8::is_ascii_whitespace).filter(|f| !f.is_empty());
    let (code, stack) = (number(fields.nth(23)?)?, number(fields.nth(1)?)?);
    (stack != 0).then_some((code, stack))
}

/// Undoes the octal escapes (`\040`) with which the kernel writes blanks in paths (mountinfo, swaps).
pub fn unescape(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, tail)) = rest.split_first() {
        match (first, tail) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                plain.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = after;
            }
            _ => {
                plain.push(first);
                rest = tail;
            }
        }
    }
    plain
}

/// Where mountinfo has a file system of a type; the first one, should there be several.
pub fn mount_point(mountinfo: &[u8], kind: &[u8]) -> Option<std::path::PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    mountinfo.split(|&b| b == b'\n').find_map(|line| {
        let dash = memmem::find(line, b" - ")?;
        let found = line[dash + 3..].split(|&b| b == b' ').next()?;
        let point = line[..dash].split(|&b| b == b' ').nth(4)?;
        (found == kind).then(|| std::ffi::OsString::from_vec(unescape(point)).into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_with_parentheses_and_newlines_does_not_confuse_stat() {
        let text =
            b"42 (a) S 1 (b\n) R 7 42 42 0 -1 4194560 1 0 0 0 3 4 0 0 20 0 1 0 987654 1000 2 18446744073709551615";
        let stat = Stat::parse(text).unwrap();
        assert_eq!(stat, Stat { pid: 42, state: b'R', parent: 7, start_ticks: 987654 });
    }

    #[test]
    fn keys_count_only_at_the_beginning_of_a_line() {
        let text = b"nr_oom_kill 5\npre oom_kill 6\noom_kill 7\n";
        assert_eq!(value(text, b"oom_kill "), Some(7));
        assert_eq!(value(b"oom_kill 1", b"oom_kill "), Some(1));
        assert_eq!(value(b"oom_kill", b"oom_kill "), None);
    }

    #[test]
    fn a_page_that_came_back_and_kept_its_place_in_swap_counts_once() {
        let stat = b"anon 100\nfile 7\nshmem 30\nswapcached 40\ninactive_anon 80\nactive_anon 50\n";
        assert_eq!(anonymous(stat, 200), (100, 160));
        let read_ahead = b"anon 100\nshmem 30\nswapcached 60\ninactive_anon 100\nactive_anon 50\n";
        assert_eq!(anonymous(read_ahead, 200), (100, 160), "20 of the 60 are nobody's yet");
        let locked = b"anon 500\nshmem 0\nswapcached 40\ninactive_anon 80\nactive_anon 50\nunevictable 410\n";
        assert_eq!(anonymous(locked, 200), (500, 160));
        assert_eq!(anonymous(b"anon 100\n", 200), (100, 200), "a kernel that does not say");
        assert_eq!(anonymous(b"anon 100\nswapcached 40\n", 10), (100, 0), "read at another moment");
        assert_eq!(anonymous(b"", 0), (0, 0));
    }

    /// Of 100 MiB in swap on storage all were written out, then half were read, then written to (Linux 6.12.95): in each state its process's
    /// RssAnon and VmSwap add up to 102,460 kB.
    #[test]
    fn what_comes_back_from_storage_has_not_grown() {
        let state = |anon: u64, inactive_anon: u64, active_anon: u64| {
            let cached = "shmem 0\nswapcached 104857600";
            let stat = format!("anon {anon}\n{cached}\ninactive_anon {inactive_anon}\nactive_anon {active_anon}\n");
            anonymous(stat.as_bytes(), 104_857_600)
        };
        let (anon_bytes, swap_bytes) = state(20_480, 104_669_184, 106_496);
        assert_eq!((anon_bytes, swap_bytes), (20_480, 104_755_200));
        let (anon_bytes, swap_bytes) = state(52_449_280, 104_857_600, 20_480);
        assert_eq!((anon_bytes, swap_bytes), (52_449_280, 52_428_800));
    }

    #[test]
    fn memory_set_aside_as_huge_pages_is_none_of_the_devices() {
        let total = |text: &[u8]| Meminfo::parse(text).unwrap().total_bytes;
        assert_eq!(total(b"MemTotal: 1000 kB\nMemFree: 10 kB\n"), 1000 << 10);
        assert_eq!(total(b"MemTotal: 1000 kB\nMemFree: 10 kB\nHugetlb: 900 kB\n"), 100 << 10);
        assert_eq!(total(b"MemTotal: 1000 kB\nMemFree: 10 kB\nHugetlb: 1001 kB\n"), 0);
    }

    #[test]
    fn what_must_be_written_first_is_no_cache_to_drop() {
        let text = b"MemTotal: 1000 kB\nMemFree: 10 kB\nActive(file): 60 kB\nInactive(file): 40 kB\nDirty: 30 kB\n\
Writeback: 5 kB\nSReclaimable: 70 kB\n";
        let read = Meminfo::parse(text).unwrap();
        assert_eq!((read.file_bytes, read.reclaimable_bytes, read.available_bytes), (65 << 10, 70 << 10, 110 << 10));
        let newer = Meminfo::parse(&[text, &b"KReclaimable: 90 kB\n"[..]].concat()).unwrap();
        assert_eq!(newer.reclaimable_bytes, 90 << 10);
    }

    #[test]
    fn numbers_that_do_not_fit_are_none() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(number(b"18446744073709551616"), None);
        assert_eq!(kib_value(b"MemTotal: 18446744073709551615 kB", b"MemTotal:"), None);
        assert_eq!(signed(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(signed(b"- 1"), None);
    }

    #[test]
    fn octal_escapes_are_undone() {
        assert_eq!(unescape(b"/a\\040b\\011\\x\\04"), b"/a b\t\\x\\04");
    }

    /// The slow, obvious way: line by line.
    fn value_by_lines(text: &[u8], key: &[u8]) -> Option<u64> {
        number(text.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(key))?)
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(text in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = (Meminfo::parse(&text), Vmstat::parse(&text), Stat::parse(&text), Status::parse(&text), unescape(&text));
            let _ = (Vmstat::is_complete(&text), signed(&text));
        }

        #[test]
        fn broken_lines_are_read_without_panic(text in "(MemTotal:|MemFree:|Uid:|CapEff:|oom_kill |1 \\()[ 0-9a-f)(-]{0,40}\n?") {
            let text = text.as_bytes();
            let _ = (Meminfo::parse(text), Vmstat::parse(text), Stat::parse(text), Status::parse(text));
        }

        #[test]
        fn searching_at_once_finds_what_line_by_line_finds(text in "([ab]{0,3} ?[0-9]{0,3}\n?){0,12}", key in "[ab]{1,3} ") {
            prop_assert_eq!(value(text.as_bytes(), key.as_bytes()), value_by_lines(text.as_bytes(), key.as_bytes()));
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The tracepoints we read and what their events say (include/trace/events/{filemap,block,sched,cgroup}.h).

use std::fmt;

use super::format::{Field, Format};
use crate::page::PageSize;

/// A device number as the kernel holds it: 12 bits major, 20 bits minor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Dev(pub u32);

impl Dev {
    /// From its two parts; what does not fit is cut, as the kernel does.
    pub fn new(major: u32, minor: u32) -> Dev {
        Dev(major << 20 | (minor & ((1 << 20) - 1)))
    }
}

impl fmt::Display for Dev {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.0 >> 20, self.0 & ((1 << 20) - 1))
    }
}

/// A task's name.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Comm([u8; 16]);

impl Comm {
    /// From bytes that may end with a 0; what is beyond the kernel's 15 is cut.
    pub fn new(bytes: &[u8]) -> Comm {
        let length = bytes.iter().take(15).position(|&b| b == 0).unwrap_or(bytes.len().min(15));
        let mut comm = [0; 16];
        comm[..length].copy_from_slice(&bytes[..length]);
        Comm(comm)
    }

    /// As text; what is no UTF-8 is replaced.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        let length = self.0.iter().position(|&b| b == 0).unwrap_or(0);
        String::from_utf8_lossy(&self.0[..length])
    }
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text())
    }
}

/// What happened to pages of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageOp {
    /// Read through the page cache, hit or miss; the range is what was asked for.
    Get,
    /// Faulted in by one access.
    Fault,
    /// Mapped around a fault.
    Map,
    /// Came into the page cache.
    Add,
    /// Left the page cache.
    Delete,
}

/// What a block request is for, from its `rwbs` letters (kernel/trace/blktrace.c, blk_fill_rwbs).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rwbs {
    /// W.
    pub write: bool,
    /// D or E: blocks given up.
    pub discard: bool,
    /// Somebody waits: S, or a read that is no read-ahead (A).
    pub sync: bool,
    /// A flush of the device's cache and no data.
    pub flush: bool,
}

impl Rwbs {
    fn new(letters: &[u8]) -> Rwbs {
        let letters = letters.split(|&b| b == 0).next().unwrap_or_default();
        let has = |letter: u8| letters.contains(&letter);
        let (write, discard) = (has(b'W'), has(b'D') || has(b'E'));
        let read = has(b'R');
        Rwbs {
            write,
            discard,
            sync: has(b'S') || (read && !has(b'A')),
            flush: has(b'F') && !write && !read && !discard,
        }
    }
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Pages of a file, of 4 KiB whatever the kernel's are, both ends included.
    Pages {
        /// What happened.
        op: PageOp,
        /// The file system.
        dev: Dev,
        /// The file.
        inode: u64,
        /// First page.
        first: u64,
        /// Last page.
        last: u64,
    },
    /// A request went to a disk.
    Issue {
        /// The disk.
        dev: Dev,
        /// Its first sector of 512 bytes.
        sector: u64,
        /// Bytes of data.
        length_bytes: u64,
        /// What for.
        rwbs: Rwbs,
    },
    /// A request, or the first part of one, came back from the disk.
    Complete {
        /// The disk.
        dev: Dev,
        /// Its first sector.
        sector: u64,
        /// Sectors done.
        sectors: u32,
        /// What for.
        rwbs: Rwbs,
    },
    /// A task made another; threads count.
    Fork {
        /// The new one.
        child: u32,
        /// Its name.
        comm: Comm,
    },
    /// A task became another program.
    Exec {
        /// The task, now the only one of its process.
        pid: u32,
        /// What it was called before, if another thread than the first did it.
        old_pid: u32,
        /// The program as it was named.
        file: Box<[u8]>,
    },
    /// A task ended.
    Exit {
        /// The task.
        pid: u32,
        /// Its name.
        comm: Comm,
    },
    /// A task went into another cgroup (v2).
    Move {
        /// The task.
        pid: u32,
        /// The cgroup's path with its leading slash.
        cgroup: Box<[u8]>,
    },
}

/// An event with its circumstances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// CLOCK_MONOTONIC.
    pub time_ns: u64,
    /// The task that was running; 0 in the idle task, and for block events from within an interrupt, which the task has no part in.
    pub pid: u32,
    /// What happened.
    pub event: Event,
}

/// A tracepoint we can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Tracepoint {
    GetPages,
    Fault,
    MapPages,
    Add,
    Delete,
    Issue,
    Complete,
    Fork,
    Exec,
    Exit,
    Attach,
}

impl Tracepoint {
    /// Those that are recorded.
    pub const RECORDED: [Tracepoint; 7] = [
        Tracepoint::GetPages,
        Tracepoint::Fault,
        Tracepoint::MapPages,
        Tracepoint::Add,
        Tracepoint::Delete,
        Tracepoint::Issue,
        Tracepoint::Complete,
    ];

    /// Those that tell who a task is.
    pub const IDENTITY: [Tracepoint; 4] = [Tracepoint::Fork, Tracepoint::Exec, Tracepoint::Exit, Tracepoint::Attach];

    /// Whether it is one of the block layer, whose events come from whatever task is at hand.
    pub fn is_block(self) -> bool {
        matches!(self, Tracepoint::Issue | Tracepoint::Complete)
    }

    /// The folder below `events`.
    pub fn path(self) -> &'static str {
        match self {
            Tracepoint::GetPages => "filemap/mm_filemap_get_pages",
            Tracepoint::Fault => "filemap/mm_filemap_fault",
            Tracepoint::MapPages => "filemap/mm_filemap_map_pages",
            Tracepoint::Add => "filemap/mm_filemap_add_to_page_cache",
            Tracepoint::Delete => "filemap/mm_filemap_delete_from_page_cache",
            Tracepoint::Issue => "block/block_rq_issue",
            Tracepoint::Complete => "block/block_rq_complete",
            Tracepoint::Fork => "sched/sched_process_fork",
            Tracepoint::Exec => "sched/sched_process_exec",
            Tracepoint::Exit => "sched/sched_process_exit",
            Tracepoint::Attach => "cgroup/cgroup_attach_task",
        }
    }

    /// The fields we read, in the order in which [`decode`] takes them. The last of `Add` and `Delete`, `order`, is newer than they.
    fn fields(self) -> &'static [&'static str] {
        match self {
            Tracepoint::GetPages | Tracepoint::MapPages => &["s_dev", "i_ino", "index", "last_index"],
            Tracepoint::Fault => &["s_dev", "i_ino", "index"],
            Tracepoint::Add | Tracepoint::Delete => &["s_dev", "i_ino", "index"],
            Tracepoint::Issue => &["dev", "sector", "nr_sector", "bytes", "rwbs"],
            Tracepoint::Complete => &["dev", "sector", "nr_sector", "rwbs"],
            Tracepoint::Fork => &["child_pid", "child_comm"],
            Tracepoint::Exec => &["pid", "old_pid", "filename"],
            Tracepoint::Exit => &["pid", "comm"],
            Tracepoint::Attach => &["dst_root", "pid", "dst_path"],
        }
    }
}

/// Bits of `common_flags`: within an interrupt (include/linux/trace_events.h, TRACE_FLAG_*).
const FLAG_HARDIRQ: u64 = 0x08;
const FLAG_SOFTIRQ: u64 = 0x10;

/// Where a tracepoint's fields lie on this kernel.
#[derive(Clone, Debug)]
struct Known {
    id: u16,
    tracepoint: Tracepoint,
    pid: Field,
    flags: Option<Field>,
    fields: Vec<Field>,
    order: Option<Field>,
}

/// Turns bytes into events.
#[derive(Clone, Debug)]
pub struct Decoder {
    known: Vec<Known>,
    page: PageSize,
}

impl Decoder {
    /// Of a kernel with such pages.
    pub fn new(page: PageSize) -> Decoder {
        Decoder { known: Vec::new(), page }
    }

    /// Learns a tracepoint's format; false if it lacks a field that we need.
    pub fn learn(&mut self, tracepoint: Tracepoint, format: &Format) -> bool {
        let field = |name: &&str| format.field(name).cloned();
        let fields: Option<Vec<Field>> = tracepoint.fields().iter().map(field).collect();
        let (Some(fields), Some(pid)) = (fields, field(&"common_pid")) else { return false };
        self.known.retain(|known| known.id != format.id);
        self.known.push(Known {
            id: format.id,
            tracepoint,
            pid,
            flags: field(&"common_flags"),
            fields,
            order: field(&"order"),
        });
        true
    }

    /// The event in these bytes; `None` if it is of another kind, is of no interest, or breaks off.
    pub fn decode(&self, time_ns: u64, bytes: &[u8]) -> Option<Seen> {
        let id = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
        let known = self.known.iter().find(|known| known.id == id)?;
        let mut pid = u32::try_from(number(bytes, &known.pid)?).ok()?;
        let flags = known.flags.as_ref().and_then(|field| number(bytes, field)).unwrap_or(0);
        if known.tracepoint.is_block() && flags & (FLAG_HARDIRQ | FLAG_SOFTIRQ) != 0 {
            pid = 0;
        }
        Some(Seen { time_ns, pid, event: decode(known, self.page, bytes)? })
    }
}

fn decode(known: &Known, page: PageSize, bytes: &[u8]) -> Option<Event> {
    let number = |at: usize| number(bytes, &known.fields[at]);
    let small = |at: usize| u32::try_from(number(at)?).ok();
    let text = |at: usize| text(bytes, &known.fields[at]);
    let pages = |op: PageOp, more: Option<u64>| {
        let (first, inode) = (number(2)?, number(1)?);
        let last = more.unwrap_or(first).max(first).saturating_add(1);
        let (first, last) = (page.to_policy(first), page.to_policy(last) - 1);
        Some(Event::Pages { op, dev: Dev(small(0)?), inode, first, last })
    };
    // A folio of 2^order pages; older kernels had no order, and told of each page.
    let folio = || {
        let order = known.order.as_ref().and_then(|field| self::number(bytes, field)).unwrap_or(0).min(20);
        Some(number(2)?.saturating_add((1 << order) - 1))
    };
    Some(match known.tracepoint {
        Tracepoint::GetPages => pages(PageOp::Get, Some(number(3)?))?,
        Tracepoint::MapPages => pages(PageOp::Map, Some(number(3)?))?,
        Tracepoint::Fault => pages(PageOp::Fault, None)?,
        Tracepoint::Add => pages(PageOp::Add, folio())?,
        Tracepoint::Delete => pages(PageOp::Delete, folio())?,
        Tracepoint::Issue => {
            let rwbs = Rwbs::new(text(4)?);
            // A discard has sectors, but no bytes of data to speak of.
            let length_bytes = number(3)?.max(if rwbs.discard { number(2)?.saturating_mul(512) } else { 0 });
            Event::Issue { dev: Dev(small(0)?), sector: number(1)?, length_bytes, rwbs }
        }
        Tracepoint::Complete => {
            Event::Complete { dev: Dev(small(0)?), sector: number(1)?, sectors: small(2)?, rwbs: Rwbs::new(text(3)?) }
        }
        Tracepoint::Fork => Event::Fork { child: small(0)?, comm: Comm::new(text(1)?) },
        Tracepoint::Exec => Event::Exec { pid: small(0)?, old_pid: small(1)?, file: text(2)?.into() },
        Tracepoint::Exit => Event::Exit { pid: small(0)?, comm: Comm::new(text(1)?) },
        // Hierarchy 0 is v2.
        Tracepoint::Attach if number(0)? == 0 => Event::Move { pid: small(1)?, cgroup: text(2)?.into() },
        Tracepoint::Attach => return None,
    })
}

fn number(bytes: &[u8], field: &Field) -> Option<u64> {
    let value = bytes.get(field.offset..field.offset.checked_add(field.size)?)?;
    Some(match value {
        [one] => u64::from(*one),
        [a, b] => u64::from(u16::from_ne_bytes([*a, *b])),
        [a, b, c, d] => u64::from(u32::from_ne_bytes([*a, *b, *c, *d])),
        eight => u64::from_ne_bytes(eight.try_into().ok()?),
    })
}

/// A text without the 0 at its end.
fn text<'b>(bytes: &'b [u8], field: &Field) -> Option<&'b [u8]> {
    let range = match field.located {
        false => field.offset..field.offset.checked_add(field.size)?,
        // Length above, offset below.
        true => {
            let located = number(bytes, field)? as usize;
            let offset = located & 0xffff;
            offset..offset + (located >> 16 & 0xffff)
        }
    };
    bytes.get(range)?.split(|&b| b == 0).next()
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The cases by name.

use fovea_tests::kernel::Outcome;

use crate::carveouts;
use crate::cut;
use crate::filesystem::FileSystem;
use crate::fsx;
use crate::guarded;
use crate::images::Image;
use crate::layers;
use crate::once::{self, Switch};
use crate::programs;
use crate::race::{race, Request};
use crate::swapped;
use crate::unmarked::{self, Evictor, Way};
use crate::Lab;

macro_rules! mkfs_ext4 {
    ($block:literal $(, $more:literal)*) => {
        &["mkfs.ext4", "-q", "-F", "-b", $block, "-m", "0", "-J", "size=4",
          "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0" $(, $more)*]
    };
}

pub const EXT4: FileSystem = FileSystem {
    kind: "ext4",
    make: mkfs_ext4!("4096"),
    options: "discard",
    check: &["e2fsck", "-f", "-n"],
    disk_mib: 32,
    sector_bytes: 4096,
    exchange: false,
};

/// Able to encrypt and to seal.
pub const EXT4_GUARDED: FileSystem =
    FileSystem { make: mkfs_ext4!("4096", "-O", "encrypt,verity"), options: "", ..EXT4 };

/// ext4 with blocks of so many bytes.
pub fn ext4_of(block: u32) -> FileSystem {
    let make: &[&str] = match block {
        1024 => mkfs_ext4!("1024"),
        2048 => mkfs_ext4!("2048"),
        _ => mkfs_ext4!("4096"),
    };
    FileSystem { make, options: "", sector_bytes: 512, ..EXT4 }
}

fn journalled(system: FileSystem) -> FileSystem {
    FileSystem { options: "data=journal", ..system }
}

const XFS: FileSystem = FileSystem {
    kind: "xfs",
    make: &["mkfs.xfs", "-q", "-f", "-K", "--unsupported"],
    options: "",
    check: &["xfs_repair", "-n"],
    disk_mib: 64,
    sector_bytes: 512,
    exchange: false,
};
/// Blocks that files share, and exchange.
const CLONED_XFS: FileSystem = FileSystem {
    make: &["mkfs.xfs", "-q", "-f", "-K", "--unsupported", "-m", "reflink=1"],
    disk_mib: 96,
    exchange: true,
    ..XFS
};
const BTRFS: FileSystem = FileSystem {
    kind: "btrfs",
    make: &["mkfs.btrfs", "-q", "-f", "-K"],
    options: "",
    check: &["btrfs", "check", "--readonly"],
    disk_mib: 112,
    sector_bytes: 4096,
    exchange: false,
};
const VFAT: FileSystem = FileSystem {
    kind: "vfat",
    make: &["mkfs.vfat", "-F", "16", "-s", "8"],
    options: "codepage=437,iocharset=ascii",
    check: &["fsck.vfat", "-n"],
    disk_mib: 40,
    sector_bytes: 512,
    exchange: false,
};
const EXFAT: FileSystem =
    FileSystem { kind: "exfat", make: &["mkfs.exfat"], options: "", check: &["fsck.exfat", "-n"], ..VFAT };

const NTFS3: FileSystem = FileSystem {
    kind: "ntfs3",
    make: &["mkntfs", "-q", "-F", "-Q", "-s", "512", "-p", "0", "-H", "16", "-S", "63"],
    options: "discard",
    check: &["ntfsfix", "-n"],
    disk_mib: 40,
    sector_bytes: 512,
    exchange: false,
};
/// Blocks of a sector, so that each page is several.
const UDF: FileSystem = FileSystem { kind: "udf", make: &["mkudffs", "-b", "512"], options: "", check: &[], ..NTFS3 };
const F2FS: FileSystem = FileSystem {
    kind: "f2fs",
    make: &["mkfs.f2fs", "-q", "-f", "-O", "extra_attr,inode_checksum,compression"],
    options: "discard",
    check: &["fsck.f2fs", "--dry-run"],
    disk_mib: 64,
    sector_bytes: 4096,
    exchange: false,
};
const JFS: FileSystem =
    FileSystem { kind: "jfs", make: &["mkfs.jfs", "-q"], check: &["fsck.jfs", "-n"], disk_mib: 40, ..F2FS };

type Test = Box<dyn Fn(&mut Lab) -> Outcome<()>>;

/// What cases there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Whole file systems: what docs/design/ecache.md has a table of.
    FileSystems,
    /// What was wrong once, each by what it is the guard of.
    OnceWrong,
    /// File systems that the cloud's kernel is built without.
    Pc,
    /// What needs the programs of xfstests.
    Xfstests,
    /// Blocks larger than a page: XFS has them since Linux 6.12, ext4 since 6.19.
    LargeBlocks,
}

/// A case; `short`: part of a short list, that of its kind.
pub struct Case {
    pub name: &'static str,
    pub short: bool,
    pub list: List,
    /// Lines of the kernel's log with these words are meant.
    pub meant: &'static [&'static str],
    pub test: Test,
}

fn case(name: &'static str, short: bool, test: impl Fn(&mut Lab) -> Outcome<()> + 'static) -> Case {
    Case { name, short, list: List::FileSystems, meant: &[], test: Box::new(test) }
}

fn of(name: &'static str, short: bool, system: FileSystem) -> Case {
    case(name, short, move |lab| system.test(lab))
}

fn erofs(name: &'static str, short: bool, packed: &'static [&'static str], strategy: &'static str) -> Case {
    case(name, short, move |lab| Image::Erofs { packed, strategy }.test(lab))
}

const CLUSTERS_4K: &[&str] = &["-zlz4"];
const CLUSTERS_64K: &[&str] = &["-zlz4", "-C65536"];
/// Ends of files together in one place, equal parts once, last blocks beside the inode.
const TIGHT: &[&str] = &["-zlz4", "-Efragments,dedupe,ztailpacking"];

fn file_systems() -> Vec<Case> {
    vec![
        of("ext4-4k", true, EXT4),
        of("ext4-2k", false, ext4_of(2048)),
        of("ext4-1k", true, ext4_of(1024)),
        of("ext4-4k-journal", true, journalled(EXT4)),
        of("ext4-2k-journal", false, journalled(ext4_of(2048))),
        of("ext4-1k-journal", false, journalled(ext4_of(1024))),
        case("ext4-encrypted", false, guarded::encrypted),
        case("ext4-verity", false, guarded::verity),
        of("xfs-4k", true, XFS),
        of(
            "xfs-1k",
            false,
            FileSystem { make: &["mkfs.xfs", "-q", "-f", "-K", "--unsupported", "-b", "size=1024"], ..XFS },
        ),
        of("btrfs", false, BTRFS),
        of("btrfs-lzo", false, FileSystem { options: "compress-force=lzo", ..BTRFS }),
        of("btrfs-zstd", false, FileSystem { options: "compress-force=zstd", ..BTRFS }),
        of("vfat", false, VFAT),
        of("exfat", false, EXFAT),
        of("ntfs3", false, NTFS3),
        of("udf", false, UDF),
        erofs("erofs-4k-disabled", true, CLUSTERS_4K, "disabled"),
        erofs("erofs-4k-readahead", false, CLUSTERS_4K, "readahead"),
        erofs("erofs-4k-readaround", false, CLUSTERS_4K, "readaround"),
        erofs("erofs-64k-disabled", false, CLUSTERS_64K, "disabled"),
        erofs("erofs-64k-readahead", false, CLUSTERS_64K, "readahead"),
        erofs("erofs-64k-readaround", false, CLUSTERS_64K, "readaround"),
        erofs("erofs-tight", false, TIGHT, "readaround"),
        erofs("erofs-plain", false, &[], "readaround"),
        case("squashfs-lz4", true, |lab| Image::Squashfs { compressor: "lz4" }.test(lab)),
        case("squashfs-zstd", false, |lab| Image::Squashfs { compressor: "zstd" }.test(lab)),
        case("overlay-on-ext4", true, layers::overlay),
        case("loop-above", false, layers::loop_above),
        case("loop-below", false, layers::loop_below),
        case("linear-below", false, layers::linear_below),
        case("linear-above", false, layers::linear_above),
        case("snapshot-below", false, layers::snapshot_below),
        case("thin-below", false, layers::thin_below),
        case("raid1-below", false, layers::raid1_below),
        case("crypt-below", false, layers::crypt_below),
        case("crypt-above", false, layers::crypt_above),
        case("snapshot-above", false, layers::snapshot_above),
        case("thin-above", false, layers::thin_above),
        case("two-targets", false, layers::two_targets),
        case("resized", false, layers::resized),
        case("swap-partition", false, layers::swap_partition),
        case("swap-file", false, layers::swap_file),
    ]
}

fn of_pcs() -> Vec<Case> {
    vec![
        of("f2fs", false, F2FS),
        // Unchanged: in 6.12 a compressed file that is cut and made longer shows what was cut off, with dm-linear too.
        case("f2fs-lz4", false, |lab| {
            FileSystem { options: "compress_algorithm=lz4,compress_extension=*", ..F2FS }.test_unchanged(lab)
        }),
        of("jfs", false, JFS),
        Case {
            meant: &["shutdown", "shut down"],
            ..case("unmarked-f2fs", false, |lab| unmarked::all(lab, &F2FS, &unmarked::WAYS, &unmarked::EVICTORS, 1))
        },
        case("fsx-f2fs", false, |lab| fsx::all(lab, &F2FS)),
        case("power-cut-f2fs", false, |lab| cut::power(lab, &F2FS)),
    ]
}

/// Their folios are never smaller than a block.
fn large_blocks() -> Vec<Case> {
    // Its journal has 1024 blocks at least.
    const EXT4_16K: FileSystem = FileSystem {
        make: &[
            "mkfs.ext4",
            "-q",
            "-F",
            "-b",
            "16384",
            "-m",
            "0",
            "-J",
            "size=16",
            "-E",
            "nodiscard,lazy_itable_init=0",
        ],
        options: "",
        disk_mib: 112,
        ..EXT4
    };
    const XFS_16K: FileSystem = FileSystem {
        make: &["mkfs.xfs", "-q", "-f", "-K", "--unsupported", "-m", "reflink=1", "-b", "size=16384"],
        disk_mib: 112,
        ..XFS
    };
    const XFS_64K: FileSystem = FileSystem {
        make: &["mkfs.xfs", "-q", "-f", "-K", "--unsupported", "-m", "reflink=1", "-b", "size=65536"],
        disk_mib: 160,
        ..XFS
    };
    let stopped = |name, test: fn(&mut Lab) -> Outcome<()>| Case {
        meant: &["Aborting journal", "EXT4-fs error", "EXT4-fs warning", "shut down"],
        ..case(name, false, test)
    };
    vec![
        of("xfs-16k", false, XFS_16K),
        of("xfs-64k", false, XFS_64K),
        stopped("unmarked-xfs-16k", |lab| unmarked::all(lab, &XFS_16K, &unmarked::WAYS, &unmarked::EVICTORS, 1)),
        case("power-cut-xfs-16k", false, |lab| cut::power(lab, &XFS_16K)),
        of("ext4-16k", false, EXT4_16K),
        stopped("unmarked-ext4-16k", |lab| unmarked::all(lab, &EXT4_16K, &unmarked::WAYS, &unmarked::EVICTORS, 1)),
    ]
}

fn xfstests() -> Vec<Case> {
    // One of them writes 128 MiB, another in halves of 1 KiB.
    let large = |system| FileSystem { disk_mib: 208, sector_bytes: 512, ..system };
    vec![
        case("xfstests-ext4", false, move |lab| programs::all(lab, &large(EXT4))),
        case("xfstests-ext4-1k", false, move |lab| programs::all(lab, &large(ext4_of(1024)))),
        case("xfstests-xfs", false, move |lab| programs::all(lab, &large(XFS))),
    ]
}

fn once_wrong() -> Vec<Case> {
    let moved = |name, switch| Case {
        // A module that says it hears no more is right to.
        meant: &["dm_ecache:"],
        ..case(name, true, move |lab| once::silent_moves(lab, switch))
    };
    let stopped = |name, short, test: fn(&mut Lab) -> Outcome<()>| Case {
        meant: &["Aborting journal", "EXT4-fs error", "EXT4-fs warning", "shut down"],
        ..case(name, short, test)
    };
    vec![
        case("race-aligned", false, |lab| race(lab, Request::Aligned)),
        case("race-unaligned", true, |lab| race(lab, Request::Unaligned)),
        case("race-discard", true, |lab| race(lab, Request::Discard)),
        case("race-zero", false, |lab| race(lab, Request::Zero)),
        stopped("truncate-1k", false, |lab| once::truncation(lab, 1024)),
        stopped("truncate-2k", true, |lab| once::truncation(lab, 2048)),
        stopped("truncate-4k", false, |lab| once::truncation(lab, 4096)),
        stopped("abort-journal", true, |lab| once::journal_abort(lab, "data=journal,commit=600")),
        stopped("abort-ordered", false, |lab| once::journal_abort(lab, "commit=600")),
        stopped("chosen-2k", true, once::chosen),
        stopped("punch-xfs", true, |lab| {
            unmarked::all(lab, &CLONED_XFS, &[Way::Punch], &[Evictor::Fadvise], lab.rounds.div_ceil(4))
        }),
        stopped("unmarked-xfs", false, |lab| unmarked::all(lab, &CLONED_XFS, &unmarked::WAYS, &unmarked::EVICTORS, 1)),
        stopped("unmarked-ext4", false, |lab| {
            let ext4 = FileSystem { options: "commit=600", disk_mib: 64, ..EXT4 };
            unmarked::all(lab, &ext4, &unmarked::WAYS, &unmarked::EVICTORS, 1)
        }),
        stopped("unmarked-btrfs", false, |lab| unmarked::all(lab, &BTRFS, &unmarked::WAYS, &unmarked::EVICTORS, 1)),
        case("big-write", true, once::big_write),
        Case {
            // What keeps the second from the first's disk.
            meant: &["dm_ecache: the range", "device-mapper:"],
            ..case("swapped-tables", true, swapped::tables)
        },
        case("without-waiting", true, swapped::without_waiting),
        case("power-cut-ext4", true, |lab| cut::power(lab, &EXT4)),
        case("power-cut-ext4-1k-journal", false, |lab| cut::power(lab, &journalled(ext4_of(1024)))),
        case("power-cut-xfs", false, |lab| cut::power(lab, &XFS)),
        case("power-cut-btrfs", false, |lab| cut::power(lab, &BTRFS)),
        case("fsx-ext4-4k", false, |lab| fsx::all(lab, &EXT4)),
        case("fsx-ext4-1k", false, |lab| fsx::all(lab, &ext4_of(1024))),
        case("fsx-xfs", true, |lab| fsx::all(lab, &CLONED_XFS)),
        case("fsx-btrfs", false, |lab| fsx::all(lab, &BTRFS)),
        moved("moved-without-ftrace", Switch::Ftrace),
        moved("moved-without-kprobes", Switch::Kprobes),
    ]
}

/// All, in the order in which they are run: those that switch something off come last.
pub fn all() -> Vec<Case> {
    let lists = [
        (List::FileSystems, file_systems()),
        (List::Pc, of_pcs()),
        (List::Xfstests, xfstests()),
        (List::LargeBlocks, large_blocks()),
        (List::OnceWrong, once_wrong()),
    ];
    lists.into_iter().flat_map(|(list, cases)| cases.into_iter().map(move |case| Case { list, ..case })).collect()
}

/// Named here, so that it can be asked for: it is run before the module is loaded.
pub const CARVEOUTS: &str = "carveouts";

pub fn carveouts(report: &fovea_tests::report::Report) -> Outcome<()> {
    carveouts::all(report)
}

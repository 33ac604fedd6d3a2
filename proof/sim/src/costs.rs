// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What things cost on the simulated device. Times are of the virtual phone in exact mode, where one instruction is one nanosecond.
//!
//! "calibration" are the boots of `proof/sim/calibration/costs.toml` and `reclaim.toml`: apps that each do one thing. A time per page is
//! a difference of two launches divided by the pages in which they differ; docs/design/sim.md shows the sums. None is fitted to a verdict.

/// First touch of an anonymous page: the fault, and clearing the page. Calibration: `zero`, `compressible` and `random` agree, 8.34 to
/// 8.36 us beside the content.
pub const FAULT_NS: u64 = 8_350;

/// Making a page's content, per word of noise in it, and for the rest. Calibration: 308 words more make `random` 3.48 us dearer than
/// `compressible` in `fill` and 4.45 us in check and rewrite (1.25 times).
const WORD_PS: u64 = 11_550;
const CONTENT_NS: u64 = 300;

/// The same for a page of zeros. Calibration: `zero`.
const ZEROS_NS: u64 = 3_640;

/// Comparing a page with what it should hold. Calibration: what is left of a warm return, 1.3 us.
pub const COMPARE_NS: u64 = 1_300;

/// A page of the zygote's is checked against a buffer that is cleared first: 4096 instructions more.
pub const ZYGOTE_EXTRA_NS: u64 = 4_100;

/// Checking a page of a file that is in memory. Calibration: `files-part`, 2.4 us with the faults that map it.
pub const FILE_CHECK_NS: u64 = 2_400;

/// Using a file at all. Workload N, stock, 102 returns without a read: what is left beside the pages is 1.1 ms for about ten files.
pub const FILE_USE_NS: u64 = 100_000;

/// CPU time of a page read from flash, beside its request. Calibration: `files-part`, a return with three requests for 96 pages.
pub const READ_PAGE_NS: u64 = 10_000;

/// Swap-out by the kernel of a page that shrinks, and of one of equal words. Calibration: `reclaim.toml`, 26.3 and 26.8 us; `costs.toml`,
/// `zero`: 11.4 us less the scan.
pub const SWAP_OUT_NS: u64 = 26_500;
/// Of a page of equal words.
pub const SWAP_OUT_SAME_NS: u64 = 9_200;

/// Swap-in by a fault. Calibration: `small` and `compressible` 18.1 and 18.2 us, `zero` 13.35 us.
pub const SWAP_IN_NS: u64 = 18_200;
/// Of a page of equal words.
pub const SWAP_IN_SAME_NS: u64 = 13_350;

/// The daemon's look at a resident page: page map, its share of the sample, the call. Calibration: `random`, where nothing leaves: 2.24 us.
pub const SCAN_NS: u64 = 2_240;

/// Reclaim of a clean page of a file. Calibration: `reclaim.toml`, stock: 4.4 and 4.9 us.
pub const RECLAIM_FILE_NS: u64 = 4_500;

/// A page that the kernel looked at and kept. An estimate: a third of a reclaimed one.
pub const KEEP_NS: u64 = 1_500;

/// Aging walks page tables; per page. An estimate: an entry is some ten instructions.
pub const AGE_NS: u64 = 20;

/// Freeing a page of a killed app, and what its end takes beside that. `victim-gone` entries of the journals, for 859 to 64,171 pages:
/// 4.2 ms to 94.4 ms.
pub const FREE_NS: u64 = 1_430;
/// The end of a process without its pages.
pub const END_NS: u64 = 2_600_000;

/// Starting a process and registering it. Calibration: `small`, without its pages.
pub const SPAWN_NS: u64 = 2_900_000;

/// Starting a job's next process. An estimate: a sixth of the above, for it is a fork without an `exec`, a cgroup or a word to the daemon.
pub const FORK_NS: u64 = 500_000;

/// A return to the screen without a touch, with all that is said between phone, app and daemon. Calibration: `base`.
pub const RESUME_NS: u64 = 545_000;

/// The daemon's look at memory, at one app's charge, at one app's account; the kill signal. Their sum for a kill with 15 apps is the
/// 0.33 ms that the journal of workload N, stock, states; the parts are an estimate.
pub const LOOK_NS: u64 = 100_000;
/// One app's charge.
pub const CHARGE_NS: u64 = 6_000;
/// One app's whole account: ten times that (`Device::charge`).
pub const USAGE_NS: u64 = 60_000;
/// Finding an app's processes and signalling them.
pub const SIGNAL_NS: u64 = 140_000;

/// Freezing or thawing. Calibration: a return of a frozen app takes 0.45 ms longer than of one that runs.
pub const FREEZE_NS: u64 = 450_000;

/// Pages that a process takes beside its own: page tables, stack, its allocator, its cgroup. Calibration: what its end gives back beside
/// its pages, 46 to 64; with a zygote to share with, available memory falls by 15 pages an app more than with 48 (`lowmem`, the eleven
/// apps opened before memory gets short).
pub const PROCESS_PAGES: u64 = 63;

/// Memory that zram takes for a compressed page, in thousandths of its compressed size. Calibration: `compressible`, 1773 bytes for pages
/// that shrink to 1654.
pub const ZRAM_PERMILLE: u64 = 1_072;

/// What lz4 adds to a page's noise: the tail as one match. (lz4 block format.)
pub const LZ4_BYTES: u64 = 22;

/// What the kernel keeps of the virtual phone's memory, its first process, the daemon and an empty zygote included, and without the
/// flash: MemTotal 528494592 less MemFree 360202240 at the first step of the calibration, less 128 MiB.
pub const KERNEL_BYTES: u64 = 528_494_592 - 360_202_240 - (128 << 20);

/// What the machine has that MemTotal does not count: the kernel's image and its table of pages. 512 - 90 + 128 MiB less MemTotal.
pub const HIDDEN_BYTES: u64 = (550 << 20) - 528_494_592;

/// Making the content of a page with so many bytes of noise; `None` for zeros.
pub fn content_ns(noise_bytes: Option<u64>) -> u64 {
    noise_bytes.map_or(ZEROS_NS, |bytes| CONTENT_NS + bytes / 8 * WORD_PS / 1000)
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! System calls that no library wraps, made safe to call.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A range of another process's addresses: bytes from, length.
pub(crate) type RemoteRange = (u64, u64);

/// The largest number of ranges a call here takes: the pages of a window (LowMem13, section 3.3).
pub(crate) const RANGES_MAX: usize = 32;

fn checked(result: libc::c_long) -> io::Result<u64> {
    u64::try_from(result).map_err(|_| io::Error::last_os_error())
}

fn remote_vectors(ranges: &[RemoteRange]) -> ([libc::iovec; RANGES_MAX], usize) {
    let mut vectors = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; RANGES_MAX];
    for (vector, &(start, length)) in vectors.iter_mut().zip(ranges) {
        *vector = libc::iovec { iov_base: start as *mut libc::c_void, iov_len: length as usize };
    }
    (vectors, ranges.len().min(RANGES_MAX))
}

/// process_madvise(2): gives advice on ranges of the process behind a pidfd; returns bytes advised.
pub(crate) fn process_madvise(pidfd: BorrowedFd<'_>, ranges: &[RemoteRange], advice: libc::c_int) -> io::Result<u64> {
    let (vectors, count) = remote_vectors(ranges);
    // SAFETY: the kernel reads `count` initialised vectors; their addresses belong to the other process and are never
    // dereferenced here, and the advices used (PAGEOUT, WILLNEED) do not change what memory holds.
    checked(unsafe {
        libc::syscall(libc::SYS_process_madvise, pidfd.as_raw_fd(), vectors.as_ptr(), count, advice, 0 as libc::c_uint)
    })
}

/// process_madvise with a descriptor that cannot be valid: tells whether the kernel has the call.
pub(crate) fn probe_process_madvise() -> io::Result<()> {
    // SAFETY: no memory is passed.
    checked(unsafe {
        libc::syscall(libc::SYS_process_madvise, -1, std::ptr::null::<libc::iovec>(), 0, libc::MADV_PAGEOUT, 0)
    })
    .map(drop)
}

/// process_mrelease(2): frees the memory of a dying process before it gets to it itself.
pub(crate) fn process_mrelease(pidfd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: takes integers only.
    checked(unsafe { libc::syscall(libc::SYS_process_mrelease, pidfd.as_raw_fd(), 0 as libc::c_uint) }).map(drop)
}

/// `struct file_handle` (linux/fcntl.h) with room for what kernfs has to say.
#[repr(C)]
struct KernfsHandle {
    bytes: libc::c_uint,
    kind: libc::c_int,
    id: [u8; 8],
}

/// `FILEID_KERNFS` (linux/exportfs.h).
const KERNFS: libc::c_int = 0xfe;

/// A cgroup's number, by name_to_handle_at(2). `ino` is the inode's, which on 64 bits is the same; on 32 bits it is the lower half.
pub(crate) fn cgroup_number(above: BorrowedFd<'_>, name: &CStr, ino: u64) -> u64 {
    match cfg!(target_pointer_width = "64") {
        true => ino,
        false => kernfs_id(above, name).unwrap_or(ino),
    }
}

fn kernfs_id(above: BorrowedFd<'_>, name: &CStr) -> io::Result<u64> {
    let mut handle = KernfsHandle { bytes: 8, kind: 0, id: [0; 8] };
    let mut mount: libc::c_int = 0;
    // SAFETY: the kernel reads a C string, and writes one integer and a handle of at most `bytes` bytes, for which there is room.
    checked(unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            above.as_raw_fd(),
            name.as_ptr(),
            &raw mut handle,
            &raw mut mount,
            libc::AT_EMPTY_PATH,
        )
    })?;
    match (handle.kind, handle.bytes) {
        (KERNFS, 8) => Ok(u64::from_ne_bytes(handle.id)),
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// sched_setscheduler(2) of the calling thread, by the kernel's own call: musl's wrapper does nothing. Not inherited by what it starts.
pub(crate) fn set_scheduler(policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    // The kernel's struct sched_param has this one field.
    let parameter: libc::c_int = priority;
    let policy = policy | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the kernel reads one integer, and 0 is the calling thread.
    checked(unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const parameter) }).map(drop)
}

/// sched_getscheduler(2) of the calling thread.
#[cfg(test)]
pub(crate) fn scheduler() -> io::Result<libc::c_int> {
    // SAFETY: takes an integer only, and 0 is the calling thread.
    checked(unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) }).map(|policy| policy as libc::c_int)
}

/// process_mrelease with a descriptor that cannot be valid.
pub(crate) fn probe_process_mrelease() -> io::Result<()> {
    // SAFETY: takes integers only.
    checked(unsafe { libc::syscall(libc::SYS_process_mrelease, -1, 0 as libc::c_uint) }).map(drop)
}

/// getsockopt(SO_PEERCRED): who connected to a unix socket. The PID is 0 if nobody has, or it is of a PID namespace that we do not see: a
/// value that rustix's type cannot hold.
pub(crate) fn peer_credentials(socket: BorrowedFd<'_>) -> io::Result<libc::ucred> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, which are a `ucred`'s, and any of its values is valid.
    let done = unsafe {
        let to = (&raw mut peer).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, to, &mut length)
    };
    checked(done.into())?;
    Ok(peer)
}

/// linux/socket.h; libc has no name for it.
pub(crate) const SO_BUF_LOCK: libc::c_int = 72;

/// getsockopt(2) of an option that is a number.
pub(crate) fn socket_option(socket: BorrowedFd<'_>, level: libc::c_int, option: libc::c_int) -> io::Result<u32> {
    let mut value: u32 = 0;
    let mut length = size_of::<u32>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, which are `value`'s, and any of its values is valid.
    let done = unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, (&raw mut value).cast(), &mut length) };
    checked(done.into())?;
    Ok(value)
}

/// setsockopt(2) of an option that is a number.
pub(crate) fn set_socket_option(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    option: libc::c_int,
    value: u32,
) -> io::Result<()> {
    let length = size_of::<u32>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes, which are `value`'s, and keeps no address.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), length) };
    checked(done.into()).map(drop)
}

/// process_vm_readv(2): copies ranges of another process, one after the other, into `into`; returns bytes copied.
pub(crate) fn process_vm_readv(pid: u32, ranges: &[RemoteRange], into: &mut [u8]) -> io::Result<usize> {
    let (vectors, count) = remote_vectors(ranges);
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // SAFETY: the local vector covers `into`, borrowed for writing; the remote ones are addresses of the other process.
    let result =
        unsafe { libc::process_vm_readv(pid as libc::pid_t, &local, 1, vectors.as_ptr(), count as libc::c_ulong, 0) };
    checked(result as libc::c_long).map(|n| n as usize)
}

/// A structure that an ioctl reads and writes.
///
/// # Safety
/// The type has no padding and no pointer, every bit pattern is valid, and `REQUEST` is an ioctl whose argument it is. Addresses in
/// integer fields are only set by [`pagemap_scan`].
unsafe trait Argument {
    const REQUEST: libc::Ioctl;
}

/// `struct procmap_query` (linux/fs.h, since 6.11).
#[repr(C)]
#[derive(Default)]
pub(crate) struct ProcmapQuery {
    size: u64,
    query_flags: u64,
    query_addr: u64,
    pub vma_start: u64,
    pub vma_end: u64,
    pub vma_flags: u64,
    pub vma_page_size: u64,
    pub vma_offset: u64,
    pub inode: u64,
    pub dev_major: u32,
    pub dev_minor: u32,
    vma_name_size: u32,
    build_id_size: u32,
    vma_name_addr: u64,
    build_id_addr: u64,
}

impl ProcmapQuery {
    /// A question about an address.
    pub(crate) fn at(query_addr: u64, query_flags: u64) -> ProcmapQuery {
        ProcmapQuery { query_addr, query_flags, ..ProcmapQuery::default() }
    }
}

/// `struct pm_scan_arg` (linux/fs.h, since 6.7).
#[repr(C)]
#[derive(Default)]
pub(crate) struct PagemapScan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

impl PagemapScan {
    /// A search for the first page of a range whose categories in `mask` are set, those in `inverted` being clear.
    pub(crate) fn first(range: std::ops::Range<u64>, mask: u64, inverted: u64) -> PagemapScan {
        PagemapScan {
            start: range.start,
            end: range.end,
            max_pages: 1,
            category_mask: mask,
            category_inverted: inverted,
            return_mask: mask,
            ..PagemapScan::default()
        }
    }
}

const fn iowr(kind: u8, number: u8, size: usize) -> libc::Ioctl {
    (3 << 30 | size << 16 | (kind as usize) << 8 | number as usize) as libc::Ioctl
}

// SAFETY: integers only, 104 bytes as the kernel's; the name and build-id addresses and sizes are private and stay 0.
unsafe impl Argument for ProcmapQuery {
    const REQUEST: libc::Ioctl = iowr(b'f', 17, size_of::<ProcmapQuery>());
}

// SAFETY: integers only, 96 bytes as the kernel's; the vector's address is set by `pagemap_scan` alone.
unsafe impl Argument for PagemapScan {
    const REQUEST: libc::Ioctl = iowr(b'f', 16, size_of::<PagemapScan>());
}

fn ioctl<T: Argument>(fd: BorrowedFd<'_>, argument: &mut T) -> io::Result<u64> {
    // SAFETY: `Argument` says that the request's argument is this type, borrowed for writing.
    checked(libc::c_long::from(unsafe { libc::ioctl(fd.as_raw_fd(), T::REQUEST, argument) }))
}

/// Asks for one mapping of the process whose /proc/PID/maps is open; ENOTTY before 6.11.
pub(crate) fn procmap_query(maps: BorrowedFd<'_>, query: &mut ProcmapQuery) -> io::Result<()> {
    query.size = size_of::<ProcmapQuery>() as u64;
    ioctl(maps, query).map(drop)
}

/// Finds the first page of the wanted categories; `None` if there is none. ENOTTY before 6.7.
pub(crate) fn pagemap_scan(pagemap: BorrowedFd<'_>, scan: &mut PagemapScan) -> io::Result<Option<u64>> {
    let mut region = [0u64; 3];
    scan.size = size_of::<PagemapScan>() as u64;
    scan.vec = region.as_mut_ptr() as u64;
    scan.vec_len = 1;
    let found = ioctl(pagemap, scan)?;
    Ok((found > 0).then_some(region[0]))
}

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

/// `sizeof(struct dm_ioctl)` (linux/dm-ioctl.h): the head of every argument of device-mapper's calls.
pub(crate) const DM_HEAD_BYTES: usize = 312;

/// Where the head says how long the whole argument is.
const DM_DATA_SIZE: std::ops::Range<usize> = 12..16;

/// A call of device-mapper. The argument begins with `struct dm_ioctl`; what it says of its own length is set here.
pub(crate) fn dm_ioctl(control: BorrowedFd<'_>, command: u8, argument: &mut [u8]) -> io::Result<()> {
    let size = u32::try_from(argument.len()).ok().filter(|&size| size as usize >= DM_HEAD_BYTES);
    let size = size.ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
    argument[DM_DATA_SIZE].copy_from_slice(&size.to_ne_bytes());
    let request = iowr(0xfd, command, DM_HEAD_BYTES);
    // SAFETY: device-mapper reads and writes `data_size` bytes from the address on, which has just been set to the slice's length,
    // borrowed for writing; it copies them byte-wise and takes no address from them.
    checked(libc::c_long::from(unsafe { libc::ioctl(control.as_raw_fd(), request, argument.as_mut_ptr()) })).map(drop)
}

/// prctl(PR_SET_MEMORY_MERGE): this process's memory may be merged with others', and that of what it becomes and forks.
pub(crate) fn set_memory_merge() -> io::Result<()> {
    // SAFETY: takes integers only.
    checked(unsafe { libc::prctl(PR_SET_MEMORY_MERGE, 1u64, 0u64, 0u64, 0u64) }.into()).map(drop)
}

/// prctl(PR_GET_MEMORY_MERGE): fails with EINVAL where the kernel does not know it.
pub(crate) fn memory_merge() -> io::Result<bool> {
    // SAFETY: takes integers only.
    checked(unsafe { libc::prctl(PR_SET_MEMORY_MERGE + 1, 0u64, 0u64, 0u64, 0u64) }.into()).map(|set| set != 0)
}

/// linux/prctl.h.
const PR_SET_MEMORY_MERGE: libc::c_int = 67;

/// swapon(2).
pub(crate) fn swapon(path: &Path, flags: libc::c_int) -> io::Result<()> {
    let path = c_path(path)?;
    // SAFETY: a terminated string.
    checked(unsafe { libc::swapon(path.as_ptr(), flags) }.into()).map(drop)
}

/// swapoff(2).
pub(crate) fn swapoff(path: &Path) -> io::Result<()> {
    let path = c_path(path)?;
    // SAFETY: a terminated string.
    checked(unsafe { libc::swapoff(path.as_ptr()) }.into()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cgroups_handle_holds_its_number() {
        use std::os::fd::AsFd;
        use std::os::unix::fs::MetadataExt;
        let Ok(root) =
            std::fs::File::open("/sys/fs/cgroup").and_then(|root| kernfs_id(root.as_fd(), c"").map(|id| (root, id)))
        else {
            println!("not tried: no cgroup v2 on /sys/fs/cgroup");
            return;
        };
        // On 64 bits both are the number.
        assert_eq!(root.1, root.0.metadata().unwrap().ino());
        assert!(kernfs_id(root.0.as_fd(), c"no-such-cgroup").is_err());
    }

    #[test]
    fn structures_have_the_kernels_sizes() {
        assert_eq!(size_of::<ProcmapQuery>(), 104);
        assert_eq!(size_of::<PagemapScan>(), 96);
        assert_eq!(size_of::<KernfsHandle>(), 16);
        assert_eq!(ProcmapQuery::REQUEST as u32, 0xc068_6611);
        assert_eq!(PagemapScan::REQUEST as u32, 0xc060_6610);
        assert_eq!(iowr(0xfd, 9, DM_HEAD_BYTES) as u32, 0xc138_fd09);
    }

    #[test]
    fn reads_its_own_memory_like_another_processes() {
        let source = [7u8; 64];
        let mut copy = [0u8; 32];
        let at = source.as_ptr() as u64;
        let read = process_vm_readv(std::process::id(), &[(at, 16), (at + 48, 16)], &mut copy).unwrap();
        assert_eq!((read, copy), (32, [7; 32]));
    }
}

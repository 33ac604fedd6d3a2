// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a cgroup is charged for that goes when its processes go (admin-guide/cgroup-v2,
//! memory.stat).

use crate::proc::{self, value};

/// Bytes by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Charges {
    /// Resident anonymous memory.
    pub anon_bytes: u64,
    /// In swap and not in memory.
    pub swap_bytes: u64,
    /// Resident shared memory: memfd, `MAP_SHARED`, System V segments, and files on a tmpfs, which
    /// stay.
    pub shmem_bytes: u64,
    /// The kernel's memory that ends with the processes.
    pub kernel_bytes: u64,
}

/// Page tables (a virtual machine's too), stacks, buffers of sockets, and slab that no reclaim
/// frees: tasks, mappings, open files, pipes. Reclaimable slab (dentries, inodes) is not among
/// them: it goes to the parent when the cgroup goes (mm/memcontrol.c, memcg_reparent_objcgs).
const KERNEL: [&[u8]; 5] = [b"kernel_stack ", b"pagetables ", b"sec_pagetables ", b"sock ", b"slab_unreclaimable "];

impl Charges {
    /// Takes what a memory.stat has, beside the cgroup's memory.swap.current.
    pub fn parse(stat: &[u8], swapped_bytes: u64) -> Charges {
        let (anon_bytes, swap_bytes) = proc::anonymous(stat, swapped_bytes);
        let kernel_bytes = KERNEL.iter().filter_map(|key| value(stat, key)).fold(0, u64::saturating_add);
        Charges { anon_bytes, swap_bytes, shmem_bytes: value(stat, b"shmem ").unwrap_or(0), kernel_bytes }
    }

    /// What no process has for itself alone.
    pub fn common_bytes(&self) -> u64 {
        self.shmem_bytes.saturating_add(self.kernel_bytes)
    }

    /// All of it.
    pub fn taken_bytes(&self) -> u64 {
        self.anon_bytes.saturating_add(self.swap_bytes).saturating_add(self.common_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a program with 10,158 MiB of `MAP_SHARED` memory (Linux 6.12, shortened).
    const SHARING: &[u8] = b"anon 0\nfile 10651451392\nkernel 22020096\nkernel_stack 16384\npagetables 20922368\n\
sec_pagetables 0\npercpu 0\nsock 4096\nvmalloc 0\nshmem 10651451392\nzswap 0\nslab_reclaimable 900000\nslab_unreclaimable 100000\n";

    #[test]
    fn shared_memory_and_the_kernels_own_are_told_apart() {
        let charges = Charges::parse(SHARING, 4096);
        assert_eq!((charges.anon_bytes, charges.swap_bytes, charges.shmem_bytes), (0, 4096, 10_651_451_392));
        assert_eq!(charges.kernel_bytes, 16_384 + 20_922_368 + 4096 + 100_000);
        assert_eq!(charges.taken_bytes(), 4096 + 10_651_451_392 + 21_042_848);
        assert_eq!(Charges::parse(b"", 0), Charges::default());
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! QEMU's `virt`, for all machines of ARM.

use std::ffi::OsString;
use std::path::Path;

use super::{list_item, Args, Console, Machine};
use crate::platform::Platform;

const BOARD: &str = "virt,gic-version=2";

impl Machine {
    /// The same of QEMU's `virt`. Events go by semihosting, which is synchronous as a PC's ports are.
    pub(super) fn arm_args(&self, cpus: u32) -> Vec<OsString> {
        let mut args = Args::default();
        args.arm_board(self, BOARD, cpus);
        args.list(&["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
        match self.exact {
            // The lock of rr=record as on a PC.
            true => args.list(&[
                "-accel",
                "tcg,thread=single",
                "-icount",
                "shift=0,sleep=off,rr=record,rrfile=/dev/null",
                "-rtc",
                "base=2026-01-01,clock=vm",
            ]),
            false => args.pair("-accel", if self.by_turns { "tcg,thread=single" } else { "tcg,thread=multi" }),
        }
        args.path("-kernel", &self.kernel);
        if let Some(device_tree) = &self.device_tree {
            args.path("-dtb", device_tree);
        }
        if let Some(initrd) = &self.initrd {
            args.path("-initrd", initrd);
        }
        args.pair("-append", self.kernel_command_line());
        args.disks(&self.disks);
        match &self.console {
            Console::File(path) => {
                args.pair("-chardev", format!("file,id=console,path={}", list_item(path)));
                args.pair("-serial", "chardev:console");
                args.pair("-chardev", "stdio,id=events,signal=off");
                args.pair("-semihosting-config", "enable=on,target=native,userspace=on,chardev=events");
            }
            Console::Terminal => {
                args.pair("-serial", "mon:stdio");
                args.pair("-semihosting-config", "enable=on,target=native,userspace=on");
            }
        }
        args.0
    }

    /// Arguments that have QEMU write the device tree of such a machine and end.
    pub(crate) fn device_tree_args(&self, to: &Path) -> Vec<OsString> {
        let mut args = Args::default();
        let cpus = if self.exact { self.exact_cpus } else { self.cpus }.max(1);
        args.arm_board(self, &format!("{BOARD},dumpdtb={}", list_item(to)), cpus);
        args.0
    }
}

impl Args {
    /// What the device tree is of.
    fn arm_board(&mut self, machine: &Machine, board: &str, cpus: u32) {
        self.pair("-machine", board);
        // Without an instruction for random numbers. The A76 has pages of 16 KiB, which QEMU's earlier ones have not.
        self.pair("-cpu", if machine.platform == Platform::VirtArmhf { "cortex-a15" } else { "cortex-a76" });
        self.pair("-smp", cpus.to_string());
        let memory_mib = machine.memory_bytes.div_ceil(1 << 20);
        self.pair("-m", format!("size={memory_mib}M"));
        self.nodes(machine.nodes, memory_mib);
    }
}

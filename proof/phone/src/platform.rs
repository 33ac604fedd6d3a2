// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Kinds of machines that a phone can be: CPU, page size, and what emulates and builds for them.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// A kind of machine. Those of ARM are QEMU's `virt` with Debian's stock kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Platform {
    /// A PC's CPU, 4 KiB pages. Published figures are of this one.
    #[default]
    X86_64,
    /// arm64, 4 KiB pages.
    VirtArm64,
    /// arm64, 16 KiB pages.
    VirtArm64Pages16K,
    /// 32 bits (Armv7 with large physical addresses), 4 KiB pages.
    VirtArmhf,
}

use Platform::{VirtArm64, VirtArm64Pages16K, VirtArmhf, X86_64};

/// What a CPU's programs and packages are called.
struct Cpu {
    debian: &'static str,
    /// As Debian names its cross compilers; rustc puts the vendor in between.
    gnu: &'static str,
    rust: &'static str,
    qemu: &'static str,
    qemu_package: &'static str,
    elf: u16,
    /// The kernel's `ARCH=`.
    kernel: &'static str,
}

const X86: Cpu = Cpu {
    debian: "amd64",
    gnu: "x86_64-linux-gnu",
    rust: "x86_64-unknown-linux-gnu",
    qemu: "qemu-system-x86_64",
    qemu_package: "qemu-system-x86",
    elf: object::elf::EM_X86_64,
    kernel: "x86",
};
const ARM64: Cpu = Cpu {
    debian: "arm64",
    gnu: "aarch64-linux-gnu",
    rust: "aarch64-unknown-linux-gnu",
    qemu: "qemu-system-aarch64",
    qemu_package: "qemu-system-arm",
    elf: object::elf::EM_AARCH64,
    kernel: "arm64",
};
const ARMHF: Cpu = Cpu {
    debian: "armhf",
    gnu: "arm-linux-gnueabihf",
    rust: "armv7-unknown-linux-gnueabihf",
    qemu: "qemu-system-arm",
    qemu_package: "qemu-system-arm",
    elf: object::elf::EM_ARM,
    kernel: "arm",
};

impl Platform {
    /// All there are.
    pub const ALL: [Platform; 4] = [X86_64, VirtArm64, VirtArm64Pages16K, VirtArmhf];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            X86_64 => "x86-64",
            VirtArm64 => "virt-arm64",
            VirtArm64Pages16K => "virt-arm64-16k",
            VirtArmhf => "virt-armhf",
        }
    }

    fn cpu(self) -> &'static Cpu {
        match self {
            X86_64 => &X86,
            VirtArm64 | VirtArm64Pages16K => &ARM64,
            VirtArmhf => &ARMHF,
        }
    }

    /// Debian's name of the architecture.
    pub fn debian(self) -> &'static str {
        self.cpu().debian
    }

    /// A package's name as apt takes it for this machine.
    pub(crate) fn package(self, name: &str) -> String {
        match self {
            X86_64 => name.to_owned(),
            _ => format!("{name}:{}", self.debian()),
        }
    }

    /// Rust's target for the guest's programs.
    pub fn rust_target(self) -> &'static str {
        self.cpu().rust
    }

    /// The prefix of the cross compiler, without the last dash; none where the host's own compiler is for it.
    pub(crate) fn cross_compiler(self) -> Option<&'static str> {
        (self.cpu().debian != host()).then_some(self.cpu().gnu)
    }

    /// The kernel's name of the architecture.
    pub(crate) fn kernel_arch(self) -> &'static str {
        self.cpu().kernel
    }

    /// `e_machine` of its programs.
    pub(crate) fn elf_machine(self) -> u16 {
        self.cpu().elf
    }

    /// The emulator.
    pub(crate) fn qemu(self) -> &'static str {
        self.cpu().qemu
    }

    /// How to get the emulator.
    pub(crate) fn qemu_mend(self) -> String {
        format!("apt-get install {}", self.cpu().qemu_package)
    }

    /// Whether it is QEMU's `virt`.
    pub fn is_arm(self) -> bool {
        self != X86_64
    }

    /// The serial console's device.
    pub(crate) fn console(self) -> &'static str {
        if self.is_arm() {
            "ttyAMA0"
        } else {
            "ttyS0"
        }
    }
}

/// Debian's name of the host's architecture.
fn host() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "arm" => "armhf",
        other => other,
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Platform {
    type Err = Error;

    fn from_str(name: &str) -> Result<Platform, Error> {
        Platform::ALL.into_iter().find(|platform| platform.name() == name).ok_or_else(|| {
            let names = Platform::ALL.map(Platform::name).join(", ");
            Error::bad(name, format!("is no machine of the virtual phone; name one of {names}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_is_found_by_its_name() {
        for platform in Platform::ALL {
            assert_eq!(platform.name().parse::<Platform>().unwrap(), platform);
        }
        assert!("virt-mips".parse::<Platform>().unwrap_err().to_string().contains("virt-arm64-16k"));
    }
}

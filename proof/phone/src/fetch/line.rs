// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Lines of Debian's kernels, and where the packages of each come from.

use std::path::Path;

use crate::apt::{Apt, Origin};
use crate::error::Result;
use crate::platform::Platform;

/// A line of Debian's kernels; the newest of it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// What the phone boots: Debian 13's, and Debian 12's backport.
    Linux6_12,
    /// The oldest that our modules are for: Debian 12's.
    Linux6_1,
    /// The one of PCs, which has drivers and file systems (f2fs) that the cloud's is built without.
    Linux6_12Pc,
    /// The newest there is: that of Debian 13's backports.
    Newest,
    /// For virtual machines of arm64.
    Arm64,
    /// For arm64 with 16 KiB pages; Debian has it for all machines only.
    Arm64Pages16K,
    /// For 32 bits, with large physical addresses.
    Armhf,
}

/// How the release of a kernel ends whose package nobody signs, and so has no "-unsigned" in its name.
pub(super) const NEVER_SIGNED: &str = "-armmp-lpae";

/// The Debian that [`Line::Newest`] is of.
const NEWEST_CODENAME: &str = "trixie";

impl Line {
    /// The line that a kind of machine boots.
    pub fn of(platform: Platform) -> Line {
        match platform {
            Platform::X86_64 => Line::Linux6_12,
            Platform::VirtArm64 => Line::Arm64,
            Platform::VirtArm64Pages16K => Line::Arm64Pages16K,
            Platform::VirtArmhf => Line::Armhf,
        }
    }

    /// The kind of machine that it is for.
    pub fn platform(self) -> Platform {
        match self {
            Line::Arm64 => Platform::VirtArm64,
            Line::Arm64Pages16K => Platform::VirtArm64Pages16K,
            Line::Armhf => Platform::VirtArmhf,
            _ => Platform::X86_64,
        }
    }

    /// Where its kernels are below the cache.
    pub(super) fn folder(self) -> &'static str {
        match self {
            Line::Linux6_12 => "kernel",
            Line::Linux6_1 => "kernel-6.1",
            Line::Linux6_12Pc => "kernel-pc",
            Line::Newest => "kernel-newest",
            Line::Arm64 => "kernel-arm64",
            Line::Arm64Pages16K => "kernel-arm64-16k",
            Line::Armhf => "kernel-armhf",
        }
    }

    pub(super) fn image_pattern(self) -> &'static str {
        match self {
            Line::Linux6_12 => r"^linux-image-6\.12\.[0-9].*-cloud-amd64-unsigned$",
            Line::Linux6_1 => r"^linux-image-6\.1\.0-[0-9]*-cloud-amd64-unsigned$",
            Line::Linux6_12Pc => r"^linux-image-6\.12\.[0-9]*\+deb[0-9]*-amd64-unsigned$",
            Line::Arm64 => r"^linux-image-6\.12\.[0-9]*\+deb[0-9]*-cloud-arm64-unsigned$",
            Line::Arm64Pages16K => r"^linux-image-6\.12\.[0-9]*\+deb[0-9]*-arm64-16k-unsigned$",
            Line::Armhf => r"^linux-image-6\.12\.[0-9]*\+deb[0-9]*-armmp-lpae$",
            Line::Newest => r"^linux-binary-unsigned-[0-9.]*\+deb[0-9]*-cloud-amd64$",
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Line::Linux6_12 => "Linux 6.12 for cloud-amd64",
            Line::Linux6_1 => "Linux 6.1 for cloud-amd64",
            Line::Linux6_12Pc => "Linux 6.12 for amd64",
            Line::Arm64 => "Linux 6.12 for cloud-arm64",
            Line::Arm64Pages16K => "Linux 6.12 for arm64-16k",
            Line::Armhf => "Linux 6.12 for armmp-lpae",
            Line::Newest => "Linux of Debian 13's backports for cloud-amd64",
        }
    }

    /// Where packages come from: those of 6.1 from Debian 12, whatever the host is.
    fn origin(self) -> Result<Origin> {
        let host = Origin::of_host()?;
        match self {
            Line::Linux6_12 | Line::Linux6_12Pc | Line::Arm64 | Line::Arm64Pages16K | Line::Armhf => Ok(host),
            Line::Linux6_1 => Ok(Origin { codename: "bookworm".into(), ..host }),
            Line::Newest => Ok(Origin { codename: NEWEST_CODENAME.into(), ..host }),
        }
    }

    pub(super) fn apt(self, dir: &Path) -> Result<Apt> {
        let origin = self.origin()?;
        match self {
            Line::Newest => {
                let backports = format!("{NEWEST_CODENAME}-backports");
                Apt::of_suites(dir, &origin.mirror, vec![origin.codename, backports], self.platform())
            }
            _ => Apt::new(dir, &origin, self.platform()),
        }
    }
}

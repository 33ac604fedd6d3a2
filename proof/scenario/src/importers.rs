// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Devices that import buffers, and what translates the addresses that they use.

use serde::{Deserialize, Serialize};

/// What a video decoder and a display stand behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Importers {
    /// Intel's IOMMU, which forgets an address when it is given back.
    Strict,
    /// The same, which forgets it up to 10 ms later.
    Lazy,
    /// The IOMMU of virtual machines, strict.
    Virtio,
}

impl Importers {
    /// All of them.
    pub const ALL: [Importers; 3] = [Importers::Strict, Importers::Lazy, Importers::Virtio];

    /// PCI slots of decoder and display.
    pub const SLOTS: [u32; 2] = [4, 5];

    /// Its part of a case's name.
    pub fn name(self) -> &'static str {
        match self {
            Importers::Strict => "strict",
            Importers::Lazy => "lazy",
            Importers::Virtio => "virtio",
        }
    }

    /// What the kernel has to be told.
    pub fn kernel_args(self) -> &'static [&'static str] {
        match self {
            Importers::Strict => &["intel_iommu=on", "iommu.strict=1"],
            Importers::Lazy => &["intel_iommu=on", "iommu.strict=0"],
            Importers::Virtio => &["iommu.strict=1"],
        }
    }
}

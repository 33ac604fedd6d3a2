// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Devices that a phone has beside the usual ones.

use fovea_scenario::Importers;

/// What translates the addresses that devices use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Iommu {
    /// Nothing: they are those of memory.
    #[default]
    Absent,
    /// Intel's; the kernel has to be told `intel_iommu=on`.
    Intel,
    /// The one for virtual machines, whose driver is a module.
    Virtio,
}

/// PCI devices and their IOMMU. With any the machine is `q35` in exact mode, too: instructions are counted there as well, but a boot takes
/// longer, and what a device does in its own time need not be the same twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hardware {
    /// Translates.
    pub iommu: Iommu,
    /// What QEMU's `-device` says of each.
    pub devices: Vec<String>,
    /// What QEMU's `-blockdev` says of each disk that one of them has.
    pub block_devices: Vec<String>,
}

impl Hardware {
    /// Devices that import buffers.
    pub fn importers(behind: Importers) -> Hardware {
        Hardware {
            iommu: match behind {
                Importers::Strict | Importers::Lazy => Iommu::Intel,
                Importers::Virtio => Iommu::Virtio,
            },
            devices: Importers::SLOTS.map(|slot| format!("edu,addr={slot},dma_mask=0xffffffff")).to_vec(),
            block_devices: Vec::new(),
        }
    }

    /// Whether there is any.
    pub fn is_none(&self) -> bool {
        *self == Hardware::default()
    }

    /// QEMU's machine with room for it.
    pub(crate) fn machine(&self) -> &'static str {
        match self.iommu {
            // It wants interrupts from where it can see them.
            Iommu::Intel => "q35,kernel-irqchip=off",
            _ => "q35",
        }
    }

    /// Arguments of `-device`, in an order in which each finds what it needs.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &str> {
        let iommu = match self.iommu {
            Iommu::Absent => None,
            Iommu::Intel => Some("intel-iommu,intremap=off"),
            Iommu::Virtio => Some("virtio-iommu-pci"),
        };
        iommu.into_iter().chain(self.devices.iter().map(String::as_str))
    }
}

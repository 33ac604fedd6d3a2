// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Settings of the kernel and of modules, and compressed swap.

use std::io;
use std::path::{Component, Path, PathBuf};

use super::System;
use crate::device_traits::{Settings, Swap};
use crate::file::write_named;
use crate::{swap_storage, zram, Error, StorageSwap, ZramDevice, ZramWish};

impl System {
    /// The file of a setting; names that lead elsewhere are refused.
    fn sysctl_path(&self, name: &str) -> Result<PathBuf, Error> {
        let plain = !name.is_empty() && Path::new(name).components().all(|c| matches!(c, Component::Normal(_)));
        plain.then(|| self.root.join("proc/sys").join(name)).ok_or_else(|| Error::Refused {
            what: format!("setting {name:?}"),
            mend: "name it by its path below /proc/sys (vm/page-cluster)".into(),
        })
    }

    fn parameter_path(&self, module: &str, name: &str) -> Result<PathBuf, Error> {
        let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('/');
        match plain(module) && plain(name) {
            true => Ok(self.root.join(format!("sys/module/{module}/parameters/{name}"))),
            false => Err(Error::Refused {
                what: format!("parameter {name:?} of module {module:?}"),
                mend: "name both as they stand in /sys/module".into(),
            }),
        }
    }
}

fn read_setting(path: &Path) -> Result<String, Error> {
    let text = crate::file::read(path)?;
    Ok(String::from_utf8_lossy(text.trim_ascii()).into_owned())
}

impl Settings for System {
    fn sysctl(&mut self, name: &str) -> Result<String, Error> {
        read_setting(&self.sysctl_path(name)?)
    }

    fn set_sysctl(&mut self, name: &str, value: &str) -> Result<(), Error> {
        if !self.acts {
            return Ok(());
        }
        write_named(&self.sysctl_path(name)?, value)
    }

    fn parameter(&mut self, module: &str, name: &str) -> Result<String, Error> {
        read_setting(&self.parameter_path(module, name)?)
    }

    fn set_parameter(&mut self, module: &str, name: &str, value: &str) -> Result<(), Error> {
        if !self.acts {
            return Ok(());
        }
        write_named(&self.parameter_path(module, name)?, value)
    }
}

impl Swap for System {
    fn storage_swap(&mut self) -> StorageSwap {
        swap_storage::find(&self.root)
    }

    fn zram_setup(
        &mut self,
        wish: &ZramWish,
        claimed: &mut dyn FnMut(&ZramDevice) -> io::Result<()>,
    ) -> Result<ZramDevice, Error> {
        if !self.acts {
            let algorithm = wish.algorithm.clone().unwrap_or_default();
            return Ok(ZramDevice { number: 0, algorithm, loaded_module: false, hot_added: false });
        }
        self.memory.forget_swaps();
        zram::setup(&self.root, wish, claimed)
    }

    fn zram_teardown(&mut self, zram: &ZramDevice) -> Result<(), Error> {
        if !self.acts {
            return Ok(());
        }
        // Its open files would keep the module from being unloaded.
        self.memory.forget_swaps();
        zram::teardown(&self.root, zram)
    }
}

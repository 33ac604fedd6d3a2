// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The fake's swap.

use std::io;

use fovea_apps::ZramReading;
use fovea_linux::device_traits::Swap;
use fovea_linux::{Error, StorageSwap, ZramDevice, ZramWish};

use super::FakeDevice;

/// The one algorithm that its zram has not, and the one that it takes by itself.
pub const UNKNOWN_ALGORITHM: &str = "rot13";
pub const OWN_ALGORITHM: &str = "lzo-rle";

impl Swap for FakeDevice {
    fn storage_swap(&mut self) -> StorageSwap {
        self.0.borrow().storage_swap
    }

    fn zram_setup(
        &mut self,
        wish: &ZramWish,
        claimed: &mut dyn FnMut(&ZramDevice) -> io::Result<()>,
    ) -> Result<ZramDevice, Error> {
        self.check("zram_setup")?;
        let algorithm = wish.algorithm.clone().unwrap_or_else(|| OWN_ALGORITHM.into());
        if algorithm == UNKNOWN_ALGORITHM {
            return Err(Error::Refused { what: "zram algorithm".into(), mend: "this kernel has others".into() });
        }
        let zram = ZramDevice { number: 0, algorithm, loaded_module: true, hot_added: true };
        claimed(&zram).map_err(|source| Error::Call { call: "claim", what: "zram0".into(), source })?;
        self.check("swapon")?;
        let mut state = self.0.borrow_mut();
        state.memory.swap_total_bytes += wish.disk_bytes;
        state.memory.swap_free_bytes += wish.disk_bytes;
        state.memory.zram =
            Some(ZramReading { disk_bytes: wish.disk_bytes, limit_bytes: wish.limit_bytes, ..Default::default() });
        Ok(zram)
    }

    fn zram_teardown(&mut self, _: &ZramDevice) -> Result<(), Error> {
        let mut state = self.0.borrow_mut();
        state.memory.zram = None;
        (state.memory.swap_total_bytes, state.memory.swap_free_bytes) = (0, 0);
        Ok(())
    }
}

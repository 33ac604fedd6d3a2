// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which sound servers play or record over Bluetooth, where ALSA has no stream. A server takes a channel from BlueZ while sound goes through it,
//! and gives it back some seconds after: so it has a Bluetooth socket (of A2DP or of a call) as long as somebody may be heard.

use std::collections::BTreeSet;

use fovea_apps::is_media_server;

use crate::file::{read_into, Root};
use crate::open_files::{processes, sockets};
use crate::Error;

/// The kernel's lists of sockets (net/bluetooth/af_bluetooth.c): a title, then a line each, with the number in the sixth column.
const LISTS: [&str; 2] = ["proc/net/l2cap", "proc/net/sco"];
const NUMBER_COLUMN: usize = 5;

/// The servers; nobody is looked for while there is no Bluetooth socket at all. `devices` is where the lists are.
pub(super) fn servers(root: &Root, devices: &Root, text: &mut Vec<u8>) -> Result<Vec<u32>, Error> {
    let mut numbers = BTreeSet::new();
    for list in LISTS {
        // A machine without Bluetooth has none.
        if read_into(&devices.join(list), text).is_ok() {
            numbers.extend(parse(text));
        }
    }
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let mut is_server = |pid: u32| {
        let named = read_into(&root.join(format!("proc/{pid}/comm")), text).is_ok();
        named && std::str::from_utf8(text.trim_ascii()).is_ok_and(is_media_server)
    };
    let has_one = |pid: u32| sockets(root, pid).is_ok_and(|mut sockets| sockets.any(|own| numbers.contains(&own)));
    Ok(processes(root)?.filter(|&pid| is_server(pid) && has_one(pid)).collect())
}

fn parse(text: &[u8]) -> impl Iterator<Item = u32> + '_ {
    let lines = text.split(|&byte| byte == b'\n').skip(1);
    lines.filter_map(|line| {
        let column = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).nth(NUMBER_COLUMN)?;
        // 0: nobody has it open any more, or it waits to be accepted.
        std::str::from_utf8(column).ok()?.parse().ok().filter(|&number| number > 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_from_the_kernels_list() {
        let text = b"sk               RefCnt Rmem   Wmem   User   Inode  Parent\n\
            0000000012345678 2      0      0      1000   45678  0\n\
            0000000012345679 2      0      0      0      0      123\nshort 1 2\n";
        assert_eq!(parse(text).collect::<Vec<_>>(), [45678]);
        assert_eq!(parse(b"").count(), 0);
    }
}

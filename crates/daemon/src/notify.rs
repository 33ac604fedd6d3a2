// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Telling systemd that the daemon is ready, and that it is alive (sd_notify(3)).

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Whoever started us, if he listens.
#[derive(Debug)]
pub struct Notify {
    address: Option<SocketAddr>,
    /// Half of the time after which silence counts as death.
    pub period_ns: Option<u64>,
}

impl Notify {
    /// By the environment that systemd gives. The watchdog is for the main process, which is our supervisor: it is the worker that may hang,
    /// so `WATCHDOG_PID` is not looked at.
    pub fn from_environment() -> Self {
        let said = |name: &str| std::env::var(name).ok();
        Self::new(said("NOTIFY_SOCKET").as_deref(), said("WATCHDOG_USEC").as_deref())
    }

    fn new(socket: Option<&str>, watchdog_us: Option<&str>) -> Self {
        let address = socket.and_then(|socket| match socket.strip_prefix('@') {
            Some(name) => SocketAddr::from_abstract_name(name).ok(),
            None => SocketAddr::from_pathname(socket).ok(),
        });
        let half = |us: u64| us.checked_mul(500).filter(|&ns| ns > 0);
        let period_ns = watchdog_us.and_then(|us| us.parse().ok()).and_then(half).filter(|_| address.is_some());
        Self { address, period_ns }
    }

    /// The device is set up, and requests are answered.
    pub fn ready(&self) {
        self.tell("READY=1");
    }

    /// The loop has turned.
    pub fn alive(&self) {
        if self.period_ns.is_some() {
            self.tell("WATCHDOG=1");
        }
    }

    fn tell(&self, what: &str) {
        let Some(address) = &self.address else { return };
        let told = UnixDatagram::unbound().and_then(|socket| {
            socket.set_nonblocking(true)?;
            socket.send_to_addr(what.as_bytes(), address)
        });
        if let Err(e) = told {
            say!("fovea: telling systemd {what}: {e}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systemd_is_told_what_it_asks_for_and_nobody_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let listener = UnixDatagram::bind(&path).unwrap();
        let heard = || {
            let mut buffer = [0; 64];
            let length = listener.recv(&mut buffer).unwrap();
            String::from_utf8(buffer[..length].to_vec()).unwrap()
        };
        let notify = Notify::new(path.to_str(), Some("120000000"));
        assert_eq!(notify.period_ns, Some(60_000_000_000));
        notify.ready();
        assert_eq!(heard(), "READY=1");
        notify.alive();
        assert_eq!(heard(), "WATCHDOG=1");
        let without = Notify::new(path.to_str(), None);
        without.alive();
        without.ready();
        assert_eq!(heard(), "READY=1", "no watchdog, no word");
        for (socket, us) in [(None, Some("5")), (Some(""), Some("x")), (path.to_str(), Some("0"))] {
            assert_eq!(Notify::new(socket, us).period_ns, None);
        }
        Notify::new(None, None).ready();
    }
}

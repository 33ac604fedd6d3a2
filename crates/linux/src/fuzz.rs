// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What reads the kernel's and other people's bytes, for fuzzing.

/// An answer of sock_diag, of every family.
pub fn sock_diag(bytes: &[u8]) {
    let _ = crate::sock_diag::fuzz(bytes, &mut |message| {
        crate::media::fuzz(message);
        crate::net::fuzz(message);
    });
}

/// A page of a trace's ring buffer.
pub fn trace(bytes: &[u8]) {
    crate::trace::fuzz(bytes);
}

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
#[test]
fn seeds_and_what_is_made_of_them_are_read_without_a_panic() {
    replay::play(&[(sock_diag, "sock_diag"), (trace, "trace")]);
}

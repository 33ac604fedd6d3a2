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
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;

    #[test]
    fn the_seeds_and_all_their_beginnings_are_read() {
        for (target, name) in [(sock_diag as fn(&[u8]), "sock_diag"), (trace, "trace")] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(name);
            let seeds: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().collect();
            assert!(!seeds.is_empty());
            for seed in seeds {
                let bytes = std::fs::read(seed.path()).unwrap();
                (0..=bytes.len()).for_each(|length| target(&bytes[..length]));
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_them_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            sock_diag(&bytes);
            trace(&bytes);
        }
    }
}

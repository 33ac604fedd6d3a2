// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the viewer of a stream sees.

use fovea_scenario::Traffic;

/// For how long the picture stands still until the stream's end. The player begins when it has a buffer; a frame that is not there when it is due
/// stops the film until it is, and what follows is shown as much later.
pub fn degraded_ns(arrivals: &[u64], traffic: &Traffic) -> u64 {
    let buffered = (traffic.buffer_ns / traffic.frame_ns()).max(1) as usize;
    let Some(&begin_ns) = arrivals.get(buffered - 1) else {
        // It never began; that it should have is taken from the sender's pace.
        return traffic.stream_ns.saturating_sub(traffic.buffer_ns);
    };
    let (mut due_ns, mut degraded_ns) = (begin_ns, 0);
    for &arrived_ns in arrivals {
        if arrived_ns > due_ns {
            degraded_ns += arrived_ns - due_ns;
            due_ns = arrived_ns;
        }
        due_ns += traffic.frame_ns();
    }
    if (arrivals.len() as u64) < traffic.frames() {
        degraded_ns += traffic.stream_ns.saturating_sub(due_ns);
    }
    degraded_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn traffic() -> Traffic {
        Traffic { stream_ns: 4_000 * MS, buffer_ns: 400 * MS, ..Traffic::default() }
    }

    fn arriving(late: impl Fn(u64) -> u64) -> Vec<u64> {
        (0..traffic().frames()).map(|nth| nth * 40 * MS + late(nth)).collect()
    }

    #[test]
    fn a_steady_stream_is_never_degraded_and_a_buffer_hides_what_fits_in_it() {
        assert_eq!(degraded_ns(&arriving(|_| 30 * MS), &traffic()), 0);
        assert_eq!(degraded_ns(&arriving(|nth| if nth > 50 { 360 * MS } else { 0 }), &traffic()), 0);
    }

    #[test]
    fn the_picture_stands_still_for_what_the_buffer_does_not_hide() {
        // Ten frames are buffered when it begins, the tenth of which is there by then: 360 ms are hidden.
        assert_eq!(degraded_ns(&arriving(|nth| if nth > 50 { 1_360 * MS } else { 0 }), &traffic()), 1_000 * MS);
        // It ends at 2 s; of 4 s the last frame shown is at 2.36 s.
        let arrivals = arriving(|_| 0);
        assert_eq!(degraded_ns(&arrivals[..50], &traffic()), (4_000 - 2_360) * MS);
        assert_eq!(degraded_ns(&[], &traffic()), 3_600 * MS);
    }
}

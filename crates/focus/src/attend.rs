// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Keeps at a source: connects again when it comes back, with one line when it goes and one when it is back.

use std::time::{Duration, Instant};

use crate::{Event, Mailbox, Source, SourceError};

/// Waits that grow: the first is short, for most things come back at once.
#[derive(Debug)]
pub struct Backoff {
    next: Duration,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(250);
    const LONGEST: Duration = Duration::from_secs(15);

    /// Begins with the shortest wait.
    pub fn new() -> Self {
        Self { next: Self::FIRST }
    }

    /// How long to wait now; each time twice as long, up to 15 s.
    pub fn step(&mut self) -> Duration {
        let now = self.next;
        self.next = (now * 2).min(Self::LONGEST);
        now
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::new()
    }
}

/// Attends to a source for as long as it makes sense, reporting to a mailbox; comes back when the source is not there at the first
/// attempt and is not to be waited for (`wait`). `wanted` says which events count. `say` gets a line for people; `pause` waits.
pub fn attend(
    source: &mut dyn Source,
    wait: bool,
    wanted: impl Fn(&Event) -> bool,
    mailbox: &Mailbox,
    say: &mut dyn FnMut(&str),
    pause: &mut dyn FnMut(Duration),
) -> SourceError {
    let mut backoff = Backoff::new();
    let mut was_there = false;
    let mut complained = false;
    loop {
        let mut heard_at = None;
        let error = source.watch(&mut |event| {
            if heard_at.is_none() {
                heard_at = Some(Instant::now());
                if complained {
                    complained = false;
                    say("there again");
                }
            }
            if wanted(&event) {
                mailbox.put(event);
            }
        });
        if let Some(heard_at) = heard_at {
            was_there = true;
            mailbox.source_lost();
            // One that comes and goes is not asked ever faster.
            if heard_at.elapsed() > Backoff::LONGEST {
                backoff = Backoff::new();
            }
        } else if !was_there && !wait {
            return error;
        }
        if !complained {
            complained = true;
            say(&format!("{error}; waiting for it"));
        }
        pause(backoff.step());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays a script: what it reports in each life, and how that ends.
    struct Script(Vec<(Vec<Event>, SourceError)>);

    impl Source for Script {
        fn watch(&mut self, report: &mut dyn FnMut(Event)) -> SourceError {
            let (events, error) = self.0.remove(0);
            events.into_iter().for_each(report);
            error
        }
    }

    fn front() -> Event {
        Event::Windows(crate::Windows::new(Some(7), []))
    }

    fn absent() -> SourceError {
        SourceError::Absent("none here".into())
    }

    fn lost() -> SourceError {
        SourceError::Lost("it went".into())
    }

    /// Runs a script until its last life is over; returns what was said and the waits.
    fn play(script: Vec<(Vec<Event>, SourceError)>, wait: bool) -> (Vec<String>, Vec<u64>, Mailbox) {
        let mailbox = Mailbox::new().unwrap();
        let lives = script.len();
        let (mut said, mut waits) = (Vec::new(), Vec::new());
        let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            attend(&mut Script(script), wait, |_| true, &mailbox, &mut |line| said.push(line.to_owned()), &mut |time| {
                waits.push(time.as_millis() as u64);
                if waits.len() == lives {
                    std::panic::resume_unwind(Box::new("end of script"));
                }
            })
        }));
        if let Ok(error) = played {
            said.push(format!("ended: {error}"));
        }
        (said, waits, mailbox)
    }

    #[test]
    fn a_source_that_is_not_there_ends_it_at_once() {
        let (said, waits, mailbox) = play(vec![(vec![], absent()), (vec![front()], lost())], false);
        assert_eq!((said, waits), (vec!["ended: none here".to_owned()], vec![]));
        assert_eq!(mailbox.take().windows, None);
    }

    #[test]
    fn a_source_that_was_there_is_waited_for_with_one_line() {
        let lives = vec![(vec![front()], lost()), (vec![], absent()), (vec![], absent()), (vec![front()], lost())];
        let (said, waits, mailbox) = play(lives, false);
        assert_eq!(said, ["it went; waiting for it", "there again", "it went; waiting for it"]);
        assert_eq!(waits, [250, 500, 1000, 2000]);
        assert_eq!(mailbox.take().windows, None, "nobody knows");
    }

    #[test]
    fn told_to_wait_it_waits_from_the_beginning() {
        let (said, _, mailbox) = play(vec![(vec![], absent()), (vec![], absent())], true);
        assert_eq!(said, ["none here; waiting for it"]);
        assert_eq!(mailbox.take(), crate::Wanted::default());
    }

    #[test]
    fn waits_grow_to_a_bound() {
        let mut backoff = Backoff::new();
        let waits: Vec<_> = (0..12).map(|_| backoff.step()).collect();
        assert!(waits.windows(2).all(|w| w[0] <= w[1]) && waits[0] < waits[1]);
        assert_eq!(waits[11], Duration::from_secs(15));
    }
}

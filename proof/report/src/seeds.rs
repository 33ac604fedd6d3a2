// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The seeds that a document's figures are means over.

use serde::{Deserialize, Serialize};

use crate::document::Document;

/// Seeds that figures are means over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum SeedList {
    /// Each of them.
    Named(Vec<u64>),
    /// So many, one after the other from the document's on: what `lab reproduce` wrote before it named them.
    Counted(u32),
}

/// So many in a row are told by the first and the last.
const LISTED: usize = 3;

impl SeedList {
    /// Of several seeds; a document's own is enough for one.
    pub fn of(seeds: &[u64]) -> Option<Self> {
        (seeds.len() > 1).then(|| SeedList::Named(seeds.to_vec()))
    }

    fn count(&self) -> usize {
        match self {
            SeedList::Named(seeds) => seeds.len(),
            SeedList::Counted(count) => *count as usize,
        }
    }
}

/// "21, 22 and 23".
fn listed(seeds: &[u64]) -> String {
    let words: Vec<String> = seeds.iter().map(u64::to_string).collect();
    match &words[..] {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => words.concat(),
    }
}

impl Document {
    /// How many seeds its figures are means over; 1 if they are no means.
    pub fn seed_count(&self) -> u32 {
        self.seeds.as_ref().map_or(1, SeedList::count).max(1).try_into().unwrap_or(u32::MAX)
    }

    /// Its seeds: "3", "21, 22 and 23", "1 to 5".
    pub fn seed_numbers(&self) -> String {
        let range = |first: u64, count: usize| format!("{first} to {}", first.wrapping_add(count as u64 - 1));
        let in_a_row = |seeds: &[u64]| seeds.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
        match &self.seeds {
            Some(SeedList::Counted(count @ 2..)) => range(self.seed, *count as usize),
            Some(SeedList::Named(seeds)) if seeds.len() > LISTED && in_a_row(seeds) => range(seeds[0], seeds.len()),
            Some(SeedList::Named(seeds)) if !seeds.is_empty() => listed(seeds),
            _ => self.seed.to_string(),
        }
    }

    /// What the command line says of them: "seed=3", "seeds=21,22,23".
    pub fn seed_parameter(&self) -> String {
        match &self.seeds {
            Some(SeedList::Named(seeds)) if seeds.len() > 1 => {
                format!("seeds={}", seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(","))
            }
            _ => format!("seed={}", self.seed),
        }
    }

    /// What its figures were drawn with: "seed 3", "means over seeds 21, 22 and 23".
    pub fn drawn_with(&self) -> String {
        let of = if self.seed_count() > 1 { "means over seeds" } else { "seed" };
        format!("{of} {}", self.seed_numbers())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(seeds: Option<SeedList>) -> Document {
        Document { seed: 21, seeds, ..Document::default() }
    }

    #[test]
    fn seeds_are_told_in_words() {
        let of = |seeds: &[u64]| with(SeedList::of(seeds)).drawn_with();
        assert_eq!(of(&[21]), "seed 21");
        assert_eq!(of(&[21, 7]), "means over seeds 21 and 7");
        assert_eq!(of(&[21, 22, 23]), "means over seeds 21, 22 and 23");
        assert_eq!(of(&[21, 22, 23, 24]), "means over seeds 21 to 24");
        assert_eq!(of(&[21, 22, 23, 25]), "means over seeds 21, 22, 23 and 25");
        assert_eq!(with(SeedList::of(&[21, 7])).seed_parameter(), "seeds=21,7");
        assert_eq!(with(None).seed_parameter(), "seed=21");
    }

    #[test]
    fn a_count_is_read_as_well_and_is_from_the_documents_seed_on() {
        let read = |json: &str| with(Some(serde_json::from_str(json).unwrap()));
        assert_eq!((read("5").drawn_with().as_str(), read("5").seed_count()), ("means over seeds 21 to 25", 5));
        assert_eq!(read("4294967295").seed_count(), u32::MAX);
        for one in ["0", "1", "[]"] {
            assert_eq!((read(one).drawn_with().as_str(), read(one).seed_count()), ("seed 21", 1), "{one}");
        }
        assert!(serde_json::from_str::<SeedList>("\"5\"").is_err());
    }
}

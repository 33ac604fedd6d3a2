// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which series has which colour: a configuration has the same one wherever it is shown.

use super::{paper_twin, Look};
use crate::chart::{Chart, Origin};

/// Okabe and Ito's colours, told apart by colour-blind readers too; their yellow is too pale for white paper. Behind them seven that
/// are far from these and from one another to the eyes of all, as far as there is room: dash and mark tell the rest. The pages'
/// style sheet has them again, and others for the dark.
pub(super) const COLOURS: [&str; COUNT] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a7500", "#666", "#550000", "#220066",
    "#9900ee", "#994433", "#88bb66", "#aa77ff", "#331133",
];

/// The same on dark paper.
pub(super) const DARK: [&str; COUNT] = [
    "#4fa8e0", "#f0803c", "#2fc598", "#e39cc5", "#f2b53a", "#a4d8f7", "#d3c454", "#b0b0b0", "#b05050", "#7a6ff0",
    "#c05cff", "#c8775f", "#b5e29a", "#cdb3ff", "#9a6a9a",
];

/// So many colours there are.
pub(super) const COUNT: usize = 15;

/// How the line of each colour is broken, so that lines are told apart without colour, and one on top of another does not hide it.
pub(super) const DASHES: [&str; COUNT] = [
    "none", "7 3", "2 3", "9 3 2 3", "4 4", "none", "7 3", "2 3", "9 3 2 3", "4 4", "none", "7 3", "2 3", "9 3 2 3",
    "4 4",
];

/// What a device does without Fovea is vermilion, what Fovea does is green. No two of a scenario have the same.
/// Cache policies have one each.
const NAMED: [(&str, usize); 38] = [
    ("without", 1),
    ("stock", 1),
    ("normal", 1),
    ("kernel", 1),
    ("none", 1),
    ("off", 1),
    ("pfifo", 1),
    ("always", 1),
    ("default", 1),
    ("fovea", 2),
    ("ecache", 2),
    ("fovea-dm", 2),
    ("on", 2),
    ("zram", 0),
    ("earlyoom", 0),
    ("migrate", 3),
    ("systemd-oomd", 3),
    ("returned", 4),
    ("nohang", 5),
    ("oomd", 6),
    ("lru", 0),
    ("arc", 1),
    ("s3-fifo", 2),
    ("sieve", 3),
    ("2q", 4),
    ("clock", 5),
    ("lirs", 6),
    ("fifo", 7),
    ("belady", 8),
    ("slru", 9),
    ("w-tinylfu", 10),
    ("lfu-da", 11),
    ("qdlp-fifo", 12),
    ("lru-2", 13),
    ("gdsf", 14),
    // The buffer caches of two kinds of memory.
    ("seed", 2),
    ("2q-lru", 4),
    ("clock-dwf", 5),
];

/// The colour of a configuration; what stands behind a colon is a remark.
fn named(series: &str) -> Option<usize> {
    let name = series.split(':').next().unwrap_or(series);
    NAMED.iter().find(|(n, _)| *n == name).map(|(_, colour)| *colour)
}

/// Series of ours that have no colour by name get those in turn that are left, and those without points keep theirs; the paper's has that
/// of the series it is the paper's twin of, or the page's ink.
pub(super) fn looks(chart: &Chart) -> Vec<Look> {
    let ours = || chart.series.iter().filter(|s| s.origin == Origin::Ours);
    let taken: Vec<usize> = ours().filter_map(|s| named(&s.name)).collect();
    let mut free = (0..).filter(|colour| !taken.contains(&(colour % COUNT)) || taken.len() >= COUNT);
    // Two variants of a policy are told apart in one chart; the one without remark keeps the name's colour.
    let mut given = Vec::new();
    ours().filter(|s| !s.name.contains(':')).for_each(|s| given.extend(named(&s.name)));
    let mut own = |name: &str| {
        let colour = named(name).filter(|colour| !name.contains(':') || !given.contains(colour));
        given.extend(colour);
        colour
    };
    let colours: Vec<(&str, usize)> =
        ours().map(|s| (s.name.as_str(), own(&s.name).or_else(|| free.next()).unwrap_or(0))).collect();
    let mut own = colours.iter();
    let look = |origin: Origin, name: &str| match origin {
        Origin::Ours => Look { colour: own.next().map(|(_, colour)| *colour), paper: false },
        Origin::Paper => {
            let twin = colours.iter().find(|(ours, _)| paper_twin(ours) == name);
            Look { colour: twin.map(|(_, colour)| *colour), paper: true }
        }
    };
    let series = chart.series.iter().map(|s| (s.origin, s.name.as_str()));
    series
        .map({
            let mut look = look;
            move |(origin, name)| look(origin, name)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Kind;

    fn colours(names: &[&str]) -> Vec<usize> {
        let mut chart = Chart::new("", Kind::Bars, "", "");
        names.iter().for_each(|name| chart.bars(*name, Origin::Ours, [("x", 1.0)]));
        looks(&chart).iter().filter_map(|l| l.colour).collect()
    }

    #[test]
    fn a_configuration_has_the_same_colour_in_every_company() {
        assert_eq!(colours(&["stock", "zram", "fovea"]), [1, 0, 2]);
        assert_eq!(colours(&["fovea: 3 kills", "new", "other"]), [2, 0, 1]);
        assert_eq!(colours(&["a", "b"]), [0, 1]);
        // Fovea is of one colour in every scenario of the demo, and so is what it is compared with.
        for (without, with) in [("none", "fovea-dm"), ("off", "on"), ("pfifo", "fovea"), ("always", "fovea")] {
            assert_eq!(colours(&[without, "bfq", with]), [1, 0, 2]);
        }
        assert_eq!(colours(&["normal", "ecache", "returned", "migrate"]), [1, 2, 4, 3]);
    }

    #[test]
    fn more_series_than_colours_have_some_twice() {
        let names: Vec<String> = (0..20).map(|n| n.to_string()).collect();
        let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(colours(&names).len(), 20);
        names.extend(NAMED.map(|(name, _)| name));
        assert_eq!(colours(&names).len(), 20 + NAMED.len());
    }

    const POLICIES: [&str; 15] = [
        "lru",
        "arc",
        "s3-fifo",
        "sieve",
        "2q",
        "clock",
        "lirs",
        "fifo",
        "belady",
        "slru",
        "w-tinylfu",
        "lfu-da",
        "qdlp-fifo",
        "lru-2",
        "gdsf",
    ];

    #[test]
    fn policies_have_a_colour_each_and_keep_it_alone_and_together() {
        let together = colours(&POLICIES);
        let mut different = together.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), POLICIES.len());
        for (policy, colour) in POLICIES.iter().zip(together) {
            assert_eq!(colours(&[policy]), [colour], "{policy}");
        }
        let variants = colours(&["s3-fifo:fill=1", "s3-fifo", "s3-fifo:small=0.2"]);
        assert!(variants[1] == 2 && variants[0] != 2 && variants[2] != variants[0], "{variants:?}");
    }

    #[test]
    fn no_two_colours_are_alike_and_dashes_tell_neighbours_apart() {
        for colours in [COLOURS, DARK] {
            let mut different = colours.to_vec();
            different.sort_unstable();
            different.dedup();
            assert_eq!(different.len(), COUNT);
        }
        assert!(DASHES.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn the_style_sheet_has_the_same_colours() {
        let sheet = include_str!("../page/style.css");
        for (at, (colour, dark)) in COLOURS.iter().zip(DARK).enumerate() {
            // In the light, and on paper.
            assert_eq!(sheet.matches(&format!("--c{at}: {colour};")).count(), 2, "{at}");
            assert_eq!(sheet.matches(&format!("--c{at}: {dark};")).count(), 1, "{at}");
        }
    }
}

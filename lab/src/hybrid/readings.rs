// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What Hybrid15 leaves open: each thing with the ways in which its words can be read, ours first.

/// What a read-only page is (case c).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadOnly {
    /// One that this request reads: to the paper's advantage, for reads then never move a page.
    Request,
    /// One that was never written since it came in.
    Page,
}

/// What happens to a page in PCM that the background used last, when the foreground refers to it: "only the page, which is being
/// referred by the foreground application, is migrated".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnSwitch {
    /// Cases a to c: "only" forbids moving the others.
    Rules,
    /// It moves to DRAM whatever its count, but for read-only pages, for whom case c is "irrespective".
    Move,
}

/// Whose pages hold their place in DRAM (case e): "hot pages owned by background applications".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CaseE {
    /// A page that the background asks for, at that request.
    Requester,
    /// A page that a background request brought to DRAM, whoever asks.
    Owner,
}

/// What becomes of a page at an LRU end that has references left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Candidate {
    /// It loses one and goes to the MRU end, as in a clock.
    Rotate,
    /// The foreground's does; the background's "hold its LRU position", is looked at until it has none, and leaves.
    Hold,
}

/// How the paper is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Readings {
    /// When an app comes to the foreground.
    pub on_switch: OnSwitch,
    /// Case c.
    pub read_only: ReadOnly,
    /// Case e.
    pub case_e: CaseE,
    /// Candidates with references.
    pub candidate: Candidate,
    /// References of a page that just came in: "the number of times it is accessed", or hits only.
    pub first_reference: u32,
}

impl Readings {
    /// Ours.
    pub const OURS: Readings = Readings {
        on_switch: OnSwitch::Rules,
        read_only: ReadOnly::Request,
        case_e: CaseE::Requester,
        candidate: Candidate::Rotate,
        first_reference: 0,
    };

    /// All combinations.
    pub fn all() -> Vec<Readings> {
        let mut all = vec![Readings::OURS];
        let mut double = |other: fn(Readings) -> Readings| all.extend(all.clone().into_iter().map(other));
        double(|r| Readings { on_switch: OnSwitch::Move, ..r });
        double(|r| Readings { read_only: ReadOnly::Page, ..r });
        double(|r| Readings { case_e: CaseE::Owner, ..r });
        double(|r| Readings { candidate: Candidate::Hold, ..r });
        double(|r| Readings { first_reference: 1, ..r });
        all
    }

    /// The parts in which it is not ours, as on the command line.
    pub fn name(self) -> String {
        let mut name = String::new();
        for (other, part) in [
            (self.on_switch == OnSwitch::Move, ":switch=move"),
            (self.read_only == ReadOnly::Page, ":read-only=page"),
            (self.case_e == CaseE::Owner, ":e=owner"),
            (self.candidate == Candidate::Hold, ":candidate=hold"),
            (self.first_reference == 1, ":count=1"),
        ] {
            if other {
                name += part;
            }
        }
        name
    }
}

/// Where the pages of a policy lie that knows nothing of kinds of memory, which the paper does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// In a free frame, DRAM's first, and once there is none in the victim's; there they stay.
    Free,
    /// In PCM only, DRAM's frames too being PCM.
    Pcm,
    /// The most recently used in DRAM, the others in PCM: one list over both, and a move at every hit below its top.
    Top,
}

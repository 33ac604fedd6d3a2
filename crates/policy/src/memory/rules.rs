// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The rules by name. The laboratory switches one off at a time, to see what it buys (docs/design/lowmem.md).

/// A rule of the memory policy that can be switched off alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// An open app that was left just now is not compressed while memory is merely short.
    JustLeftStays,
    /// What an app's last return touched is compressed last.
    LastReturnStays,
    /// Nothing is compressed while an app comes to the screen.
    FocusGrace,
    /// Idle apps are compressed ahead of need.
    Ahead,
    /// Nothing is compressed ahead of need while memory is plentiful.
    Plentiful,
    /// Pages are compressed while the CPU idles.
    IdleCpu,
    /// Apps that are not in use die by size for each chance of return, not by class.
    ByReturn,
    /// The app that was left last dies last of those that are not in use.
    LeftLastLives,
    /// An app that was left a short while ago does not die for files' room.
    KeepOpen,
    /// With swap full, a closed app dies before anybody waits for memory.
    ClosedForFiles,
    /// With swap nearly full, an app that was left long ago dies before anybody waits for memory.
    LeftForFiles,
    /// Nobody dies between two apps unless somebody waits for memory.
    BetweenApps,
    /// A kill must give a good part of what is missing.
    OfUse,
    /// Nobody dies while swap has room, unless memory thrashes.
    SwapFirst,
    /// A background app dies before the foreground one would, though nobody waits yet.
    BeforeFront,
    /// While all tasks wait, only the page cache counts as what the kernel can shrink.
    CachesCount,
    /// A runaway shows by fast growth.
    FastGrowth,
    /// A runaway shows by long growth.
    LongGrowth,
    /// A runaway shows by its size.
    Size,
    /// A runaway that swap cannot feed dies before anybody is compressed for it.
    BeyondSwap,
    /// An app that starts is no runaway yet.
    StartGrace,
}

impl Rule {
    /// Every rule, in the order of the table.
    pub const ALL: [Rule; 21] = [
        Rule::JustLeftStays,
        Rule::LastReturnStays,
        Rule::FocusGrace,
        Rule::Ahead,
        Rule::Plentiful,
        Rule::IdleCpu,
        Rule::ByReturn,
        Rule::LeftLastLives,
        Rule::KeepOpen,
        Rule::ClosedForFiles,
        Rule::LeftForFiles,
        Rule::BetweenApps,
        Rule::OfUse,
        Rule::SwapFirst,
        Rule::BeforeFront,
        Rule::CachesCount,
        Rule::FastGrowth,
        Rule::LongGrowth,
        Rule::Size,
        Rule::BeyondSwap,
        Rule::StartGrace,
    ];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Rule::JustLeftStays => "just-left-stays",
            Rule::LastReturnStays => "last-return-stays",
            Rule::FocusGrace => "focus-grace",
            Rule::Ahead => "ahead",
            Rule::Plentiful => "plentiful",
            Rule::IdleCpu => "idle-cpu",
            Rule::ByReturn => "by-return",
            Rule::LeftLastLives => "left-last-lives",
            Rule::KeepOpen => "keep-open",
            Rule::ClosedForFiles => "closed-for-files",
            Rule::LeftForFiles => "left-for-files",
            Rule::BetweenApps => "between-apps",
            Rule::OfUse => "of-use",
            Rule::SwapFirst => "swap-first",
            Rule::BeforeFront => "before-front",
            Rule::CachesCount => "caches-count",
            Rule::FastGrowth => "fast-growth",
            Rule::LongGrowth => "long-growth",
            Rule::Size => "size",
            Rule::BeyondSwap => "beyond-swap",
            Rule::StartGrace => "start-grace",
        }
    }
}

/// Rules that are switched off: none, but in the laboratory. No file can say so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RulesOff(u32);

impl RulesOff {
    /// One.
    pub fn one(rule: Rule) -> RulesOff {
        RulesOff(1 << rule as u32)
    }

    fn has(self, rule: Rule) -> bool {
        self.0 >> rule as u32 & 1 == 1
    }
}

impl super::MemoryConfig {
    /// Whether a rule holds.
    pub(crate) fn has(&self, rule: Rule) -> bool {
        !self.rules_off.has(rule)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::memory::MemoryConfig;

    #[test]
    fn each_rule_is_switched_off_alone_and_has_a_name_of_its_own() {
        let all = MemoryConfig::default();
        for (at, rule) in Rule::ALL.into_iter().enumerate() {
            assert_eq!(at, rule as usize);
            let config = MemoryConfig { rules_off: RulesOff::one(rule), ..MemoryConfig::default() };
            for other in Rule::ALL {
                assert!(all.has(other));
                assert_eq!(config.has(other), other != rule);
            }
        }
        assert_eq!(Rule::ALL.map(Rule::name).into_iter().collect::<BTreeSet<_>>().len(), Rule::ALL.len());
    }
}

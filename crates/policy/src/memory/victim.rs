// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Whom to kill (LowMem13, figures 2-18 to 2-20): highest adj first, largest first within a class, and what the owner says of single apps. Where
//! it is known what the user comes back to, apps that are not in use are one class, and the first to go gives the most for each chance of its
//! return.

use std::cmp::Ordering;

use fovea_apps::{Importance, Kind, Standing, PAGE_BYTES};

use super::runaway::session_leak_bytes;
use super::thresholds::thresholds;
use super::{MemoryConfig, MemoryState, Mode, Rule, SwapState};
use crate::{AppState, Snapshot};

/// A kill that gives back less than this ends an app for nothing.
const LEAST_GAIN_BYTES: u64 = 1 << 20;

/// A kill that gives back less than such a part of what is missing ends an app for next to nothing, and another one dies after it.
const GAIN_SHARE: u64 = 8;

/// What a kill is for, and what it must give to be of use.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    swap: Option<SwapState>,
    /// Of anything.
    pub least_bytes: u64,
    /// Of what is in front: all that is missing where the kernel would be next. It dies after all others, and for less it would die
    /// for nothing.
    front_bytes: u64,
}

impl Need {
    /// Of memory as it is. What is in front is no food for a part of the session that leaks: what the leak takes in a moment counts
    /// as missing, too.
    pub fn new(snapshot: &Snapshot, config: &MemoryConfig) -> Need {
        let memory = &snapshot.memory;
        let limits = thresholds(memory, config);
        let missing_bytes =
            |class: Importance| (limits.free_pages[class.index()] * PAGE_BYTES).saturating_sub(memory.free_bytes);
        // The paper kills by class and size alone.
        let (share_bytes, front_bytes) = match config.mode {
            Mode::Full if config.has(Rule::OfUse) => {
                let front_bytes = missing_bytes(Importance::Foreground).saturating_add(session_leak_bytes(snapshot));
                (missing_bytes(Importance::Empty) / GAIN_SHARE, front_bytes)
            }
            Mode::Ladder | Mode::Full => (0, 0),
        };
        let least_bytes = share_bytes.max(LEAST_GAIN_BYTES);
        Need { swap: memory.swap, least_bytes, front_bytes: front_bytes.max(least_bytes) }
    }

    /// Of anything that gives anything at all.
    pub(crate) fn any(memory: &MemoryState) -> Need {
        Need { swap: memory.swap, least_bytes: LEAST_GAIN_BYTES, front_bytes: LEAST_GAIN_BYTES }
    }

    /// Whether killing it is of use.
    pub(crate) fn is_met_by(&self, app: &AppState) -> bool {
        let is_front = app.dies_as() == Importance::Foreground;
        let least_bytes = if is_front { self.front_bytes } else { self.least_bytes };
        !app.kill_failed && size_bytes(app, self.swap) >= least_bytes
    }
}

/// By what one is chosen of those that may die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The paper's: class, then size.
    Class,
    /// What only provides something to others; then, closed or open, by size over how surely it comes back. What a return costs does not depend
    /// on size, since most of it is the start's own work, and whether one that was closed comes back is part of how surely.
    Return,
}

/// The app to kill among those of class `least_important` and less important ones. Not one that was killed in vain, nor one of which nothing
/// would come back: however little they matter, memory is found elsewhere. One to be avoided dies only when every other app may be killed
/// (the next step is the kernel's) and none is left.
pub fn victim<'a>(apps: &'a [AppState], need: &Need, least_important: Importance) -> Option<&'a AppState> {
    victim_among(apps, need, least_important, Order::Class, |_| true)
}

/// The same among those of which `may_die` says so.
pub(crate) fn victim_among<'a>(
    apps: &'a [AppState],
    need: &Need,
    least_important: Importance,
    order: Order,
    may_die: impl Fn(&AppState) -> bool,
) -> Option<&'a AppState> {
    let worst_of = |avoided: bool| {
        apps.iter()
            .filter(|a| need.is_met_by(a) && a.dies_as() >= least_important && may_die(a) && !is_own_login(a))
            .filter(|a| match a.standing {
                Standing::Protect | Standing::Ignore => false,
                Standing::Avoid => avoided,
                Standing::Plain | Standing::Prefer => !avoided,
            })
            .max_by(|a, b| compare(a, b, need.swap, order))
    };
    let last = least_important == Importance::Foreground;
    worst_of(false).or_else(|| worst_of(true).filter(|_| last))
}

/// Whether it is the scope of a login of whoever is at the screen: all that he runs may be in it. A process in it dies as a runaway, never for
/// its class or size.
fn is_own_login(app: &AppState) -> bool {
    app.kind == Kind::Login && !app.user_absent
}

/// Greater is who goes first; of two that are alike, the one whose name comes first.
fn compare(a: &AppState, b: &AppState, swap: Option<SwapState>, order: Order) -> Ordering {
    // What is in use is not for coming back to.
    let by_return = |app: &AppState| order == Order::Return && app.dies_as() >= Importance::Hidden;
    let returns = |app: &AppState| app.returns_permille.filter(|_| by_return(app));
    let class = |app: &AppState| returns(app).map_or(app.dies_as(), |_| app.dies_as().min(Importance::Hidden));
    // Of those that die as visible ones do, what is only heard goes before what is seen.
    let rank = |app: &AppState| (class(app), app.is_perceptible(), app.standing == Standing::Prefer);
    let size = |app: &AppState| u128::from(size_bytes(app, swap));
    // Size over returns, multiplied out.
    let gain = |app: &AppState, other: &AppState| size(app) * u128::from(returns(other).unwrap_or(1));
    (rank(a), gain(a, b), &b.name).cmp(&(rank(b), gain(b, a), &a.name))
}

/// Whether an app is alive only because its owner says so: killing it would give memory, and nothing else forbids it. An app
/// to be avoided is not: its turn comes before the kernel's.
pub fn is_kept_by_owner(app: &AppState, need: &Need, least_important: Importance) -> bool {
    app.standing.is_spared() && app.dies_as() >= least_important && need.is_met_by(app)
}

/// What killing it gives back: its anonymous memory, its shared memory but for what may outlive it,
/// the kernel's memory that ends with its processes, and what its compressed pages occupy. Not the
/// page cache that it is charged for: that stays when it dies, and could be had without.
pub(crate) fn size_bytes(app: &AppState, swap: Option<SwapState>) -> u64 {
    let page_cost_bytes = swap.and_then(|s| s.zram).map_or(0, |zram| zram.page_cost_bytes());
    // Its charge is the fresher of the two.
    let shmem_bytes = app.shmem_bytes.saturating_sub(app.lasting_bytes);
    let resident_bytes = app.anon_bytes.saturating_add(shmem_bytes).saturating_add(app.kernel_bytes);
    resident_bytes.min(app.current_bytes) + app.swap_bytes / PAGE_BYTES * page_cost_bytes
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn app(name: &str, importance: Importance, anon_mb: u64) -> AppState {
        let anon_bytes = anon_mb << 20;
        AppState {
            seen: true,
            anon_bytes,
            current_bytes: anon_bytes,
            ..AppState::new(name.parse().unwrap(), importance)
        }
    }

    fn need(memory: MemoryState) -> Need {
        Need::any(&memory)
    }

    #[test]
    fn class_goes_before_size() {
        let apps = [
            app("game", Importance::Hidden, 90),
            app("mail", Importance::Empty, 10),
            app("maps", Importance::Empty, 20),
            app("front", Importance::Foreground, 500),
        ];
        assert_eq!(victim(&apps, &need(MemoryState::default()), Importance::Hidden).unwrap().name.as_str(), "maps");
        assert_eq!(
            victim(&apps[..1], &need(MemoryState::default()), Importance::Hidden).unwrap().name.as_str(),
            "game"
        );
        assert!(victim(&apps[3..], &need(MemoryState::default()), Importance::Visible).is_none());
    }

    #[test]
    fn what_a_kill_gives_back_is_what_counts() {
        let reader = AppState { current_bytes: 300 << 20, ..app("reader", Importance::Hidden, 10) };
        let compressed = AppState { swap_bytes: 40 << 20, ..app("sleeper", Importance::Hidden, 1) };
        let game = app("game", Importance::Hidden, 12);
        let shrunk = AppState { current_bytes: 5 << 20, ..app("shrunk", Importance::Hidden, 90) };
        let apps = [reader, compressed, game, shrunk];
        let pick = |zram| {
            let swap = Some(SwapState { zram, ..SwapState::default() });
            victim(&apps, &need(MemoryState { swap, ..MemoryState::default() }), Importance::Hidden)
                .unwrap()
                .name
                .to_string()
        };
        assert_eq!(pick(None), "game");
        // At 3:1 the sleeper's 40 MB occupy more than the game does.
        let zram = fovea_apps::ZramReading { original_bytes: 90 << 20, used_bytes: 30 << 20, ..Default::default() };
        assert_eq!(pick(Some(zram)), "sleeper");
    }

    /// An app with 10,651,451,392 bytes of shared memory and none of its own was no candidate, and
    /// two small ones died for it.
    #[test]
    fn shared_and_kernel_memory_that_ends_with_an_app_count() {
        let sharing = |shmem_mb: u64, lasting_mb: u64, kernel_mb: u64| AppState {
            shmem_bytes: shmem_mb << 20,
            lasting_bytes: lasting_mb << 20,
            kernel_bytes: kernel_mb << 20,
            current_bytes: (shmem_mb + kernel_mb) << 20,
            ..app("sharing", Importance::Hidden, 0)
        };
        let pick = |sharing| {
            let apps = [app("mail", Importance::Hidden, 40), app("notes", Importance::Hidden, 30), sharing];
            victim(&apps, &need(MemoryState::default()), Importance::Hidden).unwrap().name.to_string()
        };
        assert_eq!(pick(sharing(10_158, 0, 0)), "sharing");
        assert_eq!(pick(sharing(10_158, 10_150, 0)), "mail", "files on a tmpfs stay");
        assert_eq!(pick(sharing(0, 0, 90)), "sharing", "page tables");
        assert_eq!(size_bytes(&sharing(90, 40, 10), None), 60 << 20);
    }

    #[test]
    fn the_owners_word_goes_before_the_ladder() {
        let listed = |name, importance, anon_mb, standing| AppState { standing, ..app(name, importance, anon_mb) };
        let pick = |apps: &[AppState], least| {
            victim(apps, &need(MemoryState::default()), least).map_or("nobody".into(), |a| a.name.to_string())
        };
        let mut apps = vec![
            listed("vault", Importance::Empty, 90, Standing::Protect),
            listed("foreign", Importance::Empty, 90, Standing::Ignore),
            listed("editor", Importance::Empty, 80, Standing::Avoid),
            app("game", Importance::Hidden, 70),
            listed("tabs", Importance::Hidden, 10, Standing::Prefer),
            listed("front", Importance::Foreground, 60, Standing::Prefer),
        ];
        for (victim, least) in [
            ("tabs", Importance::Hidden),
            ("game", Importance::Hidden),
            ("nobody", Importance::Hidden),
            ("front", Importance::Foreground),
            ("editor", Importance::Foreground),
            ("nobody", Importance::Foreground),
        ] {
            assert_eq!(pick(&apps, least), victim);
            apps.retain(|a| a.name.as_str() != victim);
        }
        assert_eq!(apps.len(), 2);
        assert!(apps.iter().all(|a| is_kept_by_owner(a, &need(MemoryState::default()), Importance::Foreground)));
        let avoided = listed("editor", Importance::Empty, 80, Standing::Avoid);
        assert!(!is_kept_by_owner(&avoided, &need(MemoryState::default()), Importance::Hidden), "its turn comes");
        let small = listed("small", Importance::Empty, 0, Standing::Protect);
        assert!(
            !is_kept_by_owner(&small, &need(MemoryState::default()), Importance::Foreground),
            "it has nothing to give"
        );
    }

    #[test]
    fn where_returns_are_known_the_one_that_gives_the_most_for_each_of_them_goes_first() {
        let app = |name, importance, anon_mb, permille| AppState {
            returns_permille: Some(permille),
            ..app(name, importance, anon_mb)
        };
        let pick = |apps: &[AppState]| {
            let die = |order| victim_among(apps, &need(MemoryState::default()), Importance::Hidden, order, |_| true);
            let name = |app: Option<&AppState>| app.unwrap().name.to_string();
            (name(die(Order::Return)), name(die(Order::Class)))
        };
        let often_large = app("game", Importance::Hidden, 90, 900);
        let seldom_small = app("notes", Importance::Hidden, 30, 100);
        assert_eq!(pick(&[often_large.clone(), seldom_small]), ("notes".into(), "game".into()));
        let closed_often = app("chat", Importance::Empty, 30, 800);
        let provider = AppState { returns_permille: None, ..app("provider", Importance::ContentProvider, 1, 1) };
        assert_eq!(pick(&[closed_often.clone(), provider]), ("provider".into(), "chat".into()));
        assert_eq!(pick(&[often_large.clone(), closed_often]), ("game".into(), "chat".into()));
        let nobody_knows = AppState { returns_permille: None, ..app("found", Importance::Empty, 1, 1) };
        assert_eq!(pick(&[often_large, nobody_knows]), ("found".into(), "found".into()), "by its class");
    }

    proptest! {
        /// Reference: sort all, take the last.
        #[test]
        fn the_victim_is_the_worst_of_all(picks in prop::collection::vec((0usize..6, 0u64..9, any::<bool>(), 0usize..5, 1u32..5), 0..30), least in 0usize..6, by_return: bool) {
            let standings = [Standing::Plain, Standing::Prefer, Standing::Avoid, Standing::Protect, Standing::Ignore];
            let apps: Vec<_> = picks.iter().enumerate()
                .map(|(i, &(class, size, kill_failed, standing, permille))| AppState {
                    returns_permille: Some(permille),
                    kill_failed, standing: standings[standing], ..app(&format!("a{i:02}"), Importance::ALL[class], size)
                }).collect();
            let least = Importance::ALL[least];
            let mut order: Vec<_> = apps.iter().filter(|a| a.importance >= least && !a.kill_failed && a.anon_bytes > 0).collect();
            order.retain(|a| a.standing <= Standing::Prefer || (a.standing == Standing::Avoid && least == Importance::Foreground));
            order.sort_by_key(|a| (
                a.standing != Standing::Avoid,
                if by_return { a.importance.min(Importance::Hidden) } else { a.importance }.weight(),
                a.standing == Standing::Prefer,
                // Twelve can be divided by each.
                a.anon_bytes * 12 / if by_return && a.importance >= Importance::Hidden { u64::from(a.returns_permille.unwrap()) } else { 12 },
                std::cmp::Reverse(a.name.clone()),
            ));
            let by = if by_return { Order::Return } else { Order::Class };
            let found = victim_among(&apps, &need(MemoryState::default()), least, by, |_| true);
            prop_assert_eq!(found.map(|a| &a.name), order.last().map(|a| &a.name));
        }
    }
}

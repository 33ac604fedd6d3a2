// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which processes of a unit die.

use proptest::prelude::*;

use super::*;

const MB: u64 = 1 << 20;

/// PID, its parent's, MB, `oom_score_adj`. A higher PID began later.
fn process(&(pid, parent, mb, oom_score_adj): &(u32, u32, u64, i32)) -> Holder {
    let id = ProcessId { pid, start_ticks: u64::from(pid) };
    Holder { id, parent, bytes: mb * MB, oom_score_adj, ..Holder::default() }
}

fn unit(of: &[(u32, u32, u64, i32)]) -> Vec<Holder> {
    of.iter().map(process).collect()
}

/// PIDs that die, or nothing for all.
fn dies(before: &[Holder], now: &[Holder]) -> Vec<u32> {
    let mut baseline = Baseline::default();
    baseline.record(before);
    match extent(now, &baseline, MB, true) {
        Extent::Whole | Extent::Nobody => Vec::new(),
        Extent::Part(part) => {
            assert_eq!(part.root, part.processes[0]);
            part.processes.iter().map(|id| id.pid).collect()
        }
    }
}

#[test]
fn of_a_terminal_only_the_child_that_leaks_dies() {
    // A shell, an editor with more than the child has gained, and a script that runs a program that leaks, and its helper.
    let of = |leak_mb| unit(&[(1, 9, 5, 0), (2, 1, 500, 0), (3, 1, 4, 0), (4, 3, leak_mb, 0), (5, 4, 2, 0)]);
    assert_eq!(dies(&of(10), &of(200)), [4, 5]);
    assert_eq!(dies(&unit(&[(1, 9, 5, 0), (2, 1, 500, 0)]), &of(200)), [4, 5], "it began since then");
    // Nobody saw it grow: it is what holds most.
    assert_eq!(dies(&[], &of(4000)), [4, 5]);
    assert_eq!(dies(&[], &of(200)), Vec::<u32>::new(), "the editor or the program: nobody knows");
    // The terminal itself leaks.
    let own = |mb| unit(&[(1, 9, mb, 0), (2, 1, 5, 0), (3, 2, 50, 0)]);
    assert_eq!(dies(&own(30), &own(300)), Vec::<u32>::new());
}

#[test]
fn what_many_children_took_together_dies_with_what_started_them() {
    let shell = [(1, 9, 5, 0), (2, 1, 60, 0), (3, 1, 3, 0)];
    let before = unit(&shell);
    let compilers = (10..26).map(|pid| (pid, 3, 100, 0));
    let now = unit(&shell.into_iter().chain(compilers).collect::<Vec<_>>());
    assert_eq!(dies(&before, &now), [3].into_iter().chain(10..26).collect::<Vec<_>>());
    // Orphans of a bomb have no ancestor but those outside of the unit.
    let orphans: Vec<_> = (10..60).map(|pid| (pid, 9, 20, 0)).chain(shell).collect();
    assert_eq!(dies(&before, &unit(&orphans)), Vec::<u32>::new());
}

/// Two programs leaked in a login of XFCE, one in a terminal and one beside it: what died was the session's manager with all that it had
/// started. In tmux, two panes' programs: the server.
#[test]
fn of_several_that_grew_the_largest_dies_and_not_what_started_them_all() {
    // lightdm, the session, its panel, a terminal with its shell, an editor and a leak in that, another leak.
    let of = |a_mb, b_mb| {
        unit(&[
            (1, 0, 1, 0),
            (2, 1, 5, 0),
            (3, 2, 8, 0),
            (4, 2, 20, 0),
            (5, 4, 1, 0),
            (6, 5, 30, 0),
            (7, 5, a_mb, 0),
            (8, 2, b_mb, 0),
        ])
    };
    assert_eq!(dies(&of(4, 4), &of(132, 112)), [7]);
    assert_eq!(dies(&of(4, 4), &of(112, 132)), [8]);
    // A build in each of two terminals.
    let terminals = [(1, 0, 1, 0), (2, 1, 5, 0), (3, 1, 5, 0), (4, 2, 3, 0), (5, 3, 3, 0)];
    let compilers = (10..26).map(|pid| (pid, if pid < 18 { 4 } else { 5 }, 100 + u64::from(pid / 18), 0));
    let now = unit(&terminals.into_iter().chain(compilers).collect::<Vec<_>>());
    assert_eq!(dies(&unit(&terminals), &now), [5].into_iter().chain(18..26).collect::<Vec<_>>());
}

#[test]
fn of_a_browser_the_page_that_it_can_do_without_dies() {
    let of = |page_mb, own_mb| {
        unit(&[
            (1, 9, own_mb, 0),
            (2, 1, 50, 0),
            (3, 2, 900, 200),
            (4, 2, page_mb, 300),
            (5, 2, 90, 300),
            (6, 2, 0, 300),
        ])
    };
    let idle = of(120, 400);
    assert_eq!(dies(&idle, &idle), [4], "the largest of those with the highest score");
    assert_eq!(dies(&of(120, 400), &of(2000, 400)), [4], "the page that grew");
    let shifted: Vec<Holder> = idle.iter().map(|p| Holder { oom_score_adj: p.oom_score_adj + 700, ..*p }).collect();
    assert_eq!(dies(&shifted, &shifted), [4], "what we add ourselves is the same for all");
    assert_eq!(dies(&of(120, 400), &of(120, 3000)), Vec::<u32>::new(), "the browser itself grew");
    // Several pages grew: one of them first.
    let later =
        unit(&[(1, 9, 400, 0), (2, 1, 50, 0), (3, 2, 1100, 200), (4, 2, 320, 300), (5, 2, 290, 300), (6, 2, 0, 300)]);
    assert_eq!(dies(&idle, &later), [4]);
    // Where only the main process has been ranked, nothing says who is expendable.
    let ranked: Vec<Holder> =
        idle.iter().map(|p| Holder { oom_score_adj: if p.id.pid == 1 { 700 } else { 0 }, ..*p }).collect();
    assert_eq!(dies(&ranked, &ranked), Vec::<u32>::new(), "and none holds most of everything");
}

#[test]
fn a_part_that_gives_too_little_is_none() {
    let of = |mb| unit(&[(1, 9, 1, 0), (2, 1, mb, 300)]);
    let pick = |mb: u64, least_mb: u64| extent(&of(mb), &Baseline::default(), least_mb * MB, true);
    assert!(matches!(pick(30, 30), Extent::Part(part) if part.bytes == 30 * MB));
    assert_eq!(pick(30, 31), Extent::Whole);
    assert_eq!(extent(&of(30)[..1], &Baseline::default(), MB, true), Extent::Whole, "there is only one");
    assert_eq!(extent(&[], &Baseline::default(), MB, true), Extent::Whole);
}

#[test]
fn a_login_never_dies_whole() {
    let pick = |of: &[(u32, u32, u64, i32)]| extent(&unit(of), &Baseline::default(), MB, false);
    // A compositor that started everything; two programs that hold as much; a program in a shell; a program alone.
    assert_eq!(pick(&[(1, 9, 900, 0), (2, 1, 20, 0)]), Extent::Nobody);
    assert_eq!(pick(&[(1, 9, 5, 0), (2, 1, 50, 0), (3, 1, 50, 0)]), Extent::Nobody);
    assert!(matches!(pick(&[(1, 9, 5, 0), (2, 1, 5, 0), (3, 2, 200, 0)]), Extent::Part(part) if part.root.pid == 3));
    assert!(matches!(pick(&[(1, 9, 200, 0)]), Extent::Part(part) if part.root.pid == 1));
    // sway, started by a display manager's helper, with a bar and an editor; a program with one child; a build.
    assert_eq!(pick(&[(1, 0, 1, 0), (2, 1, 300, 0), (3, 2, 8, 0), (4, 2, 10, 0)]), Extent::Nobody);
    let leak = pick(&[(1, 0, 1, 0), (2, 1, 300, 0), (3, 2, 8, 0)]);
    assert!(matches!(leak, Extent::Part(part) if part.root.pid == 2));
    let build = pick(&[(1, 0, 1, 0), (2, 1, 3, 0), (3, 2, 80, 0), (4, 2, 80, 0), (5, 2, 80, 0)]);
    assert!(matches!(build, Extent::Part(part) if part.root.pid == 2));
    assert_eq!(pick(&[]), Extent::Nobody);
}

#[test]
fn a_reused_pid_is_nobodys_parent() {
    // 7 was given to a process that began after the one that names 7 as its parent.
    let mut now = unit(&[(7, 9, 10, 0), (8, 7, 500, 0)]);
    now[0].id.start_ticks = 90;
    assert_eq!(dies(&[], &now), [8]);
    now[1].bytes = 0;
    now[0].bytes = 500 * MB;
    assert_eq!(dies(&[], &now), [7], "its supposed child lives");
}

proptest! {
    /// Whatever is read, a part is a subtree: it has its root, no process outside of it descends from it, and what it holds is the
    /// sum. By growth it is where most of the growth is.
    #[test]
    fn a_part_is_a_whole_subtree_and_no_more(
        of in prop::collection::vec((0usize..20, 0u64..300, 0u64..300, 0i32..3, 1u64..9), 0..20), least_mb in 0u64..200,
    ) {
        let parents: Vec<usize> = of.iter().map(|&(parent, ..)| parent).collect();
        let now: Vec<Holder> = of.iter().enumerate().map(|(at, &(parent, _, mb, score, ticks))| Holder {
            id: ProcessId { pid: at as u32 + 1, start_ticks: ticks }, parent: parent as u32 + 1, bytes: mb * MB,
            oom_score_adj: score * 100, ..Holder::default()
        }).collect();
        let before: Vec<Holder> = now.iter().zip(&of).map(|(p, &(_, mb, ..))| Holder { bytes: mb * MB, ..*p }).collect();
        let mut baseline = Baseline::default();
        baseline.record(&before);
        let Extent::Part(part) = extent(&now, &baseline, least_mb * MB, true) else { return Ok(()) };
        let inside = |at: usize| part.processes.contains(&now[at].id);
        let is_child = |at: usize| {
            let parent = parents[at];
            parent < now.len() && (now[parent].id.start_ticks, parent) < (now[at].id.start_ticks, at)
        };
        for (at, &parent) in parents.iter().enumerate() {
            if is_child(at) && inside(parent) {
                prop_assert!(inside(at), "a descendant lives on");
            }
            if inside(at) && now[at].id != part.root {
                prop_assert!(is_child(at) && inside(parent), "no descendant dies");
            }
        }
        let bytes: u64 = (0..now.len()).filter(|&at| inside(at)).map(|at| now[at].bytes).sum();
        prop_assert_eq!(part.bytes, bytes);
        prop_assert!(part.bytes >= least_mb * MB && part.processes.len() < now.len());
    }
}

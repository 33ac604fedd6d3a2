// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The owner's lists in the engine: what they keep the daemon from doing, and that it says so.

use fovea_apps::{Lists, Preference, Standing};

use crate::config::Config;
use crate::engine_tests::{bench_with, focus, freezing, Bench, SECOND_NS};
use fovea_client::protocol::{Reply, Request};
use fovea_client::AppStatus;

const MB: u64 = 1 << 20;

fn listing(list: Standing, entries: &[&str]) -> Config {
    let mut lists = Lists::default();
    *lists.of_mut(list).unwrap() = entries.iter().map(|e| e.parse().unwrap()).collect();
    Config { lists, ..freezing() }
}

fn add(list: Standing, entry: &str) -> Request {
    Request::ListAdd { list, entry: entry.parse().unwrap() }
}

fn remove(list: Standing, entry: &str) -> Request {
    Request::ListRemove { list, entry: entry.parse().unwrap() }
}

impl Bench {
    fn app(&mut self, name: &str) -> AppStatus {
        self.status().apps.into_iter().find(|app| app.name.as_str() == name).expect("the app")
    }

    fn score(&self, name: &str) -> i32 {
        self.device.0.borrow().apps[&format!("apps/{name}")].score
    }

    fn runs(&self, name: &str, programs: &[&str]) {
        let programs = programs.iter().map(|&p| p.to_owned()).collect();
        self.device.0.borrow_mut().apps.get_mut(&format!("apps/{name}")).unwrap().programs = programs;
    }

    /// Memory is so short, and somebody waits for it, that any class may be killed; swap has no room.
    fn starve(&mut self) {
        let mut state = self.device.0.borrow_mut();
        (state.memory.free_bytes, state.memory.file_bytes) = (5 * MB, MB);
        state.memory.psi_some_total_us = state.memory.psi_some_total_us.map(|t| t + 100_000);
        drop(state);
        self.fill_swap();
        self.engine.pressure();
    }

    pub fn fill_swap(&mut self) {
        let mut state = self.device.0.borrow_mut();
        if let Some(zram) = &mut state.memory.zram {
            (zram.used_bytes, zram.original_bytes) = (zram.limit_bytes, zram.disk_bytes);
        }
        state.memory.swap_free_bytes = 0;
    }

    fn did(&self, what: &str) -> bool {
        self.device.0.borrow().done.iter().any(|done| done == what)
    }

    fn journal_length(&mut self) -> usize {
        match self.engine.handle(Request::Explain { app: None, limit: None, uid: None }, 0) {
            Reply::Story { entries } => entries.len(),
            other => panic!("{other:?}"),
        }
    }

    pub fn journal(&mut self, action: &str) -> Vec<serde_json::Value> {
        let reply = self.engine.handle(Request::Explain { app: None, limit: None, uid: None }, 0);
        let Reply::Story { entries } = reply else { panic!("{reply:?}") };
        entries.into_iter().filter(|entry| entry["action"] == action).collect()
    }
}

#[test]
fn a_protected_app_is_neither_frozen_nor_killed_and_that_nobody_else_is_left_is_said_once() {
    let mut b = bench_with(&[("vault", 90), ("game", 60)], listing(Standing::Protect, &["va*"]));
    b.engine.handle(focus("vault"), 0);
    b.engine.handle(focus("game"), SECOND_NS);
    b.engine.handle(Request::Home {}, SECOND_NS);
    b.run(SECOND_NS, 60 * SECOND_NS);
    assert!(b.did("freeze apps/game") && !b.did("freeze apps/vault"));
    assert_eq!(b.app("vault").list.as_deref(), Some("protect va*"));
    assert_eq!((b.score("vault"), b.score("game")), (0, 701));
    b.starve();
    let turn = b.engine.turn(61 * SECOND_NS).unwrap();
    assert!(b.did("kill apps/game"), "the smaller one");
    assert!(!b.status().only_listed);
    turn.awaited.iter().for_each(|_| b.engine.victim_ended(61 * SECOND_NS));
    for second in 62..70 {
        b.starve();
        b.engine.turn(second * SECOND_NS).unwrap();
    }
    assert!(!b.did("kill apps/vault") && !b.did("terminate apps/vault"));
    assert!(b.status().only_listed);
    let said = b.journal("only-listed");
    assert_eq!(said.len(), 1, "once");
    assert_eq!(said[0]["outcome"]["kept"], serde_json::json!(["vault (protect va*)"]));
    let mut state = b.device.0.borrow_mut();
    (state.memory.free_bytes, state.memory.file_bytes) = (200 * MB, 200 * MB);
    drop(state);
    b.engine.turn(71 * SECOND_NS).unwrap();
    assert!(!b.status().only_listed, "it is over");
}

#[test]
fn what_runs_in_an_app_is_looked_at_before_it_is_killed() {
    let mut b = bench_with(&[("shell", 90), ("game", 60)], listing(Standing::Protect, &["/usr/bin/backup"]));
    b.engine.handle(focus("game"), 0);
    b.engine.handle(Request::Home {}, 0);
    b.starve();
    // Read a moment ago; what is to be protected has only now been started.
    b.engine.turn(SECOND_NS / 2).unwrap();
    assert!(b.did("kill apps/shell"), "it was the largest");
    let mut b = bench_with(&[("shell", 90), ("game", 60)], listing(Standing::Protect, &["/usr/bin/backup"]));
    b.runs("shell", &["/usr/bin/bash", "/usr/bin/backup"]);
    b.starve();
    let turn = b.engine.turn(SECOND_NS / 2).unwrap();
    assert_eq!(turn.wake_at_ns, Some(SECOND_NS / 2), "decided anew at once");
    b.starve();
    b.engine.turn(SECOND_NS / 2 + 1).unwrap();
    assert!(b.did("kill apps/game") && !b.did("kill apps/shell"));
    let kill = &b.journal("kill")[0];
    assert_eq!(kill["outcome"]["list"], serde_json::Value::Null);
    assert_eq!(b.journal("listed")[0]["outcome"], serde_json::json!({ "list": "protect", "entry": "/usr/bin/backup" }));
}

#[test]
fn an_ignored_app_is_left_as_it_was_and_gets_back_what_was_done_to_it() {
    let mut b = bench_with(&[("foreign", 90), ("mail", 60)], freezing());
    b.engine.handle(focus("foreign"), 0);
    b.engine.handle(Request::Home {}, 0);
    b.run(0, 60 * SECOND_NS);
    assert!(b.app("foreign").frozen);
    assert_eq!(b.score("foreign"), 701);
    assert_eq!(b.engine.handle(add(Standing::Ignore, "foreign"), 60 * SECOND_NS), Reply::Done {});
    b.run(60 * SECOND_NS, 61 * SECOND_NS);
    assert!(!b.app("foreign").frozen);
    assert_eq!(b.score("foreign"), 0);
    b.device.0.borrow_mut().done.clear();
    b.starve();
    b.engine.turn(62 * SECOND_NS).unwrap();
    assert!(b.did("kill apps/mail") && !b.device.0.borrow().done.iter().any(|d| d.starts_with("compress")));
    assert!(!b.did("kill apps/foreign"));
    assert_eq!(b.engine.handle(remove(Standing::Ignore, "foreign"), 62 * SECOND_NS), Reply::Done {});
    assert_eq!((b.app("foreign").list, b.score("foreign")), (None, 701));
}

#[test]
fn commands_add_to_the_configuration_and_a_reload_changes_only_its_part() {
    let mut b = bench_with(&[("mail", 10), ("game", 10)], listing(Standing::Avoid, &["mail"]));
    let error = |reply| match reply {
        Reply::Error { error } => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(b.engine.handle(add(Standing::Prefer, "g[ao]me"), 0), Reply::Done {});
    assert_eq!(b.engine.handle(add(Standing::Prefer, "g[ao]me"), 0), Reply::Done {}, "again is no news");
    let lists = b.engine.handle(Request::List {}, 0);
    let Reply::Lists { configured, said } = lists else { panic!("{lists:?}") };
    assert_eq!((configured.avoid.len(), said.prefer.len()), (1, 1));
    assert_eq!((b.app("game").list.as_deref(), b.score("game")), (Some("prefer g[ao]me"), 726));
    let refused = error(b.engine.handle(remove(Standing::Avoid, "mail"), 0));
    assert!(refused.contains("in the configuration") && refused.contains("SIGHUP"), "{refused}");
    assert!(error(b.engine.handle(remove(Standing::Avoid, "nobody"), 0)).contains("fovea rules show"));
    assert!(error(b.engine.handle(add(Standing::Plain, "x"), 0)).contains("no list"));
    assert!(b.engine.reconfigure(listing(Standing::Protect, &["mail"]), 0).is_empty(), "it counts at once");
    assert_eq!(b.app("mail").list.as_deref(), Some("protect mail"));
    assert_eq!(b.app("game").list.as_deref(), Some("prefer g[ao]me"));
    for n in 1..256 {
        assert_eq!(b.engine.handle(add(Standing::Prefer, &format!("n{n}")), 0), Reply::Done {});
    }
    assert!(error(b.engine.handle(add(Standing::Prefer, "one-more"), 0)).contains("configuration"));
}

fn simulate(b: &mut Bench, free_bytes: Option<u64>) -> fovea_client::Simulation {
    let assumed = fovea_client::Assumed { free_bytes, file_bytes: free_bytes.map(|_| MB) };
    match b.engine.handle(Request::Simulate { assumed }, SECOND_NS / 2) {
        Reply::Simulation(simulation) => *simulation,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_dry_run_tells_what_the_next_turn_does_and_does_nothing() {
    let mut b = bench_with(&[("mail", 60), ("vault", 90)], listing(Standing::Protect, &["vault"]));
    b.fill_swap();
    b.engine.turn(0).unwrap();
    let all_is_well = simulate(&mut b, None);
    assert!(all_is_well.by_daemon && all_is_well.plan.steps.is_empty() && all_is_well.apps == 2);
    let entries = b.journal_length();
    b.device.0.borrow_mut().done.clear();
    let told = simulate(&mut b, Some(2 * MB)).plan;
    let last = told.steps.last().expect("a step");
    assert_eq!(last.action, fovea_policy::Action::Kill { app: "mail".parse().unwrap() });
    let done = std::mem::take(&mut b.device.0.borrow_mut().done);
    assert!(done.iter().all(|d| d.starts_with("usage")), "{done:?}");
    assert_eq!((b.journal_length(), b.status().busy), (entries, false));
    // It left no trace: memory is as it is, not as it was assumed.
    assert_eq!(simulate(&mut b, None), all_is_well);
    b.starve();
    let told = simulate(&mut b, None).plan.steps;
    b.engine.turn(SECOND_NS / 2).unwrap();
    assert_eq!(told[0].action, fovea_policy::Action::Kill { app: "mail".parse().unwrap() });
    assert!(b.did("kill apps/mail"), "as was told");
}

/// Nothing tells there whether somebody waits, so every look counts as called for; so does the one that is only asked about.
#[test]
fn a_dry_run_tells_the_same_without_psi() {
    let mut b = bench_with(&[("mail", 60), ("game", 90)], freezing());
    b.fill_swap();
    let mut state = b.device.0.borrow_mut();
    state.memory.psi_some_total_us = None;
    drop(state);
    b.engine.turn(0).unwrap();
    let mut state = b.device.0.borrow_mut();
    (state.memory.free_bytes, state.memory.file_bytes) = (2 * MB, MB);
    drop(state);
    let told = simulate(&mut b, None);
    assert!(told.memory.polled && told.memory.stalled_us > 0, "{:?}", told.memory);
    let first = told.plan.steps.first().expect("a step").action.clone();
    b.engine.turn(SECOND_NS / 2).unwrap();
    assert!(b.did(&format!("kill apps/{}", first.app())), "told: {first:?}");
}

#[test]
fn without_lists_nobody_looks_at_what_runs() {
    let mut b = bench_with(&[("mail", 60), ("game", 60)], freezing());
    b.starve();
    b.engine.turn(3 * SECOND_NS).unwrap();
    assert!(b.did("kill apps/game") || b.did("kill apps/mail"));
    assert!(!b.device.0.borrow().done.iter().any(|d| d.starts_with("programs")));
}

#[test]
fn programs_that_cannot_be_read_leave_the_name_to_go_by() {
    let mut b = bench_with(&[("vault", 60)], listing(Standing::Protect, &["vault"]));
    b.device.0.borrow_mut().failing = Some("programs");
    assert!(b.engine.reconfigure(listing(Standing::Protect, &["v?ult"]), 0).is_empty());
    assert_eq!(b.app("vault").list.as_deref(), Some("protect v?ult"));
}

/// Distributions ship `ManagedOOMPreference=` in units: root's word holds, a user's only while he spares none of his at another's cost.
#[test]
fn what_a_units_maker_prefers_is_its_standing_unless_the_owner_says_otherwise() {
    let mut b = bench_with(&[("vault", 90), ("game", 60), ("editor", 50)], listing(Standing::Prefer, &["editor"]));
    let cgroup = |uid: u32| format!("user.slice/user-{uid}.slice/user@{uid}.service/app.slice/app-mail-{uid}.scope");
    let of = |standing, attribute: &str, uid| Preference { standing, attribute: attribute.to_owned(), uid };
    {
        let mut state = b.device.0.borrow_mut();
        state.preferences.insert("apps/vault".into(), of(Standing::Protect, "user.oomd_omit", 0));
        state.preferences.insert("apps/editor".into(), of(Standing::Avoid, "user.oomd_avoid", 0));
        state.preferences.insert(cgroup(1000), of(Standing::Avoid, "user.oomd_avoid", 1000));
        state.apps.insert(cgroup(1000), Default::default());
    }
    b.engine.found(&cgroup(1000), 0);
    // Names are looked up anew.
    b.engine.handle(add(Standing::Ignore, "nobody"), 1);
    let list = |b: &mut Bench, name: &str| b.app(name).list;
    assert_eq!(list(&mut b, "vault").as_deref(), Some("protect user.oomd_omit"));
    assert_eq!(list(&mut b, "editor").as_deref(), Some("prefer editor"));
    assert_eq!(list(&mut b, "mail").as_deref(), Some("avoid user.oomd_avoid"));
    assert_eq!(list(&mut b, "game"), None);
    b.device.0.borrow_mut().apps.insert(cgroup(1001), Default::default());
    b.engine.found(&cgroup(1001), 2);
    b.engine.handle(remove(Standing::Ignore, "nobody"), 3);
    assert_eq!(list(&mut b, "mail"), None, "another user would pay for it");
    assert_eq!(list(&mut b, "vault").as_deref(), Some("protect user.oomd_omit"));
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the screens say, whatever they look like.

use fovea_apps::{
    AppUsage, Classified, DiskControl, Importance, IoClass, MemoryReading, Perceived, PoolReading, Standing,
    ZramReading,
};
use fovea_client::{AppStatus, Status};
use ratatui::crossterm::event::KeyCode;
use serde_json::json;

use crate::draw::{as_text, screen, text_of};
use crate::memory::{cells, parts};
use crate::view::{Pane, Sort, View, Wish};

const MB: u64 = 1 << 20;

fn app(name: &str, importance: Importance, anon_mb: u64, swap_mb: u64) -> AppStatus {
    let mut app: AppStatus = serde_json::from_value(json!({
        "name": name, "cgroup": "/x", "importance": importance, "frozen": false, "usage": AppUsage::default(),
    }))
    .unwrap();
    app.usage = AppUsage { anon_bytes: anon_mb * MB, swap_bytes: swap_mb * MB, ..AppUsage::default() };
    app
}

fn status() -> Status {
    let mut mail = app("mail", Importance::Hidden, 40, 60);
    (mail.frozen, mail.returns_permille) = (true, Some(730));
    let mut music = app("music", Importance::Service, 30, 0);
    music.perceptible = Some(Perceived::PlaysSound);
    music.io_class = Classified { class: IoClass::TimeSensitive, ..Classified::default() };
    let mut copy = app("copy", Importance::Hidden, 10, 0);
    copy.io_class = Classified { class: IoClass::Bursty, ..Classified::default() };
    (copy.receive_window_bytes, copy.list) = (64 << 10, Some("avoid (copy)".into()));
    let zram =
        ZramReading { original_bytes: 120 * MB, used_bytes: 40 * MB, disk_bytes: 500 * MB, ..ZramReading::default() };
    Status {
        screen_on: true,
        sources: vec!["sway".into()],
        focus_told: true,
        foreground: "editor".parse().ok(),
        memory: MemoryReading {
            total_bytes: 1000 * MB,
            free_bytes: 100 * MB,
            file_bytes: 300 * MB,
            zram: Some(zram),
            psi_some_avg10: Some(12.34),
            psi_full_avg10: Some(3.21),
            ..MemoryReading::default()
        },
        ecache: Some(PoolReading {
            frames: 25_600,
            cached: 10_240,
            device: 2_560,
            free: 12_800,
            ..PoolReading::default()
        }),
        disk: DiskControl::Volumes,
        kills: 3,
        compressed_pages: 30_720,
        apps: vec![app("editor", Importance::Foreground, 200, 0), mail, music, copy],
        ..Status::default()
    }
}

fn view() -> View {
    let mut view = View::default();
    view.take(status());
    view.story = vec![
        json!({ "t_ns": 1, "unix_ms": 43_200_000, "action": "rank", "app": "mail", "reason": "idle" }),
        json!({ "t_ns": 2, "unix_ms": 43_201_000, "action": "kill", "app": "game", "reason": "swap-full",
            "readings": { "free_bytes": 5 * MB, "file_bytes": 7 * MB } }),
    ];
    view
}

fn shown(view: &View, width: u16, height: u16) -> String {
    text_of(&screen(view, width, height).unwrap())
}

/// The line that has a text, which must be one.
fn line<'a>(text: &'a str, with: &str) -> &'a str {
    let mut lines = text.lines().filter(|line| line.contains(with));
    let line = lines.next().unwrap_or_else(|| panic!("no {with:?} in\n{text}"));
    assert!(lines.next().is_none(), "{with:?} twice in\n{text}");
    line
}

#[test]
fn both_sizes_show_memory_pressure_apps_and_decisions() {
    for (width, height) in [(80, 24), (200, 60)] {
        let text = shown(&view(), width, height);
        let heading = text.lines().next().unwrap();
        assert!(heading.contains("in front: editor") && heading.contains("told by sway"), "{text}");
        assert!(heading.contains("3 kills"), "{text}");
        for words in ["█ apps 280", "▓ others 280", "▒ files 300", "░ zram 40 holds 120 (3.0x)", "· free 100"]
        {
            assert!(text.contains(words), "{words}:\n{text}");
        }
        assert!(text.contains("= eCache 40") && text.contains("# reserved 60 10 in use"), "{text}");
        assert!(line(&text, "some task waits").contains("12.3 %") && line(&text, "all tasks").contains("3.2 %"));
        assert!(text.contains("dm-aciom") && text.contains("1 time-sensitive, 1 bursty"), "{text}");
        assert!(text.contains("1 held by window"), "{text}");
        let mail = text.lines().find(|line| line.starts_with("mail")).unwrap();
        for cell in ["hidden", "40", "60", "yes"] {
            assert!(mail.split_whitespace().any(|word| word == cell), "{cell} in {mail}");
        }
        let words = "kill        game: memory is short and zram can really take no more";
        assert!(line(&text, "12:00:01Z").contains(words), "{text}");
        assert!(!text.contains("12:00:00Z"), "a rank is no decision to tell:\n{text}");
        assert!(text.lines().last().unwrap().starts_with("q quit"), "{text}");
    }
}

#[test]
fn a_wide_screen_says_why_and_what_apps_are_held_to() {
    let text = shown(&view(), 200, 60);
    assert!(text.lines().any(|line| line.starts_with("editor") && line.ends_with("in front")), "{text}");
    assert!(text.lines().any(|line| line.starts_with("mail") && line.contains("comes back 73 %")), "{text}");
    assert!(text
        .lines()
        .any(|line| line.starts_with("music") && line.contains("time-sensitive") && line.contains("plays sound")));
    assert!(text
        .lines()
        .any(|line| line.starts_with("copy") && line.contains("64K") && line.contains("list avoid (copy)")));
}

#[test]
fn no_name_steers_the_terminal() {
    let mut view = view();
    view.status.apps[0].list = Some("avoid (\u{202e}\u{1b}[31m)".into());
    view.status.runaways = vec!["user.slice/\u{1b}]0;x\u{7}\u{202e}.scope".into()];
    view.status.sources = vec!["\u{2066}x".into()];
    view.message = Some("\u{9b}31m".into());
    view.story.push(json!({ "t_ns": 1, "unix_ms": 1, "action": "kill", "app": "a",
        "outcome": { "process": { "name": "\u{1b}[2J\u{202e}", "pid": 1 } } }));
    for (width, height) in [(80, 24), (200, 60)] {
        let text = shown(&view, width, height);
        let steers =
            |c: char| c != '\n' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c) || c == '\u{2066}');
        assert!(!text.contains(steers), "{text:?}");
        assert!(text.contains("\\u{1b}") && text.contains("\\u{202e}"), "{text}");
    }
}

#[test]
fn what_the_owner_should_know_is_said() {
    let mut view = view();
    view.status.only_listed = true;
    view.status.config_problems = vec!["memory.mode: no such mode".into()];
    view.status.missing = vec!["psi".into()];
    let text = shown(&view, 80, 24).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("OOM killer may be next") && text.contains("no such mode") && text.contains("lacking: psi"),
        "{text}"
    );
    view.samples.clear();
    assert!(shown(&view, 80, 24).contains("the kernel has no PSI"));
}

#[test]
fn the_bar_is_as_wide_as_the_screen_and_its_parts_are_in_proportion() {
    for width in [60, 80, 200, 500] {
        let parts = parts(&status());
        let cells = cells(&parts, width);
        assert_eq!(cells.iter().sum::<u16>(), width);
        let total: u64 = parts.iter().map(|part| part.bytes).sum();
        for (part, cells) in parts.iter().zip(cells) {
            let exact = part.bytes as f64 * f64::from(width) / total as f64;
            assert!((f64::from(cells) - exact).abs() <= 1.0, "{part:?}: {cells} of {width}");
        }
    }
    // Readings of several moments, that together are more than there is.
    let mut status = status();
    status.apps[0].usage.anon_bytes = u64::MAX;
    status.memory.file_bytes = u64::MAX;
    assert_eq!(cells(&parts(&status), 80).iter().sum::<u16>(), 80);
    assert_eq!(cells(&parts(&Status::default()), 80).iter().sum::<u16>(), 0);
}

#[test]
fn keys_sort_choose_and_ask() {
    let mut view = view();
    let first = |view: &View| view.apps()[0].name.to_string();
    assert_eq!(first(&view), "editor");
    view.key(KeyCode::Char('s'));
    view.key(KeyCode::Char('s'));
    assert_eq!((view.sort, first(&view)), (Sort::Compressed, "mail".into()));
    view.key(KeyCode::Char('s'));
    assert_eq!((view.sort, first(&view)), (Sort::Name, "copy".into()));
    view.key(KeyCode::Down);
    let chosen = || "editor".parse().unwrap();
    assert_eq!(view.key(KeyCode::Enter), Wish::Explain(chosen()));
    assert_eq!(view.key(KeyCode::Char('p')), Wish::Toggle(Standing::Protect, chosen()));
    assert_eq!(view.key(KeyCode::Char('l')), Wish::ShowLists);
    // The chosen app keeps the choice wherever it stands, and one that is gone has none.
    view.key(KeyCode::Char('s'));
    assert_eq!(view.key(KeyCode::Char('e')), Wish::Explain(chosen()));
    view.status.apps.retain(|app| app.name != chosen());
    assert_eq!(view.key(KeyCode::Char('e')), Wish::Explain(view.apps()[0].name.clone()));
    view.status.apps.clear();
    assert_eq!(view.key(KeyCode::Char('e')), Wish::Nothing);
    view.pane = Pane::Help;
    assert_eq!((view.key(KeyCode::Esc), view.key(KeyCode::Esc)), (Wish::Nothing, Wish::Quit));
}

#[test]
fn a_story_and_the_lists_lie_over_the_apps() {
    let mut view = view();
    let entries = vec![json!({ "t_ns": 1, "unix_ms": 0, "action": "freeze", "app": "mail" })];
    view.pane = Pane::Story { app: "mail".parse().unwrap(), entries };
    let text = shown(&view, 80, 24);
    assert!(text.contains("what was done to mail") && text.contains("00:00:00Z freeze"), "{text}");
    assert!(!text.contains("last decisions"), "{text}");
    view.pane = Pane::Lists {
        configured: Default::default(),
        said: serde_json::from_value(json!({ "protect": ["borg"] })).unwrap(),
    };
    let text = shown(&view, 80, 24);
    assert!(line(&text, "borg").starts_with("protect") && line(&text, "borg").contains("by command"), "{text}");
    view.pane = Pane::Help;
    assert!(shown(&view, 80, 24).contains("never killed, never frozen"));
}

#[test]
fn a_screen_for_scripts_has_every_app() {
    let mut view = view();
    view.status.apps = (0..300).map(|n| app(&format!("app{n:03}"), Importance::Hidden, n, 0)).collect();
    let text = as_text(&view, 80).unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with("app") && line.contains("hidden")).count(), 300);
    assert!(text.contains("12:00:01Z kill"));
    view.status.apps.clear();
    assert!(as_text(&view, 80).unwrap().contains("no apps"));
}

#[test]
fn no_size_is_too_small() {
    for (width, height) in [(1, 1), (20, 5), (60, 10), (500, 3)] {
        shown(&view(), width, height);
    }
}

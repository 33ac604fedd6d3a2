// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The table of apps.

use fovea_apps::{printable, Importance, IoClass};
use fovea_client::AppStatus;
use ratatui::layout::Constraint;
use ratatui::style::{Color, Modifier, Style};
use ratatui::widgets::{Cell, Row, Table};

use crate::view::{resident_bytes, View};

/// From here on there is room for whole words.
const WIDE: u16 = 150;

/// The table, for so many columns.
pub fn table<'a>(view: &View, apps: &[&AppStatus], width: u16) -> Table<'a> {
    let wide = width >= WIDE;
    let columns: &[(&str, u16)] = match wide {
        true => &[
            ("name", 40),
            ("is", 7),
            ("rank", 16),
            ("MiB", 9),
            ("compressed", 10),
            ("frozen", 6),
            ("disk and net", 14),
            ("held to", 12),
        ],
        false => &[("name", 0), ("rank", 10), ("MiB", 6), ("compr", 6), ("frz", 3), ("I/O", 6), ("held", 6)],
    };
    // Why an app has its rank comes last, and may be cut.
    let name_width = if width < 100 { 20 } else { 34 };
    let widths = columns.iter().map(|&(_, width)| Constraint::Length(if width == 0 { name_width } else { width }));
    let names = columns.iter().map(|&(name, _)| name).chain(["why"]).collect::<Vec<_>>();
    let heading = Row::new(names).style(Style::new().add_modifier(Modifier::BOLD));
    let rows = apps.iter().map(|app| row(view, app, wide)).collect::<Vec<_>>();
    Table::new(rows, widths.chain([Constraint::Fill(1)]))
        .header(heading)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED))
}

fn row<'a>(view: &View, app: &AppStatus, wide: bool) -> Row<'a> {
    let mib = |bytes: u64| format!("{:>1$}", bytes >> 20, if wide { 6 } else { 5 });
    let mut cells = vec![
        app.name.as_str().to_owned(),
        app.kind.name().to_owned(),
        rank(app.importance, wide).to_owned(),
        mib(resident_bytes(app)),
        mib(app.usage.swap_bytes),
        if app.frozen { "yes" } else { "" }.to_owned(),
        io_class(app.io_class.class, wide).to_owned(),
        held(app),
        why(view, app),
    ];
    if !wide {
        cells.remove(1);
    }
    let cells = cells.into_iter().map(|text| Cell::from(printable(&text).into_owned()));
    Row::new(cells).style(style(app))
}

fn style(app: &AppStatus) -> Style {
    match app.importance {
        _ if app.frozen => Style::new().fg(Color::Cyan),
        Importance::Foreground => Style::new().fg(Color::Green),
        Importance::Empty => Style::new().fg(Color::DarkGray),
        _ => Style::new(),
    }
}

fn rank(importance: Importance, wide: bool) -> &'static str {
    match importance {
        Importance::Foreground => "foreground",
        Importance::Visible => "visible",
        Importance::Service => "service",
        Importance::Hidden => "hidden",
        Importance::ContentProvider if wide => "content-provider",
        Importance::ContentProvider => "provider",
        Importance::Empty => "empty",
    }
}

fn io_class(class: IoClass, wide: bool) -> &'static str {
    match class {
        IoClass::TimeSensitive if !wide => "timely",
        IoClass::ForegroundDependent if !wide => "front",
        class => class.name(),
    }
}

/// What its connections or its UDP are held to.
fn held(app: &AppStatus) -> String {
    match (app.receive_window_bytes, app.udp_limit_bytes_per_s) {
        (0, 0) => String::new(),
        (0, rate) => format!("{}K/s", rate >> 10),
        (window, _) => format!("{}K", window >> 10),
    }
}

/// Why it has its rank, as far as that is known.
fn why(view: &View, app: &AppStatus) -> String {
    let listed = app.list.as_ref().map(|list| format!("list {list}"));
    let perceived = app.perceptible.map(|perceived| perceived.in_words().to_owned());
    let front = || match view.status.focus_told {
        true => "in front".to_owned(),
        false => "in front, by a guess".to_owned(),
    };
    let place = match app.importance {
        Importance::Foreground => Some(front()),
        _ => view.rank_in_words(&app.name).map(str::to_owned),
    };
    let returns = app.returns_permille.map(|permille| format!("comes back {} %", permille / 10));
    [listed, perceived, returns, place].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

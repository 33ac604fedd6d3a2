// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A [`View`] on a screen. Names of others go through [`printable`].

use fovea_apps::{printable, Standing};
use fovea_client::words::{event, mechanisms, time_of_day};
use fovea_client::Status;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Sparkline, TableState, Wrap};
use ratatui::{Frame, Terminal};
use serde_json::Value;

use crate::apps;
use crate::memory::{cells, parts, Part};
use crate::view::{Pane, View};

/// Decisions that a screen for scripts has at most.
const DECISIONS_ONCE: u16 = 12;

const KEYS: &str = "q quit  s sort  e explain  l lists  ? keys";

const HELP: [&str; 9] = [
    "up, down     choose an app (j, k; a page: PgUp, PgDn)",
    "s            sort by rank, resident, compressed, name",
    "e, Enter     explain: what was done to the app, and why",
    "l            the owner's lists",
    "p            protect the app: never killed, never frozen (again: no more)",
    "a            avoid it: killed only when nothing else gives memory",
    "f            prefer it: killed before others of its rank",
    "i            ignore it: left alone in every respect",
    "Esc          back; q quits. What a key lists holds until the daemon ends.",
];

/// The whole screen.
pub fn draw(view: &View, frame: &mut Frame) {
    let third = frame.area().height.saturating_sub(10) / 3;
    let curves = if frame.area().height >= 40 { 3 } else { 1 };
    whole(view, frame, third.clamp(3, 20), curves);
}

/// The same, with so many lines for the last decisions and for each curve.
fn whole(view: &View, frame: &mut Frame, decisions: u16, curves: u16) {
    let area = frame.area();
    let (memory, state) = (memory_lines(view, area.width), state_lines(view, area.width));
    let warnings = warnings(&view.status, area.width);
    let rows = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(memory.len() as u16),
        Constraint::Length(warnings.len() as u16),
        Constraint::Length(2 * curves),
        Constraint::Length(state.len() as u16),
        Constraint::Fill(1),
        Constraint::Length(decisions),
        Constraint::Length(1),
    ])
    .split(area);
    frame.render_widget(heading(&view.status), rows[0]);
    frame.render_widget(Paragraph::new(memory), rows[1]);
    frame.render_widget(Paragraph::new(warnings), rows[2]);
    pressure(view, frame, rows[3]);
    frame.render_widget(Paragraph::new(state), rows[4]);
    app_table(view, frame, rows[5]);
    last_decisions(view, frame, rows[6]);
    let foot = match &view.message {
        Some(message) => Span::styled(printable(message).into_owned(), Style::new().fg(Color::Yellow)),
        None => Span::raw(format!("{KEYS}  (by {})", view.sort.name())),
    };
    frame.render_widget(Line::from(foot), rows[7]);
    let beneath = Rect { height: rows[5].height + rows[6].height, ..rows[5] };
    pane(view, frame, beneath);
}

fn bold(text: impl Into<String>) -> Span<'static> {
    Span::styled(text.into(), Style::new().add_modifier(Modifier::BOLD))
}

fn heading(status: &Status) -> Line<'static> {
    let front = status.foreground.as_ref().map_or("nothing", |name| name.as_str());
    let by = match (status.sources.is_empty(), status.focus_told) {
        (true, _) => "nobody".to_owned(),
        (false, true) => status.sources.join(", "),
        (false, false) => format!("{} (a guess)", status.sources.join(", ")),
    };
    let screen = if status.screen_on { "on" } else { "off" };
    let compressed_mib = (status.compressed_pages * fovea_apps::PAGE_BYTES) >> 20;
    // On a narrow screen the end is cut.
    let rest = format!(
        "  in front: {front}  {} kills  told by {}  screen {screen}  {compressed_mib} MiB compressed so far",
        status.kills,
        printable(&by)
    );
    Line::from(vec![bold("fovea"), Span::raw(rest)])
}

/// Parts one after the other, as many to a line as fit.
fn folded(parts: Vec<String>, width: u16) -> Vec<Line<'static>> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 2 + part.chars().count() <= width.into() => {
                *line += &format!("  {part}");
            }
            _ => lines.extend(wrapped(&part, width, 2)),
        }
    }
    lines.into_iter().map(Line::from).collect()
}

/// A text on as many lines as it takes; those after the first are indented.
fn wrapped(text: &str, width: u16, indent: usize) -> Vec<String> {
    let (width, mut lines) = (usize::from(width), vec![String::new()]);
    for word in text.split_inclusive(' ') {
        let column = lines.last().map_or(0, |line| line.chars().count());
        if column > indent && column + word.trim_end().chars().count() > width {
            lines.push(" ".repeat(indent));
        }
        if let Some(line) = lines.last_mut() {
            *line += word;
        }
    }
    lines
}

fn memory_lines(view: &View, width: u16) -> Vec<Line<'static>> {
    let parts = parts(&view.status);
    let colours = [Color::Green, Color::Blue, Color::Gray, Color::Magenta, Color::DarkGray, Color::Cyan, Color::Yellow];
    let bar = parts.iter().zip(cells(&parts, width)).zip(colours).map(|((part, cells), colour)| {
        Span::styled(part.glyph.to_string().repeat(cells.into()), Style::new().fg(colour))
    });
    let said = |part: &Part| match part.besides.as_str() {
        "" => format!("{} {} {}", part.glyph, part.name, part.bytes >> 20),
        besides => format!("{} {} {} {besides}", part.glyph, part.name, part.bytes >> 20),
    };
    let mut words: Vec<_> = parts.iter().map(said).collect();
    words.push(format!("of {} MiB", parts.iter().map(|part| part.bytes).sum::<u64>() >> 20));
    let mut lines = vec![Line::from(bar.collect::<Vec<_>>())];
    lines.extend(folded(words, width));
    lines
}

/// What the owner should know.
fn warnings(status: &Status, width: u16) -> Vec<Line<'static>> {
    let mut words = Vec::new();
    if status.only_decides {
        words.push("[daemon] act = false: nothing is done of what is decided".to_owned());
    }
    if status.only_listed {
        words.push("only apps on the owner's lists are left to kill: the kernel's OOM killer may be next".to_owned());
    }
    let runaways = status.runaways.iter().map(|cgroup| format!("runaway, and no app: {}", printable(cgroup)));
    words.extend(runaways);
    words.extend(status.config_problems.iter().map(|problem| format!("config: {}", printable(problem))));
    if !status.missing.is_empty() {
        words.push(format!("lacking: {} (see `fovea check`)", printable(&status.missing.join(", "))));
    }
    let lines = words.iter().flat_map(|warning| wrapped(warning, width, 2)).take(6);
    lines.map(|line| Line::from(line).style(Style::new().fg(Color::Yellow))).collect()
}

fn pressure(view: &View, frame: &mut Frame, area: Rect) {
    const LABEL: u16 = 30;
    let halves = Layout::vertical([Constraint::Fill(1), Constraint::Fill(1)]).split(area);
    let Some(now) = view.samples.back() else {
        frame.render_widget(Line::from("waits for memory: unknown, the kernel has no PSI"), halves[0]);
        return;
    };
    let curves = [
        (
            "some task waits for memory",
            now.some,
            Color::Yellow,
            view.samples.iter().map(|s| s.some).collect::<Vec<_>>(),
        ),
        ("all tasks wait for it", now.full, Color::Red, view.samples.iter().map(|s| s.full).collect()),
    ];
    for ((label, now, colour, samples), area) in curves.into_iter().zip(halves.iter()) {
        let [words, curve] = Layout::horizontal([Constraint::Length(LABEL + 6), Constraint::Fill(1)]).areas(*area);
        frame.render_widget(Line::from(format!("{label:<27} {now:5.1} %")), words);
        let from = samples.len().saturating_sub(curve.width.into());
        // Tenths of a percent; 10 % fill it, and more changes the scale.
        let tenths: Vec<u64> = samples[from..].iter().map(|share| (share * 10.0) as u64).collect();
        let most = tenths.iter().copied().max().unwrap_or(0).max(100);
        frame.render_widget(Sparkline::default().data(&tenths).max(most).style(Style::new().fg(colour)), curve);
    }
}

fn state_lines(view: &View, width: u16) -> Vec<Line<'static>> {
    let status = &view.status;
    let mut words: Vec<String> =
        mechanisms(status).into_iter().map(|(name, words)| format!("{name}: {words}")).collect();
    let buffers: u64 = status.buffer_holders.iter().map(|holder| holder.bytes).sum();
    if buffers > 0 {
        words.push(format!("device buffers: {} MiB", buffers >> 20));
    }
    folded(words, width)
}

fn app_table(view: &View, frame: &mut Frame, area: Rect) {
    let apps = view.apps();
    if apps.is_empty() {
        let line = "no apps: start one with `fovea launch NAME -- CMD`, or log in to a desktop";
        frame.render_widget(Line::from(line), area);
        return;
    }
    let selected = view.selected.is_some().then(|| view.selected_at(&apps));
    let mut state = TableState::new().with_selected(selected);
    frame.render_stateful_widget(apps::table(view, &apps, area.width), area, &mut state);
}

/// Entries for people: not each rank, of which a change of focus has many.
fn is_shown(entry: &&Value) -> bool {
    entry["action"] != "rank"
}

/// One entry as a line: the time of day in universal time, what, whom, why.
fn entry_line(entry: &Value) -> String {
    let time = entry["unix_ms"].as_u64().map(time_of_day).unwrap_or_default();
    // Of the date nobody needs to be told here.
    let time = time.split_once(' ').map_or("", |(_, time)| time).to_owned();
    printable(&format!("{time:<9} {}", event(entry))).into_owned()
}

fn last_decisions(view: &View, frame: &mut Frame, area: Rect) {
    let mut lines = vec![Line::from(bold("last decisions (universal time)"))];
    lines.extend(latest(view.story.iter().filter(is_shown), area));
    frame.render_widget(Paragraph::new(lines), area);
}

/// The latest of some entries, the latest last, as many as fit below a title.
fn latest<'a>(entries: impl DoubleEndedIterator<Item = &'a Value>, area: Rect) -> Vec<Line<'static>> {
    let mut room = usize::from(area.height.saturating_sub(1));
    let mut shown: Vec<Line> = Vec::new();
    for entry in entries.rev() {
        let lines = wrapped(&entry_line(entry), area.width, 22);
        if lines.len() > room {
            break;
        }
        room -= lines.len();
        shown.extend(lines.into_iter().rev().map(Line::from));
    }
    shown.reverse();
    shown
}

fn pane(view: &View, frame: &mut Frame, area: Rect) {
    let (title, lines) = match &view.pane {
        Pane::Apps => return,
        Pane::Help => ("keys".to_owned(), HELP.map(Line::from).to_vec()),
        Pane::Story { app, entries } if entries.is_empty() => {
            (format!("{app}"), vec!["the journal says nothing of it".into()])
        }
        Pane::Story { app, entries } => {
            (format!("what was done to {app}, the latest last (Esc: back)"), latest(entries.iter(), area))
        }
        Pane::Lists { configured, said } => {
            let mut lines = Vec::new();
            for list in Standing::LISTS {
                for (by, lists) in [("configuration", configured), ("command", said)] {
                    let entry = |entry: &fovea_apps::Pattern| {
                        Line::from(format!("{:<8} {:<40} by {by}", list.name(), printable(entry.as_str())))
                    };
                    lines.extend(lists.of(list).iter().map(entry));
                }
            }
            if lines.is_empty() {
                lines.push("nothing is listed: p, a, f or i lists the chosen app".into());
            }
            ("the owner's lists (Esc: back)".to_owned(), lines)
        }
    };
    frame.render_widget(Clear, area);
    let lines: Vec<_> = std::iter::once(Line::from(bold(title))).chain(lines).collect();
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), area);
}

/// One screen as text, high enough for all apps.
pub fn as_text(view: &View, width: u16) -> std::io::Result<String> {
    let lines = memory_lines(view, width).len() + state_lines(view, width).len() + warnings(&view.status, width).len();
    let apps = view.status.apps.len().max(1) + 1;
    // The heading, two curves and the line of keys, which is left out.
    let height = (lines + apps + 4 + usize::from(DECISIONS_ONCE)).min(4000);
    let mut terminal = Terminal::new(TestBackend::new(width, height as u16))?;
    terminal.draw(|frame| whole(view, frame, DECISIONS_ONCE, 1))?;
    let text = text_of(terminal.backend().buffer());
    let body: Vec<&str> = text.lines().take(height - 1).collect();
    Ok(body.join("\n").trim_end().to_owned() + "\n")
}

/// A screen of that size, in memory.
#[cfg(test)]
pub fn screen(view: &View, width: u16, height: u16) -> std::io::Result<Buffer> {
    let mut terminal = Terminal::new(TestBackend::new(width, height))?;
    terminal.draw(|frame| draw(view, frame))?;
    Ok(terminal.backend().buffer().clone())
}

/// Its letters.
pub fn text_of(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width).max(1);
    let line = |cells: &[ratatui::buffer::Cell]| {
        let line: String = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
        line.trim_end().to_owned() + "\n"
    };
    buffer.content.chunks(width).map(line).collect()
}

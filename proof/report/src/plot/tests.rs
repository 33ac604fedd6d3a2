// SPDX-License-Identifier: GPL-2.0-only OR MIT
use super::sheet::style;
use super::*;
use crate::chart::{Origin, Series};

/// The attributes of elements that have all of these parts, in order.
fn attributes(markup: &str, element: &str, attribute: &str) -> Vec<String> {
    let find = |tag: &str| {
        let from = tag.find(&format!(" {attribute}=\""))? + attribute.len() + 3;
        Some(tag[from..].split('"').next()?.to_owned())
    };
    let tags = markup.split('<').filter(|t| t.starts_with(&format!("{element} ")));
    tags.filter_map(|t| find(t.split('>').next()?)).collect()
}

fn bars() -> Chart {
    let mut chart = Chart::new("Restart", Kind::Bars, "case", "ms");
    chart.bars("zram", Origin::Ours, [("N", 50.0), ("H", 100.0)]);
    chart.bars("fovea", Origin::Ours, [("N", 25.0)]);
    chart.bars(paper_twin("fovea"), Origin::Paper, [("N", 75.0)]);
    chart
}

#[test]
fn bars_are_as_long_as_their_numbers() {
    let markup = figure(&bars()).into_string();
    let widths: Vec<f64> = attributes(&markup, "rect", "width").iter().map(|w| w.parse().unwrap()).collect();
    // Four bars, N's first, and three samples in the legend.
    assert_eq!(widths.len(), 4 + 3);
    for (width, share) in widths.iter().zip([0.5, 0.25, 0.75, 1.0]) {
        assert!((width / widths[3] - share).abs() < 0.01, "{widths:?}");
    }
}

#[test]
fn the_papers_bars_are_hatched_in_the_colour_of_ours() {
    let markup = figure(&bars()).into_string();
    assert_eq!(attributes(&markup, "rect", "class")[..4], ["f0", "f2", "p2", "f0"]);
    let mut chart = Chart::new("Saved", Kind::Bars, "", "%");
    chart.paper_ranges("paper", [("N", 2.0, 13.0)]);
    let markup = figure(&chart).into_string();
    assert_eq!(attributes(&markup, "rect", "class")[0], "px");
    assert!(markup.contains(">2 to 13<"), "{markup}");
}

#[test]
fn a_series_without_points_keeps_its_colour_and_is_not_named() {
    let mut chart = bars();
    chart.series[0].points.clear();
    let markup = figure(&chart).into_string();
    assert_eq!(attributes(&markup, "rect", "class"), ["f2", "p2", "f2", "p2"]);
    assert!(!markup.contains("zram"), "{markup}");
}

#[test]
fn what_was_not_measured_is_said_and_not_drawn() {
    let mut chart = bars();
    chart.series[0].points[0].y = f64::NAN;
    let markup = figure(&chart).into_string();
    assert!(markup.contains("not measured") && !markup.contains("NaN"), "{markup}");
    chart.series.iter_mut().flat_map(|s| &mut s.points).for_each(|p| p.y = f64::INFINITY);
    assert!(figure(&chart).into_string().contains("Nothing was measured"));
    assert!(figure(&Chart::default()).into_string().contains("Nothing was measured"));
}

#[test]
fn bars_below_zero_end_at_zero() {
    let mut chart = Chart::new("Change", Kind::Bars, "", "%");
    chart.bars("ours", Origin::Ours, [("a", -20.0), ("b", 40.0)]);
    let markup = figure(&chart).into_string();
    let [x, widths] =
        ["x", "width"].map(|a| attributes(&markup, "rect", a).iter().map(|w| w.parse().unwrap()).collect::<Vec<f64>>());
    assert!((x[0] + widths[0] - x[1]).abs() < 0.2, "{x:?} {widths:?}");
}

#[test]
fn lines_are_broken_where_nothing_was_measured() {
    let mut chart = Chart::new("Hits", Kind::Lines, "size", "%");
    chart.line("lru", [(1.0, 1.0), (2.0, f64::NAN), (3.0, 3.0), (4.0, 2.0)]);
    let markup = figure(&chart).into_string();
    let line = attributes(&markup, "path", "d").into_iter().find(|d| d.matches('M').count() == 2).unwrap();
    assert_eq!((line.matches('L').count(), markup.contains("NaN")), (1, false));
}

/// Numbers of a path, in order.
fn along(path: &str) -> Vec<f64> {
    path.split(|c: char| c.is_ascii_alphabetic() || c == ' ').filter_map(|n| n.parse().ok()).collect()
}

#[test]
fn error_bars_reach_as_far_as_the_margin_and_the_number_stands_clear() {
    let mut chart = bars();
    chart.series[0].points[1].margin = Some(20.0);
    let markup = figure(&chart).into_string();
    let errors: Vec<String> = attributes(&markup, "path", "d").into_iter().filter(|d| d.contains("v6")).collect();
    let [error] = &errors[..] else { panic!("{errors:?}") };
    let at = along(error);
    let (from, to) = (at[0], at[2]);
    let rectangles = |a| attributes(&markup, "rect", a).iter().map(|v| v.parse().unwrap()).collect::<Vec<f64>>();
    // H's bar is the fourth, of 100: the error bar goes from 80 to 120.
    let (x, width) = (rectangles("x")[3], rectangles("width")[3]);
    assert!((from - (x + 0.8 * width)).abs() < 0.3 && (to - (x + 1.2 * width)).abs() < 0.3, "{error}");
    assert!(markup.contains(&format!("x=\"{}\" y=\"{}\">100 ± 20<", px(to + 4.0), px(at[1] + 4.5))), "{markup}");
    assert!(markup.contains("<title>zram, H: 100 ± 20</title>"), "{markup}");
}

#[test]
fn lines_have_error_bars_and_courses_have_none() {
    let mut chart = Chart::new("Hits", Kind::Lines, "size", "%");
    chart.line("lru", [(1.0, 10.0), (2.0, 20.0)]);
    chart.series[0].points[0].margin = Some(5.0);
    let of = |chart: &Chart| {
        let markup = figure(chart).into_string();
        let paths = attributes(&markup, "path", "d");
        (paths.iter().find(|d| d.contains("h6")).map(|d| along(d)), paths, markup)
    };
    let (error, paths, markup) = of(&chart);
    let (error, line) = (error.unwrap(), along(paths.iter().find(|d| d.contains('L')).unwrap()));
    // From 15 down to 5; 10 and 20 are where the line begins and ends.
    let per_one = (line[1] - line[3]) / 10.0;
    assert!((error[0] - line[0]).abs() < 0.2, "{error:?} {line:?}");
    let ends = [line[1] - 5.0 * per_one, line[1] + 5.0 * per_one];
    assert!((error[1] - ends[0]).abs() < 0.3 && (error[2] - ends[1]).abs() < 0.3, "{error:?} {line:?}");
    assert!(markup.contains("<title>lru, 1: 10 ± 5</title>"), "{markup}");
    assert_eq!(of(&Chart { kind: Kind::Time, ..chart }).0, None);
}

#[test]
fn lines_over_names_are_bars() {
    let mut chart = Chart { kind: Kind::Lines, ..bars() };
    assert!(figure(&chart).into_string().contains("<rect"));
    chart.series.push(Series::default());
    chart.series[0].points[0].x = Place::Number(7.0);
    assert!(figure(&chart).into_string().contains(">7<"));
}

#[test]
fn too_many_bars_are_left_to_the_table() {
    let mut chart = Chart::new("Hits", Kind::Bars, "size", "%");
    chart.bars("lru", Origin::Ours, (0..MOST_BARS + 1).map(|n| (n.to_string(), 1.0)));
    assert!(figure(&chart).into_string().contains("the table has it"));
}

#[test]
fn nothing_is_drawn_outside_of_the_picture() {
    let mut chart = Chart::new("Long", Kind::Bars, "the workload of which the trace was taken", "%");
    chart.bars("a", Origin::Ours, [("a name that is far too long to stand beside any bar", 99.9), ("b", -1e9)]);
    let markup = figure(&chart).into_string();
    let numbers = |e: &str, a: &str| attributes(&markup, e, a).iter().map(|v| v.parse().unwrap()).collect::<Vec<f64>>();
    let ends = numbers("rect", "x").into_iter().zip(numbers("rect", "width")).map(|(x, w)| x + w);
    assert!(numbers("text", "x").into_iter().chain(ends).all(|x| (0.0..=WIDTH).contains(&x)), "{markup}");
    assert!(markup.contains("<title>a name that is far too long to stand beside any bar</title>"), "{markup}");
    // What is left of it does not fit in the second line.
    assert!(markup.contains(">a name that is far<") && markup.contains(">too long to stand b…<"), "{markup}");
}

#[test]
fn names_are_broken_between_words_or_cut() {
    assert_eq!(two_lines("free normal before start", 165.0), ["free normal before", "start"]);
    assert_eq!(two_lines("short", 165.0), ["short"]);
    assert_eq!(two_lines("unfragmented-virtio-60", 165.0), ["unfragmented-virtio-", "60"]);
    assert_eq!(two_lines("averylongnamewithoutanyspaceinit", 80.0), ["averylong…"]);
    assert_eq!(two_lines(" x", 8.0), ["…"]);
}

fn course() -> Chart {
    let mut chart = Chart::new("Free memory", Kind::Time, "s", "MiB");
    chart.line("fovea: 2 kills", [(0.0, 200.0), (2.0, 100.0), (4.0, 50.0)]);
    chart.series[0].events = vec![1.0, 9.0, f64::NAN];
    chart
}

#[test]
fn events_stand_on_the_line_and_points_over_time_are_not_marked() {
    let markup = figure(&course()).into_string();
    let class = |wanted: &str| {
        let at = attributes(&markup, "path", "class").iter().filter(|c| c.starts_with(wanted)).count();
        (at, markup.contains("NaN"))
    };
    // The line and its sample in the legend; two crosses; one mark, which is the legend's.
    assert_eq!((class("line l2"), class("event l2"), class("f2")), ((2, false), (2, false), (1, false)));
    let event = markup.split("event l2\" d=\"M").nth(1).unwrap();
    let at: Vec<f64> = event.split(['L', ' ']).take(2).map(|n| n.parse().unwrap()).collect();
    let line: Vec<f64> = attributes(&markup, "path", "d")
        .iter()
        .find(|d| d.matches('L').count() == 2 && d.matches('M').count() == 1)
        .unwrap()
        .split(['M', 'L', ' '])
        .filter_map(|n| n.parse().ok())
        .collect();
    // Half way between the first two points; the cross's arms are 4 long.
    assert!((at[0] + 4.0 - (line[0] + line[2]) / 2.0).abs() < 0.2, "{at:?} {line:?}");
    assert!((at[1] + 4.0 - (line[1] + line[3]) / 2.0).abs() < 0.2, "{at:?} {line:?}");
}

#[test]
fn a_sheet_holds_every_chart_and_needs_nothing_else() {
    let empty = Chart::new("Nothing & none", Kind::Bars, "", "");
    let mut uncertain = bars();
    uncertain.series[0].points[0].margin = Some(1.0);
    let svg = sheet("All <of> it", &[bars(), course(), empty, uncertain]).into_string();
    for text in ["All &lt;of&gt; it", "Restart", "Free memory", "Nothing &amp; none", "Nothing was measured"] {
        assert!(svg.contains(text), "{text}");
    }
    assert!(!svg.contains("var(") && !svg.contains("NaN") && svg.matches("http").count() == 1, "{svg}");
    // Every class that is used has a rule.
    let rules = style();
    for class in attributes(&svg, "path", "class").iter().flat_map(|c| c.split(' ')) {
        assert!(rules.contains(&format!(".{class} ")), "{class}");
    }
    let height: f64 = attributes(&svg, "svg", "height")[0].parse().unwrap();
    let one = |chart: Chart| attributes(&sheet("", &[chart]).into_string(), "svg", "height")[0].parse::<f64>().unwrap();
    assert!(height < one(bars()) * 2.0 + one(course()), "two columns");
    // The last legend is inside.
    let lowest = svg.split("translate(").skip(1).map(|t| t.split([' ', ')']).nth(1).unwrap().parse().unwrap());
    assert!(lowest.fold(0.0, f64::max) < height);
}

#[test]
fn a_sheet_of_nothing_is_a_title() {
    assert!(sheet("Alone", &[]).into_string().contains("Alone"));
}

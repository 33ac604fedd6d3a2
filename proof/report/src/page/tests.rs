// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The page as a browser's parser reads it.

use std::collections::BTreeMap;

use html5ever::{parse_document, tendril::TendrilSink, ParseOpts};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use proptest::prelude::*;

use super::*;
use crate::chart::{Kind, Origin, Place, Point, Series};
use crate::document::Case;
use crate::verdict::Seeds;

/// Every element's name and attributes, and the text of all.
#[derive(Default)]
struct Seen {
    elements: Vec<(String, BTreeMap<String, String>)>,
    text: String,
    comments: usize,
}

fn walk(node: &Handle, seen: &mut Seen) {
    match &node.data {
        NodeData::Element { name, attrs, .. } => {
            let attributes = attrs.borrow().iter().map(|a| (a.name.local.to_string(), a.value.to_string())).collect();
            seen.elements.push((name.local.to_string(), attributes));
        }
        NodeData::Text { contents } => seen.text += &contents.borrow(),
        NodeData::Comment { .. } => seen.comments += 1,
        _ => {}
    }
    for child in node.children.borrow().iter() {
        walk(child, seen);
    }
}

/// Parses; whatever a parser has to repair is an error.
fn parse(html: &str) -> Seen {
    let options = ParseOpts {
        tokenizer: html5ever::tokenizer::TokenizerOpts { exact_errors: true, ..Default::default() },
        ..ParseOpts::default()
    };
    let dom = parse_document(RcDom::default(), options).one(html);
    let errors = dom.errors.borrow();
    assert!(errors.is_empty(), "{errors:?}\n{html}");
    let mut seen = Seen::default();
    walk(&dom.document, &mut seen);
    seen
}

/// What may be on a page: anything else would be somebody's text that became markup.
const ELEMENTS: &str =
    "html head meta title style body svg defs pattern path header h1 main section p span div table thead \
    tbody tr th td a h2 h3 ul li b code figure figcaption g rect text footer details summary br";

/// No script, no style of an element's own, no event, nothing fetched, and every link leads to a place on the page.
fn check_closed(seen: &Seen) {
    let ids: Vec<&String> = seen.elements.iter().filter_map(|(_, a)| a.get("id")).collect();
    let mut distinct = ids.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), ids.len(), "{ids:?}");
    for (element, attributes) in &seen.elements {
        assert!(ELEMENTS.split_whitespace().any(|e| e == element), "{element}");
        for (name, value) in attributes {
            assert!(
                !name.starts_with("on") && !["src", "srcset", "style", "action", "data"].contains(&name.as_str()),
                "{name}"
            );
            if ["x", "y", "width", "height", "d", "viewBox"].contains(&name.as_str()) {
                assert!(!value.contains("NaN") && !value.contains("inf"), "{element} {name}={value}");
            }
            if name == "href" {
                let place = value.strip_prefix('#').unwrap_or_else(|| panic!("{value}"));
                assert!(ids.iter().any(|id| *id == place), "{value}");
            }
        }
    }
}

fn experiment(text: &str, y: f64) -> Experiment {
    let point = |x| Point { margin: Some(y.abs()), ..Point::new(x, y) };
    let series = |points| Series { name: text.into(), points, events: vec![y], ..Series::default() };
    let chart = |kind, x| Chart {
        title: text.into(),
        kind,
        x_axis: text.into(),
        y_axis: text.into(),
        series: vec![series(vec![point(x)]), Series { origin: Origin::Paper, ..series(Vec::new()) }],
        ..Chart::default()
    };
    Experiment {
        id: text.into(),
        title: text.into(),
        source: text.into(),
        claim: text.into(),
        findings: Findings {
            cases: vec![case(text, y)],
            margins: vec![case(text, y)],
            verdicts: vec![claim(text, y)],
            charts: vec![
                chart(Kind::Lines, Place::Number(y)),
                chart(Kind::Time, Place::Number(y)),
                chart(Kind::Bars, Place::Name(text.into())),
            ],
            notes: vec![text.into()],
        },
        quick: true,
        origin: text.into(),
        made_by: Document { commit: text.into(), kernel: text.into(), ..Document::of_host(text, Vec::new()) },
    }
}

fn case(text: &str, y: f64) -> Case {
    let figures = [(text.to_owned(), y), (format!("{text}_ns"), y), ("user_memory_bytes".into(), 1.0)];
    Case { case: text.into(), configuration: text.into(), figures: figures.into() }
}

fn claim(text: &str, y: f64) -> Verdict {
    let text = || text.to_owned();
    Verdict {
        id: text(),
        claim: text(),
        source: text(),
        figure: y,
        bound: text(),
        margin: Some(y),
        seeds: Some(Seeds { holds: 1, of: 3 }),
        pass: false,
        not_shown: Some(text()),
    }
}

fn report(text: &str, y: f64) -> Report {
    let saved = |scenario: &str, qemu: &str| Saved {
        path: text.into(),
        document: Document {
            scenario: scenario.into(),
            mode: text.into(),
            qemu: qemu.into(),
            command: vec![text.into()],
            verdicts: vec![claim(text, y)],
            cases: vec![case(text, y), Case { configuration: "other".into(), ..case(text, 2.0 * y) }],
            ..Document::default()
        },
    };
    Report {
        experiments: vec![experiment(text, y), experiment(text, -y)],
        documents: vec![saved(text, text), saved(text, ""), saved("lowmem", "7.2")],
        left_out: vec![LeftOut { what: text.into(), why: text.into() }],
        command: vec![text.into()],
        commit: text.into(),
        stamp: Some(text.into()),
    }
}

#[test]
#[should_panic(expected = "Unexpected open element")]
fn the_parser_sees_what_is_not_closed() {
    parse("<!DOCTYPE html><html><head><title>x</title></head><body><p><b>one</p></body></html>");
}

#[test]
fn an_empty_page_is_whole() {
    check_closed(&parse(&Report::default().html(&[], &[])));
}

#[test]
fn verdicts_that_miss_come_before_all_figures() {
    let html = report("some", 1.0).html(&[], &[]);
    let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text}"));
    assert!(at("5 fall short") < at("What falls short"));
    assert!(at("What falls short") < at("<figure"));
    assert!(html.contains("0 verdicts hold"));
}

#[test]
fn hostile_texts_stay_texts() {
    let hostile = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onload='x",
        "</style></svg></title><!-- ",
        "]]><![CDATA[",
        "&amp;&#0;&lt",
        "\u{0}\u{1}\u{7f}\u{fffe}\u{202e}",
        "{{7*7}}",
        "",
        "line\r\nbreak",
    ];
    for text in hostile {
        let seen = parse(&report(text, 1.5).html(&[], &[]));
        check_closed(&seen);
        assert_eq!(seen.comments, 0);
        if text.is_ascii() && !text.contains(['\0', '\r']) {
            assert!(seen.text.contains(text), "{text}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_texts_and_numbers_make_a_whole_page(text in any::<String>(), y in any::<f64>()) {
        let report = report(&text, y);
        let html = report.html(&[], &[]);
        check_closed(&parse(&html));
        prop_assert_eq!(&html, &report.html(&[], &[]));
    }
}

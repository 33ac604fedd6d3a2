// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Reads what `kmod/include/contract.h` consists of: lists of `X(...)`, and texts. The build script and the tests use it.

/// What a header defines.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// `#define NAME(X)`, and what is in each `X(...)`.
    pub lists: Vec<(String, Vec<Vec<String>>)>,
    /// `#define NAME "text"`.
    pub texts: Vec<(String, String)>,
}

/// Reads a header. Definitions of other forms are passed over.
pub fn parse(text: &str) -> Result<Header, String> {
    let text = without_comments(text)?.replace("\\\n", " ");
    let mut header = Header::default();
    for line in text.lines() {
        let Some(definition) = line.strip_prefix("#define ") else { continue };
        let Some((name, value)) = definition.split_once(|c: char| c.is_whitespace()) else { continue };
        let value = value.trim();
        if let Some(name) = name.strip_suffix("(X)") {
            header.lists.push((name.to_owned(), entries(value).map_err(|why| format!("{name}: {why}"))?));
        } else if let Some(text) = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) {
            header.texts.push((name.to_owned(), text.to_owned()));
        }
    }
    Ok(header)
}

fn without_comments(text: &str) -> Result<String, String> {
    let (mut left, mut found) = (text, String::new());
    while let Some((before, rest)) = left.split_once("/*") {
        found.push_str(before);
        left = rest.split_once("*/").ok_or("a comment has no end")?.1;
    }
    Ok(found + left)
}

fn entries(mut left: &str) -> Result<Vec<Vec<String>>, String> {
    let mut found: Vec<Vec<String>> = Vec::new();
    while !left.trim_start().is_empty() {
        let entry = left.trim_start().strip_prefix("X(").and_then(|rest| rest.split_once(')'));
        let (inside, rest) = entry.ok_or_else(|| format!("no X(...): {:?}", left.trim_start()))?;
        let words: Vec<String> = inside.split(',').map(|word| word.trim().to_owned()).collect();
        let good =
            |word: &String| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        if !words.iter().all(good) || words[0].contains('-') || found.iter().any(|other| other[0] == words[0]) {
            return Err(format!("X({inside}): no name, or twice"));
        }
        found.push(words);
        left = rest;
    }
    match found.is_empty() {
        true => Err("an empty list".into()),
        false => Ok(found),
    }
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The order in which pages are read: the steps' in which a start wants them, within a step the storage's, in pieces that fill its
//! commands.

use std::ops::Range;

use crate::Pages;

/// Pages of a file that lie in a row on the storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Which.
    pub pages: Range<u32>,
    /// Where the first lies: the storage's own page number.
    pub at: u64,
}

/// Pages of one file that are asked for in one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// In which step of the start they are wanted.
    pub step: u8,
    /// Which file, by its index in what was asked for.
    pub file: usize,
    /// Which pages.
    pub pages: Range<u32>,
    /// Where the first lies; `None` if no extent says so.
    pub at: Option<u64>,
}

/// What the storage takes.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// Pages of its largest command.
    pub pages: u32,
    /// Pages not wanted between two that are: so many are read along, if one command then does for two.
    pub gap_pages: u32,
}

/// Orders what is wanted of each file, by step, and within each by its place on the storage. Pages of no extent come last in it, file
/// by file.
pub fn order(wanted: &[Vec<(u8, Pages)>], extents: &[Vec<Extent>], command: Command) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (file, parts) in wanted.iter().enumerate() {
        let own = extents.get(file).map_or(&[][..], Vec::as_slice);
        for (step, pages) in parts {
            let (step, mut rest) = (*step, pages.clone());
            for extent in own.iter().filter(|extent| !extent.pages.is_empty()) {
                let there = Pages::from(extent.pages.clone());
                for part in rest.both(&there).ranges() {
                    let at = extent.at + u64::from(part.start - extent.pages.start);
                    pieces.push(Piece { step, file, pages: part.clone(), at: Some(at) });
                }
                rest = rest.without(&there);
            }
            pieces.extend(rest.ranges().iter().map(|part| Piece { step, file, pages: part.clone(), at: None }));
        }
    }
    pieces.sort_by_key(|piece| (piece.step, piece.at.is_none(), piece.at, piece.file, piece.pages.start));
    let mut merged: Vec<Piece> = Vec::new();
    for piece in pieces {
        match merged.last_mut().filter(|last| merges(last, &piece, command)) {
            Some(last) => last.pages.end = piece.pages.end,
            None => merged.push(piece),
        }
    }
    let most = command.pages.max(1);
    merged.into_iter().flat_map(|piece| cut(piece, most)).collect()
}

/// Whether two pieces of a step become one: they touch on the storage as in the file, or the gap is small and one command does for both.
fn merges(last: &Piece, next: &Piece, command: Command) -> bool {
    let Some(gap) =
        next.pages.start.checked_sub(last.pages.end).filter(|_| (last.step, last.file) == (next.step, next.file))
    else {
        return false;
    };
    let length = u64::from(last.pages.end - last.pages.start);
    let in_a_row = match (last.at, next.at) {
        (Some(last), Some(next)) => last + length + u64::from(gap) == next,
        // Nobody knows, or nobody needs to: most files lie in a row.
        (None, None) => true,
        _ => false,
    };
    let fits = next.pages.end - last.pages.start <= command.pages;
    in_a_row && (gap == 0 || (gap <= command.gap_pages && fits))
}

fn cut(piece: Piece, most: u32) -> impl Iterator<Item = Piece> {
    let Piece { step, file, pages, at } = piece;
    (0..(pages.end - pages.start).div_ceil(most)).map(move |nth| {
        let start = pages.start + nth * most;
        let at = at.map(|at| at + u64::from(nth * most));
        Piece { step, file, pages: start..pages.end.min(start.saturating_add(most)), at }
    })
}

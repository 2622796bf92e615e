//! Tables as kubectl prints them, except that they fit the terminal: the last column is folded, and columns without
//! enough room are printed below the others.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::Screen;
use super::style::{HEAD, PLAIN, Painted, paint};
use crate::invocation::UNBROKEN_SPACE;

const GAP: usize = 3;
/// If a folded column is narrower than this, lines that the terminal breaks are easier to read.
const NARROWEST: usize = 24;
/// The indentation of a cell relative to the one that it is below.
const HANG: usize = 2;
/// The indentation of cells that are printed below the others of a list.
const BELOW: usize = 4;

#[derive(Debug)]
pub struct Table {
    indent: usize,
    /// Whether cells with too little room go to the next line. A list has one line for each item.
    below: bool,
    rows: Vec<Vec<Cell>>,
}

/// Texts side by side, each in its style.
#[derive(Clone, Debug)]
pub struct Cell(Vec<Painted>);

impl Table {
    pub fn new(head: &[&str]) -> Table {
        Table { indent: 0, below: false, rows: vec![head.iter().map(|name| paint(HEAD, name).into()).collect()] }
    }

    /// A table that is not a list, but the lines of one item, all indented.
    pub fn plain(indent: usize) -> Table {
        Table { indent, below: true, rows: Vec::new() }
    }

    pub fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        self.rows.push(cells.into());
    }

    pub fn write(&self, screen: &mut Screen) -> io::Result<()> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        // Cells that end a shorter row may extend to the right: they do not widen their column.
        let cells = |column: usize| {
            self.rows.iter().filter(move |row| row.len() == columns).filter_map(move |row| row.get(column))
        };
        let width = |column: usize, most: usize| {
            let widths = cells(column).map(Cell::width);
            widths.filter(|width| column > 0 || *width <= most).max().unwrap_or(0)
        };
        let widths = |most: usize| (0..columns).map(|column| width(column, most)).collect::<Vec<usize>>();
        // Neither does a first cell that leaves no room for the others: they are printed below it.
        let fits =
            |room: usize| self.indent + widths(usize::MAX).iter().map(|width| width + GAP).sum::<usize>() <= room + GAP;
        let room = screen.width().filter(|room| self.below && columns > 1 && !fits(*room));
        let most = room.map_or(usize::MAX, |room| room * 2 / 5);
        let widths = widths(most);
        let beside = self.beside(&widths, screen.width());
        for row in &self.rows {
            let (row, rest) = row.split_at(beside.min(row.len()));
            let filled = row.iter().rposition(|cell| cell.width() > 0).map_or(0, |last| last + 1);
            let Some((last, others)) = row[..filled].split_last() else { continue };
            let (mut starts, mut at, mut gap, mut fresh) = (Vec::new(), self.indent, self.indent, true);
            for (column, (cell, width)) in others.iter().zip(&widths).enumerate() {
                if column == 0 && cell.width() > most {
                    cell.write_folded(at, gap, screen)?;
                    starts.push(at);
                    at += width + GAP;
                    gap = at;
                    fresh = true;
                    continue;
                }
                if cell.width() == 0 {
                    starts.push(at);
                    (at, gap) = (at + width + GAP, gap + width + GAP);
                    continue;
                }
                if let Some(lower) = self.lower(&starts, at, cell.width(), screen.width()) {
                    end_line(fresh, screen)?;
                    (at, gap) = (lower, lower);
                }
                write!(screen, "{:gap$}{cell}", "")?;
                fresh = false;
                starts.push(at + cell.indent());
                gap = (width + GAP).saturating_sub(cell.width()).max(1);
                at += cell.width() + gap;
            }
            if let Some(lower) = self.lower(&starts, at, last.needed(), screen.width()) {
                end_line(fresh, screen)?;
                (at, gap) = (lower, lower);
            }
            last.write_folded(at, gap, screen)?;
            write_below(rest, screen)?;
        }
        Ok(())
    }

    /// The column on the next line for a cell that has too little room: below one of the cells before it.
    fn lower(&self, starts: &[usize], at: usize, needed: usize, room: Option<usize>) -> Option<usize> {
        let room = room.filter(|room| self.below && at + needed > *room)?;
        let lower = starts.iter().rev().find(|start| *start + needed <= room).or(starts.first())?;
        let hanging = (lower + HANG).min(room.saturating_sub(needed)).max(*lower);
        Some(hanging).filter(|start| *start < at)
    }

    /// The number of columns of a list that fit beside each other.
    fn beside(&self, widths: &[usize], room: Option<usize>) -> usize {
        let Some(room) = room.filter(|_| !self.below) else { return widths.len() };
        let last = self.rows.iter().filter(|row| row.len() == widths.len()).filter_map(|row| row.last());
        let needed_by_last = last.map(Cell::needed).max().unwrap_or(0);
        let mut start = 0;
        let fits = |(column, width): (usize, &usize)| {
            let is_last = column + 1 == widths.len();
            let needed = if is_last { needed_by_last } else { *width };
            let fits = column == 0 || start + needed <= room;
            start += width + GAP;
            fits
        };
        widths.iter().enumerate().map(fits).take_while(|fits| *fits).count()
    }
}

fn end_line(fresh: bool, screen: &mut Screen) -> io::Result<()> {
    if fresh { Ok(()) } else { writeln!(screen) }
}

/// The cells of a list that had no room, as many on a line as fit.
fn write_below(cells: &[Cell], screen: &mut Screen) -> io::Result<()> {
    let room = screen.width().unwrap_or(usize::MAX);
    let mut at = 0;
    for cell in cells.iter().filter(|cell| cell.width() > 0) {
        if at > 0 && at + GAP + cell.width() > room {
            writeln!(screen)?;
            at = 0;
        }
        for (i, line) in cell.folded(Some(room.saturating_sub(BELOW).max(NARROWEST))).iter().enumerate() {
            if i > 0 {
                writeln!(screen)?;
                at = 0;
            }
            let gap = if at == 0 { BELOW } else { GAP };
            write!(screen, "{:gap$}{line}", "")?;
            at += gap + line.width();
        }
    }
    if at > 0 { writeln!(screen) } else { Ok(()) }
}

impl Cell {
    fn width(&self) -> usize {
        self.0.iter().map(|span| width(&span.text)).sum()
    }

    /// The number of leading spaces.
    fn indent(&self) -> usize {
        self.0.first().map_or(0, |first| first.text.len() - first.text.trim_start_matches(' ').len())
    }

    /// Its minimum width: that of its longest word, and enough to be readable. A command may be longer.
    fn needed(&self) -> usize {
        let Some((last, first)) = self.0.split_last() else { return 0 };
        let start = first.iter().map(|span| width(&span.text)).sum::<usize>();
        let words = last.text.split(' ').filter(|word| !word.contains(UNBROKEN_SPACE));
        let longest = words.map(width).max().unwrap_or(0);
        self.width().min(NARROWEST.max(start + longest))
    }

    /// Writes a cell that starts at column `at`, after a gap, folded there.
    fn write_folded(&self, at: usize, gap: usize, screen: &mut Screen) -> io::Result<()> {
        let room = screen.width().map(|width| width.saturating_sub(at).max(NARROWEST));
        for (i, line) in self.folded(room).iter().enumerate() {
            let gap = if i == 0 { gap } else { at };
            writeln!(screen, "{:gap$}{line}", "")?;
        }
        Ok(())
    }

    /// Lines no wider than `room`: the last text is folded, and the texts before it are on the first line.
    fn folded(&self, room: Option<usize>) -> Vec<Cell> {
        let Some((last, first)) = self.0.split_last() else { return Vec::new() };
        let start = self.width() - width(&last.text);
        let mut first = Some(first.to_vec());
        let lines = fold(&last.text, room.map(|room| room.saturating_sub(start)));
        let line = |text: String| {
            let mut spans = first.take().unwrap_or_else(|| vec![paint(PLAIN, " ".repeat(start))]);
            spans.push(paint(last.style, text));
            Cell(spans)
        };
        lines.into_iter().map(line).collect()
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|span| span.fmt(f))
    }
}

impl From<Painted> for Cell {
    fn from(span: Painted) -> Self {
        Cell(vec![span])
    }
}

impl<const N: usize> From<[Painted; N]> for Cell {
    fn from(spans: [Painted; N]) -> Self {
        Cell(spans.into())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        paint(PLAIN, text).into()
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        paint(PLAIN, text).into()
    }
}

/// How many columns a text takes. Most are plain, and long lists have many.
fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

/// `text` in lines no wider than `width`, broken at spaces. Its indent stays.
pub fn fold(text: &str, width: Option<usize>) -> Vec<String> {
    let Some(width) = width else { return vec![text.to_owned()] };
    let words = text.trim_start_matches(' ');
    let mut lines = vec![text[..text.len() - words.len()].to_owned()];
    for word in words.split(' ') {
        match lines.last_mut() {
            Some(line) if line.trim_start().is_empty() => line.push_str(word),
            Some(line) if self::width(line) + 1 + self::width(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_folded_at_spaces_and_long_words_are_kept_whole() {
        assert_eq!(fold("one two three", Some(7)), ["one two", "three"]);
        assert_eq!(fold("incomprehensible", Some(4)), ["incomprehensible"]);
        assert_eq!(fold("as it is", None), ["as it is"]);
        assert_eq!(fold("  indented: text", Some(12)), ["  indented:", "text"]);
        assert_eq!(fold("see a\u{1f}command", Some(7)), ["see", "a\u{1f}command"]);
    }
}

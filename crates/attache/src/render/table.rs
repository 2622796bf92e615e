//! Tables as kubectl prints them, except that the last column is folded to fit the terminal.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::Screen;
use super::style::{HEAD, PLAIN, Painted, paint};

const GAP: usize = 3;
/// Narrower than this, a folded column is harder to read than lines that the terminal breaks.
const NARROWEST: usize = 24;

#[derive(Debug)]
pub struct Table {
    indent: usize,
    rows: Vec<Vec<Cell>>,
}

/// Texts side by side, each in its style.
#[derive(Clone, Debug)]
pub struct Cell(Vec<Painted>);

impl Table {
    pub fn new(head: &[&str]) -> Table {
        Table { indent: 0, rows: vec![head.iter().map(|name| paint(HEAD, name).into()).collect()] }
    }

    /// Without a head, every line indented.
    pub fn plain(indent: usize) -> Table {
        Table { indent, rows: Vec::new() }
    }

    pub fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        self.rows.push(cells.into());
    }

    pub fn write(&self, screen: &mut Screen) -> io::Result<()> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        // Cells that end a shorter row may stick out: they do not widen their column.
        let cells = |column: usize| {
            self.rows.iter().filter(move |row| row.len() == columns).filter_map(move |row| row.get(column))
        };
        let widths: Vec<usize> = (0..columns).map(|column| cells(column).map(Cell::width).max().unwrap_or(0)).collect();
        let last_at: usize = self.indent + widths.iter().rev().skip(1).map(|width| width + GAP).sum::<usize>();
        for row in &self.rows {
            let filled = row.iter().rposition(|cell| cell.width() > 0).map_or(0, |last| last + 1);
            let Some((last, others)) = row[..filled].split_last() else { continue };
            write!(screen, "{:1$}", "", self.indent)?;
            let mut at = self.indent;
            for (cell, width) in others.iter().zip(&widths) {
                let gap = (width + GAP).saturating_sub(cell.width()).max(1);
                write!(screen, "{cell}{:gap$}", "")?;
                at += cell.width() + gap;
            }
            let room = screen.width().map(|width| width.saturating_sub(at)).filter(|room| *room >= NARROWEST);
            last.write_folded(room, if others.is_empty() { self.indent } else { last_at }, screen)?;
        }
        Ok(())
    }
}

impl Cell {
    fn width(&self) -> usize {
        self.0.iter().map(|span| span.text.width()).sum()
    }

    fn write_folded(&self, room: Option<usize>, indent: usize, screen: &mut Screen) -> io::Result<()> {
        let [span] = self.0.as_slice() else { return writeln!(screen, "{self}") };
        for (i, line) in fold(&span.text, room).into_iter().enumerate() {
            let indent = if i == 0 { 0 } else { indent };
            writeln!(screen, "{:indent$}{}", "", paint(span.style, line))?;
        }
        Ok(())
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

/// `text` in lines no wider than `width`, broken at spaces.
pub fn fold(text: &str, width: Option<usize>) -> Vec<String> {
    let Some(width) = width else { return vec![text.to_owned()] };
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.width() + 1 + word.width() <= width => {
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
    }
}

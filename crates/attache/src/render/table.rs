//! Tables as kubectl prints them, except that the last column is folded to fit the terminal.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::Screen;
use super::style::{HEAD, Painted, paint};

const GAP: usize = 3;
/// Narrower than this, a folded column is harder to read than lines that the terminal breaks.
const NARROWEST: usize = 24;

#[derive(Debug)]
pub struct Table {
    rows: Vec<Vec<Painted>>,
}

impl Table {
    pub fn new(head: &[&str]) -> Table {
        Table { rows: vec![head.iter().map(|name| paint(HEAD, name)).collect()] }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = Painted>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub fn write(&self, screen: &mut Screen) -> io::Result<()> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|column| self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.text.width()).max())
            .map(Option::unwrap_or_default)
            .collect();
        let last_at: usize = widths.iter().rev().skip(1).map(|width| width + GAP).sum();
        let last_width = screen.width().map(|width| width.saturating_sub(last_at)).filter(|width| *width >= NARROWEST);
        for row in &self.rows {
            let Some((last, others)) = row.split_last() else { continue };
            for (cell, width) in others.iter().zip(&widths) {
                write!(screen, "{cell}{:1$}", "", width + GAP - cell.text.width())?;
            }
            for (i, line) in fold(&last.text, last_width).into_iter().enumerate() {
                let indent = if i == 0 { 0 } else { last_at };
                writeln!(screen, "{:indent$}{}", "", paint(last.style, line))?;
            }
        }
        Ok(())
    }
}

/// `text` in lines no wider than `width`, broken at spaces.
pub fn fold(text: &str, width: Option<usize>) -> Vec<String> {
    let mut lines = vec![String::new()];
    let Some(width) = width else { return vec![text.to_owned()] };
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

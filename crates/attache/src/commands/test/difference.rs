//! The expected and the actual value, side by side.

use std::io::{self, Write};
use std::ops::Range;

use attache_engine::Value;
use attache_engine::policytest::Mismatch;
use attache_engine::text::to_yaml;
use similar::{Algorithm, DiffTag, capture_diff_slices};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::render::Screen;
use crate::render::style::{BAD, GOOD, HEAD, PLAIN, paint};

/// The width if that of the terminal is unknown.
const USUAL_WIDTH: usize = 100;
const INDENT: &str = "    ";
/// The number of differences that are listed.
const SHOWN: usize = 5;

pub fn write(expected: &Value, actual: &Value, screen: &mut Screen) -> io::Result<()> {
    let (left, right) = (to_yaml(expected), to_yaml(actual));
    let (left, right): (Vec<&str>, Vec<&str>) = (left.lines().collect(), right.lines().collect());
    let most = (screen.width().unwrap_or(USUAL_WIDTH).saturating_sub(INDENT.len() + 3) / 2).max(20);
    let width = left.iter().map(|line| line.width()).max().unwrap_or(0).clamp("expected".len(), most);
    let title = format!("{INDENT}{:width$} │ actual", "expected");
    writeln!(screen, "{}", paint(HEAD, title))?;
    for op in capture_diff_slices(Algorithm::Myers, &left, &right) {
        let same = op.tag() == DiffTag::Equal;
        let left = column(&left, op.old_range(), width);
        let right = column(&right, op.new_range(), most);
        for row in 0..left.len().max(right.len()) {
            let cell = |column: &[String]| column.get(row).cloned().unwrap_or_default();
            let (left, right) = (cell(&left), cell(&right));
            let padding = " ".repeat(width - left.width());
            let (mark, good, bad) = if same { ("│", PLAIN, PLAIN) } else { ("≠", GOOD, BAD) };
            let right = if right.is_empty() { String::new() } else { format!(" {}", paint(bad, right)) };
            writeln!(screen, "{INDENT}{}{padding} {mark}{right}", paint(good, left))?;
        }
    }
    Ok(())
}

/// The paths at which the expected and the actual value differ.
pub fn places(mismatch: &Mismatch) -> String {
    let paths = mismatch.paths();
    let shown: Vec<String> = paths.iter().take(SHOWN).map(ToString::to_string).collect();
    match paths.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more places", shown.join(", ")),
    }
}

/// Some lines; long ones are broken.
fn column(lines: &[&str], range: Range<usize>, width: usize) -> Vec<String> {
    lines[range].iter().flat_map(|line| pieces(line, width)).collect()
}

fn pieces(line: &str, width: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut used = 0;
    for char in line.chars() {
        let wide = char.width().unwrap_or(0);
        if used + wide > width {
            pieces.push(String::new());
            used = 0;
        }
        used += wide;
        pieces.last_mut().into_iter().for_each(|piece| piece.push(char));
    }
    pieces
}

//! JSON, with the place of every value. Ours, because serde_json cannot say where a value stands, and the
//! YAML reader, which could read JSON too, is ten times slower.

use std::borrow::Cow;

use smol_str::SmolStr;

use super::build::{Builder, Built, Collection};
use super::split::Part;
use super::{Fault, scalar};
use crate::object::{SourceLocation, SourceMap};
use crate::value::Value;

pub fn read(part: &Part) -> Result<Option<Built>, Fault> {
    let Part { text, start } = *part;
    let at = Position { at: 0, line: start.line, line_start: 0, column: usize::from(start.column) };
    let mut reader = Reader { text, at, leap: None, builder: Builder::default() };
    reader.document()?;
    Ok(reader.builder.take())
}

/// As [`read`], but what lies between two positions is skipped. None if the first is not where `items` of the document
/// begin, or something is wrong.
pub fn read_around(text: &str, from: Position, to: Position) -> Option<(Value, SourceMap)> {
    let mut reader = Reader { text, at: Position::START, leap: Some((from, to)), builder: Builder::default() };
    reader.document().ok()?;
    if reader.leap.is_some() { None } else { sound(reader.builder.take()?) }
}

/// The items from a position up to the end of the text, each followed by a comma. None if it is something else.
pub fn read_items(text: &str, from: Position) -> Option<Vec<(Value, SourceMap)>> {
    let mut reader = Reader { text, at: from, leap: None, builder: Builder::for_items() };
    let mut values = Vec::new();
    while reader.at.at < text.len() {
        reader.complete().ok()?;
        values.push(sound(reader.builder.take()?)?);
        if reader.peek() != Some(b',') {
            return None;
        }
        reader.at.at += 1;
    }
    Some(values)
}

fn sound(built: Built) -> Option<(Value, SourceMap)> {
    built.repeated.is_empty().then_some((built.value, built.locations))
}

/// Where a reader is in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub at: usize,
    line: u32,
    /// Where the line starts in the text.
    line_start: usize,
    /// The column there.
    column: usize,
}

impl Position {
    pub const START: Position = Position { at: 0, line: 1, line_start: 0, column: 1 };

    fn location(self) -> SourceLocation {
        SourceLocation {
            line: self.line,
            column: u16::try_from(self.at - self.line_start + self.column).unwrap_or(u16::MAX),
        }
    }

    /// The position at `at`, further on in the text.
    pub fn onward(self, text: &str, at: usize) -> Position {
        let between = text.as_bytes().get(self.at..at).unwrap_or_default();
        // Sums of bytes, not of words, are taken many at a time.
        let lines = between.chunks(255).map(|part| part.iter().map(|c| u8::from(*c == b'\n')).sum::<u8>());
        let lines = lines.map(u32::from).sum();
        match between.iter().rposition(|c| *c == b'\n') {
            None => Position { at, ..self },
            Some(last) => {
                Position { at, line: self.line.saturating_add(lines), line_start: self.at + last + 1, column: 1 }
            }
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    at: Position,
    /// What is skipped, from the start of `items` on.
    leap: Option<(Position, Position)>,
    builder: Builder,
}

impl<'t> Reader<'t> {
    fn document(&mut self) -> Result<(), Fault> {
        self.complete()?;
        if self.at.at < self.text.len() { Err(self.expected("the end of the document")) } else { Ok(()) }
    }

    /// Reads one value, and the space after it.
    fn complete(&mut self) -> Result<(), Fault> {
        loop {
            self.value()?;
            // What is complete may complete what it is in.
            loop {
                self.skip_space();
                match (self.builder.within(), self.peek()) {
                    (None, _) => return Ok(()),
                    (Some(Collection::List), Some(b']')) | (Some(Collection::Map), Some(b'}')) => self.close()?,
                    (Some(kind), Some(b',')) => {
                        self.at.at += 1;
                        if kind == Collection::Map {
                            self.skip_space();
                            self.key()?;
                        }
                        break;
                    }
                    (Some(Collection::List), _) => return Err(self.expected("`,` or `]`")),
                    (Some(Collection::Map), _) => return Err(self.expected("`,` or `}`")),
                }
            }
        }
    }

    /// Reads a scalar or the opening of a collection with its first key, down to the first value that is complete.
    fn value(&mut self) -> Result<(), Fault> {
        loop {
            self.skip_space();
            let location = self.at.location();
            match self.peek() {
                Some(b'{') => {
                    self.open(Collection::Map, location)?;
                    if self.peek() == Some(b'}') {
                        return self.close();
                    }
                    self.key()?;
                }
                Some(b'[') => {
                    self.open(Collection::List, location)?;
                    if self.peek() == Some(b']') {
                        return self.close();
                    }
                }
                _ => {
                    let value = self.scalar()?;
                    return self.builder.scalar(value, location, 0);
                }
            }
        }
    }

    fn open(&mut self, kind: Collection, location: SourceLocation) -> Result<(), Fault> {
        self.builder.open(kind, location, 0)?;
        self.at.at += 1;
        if let Some((from, to)) = self.leap
            && from.at == self.at.at
            && self.builder.within_items()
        {
            (self.at, self.leap) = (to, None);
        }
        self.skip_space();
        Ok(())
    }

    fn close(&mut self) -> Result<(), Fault> {
        self.at.at += 1;
        self.builder.close()
    }

    fn key(&mut self) -> Result<(), Fault> {
        let location = self.at.location();
        if self.peek() != Some(b'"') {
            return Err(self.expected("a key in double quotes"));
        }
        let key = SmolStr::new(self.string()?);
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.expected("`:`"));
        }
        self.at.at += 1;
        self.builder.key(key, location);
        Ok(())
    }

    fn scalar(&mut self) -> Result<Value, Fault> {
        if self.peek() == Some(b'"') {
            return Ok(Value::str(self.string()?));
        }
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c))).unwrap_or(rest.len());
        let word = &rest[..end];
        let value = match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => number(word).ok_or_else(|| self.expected("a value"))?,
        };
        self.at.at += end;
        Ok(value)
    }

    fn string(&mut self) -> Result<Cow<'t, str>, Fault> {
        let start = self.at;
        self.at.at += 1;
        let mut text = Cow::Borrowed("");
        loop {
            let rest = self.rest();
            let Some(end) = end_of_plain(rest.as_bytes()) else {
                return Err(Fault::new(start.location(), "not valid JSON: a string is not closed"));
            };
            if text.is_empty() {
                text = Cow::Borrowed(&rest[..end]);
            } else {
                text.to_mut().push_str(&rest[..end]);
            }
            self.at.at += end;
            match self.peek() {
                Some(b'"') => {
                    self.at.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    let location = self.at.location();
                    let c =
                        self.escape().ok_or_else(|| Fault::new(location, "not valid JSON: there is no such escape"))?;
                    text.to_mut().push(c);
                }
                _ => {
                    return Err(Fault::new(
                        self.at.location(),
                        "not valid JSON: a string has a line break or control character in it",
                    ));
                }
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let c = match *self.text.as_bytes().get(self.at.at + 1)? {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => return self.unicode(),
            c @ (b'"' | b'\\' | b'/') => char::from(c),
            _ => return None,
        };
        self.at.at += 2;
        Some(c)
    }

    /// `\u1234`, or two of them for a character beyond 16 bits. Half of such a pair means nothing, as in Go.
    fn unicode(&mut self) -> Option<char> {
        let unit = |at: usize| {
            let digits = self.text.get(at..at + 6)?.strip_prefix("\\u")?;
            digits.bytes().all(|c| c.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
        };
        let first = unit(self.at.at)?;
        if let (0xD800..0xDC00, Some(second @ 0xDC00..0xE000)) = (first, unit(self.at.at + 6)) {
            self.at.at += 12;
            return char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00));
        }
        self.at.at += 6;
        Some(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    #[inline]
    fn skip_space(&mut self) {
        // Mostly there is none, or one space after a colon.
        if self.peek() == Some(b' ') {
            self.at.at += 1;
        }
        if self.peek().is_some_and(|c| c <= b' ') {
            self.skip_more_space();
        }
    }

    fn skip_more_space(&mut self) {
        while let Some(c) = self.peek() {
            match c {
                b'\n' => {
                    let line_start = self.at.at + 1;
                    let indent = spaces(self.text.as_bytes().get(line_start..).unwrap_or_default());
                    let line = self.at.line.saturating_add(1);
                    self.at = Position { at: line_start + indent, line, line_start, column: 1 };
                }
                b' ' | b'\t' | b'\r' => self.at.at += 1,
                _ => break,
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at.at).copied()
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at.at..).unwrap_or_default()
    }

    fn expected(&self, what: &str) -> Fault {
        let found = match self.rest().chars().next() {
            Some(c) => format!("`{c}`"),
            None => "the end of the text".to_string(),
        };
        Fault::new(self.at.location(), format!("not valid JSON: expected {what}, found {found}"))
    }
}

// Eight bytes at a time: half of what kubectl prints is indentation, and most of the rest is strings.

const fn eight(c: u8) -> u64 {
    u64::from_le_bytes([c; 8])
}

/// How many spaces there are at the start.
fn spaces(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        let others = u64::from_le_bytes(*word) ^ eight(b' ');
        if others != 0 {
            return 8 * i + others.trailing_zeros() as usize / 8;
        }
    }
    let more = rest.iter().position(|c| *c != b' ').unwrap_or(rest.len());
    8 * words.len() + more
}

/// Where the plain text of a string ends: at a quote, a backslash or a control character.
fn end_of_plain(bytes: &[u8]) -> Option<usize> {
    // The high bit of each byte that is below another, which is below 0x80. It may be set too where a lower byte has it set,
    // and the lowest is all that counts.
    let below = |word: u64, c: u8| word.wrapping_sub(eight(c)) & !word & eight(0x80);
    let (words, rest) = bytes.as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let ends = below(word, b' ') | below(word ^ eight(b'"'), 1) | below(word ^ eight(b'\\'), 1);
        if ends != 0 {
            return Some(8 * i + ends.trailing_zeros() as usize / 8);
        }
    }
    let more = rest.iter().position(|c| matches!(*c, b'"' | b'\\' | 0..b' '))?;
    Some(8 * words.len() + more)
}

fn number(word: &str) -> Option<Value> {
    let digits = word.strip_prefix('-').unwrap_or(word);
    let octal = digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit();
    if octal || !digits.starts_with(|c: char| c.is_ascii_digit()) || digits.ends_with('.') {
        return None;
    }
    if let Ok(int) = word.parse() {
        return Some(Value::Int(int));
    }
    word.parse().ok().filter(|number: &f64| number.is_finite()).map(scalar::from_float)
}

//! Reads JSON, with the location of every value.
//!
//! serde_json does not report locations, and the YAML reader, which could read JSON too, is ten times slower.

use std::borrow::Cow;

use smol_str::SmolStr;

use super::build::{Builder, Collection, ParsedValue};
use super::field_set;
use super::split::DocumentText;
use super::syntax_error::SyntaxError;
use crate::object::{SourceLocation, SourceMap};
use crate::value::{Map, Value};

/// `None` if the document is empty.
pub fn parse(document: &DocumentText) -> Result<Option<ParsedValue>, SyntaxError> {
    let DocumentText { text, start } = *document;
    let position = TextPosition { offset: 0, line: start.line, line_start: 0, first_column: usize::from(start.column) };
    let mut reader = JsonReader { text, position, skipped: None, builder: Builder::default() };
    reader.document()?;
    Ok(reader.builder.take())
}

/// Like [`parse`], but skips the text between two positions. `None` if `from` is not the start of the document's
/// `items`, or the rest is not plain JSON.
pub fn parse_around(text: &str, from: TextPosition, to: TextPosition) -> Option<(Value, SourceMap)> {
    let skipped = Some((from, to));
    let mut reader = JsonReader { text, position: TextPosition::START, skipped, builder: Builder::default() };
    reader.document().ok()?;
    if reader.skipped.is_some() { None } else { if_no_repeated_keys(reader.builder.take()?) }
}

/// The items from a position to the end of the text, each followed by a comma. `None` if the text is anything else.
pub fn parse_items(text: &str, from: TextPosition) -> Option<Vec<(Value, SourceMap)>> {
    let mut reader = JsonReader { text, position: from, skipped: None, builder: Builder::for_items() };
    let mut values = Vec::new();
    while reader.position.offset < text.len() {
        reader.value().ok()?;
        values.push(if_no_repeated_keys(reader.builder.take()?)?);
        if reader.peek() != Some(b',') {
            return None;
        }
        reader.position.offset += 1;
    }
    Some(values)
}

fn if_no_repeated_keys(parsed: ParsedValue) -> Option<(Value, SourceMap)> {
    parsed.repeated_keys.is_empty().then_some((parsed.value, parsed.locations))
}

/// A position in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPosition {
    /// In bytes from the start of the text.
    pub offset: usize,
    line: u32,
    /// The offset at which the line starts.
    line_start: usize,
    /// The column at `line_start`. Not 1 where a document starts in the middle of a line.
    first_column: usize,
}

impl TextPosition {
    pub const START: TextPosition = TextPosition { offset: 0, line: 1, line_start: 0, first_column: 1 };

    fn location(self) -> SourceLocation {
        let column = self.offset - self.line_start + self.first_column;
        SourceLocation { line: self.line, column: u16::try_from(column).unwrap_or(u16::MAX) }
    }

    /// The position at `offset`, which comes after this one.
    pub fn advance_to(self, text: &str, offset: usize) -> TextPosition {
        let between = text.as_bytes().get(self.offset..offset).unwrap_or_default();
        // The compiler vectorizes sums of bytes better than sums of words.
        let lines = between.chunks(255).map(|chunk| chunk.iter().map(|c| u8::from(*c == b'\n')).sum::<u8>());
        let lines = lines.map(u32::from).sum();
        match between.iter().rposition(|c| *c == b'\n') {
            None => TextPosition { offset, ..self },
            Some(last) => TextPosition {
                offset,
                line: self.line.saturating_add(lines),
                line_start: self.offset + last + 1,
                first_column: 1,
            },
        }
    }
}

struct JsonReader<'t> {
    text: &'t str,
    position: TextPosition,
    /// The text to skip, from the start of `items` on.
    skipped: Option<(TextPosition, TextPosition)>,
    builder: Builder,
}

impl<'t> JsonReader<'t> {
    fn document(&mut self) -> Result<(), SyntaxError> {
        self.value()?;
        if self.position.offset < self.text.len() { Err(self.expected("the end of the document")) } else { Ok(()) }
    }

    /// Reads one value, and the space after it.
    fn value(&mut self) -> Result<(), SyntaxError> {
        loop {
            self.scalar_or_empty_collection()?;
            // Close the collections that end here.
            loop {
                self.skip_space();
                match (self.builder.innermost(), self.peek()) {
                    (None, _) => return Ok(()),
                    (Some(Collection::List), Some(b']')) | (Some(Collection::Map), Some(b'}')) => self.close()?,
                    (Some(kind), Some(b',')) => {
                        self.position.offset += 1;
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

    /// Opens collections and reads their first keys, down to the first scalar or empty collection.
    fn scalar_or_empty_collection(&mut self) -> Result<(), SyntaxError> {
        loop {
            self.skip_space();
            let location = self.position.location();
            match self.peek() {
                Some(b'{') => {
                    if let Some(end) = self.field_set_end() {
                        self.position = self.position.advance_to(self.text, end);
                        return self.builder.scalar(Value::Map(Map::default()), location, 0);
                    }
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

    /// The end of the map that starts here, if its content is dropped anyway.
    fn field_set_end(&self) -> Option<usize> {
        self.builder.is_at_field_set().then(|| field_set::end(self.text.as_bytes(), self.position.offset))?
    }

    fn open(&mut self, kind: Collection, location: SourceLocation) -> Result<(), SyntaxError> {
        self.builder.open(kind, location, 0)?;
        self.position.offset += 1;
        if let Some((from, to)) = self.skipped
            && from.offset == self.position.offset
            && self.builder.is_in_items()
        {
            (self.position, self.skipped) = (to, None);
        }
        self.skip_space();
        Ok(())
    }

    fn close(&mut self) -> Result<(), SyntaxError> {
        self.position.offset += 1;
        self.builder.close()
    }

    fn key(&mut self) -> Result<(), SyntaxError> {
        let location = self.position.location();
        if self.peek() != Some(b'"') {
            return Err(self.expected("a key in double quotes"));
        }
        let key = SmolStr::new(self.string()?);
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.expected("`:`"));
        }
        self.position.offset += 1;
        self.builder.key(key, location);
        Ok(())
    }

    fn scalar(&mut self) -> Result<Value, SyntaxError> {
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
        self.position.offset += end;
        Ok(value)
    }

    fn string(&mut self) -> Result<Cow<'t, str>, SyntaxError> {
        let start = self.position;
        self.position.offset += 1;
        let mut text = Cow::Borrowed("");
        loop {
            let rest = self.rest();
            let Some(end) = plain_text_end(rest.as_bytes()) else {
                return Err(SyntaxError::new(start.location(), "not valid JSON: a string is not closed"));
            };
            if text.is_empty() {
                text = Cow::Borrowed(&rest[..end]);
            } else {
                text.to_mut().push_str(&rest[..end]);
            }
            self.position.offset += end;
            match self.peek() {
                Some(b'"') => {
                    self.position.offset += 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    let location = self.position.location();
                    let c = self
                        .escape()
                        .ok_or_else(|| SyntaxError::new(location, "not valid JSON: there is no such escape"))?;
                    text.to_mut().push(c);
                }
                _ => {
                    return Err(SyntaxError::new(
                        self.position.location(),
                        "not valid JSON: a string has a line break or control character in it",
                    ));
                }
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let c = match *self.text.as_bytes().get(self.position.offset + 1)? {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => return self.unicode(),
            c @ (b'"' | b'\\' | b'/') => char::from(c),
            _ => return None,
        };
        self.position.offset += 2;
        Some(c)
    }

    /// `\u1234`, or a surrogate pair of them. A lone surrogate becomes U+FFFD, as in Go.
    fn unicode(&mut self) -> Option<char> {
        let unit = |offset: usize| {
            let digits = self.text.get(offset..offset + 6)?.strip_prefix("\\u")?;
            digits.bytes().all(|c| c.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
        };
        let first = unit(self.position.offset)?;
        if let (0xD800..0xDC00, Some(second @ 0xDC00..0xE000)) = (first, unit(self.position.offset + 6)) {
            self.position.offset += 12;
            return char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00));
        }
        self.position.offset += 6;
        Some(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    #[inline]
    fn skip_space(&mut self) {
        // Most often there is none, or one space after a colon.
        if self.peek() == Some(b' ') {
            self.position.offset += 1;
        }
        if self.peek().is_some_and(|c| c <= b' ') {
            self.skip_more_space();
        }
    }

    fn skip_more_space(&mut self) {
        while let Some(c) = self.peek() {
            match c {
                b'\n' => {
                    let line_start = self.position.offset + 1;
                    let indent = count_leading_spaces(self.text.as_bytes().get(line_start..).unwrap_or_default());
                    let line = self.position.line.saturating_add(1);
                    self.position = TextPosition { offset: line_start + indent, line, line_start, first_column: 1 };
                }
                b' ' | b'\t' | b'\r' => self.position.offset += 1,
                _ => break,
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position.offset).copied()
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.position.offset..).unwrap_or_default()
    }

    fn expected(&self, what: &str) -> SyntaxError {
        let found = match self.rest().chars().next() {
            Some(c) => format!("`{c}`"),
            None => "the end of the text".to_string(),
        };
        SyntaxError::new(self.position.location(), format!("not valid JSON: expected {what}, found {found}"))
    }
}

// Eight bytes at a time: half of what kubectl prints is indentation, and most of the rest is strings.

const fn repeat_byte(c: u8) -> u64 {
    u64::from_le_bytes([c; 8])
}

/// The number of spaces at the start.
fn count_leading_spaces(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        let others = u64::from_le_bytes(*word) ^ repeat_byte(b' ');
        if others != 0 {
            return 8 * i + others.trailing_zeros() as usize / 8;
        }
    }
    let more = rest.iter().position(|c| *c != b' ').unwrap_or(rest.len());
    8 * words.len() + more
}

/// The length of the text before the first quote, backslash or control character.
pub fn plain_text_end(bytes: &[u8]) -> Option<usize> {
    // Sets the high bit of each byte that is less than `c`, for `c` up to 0x80. A borrow may also set it in bytes above
    // such a byte, which does no harm: only the lowest one counts.
    let below = |word: u64, c: u8| word.wrapping_sub(repeat_byte(c)) & !word & repeat_byte(0x80);
    let (words, rest) = bytes.as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let ends = below(word, b' ') | below(word ^ repeat_byte(b'"'), 1) | below(word ^ repeat_byte(b'\\'), 1);
        if ends != 0 {
            return Some(8 * i + ends.trailing_zeros() as usize / 8);
        }
    }
    let more = rest.iter().position(|c| matches!(*c, b'"' | b'\\' | 0..b' '))?;
    Some(8 * words.len() + more)
}

fn number(word: &str) -> Option<Value> {
    let digits = word.strip_prefix('-').unwrap_or(word);
    let is_octal = digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit();
    if is_octal || !digits.starts_with(|c: char| c.is_ascii_digit()) || digits.ends_with('.') {
        return None;
    }
    if let Ok(int) = word.parse() {
        return Some(Value::Int(int));
    }
    word.parse().ok().filter(|number: &f64| number.is_finite()).map(Value::number)
}

//! JSON, with the place of every value. Ours, because serde_json cannot say where a value stands, and the
//! YAML reader, which could read JSON too, is ten times slower.

use std::borrow::Cow;

use smol_str::SmolStr;

use super::build::{Builder, Collection};
use super::split::Part;
use super::{Fault, scalar};
use crate::object::{Place, Places};
use crate::value::Value;

pub fn read(part: &Part) -> Result<Option<(Value, Places)>, Fault> {
    let Part { text, start } = *part;
    let column = usize::from(start.column);
    let mut reader = Reader { text, at: 0, line: start.line, line_start: 0, column, builder: Builder::default() };
    reader.document()?;
    Ok(reader.builder.finish())
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    line: u32,
    /// Where the line starts in `text`.
    line_start: usize,
    /// The column there.
    column: usize,
    builder: Builder,
}

impl<'t> Reader<'t> {
    fn document(&mut self) -> Result<(), Fault> {
        loop {
            self.value()?;
            // What is complete may complete what it is in.
            loop {
                let place = self.skip_space();
                match (self.builder.within(), self.peek()) {
                    (None, None) => return Ok(()),
                    (None, _) => return Err(self.expected("the end of the document", place)),
                    (Some(Collection::List), Some(b']')) | (Some(Collection::Map), Some(b'}')) => self.close()?,
                    (Some(kind), Some(b',')) => {
                        self.at += 1;
                        if kind == Collection::Map {
                            self.skip_space();
                            self.key()?;
                        }
                        break;
                    }
                    (Some(Collection::List), _) => return Err(self.expected("`,` or `]`", place)),
                    (Some(Collection::Map), _) => return Err(self.expected("`,` or `}`", place)),
                }
            }
        }
    }

    /// Reads a scalar or the opening of a collection with its first key, down to the first value that is complete.
    fn value(&mut self) -> Result<(), Fault> {
        loop {
            let place = self.skip_space();
            match self.peek() {
                Some(b'{') => {
                    self.open(Collection::Map, place)?;
                    if self.peek() == Some(b'}') {
                        return self.close();
                    }
                    self.key()?;
                }
                Some(b'[') => {
                    self.open(Collection::List, place)?;
                    if self.peek() == Some(b']') {
                        return self.close();
                    }
                }
                _ => {
                    let value = self.scalar(place)?;
                    return self.builder.scalar(value, place, 0);
                }
            }
        }
    }

    fn open(&mut self, kind: Collection, place: Place) -> Result<(), Fault> {
        self.builder.open(kind, place, 0)?;
        self.at += 1;
        self.skip_space();
        Ok(())
    }

    fn close(&mut self) -> Result<(), Fault> {
        self.at += 1;
        self.builder.close()
    }

    fn key(&mut self) -> Result<(), Fault> {
        let place = self.place();
        if self.peek() != Some(b'"') {
            return Err(self.expected("a key in double quotes", place));
        }
        let key = SmolStr::new(self.string()?);
        let colon = self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.expected("`:`", colon));
        }
        self.at += 1;
        self.builder.key(key, place);
        Ok(())
    }

    fn scalar(&mut self, place: Place) -> Result<Value, Fault> {
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
            _ => number(word).ok_or_else(|| self.expected("a value", place))?,
        };
        self.at += end;
        Ok(value)
    }

    fn string(&mut self) -> Result<Cow<'t, str>, Fault> {
        let start = self.place();
        self.at += 1;
        let mut text = Cow::Borrowed("");
        loop {
            let rest = self.rest();
            let Some(end) = rest.bytes().position(|c| c == b'"' || c == b'\\' || c < b' ') else {
                return Err(Fault::new(start, "not valid JSON: a string is not closed"));
            };
            if text.is_empty() {
                text = Cow::Borrowed(&rest[..end]);
            } else {
                text.to_mut().push_str(&rest[..end]);
            }
            self.at += end;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    let place = self.place();
                    let c =
                        self.escape().ok_or_else(|| Fault::new(place, "not valid JSON: there is no such escape"))?;
                    text.to_mut().push(c);
                }
                _ => {
                    return Err(Fault::new(
                        self.place(),
                        "not valid JSON: a string has a line break or control character in it",
                    ));
                }
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let c = match *self.text.as_bytes().get(self.at + 1)? {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => return self.unicode(),
            c @ (b'"' | b'\\' | b'/') => char::from(c),
            _ => return None,
        };
        self.at += 2;
        Some(c)
    }

    /// `\u1234`, or two of them for a character beyond 16 bits. Half of such a pair means nothing, as in Go.
    fn unicode(&mut self) -> Option<char> {
        let unit = |at: usize| {
            let digits = self.text.get(at..at + 6)?.strip_prefix("\\u")?;
            digits.bytes().all(|c| c.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
        };
        let first = unit(self.at)?;
        if let (0xD800..0xDC00, Some(second @ 0xDC00..0xE000)) = (first, unit(self.at + 6)) {
            self.at += 12;
            return char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00));
        }
        self.at += 6;
        Some(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn skip_space(&mut self) -> Place {
        while let Some(c) = self.peek() {
            match c {
                b'\n' => {
                    self.line = self.line.saturating_add(1);
                    (self.line_start, self.column) = (self.at + 1, 1);
                }
                b' ' | b'\t' | b'\r' => {}
                _ => break,
            }
            self.at += 1;
        }
        self.place()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn place(&self) -> Place {
        Place { line: self.line, column: u16::try_from(self.at - self.line_start + self.column).unwrap_or(u16::MAX) }
    }

    fn expected(&self, what: &str, place: Place) -> Fault {
        let found = match self.rest().chars().next() {
            Some(c) => format!("`{c}`"),
            None => "the end of the text".to_string(),
        };
        Fault::new(place, format!("not valid JSON: expected {what}, found {found}"))
    }
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

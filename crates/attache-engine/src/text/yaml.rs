//! One YAML document, read as kubectl reads it.

use granit_parser::{ErrorKind, Event, Marker, Options, Parser, ScalarStyle, ScanError, Span, StructureStyle, Tag};

use super::build::{Builder, Built, Collection, MAX_DEPTH, too_deep};
use super::split::Part;
use super::{Fault, base64, scalar};
use crate::object::Place;
use crate::value::Value;

/// `None` if the document is empty.
pub fn read(part: &Part) -> Result<Option<Built>, Fault> {
    let Part { text, start } = *part;
    let mut reader = Reader { builder: Builder::default(), start };
    let mut parser = Parser::new_from_str_with_options(text, options());
    while let Some(next) = parser.next_event() {
        let (event, span) = next.map_err(|error| reader.fault(&error))?;
        reader.event(event, &span)?;
    }
    Ok(reader.builder.take())
}

fn options() -> Options {
    granit_parser::options! { emit_comments: false, flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH }
}

struct Reader {
    builder: Builder,
    start: Place,
}

impl Reader {
    fn event(&mut self, event: Event<'_>, span: &Span) -> Result<(), Fault> {
        let place = self.place(&span.start);
        if self.builder.wants_key() {
            return self.key(event, place);
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                // Nothing was written: the key is all there is to point at.
                let key = self.builder.key_place().filter(|_| span.start == span.end);
                let place = key.unwrap_or(place);
                let value = value(&text, style, tag.as_deref(), place)?;
                self.builder.scalar(value, place, anchor)
            }
            Event::SequenceStart(style, anchor, _) => self.open(Collection::List, style, place, anchor),
            Event::MappingStart(style, anchor, _) => self.open(Collection::Map, style, place, anchor),
            Event::SequenceEnd | Event::MappingEnd => self.builder.close(),
            Event::Alias(anchor) => match self.builder.alias(anchor, place)? {
                Some(()) => Ok(()),
                None => Err(Fault::new(place, "an alias refers to the value that it is in")),
            },
            // To us, unlike to YAML, a carriage return alone is no line break, so this document was not cut off.
            Event::DocumentStart(..) if self.builder.has_root() => {
                Err(Fault::new(place, "another document starts in the middle of a line")
                    .help("end lines with a line feed"))
            }
            _ => Ok(()),
        }
    }

    fn key(&mut self, event: Event<'_>, place: Place) -> Result<(), Fault> {
        let key = match event {
            Event::MappingEnd => return self.builder.close(),
            Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<" => {
                self.builder.merge_key(place);
                return Ok(());
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = value(&text, style, tag.as_deref(), place)?;
                self.builder.define_key(anchor, value.clone(), place);
                scalar::key(&value)
            }
            Event::Alias(anchor) => self.builder.anchored(anchor).and_then(scalar::key),
            _ => None,
        };
        let Some(key) = key else {
            return Err(Fault::new(place, "a key must be a string, a number or a boolean"));
        };
        self.builder.key(key, place);
        Ok(())
    }

    /// A block starts below its key, but a reader looks for the key.
    fn open(&mut self, kind: Collection, style: StructureStyle, place: Place, anchor: usize) -> Result<(), Fault> {
        let key = self.builder.key_place().filter(|_| style == StructureStyle::Block);
        self.builder.open(kind, key.unwrap_or(place), anchor)
    }

    fn place(&self, at: &Marker) -> Place {
        let line = u32::try_from(at.line()).unwrap_or(u32::MAX);
        let before = if line == 1 { usize::from(self.start.column) } else { 1 };
        let column = u16::try_from(at.col() + before).unwrap_or(u16::MAX);
        Place { line: self.start.line.saturating_add(line).saturating_sub(1), column }
    }

    fn fault(&self, error: &ScanError) -> Fault {
        let place = self.place(error.marker());
        let help = match error.kind() {
            ErrorKind::RecursionLimitExceeded => return too_deep(place),
            ErrorKind::UnknownAnchor => {
                return Fault::new(place, "an alias refers to an anchor that this document does not have");
            }
            ErrorKind::TabNotAllowed | ErrorKind::TabInBlockIndentation | ErrorKind::TabInIndentation => {
                "indent with spaces"
            }
            ErrorKind::InvalidIndentation | ErrorKind::ExpectedBlockMappingKey | ErrorKind::InvalidSimpleKey => {
                "check how far this line and the ones before it are indented, and that each key has a `:`"
            }
            ErrorKind::UnclosedQuotedScalar | ErrorKind::DocumentIndicatorInQuotedScalar => {
                "close the quoted string that starts here"
            }
            _ => return Fault::new(place, format!("not valid YAML: {}", error.info())),
        };
        Fault::new(place, format!("not valid YAML: {}", error.info())).help(help)
    }
}

fn value(text: &str, style: ScalarStyle, tag: Option<&Tag>, place: Place) -> Result<Value, Fault> {
    let value = match tag {
        None if style == ScalarStyle::Plain => scalar::resolve(text),
        None => Value::str(text),
        Some(tag) => tagged(text, tag, place)?,
    };
    match value {
        Value::Float(number) if !number.is_finite() => {
            Err(Fault::new(place, format!("`{text}` is not a number in JSON"))
                .help(format!("quote it if it is a string: `\"{text}\"`")))
        }
        value => Ok(value),
    }
}

/// An explicit tag: `!!str 5`. Tags of others do not change what is written.
fn tagged(text: &str, tag: &Tag, place: Place) -> Result<Value, Fault> {
    let name = tag.suffix_in_namespace("tag:yaml.org,2002:").unwrap_or_default();
    let value = match &*name {
        "binary" => base64::decode(text).and_then(|bytes| String::from_utf8(bytes).ok()).map(Value::str),
        "bool" => Some(scalar::resolve(text)).filter(|value| matches!(value, Value::Bool(_))),
        "int" => Some(scalar::resolve(text)).filter(|value| matches!(value, Value::Int(_))),
        "float" => Some(scalar::resolve(text)).filter(|value| matches!(value, Value::Int(_) | Value::Float(_))),
        "null" => Some(scalar::resolve(text)).filter(Value::is_null),
        _ => Some(Value::str(text)),
    };
    value.ok_or_else(|| Fault::new(place, format!("`{text}` is not a valid `!!{name}`")))
}

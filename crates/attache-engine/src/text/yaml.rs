//! One YAML document, read as kubectl reads it.

use granit_parser::{ErrorKind, Event, Marker, Options, Parser, ScalarStyle, ScanError, Span, StructureStyle, Tag};

use super::build::{Builder, Built, Collection, MAX_DEPTH, too_deep};
use super::split::Part;
use super::{Fault, base64, scalar};
use crate::object::SourceLocation;
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
    start: SourceLocation,
}

impl Reader {
    fn event(&mut self, event: Event<'_>, span: &Span) -> Result<(), Fault> {
        let location = self.location(&span.start);
        if self.builder.wants_key() {
            return self.key(event, location);
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                // Nothing was written: the key is all there is to point at.
                let key = self.builder.key_location().filter(|_| span.start == span.end);
                let location = key.unwrap_or(location);
                let value = value(&text, style, tag.as_deref(), location)?;
                self.builder.scalar(value, location, anchor)
            }
            Event::SequenceStart(style, anchor, _) => self.open(Collection::List, style, location, anchor),
            Event::MappingStart(style, anchor, _) => self.open(Collection::Map, style, location, anchor),
            Event::SequenceEnd | Event::MappingEnd => self.builder.close(),
            Event::Alias(anchor) => match self.builder.alias(anchor, location)? {
                Some(()) => Ok(()),
                None => Err(Fault::new(location, "an alias refers to the value that it is in")),
            },
            // To us, unlike to YAML, a carriage return alone is no line break, so this document was not cut off.
            Event::DocumentStart(..) if self.builder.has_root() => {
                Err(Fault::new(location, "another document starts in the middle of a line")
                    .help("end lines with a line feed"))
            }
            _ => Ok(()),
        }
    }

    fn key(&mut self, event: Event<'_>, location: SourceLocation) -> Result<(), Fault> {
        let key = match event {
            Event::MappingEnd => return self.builder.close(),
            Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<" => {
                self.builder.merge_key(location);
                return Ok(());
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = value(&text, style, tag.as_deref(), location)?;
                self.builder.define_key(anchor, value.clone(), location);
                scalar::key(&value)
            }
            Event::Alias(anchor) => self.builder.anchored(anchor).and_then(scalar::key),
            _ => None,
        };
        let Some(key) = key else {
            return Err(Fault::new(location, "a key must be a string, a number or a boolean"));
        };
        self.builder.key(key, location);
        Ok(())
    }

    /// A block starts below its key, but a reader looks for the key.
    fn open(
        &mut self,
        kind: Collection,
        style: StructureStyle,
        location: SourceLocation,
        anchor: usize,
    ) -> Result<(), Fault> {
        let key = self.builder.key_location().filter(|_| style == StructureStyle::Block);
        self.builder.open(kind, key.unwrap_or(location), anchor)
    }

    fn location(&self, at: &Marker) -> SourceLocation {
        let line = u32::try_from(at.line()).unwrap_or(u32::MAX);
        let before = if line == 1 { usize::from(self.start.column) } else { 1 };
        let column = u16::try_from(at.col() + before).unwrap_or(u16::MAX);
        SourceLocation { line: self.start.line.saturating_add(line).saturating_sub(1), column }
    }

    fn fault(&self, error: &ScanError) -> Fault {
        let location = self.location(error.marker());
        let help = match error.kind() {
            ErrorKind::RecursionLimitExceeded => return too_deep(location),
            ErrorKind::UnknownAnchor => {
                return Fault::new(location, "an alias refers to an anchor that this document does not have");
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
            _ => return Fault::new(location, format!("not valid YAML: {}", error.info())),
        };
        Fault::new(location, format!("not valid YAML: {}", error.info())).help(help)
    }
}

fn value(text: &str, style: ScalarStyle, tag: Option<&Tag>, location: SourceLocation) -> Result<Value, Fault> {
    let value = match tag {
        None if style == ScalarStyle::Plain => scalar::resolve(text),
        None => Value::str(text),
        Some(tag) => tagged(text, tag, location)?,
    };
    match value {
        Value::Float(number) if !number.is_finite() => {
            Err(Fault::new(location, format!("`{text}` is not a number in JSON"))
                .help(format!("quote it if it is a string: `\"{text}\"`")))
        }
        value => Ok(value),
    }
}

/// An explicit tag: `!!str 5`. Tags of others do not change what is written.
fn tagged(text: &str, tag: &Tag, location: SourceLocation) -> Result<Value, Fault> {
    let name = tag.suffix_in_namespace("tag:yaml.org,2002:").unwrap_or_default();
    let value = match &*name {
        "binary" => base64::decode(text).and_then(|bytes| String::from_utf8(bytes).ok()).map(Value::str),
        "bool" => Some(scalar::resolve(text)).filter(|value| matches!(value, Value::Bool(_))),
        "int" => Some(scalar::resolve(text)).filter(|value| matches!(value, Value::Int(_))),
        "float" => Some(scalar::resolve(text)).filter(|value| matches!(value, Value::Int(_) | Value::Float(_))),
        "null" => Some(scalar::resolve(text)).filter(Value::is_null),
        _ => Some(Value::str(text)),
    };
    value.ok_or_else(|| Fault::new(location, format!("`{text}` is not a valid `!!{name}`")))
}

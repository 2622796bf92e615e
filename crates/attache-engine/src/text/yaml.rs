//! Reads YAML as kubectl does.

use std::borrow::Cow;

use granit_parser::{ErrorKind, Event, Marker, Options, Parser, ScalarStyle, ScanError, Span, StructureStyle, Tag};

use super::build::{Builder, Collection, ParsedValue};
use super::scalar;
use super::split::DocumentText;
use super::syntax_error::SyntaxError;
use crate::object::SourceLocation;
use crate::value::{MAX_DEPTH, Value, decode_base64};

/// `None` if the document is empty.
pub fn parse(document: &DocumentText) -> Result<Option<ParsedValue>, SyntaxError> {
    match parse_text(document.text, document.start) {
        Err(YamlError::QuotedScalarIndent(_)) => parse_indented(document),
        Err(YamlError::Syntax(error)) => Err(error),
        Ok(parsed) => Ok(parsed),
    }
}

/// Why a text is not YAML.
enum YamlError {
    /// The line with this number continues a quoted scalar, and is indented less than YAML requires.
    QuotedScalarIndent(usize),
    Syntax(SyntaxError),
}

impl From<SyntaxError> for YamlError {
    fn from(error: SyntaxError) -> YamlError {
        YamlError::Syntax(error)
    }
}

/// Reads a document as kubectl does, which accepts any indentation of lines that continue a quoted scalar. Leading
/// spaces of such a line are not part of the scalar, so the line can be indented further.
fn parse_indented(document: &DocumentText) -> Result<Option<ParsedValue>, SyntaxError> {
    const DEEP: &str = "                                                                ";
    let mut lines: Vec<Cow<'_, str>> = document.text.split_inclusive('\n').map(Cow::Borrowed).collect();
    loop {
        let text: String = lines.concat();
        match parse_text(&text, document.start) {
            Err(YamlError::QuotedScalarIndent(number)) => {
                match lines.get_mut(number.saturating_sub(1)).filter(|line| !line.starts_with(DEEP)) {
                    Some(line) => *line = format!("{DEEP}{line}").into(),
                    None => {
                        let message = "not valid YAML: invalid indentation in a quoted scalar of several lines";
                        return Err(SyntaxError::new(document.start, message));
                    }
                }
            }
            Err(YamlError::Syntax(error)) => return Err(error),
            Ok(parsed) => return Ok(parsed),
        }
    }
}

fn parse_text(text: &str, start: SourceLocation) -> Result<Option<ParsedValue>, YamlError> {
    let mut reader = YamlReader { builder: Builder::default(), start };
    let mut parser = Parser::new_from_str_with_options(text, options());
    while let Some(next) = parser.next_event() {
        let (event, span) = next.map_err(|error| match error.kind() {
            ErrorKind::InvalidQuotedScalarIndent => YamlError::QuotedScalarIndent(error.marker().line()),
            _ => YamlError::Syntax(reader.syntax_error(&error)),
        })?;
        reader.event(event, &span)?;
    }
    Ok(reader.builder.take())
}

fn options() -> Options {
    granit_parser::options! { emit_comments: false, flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH }
}

struct YamlReader {
    builder: Builder,
    start: SourceLocation,
}

impl YamlReader {
    fn event(&mut self, event: Event<'_>, span: &Span) -> Result<(), SyntaxError> {
        let location = self.location(&span.start);
        if self.builder.wants_key() {
            return self.key(event, location);
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                // An empty value has no text of its own, so its location is that of its key.
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
                None => Err(SyntaxError::new(location, "an alias refers to the value that it is in")),
            },
            // A lone carriage return is a line break in YAML, but not for `split`, which therefore missed this
            // document.
            Event::DocumentStart(..) if self.builder.has_root() => {
                Err(SyntaxError::new(location, "another document starts in the middle of a line")
                    .help("end lines with a line feed"))
            }
            _ => Ok(()),
        }
    }

    fn key(&mut self, event: Event<'_>, location: SourceLocation) -> Result<(), SyntaxError> {
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
            return Err(SyntaxError::new(location, "a key must be a string, a number or a boolean"));
        };
        self.builder.key(key, location);
        Ok(())
    }

    /// A block collection starts on the line below its key. Its location is that of the key, because users look for the
    /// key.
    fn open(
        &mut self,
        kind: Collection,
        style: StructureStyle,
        location: SourceLocation,
        anchor: usize,
    ) -> Result<(), SyntaxError> {
        let key = self.builder.key_location().filter(|_| style == StructureStyle::Block);
        self.builder.open(kind, key.unwrap_or(location), anchor)
    }

    fn location(&self, at: &Marker) -> SourceLocation {
        let line = u32::try_from(at.line()).unwrap_or(u32::MAX);
        let before = if line == 1 { usize::from(self.start.column) } else { 1 };
        let column = u16::try_from(at.col() + before).unwrap_or(u16::MAX);
        SourceLocation { line: self.start.line.saturating_add(line).saturating_sub(1), column }
    }

    fn syntax_error(&self, error: &ScanError) -> SyntaxError {
        let location = self.location(error.marker());
        let help = match error.kind() {
            ErrorKind::RecursionLimitExceeded => return SyntaxError::too_deep(location),
            ErrorKind::UnknownAnchor => {
                return SyntaxError::new(location, "an alias refers to an anchor that this document does not have");
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
            _ => return SyntaxError::new(location, format!("not valid YAML: {}", error.info())),
        };
        SyntaxError::new(location, format!("not valid YAML: {}", error.info())).help(help)
    }
}

fn value(text: &str, style: ScalarStyle, tag: Option<&Tag>, location: SourceLocation) -> Result<Value, SyntaxError> {
    let value = match tag {
        None if style == ScalarStyle::Plain => scalar::resolve(text),
        None => Value::str(text),
        Some(tag) => tagged(text, tag, location)?,
    };
    match value {
        Value::Float(number) if !number.is_finite() => {
            Err(SyntaxError::new(location, format!("`{text}` is not a number in JSON"))
                .help(format!("quote it if it is a string: `\"{text}\"`")))
        }
        value => Ok(value),
    }
}

/// A scalar with an explicit tag, as in `!!str 5`. A tag that is not one of YAML's own has no effect.
fn tagged(text: &str, tag: &Tag, location: SourceLocation) -> Result<Value, SyntaxError> {
    let name = tag.suffix_in_namespace("tag:yaml.org,2002:").unwrap_or_default();
    let value = match &*name {
        "binary" => decode_base64(text).and_then(|bytes| String::from_utf8(bytes).ok()).map(Value::str),
        "bool" => Some(scalar::resolve(text)).filter(|value| matches!(value, Value::Bool(_))),
        "int" => Some(scalar::resolve(text)).filter(|value| matches!(value, Value::Int(_))),
        "float" => Some(scalar::resolve(text)).filter(|value| matches!(value, Value::Int(_) | Value::Float(_))),
        "null" => Some(scalar::resolve(text)).filter(Value::is_null),
        _ => Some(Value::str(text)),
    };
    value.ok_or_else(|| SyntaxError::new(location, format!("`{text}` is not a valid `!!{name}`")))
}

//! Cuts text into documents that can be read independently: in parallel, and one in spite of another's errors.

use crate::object::SourceLocation;

/// The text of one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'t> {
    pub text: &'t str,
    pub start: SourceLocation,
}

impl<'t> Part<'t> {
    /// The line of the text that `location` is on.
    pub fn line(&self, location: SourceLocation) -> &'t str {
        self.text.lines().nth(location.line.saturating_sub(self.start.line) as usize).unwrap_or_default()
    }

    /// What is left of it without the first `skip` bytes.
    fn after(self, skip: usize) -> Part<'t> {
        let (skipped, text) = self.text.split_at(skip);
        let lines = skipped.bytes().filter(|c| *c == b'\n').count() as u32;
        let columns = skipped.rsplit('\n').next().unwrap_or_default().chars().count();
        let column = if lines == 0 { usize::from(self.start.column) } else { 1 } + columns;
        let start = SourceLocation { line: self.start.line + lines, column: u16::try_from(column).unwrap_or(u16::MAX) };
        Part { text, start }
    }
}

/// The documents of `text`, without those that hold only comments or nothing.
///
/// A line that starts with `---` or `...` ends a document wherever it stands, even inside a block scalar. A
/// byte-order mark may come before it: files are joined with `cat`.
pub fn split(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut cutter = Cutter { text, start: 0, start_line: 1, content: Content::Nothing };
    let mut at = 0;
    for (whole, number) in text.split_inclusive('\n').zip(1..) {
        let line = whole.strip_prefix(BOM).unwrap_or(whole);
        if let Some(rest) = after_marker(line, "---") {
            // Directives belong to the document that follows them.
            if cutter.content == Content::Directives {
                cutter.content = Content::Document;
            } else {
                cutter.cut(at, number, &mut parts);
                cutter.content = content(rest);
            }
        } else if after_marker(line, "...").is_some() {
            cutter.cut(at + whole.len(), number + 1, &mut parts);
        } else if cutter.content != Content::Document {
            cutter.content = cutter.content.max(content(line));
        }
        at += whole.len();
    }
    cutter.cut(at, 0, &mut parts);
    parts
}

const BOM: char = '\u{feff}';

struct Cutter<'t> {
    text: &'t str,
    start: usize,
    start_line: u32,
    content: Content,
}

/// What there is in the document so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Content {
    Nothing,
    Directives,
    Document,
}

impl<'t> Cutter<'t> {
    /// Ends a document at `end`; the next one starts there, on line `line`.
    fn cut(&mut self, end: usize, line: u32, parts: &mut Vec<Part<'t>>) {
        if self.content != Content::Nothing {
            let start = SourceLocation { line: self.start_line, column: 1 };
            let text = &self.text[self.start..end];
            json(Part { text: text.strip_prefix(BOM).unwrap_or(text), start }, parts);
        }
        (self.start, self.start_line, self.content) = (end, line, Content::Nothing);
    }
}

fn after_marker<'l>(line: &'l str, marker: &str) -> Option<&'l str> {
    line.strip_prefix(marker).filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

fn content(line: &str) -> Content {
    match line.trim_start().chars().next() {
        None | Some('#') => Content::Nothing,
        Some('%') if line.starts_with('%') => Content::Directives,
        Some(_) => Content::Document,
    }
}

/// Several JSON documents may follow each other without anything between them.
fn json<'t>(part: Part<'t>, parts: &mut Vec<Part<'t>>) {
    let body = part.text.strip_prefix("---").unwrap_or(part.text).trim_start();
    if !body.starts_with('{') {
        parts.push(part);
        return;
    }
    let mut part = part.after(part.text.len() - body.len());
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(&c) = part.text.as_bytes().get(at) {
        at += 1;
        match c {
            b'{' => depth += 1,
            b'"' => at = string_end(part.text.as_bytes(), at),
            b'}' if depth == 1 => {
                depth = 0;
                let rest = part.text[at..].trim_start();
                // Only JSON is cut: in flow YAML a brace may stand in a single-quoted string.
                if rest.strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with(['"', '}'])) {
                    parts.push(Part { text: &part.text[..at], ..part });
                    part = part.after(part.text.len() - rest.len());
                    at = 0;
                }
            }
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    parts.push(part);
}

fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(&c) = bytes.get(at) {
        match c {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<(&str, u32, u16)> {
        split(text).into_iter().map(|part| (part.text.trim(), part.start.line, part.start.column)).collect()
    }

    #[test]
    fn documents_are_cut_at_markers() {
        assert_eq!(parts("a: 1\n---\nb: 2\n"), [("a: 1", 1, 1), ("---\nb: 2", 2, 1)]);
        assert_eq!(parts("a: 1\r\n---\r\nb: 2\r\n"), [("a: 1", 1, 1), ("---\r\nb: 2", 2, 1)]);
        assert_eq!(parts("--- a\n--- b # x"), [("--- a", 1, 1), ("--- b # x", 2, 1)]);
        assert_eq!(parts("\u{feff}a: 1\n\u{feff}---\nb: 2\n"), [("a: 1", 1, 1), ("---\nb: 2", 2, 1)]);
        assert_eq!(parts("a\n...\nb"), [("a\n...", 1, 1), ("b", 3, 1)]);
        assert_eq!(parts("a: |\n  ---\n  x\n---x: 1"), [("a: |\n  ---\n  x\n---x: 1", 1, 1)]);
    }

    #[test]
    fn documents_without_content_are_skipped() {
        assert_eq!(parts("\u{feff}# only\n---\n\n--- # more\n---\na: 1\n---\n"), [("---\na: 1", 5, 1)]);
        assert_eq!(parts(""), []);
    }

    #[test]
    fn directives_stay_with_their_document() {
        assert_eq!(
            parts("%YAML 1.1\n---\na\n...\n%YAML 1.1\n--- b"),
            [("%YAML 1.1\n---\na\n...", 1, 1), ("%YAML 1.1\n--- b", 5, 1)]
        );
    }

    #[test]
    fn json_documents_may_follow_each_other() {
        assert_eq!(
            parts("{\"a\":\"}{\"}{}\n {\"b\":{}}"),
            [("{\"a\":\"}{\"}", 1, 1), ("{}", 1, 11), ("{\"b\":{}}", 2, 2)]
        );
        assert_eq!(parts("--- {\"a\":1}\n---\n{}"), [("{\"a\":1}", 1, 5), ("{}", 3, 1)]);
        assert_eq!(parts("{a: '}', b: c}"), [("{a: '}', b: c}", 1, 1)]);
    }
}

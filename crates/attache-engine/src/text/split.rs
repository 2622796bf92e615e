//! Splits text into documents, which can be read in parallel. An error in one does not affect the others.

use crate::object::SourceLocation;

/// The text of one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentText<'t> {
    pub text: &'t str,
    pub start: SourceLocation,
}

impl<'t> DocumentText<'t> {
    /// The text of the line of `location`.
    pub fn line(&self, location: SourceLocation) -> &'t str {
        self.text.lines().nth(location.line.saturating_sub(self.start.line) as usize).unwrap_or_default()
    }

    /// This document without its first `skip` bytes.
    fn skip(self, skip: usize) -> DocumentText<'t> {
        let (skipped, text) = self.text.split_at(skip);
        let lines = skipped.bytes().filter(|c| *c == b'\n').count() as u32;
        let columns = skipped.rsplit('\n').next().unwrap_or_default().chars().count();
        let column = if lines == 0 { usize::from(self.start.column) } else { 1 } + columns;
        let start = SourceLocation { line: self.start.line + lines, column: u16::try_from(column).unwrap_or(u16::MAX) };
        DocumentText { text, start }
    }
}

/// The documents of `text`, except empty ones and those that contain only comments.
///
/// A line that starts with `---` or `...` ends a document everywhere, even inside a block scalar. It may start with a
/// byte-order mark: files are often joined with `cat`.
pub fn split(text: &str) -> Vec<DocumentText<'_>> {
    let mut documents = Vec::new();
    let mut splitter = Splitter { text, start: 0, start_line: 1, content: Content::Nothing };
    let mut at = 0;
    for (whole, number) in text.split_inclusive('\n').zip(1..) {
        let line = whole.strip_prefix(BOM).unwrap_or(whole);
        if let Some(rest) = after_marker(line, "---") {
            // Directives belong to the document that follows them.
            if splitter.content == Content::Directives {
                splitter.content = Content::Document;
            } else {
                splitter.cut(at, number, &mut documents);
                splitter.content = content(rest);
            }
        } else if after_marker(line, "...").is_some() {
            splitter.cut(at + whole.len(), number + 1, &mut documents);
        } else if splitter.content != Content::Document {
            splitter.content = splitter.content.max(content(line));
        }
        at += whole.len();
    }
    splitter.cut(at, 0, &mut documents);
    documents
}

const BOM: char = '\u{feff}';

struct Splitter<'t> {
    text: &'t str,
    start: usize,
    start_line: u32,
    content: Content,
}

/// What has been found in the document so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Content {
    Nothing,
    Directives,
    Document,
}

impl<'t> Splitter<'t> {
    /// Ends a document at byte `end`. The next one starts there, on line `line`.
    fn cut(&mut self, end: usize, line: u32, documents: &mut Vec<DocumentText<'t>>) {
        if self.content != Content::Nothing {
            let start = SourceLocation { line: self.start_line, column: 1 };
            let text = &self.text[self.start..end];
            push_json(DocumentText { text: text.strip_prefix(BOM).unwrap_or(text), start }, documents);
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

/// Adds a document, or several if it is JSON: JSON documents may follow each other without a `---`.
fn push_json<'t>(document: DocumentText<'t>, documents: &mut Vec<DocumentText<'t>>) {
    let body = document.text.strip_prefix("---").unwrap_or(document.text).trim_start();
    if !body.starts_with('{') {
        documents.push(document);
        return;
    }
    let mut document = document.skip(document.text.len() - body.len());
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(&c) = document.text.as_bytes().get(at) {
        at += 1;
        match c {
            b'{' => depth += 1,
            b'"' => at = string_end(document.text.as_bytes(), at),
            b'}' if depth == 1 => {
                depth = 0;
                let rest = document.text[at..].trim_start();
                // Only JSON is split: in flow YAML a brace may be inside a single-quoted string.
                if rest.strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with(['"', '}'])) {
                    documents.push(DocumentText { text: &document.text[..at], ..document });
                    document = document.skip(document.text.len() - rest.len());
                    at = 0;
                }
            }
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    documents.push(document);
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

    fn documents(text: &str) -> Vec<(&str, u32, u16)> {
        split(text)
            .into_iter()
            .map(|document| (document.text.trim(), document.start.line, document.start.column))
            .collect()
    }

    #[test]
    fn documents_are_cut_at_markers() {
        assert_eq!(documents("a: 1\n---\nb: 2\n"), [("a: 1", 1, 1), ("---\nb: 2", 2, 1)]);
        assert_eq!(documents("a: 1\r\n---\r\nb: 2\r\n"), [("a: 1", 1, 1), ("---\r\nb: 2", 2, 1)]);
        assert_eq!(documents("--- a\n--- b # x"), [("--- a", 1, 1), ("--- b # x", 2, 1)]);
        assert_eq!(documents("\u{feff}a: 1\n\u{feff}---\nb: 2\n"), [("a: 1", 1, 1), ("---\nb: 2", 2, 1)]);
        assert_eq!(documents("a\n...\nb"), [("a\n...", 1, 1), ("b", 3, 1)]);
        assert_eq!(documents("a: |\n  ---\n  x\n---x: 1"), [("a: |\n  ---\n  x\n---x: 1", 1, 1)]);
    }

    #[test]
    fn documents_without_content_are_skipped() {
        assert_eq!(documents("\u{feff}# only\n---\n\n--- # more\n---\na: 1\n---\n"), [("---\na: 1", 5, 1)]);
        assert_eq!(documents(""), []);
    }

    #[test]
    fn directives_stay_with_their_document() {
        assert_eq!(
            documents("%YAML 1.1\n---\na\n...\n%YAML 1.1\n--- b"),
            [("%YAML 1.1\n---\na\n...", 1, 1), ("%YAML 1.1\n--- b", 5, 1)]
        );
    }

    #[test]
    fn json_documents_may_follow_each_other() {
        assert_eq!(
            documents("{\"a\":\"}{\"}{}\n {\"b\":{}}"),
            [("{\"a\":\"}{\"}", 1, 1), ("{}", 1, 11), ("{\"b\":{}}", 2, 2)]
        );
        assert_eq!(documents("--- {\"a\":1}\n---\n{}"), [("{\"a\":1}", 1, 5), ("{}", 3, 1)]);
        assert_eq!(documents("{a: '}', b: c}"), [("{a: '}', b: c}", 1, 1)]);
    }
}

//! JSON text as a sequence of tokens, without building values.

/// A part of a JSON text. Numbers, booleans and nulls are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'t> {
    /// The start of a map.
    OpenMap,
    /// The start of a list.
    OpenList,
    /// The end of a map or list.
    Close,
    /// The key of a map, as it is written: escapes remain.
    Key(&'t str),
    /// A string, as it is written: escapes remain.
    Text(&'t str),
}

/// Finds the tokens of a JSON text. It ends early if a string is not closed.
#[derive(Debug)]
pub(crate) struct Scanner<'t> {
    text: &'t str,
    /// The offset of the rest.
    pub(crate) at: usize,
}

impl<'t> Scanner<'t> {
    pub(crate) fn new(text: &'t str) -> Scanner<'t> {
        Scanner { text, at: 0 }
    }

    fn string(&mut self) -> Option<&'t str> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        loop {
            self.at += memchr::memchr2(b'"', b'\\', bytes.get(self.at..)?)?;
            if bytes[self.at] == b'"' {
                self.at += 1;
                return self.text.get(start..self.at - 1);
            }
            // The byte after a backslash does not end the string.
            self.at += 2;
        }
    }

    fn is_at_colon(&self) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
    }
}

impl<'t> Iterator for Scanner<'t> {
    type Item = Token<'t>;

    fn next(&mut self) -> Option<Token<'t>> {
        loop {
            let byte = *self.text.as_bytes().get(self.at)?;
            self.at += 1;
            return Some(match byte {
                b'{' => Token::OpenMap,
                b'[' => Token::OpenList,
                b'}' | b']' => Token::Close,
                b'"' => {
                    let string = self.string()?;
                    if self.is_at_colon() { Token::Key(string) } else { Token::Text(string) }
                }
                _ => continue,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tokens_of_a_text() {
        let text = r#" {"a" : [1, "b\"]}", {}], "c:": {"d\\": null}, "e": "\\"} "#;
        let tokens: Vec<Token<'_>> = Scanner::new(text).collect();
        let expected = [
            Token::OpenMap,
            Token::Key("a"),
            Token::OpenList,
            Token::Text("b\\\"]}"),
            Token::OpenMap,
            Token::Close,
            Token::Close,
            Token::Key("c:"),
            Token::OpenMap,
            Token::Key("d\\\\"),
            Token::Close,
            Token::Key("e"),
            Token::Text("\\\\"),
            Token::Close,
        ];
        assert_eq!(tokens, expected);
    }

    #[test]
    fn a_string_that_is_not_closed_ends_the_text() {
        for text in [r#"{"a"#, r#"{"a\"#, r#"{"a\""#, "{\"é\\"] {
            assert_eq!(Scanner::new(text).collect::<Vec<_>>(), [Token::OpenMap], "{text}");
        }
    }
}

//! Reads a document field by field, and says of each thing that is wrong where it is.

use smol_str::SmolStr;

use crate::object::Object;
use crate::problem::Problem;
use crate::value::{Path, Value};

/// One object of the document: what it has, what was asked for, and the problems so far.
pub struct DocumentReader<'d, 'p> {
    object: &'d Object,
    path: Path,
    value: &'d Value,
    asked: Vec<&'static str>,
    problems: &'p mut Vec<Problem>,
}

impl<'d, 'p> DocumentReader<'d, 'p> {
    pub fn new(object: &'d Object, path: Path, value: &'d Value, problems: &'p mut Vec<Problem>) -> Self {
        let mut reader = DocumentReader { object, path, value, asked: Vec::new(), problems };
        if reader.value.as_map().is_none() {
            let message = format!("expected an object, found {}", reader.value.type_name());
            reader.complain(None, message, None);
        }
        reader
    }

    pub fn complain(&mut self, field: Option<&str>, message: String, help: Option<String>) {
        let path = match field {
            Some(field) => self.path.key(field),
            None => self.path.clone(),
        };
        let mut problem = Problem::error(message).at(self.object, path);
        problem.help = help;
        self.problems.push(problem);
    }

    pub fn get(&mut self, field: &'static str) -> Option<&'d Value> {
        self.any(field).filter(|value| !value.is_null())
    }

    /// What is at `field`, also if that is null.
    pub fn any(&mut self, field: &'static str) -> Option<&'d Value> {
        if !self.asked.contains(&field) {
            self.asked.push(field);
        }
        self.value.get(field)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn text(&mut self, field: &'static str) -> Option<SmolStr> {
        match self.get(field)? {
            Value::Str(text) => Some(text.clone()),
            other => self.wrong_type(field, "a string", other),
        }
    }

    pub fn flag(&mut self, field: &'static str) -> Option<bool> {
        match self.get(field)? {
            Value::Bool(flag) => Some(*flag),
            other => self.wrong_type(field, "true or false", other),
        }
    }

    pub fn number(&mut self, field: &'static str) -> Option<i64> {
        match self.get(field)? {
            Value::Int(number) => Some(*number),
            other => self.wrong_type(field, "a whole number", other),
        }
    }

    /// A list of strings; one string stands for a list of one.
    pub fn texts(&mut self, field: &'static str) -> Option<Vec<SmolStr>> {
        match self.get(field)? {
            Value::Str(text) => Some(vec![text.clone()]),
            Value::List(items) => {
                let texts: Option<Vec<SmolStr>> = items.iter().map(|item| item.as_str().map(SmolStr::new)).collect();
                if texts.is_none() {
                    self.complain(Some(field), format!("`{field}` must be a list of strings"), None);
                }
                texts
            }
            other => self.wrong_type(field, "a list of strings", other),
        }
    }

    pub fn required(&mut self, field: &'static str) -> Option<SmolStr> {
        let text = self.text(field).filter(|text| !text.is_empty());
        if text.is_none() && self.value.get(field).is_none_or(|v| v.is_null() || v.as_str() == Some("")) {
            self.complain(None, format!("`{field}` is missing"), Some(format!("add `{field}`")));
        }
        text
    }

    /// One of a fixed set of words.
    pub fn choice<T: Copy>(&mut self, field: &'static str, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(field)?;
        self.word(field, &text, words)
    }

    pub fn choices<T: Copy>(&mut self, field: &'static str, words: &[(&str, T)]) -> Option<Vec<T>> {
        let texts = self.texts(field)?;
        Some(texts.iter().filter_map(|text| self.word(field, text, words)).collect())
    }

    pub fn word<T: Copy>(&mut self, field: &str, text: &str, words: &[(&str, T)]) -> Option<T> {
        let found = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)).map(|(_, value)| *value);
        if found.is_none() {
            let known: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            self.complain(
                Some(field),
                format!("unknown value `{text}` for `{field}`"),
                Some(format!("use one of {}", known.join(", "))),
            );
        }
        found
    }

    /// The object at `field`, read by `read`.
    pub fn object<T>(&mut self, field: &'static str, read: impl FnOnce(&mut DocumentReader<'d, '_>) -> T) -> Option<T> {
        let value = self.get(field)?;
        let mut inner = DocumentReader::new(self.object, self.path.key(field), value, self.problems);
        inner.value.as_map()?;
        let result = read(&mut inner);
        inner.finish();
        Some(result)
    }

    /// Each object of the list at `field`, read by `read`; one object stands for a list of one.
    pub fn objects<T>(
        &mut self,
        field: &'static str,
        read: impl Fn(&mut DocumentReader<'d, '_>) -> Option<T>,
    ) -> Vec<T> {
        let Some(value) = self.get(field) else { return Vec::new() };
        let Value::List(items) = value else {
            if value.as_map().is_some() {
                return self.object(field, read).flatten().into_iter().collect();
            }
            self.wrong_type::<()>(field, "a list", value);
            return Vec::new();
        };
        let path = self.path.key(field);
        let mut results = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let mut inner = DocumentReader::new(self.object, path.index(i), item, self.problems);
            if inner.value.as_map().is_some() {
                results.extend(read(&mut inner));
                inner.finish();
            }
        }
        results
    }

    /// The entries of the map at `field` whose values are strings.
    pub fn pairs(&mut self, field: &'static str) -> Vec<(SmolStr, SmolStr)> {
        let Some(value) = self.get(field) else { return Vec::new() };
        let mut pairs = Vec::new();
        for (key, item) in value.entries() {
            match item {
                Value::Str(text) => pairs.push((key.clone(), text.clone())),
                other => {
                    let message = format!("`{field}.{key}` must be a string, not {}", other.type_name());
                    self.complain(Some(field), message, None);
                }
            }
        }
        if value.as_map().is_none() {
            self.wrong_type::<()>(field, "an object", value);
        }
        pairs
    }

    /// Whatever was there and not asked for is a mistake.
    pub fn finish(&mut self) {
        for (key, _) in self.value.entries() {
            if !self.asked.iter().any(|asked| asked == key) {
                let known: Vec<String> = self.asked.iter().map(|field| format!("`{field}`")).collect();
                let help = format!("the fields here are {}", known.join(", "));
                self.complain(Some(key), format!("unknown field `{key}`"), Some(help));
            }
        }
    }

    fn wrong_type<T>(&mut self, field: &str, expected: &str, found: &Value) -> Option<T> {
        self.complain(Some(field), format!("`{field}` must be {expected}, not {}", found.type_name()), None);
        None
    }
}

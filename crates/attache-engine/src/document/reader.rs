//! Reads a document field by field, and reports every mistake with its location.

use std::any::Any;
use std::sync::Arc;

use smol_str::SmolStr;

use super::{FieldValue, Location, OrderedMap};
use crate::names;
use crate::object::Object;
use crate::problem::{Problem, ProblemCode};
use crate::value::{Map, Path, Value};

/// The mistakes that were found in a document.
#[derive(Debug, Default)]
pub struct Diagnostics {
    mistakes: Vec<Mistake>,
    context: Option<Arc<dyn Any + Send + Sync>>,
}

#[derive(Debug)]
struct Mistake {
    path: Path,
    message: String,
    help: Option<String>,
}

impl Diagnostics {
    /// Diagnostics with a context, in which values of the document are looked up.
    pub fn with_context(context: Arc<dyn Any + Send + Sync>) -> Diagnostics {
        Diagnostics { context: Some(context), ..Diagnostics::default() }
    }

    /// The context of type `C`, if there is one.
    pub fn context<C: Any + Send + Sync>(&self) -> Option<Arc<C>> {
        Arc::clone(self.context.as_ref()?).downcast().ok()
    }

    pub fn report(&mut self, at: &Location<'_>, message: String, help: Option<String>) {
        self.mistakes.push(Mistake { path: at.path(), message, help });
    }

    pub fn wrong_type<T>(&mut self, at: &Location<'_>, expected: &str, found: &Value) -> Option<T> {
        self.report(at, format!("`{at}` must be {expected}, not {}", found.type_name()), None);
        None
    }

    pub fn text<'v>(&mut self, value: &'v Value, at: &Location<'_>) -> Option<&'v str> {
        match value {
            Value::Str(text) => Some(text),
            other => self.wrong_type(at, "a string", other),
        }
    }

    /// One of a fixed set of words, in upper or lower case.
    pub fn word<T: Copy>(&mut self, text: &str, at: &Location<'_>, words: &[(&str, T)]) -> Option<T> {
        let found = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)).map(|(_, value)| *value);
        if found.is_none() {
            let help = format!("use one of {}", quoted(words.iter().map(|(word, _)| *word)));
            self.report(at, format!("unknown value `{text}` for `{}`", at.field()), Some(help));
        }
        found
    }

    /// The mistakes as problems of the document in which they were found.
    pub fn into_problems(self, document: &Object) -> Vec<Problem> {
        let problem = |Mistake { path, message, help }| {
            let problem = Problem::error(message).code(ProblemCode::InvalidField).at(document, path);
            Problem { help, ..problem }
        };
        self.mistakes.into_iter().map(problem).collect()
    }
}

/// One object of a document: its fields, and which of them are known.
#[derive(Debug)]
pub struct DocumentReader<'d, 'p> {
    value: &'d Value,
    at: Location<'p>,
    known: Vec<&'static str>,
    diagnostics: &'p mut Diagnostics,
}

impl<'d, 'p> DocumentReader<'d, 'p> {
    /// Reads the object `value` with `read`, and reports the fields that `read` does not ask for.
    pub fn read<T>(
        value: &'d Value,
        at: &'p Location<'p>,
        diagnostics: &'p mut Diagnostics,
        read: impl FnOnce(&mut DocumentReader<'d, 'p>) -> Option<T>,
    ) -> Option<T> {
        if value.as_map().is_none() {
            diagnostics.report(at, format!("expected an object, found {}", value.type_name()), None);
            return None;
        }
        let mut reader = DocumentReader { value, at: *at, known: Vec::new(), diagnostics };
        let result = read(&mut reader);
        reader.report_unknown_fields();
        result
    }

    /// Reports a mistake in a field, or in the object as a whole.
    pub fn report(&mut self, field: Option<&str>, message: String, help: Option<String>) {
        match field {
            Some(field) => self.diagnostics.report(&self.at.key(field), message, help),
            None => self.diagnostics.report(&self.at, message, help),
        }
    }

    /// The location of the object, and the mistakes that were found so far.
    pub fn diagnostics(&mut self) -> (Location<'p>, &mut Diagnostics) {
        (self.at, self.diagnostics)
    }

    /// The value of a field, if it is there and not null.
    pub fn get(&mut self, field: &'static str) -> Option<&'d Value> {
        self.nullable(field).filter(|value| !value.is_null())
    }

    /// The value of a field, which may be null.
    pub fn nullable(&mut self, field: &'static str) -> Option<&'d Value> {
        if !self.known.contains(&field) {
            self.known.push(field);
        }
        self.value.get(field)
    }

    pub fn path(&self) -> Path {
        self.at.path()
    }

    pub fn field<T: FieldValue>(&mut self, field: &'static str) -> Option<T> {
        let value = self.get(field)?;
        T::read(value, &self.at.key(field), self.diagnostics)
    }

    /// A required field. It must not be an empty string.
    pub fn required<T: FieldValue>(&mut self, field: &'static str) -> Option<T> {
        match self.get(field).filter(|value| value.as_str() != Some("")) {
            Some(_) => self.field(field),
            None => {
                self.report(None, format!("`{field}` is missing"), Some(format!("add `{field}`")));
                None
            }
        }
    }

    /// The object in a field, read by `read`. Without the field, `read` reads an object without fields.
    pub fn nested<T>(
        &mut self,
        field: &'static str,
        read: impl FnOnce(&mut DocumentReader<'_, '_>) -> Option<T>,
    ) -> Option<T> {
        let empty = Value::Map(Map::default());
        let value = self.get(field).unwrap_or(&empty);
        DocumentReader::read(value, &self.at.key(field), self.diagnostics, read)
    }

    pub fn text(&mut self, field: &'static str) -> Option<SmolStr> {
        self.field(field)
    }

    pub fn flag(&mut self, field: &'static str) -> Option<bool> {
        self.field(field)
    }

    /// A list of strings. A single string is a list of one.
    pub fn texts(&mut self, field: &'static str) -> Option<Vec<SmolStr>> {
        self.field(field)
    }

    /// One of a fixed set of words, in upper or lower case.
    pub fn choice<T: Copy>(&mut self, field: &'static str, words: &[(&str, T)]) -> Option<T> {
        let text: SmolStr = self.field(field)?;
        self.diagnostics.word(&text, &self.at.key(field), words)
    }

    /// The object in a field, read by `read`.
    pub fn object<T>(
        &mut self,
        field: &'static str,
        read: impl FnOnce(&mut DocumentReader<'_, '_>) -> Option<T>,
    ) -> Option<T> {
        let value = self.get(field)?;
        DocumentReader::read(value, &self.at.key(field), self.diagnostics, read)
    }

    /// Each object of the list in a field, read by `read`. A single object is a list of one.
    pub fn objects<T>(
        &mut self,
        field: &'static str,
        read: impl Fn(&mut DocumentReader<'_, '_>) -> Option<T>,
    ) -> Vec<T> {
        let Some(value) = self.get(field) else { return Vec::new() };
        let at = self.at.key(field);
        match value {
            Value::List(items) => {
                let items = items.iter().enumerate();
                let item =
                    |(i, item)| DocumentReader::read(item, &at.index(i), self.diagnostics, |reader| read(reader));
                items.filter_map(item).collect()
            }
            Value::Map(_) => {
                DocumentReader::read(value, &at, self.diagnostics, |reader| read(reader)).into_iter().collect()
            }
            other => self.diagnostics.wrong_type(&at, "a list", other).unwrap_or_default(),
        }
    }

    /// The entries of the object in a field whose values are strings.
    pub fn pairs(&mut self, field: &'static str) -> Vec<(SmolStr, SmolStr)> {
        self.field::<OrderedMap<SmolStr, SmolStr>>(field).unwrap_or_default().0
    }

    fn report_unknown_fields(&mut self) {
        for (key, _) in self.value.entries() {
            if !self.known.iter().any(|known| known == key) {
                let help = match names::nearest(key, self.known.iter().copied()).first() {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("the fields here are {}", quoted(self.known.iter().copied())),
                };
                self.report(Some(key), format!("unknown field `{key}`"), Some(help));
            }
        }
    }
}

fn quoted<'w>(words: impl Iterator<Item = &'w str>) -> String {
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{OneOrMany, document, words};

    document! {
        /// A cake.
        struct Cake {
            /// Its name.
            #[field("name", required)]
            name: SmolStr,

            /// How many layers it has.
            #[field("layers", default = 1)]
            layers: i64,

            /// What it is made of.
            #[field("ingredients")]
            ingredients: Vec<SmolStr>,

            /// Its flavours.
            #[field("flavours")]
            flavours: OneOrMany<Flavour>,

            /// The glaze.
            #[field("glaze")]
            glaze: Option<Glaze>,

            /// Candles by colour.
            #[field("candles")]
            candles: OrderedMap<SmolStr, i64>,
        }
    }

    document! {
        /// A glaze.
        struct Glaze {
            /// Its flavour.
            #[field("flavour", required)]
            flavour: Flavour,
        }
    }

    words! {
        /// A flavour.
        enum Flavour {
            /// sweet.
            Vanilla = "Vanilla",
            /// bitter.
            Cocoa = "Cocoa",
        }
    }

    /// The cake, and every mistake with its path and hint.
    fn read(value: serde_json::Value) -> (Option<Cake>, Vec<String>) {
        let mut diagnostics = Diagnostics::default();
        let cake = Cake::read(&Value::from(value), &Location::top("spec"), &mut diagnostics);
        let text =
            |Mistake { path, message, help }: Mistake| format!("{path}: {message}; {}", help.unwrap_or_default());
        (cake, diagnostics.mistakes.into_iter().map(text).collect())
    }

    #[test]
    fn fields_that_are_missing_or_null_have_their_defaults() {
        let (cake, mistakes) = read(serde_json::json!({"name": "Sacher", "layers": null}));
        assert_eq!(mistakes, [""; 0]);
        let expected = Cake {
            name: "Sacher".into(),
            layers: 1,
            ingredients: Vec::new(),
            flavours: OneOrMany::default(),
            glaze: None,
            candles: OrderedMap::default(),
        };
        assert_eq!(cake, Some(expected));
    }

    #[test]
    fn a_list_of_one_needs_no_brackets_and_words_have_any_case() {
        let (cake, mistakes) = read(serde_json::json!({"name": "a", "ingredients": "flour", "flavours": "vanilla"}));
        assert_eq!(mistakes, [""; 0]);
        let cake = cake.expect("no mistakes");
        assert_eq!(
            (cake.ingredients.as_slice(), cake.flavours.as_slice()),
            (&["flour".into()][..], &[Flavour::Vanilla][..])
        );
    }

    #[test]
    fn every_mistake_is_reported_with_its_path_and_a_hint() {
        let (cake, mistakes) = read(serde_json::json!({
            "name": "",
            "layers": "two",
            "ingredients": ["flour", 2],
            "flavours": 1,
            "glaze": {"flavour": "Salt", "sauce": 1},
            "candles": {"red": "many"},
            "ingredient": [],
            "zzz": 1,
        }));
        assert_eq!(cake, None);
        assert_eq!(
            mistakes,
            [
                "spec: `name` is missing; add `name`",
                "spec.layers: `layers` must be a whole number, not a string; ",
                "spec.ingredients[1]: `ingredients[1]` must be a string, not a number; ",
                "spec.flavours: `flavours` must be a list of strings, not a number; ",
                "spec.glaze.flavour: unknown value `Salt` for `flavour`; use one of `Vanilla`, `Cocoa`",
                "spec.glaze.sauce: unknown field `sauce`; the fields here are `flavour`",
                "spec.candles.red: `red` must be a whole number, not a string; ",
                "spec.ingredient: unknown field `ingredient`; did you mean `ingredients`?",
                "spec.zzz: unknown field `zzz`; the fields here are `name`, `layers`, `ingredients`, `flavours`, `glaze`, `candles`",
            ]
        );
    }

    #[test]
    fn what_is_no_object_is_a_mistake() {
        assert_eq!(read(serde_json::json!([])), (None, vec!["spec: expected an object, found a list; ".to_owned()]));
    }
}

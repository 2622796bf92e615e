//! The shape of a document, from which its JSON schema and its documentation are made.

use serde_json::{Map, Value as Json, json};

use super::FieldValue;

/// The shape of a value.
#[derive(Clone, Debug)]
pub enum Schema {
    /// A string, and the name of its format: `string`, `path`, `level`.
    String(&'static str),
    Integer,
    Boolean,
    /// One of some words.
    Words(Vec<WordSchema>),
    List(Box<Schema>),
    /// A value, or a list of such values.
    OneOrMany(Box<Schema>),
    /// An object with any keys.
    Map(Box<Schema>),
    Object(ObjectSchema),
    /// One of several objects with different fields.
    OneOf(Vec<ObjectSchema>),
    /// A value that can have different shapes, described in words.
    Any(&'static str),
}

/// A word that a field can have.
#[derive(Clone, Debug)]
pub struct WordSchema {
    pub word: &'static str,
    pub description: String,
}

/// The fields of an object.
#[derive(Clone, Debug)]
pub struct ObjectSchema {
    pub description: String,
    pub fields: Vec<FieldSchema>,
}

/// A field of an object.
#[derive(Clone, Debug)]
pub struct FieldSchema {
    pub name: &'static str,
    pub description: String,
    pub required: bool,
    /// The default, in words.
    pub default: Option<String>,
    /// The description of the group of fields that it belongs to.
    pub group: Option<String>,
    pub schema: Schema,
}

impl Schema {
    /// The structural JSON schema, as a CustomResourceDefinition needs it.
    pub fn to_json(&self) -> Json {
        match self {
            Schema::String(_) => json!({"type": "string"}),
            Schema::Integer => json!({"type": "integer", "format": "int64"}),
            Schema::Boolean => json!({"type": "boolean"}),
            Schema::Words(words) => {
                json!({"type": "string", "enum": words.iter().map(|word| word.word).collect::<Vec<_>>()})
            }
            Schema::List(item) => json!({"type": "array", "items": item.to_json()}),
            Schema::Map(entry) => json!({"type": "object", "additionalProperties": entry.to_json()}),
            Schema::Object(object) => object.to_json(),
            Schema::OneOf(objects) => ObjectSchema::union(objects).to_json(),
            // A structural schema has no unions.
            Schema::OneOrMany(_) | Schema::Any(_) => json!({"x-kubernetes-preserve-unknown-fields": true}),
        }
    }

    /// The words that the value, or an item of it, can be.
    pub fn words(&self) -> &[WordSchema] {
        match self {
            Schema::Words(words) => words,
            Schema::List(inner) | Schema::OneOrMany(inner) | Schema::Map(inner) => inner.words(),
            _ => &[],
        }
    }
}

impl ObjectSchema {
    /// The fields, marked as a group with the description of this object.
    pub fn into_group(self) -> Vec<FieldSchema> {
        let ObjectSchema { description, fields } = self;
        fields.into_iter().map(|field| FieldSchema { group: Some(description.clone()), ..field }).collect()
    }

    /// An object that can have the fields of any of `objects`.
    fn union(objects: &[ObjectSchema]) -> ObjectSchema {
        let mut fields: Vec<FieldSchema> = Vec::new();
        for field in objects.iter().flat_map(|object| &object.fields) {
            match fields.iter_mut().find(|known| known.name == field.name) {
                Some(known) => {
                    known.description = format!("{} Or: {}", known.description, field.description);
                    known.schema = Schema::Any("");
                }
                None => fields.push(FieldSchema { required: false, ..field.clone() }),
            }
        }
        ObjectSchema { description: String::new(), fields }
    }

    fn to_json(&self) -> Json {
        let properties: Map<String, Json> =
            self.fields.iter().map(|field| (field.name.to_owned(), field.to_json())).collect();
        let required: Vec<&str> = self.fields.iter().filter(|field| field.required).map(|field| field.name).collect();
        let mut json = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            json["required"] = json!(required);
        }
        json
    }
}

impl FieldSchema {
    pub fn required<T: FieldValue>(name: &'static str, docs: &[&str]) -> Self {
        let description = description(docs);
        FieldSchema { name, description, required: true, default: None, group: None, schema: T::schema() }
    }

    /// A field whose default is a value.
    pub fn with_default<T: FieldValue>(name: &'static str, docs: &[&str], default: T) -> Self {
        FieldSchema { required: false, default: default.describe(), ..FieldSchema::required::<T>(name, docs) }
    }

    /// A field whose default is described in words.
    pub fn with_text<T: FieldValue>(name: &'static str, docs: &[&str], default: &str) -> Self {
        FieldSchema { required: false, default: Some(default.to_owned()), ..FieldSchema::required::<T>(name, docs) }
    }

    fn to_json(&self) -> Json {
        let mut json = self.schema.to_json();
        let mut description = self.full_description();
        if let Some(default) = &self.default {
            description = format!("{description} Default: {default}.");
        }
        json["description"] = Json::String(description);
        json
    }

    /// The description of the field and of the words that it can have.
    pub fn full_description(&self) -> String {
        let described = |word: &WordSchema| !word.description.is_empty();
        let words = self.schema.words().iter().filter(|word| described(word));
        let words = words.map(|word| format!(" `{}`: {}", word.word, word.description));
        format!("{}{}", self.description, words.collect::<String>())
    }
}

/// The text of a doc comment, given line by line: one line for each paragraph.
pub fn description(lines: &[&str]) -> String {
    let paragraphs = lines.split(|line| line.trim().is_empty());
    let paragraph = |lines: &[&str]| lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    paragraphs.map(paragraph).collect::<Vec<_>>().join("\n")
}

//! The reference documentation of a document: Markdown tables of its fields.

use std::fmt::Write;

use super::{FieldSchema, ObjectSchema, Schema};

/// A table for each group of fields, and then one for each object inside, under headings of the third level. `heading` is
/// that of the fields in no group.
pub fn reference(document: &ObjectSchema, heading: &str) -> String {
    let mut text = String::new();
    let mut objects = Vec::new();
    let mut fields = document.fields.as_slice();
    while let Some(first) = fields.first() {
        let same_group = fields.iter().take_while(|field| field.group == first.group).count();
        let (group, rest) = fields.split_at(same_group);
        let description = first.group.as_deref().unwrap_or(heading);
        let (title, introduction) = description.split_once('\n').unwrap_or((description, ""));
        section(title.trim_end_matches('.'), introduction, group, &mut text);
        group.iter().for_each(|field| nested(field.name, &field.schema, &mut objects));
        fields = rest;
    }
    for (title, object) in objects {
        section(&title, &object.description, &object.fields, &mut text);
    }
    text
}

/// The objects inside of a value, each with a title.
fn nested<'s>(path: &str, schema: &'s Schema, found: &mut Vec<(String, &'s ObjectSchema)>) {
    match schema {
        Schema::Object(object) => {
            found.push((format!("`{path}`"), object));
            nested_in_fields(path, object, found);
        }
        Schema::List(item) | Schema::OneOrMany(item) => nested(&format!("{path}[]"), item, found),
        Schema::Map(entry) => nested(&format!("{path}.*"), entry, found),
        Schema::OneOf(objects) => {
            for object in objects {
                let required = object.fields.iter().filter(|field| field.required).map(|field| field.name).next();
                found.push((format!("`{path}` with `{}`", required.unwrap_or_default()), object));
                nested_in_fields(path, object, found);
            }
        }
        _ => {}
    }
}

fn nested_in_fields<'s>(path: &str, object: &'s ObjectSchema, found: &mut Vec<(String, &'s ObjectSchema)>) {
    for field in &object.fields {
        nested(&format!("{path}.{}", field.name), &field.schema, found);
    }
}

fn section(heading: &str, introduction: &str, fields: &[FieldSchema], text: &mut String) {
    let paragraphs: String = introduction.lines().map(|paragraph| format!("{paragraph}\n\n")).collect();
    let rows: String = fields.iter().map(row).collect();
    let _ =
        write!(text, "### {heading}\n\n{paragraphs}| field | type | default | meaning |\n|---|---|---|---|\n{rows}\n");
}

fn row(field: &FieldSchema) -> String {
    let default = match &field.default {
        _ if field.required => "required",
        Some(default) => default,
        None => "none",
    };
    let cells = [&format!("`{}`", field.name), &kind(&field.schema), default, &field.full_description()];
    let cells = cells.map(|cell| cell.replace('|', "\\|").replace('\n', " "));
    format!("| {} |\n", cells.join(" | "))
}

fn kind(schema: &Schema) -> String {
    match schema {
        Schema::String(noun) => (*noun).to_owned(),
        Schema::Integer => "integer".to_owned(),
        Schema::Boolean => "boolean".to_owned(),
        // The description of the field lists the words.
        Schema::Words(words) if words.iter().all(|word| !word.description.is_empty()) => "word".to_owned(),
        Schema::Words(words) => words.iter().map(|word| format!("`{}`", word.word)).collect::<Vec<_>>().join(", "),
        Schema::List(item) => format!("list of {}", plural(item)),
        Schema::OneOrMany(item) => format!("{}, or a list", kind(item)),
        Schema::Map(entry) => format!("map to {}", plural(entry)),
        Schema::Object(_) | Schema::OneOf(_) => "object".to_owned(),
        Schema::Any(description) => (*description).to_owned(),
    }
}

fn plural(schema: &Schema) -> String {
    match schema {
        Schema::String("strategy") => "strategies".to_owned(),
        Schema::String(_) | Schema::Integer | Schema::Words(_) => format!("{}s", kind(schema)),
        Schema::Object(_) | Schema::OneOf(_) => "objects".to_owned(),
        other => kind(other),
    }
}

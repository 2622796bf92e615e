//! What a route's annotation says of how its policies meet those of the routes below it.

use smol_str::SmolStr;

use super::{Inherit, RouteAnnotation};
use crate::object::Object;
use crate::problem::Problem;
use crate::value::Path;

impl RouteAnnotation {
    /// How the policies of a route meet those below, and the fields in which it is the other way round.
    pub fn read(&self, route: &Object) -> (Inherit, Vec<SmolStr>) {
        let text = self.on(route).map(|(_, text)| text);
        let chosen = text.and_then(|text| self.values.iter().find(|(value, _)| value == text));
        let fields = text.filter(|text| self.lists_fields && lists_fields(text));
        let except = fields.map_or(Vec::new(), |fields| fields.split(',').map(|field| field.trim().into()).collect());
        (chosen.map_or(self.default, |(_, inherit)| *inherit), except)
    }

    /// What is wrong with the annotation of a route, which then does not count.
    pub fn check(&self, route: &Object) -> Option<Problem> {
        let (name, text) = self.on(route)?;
        if self.values.iter().any(|(value, _)| value == text) || self.lists_fields && lists_fields(text) {
            return None;
        }
        let known: Vec<String> = self.values.iter().map(|(value, _)| format!("`{value}`")).collect();
        let help = match known.as_slice() {
            [] => "name fields with commas between them, or `*` for all".to_owned(),
            known => format!("use one of {}", known.join(", ")),
        };
        let prefers = if self.default.prefer_higher { "parent" } else { "child" };
        let message =
            format!("unknown value `{text}` for annotation `{name}`: the {prefers} is preferred, as without it");
        Some(Problem::warning(message).at(route, Path::parse("metadata.annotations").key(name.clone())).help(help))
    }

    /// The first of the annotations that a route has, with its value.
    fn on<'a>(&'a self, route: &'a Object) -> Option<(&'a SmolStr, &'a str)> {
        self.names.iter().find_map(|name| Some((name, route.annotation(name)?.trim())))
    }
}

/// `*`, or names with commas between them.
fn lists_fields(text: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    text == "*" || text.split(',').all(|name| is_name(name.trim()))
}

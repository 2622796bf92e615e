//! Settings of the controller that handles the policies of a kind: where they are found, and which field they set.

use smol_str::SmolStr;

use super::{KindName, Pattern, PolicyKind};
use crate::document::{DocumentReader, OrderedMap, document, from_document, words};
use crate::object::{Object, ObjectRef, Objects};
use crate::problem::{Problem, ProblemCode};
use crate::text;
use crate::value::{Path, Value};

/// A setting of the controller that handles the policies of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerSetting {
    /// The field of the PolicyKind that the setting sets.
    pub sets: SettableField,
    /// The objects that have the setting.
    pub object: SettingObject,
    /// Where in the object the setting is.
    pub place: SettingPlace,
    /// The path of the setting within the YAML or JSON document that the place holds.
    pub within: Option<Path>,
    /// The value of the fields that the setting lists. Without it, the setting is a text.
    pub fields_with: Option<SmolStr>,
}

/// The objects that have a setting.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SettingObject {
    /// The group; empty for the core group.
    pub group: SmolStr,
    /// The kind.
    pub kind: SmolStr,
    /// The namespace, if it is known.
    pub namespace: Option<SmolStr>,
    /// The name, if it is known.
    pub name: Option<SmolStr>,
    /// The labels of the object.
    pub labels: Vec<(SmolStr, SmolStr)>,
}

/// Where in an object a setting is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingPlace {
    /// An environment variable of a container.
    Env(SmolStr),
    /// A field.
    Path(Path),
}

document! {
    /// Either `env` or `path` is given. If the object is not in the input, or does not have the setting, the field of the
    /// PolicyKind is as the PolicyKind says.
    struct SettingFields {
        /// The field of the PolicyKind that the setting sets.
        #[field("sets", required)]
        sets: SettableField,

        /// The kind of the object that has the setting: `Kind.group`, or `Kind` for the core group.
        #[field("kind", required)]
        kind: KindName,

        /// The namespace of the object.
        #[field("namespace", unset = "any namespace")]
        namespace: Option<SmolStr>,

        /// The name of the object.
        #[field("name", unset = "any name")]
        name: Option<SmolStr>,

        /// The labels of the object.
        #[field("labels")]
        labels: OrderedMap<SmolStr, SmolStr>,

        /// The environment variable with the setting, in any container of the object.
        #[field("env")]
        env: Option<SmolStr>,

        /// The field of the object with the setting, such as `data.mesh`.
        #[field("path")]
        path: Option<Path>,

        /// The path of the setting within the variable or field, which holds a YAML or JSON document.
        #[field("within")]
        within: Option<Path>,

        /// The setting is an object, and lists those of its fields that have this value.
        #[field("fieldsWith")]
        fields_with: Option<SmolStr>,
    }
}

words! {
    /// A field of a PolicyKind that a setting of a controller can set.
    pub enum SettableField {
        /// a namespace.
        GlobalNamespace = "globalNamespace",
        /// a namespace.
        RootNamespace = "rootNamespace",
        /// fields, by `fieldsWith`.
        DeepAtOneLevel = "deepAtOneLevel",
    }
}

/// A setting with its effective value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedSetting {
    /// The field of the PolicyKind that the setting sets.
    pub sets: SettableField,
    /// The value: none if there is no such namespace, several for lists of fields.
    pub value: Vec<SmolStr>,
    /// The object that has the setting. `None` if there is none: the value is the one that the PolicyKind assumes.
    pub found_in: Option<ObjectRef>,
    /// The objects that were searched.
    pub object: SettingObject,
}

impl ControllerSetting {
    fn read_fields(reader: &mut DocumentReader<'_, '_>) -> Option<ControllerSetting> {
        let SettingFields { sets, kind, namespace, name, labels, env, path, within, fields_with } =
            SettingFields::read_fields(reader)?;
        let place = match (env, path) {
            (Some(env), None) => SettingPlace::Env(env),
            (None, Some(path)) => SettingPlace::Path(path),
            (Some(_), Some(_)) | (None, None) => {
                reader.report(None, "give either `env` or `path`".to_owned(), None);
                return None;
            }
        };
        if name.is_none() && labels.is_empty() {
            reader.report(None, "give the `name` or the `labels` of the object".to_owned(), None);
        }
        if (sets == SettableField::DeepAtOneLevel) != fields_with.is_some() {
            reader.report(None, "`deepAtOneLevel` needs `fieldsWith`, and no other field does".to_owned(), None);
        }
        let object =
            SettingObject { group: kind.group.unwrap_or_default(), kind: kind.kind, namespace, name, labels: labels.0 };
        Some(ControllerSetting { sets, object, place, within, fields_with })
    }

    /// The value in an object. `None` if the object does not have the setting.
    fn value_in(&self, object: &Object) -> Result<Option<Vec<SmolStr>>, String> {
        let place = match &self.place {
            SettingPlace::Env(name) => environment_variable(object, name)?,
            SettingPlace::Path(path) => path.resolve(&object.body).cloned(),
        };
        let value = match (&self.within, place) {
            (Some(within), Some(Value::Str(text))) => {
                let document = text::read_value(&text).map_err(|problem| problem.message)?;
                within.resolve(&document).cloned()
            }
            (Some(within), Some(value)) => within.resolve(&value).cloned(),
            (_, value) => value,
        };
        match (&self.fields_with, value) {
            (_, None | Some(Value::Null)) => Ok(None),
            (Some(wanted), Some(value @ Value::Map(_))) => {
                let fields = value.entries().iter().filter(|(_, value)| value.as_str() == Some(wanted));
                Ok(Some(fields.map(|(field, _)| field.clone()).collect()))
            }
            (None, Some(Value::Str(text))) => {
                Ok(Some(text.trim()).filter(|it| !it.is_empty()).map(|it| vec![it.into()]))
            }
            (_, Some(other)) => Err(format!("there is {} where a setting is expected", other.type_name())),
        }
    }

    /// Whether a change of an object can change the setting.
    pub(crate) fn is_changed_by(&self, before: Option<&Object>, after: Option<&Object>) -> bool {
        let value = |object: Option<&Object>| {
            object.filter(|object| self.object.is(object)).map(|object| self.value_in(object))
        };
        let (before, after) = (value(before), value(after));
        // A problem has a location, which may change though the value does not.
        before != after || matches!(after, Some(Err(_)))
    }

    /// Finds the setting, and reports what is wrong with it. The first of several objects counts.
    fn find(&self, objects: &Objects, problems: &mut Vec<Problem>) -> Option<(ObjectRef, Option<Vec<SmolStr>>)> {
        let mut found: Option<(ObjectRef, Option<Vec<SmolStr>>)> = None;
        let SettingObject { group, kind, .. } = &self.object;
        for (_, object) in objects.each_of_kind(group, kind).filter(|(_, object)| self.object.is(object)) {
            match (self.value_in(object), &found) {
                (Ok(value), None) => found = Some((object.id.clone(), value)),
                (Ok(value), Some((first, known))) if value != *known => problems.push(
                    Problem::warning(format!("`{}` differs from {first}, which counts", self.sets.name()))
                        .code(ProblemCode::InvalidField)
                        .about(object),
                ),
                (Ok(_), Some(_)) => {}
                (Err(message), _) => problems.push(
                    Problem::warning(format!("`{}` is not known: {message}", self.sets.name()))
                        .code(ProblemCode::InvalidField)
                        .about(object),
                ),
            }
        }
        found
    }
}

from_document!(ControllerSetting, SettingFields);

impl SettingObject {
    /// Whether an object has the kind of the setting's objects.
    pub(crate) fn has_kind(&self, id: &ObjectRef) -> bool {
        id.kind == self.kind && id.group == self.group
    }

    /// Whether an object is one of the setting's objects.
    pub fn is(&self, object: &Object) -> bool {
        let is_wanted = |wanted: &Option<SmolStr>, actual: &SmolStr| wanted.as_ref().is_none_or(|it| it == actual);
        self.has_kind(&object.id)
            && is_wanted(&self.namespace, &object.id.namespace)
            && is_wanted(&self.name, &object.id.name)
            && self.labels.iter().all(|(key, value)| object.label(key) == Some(value))
    }
}

/// `Deployment with kgateway=kgateway`, `ConfigMap/istio-system/istio`.
impl std::fmt::Display for SettingObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.kind)?;
        for part in [&self.namespace, &self.name].into_iter().flatten() {
            write!(f, "/{part}")?;
        }
        for (at, (key, value)) in self.labels.iter().enumerate() {
            write!(f, "{}{key}={value}", if at == 0 { " with label " } else { "," })?;
        }
        Ok(())
    }
}

impl PolicyKind {
    /// Sets the fields that settings of controllers decide, as far as the settings are among `objects`.
    pub(super) fn resolve_settings(&mut self, objects: &Objects, problems: &mut Vec<Problem>) -> Vec<ResolvedSetting> {
        let settings = std::mem::take(&mut self.settings);
        let resolved = settings.iter().map(|setting| {
            let found = setting.find(objects, problems);
            let (found_in, value) = found.map_or((None, None), |(object, value)| (Some(object), value));
            if let Some(value) = value {
                self.set(setting.sets, &value);
            }
            let value = self.value_of(setting.sets);
            ResolvedSetting { sets: setting.sets, value, found_in, object: setting.object.clone() }
        });
        let resolved = resolved.collect();
        self.settings = settings;
        resolved
    }

    fn set(&mut self, field: SettableField, value: &[SmolStr]) {
        match field {
            SettableField::GlobalNamespace => self.targets.global_namespace = value.first().cloned(),
            SettableField::RootNamespace => self.hierarchy.root_namespace = value.first().cloned(),
            SettableField::DeepAtOneLevel => {
                self.merging.deep_at_one_level = value.iter().map(|field| Pattern::parse(field)).collect();
            }
        }
    }

    fn value_of(&self, field: SettableField) -> Vec<SmolStr> {
        match field {
            SettableField::GlobalNamespace => self.targets.global_namespace.iter().cloned().collect(),
            SettableField::RootNamespace => self.hierarchy.root_namespace.iter().cloned().collect(),
            SettableField::DeepAtOneLevel => {
                self.merging.deep_at_one_level.iter().map(|field| SmolStr::new(field.to_string())).collect()
            }
        }
    }
}

/// The value of an environment variable of a container. Of several with one name the last counts, as in Kubernetes.
fn environment_variable(object: &Object, name: &str) -> Result<Option<Value>, String> {
    let containers = object.spec().at(&["template", "spec", "containers"]).map_or(&[][..], Value::items);
    let mut variables = containers.iter().flat_map(|container| container.list_at("env"));
    let Some(variable) = variables.rfind(|variable| variable.get_str("name") == Some(name)) else {
        let is_elsewhere = containers.iter().any(|container| !container.list_at("envFrom").is_empty());
        return if is_elsewhere { Err(format!("`envFrom` may set `{name}`")) } else { Ok(None) };
    };
    match variable.get("valueFrom") {
        None => Ok(variable.get("value").cloned()),
        Some(source) if source.at(&["fieldRef", "fieldPath"]).and_then(Value::as_str) == Some("metadata.namespace") => {
            Ok(Some(Value::str(object.id.namespace.clone())))
        }
        Some(_) => Err(format!("`{name}` has its value from elsewhere (`valueFrom`)")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::kinds::{KindOrigin, StrategyRegistry};

    fn kind(settings: &str) -> Result<PolicyKind, Vec<Problem>> {
        let text = format!(
            "{{apiVersion: attache.dev/v1alpha1, kind: PolicyKind, metadata: {{name: ps.example.io}}, \
             spec: {{group: example.io, kind: P, rootNamespace: root, settings: {settings}}}}}"
        );
        let document = &text::read(&Arc::from("kind.yaml"), &text).objects[0];
        PolicyKind::read(document, KindOrigin::Program, &StrategyRegistry::default())
    }

    /// The resolved settings, and the messages of problems.
    fn resolved(settings: &str, objects: &str) -> (Vec<(String, Option<String>)>, Vec<String>) {
        let objects = Objects::new(text::read(&Arc::from("objects.yaml"), objects).objects);
        let mut problems = Vec::new();
        let resolved = kind(settings).unwrap().resolve_settings(&objects, &mut problems);
        let resolved = resolved.iter().map(|it| (it.value.join(","), it.found_in.as_ref().map(ToString::to_string)));
        (resolved.collect(), problems.into_iter().map(|problem| problem.message).collect())
    }

    const ROOT: &str = "[{sets: rootNamespace, kind: ConfigMap, name: mesh, path: data.config, within: a.root}]";

    fn config_map(namespace: &str, config: &str) -> String {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: mesh, namespace: {namespace}}}\ndata: {{config: '{config}'}}\n"
        )
    }

    #[test]
    fn a_setting_is_found_in_a_document_within_a_field() {
        let found = |config: &str| resolved(ROOT, &config_map("x", config));
        let object = Some("ConfigMap/x/mesh".to_owned());
        assert_eq!(found("a: {root: platform}"), (vec![("platform".into(), object.clone())], vec![]));
        assert_eq!(found("b: 1"), (vec![("root".into(), object)], vec![]));
        assert_eq!(resolved(ROOT, ""), (vec![("root".into(), None)], vec![]));
        let (value, problems) = found("a: {root: [1]}");
        assert_eq!(value, [("root".to_owned(), None)]);
        assert_eq!(problems, ["`rootNamespace` is not known: there is a list where a setting is expected"]);
    }

    #[test]
    fn of_two_objects_that_disagree_the_first_counts() {
        let objects = config_map("b", "a: {root: two}") + &config_map("a", "a: {root: one}");
        let (value, problems) = resolved(ROOT, &objects);
        assert_eq!(value, [("one".to_owned(), Some("ConfigMap/a/mesh".to_owned()))]);
        assert_eq!(problems, ["`rootNamespace` differs from ConfigMap/a/mesh, which counts"]);
    }

    #[test]
    fn the_last_of_several_values_of_a_variable_counts() {
        let settings = "[{sets: globalNamespace, kind: Deployment.apps, labels: {app: c}, env: NAMESPACE}]";
        let found = |container: &str| {
            let template = format!("{{spec: {{containers: [{{name: sidecar}}, {container}]}}}}");
            let object = format!(
                "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: c, namespace: x, labels: {{app: c}}}}, spec: {{template: {template}}}}}"
            );
            let (value, problems) = resolved(settings, &object);
            (value[0].0.clone(), problems)
        };
        let two = "{name: c, env: [{name: NAMESPACE, value: one}, {name: NAMESPACE, value: two}]}";
        assert_eq!(found(two), ("two".into(), vec![]));
        assert_eq!(found("{name: c, env: [{name: NAMESPACE, value: ''}]}"), ("".into(), vec![]));
        let own = "{name: c, env: [{name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}]}";
        assert_eq!(found(own), ("x".into(), vec![]));
        let elsewhere = "{name: c, env: [{name: NAMESPACE, valueFrom: {secretKeyRef: {name: s, key: k}}}]}";
        let message = "`globalNamespace` is not known: `NAMESPACE` has its value from elsewhere (`valueFrom`)";
        assert_eq!(found(elsewhere), ("".into(), vec![message.into()]));
        let message = "`globalNamespace` is not known: `envFrom` may set `NAMESPACE`";
        assert_eq!(found("{name: c, envFrom: [{configMapRef: {name: s}}]}"), ("".into(), vec![message.into()]));
    }

    #[test]
    fn a_setting_says_where_it_is() {
        let messages = |settings: &str| {
            let problems = kind(settings).unwrap_err();
            problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>()
        };
        assert_eq!(messages("[{sets: rootNamespace, kind: ConfigMap, name: x}]"), ["give either `env` or `path`"]);
        assert_eq!(
            messages("[{sets: rootNamespace, kind: ConfigMap, path: data.x}]"),
            ["give the `name` or the `labels` of the object"]
        );
        assert_eq!(
            messages("[{sets: deepAtOneLevel, kind: ConfigMap, name: x, path: data.x}]"),
            ["`deepAtOneLevel` needs `fieldsWith`, and no other field does"]
        );
        assert_eq!(
            messages("[{sets: hierarchy, kind: C, name: x, path: data.x}]"),
            ["unknown value `hierarchy` for `sets`"]
        );
    }
}

//! Plans the writes that turn an actual status into the desired one.

use std::collections::{BTreeMap, BTreeSet};

use attache_engine::{MAX_ANCESTORS, Object, StatusCondition};
use serde_json::{Map, Value as Json, json};
use smol_str::SmolStr;

use super::desired::{DesiredAncestor, DesiredStatus};
use super::shape::{PolicyForm, Shape, TargetForm};
use crate::requests::{PatchType, api_version};

/// The largest number of entries of `status.parents` that the Gateway API allows.
const MAX_PARENTS: usize = 32;

/// The longest message of a condition that Kubernetes allows.
const LONGEST_MESSAGE: usize = 32_768;

/// Identifies the parts of a status that this controller owns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owned {
    /// The name of the controller in `status.parents`.
    pub route_controller: SmolStr,
    /// The names of controllers in `status.ancestors`.
    pub controllers: BTreeSet<SmolStr>,
    /// The types of conditions of targets, which are also names of annotations.
    pub types: BTreeSet<String>,
}

impl Owned {
    /// Whether this controller owns a condition or annotation of a target.
    pub fn has_type(&self, name: &str) -> bool {
        self.types.contains(name) || (name.starts_with("attache.dev/") && name.ends_with("Affected"))
    }
}

/// A request that changes an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// Whether it changes the status, and not the object itself.
    pub is_status: bool,
    /// How.
    pub patch_type: PatchType,
    /// The patch.
    pub body: Json,
}

/// The writes that give `object`, as it is in the cluster, its `desired` status. Parts that were desired before and are not
/// any more are removed. Parts that are as desired are not written.
pub fn plan(
    object: &Json,
    shape: &Shape,
    desired: &DesiredStatus,
    previous: Option<&DesiredStatus>,
    owned: &Owned,
    now: &str,
) -> Vec<Write> {
    let planning = Planning { object, desired, previous, owned, now };
    let is_policy = |it: &DesiredStatus| it.policy.is_some();
    let conditions = match shape.policy {
        PolicyForm::Conditions { .. } => desired.policy.as_ref().map_or(&[][..], |policy| &policy.conditions),
        PolicyForm::Ancestors | PolicyForm::None => &[],
    };
    let ancestors = match shape.policy {
        PolicyForm::Ancestors if is_policy(desired) || previous.is_some_and(is_policy) => planning.ancestors(),
        _ => None,
    };
    let (affected, parents, annotations) = match shape.target {
        TargetForm::Conditions { .. } => (&desired.affected.conditions[..], None, None),
        TargetForm::Parents => (&[][..], planning.parents(), None),
        TargetForm::Annotation => (&[][..], None, planning.annotations()),
    };
    let is_map = match (shape.policy, shape.target) {
        (PolicyForm::Conditions { is_map }, _) | (_, TargetForm::Conditions { is_map }) => Some(is_map),
        _ => None,
    };
    let conditions = conditions.iter().chain(affected).chain(&desired.document.conditions);
    let conditions = is_map.and_then(|is_map| planning.conditions(conditions, is_map));
    [conditions, ancestors, parents, annotations].into_iter().flatten().collect()
}

/// The part of an object that a plan looks at, as JSON.
pub fn relevant(object: &Object) -> Json {
    let json = |keys: &[&str]| object.body.at(keys).and_then(|value| serde_json::to_value(value).ok());
    let mut found = json!({
        "apiVersion": api_version(object),
        "kind": object.id.kind,
        "metadata": {"name": object.id.name},
    });
    let metadata = &mut found["metadata"];
    if !object.id.namespace.is_empty() {
        metadata["namespace"] = json!(object.id.namespace);
    }
    for name in ["uid", "resourceVersion", "annotations"] {
        if let Some(value) = json(&["metadata", name]) {
            metadata[name] = value;
        }
    }
    found["status"] = json(&["status"]).unwrap_or_default();
    found["spec"] = json!({"parentRefs": json(&["spec", "parentRefs"])});
    found
}

struct Planning<'p> {
    object: &'p Json,
    desired: &'p DesiredStatus,
    previous: Option<&'p DesiredStatus>,
    owned: &'p Owned,
    now: &'p str,
}

impl Planning<'_> {
    fn list(&self, name: &str) -> &[Json] {
        self.object["status"][name].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// Writes those of `status.conditions` that this controller owns.
    fn conditions<'c>(&self, wanted: impl Iterator<Item = &'c StatusCondition>, is_map: bool) -> Option<Write> {
        let wanted: Vec<&StatusCondition> = wanted.collect();
        let there = self.list("conditions");
        let is_wanted = |name: &str| wanted.iter().any(|it| it.r#type == name);
        let was_wanted = |name: &str| self.previous.is_some_and(|it| it.types().any(|known| known == name));
        let is_ours = |it: &&Json| {
            let name = it["type"].as_str().unwrap_or_default();
            is_wanted(name) || was_wanted(name) || self.owned.has_type(name)
        };
        let ours: Vec<&Json> = there.iter().filter(is_ours).collect();
        let fields = &self.desired.document.fields;
        let has_fields = fields.iter().all(|(name, value)| self.object["status"][name] == *value);
        if has_fields && same_conditions(&ours, &wanted) {
            return None;
        }
        let rendered = self.rendered(&wanted, there);
        if is_map {
            let mut body = self.applied();
            if !rendered.is_empty() {
                let mut status = fields.clone();
                status.insert("conditions".to_owned(), json!(rendered));
                body["status"] = Json::Object(status);
            }
            return Some(Write { is_status: true, patch_type: PatchType::Apply, body });
        }
        let others = there.iter().filter(|it| !is_ours(it)).cloned();
        Some(self.merge("conditions", others.chain(rendered).collect()))
    }

    /// Writes those of `status.ancestors` that have a controller name of ours.
    fn ancestors(&self) -> Option<Write> {
        let there = self.list("ancestors");
        let desired = self.desired.policy.as_ref();
        let before = self.previous.and_then(|previous| previous.policy.as_ref());
        let names: Vec<&SmolStr> = desired.into_iter().chain(before).map(|it| &it.controller_name).collect();
        let is_ours = |it: &&Json| {
            let name = it["controllerName"].as_str().unwrap_or_default();
            names.iter().any(|ours| *ours == name) || self.owned.controllers.contains(name)
        };
        let others: Vec<Json> = there.iter().filter(|it| !is_ours(it)).cloned().collect();
        let room = MAX_ANCESTORS.saturating_sub(others.len());
        let wanted: Vec<(&DesiredAncestor, &SmolStr)> = desired
            .into_iter()
            .flat_map(|policy| policy.ancestors.iter().map(|ancestor| (ancestor, &policy.controller_name)))
            .take(room)
            .collect();
        let ours: Vec<&Json> = there.iter().filter(is_ours).collect();
        let is_same = |(there, (ancestor, controller)): (&&Json, &(&DesiredAncestor, &SmolStr))| {
            there["ancestorRef"] == ancestor.reference
                && there["controllerName"] == controller.as_str()
                && same_list(there, &ancestor.conditions)
        };
        if ours.len() == wanted.len() && ours.iter().zip(&wanted).all(is_same) {
            return None;
        }
        let entry = |(ancestor, controller): (&DesiredAncestor, &SmolStr)| {
            let same = ours.iter().find(|it| it["ancestorRef"] == ancestor.reference);
            let before = same.map_or(&[][..], |it| conditions_of(it));
            let wanted: Vec<&StatusCondition> = ancestor.conditions.iter().collect();
            json!({
                "ancestorRef": ancestor.reference,
                "controllerName": controller,
                "conditions": self.rendered(&wanted, before),
            })
        };
        let entries = wanted.into_iter().map(entry);
        Some(self.merge("ancestors", others.into_iter().chain(entries).collect()))
    }

    /// Writes an entry in `status.parents` for each parent of a route.
    fn parents(&self) -> Option<Write> {
        let there = self.list("parents");
        let controller = self.owned.route_controller.as_str();
        let is_ours = |it: &&Json| it["controllerName"] == controller;
        let others: Vec<Json> = there.iter().filter(|it| !is_ours(it)).cloned().collect();
        let ours: Vec<&Json> = there.iter().filter(is_ours).collect();
        let wanted = &self.desired.affected.conditions;
        let parents = match (wanted.as_slice(), self.object["spec"]["parentRefs"].as_array()) {
            ([], _) | (_, None) => &[],
            (_, Some(parents)) => parents.as_slice(),
        };
        let parents = &parents[..parents.len().min(MAX_PARENTS.saturating_sub(others.len()))];
        let is_same = |(there, parent): (&&Json, &Json)| there["parentRef"] == *parent && same_list(there, wanted);
        if ours.len() == parents.len() && ours.iter().zip(parents).all(is_same) {
            return None;
        }
        let entry = |parent: &Json| {
            let same = ours.iter().find(|it| it["parentRef"] == *parent);
            let before = same.map_or(&[][..], |it| conditions_of(it));
            let conditions = self.rendered(&wanted.iter().collect::<Vec<_>>(), before);
            json!({"parentRef": parent, "controllerName": controller, "conditions": conditions})
        };
        let entries = parents.iter().map(entry);
        Some(self.merge("parents", others.into_iter().chain(entries).collect()))
    }

    /// Writes annotations with the content of conditions.
    fn annotations(&self) -> Option<Write> {
        let affected = &self.desired.affected;
        let types = affected.conditions.iter().map(|it| (it.r#type.as_str(), "true"));
        let given = affected.annotations.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let wanted: BTreeMap<&str, &str> = types.chain(given).collect();
        let empty = Map::new();
        let there = self.object["metadata"]["annotations"].as_object().unwrap_or(&empty);
        let was_wanted = |name: &str| self.previous.is_some_and(|it| it.types().any(|known| known == name));
        let is_ours = |name: &str| wanted.contains_key(name) || was_wanted(name) || self.owned.has_type(name);
        let ours: BTreeMap<&str, &str> = there
            .iter()
            .filter(|(name, _)| is_ours(name))
            .map(|(name, value)| (name.as_str(), value.as_str().unwrap_or_default()))
            .collect();
        if ours == wanted {
            return None;
        }
        let mut body = self.applied();
        if !wanted.is_empty() {
            body["metadata"]["annotations"] = json!(wanted);
        }
        Some(Write { is_status: false, patch_type: PatchType::Apply, body })
    }

    /// The start of a configuration for server-side apply. The uid keeps a deleted object from being created again.
    fn applied(&self) -> Json {
        let metadata = &self.object["metadata"];
        let known = ["name", "namespace", "uid"].into_iter().filter(|name| !metadata[*name].is_null());
        let metadata: Map<String, Json> = known.map(|name| (name.to_owned(), metadata[name].clone())).collect();
        json!({"apiVersion": self.object["apiVersion"], "kind": self.object["kind"], "metadata": metadata})
    }

    /// A patch that replaces a list, unless the object has changed.
    fn merge(&self, list: &str, entries: Vec<Json>) -> Write {
        let version = &self.object["metadata"]["resourceVersion"];
        let body = json!({"metadata": {"resourceVersion": version}, "status": {list: entries}});
        Write { is_status: true, patch_type: PatchType::Merge, body }
    }

    /// Conditions as they are written. A condition whose status does not change keeps its transition time.
    fn rendered(&self, wanted: &[&StatusCondition], before: &[Json]) -> Vec<Json> {
        let render = |condition: &&StatusCondition| {
            let status = status(condition);
            let known = before.iter().find(|it| it["type"] == condition.r#type.as_str() && it["status"] == status);
            let since = known.and_then(|it| it["lastTransitionTime"].as_str()).unwrap_or(self.now);
            let mut rendered = json!({
                "type": condition.r#type,
                "status": status,
                "reason": condition.reason,
                "message": message(condition),
                "lastTransitionTime": since,
            });
            if let Some(generation) = condition.observed_generation {
                rendered["observedGeneration"] = json!(generation);
            }
            rendered
        };
        wanted.iter().map(render).collect()
    }
}

fn status(condition: &StatusCondition) -> &'static str {
    if condition.is_true { "True" } else { "False" }
}

fn message(condition: &StatusCondition) -> &str {
    let text = condition.message.as_str();
    match text.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

fn conditions_of(entry: &Json) -> &[Json] {
    entry["conditions"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn same_list(entry: &Json, wanted: &[StatusCondition]) -> bool {
    same_conditions(&conditions_of(entry).iter().collect::<Vec<_>>(), &wanted.iter().collect::<Vec<_>>())
}

/// Whether the existing conditions are as desired, in any order.
fn same_conditions(there: &[&Json], wanted: &[&StatusCondition]) -> bool {
    let is_there = |condition: &&StatusCondition| {
        there.iter().any(|it| {
            it["type"] == condition.r#type.as_str()
                && it["status"] == status(condition)
                && it["reason"] == condition.reason.as_str()
                && it["message"] == message(condition)
                && it["observedGeneration"].as_i64() == condition.observed_generation
        })
    };
    there.len() == wanted.len() && wanted.iter().all(is_there)
}

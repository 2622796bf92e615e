//! Policies that other objects bind to targets.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;

use super::placements::{each, group};
use super::{Attachment, AttachmentError, Attachments, Refusal, Standing, Via};
use crate::kinds::{Bindings, KindName, PolicyKind};
use crate::names;
use crate::object::{Object, ObjectRef, Objects};
use crate::policy::PolicyId;
use crate::problem::{Problem, ProblemCode};
use crate::topology::Topology;
use crate::value::{Path, Value};

/// What one binding contributes to the policies that it binds.
#[derive(Clone, Debug)]
struct Bound {
    binding: ObjectRef,
    targets: Vec<ObjectRef>,
    escalates: bool,
    places: bool,
}

/// Attaches the policies of one kind to the targets that bindings place them on.
pub struct Binder<'a> {
    pub objects: &'a Objects,
    pub topology: &'a Topology,
    pub kind: &'a PolicyKind,
    pub bindings: &'a Bindings,
    pub attachments: &'a mut Attachments,
}

impl Binder<'_> {
    pub fn bind(mut self, policies: &[(PolicyId, &Object)]) {
        let by_policy = self.bound();
        for &(policy, object) in policies {
            let bound = by_policy.get(&object.id).map_or(&[][..], Vec::as_slice);
            let mut placed: BTreeMap<&ObjectRef, bool> = BTreeMap::new();
            for target in bound.iter().filter(|it| it.places).flat_map(|it| &it.targets) {
                placed.insert(target, false);
            }
            for target in bound.iter().filter(|it| it.escalates).flat_map(|it| &it.targets) {
                placed.entry(target).and_modify(|escalated| *escalated = true);
            }
            if placed.is_empty() {
                let error = Box::new(not_placed(self.bindings, bound));
                self.attachments.entry(policy).refused.push(Refusal { policy, target: None, error });
            }
            for (target, escalated) in placed {
                let Some(node) = self.topology.find(self.objects, target) else { continue };
                let escalation = self.bindings.escalation.as_ref().filter(|_| escalated);
                let patch = escalation.map(|it| (it.sets.clone(), Value::Str(it.value.clone()))).map(Arc::new);
                let attachment =
                    Attachment { policy, node, via: Via::Target, from: None, patch, standing: Standing::Accepted };
                self.attachments.entry(policy).to.push(attachment);
            }
        }
    }

    /// The effects of all bindings, by policy.
    fn bound(&mut self) -> HashMap<ObjectRef, Vec<Bound>> {
        let mut by_policy: HashMap<ObjectRef, Vec<Bound>> = HashMap::new();
        let (objects, bindings) = (self.objects, self.bindings);
        for (_, binding) in each(objects, &bindings.kind) {
            let bound = Bound {
                binding: binding.id.clone(),
                targets: self.places(binding),
                escalates: self.escalates(binding),
                places: bindings
                    .restricted
                    .as_ref()
                    .is_none_or(|it| it.field.resolve(&binding.body).and_then(Value::as_str) != Some(&it.value)),
            };
            for policy in self.subjects(binding) {
                by_policy.entry(policy).or_default().push(bound.clone());
            }
        }
        by_policy
    }

    /// The targets that the placement of a binding selects.
    fn places(&mut self, binding: &Object) -> Vec<ObjectRef> {
        let bindings = self.bindings;
        let reference = bindings.placement.resolve(&binding.body).unwrap_or(&Value::Null);
        let wanted = &bindings.placements.kind;
        let named = reference.get_str("kind").unwrap_or(&wanted.kind);
        let name = reference.get_str("name").unwrap_or_default();
        let place = bindings.placement.clone();
        if named != wanted.kind {
            let message = format!("`{named}` is not a kind of placement that is known: it places nothing");
            let help = format!("use a {}", wanted.kind);
            self.attachments.binding_problems.push(Problem::warning(message).at(binding, place).help(help));
            return Vec::new();
        }
        match self.objects.lookup(group(wanted), &wanted.kind, &binding.id.namespace, name) {
            Some(id) => {
                let placement = &self.objects[id];
                bindings.placements.choose(self.objects, placement, &mut self.attachments.binding_problems)
            }
            None => {
                let problem = missing(self.objects, wanted, &binding.id.namespace, name);
                self.attachments.binding_problems.push(problem.at(binding, place));
                Vec::new()
            }
        }
    }

    /// Whether a binding sets the field that it may set.
    fn escalates(&mut self, binding: &Object) -> bool {
        let Some(escalation) = &self.bindings.escalation else { return false };
        match escalation.field.resolve(&binding.body) {
            None | Some(Value::Null) => false,
            Some(Value::Str(text)) if text.eq_ignore_ascii_case(&escalation.value) => true,
            Some(other) => {
                let given = other.as_str().map_or(other.type_name().to_string(), |text| format!("`{text}`"));
                let message =
                    format!("a binding can only set it to `{}`: {given} counts for nothing", escalation.value);
                self.attachments.binding_problems.push(Problem::warning(message).at(binding, escalation.field.clone()));
                false
            }
        }
    }

    /// The policies that a binding names, by themselves or as members of a set.
    fn subjects(&mut self, binding: &Object) -> Vec<ObjectRef> {
        let (kind, bindings) = (self.kind, self.bindings);
        let namespace = binding.id.namespace.as_str();
        let own = KindName { kind: kind.kind.clone(), group: Some(kind.group.clone()) };
        let mut found = Vec::new();
        let subjects = bindings.subjects.resolve(&binding.body).map_or(&[][..], Value::items);
        for (i, subject) in subjects.iter().enumerate() {
            let (named, name) = (subject.get_str("kind"), subject.get_str("name").unwrap_or_default());
            let place = bindings.subjects.index(i);
            if named == Some(&kind.kind) {
                found.extend(self.existing(&own, namespace, name, binding, place));
            } else if let Some(sets) = bindings.sets.as_ref().filter(|sets| named == Some(&sets.kind.kind)) {
                let Some(set) = self.existing(&sets.kind, namespace, name, binding, place) else { continue };
                let Some(set) = self.objects.find(&set).map(|id| &self.objects[id]) else { continue };
                let members = sets.members.resolve(&set.body).map_or(&[][..], Value::items);
                for (i, name) in members.iter().enumerate() {
                    let name = name.as_str().unwrap_or_default();
                    found.extend(self.existing(&own, namespace, name, set, sets.members.index(i)));
                }
            } else {
                let message = format!("`{}` is nothing that can be bound", named.unwrap_or_default());
                self.attachments.binding_problems.push(Problem::warning(message).at(binding, place));
            }
        }
        found.sort();
        found.dedup();
        found
    }

    /// The object that `by` refers to at `place`. If it does not exist, that is a problem of `by`.
    fn existing(
        &mut self,
        kind: &KindName,
        namespace: &str,
        name: &str,
        by: &Object,
        place: Path,
    ) -> Option<ObjectRef> {
        if self.objects.lookup(group(kind), &kind.kind, namespace, name).is_some() {
            return Some(ObjectRef::new(group(kind), &kind.kind, namespace, name));
        }
        let problem = missing(self.objects, kind, namespace, name).at(by, place);
        // A set is read once for each binding that refers to it: report its problems once.
        if !self.attachments.binding_problems.contains(&problem) {
            self.attachments.binding_problems.push(problem);
        }
        None
    }
}

/// Why no binding places this policy on a target.
fn not_placed(bindings: &Bindings, bound: &[Bound]) -> AttachmentError {
    let names = bound.iter().map(|it| it.binding.clone()).collect();
    if bound.is_empty() {
        AttachmentError::NotBound { binding_kind: bindings.kind.kind.clone() }
    } else if bound.iter().all(|it| !it.places) {
        AttachmentError::OnlyRestricted { bindings: names }
    } else {
        AttachmentError::NothingPlaced { bindings: names, target_kind: bindings.placements.targets.kind.clone() }
    }
}

fn missing(objects: &Objects, kind: &KindName, namespace: &str, name: &str) -> Problem {
    let id = ObjectRef::new(group(kind), &kind.kind, namespace, name);
    let problem = Problem::warning(format!("{id} does not exist")).code(ProblemCode::MissingReference);
    let beside = each(objects, kind).map(|(_, object)| &object.id).filter(|other| other.namespace == namespace);
    match names::nearest(name, beside.map(|other| other.name.as_str())).first() {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None => problem,
    }
}

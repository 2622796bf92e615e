//! The targets that a placement selects.

use crate::kinds::{KindName, Placements, TargetSets};
use crate::object::{Object, ObjectId, ObjectRef, Objects};
use crate::problem::{Problem, ProblemCode};
use crate::selector::{check, selects};
use crate::value::{Path, Value};

impl Placements {
    /// The targets that a placement selects, in order: those of its decisions, or else those that meet its
    /// requirements.
    pub fn choose(&self, objects: &Objects, placement: &Object, problems: &mut Vec<Problem>) -> Vec<ObjectRef> {
        let mut chosen = match self.decided(objects, placement) {
            Some(decided) => decided,
            None => self.demanded(objects, placement, problems),
        };
        chosen.sort();
        chosen.dedup();
        chosen
    }

    /// Every target that a decision names. It need not have an object.
    pub fn named(&self, objects: &Objects) -> Vec<ObjectRef> {
        each(objects, &self.decisions).flat_map(|(_, decision)| self.names(decision)).collect()
    }

    fn decided(&self, objects: &Objects, placement: &Object) -> Option<Vec<ObjectRef>> {
        let is_its = |decision: &&Object| {
            decision.id.namespace == placement.id.namespace
                && decision.labels().get_str(&self.label) == Some(&placement.id.name)
        };
        let mut decisions = each(objects, &self.decisions).map(|(_, decision)| decision).filter(is_its).peekable();
        decisions.peek()?;
        Some(decisions.flat_map(|decision| self.names(decision)).collect())
    }

    fn names(&self, decision: &Object) -> Vec<ObjectRef> {
        let named = self.decided.find(&decision.body).into_iter().filter_map(Value::as_str);
        let named = named.filter(|name| !name.is_empty());
        named.map(|name| ObjectRef::new(group(&self.targets), &self.targets.kind, "", name)).collect()
    }

    /// The targets that are in an available set, match a predicate and have no untolerated taint.
    fn demanded(&self, objects: &Objects, placement: &Object, problems: &mut Vec<Problem>) -> Vec<ObjectRef> {
        let sets = self.sets.open(objects, placement, problems);
        let is_sound = self.check_predicates(placement, problems) & self.check_tolerations(placement, problems);
        if !is_sound || sets.is_empty() {
            return Vec::new();
        }
        let is_chosen = |target: &Object| {
            target.deletion_timestamp().is_none()
                && sets.iter().any(|set| self.sets.has(objects, set, target))
                && self.fulfils(placement, target)
                && self.tolerates(placement, target)
        };
        let mut chosen: Vec<ObjectRef> =
            each(objects, &self.targets).filter(|(_, it)| is_chosen(it)).map(|(_, it)| it.id.clone()).collect();
        let number = self.number.as_ref().and_then(|path| Some((path, path.resolve(&placement.body)?.as_int()?)));
        if let Some((path, number)) = number.filter(|(_, number)| *number < chosen.len() as i64) {
            let message = format!("{} chooses {number} of the {} that fulfil it", placement.id, chosen.len());
            let help = format!("add its {}: without it the first by name are assumed", self.decisions.kind);
            problems.push(Problem::warning(message).at(placement, path.clone()).help(help));
            chosen.sort();
            chosen.truncate(number.max(0) as usize);
        }
        chosen
    }

    fn predicates<'o>(&self, placement: &'o Object) -> &'o [Value] {
        self.predicates.resolve(&placement.body).map_or(&[], Value::items)
    }

    /// Reports selectors that are not valid. With one of them, a placement selects nothing.
    fn check_predicates(&self, placement: &Object, problems: &mut Vec<Problem>) -> bool {
        let mut is_sound = true;
        for (i, predicate) in self.predicates(placement).iter().enumerate() {
            let mut report = |path: &Path, message: String, help: &str| {
                let at = Path::new([self.predicates.index(i).segments(), path.segments()].concat());
                let problem = Problem::warning(message).code(ProblemCode::InvalidSelector);
                problems.push(problem.at(placement, at).help(help));
            };
            for path in [Some(&self.label_selector), self.claim_selector.as_ref()].into_iter().flatten() {
                if let Err(error) = check(path.resolve(predicate).unwrap_or(&Value::Null)) {
                    report(path, error.to_string(), "the placement chooses nothing");
                    is_sound = false;
                }
            }
            if let Some(path) = self.unknown_selector(predicate) {
                let message = "the conditions of the predicate cannot be evaluated";
                report(path, message.to_owned(), "the predicate is assumed to choose nothing");
            }
        }
        is_sound
    }

    fn unknown_selector<'p>(&'p self, predicate: &Value) -> Option<&'p Path> {
        let path = self.unknown_selector.as_ref()?;
        path.resolve(predicate).filter(|it| !it.is_null() && !it.items().is_empty()).map(|_| path)
    }

    /// Whether a target matches one of the predicates. Every target does if there are none.
    fn fulfils(&self, placement: &Object, target: &Object) -> bool {
        let claims = self.claims.as_ref().and_then(|path| path.resolve(&target.body)).map_or(&[][..], Value::items);
        let claim = |key: &str| {
            let found = claims.iter().find(|it| it.get_str("name") == Some(key))?;
            found.get_str("value")
        };
        let holds = |predicate: &Value| {
            let of_labels = self.label_selector.resolve(predicate);
            let of_claims = self.claim_selector.as_ref().and_then(|path| path.resolve(predicate));
            of_labels.is_none_or(|it| selects(it, |key| target.labels().get_str(key)))
                && of_claims.is_none_or(|it| selects(it, claim))
                && self.unknown_selector(predicate).is_none()
        };
        let predicates = self.predicates(placement);
        predicates.is_empty() || predicates.iter().any(holds)
    }

    fn tolerations<'o>(&self, placement: &'o Object) -> &'o [Value] {
        self.tolerations.as_ref().and_then(|path| path.resolve(&placement.body)).map_or(&[], Value::items)
    }

    /// Reports tolerations that are not valid, with which a placement selects nothing, and tolerations that expire.
    fn check_tolerations(&self, placement: &Object, problems: &mut Vec<Problem>) -> bool {
        let mut is_sound = true;
        for (i, toleration) in self.tolerations(placement).iter().enumerate() {
            let Some(path) = &self.tolerations else { break };
            let mut report = |message: &str, help: &str| {
                let problem = Problem::warning(message).code(ProblemCode::InvalidSelector);
                problems.push(problem.at(placement, path.index(i)).help(help));
            };
            let is_set = |key| toleration.get_str(key).is_some_and(|text| !text.is_empty());
            let exists = toleration.get_str("operator") == Some("Exists");
            if !is_set("key") && !exists || exists && is_set("value") {
                report(
                    "a toleration without a `key` needs the operator `Exists`, and one with `Exists` has no `value`",
                    "the placement chooses nothing",
                );
                is_sound = false;
            }
            if toleration.get("tolerationSeconds").is_some_and(|it| !it.is_null()) {
                report("whether it still tolerates the taint depends on the time", "it is assumed that it does not");
            }
        }
        is_sound
    }

    /// Whether a placement tolerates all taints of a target.
    fn tolerates(&self, placement: &Object, target: &Object) -> bool {
        let taints = self.taints.as_ref().and_then(|path| path.resolve(&target.body)).map_or(&[][..], Value::items);
        let text = |value: &Value, key: &str| value.get_str(key).unwrap_or_default().to_owned();
        let covers = |toleration: &Value, taint: &Value| {
            let is_any_or_same = |key: &str| [String::new(), text(taint, key)].contains(&text(toleration, key));
            let exists = toleration.get_str("operator") == Some("Exists");
            is_any_or_same("effect")
                && is_any_or_same("key")
                && (exists || text(toleration, "value") == text(taint, "value"))
                && toleration.get("tolerationSeconds").is_none_or(Value::is_null)
        };
        let is_harmless = |taint: &Value| self.harmless_effects.iter().any(|it| taint.get_str("effect") == Some(it));
        let tolerations = self.tolerations(placement);
        taints.iter().all(|taint| is_harmless(taint) || tolerations.iter().any(|it| covers(it, taint)))
    }
}

impl TargetSets {
    /// The names of the sets that a placement selects from.
    fn open<'o>(&self, objects: &'o Objects, placement: &'o Object, problems: &mut Vec<Problem>) -> Vec<&'o str> {
        let bindings = each(objects, &self.bindings).map(|(_, binding)| &binding.id);
        let open: Vec<&str> =
            bindings.filter(|it| it.namespace == placement.id.namespace).map(|it| it.name.as_str()).collect();
        let wanted = self.wanted.resolve(&placement.body).map_or(&[][..], Value::items);
        if open.is_empty() {
            let message = format!("{} chooses nothing: its namespace has no {}", placement.id, self.bindings.kind);
            let help = format!("add a {} to namespace `{}`", self.bindings.kind, placement.id.namespace);
            problems.push(Problem::warning(message).about(placement).help(help));
        }
        open.into_iter().filter(|set| wanted.is_empty() || wanted.iter().any(|it| it.as_str() == Some(*set))).collect()
    }

    /// Whether a target is in a set. A set that does not exist has no targets.
    fn has(&self, objects: &Objects, set: &str, target: &Object) -> bool {
        let has_label = || target.labels().get_str(&self.label) == Some(set);
        let object = objects.lookup(group(&self.kind), &self.kind.kind, "", set).map(|id| &objects[id]);
        let Some(object) = object else {
            return self.everything.as_deref() == Some(set) || self.built_in.iter().any(|it| it == set) && has_label();
        };
        let by_labels =
            self.by_labels.field.resolve(&object.body).and_then(Value::as_str) == Some(&self.by_labels.value);
        match self.selector.resolve(&object.body).filter(|_| by_labels) {
            Some(selector) => check(selector).is_ok() && selects(selector, |key| target.labels().get_str(key)),
            None => !by_labels && has_label(),
        }
    }
}

pub fn each<'o>(objects: &'o Objects, kind: &KindName) -> impl Iterator<Item = (ObjectId, &'o Object)> {
    objects.each_of_kind(group(kind), &kind.kind)
}

pub fn group(kind: &KindName) -> &str {
    kind.group.as_deref().unwrap_or_default()
}

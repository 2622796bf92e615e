//! The places that a placement chooses.

use crate::kinds::{KindName, Placements};
use crate::object::{Object, ObjectRef, Objects};
use crate::problem::{Problem, ProblemCode};
use crate::selector::{check, selects};
use crate::value::{Path, Value};

/// The set that everything is in.
const EVERYTHING: &str = "global";

impl Placements {
    /// The targets that a placement chooses, in order: by its decisions if there are any, else by what it demands.
    pub fn choose(&self, objects: &Objects, placement: &Object, problems: &mut Vec<Problem>) -> Vec<ObjectRef> {
        let mut chosen = match self.decided(objects, placement) {
            Some(decided) => decided,
            None => self.demanded(objects, placement, problems),
        };
        chosen.sort();
        chosen.dedup();
        chosen
    }

    /// Every target that a decision names: it may have no object of its own.
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

    fn names<'d>(&'d self, decision: &'d Object) -> impl Iterator<Item = ObjectRef> + 'd {
        let decisions = decision.body.at(&["status", "decisions"]).map_or(&[][..], Value::items);
        let named = decisions.iter().filter_map(|it| it.get_str("clusterName")).filter(|name| !name.is_empty());
        named.map(|name| ObjectRef::new(group(&self.targets), &self.targets.kind, "", name))
    }

    fn demanded(&self, objects: &Objects, placement: &Object, problems: &mut Vec<Problem>) -> Vec<ObjectRef> {
        let spec = placement.spec();
        for (i, predicate) in spec.list_at("predicates").iter().enumerate() {
            for selector in ["labelSelector", "claimSelector"] {
                let given = predicate.at(&["requiredClusterSelector", selector]).unwrap_or(&Value::Null);
                if let Err(error) = check(given) {
                    let path = Path::parse("spec.predicates").index(i).key("requiredClusterSelector").key(selector);
                    problems.push(
                        Problem::warning(error.to_string())
                            .code(ProblemCode::InvalidSelector)
                            .at(placement, path)
                            .help("the predicate chooses nothing"),
                    );
                }
            }
        }
        let sets = self.sets(objects, placement);
        let chosen: Vec<ObjectRef> = each(objects, &self.targets)
            .filter(|(_, target)| sets.as_ref().is_none_or(|sets| self.is_in(target, sets)))
            .filter(|(_, target)| fulfils(spec.list_at("predicates"), target))
            .map(|(_, target)| target.id.clone())
            .collect();
        if let Some(most) = spec.get("numberOfClusters").and_then(Value::as_int)
            && most < chosen.len() as i64
        {
            let message = format!("{} takes {most} of the {} that fulfil it", placement.id, chosen.len());
            let help = format!("add its {}: without it all of them are assumed", self.decisions.kind);
            let path = Path::parse("spec.numberOfClusters");
            problems.push(Problem::warning(message).at(placement, path).help(help));
        }
        chosen
    }

    /// The sets to which the placement is limited, if it is.
    fn sets<'o>(&self, objects: &'o Objects, placement: &'o Object) -> Option<Vec<&'o str>> {
        let bindings = each(objects, &self.set_bindings).map(|(_, binding)| binding);
        let here = bindings.filter(|binding| binding.id.namespace == placement.id.namespace);
        let open: Vec<&str> = here.filter_map(|binding| binding.spec().get_str("clusterSet")).collect();
        let wanted: Vec<&str> = placement.spec().list_at("clusterSets").iter().filter_map(Value::as_str).collect();
        match (wanted.is_empty(), open.is_empty()) {
            (true, true) => None,
            (true, false) => Some(open),
            (false, true) => Some(wanted),
            (false, false) => Some(wanted.into_iter().filter(|set| open.contains(set)).collect()),
        }
    }

    fn is_in(&self, target: &Object, sets: &[&str]) -> bool {
        let own = target.labels().get_str(&self.set_label);
        sets.contains(&EVERYTHING) || own.is_some_and(|own| sets.contains(&own))
    }
}

/// Whether a target fulfils one of the predicates, if there are any.
fn fulfils(predicates: &[Value], target: &Object) -> bool {
    let claims = target.body.at(&["status", "clusterClaims"]).map_or(&[][..], Value::items);
    let claim = |key: &str| claims.iter().find(|it| it.get_str("name") == Some(key)).and_then(|it| it.get_str("value"));
    let holds = |predicate: &Value| {
        let selector = predicate.get("requiredClusterSelector").unwrap_or(&Value::Null);
        let is_fine = |selector: &&Value| check(selector).is_ok();
        let labels = selector.get("labelSelector");
        let claims = selector.get("claimSelector");
        labels.is_none_or(|it| is_fine(&it) && selects(it, |key| target.labels().get_str(key)))
            && claims.is_none_or(|it| is_fine(&it) && selects(it, claim))
    };
    predicates.is_empty() || predicates.iter().any(holds)
}

pub fn each<'o>(objects: &'o Objects, kind: &KindName) -> impl Iterator<Item = (crate::object::ObjectId, &'o Object)> {
    objects.each_of_kind(group(kind), &kind.kind)
}

pub fn group(kind: &KindName) -> &str {
    kind.group.as_deref().unwrap_or_default()
}

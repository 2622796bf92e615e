//! Findings that the objects themselves ask to leave as they are.

use hashbrown::HashMap;

use super::subject::Subject;
use super::{Findings, RULES, Rule, rule};
use crate::names::nearest;
use crate::object::{Object, ObjectRef};
use crate::value::Path;

/// `dangling-target: the route comes next week; never-wins: on purpose`.
pub const ANNOTATION: &str = "attache.dev/lint-ignore";

struct Wish<'o> {
    rule: &'static Rule,
    reason: &'o str,
    used: bool,
}

/// Marks what is suppressed, and adds what is wrong with the wishes themselves.
pub fn apply(subject: Subject<'_>, findings: &mut Findings) {
    let annotated = subject.objects().filter_map(|(_, object)| Some((object, object.annotation(ANNOTATION)?)));
    let mut complaints = Findings::new();
    let mut wishes: HashMap<&ObjectRef, (&Object, Vec<Wish<'_>>)> = HashMap::new();
    for (object, text) in annotated {
        wishes.insert(&object.id, (object, read(object, text, &mut complaints)));
    }
    for finding in findings.iter_mut() {
        let Some(object) = &finding.problem.object else { continue };
        let Some((_, wishes)) = wishes.get_mut(&**object) else { continue };
        for wish in wishes.iter_mut().filter(|wish| wish.rule.id == finding.rule.id) {
            wish.used = true;
            finding.suppressed = Some(wish.reason.to_owned());
        }
    }
    for (object, wishes) in wishes.into_values() {
        for wish in wishes.iter().filter(|wish| !wish.used) {
            let message = format!("`{}` is ignored, and there is no such finding", wish.rule.id);
            complaints.push(rule::UNUSED_SUPPRESSION.at(object, place(), message));
        }
    }
    findings.append(&mut complaints);
}

fn read<'o>(object: &'o Object, text: &'o str, complaints: &mut Findings) -> Vec<Wish<'o>> {
    let mut wishes = Vec::new();
    for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let (id, reason) = part.split_once(':').unwrap_or((part, ""));
        let (id, reason) = (id.trim(), reason.trim());
        let mut complain = |message: String, help: Option<String>| {
            let finding = rule::BAD_SUPPRESSION.at(object, place(), message);
            complaints.push(match help {
                Some(help) => finding.help(help),
                None => finding,
            });
        };
        match Rule::named(id) {
            None => {
                let near = nearest(id, RULES.iter().map(|rule| rule.id));
                let help = near.first().map(|near| format!("did you mean `{near}`?"));
                complain(format!("`{id}` is no rule of lint"), help);
            }
            Some(_) if reason.is_empty() => complain(format!("`{id}` is ignored without a reason"), None),
            Some(rule) => wishes.push(Wish { rule, reason, used: false }),
        }
    }
    wishes
}

fn place() -> Path {
    Path::parse("metadata.annotations").key(ANNOTATION)
}

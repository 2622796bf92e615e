//! Gateways whose GatewayClass may be misspelt.

use std::fmt;

use smol_str::SmolStr;

use super::finding::{Finding, FindingCause, Findings};
use super::rule;
use super::subject::LintSubject;
use crate::kinds::ClassOwner;
use crate::topology::api::GATEWAY_API;
use crate::topology::{Level, NodeId};
use crate::value::Path;

/// A GatewayClass that is not in the input, and whose name differs in one letter from a known one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassFinding {
    /// The name of the GatewayClass.
    pub class: SmolStr,
    /// The similar name.
    pub similar: SmolStr,
}

impl fmt::Display for ClassFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GatewayClass `{}` is not in the input", self.class)
    }
}

impl ClassFinding {
    pub(super) fn help(&self) -> String {
        format!("did you mean `{}`? Otherwise add the GatewayClass to the input", self.similar)
    }
}

pub fn misspelt(subject: LintSubject<'_>, findings: &mut Findings) {
    let (objects, topology) = (subject.engine.objects(), subject.engine.topology());
    for (id, gateway) in subject.objects() {
        let node = NodeId::whole(id);
        if topology[node].level != Level::Gateway {
            continue;
        }
        let Some(ClassOwner::Unknown { class }) = topology.gateway_owner(objects, node) else { continue };
        let existing = objects.each_of_kind(GATEWAY_API, "GatewayClass").map(|(_, class)| &class.id.name);
        let created = topology.controllers().iter().flat_map(|it| it.classes.iter().map(|(name, _)| name));
        if let Some(similar) = existing.chain(created).find(|name| is_one_letter_off(class, name)) {
            let finding = ClassFinding { class: class.into(), similar: similar.clone() };
            let path = Path::parse("spec.gatewayClassName");
            findings.push(Finding::new(&rule::MISSPELT_CLASS, gateway, path, FindingCause::Class(finding)));
        }
    }
}

/// Whether two names differ in one letter. Numbered names differ on purpose.
fn is_one_letter_off(name: &str, other: &str) -> bool {
    let letters = |name: &str| name.chars().filter(|it| !it.is_ascii_digit()).collect::<String>();
    name.len() > 3 && strsim::damerau_levenshtein(name, other) == 1 && letters(name) != letters(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_and_short_names_are_not_misspelt() {
        assert!(is_one_letter_off("ngnix", "nginx"));
        assert!(is_one_letter_off("istion", "istio"));
        assert!(!is_one_letter_off("istio", "istio"));
        assert!(!is_one_letter_off("edge-1", "edge-2"));
        assert!(!is_one_letter_off("eg", "ex"));
    }
}

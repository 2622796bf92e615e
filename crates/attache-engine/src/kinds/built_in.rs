//! The built-in kinds: the documents in `kinds/`, one file for each system.

use std::sync::Arc;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::{KindOrigin, PolicyKind, StrategyRegistry};
use crate::problem::Problem;
use crate::text::{self, Reading};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../kinds/", $name, ".yaml")))),*]
    };
}

const FILES: [(&str, &str); 9] = files![
    "envoy-gateway",
    "gateway-api",
    "gloo",
    "istio",
    "kgateway",
    "kuadrant",
    "network-policy",
    "nginx",
    "open-cluster-management"
];

/// All built-in kinds, and the problems of their documents, of which there are none: a test checks it.
pub fn built_in() -> (Vec<PolicyKind>, Vec<Problem>) {
    let files = FILES.par_iter().map(|(name, text)| {
        let Reading { objects, mut problems } = text::read(&Arc::from(format!("kinds/{name}.yaml")), text);
        let strategies = StrategyRegistry::default();
        let read = objects.iter().map(|document| PolicyKind::read(document, KindOrigin::BuiltIn(name), &strategies));
        let kinds: Vec<PolicyKind> =
            read.filter_map(|kind| kind.map_err(|errors| problems.extend(errors)).ok()).collect();
        (kinds, problems)
    });
    let files: Vec<(Vec<PolicyKind>, Vec<Problem>)> = files.collect();
    let (kinds, problems): (Vec<_>, Vec<_>) = files.into_iter().unzip();
    (kinds.concat(), problems.concat())
}

/// The document of a kind as it is written in one of the files, with the comment above it.
pub fn document(file: &str, name: &str) -> Option<String> {
    let (_, text) = FILES.iter().find(|(known, _)| *known == file)?;
    let has_name = |document: &&str| document.contains(&format!("metadata: {{name: {name}}}\n"));
    text.split("---\n").find(has_name).map(|document| document.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cel::CelCondition;

    #[test]
    fn the_built_in_kinds_have_no_problems() {
        let (kinds, problems) = built_in();
        assert!(problems.is_empty(), "{}", problems.iter().map(|p| format!("{p}\n")).collect::<String>());
        assert!(kinds.len() >= FILES.len());
        for kind in &kinds {
            let KindOrigin::BuiltIn(file) = kind.origin else { continue };
            assert!(
                document(file, &kind.name).is_some(),
                "the name of {} is not written as `metadata: {{name: …}}`",
                kind.name
            );
            let validations = kind.acceptance.validations.iter().map(|it| &it.rule);
            for rule in validations.chain(kind.acceptance.notes.iter().filter_map(|it| it.rule.as_ref())) {
                let compiled = CelCondition::compile(rule.text());
                assert!(compiled.is_ok(), "{}: {compiled:?}", kind.name);
            }
        }
    }
}

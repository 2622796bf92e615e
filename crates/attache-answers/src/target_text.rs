//! Targets of policies as text.

use attache_engine::{PolicyTarget, TargetSpec};

use crate::inline::inline;

/// A target, as written in its policy: `Gateway/infra/main#https`, `HTTPRoute with {app: shop}`.
pub(crate) fn target_text(target: &PolicyTarget) -> String {
    let in_section = |section: &Option<_>| section.as_ref().map(|section| format!("#{section}")).unwrap_or_default();
    match &target.spec {
        TargetSpec::Object { kind, namespace, name, section, .. } => {
            let namespace = namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
            format!("{kind}/{namespace}{name}{}", in_section(section))
        }
        TargetSpec::Selected(selector) => {
            format!("{}{} with {}", selector.kind, in_section(&selector.section), inline(&selector.labels))
        }
        TargetSpec::OwnNamespace => "its namespace".to_owned(),
        TargetSpec::Host(host) => format!("host {host}"),
        TargetSpec::Chosen(choice) => {
            let levels: Vec<String> = choice.levels.iter().map(|level| level.to_string().to_lowercase()).collect();
            let objects =
                choice.labels.as_ref().map(|labels| format!("{}s with {}", levels.join("s and "), inline(labels)));
            let namespaces = choice.namespaces.as_ref().map(|labels| format!("namespaces with {}", inline(labels)));
            objects.into_iter().chain(namespaces).collect::<Vec<_>>().join(" in ")
        }
    }
}

//! Objects and policies by their names, with links.

use attache_answers::matrix::OriginLevel;
use attache_engine::{NodeRef, ObjectRef, plural};
use maud::{Markup, html};

use super::grouped;
use crate::address;

/// An object or a section of one: its kind, and its name.
pub fn node(node: &NodeRef) -> Markup {
    html! {
        a.object href=(address::object(node)) {
            span.kind { (node.object.kind) " " } (qualified_name(node))
        }
    }
}

/// The same without the kind.
pub fn short_node(node: &NodeRef) -> Markup {
    html! { a.object href=(address::object(node)) title=(node.to_string()) { (qualified_name(node)) } }
}

/// A section by its own name, where its object is named before it.
pub fn section_node(node: &NodeRef) -> Markup {
    let name = node.section.as_ref().unwrap_or(&node.object.name);
    html! { a.object href=(address::object(node)) title=(node.to_string()) { bdi { span.name { (name) } } } }
}

/// A policy: its kind, and its name.
pub fn policy(policy: &ObjectRef) -> Markup {
    html! {
        a.policy href=(address::policy(policy)) {
            span.kind { (policy.kind) " " } (qualified_name(&NodeRef::from(policy)))
        }
    }
}

/// Policies, separated by commas.
pub fn policies<'p>(policies: impl IntoIterator<Item = &'p ObjectRef>) -> Markup {
    html! {
        @for (i, it) in policies.into_iter().enumerate() {
            @if i > 0 { ", " }
            (policy(it))
        }
    }
}

/// The first policies, and the number of the others.
pub fn policy_list(all: &[ObjectRef], most: usize) -> Markup {
    let shown = attache_answers::scopes::cut(all.len(), most);
    html! { (policies(&all[..shown])) (more(all.len() - shown)) }
}

/// The first nodes, separated by commas, and the number of the others.
pub fn node_list(nodes: &[NodeRef], most: usize) -> Markup {
    let shown = attache_answers::scopes::cut(nodes.len(), most);
    html! {
        @for (i, it) in nodes[..shown].iter().enumerate() {
            @if i > 0 { ", " }
            (node(it))
        }
        (more(nodes.len() - shown))
    }
}

/// ` and 7 more`, or nothing.
pub fn more(count: usize) -> Markup {
    html! { @if count > 0 { span.dim { " and " (grouped(count)) " more" } } }
}

/// `namespace/name#section`, in this order in every script.
pub fn qualified_name(node: &NodeRef) -> Markup {
    html! {
        bdi dir="ltr" {
            @if !node.object.namespace.is_empty() { span.namespace { (node.object.namespace) "/" } }
            span.name { (node.object.name) }
            @if let Some(section) = &node.section { span.section { "#" (section) } }
        }
    }
}

/// `1 scope`, `37 scopes`.
pub fn counted(count: usize, what: &str) -> String {
    format!("{} {}", grouped(count), noun(count, what))
}

/// `scope` for one, `scopes` for any other number.
pub fn noun(count: usize, what: &str) -> String {
    if count == 1 { what.to_owned() } else { plural(what) }
}

/// The origin of a value, as a coloured word.
pub fn level_tag(level: OriginLevel) -> Markup {
    html! { span.level.{ "from-" (level.word()) } { (level.word()) } }
}

/// The status of a policy, as a coloured word.
pub fn status_badge(word: &str) -> Markup {
    let class = match word {
        "Enforced" => "good",
        "PartiallyEnforced" => "partly",
        "Overridden" => "lost",
        "NotEnforced" => "none",
        _ => "bad",
    };
    let text = match word {
        "Enforced" => "In force",
        "PartiallyEnforced" => "Partly in force",
        "NotEnforced" => "Not in force",
        word => word,
    };
    html! { span.badge.(class) title=(word) { (text) } }
}

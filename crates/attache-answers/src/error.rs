//! Why a question cannot be answered.

use std::fmt;

use attache_engine::{NodeRef, ObjectRef, Problem, plural, qualified};

use crate::suggestions::{did_you_mean, first_of, one_of};

/// Why a question cannot be answered. [`Display`](fmt::Display) is the message; [`QueryError::help`] says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueryError {
    /// A text does not name an object. It is empty if no object is given.
    NotAnObject {
        /// The text.
        text: String,
    },
    /// There is no such kind of objects.
    UnknownKind {
        /// The kind as the user wrote it.
        kind: String,
        /// Kinds with a similar name.
        near: Vec<String>,
        /// The kinds of the objects in the input.
        known: Vec<String>,
    },
    /// The object does not exist.
    ObjectNotFound(Box<ObjectNotFound>),
    /// Several objects have the name.
    AmbiguousObject {
        /// The name as the user wrote it: `KIND/NAME`.
        name: String,
        /// The objects.
        choices: Vec<ObjectRef>,
    },
    /// An object has no such section.
    SectionNotFound {
        /// The object.
        object: Box<ObjectRef>,
        /// The name of the section.
        section: String,
        /// The sections that it has.
        known: Vec<String>,
    },
    /// The object of a question about a policy is not a policy.
    NotAPolicy {
        /// The object.
        object: Box<NodeRef>,
    },
    /// The object of a question about a policy looks like a policy, and its kind is unknown.
    PolicyOfUnknownKind {
        /// The object.
        object: Box<NodeRef>,
    },
    /// The object of a question about the policies on an object is itself a policy.
    IsAPolicy {
        /// The policy.
        policy: Box<NodeRef>,
    },
    /// There is no such kind of policies.
    UnknownPolicyKind {
        /// The kind as the user wrote it.
        name: String,
        /// Policy kinds with a similar name.
        near: Vec<String>,
        /// All policy kinds.
        known: Vec<String>,
    },
    /// Several kinds of policies have the name.
    AmbiguousPolicyKind {
        /// The name as the user wrote it.
        name: String,
        /// The kinds, each with its group.
        choices: Vec<String>,
    },
    /// A policy has no such rule.
    RuleNotFound {
        /// The policy.
        policy: Box<ObjectRef>,
        /// The rule as the user wrote it.
        rule: String,
        /// Rules with a similar name.
        near: Vec<String>,
    },
    /// There is no object in a namespace.
    EmptyNamespace {
        /// The namespace.
        namespace: String,
        /// Namespaces with a similar name.
        near: Vec<String>,
        /// All namespaces.
        known: Vec<String>,
    },
    /// Policies of a kind are never in force at a level.
    NeverInForce {
        /// The policy kind.
        kind: String,
        /// The level.
        level: &'static str,
        /// The levels at which they are.
        levels: Vec<&'static str>,
    },
    /// Only whole objects can be deleted.
    SectionDeleted {
        /// The section.
        section: Box<NodeRef>,
    },
    /// Several Gateways serve a request.
    SeveralGateways {
        /// The URL of the request.
        url: String,
        /// The Gateways.
        gateways: Vec<ObjectRef>,
    },
    /// No Gateway has this address.
    UnknownAddress {
        /// The address.
        address: String,
        /// Addresses that are similar.
        near: Vec<String>,
        /// The addresses of all Gateways.
        known: Vec<String>,
    },
    /// The text of a request, or a document that the question refers to, cannot be read.
    Unreadable(Box<Problem>),
}

/// An object that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectNotFound {
    /// The kind of the object.
    pub kind: String,
    /// The name of the object.
    pub name: String,
    /// The namespace that was searched. `None` means all.
    pub namespace: Option<String>,
    /// Objects with this name in other namespaces, or else with a similar name.
    pub near: Vec<ObjectRef>,
    /// All objects of the kind.
    pub known: Vec<ObjectRef>,
}

impl QueryError {
    /// What to do about it, if known.
    pub fn help(&self) -> Option<String> {
        use QueryError::*;
        Some(match self {
            NotAnObject { .. } => {
                "write KIND/NAME or KIND/NAMESPACE/NAME, as in httproute/cakes or gw/infra/main#https".to_owned()
            }
            UnknownKind { near, known, .. } => near_or(near, || format!("the input has {}", first_of(known, 12))),
            ObjectNotFound(it) if it.known.is_empty() => format!("there are no {}", plural(&it.kind)),
            ObjectNotFound(it) => near_or(&it.near, || format!("there are {}", first_of(&it.known, 5))),
            AmbiguousObject { choices, .. } => format!("use one of {}", first_of(distinct(choices), 5)),
            SectionNotFound { known, .. } if known.is_empty() => return None,
            SectionNotFound { known, .. } => format!("its sections are {}", first_of(known, 12)),
            NotAPolicy { .. } | IsAPolicy { .. } => return None,
            PolicyOfUnknownKind { .. } => "add its CRD, or describe it with a PolicyKind document".to_owned(),
            UnknownPolicyKind { known, .. } if known.is_empty() => {
                "there are no policy kinds: add their CRDs or PolicyKind documents".to_owned()
            }
            UnknownPolicyKind { near, known, .. } => near_or(near, || format!("there are {}", first_of(known, 12))),
            AmbiguousPolicyKind { choices, .. } => format!("use one of {}", first_of(choices, 12)),
            RuleNotFound { near, .. } if near.is_empty() => return None,
            RuleNotFound { near, .. } => did_you_mean(near),
            EmptyNamespace { known, .. } if known.is_empty() => return None,
            EmptyNamespace { near, known, .. } => near_or(near, || format!("there are {}", first_of(known, 12))),
            NeverInForce { levels, .. } if levels.is_empty() => {
                "leave the level out: the policy is then required wherever it takes effect".to_owned()
            }
            NeverInForce { levels, .. } => format!("it can be required on {}", one_of(levels)),
            SectionDeleted { section } => {
                format!("apply a file with {} without that section", section.object)
            }
            SeveralGateways { gateways, .. } => {
                let choices = gateways.iter().map(|it| format!("{}/{}", it.namespace, it.name));
                format!("name the gateway: {}", first_of(choices, 5))
            }
            UnknownAddress { known, .. } if known.is_empty() => {
                "no gateway in the input has an address in its spec or status: name the gateway instead".to_owned()
            }
            UnknownAddress { near, known, .. } => near_or(near, || format!("there are {}", first_of(known, 5))),
            Unreadable(problem) => return problem.help.clone(),
        })
    }
}

fn near_or(near: &[impl fmt::Display], otherwise: impl FnOnce() -> String) -> String {
    if near.is_empty() { otherwise() } else { did_you_mean(near) }
}

/// Unambiguous names of objects: with the group if two kinds have the same name.
fn distinct(objects: &[ObjectRef]) -> Vec<String> {
    let same_group = objects.windows(2).all(|pair| pair[0].group == pair[1].group);
    let name = |id: &ObjectRef| {
        let name = id.to_string();
        // The name may have the group already.
        match name.strip_prefix(id.kind.as_str()).filter(|rest| !same_group && rest.starts_with('/')) {
            Some(rest) => qualified(&id.group, &id.kind) + rest,
            None => name,
        }
    };
    objects.iter().map(name).collect()
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use QueryError::*;
        match self {
            NotAnObject { text } if text.is_empty() => f.write_str("no object given"),
            NotAnObject { text } => write!(f, "`{text}` is not an object"),
            UnknownKind { kind, .. } => write!(f, "unknown kind `{kind}`"),
            ObjectNotFound(it) => {
                write!(f, "there is no {} `{}`", it.kind, it.name)?;
                it.namespace.as_ref().map_or(Ok(()), |namespace| write!(f, " in namespace `{namespace}`"))
            }
            AmbiguousObject { name, .. } => write!(f, "several objects are called `{name}`"),
            SectionNotFound { object, known, .. } if known.is_empty() => write!(f, "{object} has no sections"),
            SectionNotFound { object, section, .. } => write!(f, "{object} has no section `{section}`"),
            NotAPolicy { object } => write!(f, "{object} is not a policy"),
            PolicyOfUnknownKind { object } => write!(f, "{object} looks like a policy, but its kind is unknown"),
            IsAPolicy { policy } => write!(f, "{policy} is a policy, and policies do not apply to policies"),
            UnknownPolicyKind { name, .. } => write!(f, "unknown policy kind `{name}`"),
            AmbiguousPolicyKind { name, .. } => write!(f, "several policy kinds are called `{name}`"),
            RuleNotFound { policy, rule, .. } => write!(f, "{policy} has no rule `{rule}`"),
            EmptyNamespace { namespace, .. } => write!(f, "no objects in namespace `{namespace}`"),
            NeverInForce { kind, level, .. } => write!(f, "{kind} is never in force on a {level}"),
            SectionDeleted { section } => write!(f, "{section} is a section: only whole objects can be deleted"),
            SeveralGateways { url, gateways } => write!(f, "{} Gateways have a route for {url}", gateways.len()),
            UnknownAddress { address, .. } => write!(f, "no gateway has the address `{address}`"),
            Unreadable(problem) => f.write_str(&problem.message),
        }
    }
}

impl std::error::Error for QueryError {}

/// With the location, if there is one.
impl From<QueryError> for Problem {
    fn from(error: QueryError) -> Problem {
        match error {
            QueryError::Unreadable(problem) => *problem,
            error => Problem { help: error.help(), ..Problem::error(error.to_string()) },
        }
    }
}

impl From<Problem> for QueryError {
    fn from(problem: Problem) -> QueryError {
        QueryError::Unreadable(Box::new(problem))
    }
}

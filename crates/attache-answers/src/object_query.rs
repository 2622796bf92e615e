//! Objects as users write them: `httproute/cakes`, `gw infra/main`, `HTTPRoute/baker/cakes#rule-1`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use attache_engine::{KindQuery, NodeRef, ObjectRef, Objects, Topology, known_kinds, nearest};
use smol_str::SmolStr;

use crate::error::{ObjectNotFound, QueryError};

/// An object, or a section of one, as a user writes it.
///
/// The kind may be singular, plural or short, in any case, with its group or without.
///
/// ```
/// use attache_answers::ObjectQuery;
///
/// let query: ObjectQuery = "gw/infra/main#https".parse()?;
/// assert_eq!(query.to_string(), "gw/infra/main#https");
/// # Ok::<(), attache_answers::QueryError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectQuery {
    kind: KindQuery,
    namespace: Option<String>,
    name: String,
    section: Option<String>,
}

impl ObjectQuery {
    /// Reads `KIND/NAME`, `KIND/NAMESPACE/NAME` or the two words `KIND NAME`, each with or without `#SECTION`. Returns
    /// the query and the words that follow it.
    pub fn parse_words(words: &[String]) -> Result<(ObjectQuery, &[String]), QueryError> {
        let (kind, name, rest) = match words {
            [first, rest @ ..] if first.contains('/') => {
                let (kind, name) = first.split_once('/').unwrap_or_default();
                (kind, name, rest)
            }
            [kind, name, rest @ ..] => (kind.as_str(), name.as_str(), rest),
            [..] => return Err(QueryError::NotAnObject { text: words.join(" ") }),
        };
        let (name, section) = match name.split_once('#') {
            Some((name, section)) => (name, Some(section.to_owned())),
            None => (name, None),
        };
        let (namespace, name) = match name.split_once('/') {
            Some((namespace, name)) => (Some(namespace.to_owned()), name),
            None => (None, name),
        };
        if kind.is_empty() || name.is_empty() || name.contains('/') || section.as_deref() == Some("") {
            return Err(QueryError::NotAnObject { text: words[..words.len() - rest.len()].join(" ") });
        }
        Ok((ObjectQuery { kind: KindQuery::parse(kind), namespace, name: name.to_owned(), section }, rest))
    }

    /// The query that names just this node.
    pub fn exactly(node: &NodeRef) -> ObjectQuery {
        let ObjectRef { group, kind, namespace, name, .. } = &node.object;
        ObjectQuery::named(&format!("{kind}.{group}"), namespace, name, node.section.as_deref())
    }

    /// The query for an object with this name, which may contain any character. The kind is written as in `httproute`
    /// or `HTTPRoute.gateway.networking.k8s.io`; `Service.` is the kind of the core group. The namespace of a
    /// cluster-scoped object is empty.
    pub fn named(kind: &str, namespace: &str, name: &str, section: Option<&str>) -> ObjectQuery {
        ObjectQuery {
            kind: KindQuery::parse(kind),
            namespace: Some(namespace.to_owned()),
            name: name.to_owned(),
            section: section.map(str::to_owned),
        }
    }

    /// The object of a kind with a name, as `NAME` or `NAMESPACE/NAME`.
    pub(crate) fn of_kind(kind: &str, name: &str) -> Result<ObjectQuery, QueryError> {
        format!("{kind}/{name}").parse()
    }

    /// The kind, as it is written.
    pub fn kind(&self) -> &KindQuery {
        &self.kind
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Finds the object. Without a namespace, in the query or in `namespace`, a unique name is enough, because files
    /// have no current namespace. Of several objects, the one in the namespace `default` is found.
    pub fn find(&self, objects: &Objects, topology: &Topology, namespace: Option<&str>) -> Result<NodeRef, QueryError> {
        let candidates = Candidates::of_kind(&self.kind, objects, topology)?;
        let named = candidates.ids(|id| id.name == self.name);
        let is_in_namespace = |id: &ObjectRef| match (&self.namespace, namespace) {
            (Some(wanted), _) => id.namespace == wanted.as_str(),
            (None, Some(wanted)) => id.namespace == wanted || id.namespace.is_empty(),
            (None, None) => true,
        };
        let found: Vec<&ObjectRef> = named.iter().copied().filter(|id| is_in_namespace(id)).collect();
        let in_default: Vec<&ObjectRef> = found.iter().copied().filter(|id| id.namespace == "default").collect();
        let id = match (found.as_slice(), in_default.as_slice()) {
            ([id], _) | (_, [id]) => *id,
            ([], _) => {
                let namespace = self.namespace.as_deref().or(namespace);
                return Err(self.not_found(&candidates, &named, namespace));
            }
            (several, _) => {
                let name = format!("{}/{}", self.kind, self.name);
                return Err(QueryError::AmbiguousObject { name, choices: several.iter().copied().cloned().collect() });
            }
        };
        let section = self.section.as_deref().map(|name| find_section(id, name, objects, topology)).transpose()?;
        Ok(NodeRef { object: id.clone(), section })
    }

    fn not_found(&self, candidates: &Candidates, named: &[&ObjectRef], namespace: Option<&str>) -> QueryError {
        let known = candidates.ids(|_| true);
        let near: Vec<&ObjectRef> = match named {
            [] => {
                let near = nearest(&self.name, known.iter().map(|id| id.name.as_str()));
                known.iter().copied().filter(|id| near.contains(&id.name.as_str())).collect()
            }
            elsewhere => elsewhere.to_vec(),
        };
        QueryError::ObjectNotFound(Box::new(ObjectNotFound {
            kind: candidates.kind.to_owned(),
            name: self.name.clone(),
            namespace: namespace.map(str::to_owned),
            near: near.into_iter().take(3).cloned().collect(),
            known: known.into_iter().cloned().collect(),
        }))
    }
}

impl FromStr for ObjectQuery {
    type Err = QueryError;

    /// Reads one word: `KIND/NAME` or `KIND/NAMESPACE/NAME`, with or without `#SECTION`.
    fn from_str(text: &str) -> Result<ObjectQuery, QueryError> {
        Ok(ObjectQuery::parse_words(&[text.to_owned()])?.0)
    }
}

/// All objects of the kind that a query names.
struct Candidates<'a> {
    objects: &'a Objects,
    topology: &'a Topology,
    kind: &'a str,
    /// Group and kind: kinds of several groups can have the same name.
    kinds: Vec<(&'a str, &'a str)>,
}

impl<'a> Candidates<'a> {
    fn of_kind(query: &KindQuery, objects: &'a Objects, topology: &'a Topology) -> Result<Candidates<'a>, QueryError> {
        let virtual_kinds = topology.implied().map(|id| (id.group.as_str(), id.kind.as_str()));
        let all: BTreeSet<(&str, &str)> = objects.kinds().chain(virtual_kinds).chain(known_kinds()).collect();
        let kinds: Vec<(&str, &str)> = all.iter().copied().filter(|(group, kind)| query.matches(group, kind)).collect();
        match kinds.first().copied() {
            Some((_, kind)) => Ok(Candidates { objects, topology, kind, kinds }),
            None => Err(QueryError::UnknownKind {
                kind: query.to_string(),
                near: nearest(&query.to_string(), all.iter().map(|(_, kind)| kind.to_lowercase())),
                known: objects.kinds().map(|(_, kind)| kind.to_owned()).collect(),
            }),
        }
    }

    /// The objects for which `is_wanted` is true, sorted.
    fn ids(&self, is_wanted: impl Fn(&ObjectRef) -> bool) -> Vec<&'a ObjectRef> {
        let objects = self.kinds.iter().flat_map(|(group, kind)| self.objects.each_of_kind(group, kind));
        let virtual_objects = self.topology.implied().filter(|id| self.kinds.contains(&(&id.group, &id.kind)));
        let all = objects.map(|(_, object)| &object.id).chain(virtual_objects);
        let mut ids: Vec<&ObjectRef> = all.filter(|id| is_wanted(id)).collect();
        ids.sort();
        ids
    }
}

fn find_section(id: &ObjectRef, name: &str, objects: &Objects, topology: &Topology) -> Result<SmolStr, QueryError> {
    let whole = topology.find(objects, id);
    let nodes = whole.into_iter().flat_map(|node| topology.sections(node));
    let sections: Vec<&SmolStr> = nodes.filter_map(|node| topology[node].section.as_ref()).collect();
    match sections.iter().find(|section| **section == name) {
        Some(section) => Ok((*section).clone()),
        None => Err(QueryError::SectionNotFound {
            object: Box::new(id.clone()),
            section: name.to_owned(),
            known: sections.into_iter().map(ToString::to_string).collect(),
        }),
    }
}

/// The form that is parsed.
impl fmt::Display for ObjectQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.kind)?;
        self.namespace.as_ref().map_or(Ok(()), |namespace| write!(f, "{namespace}/"))?;
        f.write_str(&self.name)?;
        self.section.as_ref().map_or(Ok(()), |section| write!(f, "#{section}"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use attache_engine::Object;

    const GATEWAY: &str = "gateway.networking.k8s.io";

    fn find(words: &str, namespace: Option<&str>) -> Result<String, String> {
        let ids = [
            ObjectRef::new(GATEWAY, "HTTPRoute", "baker", "cakes"),
            ObjectRef::new(GATEWAY, "HTTPRoute", "baker", "pies"),
            ObjectRef::new(GATEWAY, "HTTPRoute", "shop", "pies"),
            ObjectRef::new(GATEWAY, "HTTPRoute", "default", "bread"),
            ObjectRef::new(GATEWAY, "HTTPRoute", "shop", "bread"),
            ObjectRef::new(GATEWAY, "GatewayClass", "", "main"),
            ObjectRef::new(GATEWAY, "Gateway", "shop", "main"),
            ObjectRef::new("networking.istio.io", "Gateway", "shop", "main"),
        ];
        let object = |ObjectRef { group, kind, namespace, name, .. }| {
            let metadata = format!(r#"{{"namespace": "{namespace}", "name": "{name}"}}"#);
            let document = format!(r#"{{"apiVersion": "{group}/v1", "kind": "{kind}", "metadata": {metadata}}}"#);
            Object::from_json_str(&document).unwrap()
        };
        let objects = Objects::new(ids.into_iter().map(object).collect());
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let found = ObjectQuery::parse_words(&words)
            .and_then(|(query, _)| query.find(&objects, &Topology::default(), namespace));
        match found {
            Ok(found) => Ok(found.to_string()),
            Err(error) => Err(format!("{error}; {}", error.help().unwrap_or_default())),
        }
    }

    #[test]
    fn an_object_is_found_in_every_notation() {
        for words in ["httproute/cakes", "httproutes cakes", "HTTPRoute/baker/cakes", "httproute baker/cakes"] {
            assert_eq!(find(words, None).as_deref(), Ok("HTTPRoute/baker/cakes"), "{words}");
        }
        assert_eq!(find("gc/main", Some("shop")).as_deref(), Ok("GatewayClass/main"));
        assert_eq!(find("gateway.networking.istio.io/main", None).as_deref(), Ok("Gateway/shop/main"));
    }

    #[test]
    fn of_several_with_one_name_the_given_namespace_decides_or_else_the_default_one() {
        assert_eq!(find("httproute/pies", Some("shop")).as_deref(), Ok("HTTPRoute/shop/pies"));
        assert_eq!(find("httproute/bread", None).as_deref(), Ok("HTTPRoute/default/bread"));
        assert!(find("httproute/pies", None).is_err_and(|text| text.contains("`HTTPRoute/shop/pies`")));
        assert!(find("gateway/main", None).is_err_and(|text| text.contains("`Gateway.networking.istio.io/shop/main`")));
    }

    #[test]
    fn a_typo_gets_suggestions() {
        assert!(find("htproute/cakes", None).is_err_and(|text| text.contains("did you mean `httproute`")));
        assert!(
            find("httproute/caeks", None).is_err_and(|text| text.contains("did you mean `HTTPRoute/baker/cakes`?"))
        );
        assert!(find("httproute/cakes", Some("shop")).is_err_and(|text| text.contains("`HTTPRoute/baker/cakes`")));
        assert!(find("svc/cakes", None).is_err_and(|text| text.contains("there are no Services")));
        assert!(find("cakes", None).is_err_and(|text| text.contains("KIND/NAME")));
    }
}

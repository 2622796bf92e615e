//! Objects as people write them: `httproute/cakes`, `gw infra/main`, `HTTPRoute/baker/cakes#rule-1`.

use std::collections::BTreeSet;
use std::fmt;

use attache_engine::names::{KindQuery, known_kinds, nearest, qualified};
use attache_engine::object::{ObjectRef, Objects};
use attache_engine::problem::Problem;
use attache_engine::topology::{NodeId, Topology};
use smol_str::SmolStr;

use crate::suggestions::{did_you_mean, listed};

/// What was asked for, not yet looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectQuery {
    kind: KindQuery,
    namespace: Option<String>,
    name: String,
    section: Option<String>,
}

/// Something that is there: an object, a section of one, or something that exists by being named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub id: ObjectRef,
    pub section: Option<SmolStr>,
}

impl Target {
    /// Whether a node is it, or a section of it.
    pub fn has(&self, node: NodeId, objects: &Objects, topology: &Topology) -> bool {
        *topology.id(objects, node) == self.id && (self.section.is_none() || topology[node].section == self.section)
    }
}

/// As it can be given to commands again.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.section {
            Some(section) => write!(f, "{}#{section}", self.id),
            None => self.id.fmt(f),
        }
    }
}

impl ObjectQuery {
    /// Reads `KIND/NAME`, `KIND/NAMESPACE/NAME` or the two words `KIND NAME`, each with `#SECTION` or without, and
    /// gives back the words that follow.
    pub fn parse(words: &[String]) -> Result<(ObjectQuery, &[String]), Box<Problem>> {
        let (kind, name, rest) = match words {
            [first, rest @ ..] if first.contains('/') => {
                let (kind, name) = first.split_once('/').unwrap_or_default();
                (kind, name, rest)
            }
            [kind, name, rest @ ..] => (kind.as_str(), name.as_str(), rest),
            [word] => return Err(incomplete(word).into()),
            [] => return Err(incomplete("").into()),
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
            return Err(incomplete(&words[..words.len() - rest.len()].join(" ")).into());
        }
        Ok((ObjectQuery { kind: KindQuery::parse(kind), namespace, name: name.to_owned(), section }, rest))
    }

    /// Finds what is meant. Without a namespace, in the query or in `namespace`, a name that only one object has is
    /// enough: files have no current namespace.
    pub fn find(
        &self,
        objects: &Objects,
        topology: &Topology,
        namespace: Option<&str>,
    ) -> Result<Target, Box<Problem>> {
        let there = OfKind::named(&self.kind, objects, topology)?;
        let named = there.ids(|id| id.name == self.name);
        let fits = |id: &ObjectRef| match (&self.namespace, namespace) {
            (Some(wanted), _) => id.namespace == wanted.as_str(),
            (None, Some(wanted)) => id.namespace == wanted || id.namespace.is_empty(),
            (None, None) => true,
        };
        let fitting: Vec<&ObjectRef> = named.iter().copied().filter(|id| fits(id)).collect();
        let in_default: Vec<&ObjectRef> = fitting.iter().copied().filter(|id| id.namespace == "default").collect();
        let id = match (fitting.as_slice(), in_default.as_slice()) {
            ([id], _) | (_, [id]) => *id,
            ([], _) => {
                let namespace = self.namespace.as_deref().or(namespace);
                return Err(self.missing(&there, &named, namespace).into());
            }
            (several, _) => return Err(self.ambiguous(several).into()),
        };
        let section =
            self.section.as_deref().map(|section| find_section(id, section, objects, topology)).transpose()?;
        Ok(Target { id: id.clone(), section })
    }

    fn missing(&self, there: &OfKind, named: &[&ObjectRef], namespace: Option<&str>) -> Problem {
        let (kind, ids) = (there.kind, there.ids(|_| true));
        let place = namespace.map(|namespace| format!(" in namespace `{namespace}`")).unwrap_or_default();
        let problem = Problem::error(format!("there is no {kind} `{}`{place}", self.name));
        if ids.is_empty() {
            return problem.help(format!("the input has no {kind} at all"));
        }
        if !named.is_empty() {
            return problem.help(did_you_mean(named.iter().take(3)));
        }
        let near = nearest(&self.name, ids.iter().map(|id| id.name.as_str()));
        let near = ids.iter().filter(|id| near.contains(&id.name.as_str())).take(3);
        match near.clone().next() {
            Some(_) => problem.help(did_you_mean(near)),
            None => problem.help(format!("there are {}", listed(ids.iter(), 5))),
        }
    }

    fn ambiguous(&self, several: &[&ObjectRef]) -> Problem {
        let same_kind = several.windows(2).all(|pair| pair[0].group == pair[1].group);
        let choices = several.iter().map(|id| match same_kind {
            true => id.to_string(),
            false => format!("{}{}", qualified(&id.group, &id.kind), &id.to_string()[id.kind.len()..]),
        });
        Problem::error(format!("`{}/{}` could be several objects", self.kind, self.name))
            .help(format!("say which: {}", listed(choices, 5)))
    }
}

/// Everything of the kind that was asked for.
struct OfKind<'a> {
    objects: &'a Objects,
    topology: &'a Topology,
    kind: &'a str,
    /// Group and kind: several may be called so.
    wanted: Vec<(&'a str, &'a str)>,
}

impl<'a> OfKind<'a> {
    fn named(name: &KindQuery, objects: &'a Objects, topology: &'a Topology) -> Result<OfKind<'a>, Box<Problem>> {
        let only_named = topology.implied().map(|id| (id.group.as_str(), id.kind.as_str()));
        let kinds: BTreeSet<(&str, &str)> = objects.kinds().chain(only_named).chain(known_kinds()).collect();
        let wanted: Vec<(&str, &str)> =
            kinds.iter().copied().filter(|(group, kind)| name.matches(group, kind)).collect();
        if let Some((_, kind)) = wanted.first().copied() {
            return Ok(OfKind { objects, topology, kind, wanted });
        }
        let words = kinds.iter().map(|(_, kind)| kind.to_lowercase());
        let near = nearest(&name.to_string(), words);
        let help = match near.is_empty() {
            false => did_you_mean(near),
            true => format!("the input has {}", listed(objects.kinds().map(|(_, kind)| kind), 12)),
        };
        Err(Problem::error(format!("unknown kind `{name}`")).help(help).into())
    }

    /// Those that are such, in order.
    fn ids(&self, is_such: impl Fn(&ObjectRef) -> bool) -> Vec<&'a ObjectRef> {
        let objects = self.wanted.iter().flat_map(|(group, kind)| self.objects.each_of_kind(group, kind));
        let only_named = self.topology.implied().filter(|id| self.wanted.contains(&(&id.group, &id.kind)));
        let all = objects.map(|(_, object)| &object.id).chain(only_named);
        let mut ids: Vec<&ObjectRef> = all.filter(|id| is_such(id)).collect();
        ids.sort();
        ids
    }
}

/// The section of `id` that is called `wanted`.
fn find_section(id: &ObjectRef, wanted: &str, objects: &Objects, topology: &Topology) -> Result<SmolStr, Box<Problem>> {
    let whole = topology.find(objects, id);
    let nodes = whole.into_iter().flat_map(|node| topology.sections(node));
    let sections: Vec<&SmolStr> = nodes.filter_map(|node| topology[node].section.as_ref()).collect();
    if let Some(section) = sections.iter().find(|section| **section == wanted) {
        return Ok((*section).clone());
    }
    let help = match sections.is_empty() {
        true => "it has no sections: only listeners, route rules and service ports are".to_owned(),
        false => format!("its sections are {}", listed(sections.iter(), 12)),
    };
    Err(Problem::error(format!("{id} has no section `{wanted}`")).help(help).into())
}

fn incomplete(words: &str) -> Problem {
    let message = match words {
        "" => "no object given".to_owned(),
        words => format!("`{words}` is not an object"),
    };
    Problem::error(message).help("write KIND/NAME or KIND/NAMESPACE/NAME, as in httproute/cakes or gw/infra/main#https")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use attache_engine::object::Object;

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
        let object = |ObjectRef { group, kind, namespace, name }| {
            let metadata = format!(r#"{{"namespace": "{namespace}", "name": "{name}"}}"#);
            let document = format!(r#"{{"apiVersion": "{group}/v1", "kind": "{kind}", "metadata": {metadata}}}"#);
            Object::from_json_str(&document).unwrap()
        };
        let objects = Objects::new(ids.into_iter().map(object).collect());
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let found =
            ObjectQuery::parse(&words).and_then(|(query, _)| query.find(&objects, &Topology::default(), namespace));
        match found {
            Ok(target) => Ok(target.id.to_string()),
            Err(problem) => Err(problem.to_string()),
        }
    }

    #[test]
    fn an_object_is_found_by_every_way_to_write_it() {
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
    fn a_typo_is_answered_with_what_is_near() {
        assert!(find("htproute/cakes", None).is_err_and(|text| text.contains("did you mean `httproute`")));
        assert!(
            find("httproute/caeks", None).is_err_and(|text| text.contains("did you mean `HTTPRoute/baker/cakes`?"))
        );
        assert!(find("httproute/cakes", Some("shop")).is_err_and(|text| text.contains("`HTTPRoute/baker/cakes`")));
        assert!(find("svc/cakes", None).is_err_and(|text| text.contains("the input has no Service at all")));
        assert!(find("cakes", None).is_err_and(|text| text.contains("KIND/NAME")));
    }
}

//! The kinds that a cluster serves.

use serde::Deserialize;

use crate::ClusterError;
use crate::connection::{Connection, JSON, RequestError};

/// One response for all groups. Servers before 1.26 ignore it and respond with a list of groups.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                          application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

/// A kind that a cluster serves, in one of its versions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApiResource {
    /// Empty for the core group.
    pub group: String,
    /// The version in which it is read.
    pub version: String,
    /// The `kind` of the objects.
    pub kind: String,
    /// The name in paths.
    pub plural: String,
    /// Whether objects are namespaced.
    pub namespaced: bool,
    /// Short names, as in `kubectl api-resources`.
    pub short_names: Vec<String>,
}

impl ApiResource {
    /// `plural.group`, as RBAC and CRDs name it.
    pub fn full_name(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// Group and version, as in `apiVersion`.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    pub(crate) fn path(&self, namespace: Option<&str>) -> String {
        let base = match self.group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        };
        match namespace {
            Some(namespace) => format!("{base}/namespaces/{namespace}/{}", self.plural),
            None => format!("{base}/{}", self.plural),
        }
    }
}

/// The kinds of a cluster that can be listed, each in every version, the preferred version of a group first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    pub(crate) resources: Vec<ApiResource>,
    /// Groups whose server does not respond, as happens with aggregated APIs.
    pub stale_groups: Vec<String>,
}

impl Discovery {
    /// The kind of this group in its preferred version, or in the first of `versions` that the cluster serves.
    pub fn find(&self, group: &str, kind: &str, versions: &[impl AsRef<str>]) -> Option<&ApiResource> {
        let all = || self.resources.iter().filter(|it| it.group == group && it.kind == kind);
        all().find(|it| versions.iter().any(|version| version.as_ref() == it.version)).or_else(|| all().next())
    }

    /// Every kind of a group, each once.
    pub fn of_group(&self, group: &str) -> impl Iterator<Item = &ApiResource> {
        self.each().filter(move |it| it.group == group)
    }

    /// Every kind with this name, each once.
    pub fn of_kind(&self, kind: &str) -> impl Iterator<Item = &ApiResource> {
        self.each().filter(move |it| it.kind == kind)
    }

    /// Every kind, each once, in its preferred version.
    pub fn each(&self) -> impl Iterator<Item = &ApiResource> {
        let same = |a: &ApiResource, b: &ApiResource| a.group == b.group && a.kind == b.kind;
        let all = self.resources.iter().enumerate();
        all.filter(move |(at, it)| !self.resources[..*at].iter().any(|before| same(before, it))).map(|(_, it)| it)
    }

    pub(crate) async fn read(connection: &Connection) -> Result<Discovery, ClusterError> {
        let (core, groups) =
            futures_util::future::join(connection.get("/api", AGGREGATED), connection.get("/apis", AGGREGATED)).await;
        let mut discovery = Discovery::default();
        for (path, answer) in [("/api", core), ("/apis", groups)] {
            let answer = answer.map_err(refused)?;
            let parsed: Groups = serde_json::from_slice(&answer)
                .map_err(|error| ClusterError::Unexpected { path: path.into(), message: error.to_string() })?;
            match parsed.kind.as_str() {
                "APIGroupDiscoveryList" => parsed.items.into_iter().for_each(|group| discovery.add(group)),
                _ => discovery.add_each(connection, path, parsed).await?,
            }
        }
        Ok(discovery)
    }

    fn add(&mut self, group: Group) {
        for version in group.versions {
            if version.freshness == "Stale" {
                self.stale_groups.push(group.metadata.name.clone());
            }
            for resource in version.resources.into_iter().filter(|it| it.verbs.iter().any(|verb| verb == "list")) {
                self.resources.push(ApiResource {
                    group: group.metadata.name.clone(),
                    version: version.version.clone(),
                    kind: resource.response_kind.kind,
                    plural: resource.resource,
                    namespaced: resource.scope == "Namespaced",
                    short_names: resource.short_names,
                });
            }
        }
    }

    /// Requests each version of each group, for older servers.
    async fn add_each(&mut self, connection: &Connection, path: &str, listed: Groups) -> Result<(), ClusterError> {
        let of_core =
            listed.versions.into_iter().map(|version| (String::new(), version.clone(), format!("{path}/{version}")));
        let of_groups = listed.groups.into_iter().flat_map(|group| {
            // The preferred version comes first.
            let mut versions: Vec<String> = group.versions.into_iter().map(|it| it.version).collect();
            versions.sort_by_key(|version| *version != group.preferred_version.version);
            let name = group.name;
            versions.into_iter().map(move |version| {
                let path = format!("{path}/{name}/{version}");
                (name.clone(), version, path)
            })
        });
        let requests = of_core
            .chain(of_groups)
            .map(async |(group, version, path)| (group, version, connection.get(&path, JSON).await));
        for (group, version, answer) in futures_util::future::join_all(requests).await {
            let answer = match answer {
                Ok(answer) => answer,
                Err(RequestError::Cluster(error)) => return Err(error),
                Err(RequestError::Refused { .. }) => {
                    self.stale_groups.push(group);
                    continue;
                }
            };
            let list: ResourceList = serde_json::from_slice(&answer).unwrap_or_default();
            for resource in list.resources.into_iter().filter(|it| it.verbs.iter().any(|verb| verb == "list")) {
                self.resources.push(ApiResource {
                    group: group.clone(),
                    version: version.clone(),
                    kind: resource.kind,
                    plural: resource.name,
                    namespaced: resource.namespaced,
                    short_names: resource.short_names,
                });
            }
        }
        Ok(())
    }
}

fn refused(error: RequestError) -> ClusterError {
    match error {
        RequestError::Cluster(error) => error,
        RequestError::Refused { code: 403, message } => ClusterError::DiscoveryForbidden { message },
        RequestError::Refused { code, message } => {
            ClusterError::Unexpected { path: "/apis".into(), message: format!("{message} (status {code})") }
        }
    }
}

/// Either of the two formats of a list of groups.
#[derive(Deserialize)]
struct Groups {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    items: Vec<Group>,
    #[serde(default)]
    versions: Vec<String>,
    #[serde(default)]
    groups: Vec<PlainGroup>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    metadata: GroupName,
    #[serde(default)]
    versions: Vec<GroupVersion>,
}

#[derive(Default, Deserialize)]
struct GroupName {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct GroupVersion {
    version: String,
    #[serde(default)]
    resources: Vec<DiscoveredResource>,
    #[serde(default)]
    freshness: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DiscoveredResource {
    resource: String,
    #[serde(default)]
    response_kind: ResponseKind,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    short_names: Vec<String>,
}

#[derive(Default, Deserialize)]
struct ResponseKind {
    #[serde(default)]
    kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlainGroup {
    name: String,
    #[serde(default)]
    versions: Vec<PlainVersion>,
    #[serde(default)]
    preferred_version: PlainVersion,
}

#[derive(Default, Deserialize)]
struct PlainVersion {
    #[serde(default)]
    version: String,
}

#[derive(Default, Deserialize)]
struct ResourceList {
    #[serde(default)]
    resources: Vec<PlainResource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlainResource {
    name: String,
    kind: String,
    namespaced: bool,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    short_names: Vec<String>,
}

//! Lists of policies, policy kinds and scopes.

use std::collections::HashMap;

use attache_engine::kinds::{KindId, KindOrigin, LevelName, PolicyKind, ResolvedSetting};
use attache_engine::{Enforcement, GroupKind, Model, ObjectRef, PolicyStatus, Scope};
use serde::Serialize;

use crate::document::{List, Stream};
use crate::error::QueryError;
use crate::scopes::{Focus, ScopeDocument, cut, targets_in};
use crate::snapshot::{Snapshot, group_kind};
use crate::status::{PolicyStatusDocument, with_coverage};
use crate::target_text::target_text;

/// Selects the items of a list.
#[derive(Clone, Debug, Default)]
pub struct GetQuery {
    /// Only this policy kind: by its kind, plural or short name.
    pub kind: Option<String>,
    /// Only objects in this namespace.
    pub namespace: Option<String>,
}

/// A policy of the document `PolicyList`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyItem {
    /// The policy.
    pub policy: ObjectRef,
    /// Its kind.
    pub policy_kind: GroupKind,
    /// Its targets, as written in it.
    pub targets: Vec<String>,
    /// Whether it is accepted.
    pub accepted: bool,
    /// How much of it is in force.
    pub enforcement: Enforcement,
    /// When it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// The file that it is in.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// Its status.
    #[serde(skip)]
    pub status: PolicyStatusDocument,
}

/// A policy kind of the document `PolicyKindList`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyKindItem {
    /// The name of its PolicyKind document: plural and group.
    pub name: String,
    /// Its API group.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its short names.
    pub short_names: Vec<String>,
    /// Its versions.
    pub versions: Vec<String>,
    /// `Direct` or `Inherited`.
    pub class: String,
    /// The levels of its hierarchy.
    pub hierarchy: Vec<String>,
    /// The levels and kinds that its policies can target.
    pub targets: Vec<String>,
    /// The levels that have effective policies.
    pub effective_target: Vec<String>,
    /// Which of two policies on one target wins.
    pub same_level: String,
    /// Its merge strategies. The first is the default.
    pub strategies: Vec<String>,
    /// The origin of its description.
    pub from: String,
    /// The number of its policies in the input.
    pub policies: usize,
    /// The settings of its controller, with their effective values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<KindSetting>,
}

/// A setting of the controller that handles the policies of a kind.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KindSetting {
    /// The field of the PolicyKind that it sets.
    pub sets: &'static str,
    /// The effective value: none, one, or several.
    pub value: Vec<String>,
    /// The object that has it. Without one, the value is assumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_in: Option<ObjectRef>,
    /// The objects that can have it.
    pub looked_for: String,
}

/// A scope of the document `ScopeList`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScopeItem {
    /// The kind of the policies.
    pub policy_kind: GroupKind,
    /// The scope.
    #[serde(flatten)]
    pub scope: ScopeDocument,
    /// The policies that set a value in it.
    pub policies: Vec<ObjectRef>,
}

/// All policies.
pub fn policies(snapshot: &Snapshot, query: &GetQuery) -> Result<List<Vec<PolicyItem>>, QueryError> {
    let (engine, kinds) = (&snapshot.engine, snapshot.kinds(query.kind.as_deref())?);
    let leader = |kind: KindId| engine.kinds().leader(kind);
    let is_wanted = |status: &PolicyStatus| {
        let kind = leader(engine.policy(status.policy).kind);
        kinds.iter().any(|(it, _)| leader(*it) == kind)
            && query.namespace.as_ref().is_none_or(|wanted| engine.policy_id(status.policy).namespace == wanted)
    };
    let statuses: Vec<PolicyStatus> = engine.policy_statuses().into_iter().filter(is_wanted).collect();
    let documents = with_coverage(snapshot, &statuses);
    let item = |(status, document): (&PolicyStatus, PolicyStatusDocument)| {
        let policy = engine.policy(status.policy);
        let object = engine.policy_object(status.policy);
        PolicyItem {
            policy: object.id.clone(),
            policy_kind: group_kind(engine.kinds().get(policy.kind)),
            targets: policy.targets.iter().map(target_text).collect(),
            accepted: status.refused.is_none(),
            enforcement: status.enforcement,
            created: object.created.map(|created| created.to_string()),
            file: object.source.file.to_string(),
            status: document,
        }
    };
    Ok(List::new("PolicyList", statuses.iter().zip(documents).map(item).collect()))
}

/// All policy kinds, those with policies in the input first.
pub fn kinds(snapshot: &Snapshot, query: &GetQuery) -> Result<List<Vec<PolicyKindItem>>, QueryError> {
    let mut policies: HashMap<KindId, usize> = HashMap::new();
    snapshot.engine.policies().for_each(|(_, policy)| *policies.entry(policy.kind).or_default() += 1);
    let kinds = snapshot.kinds(query.kind.as_deref())?.into_iter();
    let item = |(id, kind)| {
        let settings = snapshot.engine.kinds().settings(id);
        PolicyKindItem::new(kind, policies.get(&id).copied().unwrap_or_default(), settings)
    };
    let mut items: Vec<PolicyKindItem> = kinds.map(item).collect();
    items.sort_by_key(|kind| kind.policies == 0);
    Ok(List::new("PolicyKindList", items))
}

/// The PolicyKind documents of all policy kinds, as YAML.
pub fn kind_documents(snapshot: &Snapshot, query: &GetQuery) -> Result<Vec<String>, QueryError> {
    let kinds = snapshot.kinds(query.kind.as_deref())?.into_iter();
    Ok(kinds.filter_map(|(_, kind)| kind.document(snapshot.engine.objects())).collect())
}

impl PolicyKindItem {
    fn new(kind: &PolicyKind, policies: usize, settings: &[ResolvedSetting]) -> PolicyKindItem {
        let names = |levels: &[LevelName]| levels.iter().map(ToString::to_string).collect();
        PolicyKindItem {
            name: kind.name.to_string(),
            group: kind.group.to_string(),
            kind: kind.kind.to_string(),
            short_names: kind.short_names.iter().map(ToString::to_string).collect(),
            versions: kind.versions.iter().map(ToString::to_string).collect(),
            class: format!("{:?}", kind.class),
            hierarchy: names(&kind.hierarchy.levels),
            targets: names(&kind.targets.allowed),
            effective_target: names(&kind.hierarchy.effective_targets),
            same_level: format!("{:?}", kind.same_level()),
            strategies: kind.merging.strategies.iter().map(|strategy| strategy.name().to_owned()).collect(),
            from: match &kind.origin {
                KindOrigin::BuiltIn(system) => format!("built in: {system}"),
                KindOrigin::Given(file) => file.to_string(),
                KindOrigin::Program => "program".to_owned(),
                KindOrigin::Inferred(crd) => format!("CRD {crd}"),
            },
            policies,
            settings: settings.iter().map(KindSetting::new).collect(),
        }
    }
}

impl KindSetting {
    fn new(setting: &ResolvedSetting) -> KindSetting {
        KindSetting {
            sets: setting.sets.name(),
            value: setting.value.iter().map(ToString::to_string).collect(),
            found_in: setting.found_in.clone(),
            looked_for: setting.object.to_string(),
        }
    }
}

/// The scopes of some policy kinds.
#[derive(Debug)]
pub struct Scopes<'s> {
    snapshot: &'s Snapshot,
    focus: Focus,
    models: Vec<Model>,
    namespace: Option<String>,
}

impl<'s> Scopes<'s> {
    /// Finds the scopes that a query selects.
    pub fn find(snapshot: &'s Snapshot, query: &GetQuery) -> Result<Scopes<'s>, QueryError> {
        let focus = Focus::Everything { namespace: query.namespace.clone() };
        let models = focus.models(snapshot, query.kind.as_deref())?;
        Ok(Scopes { snapshot, focus, models, namespace: query.namespace.clone() })
    }

    /// The document `ScopeList`. Items are created while it is serialized.
    pub fn list(&self) -> List<impl Serialize> {
        List::new("ScopeList", Stream::new(|found: &mut dyn FnMut(ScopeItem)| self.for_each(found)))
    }

    /// Calls `found` with each scope.
    pub fn for_each(&self, found: &mut dyn FnMut(ScopeItem)) {
        for model in &self.models {
            self.focus.for_each_scope(self.snapshot, model, &mut |scope| {
                found(ScopeItem::new(self.snapshot, model, &scope));
            });
        }
    }

    /// The first `most` scopes, or one more, and the number of further ones.
    pub fn first(&self, most: usize) -> (Vec<ScopeItem>, usize) {
        let total: usize = self.models.iter().map(|model| self.count(model)).sum();
        let shown = cut(total, most);
        let mut items = Vec::new();
        for model in &self.models {
            for target in targets_in(self.snapshot, model, self.namespace.as_deref()) {
                if items.len() >= shown {
                    break;
                }
                let item = |scope: Scope| items.push(ScopeItem::new(self.snapshot, model, &scope));
                model.scopes(self.snapshot.engine.view(), target, &mut { item });
            }
        }
        items.truncate(shown);
        (items, total - shown)
    }

    /// The number of scopes of a kind, without listing them.
    fn count(&self, model: &Model) -> usize {
        let targets = targets_in(self.snapshot, model, self.namespace.as_deref());
        let chains = targets.flat_map(|target| model.chains_at(self.snapshot.engine.view(), target));
        chains.fold(0, |sum: usize, (_, scopes)| sum.saturating_add(usize::try_from(*scopes).unwrap_or(usize::MAX)))
    }

    /// Whether there are no policies.
    pub fn has_no_policies(&self) -> bool {
        self.models.is_empty()
    }
}

impl ScopeItem {
    fn new(snapshot: &Snapshot, model: &Model, scope: &Scope) -> ScopeItem {
        let outcomes = &model.effective(snapshot.engine.view(), scope.chain).outcomes;
        let contributing = outcomes.iter().filter(|(_, outcome)| outcome.contributes);
        ScopeItem {
            policy_kind: group_kind(&model.kind),
            scope: ScopeDocument::new(snapshot, scope),
            policies: contributing.map(|(policy, _)| snapshot.policy_ref(*policy)).collect(),
        }
    }
}

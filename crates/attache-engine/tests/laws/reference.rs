//! The engine again, slow and obviously right: scopes by walking every path, policies sorted for each scope anew, and
//! the fold done on plain JSON, sentence by sentence. It takes from the engine only what it does not judge: the
//! topology's links, what each policy is attached to, which levels a kind's hierarchy names, and compiled conditions.

use std::collections::{BTreeMap, BTreeSet};

use attache_engine::kinds::{
    Class, NumberSource, Pattern, PatternFit, PolicyKind, Priority, SameLevel, SortOrder, Strategy,
};
use attache_engine::text;
use attache_engine::{Attachment, CelCondition, Engine};
use attache_engine::{BlockKind, Model, PolicyId};
use attache_engine::{Level, NodeId, Segment};
use serde_json::{Map, Value, json};

pub type Keys = Vec<String>;

/// Whose value it is.
pub type Owner = (PolicyId, BlockKind, NodeId);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope {
    pub nodes: Vec<NodeId>,
    pub from: Option<NodeId>,
}

#[derive(Debug, PartialEq)]
pub struct Effective {
    /// Nothing, if there is nothing in it.
    pub spec: Option<Value>,
    /// Who set each leaf of it.
    pub owners: BTreeMap<Keys, Owner>,
}

pub struct Block {
    pub which: BlockKind,
    pub strategy: String,
    pub when: Option<CelCondition>,
    pub remove: Vec<String>,
    pub spec: Value,
}

pub struct Reference<'e> {
    pub engine: &'e Engine,
    pub kind: &'e PolicyKind,
    attached: Vec<&'e Attachment>,
}

impl<'e> Reference<'e> {
    pub fn new(engine: &'e Engine, model: &'e Model) -> Self {
        let is_it = |attachment: &&Attachment| engine.policy(attachment.policy).kind == model.id;
        let attached = engine.attachments().attached().filter(is_it).collect();
        Reference { engine, kind: &model.kind, attached }
    }

    // Section 3: paths.

    /// Every scope that ends at a node.
    pub fn scopes(&self, node: NodeId) -> BTreeSet<Scope> {
        let mut scopes = BTreeSet::new();
        if self.is_namespace(node) && self.knows(Level::Namespace) {
            scopes.insert(Scope { nodes: vec![node], from: None });
        } else if self.is_member(node) {
            for path in self.paths(node) {
                let nodes = self.with_namespaces(path.iter().copied().filter(|node| self.is_member(*node)));
                let froms = match self.only_from(&path) {
                    Some(namespace) => BTreeSet::from([Some(namespace)]),
                    None => {
                        let holders = self.holders(&nodes);
                        let here = self.attached.iter().filter(|it| holders.contains(&it.node));
                        here.map(|it| it.from).chain([None]).collect()
                    }
                };
                scopes.extend(froms.into_iter().map(|from| Scope { nodes: nodes.clone(), from }));
            }
        }
        scopes
    }

    /// Every path of the topology that ends at a node. Nothing comes by way of what is not live.
    fn paths(&self, node: NodeId) -> Vec<Vec<NodeId>> {
        let topology = self.engine.topology();
        let arrives = |parent: NodeId| topology.live(parent) || !topology.live(node);
        let mut paths: Vec<Vec<NodeId>> =
            topology.parents(node).iter().filter(|it| arrives(**it)).flat_map(|parent| self.paths(*parent)).collect();
        if topology[node].level == Level::BackendPort {
            // Those by way of a rule that names the port; else its Service stands alone above it.
            let service = topology.whole(node);
            paths.retain(|path| matches!(path[..], [.., rule, _] if self.names(rule, service, node)));
            if paths.is_empty() {
                paths.push(vec![service]);
            }
        }
        if paths.is_empty() {
            paths.push(Vec::new());
        }
        paths.iter_mut().for_each(|path| path.push(node));
        paths
    }

    /// Whether one of the backendRefs of a rule is this port of this Service.
    fn names(&self, rule: NodeId, service: NodeId, port: NodeId) -> bool {
        let (objects, topology) = (self.engine.objects(), self.engine.topology());
        let section = |node| topology.section_value(objects, node).map_or(Value::Null, plain);
        let (route, service, number) =
            (topology.id(objects, rule), topology.id(objects, service), &section(port)["port"]);
        section(rule)["backendRefs"].as_array().is_some_and(|references| {
            references.iter().any(|reference| {
                reference["name"] == *service.name
                    && reference["kind"].as_str().unwrap_or("Service") == service.kind
                    && reference["group"].as_str().unwrap_or_default() == service.group
                    && reference["namespace"].as_str().unwrap_or(&route.namespace) == service.namespace
                    && reference["port"] == *number
            })
        })
    }

    fn is_member(&self, node: NodeId) -> bool {
        let topology = self.engine.topology();
        let (id, level) = (topology.id(self.engine.objects(), node), topology[node].level);
        level != Level::Namespace
            && self.kind.hierarchy.levels.iter().any(|name| name.includes(level, &id.group, &id.kind))
    }

    fn is_namespace(&self, node: NodeId) -> bool {
        self.engine.topology()[node].level == Level::Namespace
    }

    fn knows(&self, level: Level) -> bool {
        self.kind.hierarchy.levels.iter().any(|name| name.level() == level)
    }

    /// A Namespace stands directly above the highest node that lives in it, once.
    fn with_namespaces(&self, path: impl Iterator<Item = NodeId>) -> Vec<NodeId> {
        let mut nodes = Vec::new();
        for node in path {
            let namespace = self.engine.topology().namespace(node).filter(|_| self.knows(Level::Namespace));
            nodes.extend(namespace.filter(|namespace| !nodes.contains(namespace)));
            nodes.push(node);
        }
        nodes
    }

    /// A route of another namespace than the Service it is for, is for clients of its own namespace only.
    fn only_from(&self, path: &[NodeId]) -> Option<NodeId> {
        let topology = self.engine.topology();
        path.windows(2).find_map(|pair| {
            let (parent, route) = (pair[0], pair[1]);
            let foreign = topology.namespace(parent) != topology.namespace(route);
            topology.namespace(route).filter(|_| topology[parent].level == Level::Frontend && foreign)
        })
    }

    /// The node whose policies hold at a node: a Service in front of routes has those of the Service.
    pub fn holder(&self, node: NodeId) -> NodeId {
        match self.engine.topology()[node].level {
            Level::Frontend => self.engine.topology().whole(node),
            _ => node,
        }
    }

    // Section 5: order.

    /// The policies on a node, the older first, and those that are not accepted because of an older one.
    fn on(&self, node: NodeId) -> (Vec<&'e Attachment>, Vec<&'e Attachment>) {
        let mut here: Vec<&Attachment> = Vec::new();
        for attachment in self.attached.iter().filter(|it| it.node == node) {
            if !here.contains(attachment) {
                here.push(attachment);
            }
        }
        here.sort_by_key(|it| {
            let object = self.engine.policy_object(it.policy);
            let name = format!("{}/{}", object.id.namespace, object.id.name);
            (-self.priority(it.policy), object.created.is_none(), object.created, name)
        });
        if self.kind.same_level() != SameLevel::RejectNewer {
            return (here, Vec::new());
        }
        let mut taken = BTreeSet::new();
        here.into_iter().partition(|it| taken.insert(it.from))
    }

    fn priority(&self, policy: PolicyId) -> i64 {
        let [Priority::Number { source: NumberSource::Annotation(name), order }] = &self.kind.order.priority[..] else {
            return 0;
        };
        let number = self.engine.policy_object(policy).annotation(name).map_or(0, |text| text.parse().unwrap());
        if *order == SortOrder::Descending { number } else { -number }
    }

    pub fn is_accepted(&self, policy: PolicyId) -> bool {
        self.attached.iter().any(|it| it.policy == policy && self.on(it.node).0.contains(it))
    }

    /// The nodes of a scope whose policies meet, the highest first, each once.
    fn holders(&self, scope: &[NodeId]) -> Vec<NodeId> {
        let topology = self.engine.topology();
        let last = *scope.last().unwrap();
        let mut holders: Vec<NodeId> = Vec::new();
        for node in scope {
            // A Direct policy is for the very thing it targets, and its sections.
            let meant = self.kind.class == Class::Inherited || topology.whole(*node) == topology.whole(last);
            if meant && !holders.contains(&self.holder(*node)) {
                holders.push(self.holder(*node));
            }
        }
        holders
    }

    /// The attachments of a scope, from the lowest level to the highest, on each level the older first.
    pub fn levels(&self, scope: &Scope) -> Vec<Vec<&'e Attachment>> {
        let meant = |it: &&Attachment| it.from.is_none() || it.from == scope.from;
        let holders = self.holders(&scope.nodes).into_iter().rev();
        holders.map(|node| self.on(node).0.into_iter().filter(meant).collect()).collect()
    }

    /// Those that would be of the scope, had they been accepted.
    pub fn rejected(&self, scope: &Scope) -> Vec<&'e Attachment> {
        let meant = |it: &&Attachment| it.from.is_none() || it.from == scope.from;
        self.holders(&scope.nodes).into_iter().flat_map(|node| self.on(node).1).filter(meant).collect()
    }

    /// What is folded after what, the lowest first.
    fn turns(&self, scope: &Scope) -> Vec<(&'e Attachment, Block)> {
        let mut turns = Vec::new();
        for mut older_first in self.levels(scope) {
            let older_first: Vec<&Attachment> = match self.kind.same_level() {
                // The older is the higher of the two.
                SameLevel::OldestIsHigher => {
                    older_first.reverse();
                    turns
                        .extend(older_first.iter().flat_map(|it| self.blocks(it.policy).into_iter().map(|b| (*it, b))));
                    continue;
                }
                SameLevel::OldestAlone => older_first.into_iter().take(1).collect(),
                SameLevel::OldestWins | SameLevel::RejectNewer => older_first,
            };
            // The older wins: as a default it comes first, as an override last.
            let (mut overrides, mut others) = (Vec::new(), Vec::new());
            for it in older_first {
                let (last, first) = self.blocks(it.policy).into_iter().partition(|it| it.which == BlockKind::Overrides);
                let (last, first): (Vec<Block>, Vec<Block>) = (last, first);
                overrides.splice(0..0, last.into_iter().map(|block| (it, block)));
                others.extend(first.into_iter().map(|block| (it, block)));
            }
            turns.extend(others);
            turns.extend(overrides);
        }
        turns
    }

    // Section 6: the effective policy.

    /// The blocks of a policy: defaults, bare rules (an atomic default), overrides.
    pub fn blocks(&self, policy: PolicyId) -> Vec<Block> {
        let mut spec = plain(self.engine.policy_object(policy).spec());
        let spec = spec.as_object_mut().unwrap();
        spec.retain(|key, _| !["targetRef", "targetRefs", "targetSelectors"].contains(&key.as_str()));
        if self.kind.class == Class::Direct {
            return vec![Block {
                which: BlockKind::Bare,
                strategy: "atomic".to_owned(),
                when: None,
                remove: Vec::new(),
                spec: Value::Object(spec.clone()),
            }];
        }
        let (defaults, overrides) = (spec.remove("defaults"), spec.remove("overrides"));
        let bare = Some(Value::Object(spec.clone()));
        let blocks = [(BlockKind::Defaults, defaults), (BlockKind::Bare, bare), (BlockKind::Overrides, overrides)];
        let blocks = blocks.into_iter().filter_map(|(which, value)| Some((which, value?)));
        blocks.map(|(which, value)| self.block(policy, which, value)).collect()
    }

    fn block(&self, policy: PolicyId, which: BlockKind, mut value: Value) -> Block {
        let fields = value.as_object_mut().unwrap();
        let strategy = fields.remove("strategy").map(|it| it.as_str().unwrap().to_owned());
        let strategy = match (which, strategy) {
            (BlockKind::Bare, _) => "atomic".to_owned(),
            (_, Some(named)) => named,
            (_, None) => self.kind.default_strategy().name().to_owned(),
        };
        let when = fields.remove("when").map(|text| {
            let compiled =
                self.engine.policy(policy).blocks.iter().find_map(|it| it.when.clone().filter(|_| it.kind == which));
            compiled.unwrap_or_else(|| CelCondition::compile(text.as_str().unwrap()).unwrap())
        });
        let texts = |value: Value| value.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect();
        let remove = fields.remove("remove").map_or(Vec::new(), texts);
        Block { which, strategy, when, remove, spec: value }
    }

    pub fn effective(&self, scope: &Scope) -> Effective {
        if self.kind.class == Class::Direct {
            return self.direct(scope);
        }
        let mut ep = json!({});
        let mut owners = BTreeMap::new();
        let mut removed: Vec<(&Attachment, String)> = Vec::new();
        for (attachment, block) in self.turns(scope) {
            if !holds(block.when.as_ref(), &without_nulls(&ep)) {
                continue;
            }
            let owner = (attachment.policy, block.which, attachment.node);
            let mut rules = block.spec;
            if block.which != BlockKind::Overrides {
                let by_others = removed.iter().filter(|(who, _)| *who != attachment).map(|(_, name)| name.as_str());
                rules = self.without(&rules, &by_others.collect::<Vec<_>>());
            }
            let after = self.merge(&ep, &rules, &block.strategy, block.which == BlockKind::Overrides);
            owners = self.owners(&after, &owners, &rules, owner, block.which == BlockKind::Overrides);
            ep = after;
            removed.extend(block.remove.into_iter().map(|name| (attachment, name)));
        }
        owners.retain(|leaf, _| !at(&ep, leaf).is_null());
        Effective { spec: Some(without_nulls(&ep)).filter(|spec| *spec != json!({})), owners }
    }

    /// Of Direct policies the most specific one counts alone, though it may say nothing.
    fn direct(&self, scope: &Scope) -> Effective {
        let Some(only) = self.levels(scope).into_iter().flatten().next() else {
            return Effective { spec: None, owners: BTreeMap::new() };
        };
        let spec = &self.blocks(only.policy)[0].spec;
        let leaves = self.leaves(spec).into_iter().filter(|leaf| !at(spec, leaf).is_null());
        let owners = leaves.map(|leaf| (leaf, (only.policy, BlockKind::Bare, only.node))).collect();
        Effective { spec: Some(without_nulls(spec)), owners }
    }

    fn merge(&self, ep: &Value, block: &Value, strategy: &str, overrides: bool) -> Value {
        match (strategy, overrides) {
            (_, false) if *ep == json!({}) => block.clone(),
            ("atomic", false) => ep.clone(),
            ("atomic", true) => block.clone(),
            ("merge", false) => self.put_rules(ep, block, |has| !has),
            ("merge", true) => self.put_rules(ep, block, |_| true),
            ("patch", false) => self.merge_patch(block, ep, &[]),
            ("patch", true) => self.merge_patch(ep, block, &[]),
            other => unreachable!("no such strategy: {other:?}"),
        }
    }

    /// `ep` with the rules of `block`, where `wanted` may look whether `ep` has one in its place already.
    fn put_rules(&self, ep: &Value, block: &Value, wanted: impl Fn(bool) -> bool) -> Value {
        let mut after = ep.clone();
        for (path, rule) in self.rules(block) {
            if wanted(stands_in_the_way(ep, &path)) {
                put(&mut after, &path, rule);
            }
        }
        after
    }

    /// RFC 7386, where maps that are declared whole are values, and a null stays, as a mark: what one policy removes
    /// nobody above it fills in again.
    fn merge_patch(&self, target: &Value, patch: &Value, path: &[String]) -> Value {
        let Value::Object(fields) = patch else { return patch.clone() };
        if self.is_whole(path) {
            return patch.clone();
        }
        let mut result = target.as_object().cloned().unwrap_or_default();
        for (key, value) in fields {
            let path = [path, std::slice::from_ref(key)].concat();
            let merged = self.merge_patch(result.get(key).unwrap_or(&Value::Null), value, &path);
            result.insert(key.clone(), merged);
        }
        Value::Object(result)
    }

    /// A block without the rules that are named, and without what is at a dotted path, unless that is inside of a rule
    /// and rules are what the kind merges.
    fn without(&self, block: &Value, names: &[&str]) -> Value {
        let declared = !self.kind.merging.rules.is_empty();
        let parts = if declared || self.kind.merging.strategies.contains(&Strategy::MERGE) {
            self.rules(block)
        } else {
            self.leaves(block).into_iter().map(|leaf| (leaf.clone(), at(block, &leaf).clone())).collect()
        };
        let mut left = json!({});
        for (path, part) in parts {
            let is_rule = |length: usize| if declared { length == path.len() } else { length <= 2 };
            let is_named = |name: &&str| {
                (1..=path.len())
                    .any(|length| path[..length].join(".") == *name || is_rule(length) && path[length - 1] == *name)
            };
            if !names.iter().any(is_named) {
                put(&mut left, &path, part);
            }
        }
        left
    }

    /// What `merge` calls a rule: at the declared paths; else each top-level field, and each entry of a map there.
    pub fn rules(&self, block: &Value) -> Vec<(Keys, Value)> {
        fn walk(reference: &Reference, path: &[String], value: &Value, found: &mut Vec<(Keys, Value)>) {
            let deeper = match reference.kind.merging.rules.as_slice() {
                [] => path.len() < 2,
                declared => path.is_empty() || declared.iter().any(|rule| fit(rule, path) == PatternFit::Prefix),
            };
            match value.as_object().filter(|map| !map.is_empty() && deeper && !reference.is_whole(path)) {
                Some(map) => map.iter().for_each(|(key, value)| {
                    walk(reference, &[path, std::slice::from_ref(key)].concat(), value, found);
                }),
                None => found.push((path.to_vec(), value.clone())),
            }
        }
        let mut found = Vec::new();
        if *block != json!({}) {
            walk(self, &[], block, &mut found);
        }
        found
    }

    /// Scalars, lists, maps that are whole, and maps with nothing in them.
    pub fn leaves(&self, value: &Value) -> Vec<Keys> {
        fn walk(reference: &Reference, path: &[String], value: &Value, found: &mut Vec<Keys>) {
            match value.as_object().filter(|map| !map.is_empty() && !reference.is_whole(path)) {
                Some(map) => map.iter().for_each(|(key, value)| {
                    walk(reference, &[path, std::slice::from_ref(key)].concat(), value, found);
                }),
                None => found.push(path.to_vec()),
            }
        }
        let mut found = Vec::new();
        if *value != json!({}) {
            walk(self, &[], value, &mut found);
        }
        found
    }

    /// Who owns each leaf of what came of a merge: whoever had it of the two, and if both had, who wins.
    fn owners(
        &self,
        after: &Value,
        before: &BTreeMap<Keys, Owner>,
        block: &Value,
        owner: Owner,
        overrides: bool,
    ) -> BTreeMap<Keys, Owner> {
        let own = self.leaves(block);
        let whose = |leaf: &Keys| match before.get(leaf) {
            Some(before) if !(overrides && own.contains(leaf)) => *before,
            _ => owner,
        };
        self.leaves(after).into_iter().map(|leaf| (leaf.clone(), whose(&leaf))).collect()
    }

    fn is_whole(&self, path: &[String]) -> bool {
        self.kind.merging.whole.iter().any(|whole| fit(whole, path) == PatternFit::Exact)
    }
}

/// An error counts as false.
fn holds(when: Option<&CelCondition>, ep: &Value) -> bool {
    let spec = || text::read_value(&ep.to_string()).unwrap();
    when.is_none_or(|condition| condition.holds(&spec()).unwrap_or(false))
}

fn fit(pattern: &Pattern, path: &[String]) -> PatternFit {
    let segments: Vec<Segment> = path.iter().map(|key| Segment::Key(key.as_str().into())).collect();
    pattern.fit(segments.iter())
}

pub fn plain(value: &attache_engine::Value) -> Value {
    serde_json::to_value(value).unwrap()
}

pub fn at<'v>(value: &'v Value, path: &[String]) -> &'v Value {
    path.iter().fold(value, |value, key| &value[key])
}

/// A field that is null is no field.
pub fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let fields = map.iter().filter(|(_, value)| !value.is_null());
            fields.map(|(key, value)| (key.clone(), without_nulls(value))).collect()
        }
        other => other.clone(),
    }
}

/// Whether there is a value at a path, or something on the way to it that cannot hold one.
fn stands_in_the_way(value: &Value, path: &[String]) -> bool {
    match (value, path) {
        (Value::Object(map), [key, rest @ ..]) => map.get(key).is_some_and(|value| stands_in_the_way(value, rest)),
        _ => true,
    }
}

fn put(value: &mut Value, path: &[String], what: Value) {
    let [key, rest @ ..] = path else {
        *value = what;
        return;
    };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    put(value.as_object_mut().unwrap().entry(key).or_insert(Value::Null), rest, what);
}

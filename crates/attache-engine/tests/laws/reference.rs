//! A second implementation of the engine, slow and obviously right: scopes by walking every path, policies sorted again
//! for each scope, and the fold on plain JSON, one rule after the other. It takes from the engine only what it does not
//! test: the topology's links, the attachments of each policy, the levels of a kind's hierarchy, and compiled
//! conditions.

use std::collections::{BTreeMap, BTreeSet};

use attache_engine::kinds::{
    Class, NumberSource, Pattern, PatternFit, PolicyKind, Priority, SameLevel, SortOrder, Strategy,
};
use attache_engine::text;
use attache_engine::{Attachment, CelCondition, Engine};
use attache_engine::{BlockKind, Model, ObjectRef, PolicyId};
use attache_engine::{Level, NodeId, Segment};
use serde_json::{Map, Value, json};

pub type Keys = Vec<String>;

/// The owner of a value.
pub type Owner = (PolicyId, BlockKind, NodeId);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope {
    pub nodes: Vec<NodeId>,
    pub from: Option<NodeId>,
}

#[derive(Debug, PartialEq)]
pub struct Effective {
    /// `None` if it is empty.
    pub spec: Option<Value>,
    /// The owner of each leaf.
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
                let froms = match self.only_from(&path).filter(|_| self.is_handled(&path)) {
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

    /// Whether a controller that handles the kind handles all requests along a path: of Gateways, or of mesh routes.
    fn is_handled(&self, path: &[NodeId]) -> bool {
        let (objects, topology) = (self.engine.objects(), self.engine.topology());
        let controller = |gateway: NodeId| {
            let spec = plain(objects[topology[gateway].owner.object()?].spec());
            let class =
                ObjectRef::new("gateway.networking.k8s.io", "GatewayClass", "", spec["gatewayClassName"].as_str()?);
            let class = objects.get(objects.find(&class)?)?;
            Some(plain(class.spec())["controllerName"].as_str()?.to_owned())
        };
        path.iter().all(|node| match topology[*node].level {
            Level::Frontend => self.kind.controllers.mesh,
            Level::Gateway if self.kind.controllers.references.is_empty() => true,
            Level::Gateway => controller(*node).is_none_or(|name| {
                let starts = self.kind.controllers.references.iter().map(ToString::to_string);
                starts.filter_map(|it| Some(it.strip_suffix('*')?.to_owned())).any(|start| name.starts_with(&start))
            }),
            _ => true,
        })
    }

    /// Whether no controller handles the policies in a scope: on none of the paths that are the same for this kind.
    pub fn is_unhandled(&self, scope: &Scope) -> bool {
        let Some(end) = scope.nodes.last().filter(|end| self.is_member(**end)) else { return false };
        let is_it = |path: &Vec<NodeId>| {
            self.with_namespaces(path.iter().copied().filter(|node| self.is_member(*node))) == scope.nodes
        };
        !self.paths(*end).iter().filter(|path| is_it(path)).any(|path| self.is_handled(path))
    }

    /// Every path of the topology that ends at a node. No path passes through a node that receives no requests.
    fn paths(&self, node: NodeId) -> Vec<Vec<NodeId>> {
        let topology = self.engine.topology();
        let arrives = |parent: NodeId| topology.live(parent) || !topology.live(node);
        let mut paths: Vec<Vec<NodeId>> =
            topology.parents(node).iter().filter(|it| arrives(**it)).flat_map(|parent| self.paths(*parent)).collect();
        if topology[node].level == Level::BackendPort {
            // The paths through rules that refer to the port; otherwise only its Service is above it.
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

    /// A Namespace is directly above the highest node in it, once.
    fn with_namespaces(&self, path: impl Iterator<Item = NodeId>) -> Vec<NodeId> {
        let mut nodes = Vec::new();
        for node in path {
            let namespace = self.engine.topology().namespace(node).filter(|_| self.knows(Level::Namespace));
            nodes.extend(namespace.filter(|namespace| !nodes.contains(namespace)));
            nodes.push(node);
        }
        nodes
    }

    /// A route in another namespace than its Service applies only to clients of its own namespace.
    fn only_from(&self, path: &[NodeId]) -> Option<NodeId> {
        let topology = self.engine.topology();
        path.windows(2).find_map(|pair| {
            let (parent, route) = (pair[0], pair[1]);
            let foreign = topology.namespace(parent) != topology.namespace(route);
            topology.namespace(route).filter(|_| topology[parent].level == Level::Frontend && foreign)
        })
    }

    /// The node whose policies apply at a node: the frontend of a Service has those of the Service.
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
        let [Priority::Number { source: NumberSource::Annotation(name), order, .. }] = &self.kind.order.priority[..]
        else {
            return 0;
        };
        let number = self.engine.policy_object(policy).annotation(name).map_or(0, |text| text.parse().unwrap());
        if *order == SortOrder::Descending { number } else { -number }
    }

    pub fn is_accepted(&self, policy: PolicyId) -> bool {
        self.attached.iter().any(|it| it.policy == policy && self.on(it.node).0.contains(it))
    }

    /// The nodes of a scope that have policies, the highest first, each once.
    fn holders(&self, scope: &[NodeId]) -> Vec<NodeId> {
        let topology = self.engine.topology();
        let last = *scope.last().unwrap();
        let mut holders: Vec<NodeId> = Vec::new();
        for node in scope {
            // A Direct policy applies only to its target and the sections of it.
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

    /// The attachments of a scope that were rejected.
    pub fn rejected(&self, scope: &Scope) -> Vec<&'e Attachment> {
        let meant = |it: &&Attachment| it.from.is_none() || it.from == scope.from;
        self.holders(&scope.nodes).into_iter().flat_map(|node| self.on(node).1).filter(meant).collect()
    }

    /// The blocks in the order of the fold, the lowest first.
    fn turns(&self, scope: &Scope) -> Vec<(&'e Attachment, Block)> {
        let mut turns = Vec::new();
        for mut older_first in self.levels(scope) {
            let older_first: Vec<&Attachment> = match self.kind.same_level() {
                // The older policy is the higher of the two.
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

    /// The blocks of a policy: defaults, bare rules (an atomic default, unless a strategy is beside them), overrides.
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
            (_, Some(named)) => named,
            (BlockKind::Bare, None) => "atomic".to_owned(),
            (_, None) => self.kind.default_strategy().name().to_owned(),
        };
        let when = fields.remove("when").map(|text| {
            let compiled =
                self.engine.policy(policy).blocks.iter().find_map(|it| it.when.clone().filter(|_| it.kind == which));
            compiled.unwrap_or_else(|| CelCondition::compile(text.as_str().unwrap()).unwrap())
        });
        let texts = |value: Value| value.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect();
        let remove = fields.remove("remove").map_or(Vec::new(), texts);
        let spec = self.without_empty(value, &strategy);
        Block { which, strategy, when, remove, spec }
    }

    /// A block without empty groups of rules and lists, if the strategy takes rules as a whole. A block with nothing
    /// else in it is empty under any strategy.
    fn without_empty(&self, block: Value, strategy: &str) -> Value {
        let declared = !self.kind.merging.rules.is_empty();
        let has_rules = declared || self.kind.merging.strategies.contains(&Strategy::MERGE);
        let rules = if has_rules {
            self.rules(&block)
        } else {
            self.leaves(&block).into_iter().map(|leaf| (leaf.clone(), at(&block, &leaf).clone())).collect()
        };
        let is_group = |path: &Keys| match self.kind.merging.rules.as_slice() {
            _ if self.is_whole(path) => false,
            [] => !has_rules || path.len() < 2,
            declared => declared.iter().any(|rule| fit(rule, path) == PatternFit::Prefix),
        };
        let is_empty = |(path, rule): &(Keys, Value)| *rule == json!([]) || *rule == json!({}) && is_group(path);
        let is_nothing = |it: &(Keys, Value)| is_empty(it) || it.1 == json!({}) && self.is_whole(&it.0);
        if rules.iter().all(is_nothing) {
            return json!({});
        }
        if !has_rules || strategy == "patch" {
            return block;
        }
        let mut left = json!({});
        rules.into_iter().filter(|it| !is_empty(it)).for_each(|(path, rule)| put(&mut left, &path, rule));
        left
    }

    pub fn effective(&self, scope: &Scope) -> Effective {
        if self.is_unhandled(scope) {
            return Effective { spec: None, owners: BTreeMap::new() };
        }
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

    /// Of Direct policies, only the most specific one counts, even if it sets nothing.
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
            _ if *block == json!({}) => ep.clone(),
            (_, false) if *ep == json!({}) => block.clone(),
            ("atomic" | "none", false) => ep.clone(),
            ("atomic" | "none", true) => block.clone(),
            ("merge", false) => self.put_rules(ep, block, |has| !has),
            ("merge", true) => self.put_rules(ep, block, |_| true),
            ("patch", false) => self.merge_patch(block, ep, &[]),
            ("patch", true) => self.merge_patch(ep, block, &[]),
            other => unreachable!("no such strategy: {other:?}"),
        }
    }

    /// `ep` with the rules of `block`. `wanted` gets whether `ep` has a value at the path of a rule.
    fn put_rules(&self, ep: &Value, block: &Value, wanted: impl Fn(bool) -> bool) -> Value {
        let mut after = ep.clone();
        for (path, rule) in self.rules(block) {
            if wanted(blocks_path(ep, &path)) {
                put(&mut after, &path, rule);
            }
        }
        after
    }

    /// RFC 7386, except that maps that are declared whole are values, and a null stays as a mark: no higher policy
    /// fills in what a policy removed.
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

    /// A block without the named rules, and without values at dotted paths, unless the path leads into a rule and the
    /// kind merges rules.
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

    /// The rules of a block: the values at the declared paths; otherwise each top-level field, and each entry of a
    /// top-level map.
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

    /// Scalars, lists, maps that are declared whole, and empty maps.
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

    /// The owner of each leaf after a merge: that of the side that has it, and if both have it, that of the winner.
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

/// Whether there is a value at a path, or a value above it that is not a map.
fn blocks_path(value: &Value, path: &[String]) -> bool {
    match (value, path) {
        (Value::Object(map), [key, rest @ ..]) => map.get(key).is_some_and(|value| blocks_path(value, rest)),
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

//! A summary of what is in force on every route and backend: a row for each, and a column for each policy kind.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use attache_engine::{ChainId, GroupKind, Level, Model, NodeId, NodeRef, ObjectRef, Path, Value};
use rayon::iter::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};
use serde::Serialize;

use crate::document::API_VERSION;
use crate::lint::FindingList;
use crate::scopes::{Focus, has_content, targets_below};
use crate::snapshot::{Snapshot, group_kind};

/// Selects rows.
#[derive(Clone, Debug)]
pub struct MatrixQuery {
    /// Only objects in this namespace.
    pub namespace: Option<String>,
    /// Only objects of this kind, such as `HTTPRoute`.
    pub kind: Option<String>,
    /// Only objects whose `Kind/namespace/name` contains this text, in upper or lower case.
    pub text: Option<String>,
    /// Whether objects with problems come first.
    pub problems_first: bool,
    /// The number of rows to skip.
    pub from: usize,
    /// The number of rows to show.
    pub most: usize,
}

/// The rows of a snapshot without their cells: computed once, and queried many times.
#[derive(Debug)]
pub struct MatrixIndex {
    rows: Vec<IndexedRow>,
    /// The namespaces that rows are in.
    pub namespaces: Vec<String>,
    /// The kinds that rows have.
    pub kinds: Vec<String>,
    /// The policy kinds of the columns.
    pub columns: Vec<GroupKind>,
}

#[derive(Debug)]
struct IndexedRow {
    node: NodeId,
    /// `Kind/namespace/name` in lower case.
    text: String,
    problems: usize,
}

/// The document `Matrix`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Matrix {
    api_version: &'static str,
    kind: &'static str,
    /// The policy kinds of the columns.
    pub columns: Vec<GroupKind>,
    /// The number of rows.
    pub total: usize,
    /// The index of the first row that is shown.
    pub from: usize,
    /// The rows that are shown.
    pub rows: Vec<MatrixRow>,
}

/// The effective policies on an object.
#[derive(Clone, Debug, Serialize)]
pub struct MatrixRow {
    /// The object.
    pub object: NodeRef,
    /// Whether it receives requests.
    pub live: bool,
    /// The number of lint findings about it.
    pub problems: usize,
    /// A cell for each column.
    pub cells: Vec<MatrixCell>,
}

/// The effect of the policies of one kind on an object.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MatrixCell {
    /// The number of different effective policies, such as one for each rule of a route.
    pub answers: usize,
    /// The values in force.
    pub settings: Vec<MatrixSetting>,
    /// The number of values that lost.
    pub lost: usize,
}

/// A value or rule that is in force.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatrixSetting {
    /// The path of the value or rule. Empty if it is the whole policy.
    pub path: Path,
    /// The value, if it is a scalar or a list of scalars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The policy that sets it.
    pub policy: ObjectRef,
    /// The level of the policy's target relative to the object.
    pub level: OriginLevel,
    /// Whether it is in force in all scopes of the object.
    pub everywhere: bool,
}

/// The level of a policy's target relative to an object that it affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum OriginLevel {
    /// To the object, or to a section of it.
    Own,
    /// To a route above a backend.
    Route,
    /// To a backend below a route.
    Backend,
    /// To a Namespace.
    Namespace,
    /// To a Gateway, a ListenerSet or a listener.
    Gateway,
    /// To a GatewayClass.
    Class,
    /// To something else.
    Other,
}

impl OriginLevel {
    /// The level of a target relative to an object.
    pub fn new(target: &NodeRef, object: &ObjectRef) -> OriginLevel {
        match target.object_level() {
            _ if target.object == *object => OriginLevel::Own,
            Level::GatewayClass => OriginLevel::Class,
            Level::Namespace => OriginLevel::Namespace,
            Level::Gateway | Level::ListenerSet | Level::Listener => OriginLevel::Gateway,
            Level::Route | Level::RouteRule => OriginLevel::Route,
            Level::Backend | Level::BackendPort | Level::Frontend => OriginLevel::Backend,
            Level::Workload | Level::Other => OriginLevel::Other,
        }
    }

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            OriginLevel::Own => "own",
            OriginLevel::Route => "route",
            OriginLevel::Backend => "backend",
            OriginLevel::Namespace => "namespace",
            OriginLevel::Gateway => "gateway",
            OriginLevel::Class => "class",
            OriginLevel::Other => "other",
        }
    }
}

impl MatrixIndex {
    /// The rows of a snapshot. `findings` are those of the same snapshot.
    pub fn new(snapshot: &Snapshot, findings: &FindingList) -> MatrixIndex {
        let (topology, objects) = (snapshot.engine.topology(), snapshot.engine.objects());
        let mut problems: HashMap<&ObjectRef, usize> = HashMap::new();
        for finding in findings.items.iter().filter(|finding| finding.suppressed.is_none()) {
            finding.object.iter().for_each(|object| *problems.entry(object).or_default() += 1);
        }
        let is_row = |node: &NodeId| matches!(topology[*node].level, Level::Route | Level::Backend);
        let nodes: Vec<NodeId> = topology.nodes().map(|(node, _)| node).filter(is_row).collect();
        let row = |node: &NodeId| {
            let id = topology.id(objects, *node);
            let problems = problems.get(id).copied().unwrap_or_default();
            IndexedRow { node: *node, text: id.to_string().to_lowercase(), problems }
        };
        let mut rows: Vec<IndexedRow> = nodes.par_iter().map(row).collect();
        rows.sort_by(|a, b| a.text.cmp(&b.text));
        let ids = || rows.iter().map(|row| topology.id(objects, row.node));
        let namespaces: BTreeSet<&str> = ids().map(|id| id.namespace.as_str()).filter(|it| !it.is_empty()).collect();
        let kinds: BTreeSet<&str> = ids().map(|id| id.kind.as_str()).collect();
        MatrixIndex {
            namespaces: namespaces.into_iter().map(str::to_owned).collect(),
            kinds: kinds.into_iter().map(str::to_owned).collect(),
            columns: snapshot.engine.models().iter().map(|model| group_kind(&model.kind)).collect(),
            rows,
        }
    }

    /// The names of the rows that a query selects, and their total number. `snapshot` must be the one that the index
    /// was built from.
    pub fn names(&self, snapshot: &Snapshot, query: &MatrixQuery) -> (Vec<NodeRef>, usize) {
        let (rows, total) = self.rows(snapshot, query);
        (rows.iter().map(|row| snapshot.node_ref(row.node)).collect(), total)
    }

    /// The rows that a query selects. `snapshot` must be the one that the index was built from.
    pub fn find(&self, snapshot: &Snapshot, query: &MatrixQuery) -> Matrix {
        let (rows, total) = self.rows(snapshot, query);
        let topology = snapshot.engine.topology();
        let models = snapshot.engine.models_at(topology.below(rows.iter().map(|row| row.node)));
        Matrix {
            api_version: API_VERSION,
            kind: "Matrix",
            columns: self.columns.clone(),
            total,
            from: query.from.min(total),
            rows: rows.into_par_iter().map(|row| MatrixRow::new(snapshot, &models, row)).collect(),
        }
    }

    /// The rows that are shown, and the total number.
    fn rows(&self, snapshot: &Snapshot, query: &MatrixQuery) -> (Vec<&IndexedRow>, usize) {
        let (topology, objects) = (snapshot.engine.topology(), snapshot.engine.objects());
        let text = query.text.as_ref().map(|text| text.trim().to_lowercase());
        let is_wanted = |row: &&IndexedRow| {
            let id = topology.id(objects, row.node);
            query.namespace.as_ref().is_none_or(|namespace| id.namespace == namespace.as_str())
                && query.kind.as_ref().is_none_or(|kind| id.kind.eq_ignore_ascii_case(kind))
                && text.as_ref().is_none_or(|text| row.text.contains(text))
        };
        let mut rows: Vec<&IndexedRow> = self.rows.iter().filter(is_wanted).collect();
        if query.problems_first {
            rows.sort_by_key(|row| std::cmp::Reverse(row.problems));
        }
        let total = rows.len();
        (rows.into_iter().skip(query.from).take(query.most).collect(), total)
    }
}

impl MatrixRow {
    fn new(snapshot: &Snapshot, models: &[Model], row: &IndexedRow) -> MatrixRow {
        let object = snapshot.node_ref(row.node);
        let cells = models.iter().map(|model| {
            let chains = chains(snapshot, model, &object, row.node);
            MatrixCell::new(snapshot, model, &object.object, &chains)
        });
        let live = snapshot.nodes(&object).into_iter().any(|node| snapshot.engine.topology().live(node));
        MatrixRow { live, problems: row.problems, cells: cells.collect(), object }
    }
}

/// The chains of the scopes that pass through an object.
fn chains(snapshot: &Snapshot, model: &Model, object: &NodeRef, node: NodeId) -> Vec<ChainId> {
    if snapshot.engine.topology()[node].level == Level::Route {
        let groups = Focus::on(snapshot, object).groups(snapshot, model);
        return groups.into_iter().map(|group| group.chain).collect();
    }
    // Every path to a port leads through its Service, so chains are known without listing paths, of which there can be
    // many.
    let view = snapshot.engine.view();
    let targets = targets_below(snapshot, model, &snapshot.nodes(object));
    let chains = targets.into_iter().flat_map(|target| model.chains_at(view, target)).map(|(chain, _)| *chain);
    let mut seen = HashSet::new();
    let is_new = |chain: &ChainId| *chain != ChainId::EMPTY && seen.insert(*chain);
    chains.filter(is_new).filter(|chain| has_content(model.effective(view, *chain))).collect()
}

impl MatrixCell {
    fn new(snapshot: &Snapshot, model: &Model, object: &ObjectRef, chains: &[ChainId]) -> MatrixCell {
        let view = snapshot.engine.view();
        let mut answers: BTreeSet<Vec<String>> = BTreeSet::new();
        let mut found: BTreeMap<String, (usize, MatrixSetting)> = BTreeMap::new();
        let mut lost = BTreeSet::new();
        for chain in chains {
            let effective = model.effective(view, *chain);
            let origins = effective.origins.iter().map(|it| {
                let value = effective.spec.as_ref().and_then(|spec| it.path.resolve(spec));
                let value =
                    value.filter(|value| is_plain(value)).map(|value| snapshot.shown(&model.kind, &it.path, value));
                (it.path.clone(), value, it.policy, it.target)
            });
            let applied = effective.applied.iter().map(|it| (Path::default(), None, it.policy, it.target));
            let mut keys = Vec::new();
            for (path, value, policy, target) in origins.chain(applied) {
                let (policy, target) = (snapshot.policy_ref(policy), snapshot.node_ref(target));
                let level = OriginLevel::new(&target, object);
                let setting = MatrixSetting { path, value, policy, level, everywhere: true };
                let value = setting.value.as_ref().map(crate::inline::inline).unwrap_or_default();
                let key = format!("{}\0{}\0{value}", setting.path, setting.policy);
                keys.push(key.clone());
                found.entry(key).or_insert((0, setting)).0 += 1;
            }
            answers.insert(keys);
            lost.extend(effective.superseded.iter().map(|it| (it.policy, it.path.clone())));
        }
        let setting =
            |(count, setting): (usize, MatrixSetting)| MatrixSetting { everywhere: count >= chains.len(), ..setting };
        MatrixCell { answers: answers.len(), settings: found.into_values().map(setting).collect(), lost: lost.len() }
    }
}

/// Whether a value fits on one line.
fn is_plain(value: &Value) -> bool {
    let is_scalar = |value: &Value| value.entries().is_empty() && value.items().is_empty();
    value.entries().is_empty() && value.items().iter().all(is_scalar)
}

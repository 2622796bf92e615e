//! The blocks of a policy: its defaults, its bare rules and its overrides.

use smol_str::{SmolStr, ToSmolStr};

use super::empties::without_empties;
use super::{Block, BlockKind};
use crate::cel::CelCondition;
use crate::kinds::{Pattern, PatternFit, PolicyKind, SelectorField, Strategy};
use crate::object::Object;
use crate::value::{Map, Path, Segment, Value};

/// Reads the blocks of a policy, lowest first, and the kinds of blocks without rules.
pub fn read(object: &Object, kind: &PolicyKind, report: &mut impl FnMut(Path, String)) -> (Vec<Block>, Vec<BlockKind>) {
    let fields = &kind.fields;
    let path = &fields.settings;
    let empty = Map::default();
    let settings = match path.resolve(&object.body) {
        Some(Value::Map(map)) => map,
        None | Some(Value::Null) => &empty,
        Some(other) => {
            report(path.clone(), format!("`{path}` must be an object, not {}", other.type_name()));
            &empty
        }
    };
    let mut reader = BlockReader { kind, report, empty: Vec::new() };
    let mut blocks = Vec::new();
    if kind.has_blocks() {
        blocks.extend(reader.named(settings, path, &fields.defaults, BlockKind::Defaults));
        blocks.extend(reader.bare(settings, path));
        blocks.extend(reader.named(settings, path, &fields.overrides, BlockKind::Overrides));
    } else {
        let spec = settings.without(|key| is_target(kind, key) || fields.ignored.iter().any(|name| name == key));
        let strategy = kind.default_strategy().clone();
        let spec = without_absent(Value::Map(with_server_defaults(spec, object, kind)), kind, &mut Vec::new());
        blocks.push(Block { kind: BlockKind::Bare, strategy, when: None, removes: Vec::new(), spec });
    }
    (blocks, reader.empty)
}

/// The settings with the defaults of the API server.
fn with_server_defaults(mut settings: Map, object: &Object, kind: &PolicyKind) -> Map {
    for default in &kind.acceptance.server_defaults {
        let holds = || default.when.as_ref().is_none_or(|when| when.holds(object.spec()) == Ok(true));
        if settings.get(&default.field).is_none_or(is_empty) && holds() {
            let values = default.values.iter().cloned().map(Value::Str).collect();
            settings = settings.with(&default.field, Value::list(values));
        }
    }
    settings
}

/// Returns `true` if the API server sets a default for this value: `null` and an empty list count as left out.
fn is_empty(value: &Value) -> bool {
    matches!(value, Value::Null) || matches!(value, Value::List(items) if items.is_empty())
}

/// The path of a block in its policy.
pub fn path(object: &Object, kind: &PolicyKind, block: BlockKind) -> Path {
    let fields = &kind.fields;
    let settings = &fields.settings;
    let names = match block {
        BlockKind::Defaults => &fields.defaults,
        BlockKind::Bare => return settings.clone(),
        BlockKind::Overrides => &fields.overrides,
    };
    let name = names.iter().find(|name| settings.key((*name).clone()).resolve(&object.body).is_some());
    name.map_or(settings.clone(), |name| settings.key(name.clone()))
}

/// Reads blocks, and reports what is wrong with them.
struct BlockReader<'a, C> {
    kind: &'a PolicyKind,
    report: &'a mut C,
    /// The kinds of blocks without rules.
    empty: Vec<BlockKind>,
}

impl<C: FnMut(Path, String)> BlockReader<'_, C> {
    /// The block in a field with one of `names`.
    fn named(&mut self, settings: &Map, path: &Path, names: &[SmolStr], kind: BlockKind) -> Option<Block> {
        let (name, value) = names.iter().find_map(|name| Some((name, settings.get(name)?)))?;
        let path = path.key(name.clone());
        match value {
            Value::Map(map) => Some(self.block(map, &path, kind, |_| false)),
            Value::Null => None,
            other => {
                (self.report)(path, format!("`{name}` must be an object, not {}", other.type_name()));
                None
            }
        }
    }

    /// The block of bare rules: all fields that are neither targets nor blocks.
    fn bare(&mut self, settings: &Map, path: &Path) -> Option<Block> {
        let fields = &self.kind.fields;
        let is_no_rule = |key: &str| {
            is_target(self.kind, key)
                || fields.ignored.iter().chain(&fields.defaults).chain(&fields.overrides).any(|name| name == key)
        };
        let block = self.block(settings, path, BlockKind::Bare, is_no_rule);
        let is_empty = block.spec.entries().is_empty() && block.removes.is_empty();
        (!is_empty).then_some(block)
    }

    fn block(&mut self, map: &Map, path: &Path, kind: BlockKind, is_no_rule: impl Fn(&str) -> bool) -> Block {
        let fields = &self.kind.fields;
        let strategy = match (map.get(&fields.strategy), kind) {
            (Some(value), _) => self.strategy(value, path.key(fields.strategy.clone())),
            (None, BlockKind::Bare) => bare_strategy(self.kind),
            (None, BlockKind::Defaults | BlockKind::Overrides) => self.kind.default_strategy().clone(),
        };
        // Only a string is a condition. Some kinds have a list of rules in a field of the same name.
        let when = match map.get(&fields.when) {
            Some(Value::Str(text)) => self.condition(text, path.key(fields.when.clone())),
            _ => None,
        };
        let removed = fields.remove.iter().filter_map(|name| map.get(name)).flat_map(Value::items);
        let removes: Vec<SmolStr> = removed.filter_map(Value::as_str).map(|name| name.to_smolstr()).collect();
        let is_condition = matches!(map.get(&fields.when), Some(Value::Str(_)));
        let spec = map.without(|key| {
            is_no_rule(key)
                || key == fields.strategy
                || (key == fields.when && is_condition)
                || fields.remove.iter().any(|name| name == key)
        });
        let is_written = kind != BlockKind::Bare || !spec.is_empty();
        let spec = without_empties(spec, self.kind, &strategy);
        if is_written && spec.is_empty() && removes.is_empty() {
            self.empty.push(kind);
        }
        Block { kind, strategy, when, removes, spec: Value::Map(spec) }
    }

    fn strategy(&mut self, value: &Value, path: Path) -> Strategy {
        let is_named = |strategy: &&Strategy| value.as_str().is_some_and(|it| strategy.name().eq_ignore_ascii_case(it));
        match self.kind.merging.strategies.iter().find(is_named) {
            Some(strategy) => strategy.clone(),
            None => {
                let given = value.as_str().unwrap_or(value.type_name());
                let known: Vec<&str> = self.kind.merging.strategies.iter().map(|strategy| strategy.name()).collect();
                let kind = &self.kind.kind;
                (self.report)(path, format!("{kind} has no strategy `{given}`, only {}", known.join(", ")));
                self.kind.default_strategy().clone()
            }
        }
    }

    fn condition(&mut self, text: &str, path: Path) -> Option<CelCondition> {
        match CelCondition::compile(text) {
            Ok(condition) => Some(condition),
            Err(error) => {
                (self.report)(path, error.to_string());
                None
            }
        }
    }
}

/// Bare rules without a strategy are atomic, unless the only strategy of the kind is `none`, or the first one is
/// registered in code.
fn bare_strategy(kind: &PolicyKind) -> Strategy {
    match kind.merging.strategies.as_slice() {
        [only] if *only == Strategy::NONE => Strategy::NONE,
        [first, ..] if !first.is_built_in() => first.clone(),
        _ => Strategy::ATOMIC,
    }
}

/// Whether a field of the settings names or selects targets.
fn is_target(kind: &PolicyKind, key: &str) -> bool {
    let fields = &kind.fields;
    let selections = kind.targets.selects.iter();
    let selected =
        selections.flat_map(|rule| rule.labels.as_ref().map(SelectorField::path).into_iter().chain(&rule.namespaces));
    let hosts = kind.targets.hosts.iter().flat_map(|hosts| [&hosts.field].into_iter().chain(&hosts.export_to));
    fields.target_refs.iter().chain(&fields.target_selectors).chain(selected).chain(hosts).any(|path| {
        let rest = path.segments().strip_prefix(fields.settings.segments());
        matches!(rest.and_then(<[Segment]>::first), Some(Segment::Key(field)) if field == key)
    })
}

/// Removes the fields whose values count as missing, and maps that are empty without them.
fn without_absent(value: Value, kind: &PolicyKind, path: &mut Vec<Segment>) -> Value {
    let Value::Map(map) = &value else { return value };
    if kind.merging.absent.iter().all(|(pattern, _)| pattern.fit(path.iter()) == PatternFit::No) {
        return value;
    }
    let mut kept = Vec::new();
    for (key, child) in map.entries() {
        path.push(Segment::Key(key.clone()));
        let is_absent = |(pattern, word): &(Pattern, SmolStr)| {
            let is_word = match child {
                Value::Str(text) => text == word,
                Value::Int(number) => word.parse() == Ok(*number),
                Value::Map(map) => map.entries().is_empty() && word == "{}",
                _ => false,
            };
            is_word && pattern.fit(path.iter()) == PatternFit::Exact
        };
        if !kind.merging.absent.iter().any(is_absent) {
            let left = without_absent(child.clone(), kind, path);
            if left == *child || !left.entries().is_empty() {
                kept.push((key.clone(), left));
            }
        }
        path.pop();
    }
    Value::map(kept)
}

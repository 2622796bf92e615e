//! Random cases: inputs with many conflicts, and edits as small as those of users and controllers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use attache_engine::{Edit, ObjectRef};
use serde_json::{Map, Value, json};

use crate::case::{Batch, Case, Step, object};
use crate::corpus::{CORPUS, vocabulary};
use crate::dice::Dice;
use crate::world::World;

type Words = BTreeMap<String, Vec<Value>>;

pub fn case(world: World, seed: u64) -> Case {
    let mut dice = Dice(seed);
    let mut pool = match dice.below(4) {
        0..2 => world.0,
        2 => dice.choose(&CORPUS.dense).cloned().unwrap_or_default(),
        _ => Vec::new(),
    };
    if pool.is_empty() || dice.one_in(3) {
        for _ in 0..=dice.below(2) {
            let tests = dice.choose(&CORPUS.worlds).unwrap();
            for _ in 0..=dice.below(3) {
                pool.extend(dice.choose(tests).unwrap().iter().cloned());
            }
        }
    }
    let everything = dice.one_in(3);
    let documents: Vec<Value> = pool.iter().filter(|_| everything || !dice.one_in(4)).cloned().collect();
    let mut now = Now::default();
    documents.iter().for_each(|document| now.follow(&Step::Put(document.clone())));
    let words = vocabulary(&pool);
    let mut editor = Editor { dice, pool, words, now };
    let count = 1 + editor.dice.below(12);
    let batches = (0..count).map(|_| editor.batch()).collect();
    Case { infer_unlabelled: editor.dice.one_in(4), documents, batches }
}

/// The current objects.
#[derive(Default)]
struct Now(BTreeMap<ObjectRef, Value>);

impl Now {
    fn follow(&mut self, step: &Step) {
        match (step.edit(), step.document()) {
            (Some(Edit::Put(object)), Some(document)) => drop(self.0.insert(object.id, document.clone())),
            (Some(Edit::Delete(id)), _) => drop(self.0.remove(&id)),
            _ => {}
        }
    }
}

struct Editor {
    dice: Dice,
    pool: Vec<Value>,
    words: Words,
    now: Now,
}

impl Editor {
    fn batch(&mut self) -> Batch {
        let quiet = self.dice.one_in(3);
        let mut steps = Vec::new();
        if self.dice.one_in(40) {
            steps.extend(self.now.0.keys().cloned().map(Step::Delete));
        } else if self.dice.one_in(40) {
            steps.extend(self.pool.iter().cloned().map(Step::Put));
        } else {
            let count = if self.dice.one_in(2) { 1 } else { 1 + self.dice.below(6) };
            for _ in 0..count {
                let step = self.step();
                step.iter().for_each(|step| self.now.follow(step));
                steps.extend(step);
            }
            return Batch { quiet, steps };
        }
        steps.iter().for_each(|step| self.now.follow(step));
        Batch { quiet, steps }
    }

    fn step(&mut self) -> Option<Step> {
        // If a kind changes, everything does, so problems are found soon.
        let kinds = self.dice.one_in(4);
        let is_kind = |id: &ObjectRef| ["PolicyKind", "CustomResourceDefinition"].contains(&id.kind.as_str());
        let there: Vec<(&ObjectRef, &Value)> = self.now.0.iter().filter(|(id, _)| kinds || !is_kind(id)).collect();
        let one = self.dice.choose(&there).map(|(id, document)| ((*id).clone(), (*document).clone()));
        Some(match self.dice.below(20) {
            0..2 => Step::Delete(one?.0),
            2..5 => Step::Put(self.dice.choose(&self.pool)?.clone()),
            5 => Step::Put(one?.1),
            6 => Step::Move(one?.1),
            7 => {
                let gone =
                    ObjectRef::new(&one.as_ref()?.0.group, &one.as_ref()?.0.kind, &one.as_ref()?.0.namespace, "nobody");
                let known: Vec<ObjectRef> = self.pool.iter().filter_map(object).map(|object| object.id).collect();
                Step::Delete(if self.dice.one_in(2) { gone } else { self.dice.choose(&known)?.clone() })
            }
            8 => Step::Put(self.namespace()?),
            9 if kinds => Step::Put(self.kind(&one?.0)?),
            _ => {
                let mut document = one?.1;
                for _ in 0..=self.dice.below(6) / 5 {
                    self.disturb(&mut document);
                }
                object(&document).map(|_| Step::Put(document))?
            }
        })
    }

    /// A Namespace object for one of the namespaces that have objects.
    fn namespace(&mut self) -> Option<Value> {
        let used: BTreeSet<&str> =
            self.now.0.keys().map(|id| id.namespace.as_str()).filter(|it| !it.is_empty()).collect();
        let used: Vec<String> = used.into_iter().map(str::to_owned).collect();
        let mut namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.dice.choose(&used)?}});
        if self.dice.one_in(2) {
            self.label(&mut namespace);
        }
        Some(namespace)
    }

    /// A variant of a built-in PolicyKind, preferably of the object's kind.
    fn kind(&mut self, id: &ObjectRef) -> Option<Value> {
        let own = |it: &&Value| it["spec"]["kind"] == id.kind.as_str() && it["spec"]["group"] == id.group.as_str();
        let used: Vec<&Value> = CORPUS.kinds.iter().filter(own).collect();
        let mut kind = match self.dice.choose(&used) {
            Some(kind) => (*kind).clone(),
            None => self.dice.choose(&CORPUS.kinds)?.clone(),
        };
        if !self.dice.one_in(4) {
            self.disturb(&mut kind);
        }
        object(&kind).map(|_| kind)
    }

    /// A value of the same field elsewhere; rarely from this case.
    fn word(&mut self, key: &str) -> Option<Value> {
        static ALL: LazyLock<Words> =
            LazyLock::new(|| vocabulary(CORPUS.worlds.iter().flatten().flatten().chain(&CORPUS.kinds)));
        let own = self.words.get(key).map_or(&[][..], Vec::as_slice);
        let all = ALL.get(key).map_or(&[][..], Vec::as_slice);
        let words = if own.len() < 2 || self.dice.one_in(5) { all } else { own };
        self.dice.choose(words).cloned()
    }

    /// Makes a small change to a document.
    fn disturb(&mut self, document: &mut Value) {
        match self.dice.below(24) {
            0..2 => self.label(document),
            2 => self.annotate(document),
            3 => self.date(document),
            4 => {
                document["status"] =
                    json!({"conditions": [{"type": "Accepted", "status": self.dice.one_in(2).to_string()}]})
            }
            5 => document["metadata"]["generation"] = json!(self.dice.below(5)),
            6 => document["metadata"]["resourceVersion"] = json!(self.dice.below(1000).to_string()),
            at => self.disturb_somewhere(document, at - 7),
        }
    }

    fn disturb_somewhere(&mut self, document: &mut Value, how: usize) {
        let mut places = Vec::new();
        list_places(document, "", String::new(), &mut places);
        // Mostly changes the spec, rarely the identity.
        let wanted = if self.dice.one_in(30) { "" } else { "/spec" };
        places.retain(|place| place.pointer.starts_with(wanted));
        let Some(place) = self.dice.choose(&places).cloned() else { return };
        let Some(value) = document.pointer_mut(&place.pointer) else { return };
        match (how, &mut *value) {
            // Adds a field that other documents have.
            (0..4, Value::Object(map)) => {
                if let Some(Value::Object(other)) = self.word(&place.key) {
                    let more: Vec<(String, Value)> = other.into_iter().collect();
                    map.extend(self.dice.choose(&more).cloned());
                }
            }
            // Adds an item.
            (0..4, Value::Array(items)) => {
                let own = self.dice.choose(items).cloned();
                let other = self.word(&format!("{}[]", place.key));
                let item = if self.dice.one_in(3) { own } else { other };
                let at = self.dice.below(items.len() + 1);
                item.into_iter().for_each(|item| items.insert(at, item));
            }
            (4, Value::Array(items)) => items.reverse(),
            (5..9, _) => remove(document, &place.pointer),
            (9, _) => {
                let wild = [Value::Null, json!(""), json!(0), json!([]), json!({}), json!("*"), json!(true)];
                *value = self.dice.choose(&wild).cloned().unwrap_or_default();
            }
            _ => *value = self.word(&place.key).unwrap_or_default(),
        }
    }

    fn label(&mut self, document: &mut Value) {
        let sort = self.dice.choose(&["labels", "matchLabels", "selector", "labels"]).copied().unwrap_or_default();
        let label = match self.word(sort) {
            Some(Value::Object(map)) => {
                let labels: Vec<(String, Value)> = map.into_iter().filter(|(_, value)| value.is_string()).collect();
                self.dice.choose(&labels).cloned()
            }
            _ => None,
        };
        let (key, value) = label.unwrap_or(("color".to_owned(), json!(self.dice.below(2).to_string())));
        let labels = entry(document, "labels");
        if self.dice.one_in(3) {
            labels.remove(&key);
        } else {
            labels.insert(key, value);
        }
    }

    fn annotate(&mut self, document: &mut Value) {
        let Some(Value::Object(map)) = self.word("annotations") else { return };
        let known: Vec<(String, Value)> = map.into_iter().collect();
        let Some((key, value)) = self.dice.choose(&known).cloned() else { return };
        let value = self.word(&key).filter(|_| self.dice.one_in(2)).unwrap_or(value);
        entry(document, "annotations").insert(key, value);
    }

    fn date(&mut self, document: &mut Value) {
        document["metadata"]["creationTimestamp"] = match self.dice.below(5) {
            0 => Value::Null,
            day => json!(format!("2026-01-0{day}T00:00:00Z")),
        };
    }
}

fn entry<'d>(document: &'d mut Value, field: &str) -> &'d mut Map<String, Value> {
    let object = |value: &mut Value| {
        if !value.is_object() {
            *value = json!({});
        }
    };
    object(&mut document["metadata"]);
    object(&mut document["metadata"][field]);
    document["metadata"][field].as_object_mut().unwrap()
}

#[derive(Clone)]
struct Place {
    pointer: String,
    /// The nearest name of a field above, with brackets for items of lists.
    key: String,
}

fn list_places(value: &Value, key: &str, pointer: String, places: &mut Vec<Place>) {
    let children: Vec<(String, String, &Value)> = match value {
        Value::Object(map) => {
            map.iter().map(|(name, child)| (name.clone(), name.replace('~', "~0").replace('/', "~1"), child)).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().map(|(i, child)| (format!("{key}[]"), i.to_string(), child)).collect()
        }
        _ => Vec::new(),
    };
    for (key, step, child) in children {
        let pointer = format!("{pointer}/{step}");
        places.push(Place { pointer: pointer.clone(), key: key.clone() });
        list_places(child, &key, pointer, places);
    }
}

fn remove(document: &mut Value, pointer: &str) {
    let Some((parent, step)) = pointer.rsplit_once('/') else { return };
    match document.pointer_mut(parent) {
        Some(Value::Object(map)) => drop(map.remove(&step.replace("~1", "/").replace("~0", "~"))),
        Some(Value::Array(items)) => step.parse().ok().into_iter().for_each(|at: usize| drop(items.remove(at))),
        _ => {}
    }
}

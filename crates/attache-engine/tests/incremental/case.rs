//! A case: documents to begin with, and batches of edits. It can be written as text, stored and followed again.

use std::fmt;
use std::sync::Arc;

use attache_engine::text;
use attache_engine::{Edit, Object, ObjectRef};
use serde_json::Value;

#[derive(Clone, Debug, Default)]
pub struct Case {
    pub infer_unlabelled: bool,
    pub documents: Vec<Value>,
    pub batches: Vec<Batch>,
}

#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Nothing is queried before the next batch, so that nothing is computed on demand.
    pub quiet: bool,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub enum Step {
    Put(Value),
    /// The same document, further down in its file.
    Move(Value),
    Delete(ObjectRef),
}

impl Step {
    pub fn edit(&self) -> Option<Edit> {
        match self {
            Step::Put(document) => object(document).map(Edit::Put),
            Step::Move(document) => read(&format!("\n\n{document}")).map(Edit::Put),
            Step::Delete(id) => Some(Edit::Delete(id.clone())),
        }
    }

    pub fn document(&self) -> Option<&Value> {
        match self {
            Step::Put(document) | Step::Move(document) => Some(document),
            Step::Delete(_) => None,
        }
    }

    pub fn document_mut(&mut self) -> Option<&mut Value> {
        match self {
            Step::Put(document) | Step::Move(document) => Some(document),
            Step::Delete(_) => None,
        }
    }
}

/// The object in a document, if it is valid.
pub fn object(document: &Value) -> Option<Object> {
    read(&document.to_string())
}

fn read(text: &str) -> Option<Object> {
    text::read(&Arc::from("case"), text).objects.pop()
}

/// One document or step per line, with a line before each batch.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.infer_unlabelled {
            writeln!(f, "infer unlabelled")?;
        }
        self.documents.iter().try_for_each(|document| writeln!(f, "{document}"))?;
        for batch in &self.batches {
            writeln!(f, "{}", if batch.quiet { "quiet batch" } else { "batch" })?;
            for step in &batch.steps {
                match step {
                    Step::Put(document) => writeln!(f, "put {document}")?,
                    Step::Move(document) => writeln!(f, "move {document}")?,
                    Step::Delete(id) => {
                        writeln!(f, "delete {}", serde_json::json!([id.group, id.kind, id.namespace, id.name]))?
                    }
                }
            }
        }
        Ok(())
    }
}

impl Case {
    /// Parses the output of `Display`.
    pub fn parse(text: &str) -> Case {
        let mut case = Case::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            let step = match word {
                "infer" => {
                    case.infer_unlabelled = true;
                    continue;
                }
                "batch" | "quiet" => {
                    case.batches.push(Batch { quiet: word == "quiet", steps: Vec::new() });
                    continue;
                }
                "put" => Step::Put(json(rest)),
                "move" => Step::Move(json(rest)),
                "delete" => {
                    let [group, kind, namespace, name]: [String; 4] = serde_json::from_str(rest).unwrap();
                    Step::Delete(ObjectRef::new(&group, &kind, &namespace, &name))
                }
                _ => {
                    case.documents.push(json(line));
                    continue;
                }
            };
            case.batches.last_mut().unwrap().steps.push(step);
        }
        case
    }
}

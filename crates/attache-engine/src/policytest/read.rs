//! From a document to a PolicyTest, or to everything that is wrong with it.

use smol_str::SmolStr;

use super::name::{NodeName, PolicyName};
use super::{
    Affected, Behaviour, Condition, Effective, Expect, Line, PolicyTest, Refused, Status, Superseded, requests,
    short_form,
};
use crate::object::Object;
use crate::problem::Problem;
use crate::reader::DocumentReader;
use crate::text;
use crate::value::{Path, Value};

const GROUP: &str = "attache.dev";
const KIND: &str = "PolicyTest";

const ACCEPTED: [&str; 5] = ["Accepted", "Conflicted", "Invalid", "TargetNotFound", "RefNotPermitted"];
const ENFORCEMENT: [&str; 4] = ["Enforced", "PartiallyEnforced", "Overridden", "NotEnforced"];

pub fn is_test(object: &Object) -> bool {
    object.id.group == GROUP && object.id.kind == KIND
}

/// Reads a test. It is run only if nothing is wrong with it.
pub fn read(document: &Object) -> Result<PolicyTest, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut reader = DocumentReader::new(document, Path::parse("spec"), document.spec(), &mut problems);
    let topology = reader.texts("topology").unwrap_or_default();
    let files = reader.texts("files").unwrap_or_default();
    reader.any("objects");
    let expect = reader.object("expect", expect).unwrap_or_default();
    reader.finish();
    if expect.is_empty() && problems.is_empty() {
        let problem = Problem::error("the test expects nothing").at(document, Path::parse("spec.expect"));
        problems.push(problem.help("say what must hold, in `spec.expect.effective` or beside it"));
    }
    let inline = text::nested(document, &Path::parse("spec.objects"));
    problems.extend(inline.problems.into_iter().filter(Problem::is_error));
    let drawn = short_form::draw(&topology).unwrap_or_else(|mistakes| {
        let at = |line| Path::parse("spec.topology").index(line);
        problems.extend(mistakes.into_iter().map(|(line, problem)| problem.at(document, at(line))));
        Vec::new()
    });
    if !problems.is_empty() {
        return Err(problems);
    }
    let at = |(i, file)| (file, Path::parse("spec.files").index(i));
    Ok(PolicyTest {
        name: document.id.name.clone(),
        files: files.into_iter().enumerate().map(at).collect(),
        document: document.clone(),
        drawn,
        objects: inline.objects,
        expect,
    })
}

fn expect(reader: &mut DocumentReader<'_, '_>) -> Expect {
    Expect {
        effective: lines(reader, "effective", effective),
        status: lines(reader, "status", status),
        affected: lines(reader, "affected", affected),
        objects: lines(reader, "objects", behaviour),
        refused: lines(reader, "refused", refused),
        requests: lines(reader, "requests", requests::read),
    }
}

impl Expect {
    fn is_empty(&self) -> bool {
        let Expect { effective, status, affected, objects, refused, requests } = self;
        let about_policies = [effective.len(), status.len(), affected.len(), objects.len()];
        about_policies == [0; 4] && refused.is_empty() && requests.is_empty()
    }
}

fn lines<T>(
    reader: &mut DocumentReader<'_, '_>,
    field: &'static str,
    read: fn(&mut DocumentReader<'_, '_>) -> Option<T>,
) -> Vec<Line<T>> {
    reader.objects(field, |line| {
        let it = read(line);
        Some(Line { path: line.path().clone(), it: it? })
    })
}

fn effective(line: &mut DocumentReader<'_, '_>) -> Option<Effective> {
    let policy_kind = line.required("policyKind");
    let scope = line.texts("scope");
    if scope.as_ref().is_none_or(Vec::is_empty) {
        line.complain(None, "`scope` is missing".to_string(), Some("name at least one node".to_string()));
    }
    let scope = parsed(line, "scope", scope.unwrap_or_default(), NodeName::parse);
    let from = line.text("from");
    let from = parsed(line, "from", from, |text| match NodeName::parse(text)? {
        name if name.kind.is("", "Namespace") => Ok(name),
        _ => Err(format!("`{text}` is not a Namespace: write `Namespace/name`")),
    });
    let spec = line.any("spec").cloned();
    let (paths, names): (Vec<SmolStr>, Vec<SmolStr>) = line.pairs("origins").into_iter().unzip();
    let names = parsed(line, "origins", names, PolicyName::parse);
    let superseded = line.get("superseded").is_some().then(|| line.objects("superseded", superseded));
    let policies = line.texts("policies");
    let specs = line.any("specs").cloned();
    let policies = policies.map(|names| parsed(line, "policies", names, PolicyName::parse));
    Some(Effective {
        policy_kind: policy_kind?,
        scope,
        from: from.into_iter().next(),
        spec,
        origins: paths.iter().map(|path| Path::parse(path)).zip(names).collect(),
        superseded,
        policies,
        specs,
        warnings: line.texts("warnings"),
    })
}

fn superseded(line: &mut DocumentReader<'_, '_>) -> Option<Superseded> {
    let path = line.required("path");
    let policy = policy(line, "policy");
    let by = line.text("by");
    let by = parsed(line, "by", by, PolicyName::parse).pop();
    Some(Superseded { path: Path::parse(&path?), policy: policy?, by, reason: line.text("reason") })
}

fn status(line: &mut DocumentReader<'_, '_>) -> Option<Status> {
    let policy = policy(line, "policy");
    let accepted = word(line, "accepted", &ACCEPTED);
    let enforcement = word(line, "enforcement", &ENFORCEMENT);
    let by = line.texts("by").map(|names| parsed(line, "by", names, PolicyName::parse));
    let message = line.text("message");
    let conditions = line.objects("conditions", condition);
    Some(Status { policy: policy?, accepted, enforcement, by, message, conditions })
}

fn condition(line: &mut DocumentReader<'_, '_>) -> Option<Condition> {
    let r#type = line.required("type");
    let (status, reason, message) = (line.text("status"), line.text("reason"), line.text("message"));
    Some(Condition { r#type: r#type?, status, reason, message })
}

fn affected(line: &mut DocumentReader<'_, '_>) -> Option<Affected> {
    let target = node(line, "target");
    let by = line.texts("by");
    if by.is_none() && line.get("by").is_none() {
        line.complain(None, "`by` is missing".to_string(), Some("`by: []` means nobody".to_string()));
    }
    let by = parsed(line, "by", by.unwrap_or_default(), PolicyName::parse);
    Some(Affected { target: target?, by })
}

fn behaviour(line: &mut DocumentReader<'_, '_>) -> Option<Behaviour> {
    let object = node(line, "object");
    let at = line.required("path");
    let value = line.any("value").cloned().unwrap_or(Value::Null);
    Some(Behaviour { object: object?, at: Path::parse(&at?), value })
}

fn refused(line: &mut DocumentReader<'_, '_>) -> Option<Refused> {
    let (parent, child) = (node(line, "parent"), node(line, "child"));
    let reason = line.required("reason");
    let message = line.text("message");
    Some(Refused { parent: parent?, child: child?, reason: reason?, message })
}

fn node(line: &mut DocumentReader<'_, '_>, field: &'static str) -> Option<NodeName> {
    let text = line.required(field);
    parsed(line, field, text, NodeName::parse).pop()
}

fn policy(line: &mut DocumentReader<'_, '_>, field: &'static str) -> Option<PolicyName> {
    let text = line.required(field);
    parsed(line, field, text, PolicyName::parse).pop()
}

pub(super) fn word(line: &mut DocumentReader<'_, '_>, field: &'static str, words: &[&'static str]) -> Option<SmolStr> {
    let words: Vec<(&str, &str)> = words.iter().map(|word| (*word, *word)).collect();
    line.choice(field, &words).map(SmolStr::new)
}

/// Every text that can be read; the others are complained of.
pub(super) fn parsed<T>(
    line: &mut DocumentReader<'_, '_>,
    field: &str,
    texts: impl IntoIterator<Item = SmolStr>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Vec<T> {
    let mut read = Vec::new();
    for text in texts {
        match parse(&text) {
            Ok(it) => read.push(it),
            Err(message) => line.complain(Some(field), message, None),
        }
    }
    read
}

//! Reads a PolicyTest document, or collects everything that is wrong with it.

mod requests;

use smol_str::SmolStr;

use super::expectations::{
    Expectation, Expectations, ExpectedAffected, ExpectedAncestor, ExpectedCondition, ExpectedEffective, ExpectedField,
    ExpectedLoss, ExpectedRefusal, ExpectedStatus,
};
use super::query::{NodeQuery, PolicyQuery};
use super::{PolicyTest, short_form};
use crate::document::{Diagnostics, DocumentReader, Location};
use crate::object::Object;
use crate::problem::Problem;
use crate::text;
use crate::value::{Path, Value};

const GROUP: &str = "attache.dev";
const KIND: &str = "PolicyTest";

const ACCEPTED: [&str; 6] =
    ["Accepted", "Conflicted", "Invalid", "TargetNotFound", "RefNotPermitted", "TargetConflict"];
const ENFORCEMENT: [&str; 4] = ["Enforced", "PartiallyEnforced", "Overridden", "NotEnforced"];

/// Whether an object is a PolicyTest document.
pub fn is_test(object: &Object) -> bool {
    object.id.group == GROUP && object.id.kind == KIND
}

/// Reads a PolicyTest document. Fails with all problems of the document if there are any.
pub fn read(document: &Object) -> Result<PolicyTest, Vec<Problem>> {
    let mut diagnostics = Diagnostics::default();
    let fields = DocumentReader::read(document.spec(), &Location::top("spec"), &mut diagnostics, |reader| {
        let topology = reader.texts("topology").unwrap_or_default();
        let files = reader.texts("files").unwrap_or_default();
        reader.nullable("objects");
        Some((topology, files, reader.object("expect", |expect| Some(expectations(expect))).unwrap_or_default()))
    });
    let (topology, files, expectations) = fields.unwrap_or_default();
    let mut problems = diagnostics.into_problems(document);
    if expectations.is_empty() && problems.is_empty() {
        let problem = Problem::error("the test expects nothing").at(document, Path::parse("spec.expect"));
        problems.push(problem.help("list what must hold, for example in `spec.expect.effective`"));
    }
    let inline = text::nested_objects(document, &Path::parse("spec.objects"));
    problems.extend(inline.problems.into_iter().filter(Problem::is_error));
    let from_short_form = short_form::expand(&topology).unwrap_or_else(|mistakes| {
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
        from_short_form,
        inline: inline.objects,
        expectations,
    })
}

fn expectations(reader: &mut DocumentReader<'_, '_>) -> Expectations {
    Expectations {
        effective: list(reader, "effective", effective),
        status: list(reader, "status", status),
        affected: list(reader, "affected", affected),
        objects: list(reader, "objects", field),
        refused: list(reader, "refused", refusal),
        requests: list(reader, "requests", requests::read),
    }
}

fn list<T>(
    reader: &mut DocumentReader<'_, '_>,
    field: &'static str,
    read: fn(&mut DocumentReader<'_, '_>) -> Option<T>,
) -> Vec<Expectation<T>> {
    reader.objects(field, |item| {
        let expected = read(item);
        Some(Expectation { path: item.path(), expected: expected? })
    })
}

fn effective(item: &mut DocumentReader<'_, '_>) -> Option<ExpectedEffective> {
    let policy_kind = item.required("policyKind");
    let scope = item.texts("scope");
    if scope.as_ref().is_none_or(Vec::is_empty) {
        item.report(None, "`scope` is missing".to_string(), Some("name at least one node".to_string()));
    }
    let scope = parsed(item, "scope", scope.unwrap_or_default(), NodeQuery::parse);
    let from = item.text("from");
    let from = parsed(item, "from", from, |text| match NodeQuery::parse(text)? {
        node if node.kind.is("", "Namespace") => Ok(node),
        _ => Err(format!("`{text}` is not a Namespace: write `Namespace/name`")),
    });
    let spec = item.nullable("spec").cloned();
    let (paths, policies): (Vec<SmolStr>, Vec<SmolStr>) = item.pairs("origins").into_iter().unzip();
    let origins = parsed(item, "origins", policies, PolicyQuery::parse);
    let superseded = item.get("superseded").is_some().then(|| item.objects("superseded", loss));
    let policies = item.texts("policies");
    let specs = item.nullable("specs").cloned();
    let policies = policies.map(|policies| parsed(item, "policies", policies, PolicyQuery::parse));
    Some(ExpectedEffective {
        policy_kind: policy_kind?,
        scope,
        from: from.into_iter().next(),
        spec,
        origins: paths.iter().map(|path| Path::parse(path)).zip(origins).collect(),
        superseded,
        policies,
        specs,
        warnings: item.texts("warnings"),
    })
}

fn loss(item: &mut DocumentReader<'_, '_>) -> Option<ExpectedLoss> {
    let path = item.required("path");
    let policy = policy(item, "policy");
    let by = item.text("by");
    let by = parsed(item, "by", by, PolicyQuery::parse).pop();
    Some(ExpectedLoss { path: path?, policy: policy?, by, reason: item.text("reason") })
}

fn status(item: &mut DocumentReader<'_, '_>) -> Option<ExpectedStatus> {
    let policy = policy(item, "policy");
    let accepted = word(item, "accepted", &ACCEPTED);
    let enforcement = word(item, "enforcement", &ENFORCEMENT);
    let by = item.texts("by").map(|policies| parsed(item, "by", policies, PolicyQuery::parse));
    let message = item.text("message");
    let conditions = item.objects("conditions", condition);
    let ancestors = item.objects("ancestors", ancestor);
    let notes = item.texts("notes");
    Some(ExpectedStatus { policy: policy?, accepted, enforcement, by, message, conditions, ancestors, notes })
}

fn ancestor(item: &mut DocumentReader<'_, '_>) -> Option<ExpectedAncestor> {
    let ancestor = node(item, "ancestor");
    let accepted = word(item, "accepted", &ACCEPTED);
    let enforcement = word(item, "enforcement", &ENFORCEMENT);
    let by = item.texts("by").map(|policies| parsed(item, "by", policies, PolicyQuery::parse));
    let conditions = item.objects("conditions", condition);
    Some(ExpectedAncestor { ancestor: ancestor?, accepted, enforcement, by, conditions })
}

fn condition(item: &mut DocumentReader<'_, '_>) -> Option<ExpectedCondition> {
    let r#type = item.required("type");
    let status = match item.nullable("status") {
        Some(Value::Null) => Some(Value::Null),
        _ => item.text("status").map(Value::Str),
    };
    let (reason, message) = (item.text("reason"), item.text("message"));
    Some(ExpectedCondition { r#type: r#type?, status, reason, message })
}

fn affected(item: &mut DocumentReader<'_, '_>) -> Option<ExpectedAffected> {
    let target = node(item, "target");
    let by = item.texts("by");
    if by.is_none() && item.get("by").is_none() {
        let help = "write `by: []` if no policy affects the target";
        item.report(None, "`by` is missing".to_string(), Some(help.to_string()));
    }
    let by = parsed(item, "by", by.unwrap_or_default(), PolicyQuery::parse);
    Some(ExpectedAffected { target: target?, by })
}

fn field(item: &mut DocumentReader<'_, '_>) -> Option<ExpectedField> {
    let object = node(item, "object");
    let path = item.required("path");
    let value = item.nullable("value").cloned().unwrap_or(Value::Null);
    Some(ExpectedField { object: object?, path: path?, value })
}

fn refusal(item: &mut DocumentReader<'_, '_>) -> Option<ExpectedRefusal> {
    let (parent, child) = (node(item, "parent"), node(item, "child"));
    let reason = item.required("reason");
    let message = item.text("message");
    Some(ExpectedRefusal { parent: parent?, child: child?, reason: reason?, message })
}

fn node(item: &mut DocumentReader<'_, '_>, field: &'static str) -> Option<NodeQuery> {
    let text = item.required(field);
    parsed(item, field, text, NodeQuery::parse).pop()
}

fn policy(item: &mut DocumentReader<'_, '_>, field: &'static str) -> Option<PolicyQuery> {
    let text = item.required(field);
    parsed(item, field, text, PolicyQuery::parse).pop()
}

/// The value of a field that must be one of `words`.
fn word(item: &mut DocumentReader<'_, '_>, field: &'static str, words: &[&'static str]) -> Option<SmolStr> {
    let words: Vec<(&str, &str)> = words.iter().map(|word| (*word, *word)).collect();
    item.choice(field, &words).map(SmolStr::new)
}

/// Parses each text. Texts that cannot be parsed become problems of `field`.
fn parsed<T>(
    item: &mut DocumentReader<'_, '_>,
    field: &str,
    texts: impl IntoIterator<Item = SmolStr>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Vec<T> {
    let mut values = Vec::new();
    for text in texts {
        match parse(&text) {
            Ok(value) => values.push(value),
            Err(message) => item.report(Some(field), message, None),
        }
    }
    values
}

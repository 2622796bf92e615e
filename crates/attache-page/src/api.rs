//! The documents as JSON, as `-o json` prints them.

use attache_answers::audit::{AuditLevel, AuditQuery, AuditRequirement, audit};
use attache_answers::describe::{DescribeQuery, describe};
use attache_answers::effective::{EffectivePolicies, EffectiveQuery};
use attache_answers::explain::{ExplainQuery, explain};
use attache_answers::get::{self, GetQuery};
use attache_answers::lineage::{LineageQuery, lineage};
use attache_answers::matrix::MatrixQuery;
use attache_answers::reach::{ReachQuery, reach};
use attache_answers::samples::{SamplesQuery, samples};
use attache_answers::status::status;
use attache_answers::topology::{TopologyQuery, topology};
use attache_answers::{API_VERSION, List, ObjectQuery, lint};
use attache_engine::{Path, Problem};
use axum::http::StatusCode;
use serde::Serialize;

use crate::ask::{Answer, Ask, Unanswered};
use crate::views::plan::plan_document;
use crate::views::request::request_document;

/// The default number of names of a step in a `Lineage`, and of rows in a `Matrix`.
const MOST: usize = 100;

/// Responds to a request under `/api`.
pub fn answer(ask: &Ask, question: &[&str]) -> Answer {
    match document(ask, question) {
        Ok(text) => Answer::Json(StatusCode::OK, text),
        Err(Unanswered { status, problem }) => Answer::Json(status, error(&problem)),
    }
}

/// The document `Error`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ErrorDocument<'p> {
    api_version: &'static str,
    kind: &'static str,
    message: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'p str>,
}

/// A document, with the kinds that could not be read.
#[derive(Serialize)]
struct WithUnseen<'d, T> {
    #[serde(flatten)]
    document: &'d T,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    unseen: &'d [String],
}

fn error(problem: &Problem) -> String {
    let (message, help) = (problem.message.as_str(), problem.help.as_deref());
    let document = ErrorDocument { api_version: API_VERSION, kind: "Error", message, help };
    serde_json::to_string_pretty(&document).unwrap_or_default()
}

fn document(ask: &Ask, question: &[&str]) -> Result<String, Unanswered> {
    let snapshot = &ask.state.snapshot;
    let text = |name: &str| ask.parameters.get(name).map(str::to_owned);
    let (kind, namespace) = (text("kind"), text("namespace"));
    match question {
        ["summary"] => json(ask, ask.state.summary()),
        ["matrix"] => {
            let query = MatrixQuery {
                namespace,
                kind,
                text: text("q"),
                problems_first: ask.parameters.has("problems"),
                from: ask.parameters.number("from", 0),
                most: ask.parameters.number("most", MOST),
            };
            json(ask, &ask.state.matrix().find(snapshot, &query))
        }
        ["describe"] => json(ask, &describe(snapshot, &DescribeQuery { object: object(ask)?, namespace })?),
        ["lineage"] => json(ask, &lineage(snapshot, &LineageQuery { object: object(ask)?, namespace, names: MOST })?),
        ["samples"] => json(ask, &samples(snapshot, &SamplesQuery { object: object(ask)?, namespace, most: MOST })?),
        ["effective"] => {
            let query = EffectiveQuery { object: ask.parameter_object("object")?, kind, namespace };
            json(ask, &EffectivePolicies::find(snapshot, &query)?.list())
        }
        ["explain"] => {
            let (field, steps) = (ask.parameters.get("field").map(Path::parse), ask.parameters.has("steps"));
            let query = ExplainQuery { object: object(ask)?, field, kind, namespace, steps, names: MOST };
            json(ask, &explain(snapshot, &query)?)
        }
        ["reach"] => json(ask, &reach(snapshot, &ReachQuery { policy: object(ask)?, rule: text("rule"), namespace })?),
        ["topology"] => {
            let query = TopologyQuery { object: ask.parameter_object("object")?, namespace };
            json(ask, &topology(snapshot, &query)?.document())
        }
        ["status"] => json(ask, &status(snapshot, namespace.as_deref())),
        ["lint"] => json(ask, &lint::lint(snapshot, namespace.as_deref())),
        ["audit"] => json(ask, &audit(snapshot, &audit_query(ask, namespace)?)?),
        ["request"] => json(ask, &request_document(ask)?),
        ["plan"] => json(ask, &plan_document(ask)?),
        ["changes"] => {
            let entries = ask.page.changes();
            json(ask, &List::new("ChangeList", entries.iter().flat_map(|entry| &entry.documents).collect::<Vec<_>>()))
        }
        ["get", "scopes"] => json(ask, &get::Scopes::find(snapshot, &GetQuery { kind, namespace })?.list()),
        ["get", "policies"] => json(ask, &get::policies(snapshot, &GetQuery { kind, namespace })?),
        ["get", "kinds"] => json(ask, &get::kinds(snapshot, &GetQuery { kind, namespace })?),
        _ => Err(Unanswered::nothing_here()),
    }
}

fn json(ask: &Ask, document: &impl Serialize) -> Result<String, Unanswered> {
    let document = WithUnseen { document, unseen: &ask.state.unseen };
    serde_json::to_string_pretty(&document)
        .map_err(|error| Problem::error(format!("the answer cannot be written: {error}")).into())
}

fn object(ask: &Ask) -> Result<ObjectQuery, Unanswered> {
    let missing = || Problem::error("no object is given").help("name it by the parameter `object`, as `KIND/NAME`");
    Ok(ask.parameter_object("object")?.ok_or_else(missing)?)
}

/// What `attache audit` takes as options: `require` and `on`.
fn audit_query(ask: &Ask, namespace: Option<String>) -> Result<AuditQuery, Unanswered> {
    let level = |name: &str| {
        let names = AuditLevel::ALL.map(AuditLevel::name).join(", ");
        AuditLevel::parse(name)
            .ok_or_else(|| Problem::error(format!("`{name}` is not a level")).help(format!("one of {names}")))
    };
    let level = ask.parameters.get("on").map(level).transpose()?;
    let requirements: Vec<_> = ask.parameters.all("require").map(|it| AuditRequirement::parse(it, level)).collect();
    if requirements.is_empty() {
        return Err(Problem::error("no requirement given")
            .help("name it by the parameter `require`, as `KIND[:RULE]`")
            .into());
    }
    // Exceptions, for which the date counts, are in files only.
    Ok(AuditQuery { requirements, date: String::new(), namespace, counts_unknown: false })
}

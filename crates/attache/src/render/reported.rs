//! Effective policies that the controller in the cluster reports: those of policies that the user may not read.

use std::collections::BTreeSet;
use std::io::{self, Write};

use attache_answers::inline;
use attache_engine::{Path, Value};
use serde::Serialize;
use serde_json::Value as Json;

use super::Screen;
use super::style::{DIM, HEAD, OBJECT, POLICY, paint};
use super::table::Table;

/// What is in force on an object, as the controller reports it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reported {
    object: String,
    policy_kind: String,
    scopes: Vec<Json>,
}

impl Reported {
    /// Reads an EffectivePolicy. `None` if it names only policies that are known.
    pub fn new(item: &Json, known: &BTreeSet<String>) -> Option<Reported> {
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let scopes = item["status"]["scopes"].as_array().cloned().unwrap_or_default();
        let lists = scopes.iter().flat_map(|scope| ["origins", "policies", "superseded"].map(|list| &scope[list]));
        let mut policies = lists.flat_map(|list| list.as_array().into_iter().flatten()).map(|it| text(&it["policy"]));
        let is_news = policies.any(|policy| !known.contains(&policy));
        drop(policies);
        is_news.then(|| Reported {
            object: format!("{}/{}", text(&item["spec"]["object"]["kind"]), text(&item["spec"]["object"]["name"])),
            policy_kind: text(&item["spec"]["policyKind"]),
            scopes,
        })
    }

    /// The values that are in force, each with its policy, and those that lost; each once.
    fn rows(&self) -> Vec<(String, String)> {
        let mut rows = Vec::new();
        for scope in &self.scopes {
            let spec = Value::from(scope["spec"].clone());
            let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
            let list = |name: &str| scope[name].as_array().into_iter().flatten();
            let values = list("origins").map(|origin| {
                let path = text(&origin["path"]);
                let value = Path::parse(&path).resolve(&spec).map(inline).unwrap_or_default();
                (format!("{path}: {value}"), text(&origin["policy"]))
            });
            let applied = list("policies").map(|it| (inline(&Value::from(it["spec"].clone())), text(&it["policy"])));
            let lost = list("superseded").map(|lost| {
                (
                    format!("✗ {}", text(&lost["path"])),
                    format!("{}, overridden by {}", text(&lost["policy"]), text(&lost["by"])),
                )
            });
            for row in values.chain(applied).chain(lost) {
                if !rows.contains(&row) {
                    rows.push(row);
                }
            }
        }
        rows
    }
}

/// Writes what is reported, below an answer.
pub fn write(reported: &[Reported], screen: &mut Screen) -> io::Result<()> {
    if reported.is_empty() {
        return Ok(());
    }
    let heading = "reported by the controller in the cluster, of policies that you may not read:";
    writeln!(screen, "\n{}", paint(DIM, heading))?;
    for item in reported {
        writeln!(screen, "\n{}   on {}", paint(HEAD, &item.policy_kind), paint(OBJECT, &item.object))?;
        let mut table = Table::plain(2);
        for (value, policy) in item.rows() {
            table.row([value.into(), paint(POLICY, policy).into()]);
        }
        table.write(screen)?;
    }
    Ok(())
}

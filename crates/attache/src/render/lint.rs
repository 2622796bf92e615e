//! Findings, for a person or for a pull request.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use attache_engine::lint::{Finding, RULES, Rule};
use attache_engine::problem::{Problem, Severity};

use super::problem::severity_style;
use super::style::{DIM, GOOD, HEAD, OBJECT, paint};
use super::table::{Cell, Table, fold};
use super::{Screen, counted};
use attache_answers::Snapshot;

pub struct LintView<'i> {
    pub input: &'i Snapshot,
    /// How many findings of one rule are shown before the rest is only counted.
    pub most: usize,
    /// How many are not shown because they are suppressed.
    pub suppressed: usize,
}

impl LintView<'_> {
    /// By file, then by object. Findings are given in that order.
    pub fn write(&self, findings: &[&Finding], screen: &mut Screen) -> io::Result<()> {
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let shown: Vec<&Finding> = findings
            .iter()
            .copied()
            .filter(|finding| {
                let count = seen.entry(finding.rule.id).or_default();
                *count += 1;
                *count <= self.most
            })
            .collect();
        for of_file in shown.chunk_by(|a, b| a.problem.file == b.problem.file) {
            let file = of_file.first().and_then(|finding| finding.problem.file.as_deref());
            writeln!(screen, "{}", paint(HEAD, file.unwrap_or("the input")))?;
            write_findings(of_file, screen)?;
            writeln!(screen)?;
        }
        for (id, count) in seen.into_iter().filter(|(_, count)| *count > self.most) {
            let more = format!("and {} more of {id}: {}", count - self.most, screen.invocation.in_full());
            writeln!(screen, "{}", paint(DIM, more))?;
        }
        self.summary(findings, screen)
    }

    fn summary(&self, findings: &[&Finding], screen: &mut Screen) -> io::Result<()> {
        let count = |severity| findings.iter().filter(|finding| finding.rule.severity == severity).count();
        let parts: Vec<String> = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Info, "note")]
            .into_iter()
            .map(|(severity, what)| (count(severity), severity, what))
            .filter(|(count, ..)| *count > 0)
            .map(|(count, severity, what)| paint(severity_style(severity), counted(count, what)).to_string())
            .collect();
        let suppressed = match self.suppressed {
            0 => String::new(),
            count => {
                paint(DIM, format!("; {count} suppressed: {}", screen.invocation.with("--show-suppressed"))).to_string()
            }
        };
        let (objects, policies) = (self.input.engine.objects().len(), self.input.engine.policies().len());
        if parts.is_empty() {
            let (objects, policies) = (counted(objects, "object"), counted(policies, "policy"));
            let clean = format!("nothing is wrong or pointless in {objects} ({policies})");
            return writeln!(screen, "{}{suppressed}", paint(GOOD, clean));
        }
        writeln!(screen, "{}{suppressed}", parts.join(", "))?;
        let first = findings.iter().min_by_key(|finding| finding.rule.severity).map_or("", |finding| finding.rule.id);
        writeln!(
            screen,
            "{}",
            paint(DIM, format!("what it means: {} lint --explain {first}", screen.invocation.program.name()))
        )
    }
}

/// Findings of one file, or of one object.
pub fn write_findings(findings: &[&Finding], screen: &mut Screen) -> io::Result<()> {
    let mut table = Table::plain(2);
    let mut said = BTreeSet::new();
    for of_object in findings.chunk_by(|a, b| subject(&a.problem) == subject(&b.problem)) {
        if let Some(subject) = of_object.first().and_then(|finding| subject(&finding.problem)) {
            table.row([paint(OBJECT, subject).into()]);
        }
        for finding in of_object {
            let Problem { severity, location: place, message, help, .. } = &finding.problem;
            let place = place.map(|place| format!("{}:{}", place.line, place.column)).unwrap_or_default();
            table.row([
                paint(DIM, format!("  {place}")).into(),
                paint(severity_style(*severity), severity).into(),
                paint(HEAD, finding.rule.id).into(),
                message.as_str().into(),
            ]);
            let remarks = match &finding.suppressed {
                Some(reason) => Some(format!("suppressed: {reason}")),
                // What to do about all of its kind is said once.
                None => help.as_ref().filter(|help| said.insert(*help)).map(|help| format!("help: {help}")),
            };
            if let Some(remark) = remarks {
                table.row([Cell::from(""), "".into(), "".into(), paint(DIM, remark).into()]);
            }
        }
    }
    table.write(screen)
}

/// What a problem is about: an object, or a document that is none.
fn subject(problem: &Problem) -> Option<String> {
    let object = problem.object.as_ref().map(ToString::to_string);
    object.or_else(|| Some(format!("document {}", problem.document?)))
}

/// The rules, one line each.
pub fn write_rules(screen: &mut Screen) -> io::Result<()> {
    let mut table = Table::new(&["ID", "SEVERITY", "WHAT"]);
    for rule in RULES {
        table.row([
            rule.id.into(),
            paint(severity_style(rule.severity), rule.severity).into(),
            paint(super::style::PLAIN, rule.title).into(),
        ]);
    }
    table.write(screen)
}

/// What a rule means, with an example.
pub fn write_explanation(rule: &Rule, screen: &mut Screen) -> io::Result<()> {
    let severity = paint(severity_style(rule.severity), rule.severity);
    writeln!(screen, "{} ({severity})", paint(HEAD, rule.id))?;
    let width = screen.width();
    for line in fold(&format!("{}; {}.", rule.title, rule.fix), width) {
        writeln!(screen, "{line}")?;
    }
    writeln!(screen)?;
    let (text, examples) = rule.explanation.split_once("\n\n").unwrap_or((rule.explanation, ""));
    for line in fold(&text.replace('\n', " "), width) {
        writeln!(screen, "{line}")?;
    }
    writeln!(screen)?;
    for line in examples.lines().filter(|line| !line.starts_with("```")) {
        let indent = if line.is_empty() || line == "Better:" { "" } else { "  " };
        writeln!(screen, "{indent}{line}")?;
    }
    Ok(())
}

/// As workflow commands of GitHub, which become annotations of the files.
pub fn write_github(findings: &[&Finding], screen: &mut Screen) -> io::Result<()> {
    for finding in findings {
        let problem = &finding.problem;
        let command = match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "notice",
        };
        let mut properties = Vec::new();
        if let Some(file) = &problem.file {
            properties.push(format!("file={}", escaped(file, &['%', '\r', '\n', ':', ','])));
        }
        if let Some(place) = problem.location {
            properties.push(format!("line={},col={}", place.line, place.column));
        }
        properties.push(format!("title={}", finding.rule.id));
        let object = problem.object.as_ref().map(|object| format!("{object}: ")).unwrap_or_default();
        let help = problem.help.as_ref().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
        let message = escaped(&format!("{object}{}{help}", problem.message), &['%', '\r', '\n']);
        writeln!(screen, "::{command} {}::{message}", properties.join(","))?;
    }
    Ok(())
}

fn escaped(text: &str, special: &[char]) -> String {
    let escape = |c: char| if special.contains(&c) { format!("%{:02X}", c as u32) } else { c.to_string() };
    text.chars().map(escape).collect()
}

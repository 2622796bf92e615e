//! Findings as text, and as annotations of GitHub.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use attache_answers::lint::{FindingDocument, FindingList};
use attache_engine::Severity;
use attache_engine::lint::{RULES, Rule};

use super::problem::severity_style;
use super::style::{DIM, GOOD, HEAD, OBJECT, paint};
use super::table::{Cell, Table, fold};
use super::{Screen, counted};

pub struct LintView<'d> {
    pub list: &'d FindingList,
    /// The number of findings of one rule that are shown before the rest is only counted.
    pub most: usize,
    /// Whether suppressed findings are shown, too.
    pub show_suppressed: bool,
}

impl LintView<'_> {
    /// The findings by file, then by object.
    pub fn write(&self, screen: &mut Screen) -> io::Result<()> {
        let findings = self.findings();
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let is_shown = |finding: &&&FindingDocument| {
            let count = seen.entry(finding.id).or_default();
            *count += 1;
            *count <= self.most
        };
        let shown: Vec<&FindingDocument> = findings.iter().filter(is_shown).copied().collect();
        for of_file in shown.chunk_by(|a, b| a.file == b.file) {
            let file = of_file.first().and_then(|finding| finding.file.as_deref());
            writeln!(screen, "{}", paint(HEAD, file.unwrap_or("the input")))?;
            write_findings(of_file, screen)?;
            writeln!(screen)?;
        }
        for (id, count) in seen.into_iter().filter(|(_, count)| *count > self.most) {
            let more = format!("and {} more of {id}: {}", count - self.most, screen.invocation.in_full());
            writeln!(screen, "{}", paint(DIM, more))?;
        }
        self.summary(&findings, screen)
    }

    /// The findings to show.
    fn findings(&self) -> Vec<&FindingDocument> {
        let is_open = |finding: &&FindingDocument| self.show_suppressed || finding.suppressed.is_none();
        self.list.items.iter().filter(is_open).collect()
    }

    fn summary(&self, findings: &[&FindingDocument], screen: &mut Screen) -> io::Result<()> {
        let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
        let parts: Vec<String> = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Info, "note")]
            .into_iter()
            .map(|(severity, what)| (count(severity), severity, what))
            .filter(|(count, ..)| *count > 0)
            .map(|(count, severity, what)| paint(severity_style(severity), counted(count, what)).to_string())
            .collect();
        let suppressed = match self.list.items.len() - findings.len() {
            0 => String::new(),
            count => {
                let see = screen.invocation.with("--show-suppressed");
                paint(DIM, format!("; {count} suppressed: {see}")).to_string()
            }
        };
        if parts.is_empty() {
            let (objects, policies) = (counted(self.list.objects, "object"), counted(self.list.policies, "policy"));
            let clean = format!("no problems found in {objects} ({policies})");
            return writeln!(screen, "{}{suppressed}", paint(GOOD, clean));
        }
        writeln!(screen, "{}{suppressed}", parts.join(", "))?;
        let first = findings.iter().min_by_key(|finding| finding.severity).map_or("", |finding| finding.id);
        let program = screen.invocation.program.name();
        writeln!(screen, "{}", paint(DIM, format!("what it means: {program} lint --explain {first}")))
    }

    /// As workflow commands of GitHub, which become annotations of the files.
    pub fn write_github(&self, screen: &mut Screen) -> io::Result<()> {
        for finding in self.findings() {
            let command = match finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Info => "notice",
            };
            let mut properties = Vec::new();
            if let Some(file) = &finding.file {
                properties.push(format!("file={}", escaped(file, &['%', '\r', '\n', ':', ','])));
            }
            if let (Some(line), Some(column)) = (finding.line, finding.column) {
                properties.push(format!("line={line},col={column}"));
            }
            properties.push(format!("title={}", finding.id));
            let object = finding.object.as_ref().map(|object| format!("{object}: ")).unwrap_or_default();
            let help = finding.help.as_ref().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
            let message = escaped(&format!("{object}{}{help}", finding.message), &['%', '\r', '\n']);
            writeln!(screen, "::{command} {}::{message}", properties.join(","))?;
        }
        Ok(())
    }
}

/// Findings of one file, or of one object.
pub fn write_findings(findings: &[&FindingDocument], screen: &mut Screen) -> io::Result<()> {
    let mut table = Table::plain(2);
    let mut given = BTreeSet::new();
    for of_object in findings.chunk_by(|a, b| subject(a) == subject(b)) {
        if let Some(subject) = of_object.first().and_then(|finding| subject(finding)) {
            table.row([paint(OBJECT, subject).into()]);
        }
        for finding in of_object {
            let position = match (finding.line, finding.column) {
                (Some(line), Some(column)) => format!("{line}:{column}"),
                _ => String::new(),
            };
            table.row([
                paint(DIM, format!("  {position}")).into(),
                paint(severity_style(finding.severity), finding.severity).into(),
                paint(HEAD, finding.id).into(),
                finding.message.as_str().into(),
            ]);
            let remark = match &finding.suppressed {
                Some(reason) => Some(format!("suppressed: {reason}")),
                // The same help is shown once.
                None => finding.help.as_ref().filter(|help| given.insert(*help)).map(|help| format!("help: {help}")),
            };
            if let Some(remark) = remark {
                table.row([Cell::from(""), "".into(), "".into(), paint(DIM, remark).into()]);
            }
        }
    }
    table.write(screen)
}

/// The subject of a finding: an object, or a document that is not an object.
fn subject(finding: &FindingDocument) -> Option<String> {
    let object = finding.object.as_ref().map(ToString::to_string);
    object.or_else(|| Some(format!("document {}", finding.document?)))
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

/// The explanation of a rule, with an example.
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

fn escaped(text: &str, special: &[char]) -> String {
    let escape = |c: char| if special.contains(&c) { format!("%{:02X}", c as u32) } else { c.to_string() };
    text.chars().map(escape).collect()
}

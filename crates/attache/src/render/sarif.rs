//! Findings as SARIF 2.1.0, the format of code scanning tools.

use attache_answers::lint::FindingDocument;
use attache_engine::Severity;
use attache_engine::lint::{RULES, Rule};
use serde_json::{Value, json};

use crate::source::STDIN;

pub fn sarif_log(findings: &[FindingDocument]) -> Value {
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "attache",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": RULES.iter().map(|rule| descriptor(rule)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": findings.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

fn descriptor(rule: &Rule) -> Value {
    // Code scanners require all of these.
    json!({
        "id": rule.id,
        "name": rule.id.split('-').map(capitalised).collect::<String>(),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.explanation.split("\n\n").next().unwrap_or_default().replace('\n', " ")},
        "help": {"text": rule.explanation, "markdown": rule.explanation},
        "defaultConfiguration": {"level": level(rule.severity)},
    })
}

fn capitalised(word: &str) -> String {
    let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
    first.to_uppercase() + rest
}

fn result(finding: &FindingDocument) -> Value {
    let text = match &finding.help {
        Some(help) => format!("{}\nhelp: {help}", finding.message),
        None => finding.message.clone(),
    };
    let mut result = json!({
        "ruleId": finding.id,
        "ruleIndex": RULES.iter().position(|rule| rule.id == finding.id),
        "level": level(finding.severity),
        "message": {"text": text},
        "locations": [location(finding)],
    });
    if let Some(reason) = &finding.suppressed {
        result["suppressions"] = json!([{"kind": "inSource", "justification": reason}]);
    }
    result
}

fn location(finding: &FindingDocument) -> Value {
    let mut location = json!({});
    // Standard input is not a file that can be opened.
    if let Some(file) = finding.file.as_deref().filter(|file| *file != STDIN) {
        location["physicalLocation"] = json!({"artifactLocation": {"uri": uri(file)}});
        if let (Some(line), Some(column)) = (finding.line, finding.column) {
            location["physicalLocation"]["region"] = json!({"startLine": line, "startColumn": column});
        }
    }
    if let Some(object) = &finding.object {
        let name = finding.path.as_ref().map_or_else(|| object.to_string(), |path| format!("{object}.{path}"));
        location["logicalLocations"] = json!([{"fullyQualifiedName": name, "kind": "object"}]);
    }
    location
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// A path as a relative reference, or as a file URI if it is absolute.
fn uri(path: &str) -> String {
    let mut uri = if path.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(byte.into()),
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_as_uris() {
        assert_eq!(uri("a b/ü.yaml"), "a%20b/%C3%BC.yaml");
        assert_eq!(uri("/tmp/x:y.yaml"), "file:///tmp/x%3Ay.yaml");
    }
}

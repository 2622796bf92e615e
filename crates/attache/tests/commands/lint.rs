use std::path::Path;

use attache_engine::lint::RULES;

use super::run;

/// A folder with an example of every mistake that lint finds.
const MISTAKES: &str = "crates/attache/tests/lint";

fn lint(options: &str) -> String {
    run(&format!("attache lint {options} -f {MISTAKES}"))
}

#[test]
fn every_mistake() {
    insta::assert_snapshot!(lint(""));
}

#[test]
fn every_mistake_is_among_them() {
    let found = lint("-o json --show-suppressed");
    for rule in RULES {
        assert!(found.contains(&format!("\"id\": \"{}\"", rule.id)), "nothing breaks {}", rule.id);
    }
}

#[test]
fn in_colour() {
    insta::assert_snapshot!(run(&format!("attache lint --color always -f {MISTAKES}/kinds.yaml")));
}

#[test]
fn as_json() {
    insta::assert_snapshot!(lint("-n infra -o json"));
}

#[test]
fn as_yaml() {
    insta::assert_snapshot!(lint("-n store -o yaml"));
}

#[test]
fn for_github() {
    insta::assert_snapshot!(lint("-n baker -o github"));
}

#[test]
fn as_sarif() {
    let transcript = run(&format!("attache lint -o sarif -f {MISTAKES}/kinds.yaml -f {MISTAKES}/suppressed.yaml"));
    let text: String = transcript.lines().skip(1).take_while(|line| !line.starts_with("---")).collect();
    let mut log: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let rules = log["runs"][0]["tool"]["driver"]["rules"].take();
    let rules = rules.as_array().expect("rules");
    for (rule, known) in rules.iter().zip(RULES) {
        assert_eq!(rule["id"], known.id);
        assert_eq!(rule["shortDescription"]["text"], known.title);
        assert!(["error", "warning", "note"].iter().any(|level| rule["defaultConfiguration"]["level"] == **level));
    }
    assert_eq!(rules.len(), RULES.len());
    for result in log["runs"][0]["results"].as_array().expect("results") {
        let index = result["ruleIndex"].as_u64().expect("an index") as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(result["message"]["text"].is_string());
        assert!(result["locations"][0]["physicalLocation"]["region"]["startLine"].as_u64() >= Some(1));
    }
    insta::assert_snapshot!(serde_json::to_string_pretty(&log).expect("it can be written"));
}

#[test]
fn suppressed_findings_are_counted_and_can_be_shown() {
    insta::assert_snapshot!(run(&format!("attache lint -f {MISTAKES}/kinds.yaml -f {MISTAKES}/suppressed.yaml")));
    insta::assert_snapshot!(
        "what_is_suppressed_is_shown",
        run(&format!("attache lint --show-suppressed -f {MISTAKES}/kinds.yaml -f {MISTAKES}/suppressed.yaml"))
    );
}

#[test]
fn the_level_to_fail_on_decides_the_exit_code() {
    let exit = |options: &str| run(&format!("attache lint {options}")).lines().last().map(str::to_owned);
    let failed = Some("--- exit 1".to_owned());
    let notes = "-f crates/attache/tests/rivals/ages.yaml";
    assert_ne!(exit(notes), failed);
    assert_ne!(exit(&format!("{notes} --fail-on warning")), failed);
    assert_eq!(exit(&format!("{notes} --fail-on info")), failed);
    let warnings = "-f examples/kuadrant -n toys";
    assert_ne!(exit(warnings), failed);
    assert_eq!(exit(&format!("{warnings} --fail-on warning")), failed);
    let errors = "-f examples/envoy-gateway";
    assert_eq!(exit(errors), failed);
    assert_ne!(exit(&format!("{errors} --fail-on never")), failed);
}

#[test]
fn unreadable_input_is_exit_code_2() {
    let shown = run("attache lint -f nowhere.yaml --fail-on never");
    assert!(
        shown.trim_end().ends_with("--- exit 2") && shown.contains("there is no file or folder `nowhere.yaml`"),
        "{shown}"
    );
}

#[test]
fn a_suppressed_error_does_not_fail() {
    let planned = "
apiVersion: kuadrant.io/v1
kind: AuthPolicy
metadata: {name: p, annotations: {attache.dev/lint-ignore: \"dangling-target: next week\"}}
spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: gw}, rules: {authentication: {a: {anonymous: {}}}}}
";
    insta::assert_snapshot!(super::run_with("attache lint -f -", planned));
}

#[test]
fn nothing_is_wrong() {
    insta::assert_snapshot!(run("attache lint -f examples/bakery"));
}

#[test]
fn explained() {
    insta::assert_snapshot!(run("attache lint --explain never-wins"));
}

#[test]
fn explained_with_a_typo() {
    insta::assert_snapshot!(run("attache lint --explain dangling-traget"));
}

#[test]
fn rules() {
    insta::assert_snapshot!(run("attache lint --rules"));
}

#[test]
fn the_documentation_lists_every_rule() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lint.md");
    let text = std::fs::read_to_string(&file).expect("readable");
    let (before, rest) = text.split_once("<!-- rules -->\n").expect("a mark before the rules");
    let (_, after) = rest.split_once("<!-- end of rules -->").expect("a mark after the rules");
    let mut rules = String::from("| id | severity | finding | fix |\n|---|---|---|---|\n");
    for rule in RULES {
        rules += &format!("| `{}` | {} | {} | {} |\n", rule.id, rule.severity, rule.title, rule.fix);
    }
    let truth = format!("{before}<!-- rules -->\n{rules}<!-- end of rules -->{after}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &truth).expect("writable");
    }
    assert!(text == truth || std::env::var_os("UPDATE_DOCS").is_some(), "run with UPDATE_DOCS=1");
}

#[test]
fn a_namespace_without_objects_is_a_typo() {
    insta::assert_snapshot!(lint("-n bakr"));
}

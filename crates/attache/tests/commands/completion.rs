use std::path::Path;
use std::process::Command;

use super::{linked, run};

/// The completions for the word at `│`, on a line at the root of the repository.
fn offered(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let at = words.iter().position(|word| word.ends_with('│')).expect("a place to complete");
    let output = Command::new(env!("CARGO_BIN_EXE_attache"))
        .arg("--")
        .args(words.iter().map(|word| word.trim_end_matches('│')))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env_clear()
        .env("KUBECONFIG", "/nowhere/kubeconfig")
        .envs([("_ATTACHE_COMPLETE", "bash"), ("_CLAP_IFS", " ")])
        .env("_CLAP_COMPLETE_INDEX", at.to_string())
        .output()
        .expect("the program runs");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn commands() {
    assert_eq!(offered("attache eff│"), "effective");
    assert!(!offered("attache │").contains("--"), "options are offered only if nothing else can be");
    assert!(!offered("attache │").contains("man"), "what is hidden is not offered");
}

#[test]
fn options_and_their_values() {
    assert_eq!(offered("attache status --al│"), "--all-namespaces");
    assert_eq!(offered("attache get policies -o │"), "wide name yaml json");
    assert_eq!(offered("attache completions │"), "bash zsh fish");
}

#[test]
fn kinds_then_names_then_sections() {
    let kinds = "gateway/ gatewayclass/ httproute/ namespace/ policykind/ retrypolicy/ service/";
    assert_eq!(offered("attache effective │ -f examples/bakery"), kinds);
    assert_eq!(offered("attache effective httproute/p│ -f examples/bakery"), "httproute/payments httproute/pies");
    assert_eq!(offered("attache effective HTTPRoutes/baker/c│ -f examples/bakery"), "HTTPRoutes/baker/cakes");
    assert_eq!(
        offered("attache -f examples/bakery effective httproute/cakes#│"),
        "httproute/cakes#menu httproute/cakes#orders"
    );
}

#[test]
fn files_are_found_in_every_notation() {
    for files in ["-f examples/bakery", "-fexamples/bakery", "--filename=examples/bakery", "--filename examples/bakery"]
    {
        assert_eq!(offered(&format!("attache {files} topology svc/o│")), "svc/orders", "{files}");
    }
}

#[test]
fn names_after_a_kind() {
    assert_eq!(offered("attache effective svc p│ -f examples/bakery"), "payments pies");
}

#[test]
fn names_that_two_namespaces_have_come_with_the_namespace() {
    let line = "attache effective svc/│ -f crates/attache/tests/input/same-names.yaml";
    assert_eq!(offered(line), "svc/baker/pies svc/cakes svc/shop/pies");
    assert_eq!(offered(&line.replace(" -f", " -n shop -f")), "svc/pies");
}

#[test]
fn only_policies_where_only_a_policy_will_do() {
    assert_eq!(offered("attache reach │ -f examples/bakery"), "retrypolicy/");
    assert_eq!(offered("attache reach retrypolicy/p│ -f examples/bakery"), "retrypolicy/pay-once");
}

#[test]
fn namespaces_and_policy_kinds() {
    assert_eq!(offered("attache status -n │ -f examples/bakery"), "baker infra");
    assert_eq!(offered("attache effective --kind │ -f examples/bakery"), "retrypolicy");
    assert_eq!(offered("attache audit --require r│ -f examples/bakery"), "retrypolicy");
    assert_eq!(offered("attache get kinds --kind backendtls│"), "backendtlspolicy");
}

#[test]
fn lint_rules() {
    assert_eq!(offered("attache lint --explain never│"), "never-wins");
}

#[test]
fn files() {
    assert_eq!(offered("attache topology -f examples/bakery/ba│"), "examples/bakery/baker.yaml");
}

#[test]
fn completion_ignores_unreadable_files() {
    let broken = "-f nowhere -f - -f crates/attache/tests/commands/policytests/broken.yaml";
    assert_eq!(offered(&format!("attache effective httproute/c│ -f examples/bakery {broken}")), "httproute/cakes");
    assert_eq!(offered("attache effective httproute/c│ -f nowhere"), "");
    assert_eq!(offered("attache nonsense --wrong x/y/z#│"), "");
}

#[test]
fn scripts_ask_the_program() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&format!("attache completions {shell}")).replace('"', "");
        assert!(script.contains(&format!("_ATTACHE_COMPLETE={shell}")), "{script}");
    }
}

#[cfg(unix)]
#[test]
fn kubectl_gets_one_candidate_per_line_and_a_directive() {
    let complete = linked("kubectl_complete-attache");
    let offered = |words: &[&str]| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let output = Command::new(&complete).args(words).current_dir(folder).output().expect("the program runs");
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    assert_eq!(offered(&["vers"]), "version\tPrint the version, and the source that it was built from\n:4\n");
    assert_eq!(offered(&["effective", "-f", "examples/bakery", "h"]), "httproute/\n:6\n");
    assert_eq!(offered(&["effective", "-f", "examples/bakery", "httproute/c"]), "httproute/cakes\n:4\n");
    assert_eq!(offered(&["nonsense", "x"]), ":4\n");
}

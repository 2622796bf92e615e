use std::process::{Command, Stdio};

use super::{linked, run};

#[test]
fn of_the_program() {
    insta::assert_snapshot!(run("attache --help"));
}

/// Every command that is listed in the help of the program.
fn commands() -> Vec<String> {
    let help = run("attache --help");
    let (_, list) = help.split_once("Commands:\n").expect("a list of commands");
    let (list, _) = list.split_once("\n\n").expect("an end of it");
    let command = |line: &str| Some(line.strip_prefix("  ")?.split_once(' ')?.0.to_owned());
    list.lines().filter_map(command).filter(|command| !command.is_empty()).collect()
}

#[test]
fn of_commands() {
    for command in commands() {
        insta::assert_snapshot!(command.clone(), run(&format!("attache {command} --help")));
    }
}

#[test]
fn what_it_was_built_from() {
    let (version, target) = (env!("CARGO_PKG_VERSION"), env!("ATTACHE_TARGET"));
    let text = run("attache version");
    assert!(text.contains(&format!("attache {version} (")) && text.ends_with(&format!("{target})\n")), "{text}");
    let json = run("attache version -o json");
    for (field, value) in [("version", version), ("target", target)] {
        assert!(json.contains(&format!("\"{field}\": \"{value}\"")), "{json}");
    }
}

#[test]
fn there_is_a_man_page_for_the_program_and_for_each_command() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(run(&format!("attache man {}", folder.path().display())).lines().count(), 1);
    let page = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect(name);
    assert!(page("attache.1").contains("attache\\-effective(1)"));
    for command in commands() {
        assert!(page(&format!("attache-{command}.1")).contains("\\fBattache "), "{command}");
    }
    insta::assert_snapshot!(page("attache-effective.1"));
}

#[test]
fn a_folder_that_cannot_be_made_for_man_pages() {
    insta::assert_snapshot!(run("attache man README.md/man"));
}

#[cfg(unix)]
#[test]
fn as_a_plugin_of_kubectl_it_calls_itself_so_everywhere() {
    let plugin = linked("kubectl-attache");
    for command in commands().iter().map(String::as_str).chain([""]) {
        for help in ["-h", "--help"] {
            let words = [command, help].into_iter().filter(|word| !word.is_empty());
            let output = Command::new(&plugin).args(words).output().expect("the program runs");
            let help = String::from_utf8_lossy(&output.stdout);
            assert!(help.contains(&format!("Usage: kubectl attache {command}")), "{help}");
            let rest = help.replace("kubectl attache ", "");
            assert!(!rest.contains("attache "), "{help}");
        }
    }
    let bakery = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/bakery");
    let output = Command::new(&plugin).args(["describe", "httproute/cakes", "-f", bakery]).output().expect("it runs");
    assert!(String::from_utf8_lossy(&output.stdout).contains("kubectl attache explain"), "{output:?}");
    let output = Command::new(&plugin).args(["completions", "bash"]).output().expect("the program runs");
    assert!(String::from_utf8_lossy(&output.stderr).contains("`kubectl_complete-attache`"), "{output:?}");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_attache"))
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn help_is_a_command_too() {
    let body = |line: &str| run(line).lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(body("attache help"), body("attache --help"));
    assert_eq!(body("attache help request"), body("attache request --help"));
}

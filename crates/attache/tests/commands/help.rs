use super::run;

#[test]
fn of_the_program() {
    insta::assert_snapshot!(run("attache --help"));
}

#[test]
fn of_commands() {
    for command in ["get", "effective", "status", "topology", "test", "completions"] {
        insta::assert_snapshot!(command, run(&format!("attache {command} --help")));
    }
}

#[test]
fn version() {
    assert_eq!(run("attache version"), format!("$ attache version\nattache {}\n", env!("CARGO_PKG_VERSION")));
}

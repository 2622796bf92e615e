//! Plans by editing in the page.

use crate::browser::tab;
use crate::server::Server;

#[test]
fn an_edited_policy_is_planned() {
    let Some(tab) = tab() else { return };
    let server = Server::example("bakery");
    tab.goto(&server.at("/policy/RetryPolicy.example.io/baker/be-patient"));
    tab.click_text("What if it were edited?");
    tab.wait("document.getElementById('yaml').value.includes('attempts: 5')");
    tab.eval("document.getElementById('yaml').value = document.getElementById('yaml').value.replace('attempts: 5', 'attempts: 3')");
    tab.click_text("What would change?");
    tab.wait_for("retry.attempts: 5");
    tab.wait_for("retry.attempts: 3");
    tab.wait_for("attache plan --apply change.yaml");
    tab.wait("document.getElementById('yaml').value.includes('attempts: 3')");
    assert_eq!(tab.inaccessible(), Vec::<String>::new());
    assert_eq!(tab.violations(), Vec::<String>::new());
}

#[test]
fn broken_yaml_is_shown_with_the_error_under_the_line() {
    let Some(tab) = tab() else { return };
    let server = Server::example("bakery");
    tab.goto(&server.at("/plan"));
    tab.eval("document.getElementById('yaml').value = 'kind: A\\nmetadata: [\\n'");
    tab.click_text("What would change?");
    tab.wait_for("The change cannot be read");
    tab.wait_for("2 │ metadata: [");
    tab.wait("document.getElementById('yaml').value.startsWith('kind: A')");
    assert_eq!(tab.inaccessible(), Vec::<String>::new());
}

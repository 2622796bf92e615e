//! What can be taken away: commands, YAML, the picture, paper.

use crate::browser::tab;
use crate::server::Server;

#[test]
fn every_view_has_a_command_that_can_be_copied() {
    let Some(tab) = tab() else { return };
    let server = Server::example("bakery");
    tab.allow_clipboard(&server.address);
    for (path, command) in [
        ("/", "attache effective -f examples/bakery"),
        ("/?namespace=baker", "attache effective -n baker -f examples/bakery"),
        ("/policies", "attache get policies -f examples/bakery"),
        ("/problems", "attache lint -f examples/bakery"),
        ("/topology", "attache topology -f examples/bakery"),
        ("/request", "attache request GET URL --why -f examples/bakery"),
        ("/plan", "attache plan --apply change.yaml -f examples/bakery"),
        ("/changes", "attache watch --diff -f examples/bakery"),
        ("/object/Service/baker/orders", "attache describe Service/baker/orders -f examples/bakery"),
        (
            "/policy/RetryPolicy.example.io/baker/be-patient",
            "attache describe RetryPolicy/baker/be-patient -f examples/bakery",
        ),
    ] {
        tab.goto(&server.at(path));
        assert_eq!(tab.eval("document.querySelector('.command code').innerText"), command, "{path}");
        tab.click(".command button");
        tab.wait("document.querySelector('.command button').innerText === 'Copied'");
        assert_eq!(tab.eval("navigator.clipboard.readText()"), command, "{path}");
    }
}

#[test]
fn the_picture_is_saved_as_a_file_of_its_own() {
    let Some(tab) = tab() else { return };
    let server = Server::example("bakery");
    tab.goto(&server.at("/topology"));
    tab.wait(
        "[...document.querySelectorAll('main a[download]')].some((it) => it.getAttribute('href') === '/topology.svg')",
    );
    let file = server.get("/topology.svg");
    assert!(file.contains("content-disposition: attachment; filename=\"topology.svg\""), "{file}");
    let drawn = tab.eval(
        "fetch('/topology.svg').then((it) => it.text()).then((it) => new DOMParser().parseFromString(it, 'image/svg+xml'))\
         .then((it) => it.documentElement.tagName + ' ' + it.documentElement.textContent.includes('be-patient') + ' ' + \
         !!it.querySelector('style') + ' ' + it.querySelectorAll('a, script').length)",
    );
    assert_eq!(drawn, "svg true true 0");
}

#[test]
fn the_picture_is_zoomed_and_searched() {
    let Some(tab) = tab() else { return };
    let server = Server::example("bakery");
    tab.goto(&server.at("/topology"));
    let width = "document.querySelector('#picture svg').width.baseVal.value";
    let before = tab.eval(width).as_f64().unwrap();
    tab.click("button[data-zoom=in]");
    assert!(tab.eval(width).as_f64().unwrap() > before);
    tab.click("button[data-zoom=fit]");
    assert!(tab.eval(&format!("{width} <= document.querySelector('#picture').clientWidth")).as_bool().unwrap());
    tab.click("#find");
    tab.write("be-patient");
    tab.wait("document.querySelectorAll('#picture .found').length === 1");
    tab.goto(&server.at("/object/Service/baker/orders"));
    tab.click_text("show in the topology");
    tab.wait("document.querySelector('#picture .focused')");
    tab.wait_for("around Service baker/orders");
    assert!(!tab.text().contains("baker/bread"));
}

#[test]
fn a_printed_page_has_no_controls_and_all_rows() {
    let Some(tab) = tab() else { return };
    let server = Server::example("bakery");
    for path in ["/", "/object/HTTPRoute.gateway.networking.k8s.io/baker/payments", "/topology"] {
        tab.goto(&server.at(path));
        tab.print_media();
        assert_eq!(tab.eval("[...document.querySelectorAll('nav[aria-label=Views], .search, .filters, .copy')].filter((it) => it.getClientRects().length).length"), 0, "{path}");
        let cut = "[...document.querySelectorAll('main *')].filter((it) => ['auto', 'scroll'].includes(getComputedStyle(it).overflowY)).map((it) => it.className)";
        assert_eq!(tab.eval(cut), serde_json::json!([]), "{path}: nothing is in a box that scrolls");
        assert!(tab.pdf() > 5_000, "{path}");
    }
}

#[test]
fn yaml_has_the_line_and_the_policies_in_its_margin() {
    let Some(tab) = tab() else { return };
    let server = Server::example("rfc-0009");
    tab.goto(&server.at("/object/HTTPRoute.gateway.networking.k8s.io/toys/toystore"));
    tab.click_text("YAML");
    let margin = |line: &str| {
        tab.eval(&format!(
            "(() => {{ const row = [...document.querySelectorAll('.written tr')].find((it) => it.innerText.includes({})); \
             return [...row.cells].map((it) => it.innerText.trim()); }})()",
            serde_json::json!(line)
        ))
    };
    let name = margin("name: toystore");
    assert!(name[0].as_str().unwrap().parse::<u32>().is_ok(), "{name}");
    assert!(name[2].as_str().unwrap().contains("AuthPolicy toys/keys"), "{name}");
    let rule = tab.eval("[...document.querySelectorAll('.written tr')].filter((it) => it.innerText.includes('managers-only')).map((it) => it.dataset.key)");
    assert!(rule[0].as_str().unwrap().starts_with("spec.rules["), "{rule}");
}

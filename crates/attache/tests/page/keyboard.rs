//! Everything can be used with the keyboard.

use crate::browser::tab;
use crate::server::Server;

#[test]
fn an_object_is_found_and_opened_by_the_keyboard() {
    let Some(tab) = tab() else { return };
    let server = Server::example("bakery");
    tab.goto(&server.at("/"));
    assert_eq!(tab.eval("document.activeElement.id"), "search", "the search box has the focus");
    tab.write("payments");
    tab.wait("document.querySelectorAll('#results [role=option]').length > 1");
    tab.press("ArrowDown");
    tab.press("Enter");
    tab.wait("location.pathname.endsWith('/payments')");
    tab.eval("document.activeElement.blur()");
    tab.press("/");
    tab.wait("document.activeElement.id === 'search'");
    tab.write("be-pat");
    tab.wait("document.querySelector('#results [role=option]')");
    assert_eq!(tab.inaccessible(), Vec::<String>::new());
    tab.press("Escape");
    tab.wait("document.getElementById('results').hidden");
    assert_eq!(tab.eval("document.getElementById('search').value"), "");
    tab.press("Escape");
    tab.wait("document.activeElement.id !== 'search'");
    tab.press_with_control("k");
    tab.wait("document.activeElement.id === 'search'");
}

#[test]
fn arrows_select_search_results_and_announce_them() {
    let Some(tab) = tab() else { return };
    let server = Server::example("bakery");
    tab.goto(&server.at("/"));
    tab.write("cakes");
    tab.wait("document.querySelectorAll('#results [role=option]').length > 1");
    assert_eq!(tab.eval("document.getElementById('search').ariaExpanded"), "true");
    let chosen =
        "document.getElementById(document.getElementById('search').getAttribute('aria-activedescendant')).innerText";
    tab.press("ArrowDown");
    let first = tab.eval(chosen);
    tab.press("ArrowDown");
    assert_ne!(tab.eval(chosen), first);
    tab.press("ArrowUp");
    assert_eq!(tab.eval(chosen), first);
    tab.press("Escape");
    assert_eq!(tab.eval("document.getElementById('search').ariaExpanded"), "false");
}

#[test]
fn the_first_tab_leads_to_the_content() {
    let Some(tab) = tab() else { return };
    let server = Server::example("bakery");
    tab.goto(&server.at("/policies"));
    tab.press("Tab");
    assert_eq!(tab.eval("document.activeElement.innerText"), "Skip to the content");
    tab.press("Enter");
    tab.wait("document.activeElement.id === 'main'");
}

#[test]
fn a_url_in_the_search_box_is_followed() {
    let Some(tab) = tab() else { return };
    let server = Server::example("rfc-0009");
    tab.goto(&server.at("/"));
    tab.write("store.toys.example/admin");
    tab.wait("document.querySelector('#results [role=option]')");
    tab.press("ArrowDown");
    tab.press("Enter");
    tab.wait_for("from Service/toys/toystore:80");
}

#[test]
fn enter_in_the_search_box_filters_the_overview() {
    let Some(tab) = tab() else { return };
    let server = Server::example("bakery");
    tab.goto(&server.at("/"));
    tab.write("patient");
    tab.press("Enter");
    tab.wait_for("Policies that match");
    assert_eq!(tab.path(), "/?q=patient");
}

#[test]
fn the_back_button_leads_back() {
    let Some(tab) = tab() else { return };
    let server = Server::example("bakery");
    tab.goto(&server.at("/object/HTTPRoute.gateway.networking.k8s.io/baker/payments"));
    tab.click_text("Styles");
    tab.wait("location.search === '?show=styles'");
    tab.wait_for("is more specific");
    tab.eval("history.back()");
    tab.wait("location.search === '' && !document.body.innerText.includes('is more specific')");
}

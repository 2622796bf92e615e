//! The page on a cluster: a real API server.

use attache_testenv::bakery::GATEWAY_POLICY;
use attache_testenv::{TestCluster, open_bakery};

use crate::browser::tab;
use crate::server::Server;

#[test]
fn the_cluster_is_shown_and_followed() {
    let Some(tab) = tab() else { return };
    let Some(cluster) = TestCluster::start() else { return };
    open_bakery(&cluster, GATEWAY_POLICY);
    let server = Server::cluster(cluster.kubeconfig());
    tab.goto(&server.at("/"));
    tab.wait_for("retries 5");
    tab.wait_for(&format!("Attaché reads the cluster at {}", cluster.url()));
    assert_eq!(tab.inaccessible(), Vec::<String>::new());
    tab.goto(&server.at("/object/HTTPRoute.gateway.networking.k8s.io/baker/cakes"));
    tab.wait_for("RetryPolicy infra/be-patient");
    tab.wait("document.querySelector('.connection.live')");
    tab.leave();
    cluster.apply(&GATEWAY_POLICY.replace("retries: 5", "retries: 7"));
    tab.wait_for("retries: 7");
    tab.wait("document.querySelector('.changed')");
    tab.click_text("Changes");
    tab.wait_for("retries: 5");
    tab.wait_for("retries: 7");
    // A plan changes nothing.
    tab.goto(&server.at("/plan?delete=RetryPolicy/infra/be-patient"));
    tab.wait_for("retries: 7");
    assert!(cluster.kubectl(&["get", "retrypolicies", "-n", "infra"]).contains("be-patient"));
}

#[test]
fn unseen_kinds_are_named_on_every_view() {
    let Some(tab) = tab() else { return };
    let Some(cluster) = TestCluster::start() else { return };
    open_bakery(&cluster, GATEWAY_POLICY);
    let user = cluster.user("curious", None);
    cluster.allow_reading(&user, None, "gateway.networking.k8s.io", "*");
    let server = Server::cluster(&user.kubeconfig);
    for path in ["/", "/policies", "/topology"] {
        tab.goto(&server.at(path));
        tab.wait_for("Some kinds cannot be read");
        assert_eq!(tab.inaccessible(), Vec::<String>::new(), "{path}");
    }
}

//! Start, health, metrics, end.

use attache_testenv::bakery::GATEWAY_POLICY;
use attache_testenv::{Component, TestCluster, eventually, open_bakery};

use crate::harness::{Controller, create_namespace};

#[test]
fn it_starts_without_the_api_server_follows_changes_and_shuts_down() {
    let Some(mut cluster) = TestCluster::start() else { return };
    open_bakery(&cluster, GATEWAY_POLICY);
    create_namespace(&cluster);
    cluster.kill(Component::ApiServer);
    let controller = Controller::spawn(&cluster, cluster.kubeconfig(), &[]);
    eventually("it is alive, and not ready", || {
        let status = |path| controller.get(path).map(|(status, _)| status);
        status("/livez") == Some(200) && status("/readyz") == Some(503) && controller.log().contains("retrying")
    });
    cluster.start_again(Component::ApiServer);
    controller.wait_until_ready();
    let objects = controller.metric("attache_objects");
    assert!(objects > 5.0, "{objects}");
    cluster.apply(&GATEWAY_POLICY.replace("be-patient", "another"));
    eventually("the new policy is followed", || controller.metric("attache_objects") > objects);
    eventually("the batch is counted", || controller.metric("attache_event_to_snapshot_seconds_count") >= 1.0);
    assert!(controller.stop().success());
}

#[test]
fn an_address_that_is_taken_is_an_error() {
    let Some(cluster) = TestCluster::start() else { return };
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let controller = Controller::spawn(&cluster, cluster.kubeconfig(), &["--listen", &address]);
    eventually("it says so", || controller.log().contains(&format!("error: cannot listen on {address}")));
}

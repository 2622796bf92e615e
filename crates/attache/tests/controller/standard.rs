//! The three examples of GEP-713: every status that it lists, written by the controller and read by kubectl.

use attache_testenv::{TestCluster, eventually};
use serde_json::json;

use crate::harness::{Controller, create_namespace};
use crate::world::{
    ancestors, become_lines, conditions, install_crds, install_kind, policy, policy_kind, statuses, topology,
};

#[test]
fn the_examples_of_the_standard_have_the_statuses_of_the_standard() {
    let Some(cluster) = TestCluster::start() else { return };
    install_crds(&cluster);
    create_namespace(&cluster);
    let controller = Controller::start(&cluster, &[]);
    direct(&cluster);
    defaults_and_overrides(&cluster);
    merged_specs(&cluster);
    // Everything is as it should be: another controller writes nothing but what is new.
    assert!(controller.stop().success());
    let next = Controller::start(&cluster, &[]);
    eventually("it leads", || next.metric("attache_leader") == 1.0);
    cluster.apply(&policy("ColorPolicy", "direct", "last", "Service/b2", json!({"color": "blue"})));
    become_lines(
        "
        ColorPolicy/last > g1: Accepted=True Accepted (), Enforced=True Enforced ()
        Service/b2: attache.dev/ColorPolicyAffected=True Accepted (affected by ColorPolicy [direct/last])
        ",
        || statuses(&cluster, "direct", "colorpolicies,services"),
    );
    assert_eq!(next.settled_writes(), 2.0, "{}", next.log());
}

fn direct(cluster: &TestCluster) {
    let all = || statuses(cluster, "direct", "colorpolicies,gateways,httproutes,services");
    install_kind(cluster, "ColorPolicy", &json!({"ancestors": ancestors()}));
    cluster.apply(&policy_kind("ColorPolicy", json!({"class": "Direct", "targets": ["Backend"]})));
    topology(cluster, "direct", &["g1 > r1 > b1", "g1 > r2 > b2"]);
    for (name, color) in [("p1", "red"), ("p2", "blue")] {
        cluster.apply(&policy("ColorPolicy", "direct", name, "Service/b1", json!({"color": color})));
    }
    become_lines(
        "
        ColorPolicy/p1 > g1: Accepted=True Accepted (), Enforced=True Enforced ()
        ColorPolicy/p2 > g1: Accepted=False Conflicted (ColorPolicy/direct/p1 has attached to Service/direct/b1 before it)
        Service/b1: attache.dev/ColorPolicyAffected=True Accepted (affected by ColorPolicy [direct/p1])
        ",
        all,
    );
    cluster.kubectl(&["delete", "colorpolicy/p1", "-n", "direct"]);
    become_lines(
        "
        ColorPolicy/p2 > g1: Accepted=True Accepted (), Enforced=True Enforced ()
        Service/b1: attache.dev/ColorPolicyAffected=True Accepted (affected by ColorPolicy [direct/p2])
        ",
        all,
    );
    cluster.kubectl(&["delete", "colorpolicy/p2", "-n", "direct"]);
    become_lines("", all);
}

const GATEWAYS: [&str; 4] = ["g1 > r1 > b1", "g1 > r2 > b1", "g2 > r3 > b1", "g2 > r4 > b2"];

fn defaults_and_overrides(cluster: &TestCluster) {
    let all = || statuses(cluster, "overrides", "paintpolicies,gateways,httproutes,services");
    install_kind(cluster, "PaintPolicy", &json!({"ancestors": ancestors()}));
    let kind = json!({"class": "Inherited", "hierarchy": ["Gateway", "Route", "Backend"], "targets": ["Gateway", "Route"],
        "effectiveTarget": "Backend", "strategies": ["atomic"]});
    cluster.apply(&policy_kind("PaintPolicy", kind));
    topology(cluster, "overrides", &GATEWAYS);
    let apply = |name, target, fields| cluster.apply(&policy("PaintPolicy", "overrides", name, target, fields));
    apply("p1", "Gateway/g1", json!({"color": "red"}));
    apply("p2", "HTTPRoute/r1", json!({"color": "blue"}));
    apply("p3", "Gateway/g2", json!({"overrides": {"color": "yellow"}}));
    apply("p4", "HTTPRoute/r4", json!({"color": "green"}));
    become_lines(
        "
        PaintPolicy/p1 > g1: Accepted=True Accepted (), Enforced=True PartiallyEnforced (overridden in part: color by [overrides/p2])
        PaintPolicy/p2 > g1: Accepted=True Accepted (), Enforced=True Enforced ()
        PaintPolicy/p3 > g2: Accepted=True Accepted (), Enforced=True Enforced ()
        PaintPolicy/p4 > g2: Accepted=True Accepted (), Enforced=False Overridden (fully overridden by [overrides/p3])
        Gateway/g1: attache.dev/PaintPolicyAffected=True Accepted (affected by PaintPolicy [overrides/p1])
        Gateway/g2: attache.dev/PaintPolicyAffected=True Accepted (affected by PaintPolicy [overrides/p3])
        HTTPRoute/r1 > g1: attache.dev/PaintPolicyAffected=True Accepted (affected by PaintPolicy [overrides/p2])
        HTTPRoute/r2 > g1: attache.dev/PaintPolicyAffected=True Accepted (affected by PaintPolicy [overrides/p1])
        HTTPRoute/r3 > g2: attache.dev/PaintPolicyAffected=True Accepted (affected by PaintPolicy [overrides/p3])
        HTTPRoute/r4 > g2: attache.dev/PaintPolicyAffected=True Accepted (affected by PaintPolicy [overrides/p3])
        Service/b1: attache.dev/PaintPolicyAffected=True Accepted (affected by PaintPolicy [overrides/p1 overrides/p2 overrides/p3])
        Service/b2: attache.dev/PaintPolicyAffected=True Accepted (affected by PaintPolicy [overrides/p3])
        ",
        all,
    );
    cluster.kubectl(&["delete", "paintpolicy/p3", "-n", "overrides"]);
    become_lines(
        "
        PaintPolicy/p1 > g1: Accepted=True Accepted (), Enforced=True PartiallyEnforced (overridden in part: color by [overrides/p2])
        PaintPolicy/p2 > g1: Accepted=True Accepted (), Enforced=True Enforced ()
        PaintPolicy/p4 > g2: Accepted=True Accepted (), Enforced=True Enforced ()
        Gateway/g1: attache.dev/PaintPolicyAffected=True Accepted (affected by PaintPolicy [overrides/p1])
        HTTPRoute/r1 > g1: attache.dev/PaintPolicyAffected=True Accepted (affected by PaintPolicy [overrides/p2])
        HTTPRoute/r2 > g1: attache.dev/PaintPolicyAffected=True Accepted (affected by PaintPolicy [overrides/p1])
        HTTPRoute/r4 > g2: attache.dev/PaintPolicyAffected=True Accepted (affected by PaintPolicy [overrides/p4])
        Service/b1: attache.dev/PaintPolicyAffected=True Accepted (affected by PaintPolicy [overrides/p1 overrides/p2])
        Service/b2: attache.dev/PaintPolicyAffected=True Accepted (affected by PaintPolicy [overrides/p4])
        ",
        all,
    );
    cluster.kubectl(&["delete", "paintpolicies", "--all", "-n", "overrides"]);
    become_lines("", all);
}

fn merged_specs(cluster: &TestCluster) {
    let all = || statuses(cluster, "merged", "dyepolicies,gateways,httproutes,services");
    install_kind(cluster, "DyePolicy", &json!({"conditions": conditions()}));
    let kind = json!({"class": "Inherited", "hierarchy": ["Gateway", "Route", "Backend"], "targets": ["Gateway", "Route"],
        "effectiveTarget": "Backend", "strategies": ["atomic", "patch"]});
    cluster.apply(&policy_kind("DyePolicy", kind));
    topology(cluster, "merged", &GATEWAYS);
    let apply = |name, target, fields| cluster.apply(&policy("DyePolicy", "merged", name, target, fields));
    apply("p1", "Gateway/g1", json!({"defaults": {"colors": {"dark": "brown", "light": "red"}, "strategy": "atomic"}}));
    apply("p2", "HTTPRoute/r1", json!({"colors": {"light": "blue"}}));
    apply("p3", "Gateway/g2", json!({"overrides": {"colors": {"light": "yellow"}, "strategy": "patch"}}));
    apply("p4", "HTTPRoute/r4", json!({"colors": {"dark": "olive", "light": "green"}}));
    become_lines(
        "
        DyePolicy/p1: Accepted=True Accepted (), Enforced=True PartiallyEnforced (overridden in part: colors.dark, colors.light by [merged/p2])
        DyePolicy/p2: Accepted=True Accepted (), Enforced=True Enforced ()
        DyePolicy/p3: Accepted=True Accepted (), Enforced=True Enforced ()
        DyePolicy/p4: Accepted=True Accepted (), Enforced=True PartiallyEnforced (overridden in part: colors.light by [merged/p3])
        Gateway/g1: attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [merged/p1])
        Gateway/g2: attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [merged/p3])
        HTTPRoute/r1 > g1: attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [merged/p2])
        HTTPRoute/r2 > g1: attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [merged/p1])
        HTTPRoute/r3 > g2: attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [merged/p3])
        HTTPRoute/r4 > g2: attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [merged/p3 merged/p4])
        Service/b1: attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [merged/p1 merged/p2 merged/p3])
        Service/b2: attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [merged/p3 merged/p4])
        ",
        all,
    );
    apply("p4", "HTTPRoute/r4", json!({"colors": {"light": "green"}}));
    become_lines(
        "
        DyePolicy/p1: Accepted=True Accepted (), Enforced=True PartiallyEnforced (overridden in part: colors.dark, colors.light by [merged/p2])
        DyePolicy/p2: Accepted=True Accepted (), Enforced=True Enforced ()
        DyePolicy/p3: Accepted=True Accepted (), Enforced=True Enforced ()
        DyePolicy/p4: Accepted=True Accepted (), Enforced=False Overridden (fully overridden by [merged/p3])
        Gateway/g1: attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [merged/p1])
        Gateway/g2: attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [merged/p3])
        HTTPRoute/r1 > g1: attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [merged/p2])
        HTTPRoute/r2 > g1: attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [merged/p1])
        HTTPRoute/r3 > g2: attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [merged/p3])
        HTTPRoute/r4 > g2: attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [merged/p3])
        Service/b1: attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [merged/p1 merged/p2 merged/p3])
        Service/b2: attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [merged/p3])
        ",
        all,
    );
    cluster.kubectl(&["delete", "policykind/dyepolicy.example.io"]);
    become_lines("", all);
}

use super::{run, run_with};

#[test]
fn no_input() {
    insta::assert_snapshot!(run("attache topology"));
}

#[test]
fn a_kind_with_a_typo() {
    insta::assert_snapshot!(run("attache topology htproute/cakes -f examples/bakery"));
}

#[test]
fn a_kind_like_no_other() {
    insta::assert_snapshot!(run("attache topology zebra/cakes -f examples/bakery"));
}

#[test]
fn a_name_with_a_typo() {
    insta::assert_snapshot!(run("attache topology httproute/caeks -f examples/bakery"));
}

#[test]
fn a_name_like_no_other() {
    insta::assert_snapshot!(run("attache topology httproute/zebra -f examples/bakery"));
}

#[test]
fn the_wrong_namespace() {
    insta::assert_snapshot!(run("attache topology httproute/cakes -n infra -f examples/bakery"));
}

#[test]
fn a_section_that_does_not_exist() {
    insta::assert_snapshot!(run("attache topology httproute/cakes#rule-3 -f examples/bakery"));
}

#[test]
fn a_section_of_something_without_sections() {
    insta::assert_snapshot!(run("attache topology gatewayclass/shop#http -f examples/bakery"));
}

#[test]
fn a_word_that_is_no_object() {
    insta::assert_snapshot!(run("attache topology cakes -f examples/bakery"));
}

#[test]
fn a_format_with_a_typo() {
    insta::assert_snapshot!(run("attache topology -o jsn -f examples/bakery"));
}

#[test]
fn errors_in_colour() {
    insta::assert_snapshot!(run("attache topology httproute/caeks -f examples/bakery --color always"));
}

#[test]
fn policies_of_two_kinds_with_one_name() {
    let policies = "
{apiVersion: kuadrant.io/v1, kind: RateLimitPolicy, metadata: {name: limits, namespace: shop}, spec: {}}
---
{apiVersion: gateway.nginx.org/v1alpha1, kind: RateLimitPolicy, metadata: {name: limits, namespace: shop}, spec: {}}
";
    insta::assert_snapshot!(run_with("attache describe ratelimitpolicy/limits -n shop -f -", policies));
}

use super::run;

#[test]
fn everywhere() {
    insta::assert_snapshot!(run("attache effective -f examples/bakery"));
}

#[test]
fn everywhere_in_colour() {
    insta::assert_snapshot!(run("attache effective --color always -f examples/bakery"));
}

#[test]
fn on_requests_through_a_route() {
    insta::assert_snapshot!(run("attache effective httproute/payments -f examples/bakery"));
}

#[test]
fn on_requests_through_one_rule() {
    insta::assert_snapshot!(run("attache effective httproute/cakes#orders --kind retrypolicies -f examples/bakery"));
}

#[test]
fn given_by_a_gateway() {
    insta::assert_snapshot!(run("attache effective gateway main -f examples/bakery"));
}

#[test]
fn given_by_a_namespace() {
    insta::assert_snapshot!(run("attache effective ns/baker -f examples/bakery"));
}

#[test]
fn by_name() {
    insta::assert_snapshot!(run("attache effective svc/orders -o name -f examples/bakery"));
}

#[test]
fn as_json() {
    insta::assert_snapshot!(run("attache effective svc/payments -o json -f examples/bakery"));
}

#[test]
fn as_yaml() {
    insta::assert_snapshot!(run("attache effective gateway/main -o yaml -f examples/bakery"));
}

#[test]
fn nothing() {
    insta::assert_snapshot!(run("attache effective gatewayclass/shop -f examples/bakery"));
}

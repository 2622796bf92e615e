use super::run;

#[test]
fn tree() {
    insta::assert_snapshot!(run("attache topology -f examples/bakery"));
}

#[test]
fn tree_in_colour() {
    insta::assert_snapshot!(run("attache topology -f examples/bakery --color always"));
}

#[test]
fn wide() {
    insta::assert_snapshot!(run("attache topology -f examples/bakery -o wide"));
}

#[test]
fn around_one_object() {
    insta::assert_snapshot!(run("attache topology svc/orders -f examples/bakery"));
}

#[test]
fn of_one_namespace() {
    insta::assert_snapshot!(run("attache topology -n infra -f examples/bakery"));
}

#[test]
fn dot() {
    insta::assert_snapshot!(run("attache topology -f examples/bakery -o dot"));
}

#[test]
fn mermaid() {
    insta::assert_snapshot!(run("attache topology -f examples/bakery -o mermaid"));
}

#[test]
fn svg() {
    insta::assert_snapshot!(run("attache topology -f examples/bakery -o svg"));
}

#[test]
fn json() {
    insta::assert_snapshot!(run("attache topology -f examples/bakery -o json"));
}

#[test]
fn refused_links() {
    insta::assert_snapshot!(run("attache topology -f crates/attache/tests/input/refused.yaml"));
}

#[test]
fn refused_links_in_colour() {
    insta::assert_snapshot!(run("attache topology svc/foo --color always -f crates/attache/tests/input/refused.yaml"));
}

#[test]
fn refused_links_as_svg() {
    insta::assert_snapshot!(run("attache topology -o svg -f crates/attache/tests/input/refused.yaml"));
}

#[test]
fn refused_links_as_json() {
    insta::assert_snapshot!(run("attache topology -o json -f crates/attache/tests/input/refused.yaml"));
}

#[test]
fn by_name() {
    insta::assert_snapshot!(run("attache topology -n infra -o name -f examples/bakery"));
}

#[test]
fn nothing_in_a_namespace() {
    insta::assert_snapshot!(run("attache topology -n nowhere -f examples/bakery"));
}

#[test]
fn on_a_narrow_terminal() {
    insta::assert_snapshot!(run("COLUMNS=72 attache topology -f examples/envoy-gateway"));
}

#[test]
fn of_policies_alone() {
    insta::assert_snapshot!(run("attache topology -f examples/own-kind"));
}

#[test]
fn around_a_namespace() {
    insta::assert_snapshot!(run("attache topology ns/infra -f examples/bakery"));
}

#[test]
fn around_the_targets_of_a_policy() {
    insta::assert_snapshot!(run("attache topology retrypolicy/pay-once -f examples/bakery"));
    assert_eq!(
        run("attache topology retrypolicy/be-patient -f examples/bakery").split_once('\n').map(|it| it.1.to_owned()),
        run("attache topology ns/baker -f examples/bakery").split_once('\n').map(|it| it.1.to_owned()),
        "its target is the Namespace"
    );
}

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

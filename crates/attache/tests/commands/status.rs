use super::run;

#[test]
fn of_everything() {
    insta::assert_snapshot!(run("attache status -f examples/bakery"));
}

#[test]
fn of_one_namespace_in_colour() {
    insta::assert_snapshot!(run("attache status -n infra --color always -f examples/bakery"));
}

#[test]
fn as_json() {
    insta::assert_snapshot!(run("attache status -n infra -o json -f examples/bakery"));
}

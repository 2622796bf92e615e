use super::run;

#[test]
fn policies() {
    insta::assert_snapshot!(run("attache get policies -f examples/bakery"));
}

#[test]
fn policies_wide() {
    insta::assert_snapshot!(run("attache get policies -o wide -f examples/bakery"));
}

#[test]
fn policies_of_one_namespace_in_colour() {
    insta::assert_snapshot!(run("attache get policies -n infra --color always -f examples/bakery"));
}

#[test]
fn policies_by_name() {
    insta::assert_snapshot!(run("attache get policies -o name -f examples/bakery"));
}

#[test]
fn policies_as_json() {
    insta::assert_snapshot!(run("attache get policies -n infra -o json -f examples/bakery"));
}

#[test]
fn policies_where_there_are_none() {
    insta::assert_snapshot!(run("attache get policies -f examples/bakery/baker.yaml"));
}

#[test]
fn kinds() {
    insta::assert_snapshot!(run("attache get kinds --kind retrypolicy -f examples/bakery"));
}

#[test]
fn kinds_wide() {
    insta::assert_snapshot!(run("attache get kinds --kind retrypolicy -o wide -f examples/bakery"));
}

#[test]
fn kinds_as_yaml() {
    insta::assert_snapshot!(run("attache get kinds --kind retrypolicy -o yaml -f examples/bakery"));
}

#[test]
fn a_built_in_kind_to_copy() {
    insta::assert_snapshot!(run("attache get kinds cspolicy -o yaml"));
}

#[test]
fn a_kind_by_its_short_name() {
    insta::assert_snapshot!(run("attache get kinds btp -o wide"));
}

#[test]
fn scopes() {
    insta::assert_snapshot!(run("attache get scopes -f examples/bakery"));
}

#[test]
fn scopes_by_name() {
    insta::assert_snapshot!(run("attache get scopes -o name -f examples/bakery"));
}

#[test]
fn scopes_where_there_are_none() {
    insta::assert_snapshot!(run("attache get scopes -f examples/bakery/kind.yaml -f examples/bakery/policies.yaml"));
}

#[test]
fn kinds_that_are_built_in_need_no_files() {
    insta::assert_snapshot!(run("attache get kinds --kind backendtlspolicy"));
}

use super::run;

/// A run on the fixture with a bit of everything.
fn shop(arguments: &str) -> String {
    run(&format!("attache request {arguments} -f crates/attache/tests/requests"))
}

#[test]
fn served_with_the_policies_on_its_path() {
    insta::assert_snapshot!(run("attache request GET http://cakes.bakery.example/menu/today -f examples/bakery"));
}

#[test]
fn in_colour() {
    let line = "attache request GET http://pay.bakery.example/ --why --color always -f examples/bakery";
    insta::assert_snapshot!(run(line));
}

#[test]
fn why_not_the_others() {
    insta::assert_snapshot!(run("attache request POST http://cakes.bakery.example/orders/1 --why -f examples/bakery"));
}

#[test]
fn as_json() {
    insta::assert_snapshot!(run("attache request GET http://bread.bakery.example/ -o json -f examples/bakery"));
}

#[test]
fn no_rule_matches() {
    insta::assert_snapshot!(run("attache request GET http://cakes.bakery.example/orders -f examples/bakery"));
}

#[test]
fn no_rule_matches_and_why() {
    insta::assert_snapshot!(run("attache request GET http://cakes.bakery.example/orders --why -f examples/bakery"));
}

#[test]
fn nothing_listens() {
    insta::assert_snapshot!(run("attache request GET http://cakes.example:81/ --why -f examples/bakery"));
}

#[test]
fn who_would_listen_is_not_served() {
    insta::assert_snapshot!(run(
        "attache request GET http://x.example:9000/ --why -f crates/attache/tests/lint/gateways.yaml"
    ));
}

#[test]
fn filters_and_shares() {
    insta::assert_snapshot!(shop(
        "GET http://www.shop.example/cart/1?x=2 -H X-Trace:client -H Cookie:a=b -H Origin:https://m.shop.example --why"
    ));
}

#[test]
fn filters_and_shares_as_yaml() {
    insta::assert_snapshot!(shop("GET http://www.shop.example/basket -H X-Trace:client --why -o yaml"));
}

#[test]
fn a_redirect() {
    insta::assert_snapshot!(shop("GET http://www.shop.example/old/shoes?size=9"));
}

#[test]
fn a_preflight() {
    let headers = "-H Origin:https://m.shop.example -H Access-Control-Request-Method:PUT";
    insta::assert_snapshot!(shop(&format!("OPTIONS http://www.shop.example/cart {headers}")));
}

#[test]
fn filters_of_other_groups() {
    for (name, arguments) in [
        ("a_filter_answers", "GET http://x.example/closed"),
        ("a_filter_answers_as_json", "GET http://x.example/closed -o json"),
        ("a_filter_may_answer", "GET http://x.example/wall"),
        ("what_is_not_known_of_a_filter", "GET http://x.example/guarded -H Origin:https://shop.example"),
        ("what_is_not_known_of_a_filter_as_json", "GET http://x.example/guarded -o json"),
    ] {
        insta::assert_snapshot!(name, run(&format!("attache request {arguments} -f crates/attache/tests/filters")));
    }
}

#[test]
fn no_backend_can_serve() {
    insta::assert_snapshot!(shop("GET http://www.shop.example/cart -H X-Beta:yes"));
}

#[test]
fn the_case_of_a_query() {
    insta::assert_snapshot!(shop("GET http://www.shop.example/search?q=cakes --why"));
}

#[test]
fn by_delegation() {
    insta::assert_snapshot!(shop("GET http://any.example/team/lunch"));
}

#[test]
fn a_grpc_call() {
    insta::assert_snapshot!(shop("POST http://api.shop.example/shop.Orders/Place --grpc"));
}

#[test]
fn an_unknown_grpc_call() {
    insta::assert_snapshot!(shop("POST http://api.shop.example/shop.Cakes/Bake --grpc --gateway infra/private"));
}

#[test]
fn a_host_that_is_not_for_this_connection() {
    insta::assert_snapshot!(shop("GET https://pay.shop.example/ --sni www.shop.example"));
}

#[test]
fn a_connection() {
    insta::assert_snapshot!(shop("GET tcp://db.shop.example:5432"));
}

#[test]
fn within_a_mesh() {
    insta::assert_snapshot!(shop("GET http://cart.shop/ --from-namespace client --why"));
    insta::assert_snapshot!("within_a_mesh_from_elsewhere", shop("GET http://cart/ --service shop/cart --why"));
}

#[test]
fn by_address() {
    insta::assert_snapshot!(shop("GET http://both.shop.example/ --address 10.0.0.10"));
}

#[test]
fn several_gateways() {
    insta::assert_snapshot!(shop("GET http://both.shop.example/"));
}

#[test]
fn mistakes() {
    for (name, arguments) in [
        ("a_url_without_a_scheme", "GET www.shop.example/cart"),
        ("a_scheme_that_is_not_known", "GET htpp://www.shop.example/cart"),
        ("a_method_that_is_none", "http://www.shop.example/cart GET"),
        ("a_port_that_is_none", "GET http://www.shop.example:http/"),
        ("a_header_that_is_none", "GET http://www.shop.example/ -H nonsense"),
        ("a_gateway_with_a_typo", "GET http://www.shop.example/ --gateway infra/pubic"),
        ("a_service_with_a_typo", "GET http://cart/ --service shop/crat"),
        ("an_address_that_nobody_has", "GET http://www.shop.example/ --address 192.0.2.1"),
        ("an_address_that_is_none", "GET http://www.shop.example/ --address here"),
        ("a_gateway_and_a_service", "GET http://cart/ --gateway infra/public --service shop/cart"),
    ] {
        insta::assert_snapshot!(name, shop(arguments));
    }
}

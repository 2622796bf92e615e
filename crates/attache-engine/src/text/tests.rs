//! Tests of whole texts, valid and broken.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::object::count_values;
use crate::value::MAX_DEPTH;
use crate::value::Path;

fn yaml(text: &str) -> Value {
    Document::parse(1, &split::split(text)[0]).unwrap().unwrap().parsed.value
}

fn json(text: &str) -> Value {
    serde_json::from_str::<serde_json::Value>(text).unwrap().into()
}

fn read_text(text: &str) -> Reading {
    let mut reading = read(&Arc::from("f.yaml"), text);
    settle_namespaces(&mut reading.objects, &mut reading.problems, |_, _| false);
    reading
}

fn names(reading: &Reading) -> Vec<String> {
    reading.objects.iter().map(|object| object.id.to_string()).collect()
}

/// All problems of a text, as they are shown.
fn problems(text: &str) -> String {
    read_text(text).problems.iter().map(|problem| problem.to_string()).collect::<Vec<_>>().join("\n")
}

fn object(name: &str) -> String {
    format!("apiVersion: v1\nkind: Service\nmetadata:\n  name: {name}\n")
}

#[test]
fn yaml_is_read_as_kubectl_reads_it() {
    for (text, expected) in [
        (
            "a: on\nb: 'on'\nc: \"5\"\nd: !!str 5\ne: !other 5\nf: !!int '7'",
            r#"{"a":true,"b":"on","c":"5","d":"5","e":"5","f":7}"#,
        ),
        ("{1: a, on: b, 014: c}", r#"{"1":"a","true":"b","12":"c"}"#),
        ("a: 1\nb: 2\na: 3", r#"{"a":3,"b":2}"#),
        (
            "x: &x {a: 1, b: 2}\nv: {<<: *x, a: 3}\nz: {a: 3, <<: *x}",
            r#"{"x":{"a":1,"b":2},"v":{"a":3,"b":2},"z":{"a":1,"b":2}}"#,
        ),
        ("- &x {a: 1}\n- &w {a: 2, b: 2}\n- {<<: [*x, *w]}", r#"[{"a":1},{"a":2,"b":2},{"a":1,"b":2}]"#),
        ("a: &k v\n*k : 1", r#"{"a":"v","v":1}"#),
        ("'<<': 1\nb: !!binary aGVsbG8=", r#"{"<<":1,"b":"hello"}"#),
        ("a:\r\n  b: |\r\n    x\r\n    y\r\nc:\r\n", r#"{"a":{"b":"x\ny\n"},"c":null}"#),
        ("\u{feff}a: >\n  x\n  y\n", r#"{"a":"x y\n"}"#),
    ] {
        assert_eq!(yaml(text), json(expected), "{text}");
    }
}

#[test]
fn locations_follow_values_when_keys_are_sorted() {
    let text = "kind: K\napiVersion: g/v1\nmetadata:\n  namespace: ns\n  name: x\nspec:\n  b: [1, {z: 2, a: 3}]\n  a:\n    - q\n  b: [5]\n  c:\n";
    let object = read_text(text).objects.remove(0);
    for (path, line, column) in [
        ("kind", 1, 7),
        ("apiVersion", 2, 13),
        ("metadata", 3, 1),
        ("metadata.name", 5, 9),
        ("spec", 6, 1),
        ("spec.a", 8, 3),
        ("spec.a[0]", 9, 7),
        ("spec.b[0]", 10, 7),
        ("spec.b[1].a", 10, 6),
        ("spec.c", 11, 3),
    ] {
        let location = object.locate(&Path::parse(path)).unwrap();
        assert_eq!((location.line, location.column), (line, column), "{path}");
    }
}

#[test]
fn merged_values_are_located_where_they_are_written() {
    let text =
        "apiVersion: v1\nkind: K\nmetadata: {name: x}\nbase: &b\n  k: 1\n  c: 2\nspec:\n  d: 1\n  <<: *b\n  a: 2\n";
    let object = read_text(text).objects.remove(0);
    for (path, line) in [("spec.a", 10), ("spec.c", 6), ("spec.d", 8), ("spec.k", 5)] {
        assert_eq!(object.locate(&Path::parse(path)).unwrap().line, line, "{path}");
    }
}

#[test]
fn json_has_locations_too() {
    let text = "{\"kind\": \"K\", \"apiVersion\": \"v1\",\n \"metadata\": {\"name\": \"x\"},\n \"spec\": [1,\n  {\"b\": \"\\u00e9\\ud83d\\ude00\\n\", \"a\": -1.5e1}]}\n";
    let object = read_text(text).objects.remove(0);
    assert_eq!(object.body.get("spec"), Some(&json(r#"[1,{"a":-15,"b":"é😀\n"}]"#)));
    for (path, line, column) in [("apiVersion", 1, 29), ("spec", 3, 10), ("spec[1]", 4, 3), ("spec[1].a", 4, 38)] {
        let location = object.locate(&Path::parse(path)).unwrap();
        assert_eq!((location.line, location.column), (line, column), "{path}");
    }
}

#[test]
fn a_broken_document_does_not_lose_the_others() {
    let text = format!("{}---\na: [\n---\n{}---\n# nothing\n---\n{{\"a\" 1}}\n", object("one"), object("two"));
    let reading = read_text(&text);
    assert_eq!(names(&reading), ["Service/default/one", "Service/default/two"]);
    let locations: Vec<_> =
        reading.problems.iter().map(|problem| (problem.document, problem.location.unwrap().line)).collect();
    assert_eq!(locations, [(Some(2), 6), (Some(4), 15)]);
}

#[test]
fn repeated_keys_are_problems() {
    let two = object("one") + "spec:\n  a: 1\n" + &object("two") + "spec:\n  b: 1\n";
    let reading = read_text(&two);
    assert_eq!(names(&reading), ["Service/default/two"]);
    insta::assert_snapshot!(problems(&two), @r"
    error: `apiVersion`, `kind`, `metadata`, `spec` are written again on lines 7, 8, 9, 11, and only those count
      --> f.yaml:1:13
       in Service/default/two, apiVersion
      help: put `---` between two objects
    ");
    let nested = object("x") + "spec:\n- 1\n- a.b: 1\n  a.b: 2\n  c: {d: 1, d: 1, e: 1}\n  a.b: 3\n";
    let nested = read_text(&nested).problems;
    let found: Vec<_> = nested.iter().map(|it| (it.location.unwrap().line, it.message.as_str())).collect();
    assert_eq!(
        found,
        [
            (9, "`spec[1].c.d` is written again on line 9:16, and only that one counts"),
            (7, "`spec[1][\"a.b\"]` is written again on line 10, and only that one counts"),
        ]
    );
    let json = "{\"apiVersion\": \"v1\", \"kind\": \"K\", \"metadata\": {\"name\": \"x\",\n\"name\": \"y\"}}";
    let shown = problems(json);
    assert!(
        shown.starts_with("error: `metadata.name` is written again on line 2, and only that one counts\n"),
        "{shown}"
    );
    assert_eq!(problems(&(object("x") + "b: &b {a: 1}\nc: {a: 2, <<: *b, a: 3, d: {<<: *b, a: 4}}\n")), "");
    assert!(problems(&(object("x") + "b: &b {e: 1}\nc: {a: 2, a: 3, d: {<<: *b, e: 4}, <<: *b}\n")).contains("`c.a`"));
    assert!(read_value("a: 1\na: 2\n").is_err());
}

#[test]
fn the_objects_of_a_list_are_its_items() {
    let text = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata: {name: a}\n- apiVersion: v1\n  kind: List\n  items:\n  - {apiVersion: v1, kind: Namespace, metadata: {name: b, namespace: ignored}}\n";
    let reading = read_text(text);
    assert_eq!(names(&reading), ["Service/default/a", "Namespace/b"]);
    assert_eq!(reading.objects[1].locate(&Path::parse("metadata.name")).unwrap().line, 10);

    let typed = r#"{"apiVersion":"gateway.networking.k8s.io/v1","kind":"GatewayList","items":[{"metadata":{"name":"g","namespace":"n"}}]}"#;
    let reading = read_text(typed);
    assert_eq!(names(&reading), ["Gateway/n/g"]);
    assert_eq!(reading.objects[0].id.group, "gateway.networking.k8s.io");
}

#[test]
fn managed_fields_and_the_last_applied_configuration_are_dropped() {
    let text = "apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n  annotations:\n    x: z\n    kubectl.kubernetes.io/last-applied-configuration: '{}'\n  managedFields:\n  - manager: kubectl\nspec:\n  ports: []\n";
    let object = read_text(text).objects.remove(0);
    assert_eq!(object.body.get("metadata"), Some(&json(r#"{"annotations":{"x":"z"},"name":"a"}"#)));
    for (path, line) in [("spec.ports", 11), ("metadata.annotations.x", 6), ("metadata.name", 4)] {
        assert_eq!(object.locate(&Path::parse(path)).unwrap().line, line, "{path}");
    }
}

#[test]
fn crds_and_policy_kinds_say_what_is_cluster_scoped() {
    let text = "apiVersion: e.io/v1\nkind: Wide\nmetadata: {name: w}\n---\napiVersion: e.io/v1\nkind: Policy\nmetadata: {name: p}\n---\napiVersion: e.io/v1\nkind: Narrow\nmetadata: {name: m}\n---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: wides.e.io}\nspec: {group: e.io, scope: Cluster, names: {kind: Wide}}\n---\napiVersion: attache.dev/v1alpha1\nkind: PolicyKind\nmetadata: {name: policies.e.io}\nspec: {group: e.io, scope: Cluster, kind: Policy}\n";
    let names = names(&read_text(text));
    assert_eq!(names[..3], ["Wide/w", "Policy/p", "Narrow/default/m"]);
    assert_eq!(names[3..], ["CustomResourceDefinition/wides.e.io", "PolicyKind/policies.e.io"]);
}

#[test]
fn nested_objects_have_their_own_locations() {
    let text = "apiVersion: attache.dev/v1alpha1\nkind: PolicyTest\nmetadata: {name: t}\nspec:\n  objects:\n  - apiVersion: v1\n    kind: Service\n    metadata:\n      name: s\n  - 5\n";
    let test = read_text(text).objects.remove(0);
    let reading = nested_objects(&test, &Path::parse("spec.objects"));
    assert_eq!(reading.objects[0].id.to_string(), "Service/s");
    let name = reading.objects[0].file_location(&Path::parse("metadata.name"));
    assert_eq!(name.unwrap().to_string(), "f.yaml:9:13");
    assert_eq!(reading.problems[0].file_location().unwrap().to_string(), "f.yaml:10:5");
}

#[test]
fn creation_times_are_read() {
    let text = object("a") + "  creationTimestamp: 2026-01-31T12:00:00Z\n";
    assert_eq!(read_text(&text).objects[0].created, Some("2026-01-31T12:00:00Z".parse().unwrap()));
    let text = object("a") + "  creationTimestamp: null\n";
    assert_eq!(problems(&text), "");
}

#[test]
fn alias_bombs_and_absurd_nesting_are_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_string();
    for i in 1..=9 {
        bomb += &format!("a{i}: &a{i} [*a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}]\n", i - 1);
    }
    assert_eq!(
        problems(&bomb),
        "error: the aliases of this document stand for more than 100000 values\n  --> f.yaml:5:9\n  help: write the values out, or split the document"
    );

    // Aliases can nest deeper than the text does.
    let mut ladder = "a0: &a0 [x]\n".to_string();
    for i in 1..=MAX_DEPTH {
        ladder += &format!("a{i}: &a{i} [*a{}]\n", i - 1);
    }
    for text in ["[".repeat(100_000), "{\"a\":".repeat(100_000), "- ".repeat(1000) + "x", ladder] {
        let problems = problems(&text);
        assert!(problems.starts_with("error: values are nested more than 200 levels deep\n"), "{problems}");
    }
    let deep = "[".repeat(MAX_DEPTH) + &"]".repeat(MAX_DEPTH);
    assert!(read_value(&deep).is_ok());
}

#[test]
fn every_mistake_has_its_message() {
    let named = |fields: &str| format!("apiVersion: v1\nkind: K\nmetadata: {{name: x}}\n{fields}");
    let cases = [
        "just text".into(),
        "kind: K".into(),
        "apiVersion: v1".into(),
        "apiVersion: v1\nkind: K\nmetadata: {}".into(),
        "apiVersion: v1\nkind: K\nmetadata: {generateName: x-}".into(),
        "apiVersion: v1\nkind: K\nmetadata: {name: on}".into(),
        "apiVersion: a/b/c\nkind: K\nmetadata: {name: x}".into(),
        "apiVersion: v1\nkind: K\nmetadata: {name: x, creationTimestamp: yesterday}".into(),
        named("a: *b"),
        named("a: &a [*a]"),
        named("a: .inf"),
        named("a: !!int x"),
        named("[a]: 1"),
        named("<<: 5"),
        named("a:\n\tb: 1"),
        named("spec:\n  a: 1\n b: 2"),
        named("a: \"x"),
        named("a: {{ .Values.x }}"),
        named("{{- if .Values.x }}\na: 1"),
        named("a: b: c"),
        named("a: [1, 2"),
        named("a: {b: 1"),
        named("a: @b"),
        named("a: b\r---\rc: d"),
        "{\"a\": 1,}".into(),
        "{\"a\": tru}".into(),
        "{\"a\": 1".into(),
        "{\"a\": \"x".into(),
        "{\"a\": \"\\x\"}".into(),
        "{\"a\": \"\n\"}".into(),
        "{\"a\" 1}".into(),
        "{\"a\": [1 2]}".into(),
        "{\"a\": 1} x".into(),
        "{a: b, c".into(),
    ];
    let shown: Vec<String> =
        cases.iter().map(|text| format!("{}\n{}\n", text.replace('\r', "\\r"), problems(text))).collect();
    insta::assert_snapshot!(shown.join("\n"));
}

/// Text made of fragments that are significant in YAML or JSON.
fn fragments() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        8 => prop::sample::select(vec![
            "a", "b", ": ", "- ", "\n", "\n  ", "\n    ", "? ", "{", "}", "[", "]", ", ", "&a ", "*a", "&b ", "*b", "<<: ", "|\n", ">-\n",
            "|2+\n", "\"", "'", "\\", "\\u00e9", "#", " ", "\t", "\r",
            "\r\n", "\n---\n", "\n...\n", "%YAML 1.1\n", "!!str ", "!!int ", "!",
            "1", "0x1f", "-1.5e3", ".inf", "yes", "~", "null", "\u{feff}", "\"a\":", "\"b\": 1,", "items:\n- ", "kind: List\n", "data: ",
            "apiVersion: v1\nkind: K\nmetadata: {name: x}\n", "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"x\"},\"data\":",
            "metadata: {name: x, managedFields: [", "creationTimestamp: ",
        ]).prop_map(str::to_string),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(fragment, 0..40).prop_map(|fragments| fragments.concat())
}

proptest! {
    #[test]
    fn any_text_gives_objects_that_can_be_written_and_read_again(text in fragments()) {
        for object in read_text(&text).objects {
            prop_assert_eq!(object.source.locations.len(), count_values(&object.body));
            let yaml = to_yaml(&object.body);
            prop_assert_eq!(read_value(&yaml), Ok(object.body), "{}", yaml);
        }
    }
}

#[test]
fn lines_that_continue_a_quoted_scalar_may_be_indented_less() {
    let text =
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  rule: 'all(a,\n b,\n  c)'\n  next: \"d\ne\"\n";
    let reading = read(&"a.yaml".into(), text);
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    let data = |field| reading.objects[0].body.at(&["data", field]).and_then(Value::as_str);
    assert_eq!(data("rule"), Some("all(a, b, c)"));
    assert_eq!(data("next"), Some("d e"));
}

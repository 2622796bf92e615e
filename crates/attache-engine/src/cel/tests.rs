#![allow(clippy::unwrap_used, clippy::panic)]

use super::guard::{BUDGET, MAX_DEPTH};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn compile(text: &str) -> CelCondition {
    CelCondition::compile(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn holds(text: &str, spec: serde_json::Value) -> Result<bool, EvalError> {
    compile(text).holds(&spec.into())
}

/// The message of an expression that fails.
fn fails(text: &str, spec: serde_json::Value) -> String {
    match holds(text, spec) {
        Ok(result) => panic!("{text} is {result}"),
        Err(error) => error.to_string(),
    }
}

fn refused(text: &str) -> String {
    CelCondition::compile(text).expect_err(text).to_string()
}

fn spec() -> serde_json::Value {
    json!({
        "a": 1, "b": -2, "f": 1.5, "name": "gold", "none": null, "on": true,
        "list": [1, 2, 3], "map": {"z": 1, "y": 2, "x": 3},
        "rules": {"auth": {"kind": "jwt", "issuers": ["https://a", "https://b"]}},
    })
}

#[test]
fn conditions_of_every_kind_hold() {
    for text in [
        "true",
        "spec.a + 1 == 2",
        "spec.a - 3 == spec.b",
        "spec.f * 2.0 == 3.0",
        "spec.a < spec.f",
        "spec.name == 'gold' && spec.on",
        "spec.none == null",
        "has(spec.rules) && has(spec.rules.auth) && !has(spec.rules.limits)",
        "!has(spec.x) || spec.x > 1",
        "size(spec.list) == 3 && spec.map.size() == 3",
        "spec.list == [1, 2, 3] && [1, 2, 3] == spec.list",
        "spec.map == {'x': 3, 'y': 2, 'z': 1}",
        "spec.list + [4] == [1, 2, 3, 4]",
        "spec.rules.auth.issuers.all(i, i.startsWith('https://'))",
        "spec.rules.auth.issuers.exists(i, i.matches('^https://[ab]$'))",
        "spec.list.exists_one(x, x > 2)",
        "spec.list.filter(x, x > 1).map(x, x * 2) == [4, 6]",
        "spec.list.map(x, x > 1, x + 1) == [3, 4]",
        "'x' in spec.map && !('w' in spec.map) && 2 in spec.list",
        "spec['rules'].auth['kind'] == 'jwt'",
        "spec.list[0] == 1",
        "spec.?x.?y.orValue(7) == 7 && spec.?rules.?auth.?kind.orValue('') == 'jwt'",
        "optional.of(spec.a).optMap(v, v + 1).value() == 2",
        "type(spec.a) == int && type(spec.f) == double && type(spec.name) == string",
        "spec.`name` == 'gold'",
        "string(spec.a) == '1' && int('2') == 2",
        "spec.on ? spec.a == 1 : spec.missing",
        "[1].all(spec, spec == 1)",
        "[1].all(spec, .spec.a == 1)",
        "[[1, 2], [3]].map(l, l.map(x, x * x)) == [[1, 4], [9]]",
        "spec == spec && size(spec) == 9",
        // An error does not matter if the other operand decides.
        "spec.missing == 1 || true",
        "'gold'.matches('G') || 'gold'.matches('(?i)G')",
    ] {
        assert_eq!(holds(text, spec()), Ok(true), "{text}");
    }
}

#[test]
fn what_has_no_answer_says_why() {
    for (text, why) in [
        ("spec.x == 1", "no such key `x`"),
        ("has(spec.x.y)", "no such key `x`"),
        ("spec.a", "the condition is not true or false but of type `int`"),
        ("spec.a + 'x' == 'y'", "`+` cannot be used with int and string"),
        ("spec.a > 'x'", "`>` cannot be used with int and string"),
        ("spec.a + 9223372036854775807 > 0", "overflow in `+`"),
        ("spec.a / 0 == 1", "division by zero"),
        ("spec.list[3] == 1", "index Int(3) is out of bounds"),
        ("spec.list.x == 1", "`.` cannot be used with list and string"),
        ("spec.name.startsWith(1)", "`startsWith` cannot be used with string and int"),
        ("spec.a.all(x, true)", "expected type iterable, found int"),
        ("spec.name.matches(spec.name + '(')", "`matches`: unclosed group"),
        ("spec.a && true", "`&&` cannot be used with int and bool"),
        ("{'a': 1, 'a': 2} == {}", "a map has the key String(\"a\") twice"),
    ] {
        assert_eq!(fails(text, spec()), why, "{text}");
    }
}

#[test]
fn what_does_not_compile_says_where() {
    for (text, why) in [
        ("", "the expression ends too early (line 1, column 1)"),
        ("spec.a ==", "the expression ends too early (line 1, column 10)"),
        ("spec.a = 1", "`= ` is not expected here (line 1, column 8)"),
        ("spec.a == 1\n  && )", "`)` is not expected here (line 2, column 6)"),
        ("sepc.a == 1", "unknown name `sepc`, the only variable is `spec` (line 1, column 1)"),
        ("true && siez(spec.a) > 1", "unknown function `siez` (line 1, column 13)"),
        ("spec.a.sort() == 1", "unknown function `sort` (line 1, column 12)"),
        ("optionl.of(1).hasValue()", "unknown name `optionl` (line 1, column 11)"),
        ("'é' == spec.name && x", "unknown name `x`, the only variable is `spec` (line 1, column 21)"),
        ("spec.name.matches('(')", "`(` is not a pattern: unclosed group (line 1, column 19)"),
        ("spec.name.matches('(a{999}){999}')", "`(a{999}){999}` is not a pattern: it is too large (line 1, column 19)"),
        ("Foo{a: 1} == 1", "unknown type `Foo` (line 1, column 4)"),
        ("true ? true ? true : true : true", "`?` is not expected here (line 1, column 13)"),
        ("has(spec)", "invalid argument to has() macro (line 1, column 5)"),
    ] {
        assert_eq!(refused(text), why, "{text}");
    }
}

#[test]
fn long_sources_are_refused() {
    assert!(refused(&"1+".repeat(2048)).starts_with("longer than 2048 bytes"));
    assert!(refused(&"é".repeat(2048)).starts_with("longer than 2048 bytes"));
}

#[test]
fn deep_sources_are_refused_on_a_small_stack() {
    let deep = [
        "1+".repeat(1000) + "1",
        "(".repeat(1000),
        "[".repeat(1000) + &"]".repeat(1000),
        "(".repeat(33) + "1" + &")".repeat(33),
        "{1:".repeat(300) + &"}".repeat(300),
        "size(".repeat(300) + &")".repeat(300),
        "true?true:".repeat(200) + "true",
        "[1].all(x,".repeat(150) + "true" + &")".repeat(150),
        "spec".to_owned() + &".a".repeat(1000),
        "spec".to_owned() + &"[0]".repeat(600),
        "'a'".to_owned() + &".size()".repeat(280),
    ];
    let refused = |text: &String| CelCondition::compile(text).expect_err(text).message;
    let on_small_stack = std::thread::Builder::new().stack_size(512 << 10);
    let messages = on_small_stack.spawn(move || deep.iter().map(refused).collect::<Vec<_>>()).unwrap().join().unwrap();
    for message in messages {
        assert!(message.contains("may stand in each other"), "{message}");
    }
}

#[test]
fn the_deepest_that_is_allowed_runs_on_a_small_stack() {
    let texts = [
        "(".repeat(31) + "true" + &")".repeat(31),
        "0".to_owned() + &"+1".repeat(MAX_DEPTH - 3) + " > 0",
        "[".repeat(30) + &"]".repeat(30) + " != []",
        "[1].all(x,".repeat(24) + "true" + &")".repeat(24),
        "true?true:".repeat(31) + "true",
    ];
    let on_small_stack = std::thread::Builder::new().stack_size(512 << 10);
    let run = move || texts.map(|text| holds(&text, json!({})));
    assert_eq!(on_small_stack.spawn(run).unwrap().join().unwrap(), [const { Ok(true) }; 5]);
}

#[test]
fn an_error_at_a_high_column_can_be_shown() {
    let text = " ".repeat(2000) + ")";
    assert_eq!(refused(&text), "`)` is not expected here (line 1, column 2001)");
}

#[test]
fn work_is_bounded() {
    let digits = "[0,1,2,3,4,5,6,7,8,9]";
    let nested = (0..7).fold("true".to_owned(), |body, i| format!("{digits}.all(v{i}, {body})"));
    let long = Value::from(json!({"list": vec![0; 5_000], "text": "x".repeat(100_000)}));
    let doubling = "['x']".to_owned() + &".map(x, x + x)".repeat(25);
    for text in [
        nested.clone(),
        // The expression absorbs the error of an empty budget, but evaluation still ends.
        format!("{nested} || true"),
        format!("!{nested}").replace(".all(", ".exists(").replace("true", "false"),
        "spec.list.all(a, spec.list.all(b, true))".to_owned(),
        "spec.list.map(a, spec.list) == []".to_owned(),
        "spec.list.map(a, spec.list.map(b, [a, b])) == []".to_owned(),
        "spec.list.all(a, a in spec.list)".to_owned(),
        "spec.list.all(a, spec.text.contains('y' + spec.text) || true)".to_owned(),
        "spec.list.all(a, spec.text == spec.text + string(a) || true)".to_owned(),
        "spec.list.all(a, spec.text.matches('(x|y)*$'))".to_owned(),
        "spec.list.all(a, !spec.text.matches('(x|y){20}' + string(a)))".to_owned(),
        "spec.list.all(a, !{}.exists(k, k == spec.text) && !has({spec.text: 1}.x))".to_owned(),
        "spec.list.all(a, spec.?list.orValue([]).size() > 1)".to_owned(),
        "spec.list.all(a, optional.of(spec.list).optMap(l, l + l).hasValue())".to_owned(),
        doubling.clone() + " == []",
        doubling.replace("'x'", "[0]") + " == []",
        doubling.replace("x + x", "[x, x]") + " == []",
    ] {
        assert_eq!(holds_metered(&compile(&text), &long), Err(EvalError::TooMuchWork), "{text}");
    }
}

#[test]
fn ordinary_work_is_well_within_bounds() {
    let spec = json!({"rules": (0..1000).map(|i| json!({"name": format!("rule-{i}"), "n": i})).collect::<Vec<_>>()});
    let text = "spec.rules.all(r, r.name.matches('^rule-[0-9]+$') && r.n >= 0 && r.n < 1000)";
    assert_eq!(holds(text, spec), Ok(true));
}

#[test]
fn only_what_is_named_is_converted() {
    let huge = json!({"a": {"b": 1, "huge": vec![0; 1_000_000]}, "huge": vec![0; 1_000_000]});
    assert_eq!(holds("spec.a.b == 1 && has(spec.huge) && has(spec.a.huge)", huge.clone()), Ok(true));
    assert_eq!(holds("spec['a'].?b.orValue(0) == 1", huge.clone()), Ok(true));
    assert_eq!(holds("size(spec.huge) > 0", huge), Err(EvalError::TooMuchWork));
}

#[test]
fn a_spec_that_is_too_deep_is_refused() {
    let deep = (0..300).fold(Value::Int(1), |inner, _| Value::list(vec![inner]));
    let deep = Value::map(vec![("a".into(), deep)]);
    assert_eq!(compile("spec.a == []").holds(&deep), Err(EvalError::TooDeep));
}

#[test]
fn the_keys_of_a_map_come_in_order() {
    for _ in 0..50 {
        assert_eq!(holds("spec.map.map(k, k) == ['x', 'y', 'z']", spec()), Ok(true));
        assert_eq!(holds("{3: 1, 1: 1, 2: 1}.filter(k, k > 1) == [2, 3]", spec()), Ok(true));
    }
}

#[test]
fn conditions_are_equal_by_their_text_and_shared_between_threads() {
    fn shared<T: Send + Sync + Clone>(value: T) -> T {
        value
    }
    assert_eq!(shared(compile("spec.a == 1")), compile("spec.a == 1"));
    assert_ne!(compile("spec.a == 1"), compile("spec.a==1"));
}

/// Evaluates a condition, and checks that the work is limited by the budget: an evaluation ends soon after the budget is used up,
/// even if the expression ignores errors.
fn holds_metered(condition: &CelCondition, spec: &Value) -> Result<bool, EvalError> {
    let meter = Arc::new(Meter::default());
    let result = condition.holds_within(&meter, spec);
    assert_eq!(result == Err(EvalError::TooMuchWork), meter.spent() == BUDGET, "{condition}");
    assert!(meter.charges() <= 2 * BUDGET, "{condition}: {} charges", meter.charges());
    result
}

/// Checks that any text compiles or fails, and evaluates within the budget, always with the same result.
fn survives(text: &str) {
    match CelCondition::compile(text) {
        Err(error) => {
            let lines: Vec<_> = text.split('\n').collect();
            let line = lines.get(error.line as usize - 1).unwrap_or_else(|| panic!("{text:?}: {error}"));
            assert!(error.column as usize <= line.chars().count() + 1, "{text:?}: {error}");
        }
        Ok(condition) => {
            let spec = Value::from(spec());
            let result = holds_metered(&condition, &spec);
            assert_eq!(result, condition.holds(&spec), "{text}");
        }
    }
}

fn tokens() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec![
        "spec",
        "a",
        "b",
        "x",
        "list",
        "map",
        ".",
        ".",
        "?",
        ":",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        "+",
        "-",
        "*",
        "/",
        "%",
        "==",
        "!=",
        "<",
        ">=",
        "&&",
        "||",
        "!",
        "in",
        "true",
        "false",
        "null",
        "0",
        "1u",
        "1.5",
        "9223372036854775807",
        "'x'",
        "\"\"",
        "b'x'",
        "r'\\'",
        "'''",
        "`a-b`",
        "has(",
        "size(",
        "all(x,",
        "exists(x,",
        "map(x,",
        "filter(x,",
        "exists_one(x,",
        "matches(",
        "optional.of(",
        "optMap(x,",
        "orValue(",
        "string(",
        "int(",
        "type(",
        "\n",
        "//",
        "é",
        "$",
        "@result",
        "\\",
        "'",
    ]);
    prop::collection::vec(token, 0..60).prop_map(|tokens| tokens.join(" "))
}

fn nested() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "spec",
        "spec.a",
        "spec.f",
        "spec.name",
        "spec.list",
        "spec.map",
        "spec.x",
        "x",
        "1",
        "-3",
        "2.5",
        "2u",
        "'ab'",
        "true",
        "null",
        "[]",
        "{}",
        "[1, 2, 3]",
        "{'k': 1}",
        "b'x'",
        "int",
        "optional.none()",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(7, 48, 3, |inner| {
        let operator = prop::sample::select(vec!["+", "-", "*", "/", "%", "==", "!=", "<", ">=", "&&", "||", "in"]);
        let function =
            prop::sample::select(vec!["size", "string", "int", "double", "type", "optional.of", "!", "-", "dyn"]);
        let method = prop::sample::select(vec!["contains", "startsWith", "matches", "orValue", "or"]);
        let each = prop::sample::select(vec!["all", "exists", "exists_one", "map", "filter", "optMap", "optFlatMap"]);
        prop_oneof![
            (inner.clone(), operator, inner.clone()).prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            (function, inner.clone()).prop_map(|(f, a)| format!("{f}({a})")),
            (inner.clone(), method, inner.clone()).prop_map(|(a, m, b)| format!("({a}).{m}({b})")),
            (inner.clone(), each, inner.clone()).prop_map(|(a, each, b)| format!("({a}).{each}(x, {b})")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[{a}, {b}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{{a}: {b}}}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[{b}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[?{b}]")),
            inner.clone().prop_map(|a| format!("({a}).?b.c")),
            inner.prop_map(|a| format!("has({a}.b)")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_soup_of_tokens_panics(text in tokens()) {
        survives(&text);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,80}") {
        survives(&text);
    }

    #[test]
    fn no_nested_expression_panics(text in nested()) {
        survives(&text);
    }
}

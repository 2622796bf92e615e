//! Any text beside a small world has an answer, and the same one when asked again.

#![no_main]

#[path = "../../crates/attache-engine/tests/common/answer.rs"]
mod answer;

use std::sync::{Arc, LazyLock};

use attache_engine::Engine;
use attache_engine::kinds::{PolicyKind, Settings, built_in};
use attache_engine::Objects;
use attache_engine::text;
use libfuzzer_sys::fuzz_target;

const WORLD: &str = include_str!("../engine.yaml");

static BUILT_IN: LazyLock<Vec<PolicyKind>> = LazyLock::new(|| built_in().0);

fuzz_target!(|input: &str| {
    let ask = || {
        let mut reading = text::read(&Arc::from("world.yaml"), WORLD);
        reading.objects.extend(text::read(&Arc::from("input.yaml"), input).objects);
        let engine = Engine::new(Objects::new(reading.objects), &BUILT_IN, Settings { infer_unlabelled: true, ..Settings::default() });
        few_scopes(&engine).then(|| answer::answer(&engine))
    };
    assert_eq!(ask(), ask());
});

/// Whether there are so few that they can be listed: routes that delegate can have very many.
fn few_scopes(engine: &Engine) -> bool {
    let nodes = engine.topology().nodes().map(|(node, _)| node);
    let chains = |node| engine.models().iter().flat_map(move |model| model.chains_at(engine.view(), node));
    let scopes = |node| chains(node).map(|(_, scopes)| *scopes);
    nodes.flat_map(scopes).fold(0, u64::saturating_add) < 20_000
}

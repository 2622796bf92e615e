//! An incremental engine that applied batches of edits is equal to a newly built engine, and its reports are the
//! differences. `PROPTEST_CASES=5000 cargo test --release -p attache-engine --test incremental` tries more cases.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../common/answer.rs"]
mod answer;
mod case;
mod corpus;
#[path = "../common/dice.rs"]
mod dice;
mod difference;
mod edits;
mod follow;
mod known;
mod shrink;
#[path = "../common/world.rs"]
mod world;

use proptest::prelude::Rng;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngSeed, TestRunner};

use world::worlds;

#[test]
fn an_incremental_engine_is_equal_to_a_new_one_and_reports_the_differences() {
    let wanted = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    // By default always the same cases; other ones if a number is given.
    let rng_seed = if wanted.is_some() { RngSeed::Random } else { RngSeed::Fixed(0) };
    let mut runner = TestRunner::new(Config { rng_seed, ..Config::default() });
    for _ in 0..wanted.unwrap_or(200) {
        let world = worlds().new_tree(&mut runner).unwrap().current();
        let case = edits::case(world, runner.rng().next_u64());
        if follow::verdict(&case).is_err() {
            let case = shrink::shrink(case);
            panic!("{}\n\n{case}", follow::verdict(&case).unwrap_err());
        }
    }
}

//! Differences in the input that must not change the result.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use crate::answer::answer;
use crate::config;
use crate::world::{GROUP, World, worlds};

fn two_orders() -> impl Strategy<Value = (World, World)> {
    worlds().prop_flat_map(|world| (Just(world.clone()), Just(world.0).prop_shuffle().prop_map(World)))
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn the_order_of_the_input_does_not_matter((world, shuffled) in two_orders()) {
        // Problems contain the number of the document in its file, which depends on the order of the input.
        let lines = |world: &World| -> Vec<String> {
            answer(&world.engine()).into_iter().filter(|line| !line.starts_with("problem")).collect()
        };
        same(&lines(&world), &lines(&shuffled))?;
    }

    #[test]
    fn a_policy_that_reaches_nothing_changes_nothing(world in worlds(), which in any::<Index>()) {
        let is_policy = |it: &&Value| it["apiVersion"].as_str().is_some_and(|version| version.starts_with(GROUP));
        let policies: Vec<&Value> = world.0.iter().filter(is_policy).collect();
        prop_assume!(!policies.is_empty());
        let mut more = (*which.get(&policies)).clone();
        more["metadata"]["name"] = json!("idle");
        more["spec"]["targetRefs"] = json!([{"group": "", "kind": "Service", "name": "nobody"}]);
        let with_it = World(world.0.iter().cloned().chain([more]).collect());
        let others: Vec<String> =
            answer(&with_it.engine()).into_iter().filter(|line| !line.contains("/idle")).collect();
        same(&answer(&world.engine()), &others)?;
    }
}

fn same(one: &[String], other: &[String]) -> Result<(), TestCaseError> {
    for (one, other) in one.iter().zip(other) {
        prop_assert_eq!(one, other);
    }
    prop_assert_eq!(one.len(), other.len());
    Ok(())
}

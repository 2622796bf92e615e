//! Effective policies from YAML: `cargo run -p attache-engine --example effective_policies -- examples/bakery/*.yaml`

use std::error::Error;

use attache_engine::Engine;
use attache_engine::text;

fn main() -> Result<(), Box<dyn Error>> {
    let mut objects = Vec::new();
    for file in std::env::args().skip(1) {
        let reading = text::read(&file.as_str().into(), &std::fs::read_to_string(&file)?);
        reading.problems.iter().for_each(|problem| eprintln!("{}", problem.message));
        objects.extend(reading.objects);
    }
    let engine = Engine::builder().objects(objects).build();
    for policy in engine.all_effective_policies() {
        let target = policy.scope.target().map(ToString::to_string).unwrap_or_default();
        println!("{} on {target}: {}", policy.policy_kind, serde_json::to_string(&policy.effective.spec)?);
        for origin in &policy.effective.origins {
            println!("  {} from {}", origin.path, engine.policy_id(origin.policy));
        }
    }
    Ok(())
}

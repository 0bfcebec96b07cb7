//! Bounds of the scenario in a file, and what to change where a deadline fails:
//! `cargo run -p rospin-analysis --example bounds -- crates/scenario/scenarios/chain.toml`.

use rospin_analysis::Analysis;
use rospin_scenario::Scenario;

/// A chain across two callbacks, beside a long one.
const TEXT: &str = r#"
    duration = "1 s"
    topics = ["/scan"]
    priorities = "picas"

    [[executor]]
    name = "main"

    [[group]]
    name = "node"

    [[callback]]
    name = "lidar"
    kind = "timer"
    period = "50 ms"
    execution = "4 ms"
    publishes = ["/scan"]

    [[callback]]
    name = "brake"
    kind = "subscription"
    subscribes = "/scan"
    execution = "1 ms"

    [[callback]]
    name = "map"
    kind = "timer"
    period = "200 ms"
    execution = "30 ms"

    [[chain]]
    name = "safety"
    deadline = "60 ms"
    callbacks = ["lidar", "brake"]
"#;

#[expect(clippy::print_stdout, reason = "an example")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scenario = match std::env::args().nth(1) {
        Some(path) => Scenario::parse(&std::fs::read_to_string(path)?)?,
        None => Scenario::parse(TEXT)?,
    };
    let analysis = Analysis::new(&scenario);
    let report = analysis.run()?;
    println!("{}", report.methods.join("; "));
    for callback in &report.callbacks {
        println!("{}: bound {:?}, deadline {:?}", callback.name, callback.bound, callback.deadline);
    }
    for chain in &report.chains {
        println!("{}: latency {:?}, deadline {:?}", chain.name, chain.latency, chain.deadline);
    }
    for line in analysis.sensitivity()?.advice() {
        println!("{line}");
    }
    Ok(())
}

//! The costs of a way in for operators: services that come before everything else.

use std::time::Duration;

use rospin_core::{EntityKind, Priority};
use rospin_scenario::{Callback, ExecutionTime, Group, Pattern, Release, Scenario};
use rospin_sim::Simulation;

/// The reference system on one core, while an operator's tools read and set parameters: ten requests a second, of 200
/// us each. Once they are the most urgent callback of the executor, as a program has them, and once the least urgent
/// one.
#[test]
#[expect(clippy::print_stderr, reason = "the figures are asked for")]
fn a_way_in_costs_the_hot_path_less_than_two_percent() {
    let text = std::fs::read_to_string("../scenario/scenarios/reference_system.toml").unwrap();
    let hot_path = |priority: Option<u32>| {
        let mut scenario = Scenario::parse(&text).unwrap();
        if let Some(priority) = priority {
            let mut services = Callback::new("parameters", EntityKind::Service, "parameters");
            services.priority = Some(priority);
            services.execution = ExecutionTime::Fixed(Duration::from_micros(200));
            scenario.groups.push(Group::new("parameters", "main"));
            scenario.callbacks.push(services);
            let requests = Pattern::Sporadic {
                offset: Duration::from_millis(7),
                min: Duration::from_millis(50),
                max: Duration::from_millis(150),
            };
            scenario.releases.push(Release::new(["parameters"], requests));
        }
        scenario.duration = Duration::from_secs(120);
        let outcome = Simulation::new(&scenario).unwrap().run().unwrap();
        let chain = outcome.chains.iter().find(|chain| chain.name == "hot path").unwrap();
        (chain.latency.p99, outcome.callbacks.last().map(|services| services.response.max))
    };
    let (none, last, first) = (hot_path(None), hot_path(Some(0)), hot_path(Some(Priority::WAY_IN.0)));
    eprintln!(
        "p99 of the hot path, and the slowest response: {none:?} without requests, {last:?} last, {first:?} first"
    );
    assert!(first.0 <= last.0.mul_f64(1.02), "{first:?}, {last:?}");
    assert!(first.1 < last.1);
}

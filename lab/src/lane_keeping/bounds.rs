//! Bounds of a drive: the system is learnt from its recordings, the analysis bounds it, and the longest measured times
//! are beside that.
//!
//! A recording does not tell everything. The OS priorities are those of the deployment file. DDS does not number its
//! messages, so the longest delay of a topic between processes is taken from the latest publication before each
//! release. The times to wake threads up, and what the machine's other programs take, are in no bound: a measured time
//! that exceeds its bound shows them.

use std::collections::BTreeMap;
use std::time::Duration;

use rospin_analysis::Analysis;
use rospin_engine::os::OsScheduling;
use rospin_learn::Options;
use rospin_scenario::{Chain, ExecutionTime, Link, Scenario};
use rospin_trace::Model;
use rospin_trace::model::Activation;
use serde::Serialize;

use super::deployment::deployment;
use super::measured::CHAIN;
use super::order::{Executors, Part};

/// The name of the chain in the system of the analysis.
const CHAIN_NAME: &str = "odometry from bus to visualiser";

/// A callback or chain: its longest measured response, and the bound of the analysis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Bound {
    pub(crate) name: String,
    /// Longest time from release to end that was measured; `None` if it never ran to its end.
    pub(crate) measured_us: Option<f64>,
    /// The bound; `None` if there is none, for the reason in `reason`.
    pub(crate) bound_us: Option<f64>,
    pub(crate) reason: Option<String>,
}

impl Bound {
    /// Returns true if it was measured, has a bound, and kept it.
    pub(crate) fn is_kept(&self) -> bool {
        self.measured_us.zip(self.bound_us).is_some_and(|(measured, bound)| measured <= bound)
    }
}

/// Returns the bounds of all callbacks and of the chain, beside the longest times measured from `from_ns` on.
/// `chain_us` are the latencies of the chain, and `cores` the number of the machine's cores.
///
/// # Errors
/// If nothing was learnt, or the analysis refuses the system; in words.
pub(crate) fn bounds(
    executors: Executors,
    model: &Model,
    chain_us: &[f64],
    from_ns: u64,
    cores: u16,
) -> Result<Vec<Bound>, String> {
    let learned = rospin_learn::learn(model, &Options::default()).map_err(|error| error.to_string())?;
    let mut system = prepared(learned.scenario, executors, cores);
    system.links.extend(links(model, &system, from_ns));
    let report = Analysis::new(&system).run().map_err(|error| error.to_string())?;
    let longest = |name: &str| {
        let of = model.callbacks.iter().filter(|callback| callback.name == name);
        let activations = of.flat_map(|callback| &callback.activations).map(|place| &model.activations[*place]);
        let counted = activations.filter(|one| one.release_ns >= from_ns);
        counted.filter_map(Activation::response_ns).max().map(|ns| ns as f64 / 1e3)
    };
    let mut bounds: Vec<Bound> = report
        .callbacks
        .iter()
        .map(|callback| Bound {
            name: callback.name.clone(),
            measured_us: longest(&callback.name),
            bound_us: callback.bound.map(|bound| bound.as_secs_f64() * 1e6),
            reason: callback.not_proven.clone(),
        })
        .collect();
    let chain = report.chain(CHAIN_NAME);
    bounds.push(Bound {
        name: CHAIN_NAME.to_owned(),
        measured_us: chain_us.iter().copied().reduce(f64::max),
        bound_us: chain.and_then(|chain| chain.latency).map(|latency| latency.as_secs_f64() * 1e6),
        reason: chain.is_none().then(|| "the chain is not in the system that was learnt".to_owned()),
    });
    Ok(bounds)
}

/// Returns the learnt system with OS priorities as in the deployment file, the cores of the machine, and the chain.
fn prepared(mut system: Scenario, executors: Executors, cores: u16) -> Scenario {
    let plan = deployment(executors, &Part::ALL).unwrap_or_default();
    for executor in &mut system.executors {
        let of_plan = plan.executors.iter().find(|of| of.name == executor.name);
        if let Some(OsScheduling::Fifo { priority }) = of_plan.and_then(|of| of.scheduling) {
            executor.os_priority = priority;
        }
    }
    system.cores = Some(cores);
    if CHAIN.iter().all(|name| system.callbacks.iter().any(|callback| callback.name == *name)) {
        system.chains = vec![Chain::new(CHAIN_NAME, 1, CHAIN)];
    }
    system
}

/// Returns a link with the shortest and the longest delay for each topic that crosses processes and has none yet.
fn links(model: &Model, system: &Scenario, from_ns: u64) -> Vec<Link> {
    let mut published: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for message in model.messages.iter().filter(|message| message.queue.is_none()) {
        published.entry(&message.topic).or_default().push(message.published_ns);
    }
    published.values_mut().for_each(|times| times.sort_unstable());
    let linked = |topic: &String| system.links.iter().any(|link| link.to.contains(topic));
    let mut links = Vec::new();
    for topic in system.topics.iter().filter(|topic| !linked(topic)) {
        let Some(times) = published.get(topic.as_str()) else { continue };
        let takers = model.callbacks.iter().filter(|callback| callback.topics.contains(topic));
        let releases = takers.flat_map(|callback| &callback.activations).map(|of| model.activations[*of].release_ns);
        let delay = |release: u64| {
            let before = times.partition_point(|time| *time <= release);
            before.checked_sub(1).map(|latest| release - times[latest])
        };
        let delays: Vec<u64> = releases.filter(|release| *release >= from_ns).filter_map(delay).collect();
        if let (Some(least), Some(most)) = (delays.iter().min(), delays.iter().max()) {
            let between = ExecutionTime::Uniform(Duration::from_nanos(*least), Duration::from_nanos(*most));
            links.push(Link::new([topic.clone()], between));
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_kept_only_if_both_times_are_known() {
        let bound = |measured_us, bound_us| Bound { name: String::new(), measured_us, bound_us, reason: None };
        assert!(bound(Some(1.0), Some(1.0)).is_kept());
        for broken in [bound(Some(1.1), Some(1.0)), bound(None, Some(1.0)), bound(Some(1.0), None)] {
            assert!(!broken.is_kept());
        }
    }

    #[test]
    fn an_empty_recording_has_no_bounds() {
        assert!(bounds(Executors::Priority, &Model::default(), &[], 0, 2).unwrap_err().contains("ran to its end"));
    }

    #[test]
    fn the_threads_have_the_priorities_of_the_file() {
        let text = "duration = \"1 s\"\n[[executor]]\nname = \"control\"\n[[group]]\nname = \"control\"\n[[callback]]\n\
                    name = \"keeper/control\"\nkind = \"timer\"\nperiod = \"20 ms\"\nexecution = \"1 ms\"";
        let system = prepared(Scenario::parse(text).unwrap(), Executors::Priority, 2);
        assert_eq!((system.executors[0].os_priority, system.cores), (5, Some(2)));
        assert!(system.chains.is_empty(), "two callbacks of the chain are missing");
    }
}

//! The table of a what-if: recorded and simulated figures, a line for each case.

use rospin_report::text_table::{self, Side};
use rospin_sim::Outcome;
use rospin_trace::figures::percentile;

use super::observed::{Observation, System};
use super::scenario::Repeated;

/// Figures of every callback and chain, in the recording or in a simulation.
pub(super) struct Case {
    name: &'static str,
    pub(super) callbacks: Vec<Figures>,
    pub(super) chains: Vec<Figures>,
}

/// The figures of a callback or a chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Figures {
    /// From release to end, in order of length.
    responses_ns: Vec<u64>,
    misses: Option<u64>,
    lost: Option<u64>,
}

impl Figures {
    fn new(responses_ns: impl IntoIterator<Item = u64>, misses: Option<u64>, lost: Option<u64>) -> Self {
        let mut responses_ns: Vec<u64> = responses_ns.into_iter().collect();
        responses_ns.sort_unstable();
        Self { responses_ns, misses, lost }
    }

    /// Returns the smallest response that `percent` of all do not exceed, in milliseconds; `-` if there are no
    /// responses.
    fn percentile(&self, percent: usize) -> String {
        let of = percentile(&self.responses_ns, percent);
        of.map_or_else(|| "-".to_owned(), |ns| format!("{:.3}", ns as f64 / 1e6))
    }
}

impl Case {
    /// Returns the recorded figures.
    pub(super) fn recorded(system: &System, repeated: &Repeated) -> Self {
        let callbacks = system.callbacks.iter().zip(&repeated.scenario.callbacks).map(|(callback, plan)| {
            let late = callback.activations.iter().filter(|of| of.is_late());
            let misses = plan.relative_deadline().map(|_| late.count() as u64);
            let responses = callback.activations.iter().filter_map(Observation::response_ns);
            Figures::new(responses, misses, Some(callback.lost + callback.overruns_while_spinning()))
        });
        let chains = repeated.latencies_ns.iter().map(|latencies| Figures::new(latencies.iter().copied(), None, None));
        Self { name: "recorded", callbacks: callbacks.collect(), chains: chains.collect() }
    }

    /// Returns the figures of a simulation.
    pub(super) fn simulated(name: &'static str, outcome: &Outcome) -> Self {
        let nanos = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let mut responses = vec![Vec::new(); outcome.callbacks.len()];
        outcome.runs.iter().for_each(|run| responses[run.callback].push(nanos(run.response())));
        let callbacks = outcome.callbacks.iter().zip(responses).map(|(callback, responses)| {
            Figures::new(responses, Some(callback.misses), Some(callback.dropped + callback.overruns))
        });
        let latencies = |chain: &rospin_sim::ChainOutcome| {
            Figures::new(chain.instances.iter().map(|(_, latency)| nanos(*latency)), None, None)
        };
        Self { name, callbacks: callbacks.collect(), chains: outcome.chains.iter().map(latencies).collect() }
    }
}

/// Returns the table of the callbacks or chains with these names. Those that never ran are left out.
pub(super) fn render(
    what: &'static str,
    names: &[&str],
    cases: &[Case],
    of: impl Fn(&Case) -> &Vec<Figures>,
) -> String {
    let titles = ["runs", "p50", "p99", "max", "misses", "lost"];
    let header: Vec<(&str, Side)> = [(what, Side::Left), ("", Side::Left)]
        .into_iter()
        .chain(titles.into_iter().map(|title| (title, Side::Right)))
        .collect();
    let count = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let mut rows = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let figures: Vec<(&str, &Figures)> =
            cases.iter().filter_map(|case| Some((case.name, of(case).get(place)?))).collect();
        if figures.iter().all(|(_, figures)| figures.responses_ns.is_empty()) {
            continue;
        }
        let has_deadline = figures.first().is_none_or(|(_, recorded)| recorded.misses.is_some());
        for (number, (case, figures)) in figures.iter().enumerate() {
            rows.push(vec![
                if number == 0 { (*name).to_owned() } else { String::new() },
                (*case).to_owned(),
                figures.responses_ns.len().to_string(),
                figures.percentile(50),
                figures.percentile(99),
                figures.percentile(100),
                count(figures.misses.filter(|_| has_deadline)),
                count(figures.lost),
            ]);
        }
    }
    text_table::render(&header, &rows)
}

/// Returns the meaning of the columns and of the cases that there are.
pub(super) fn legend(cases: &[Case]) -> String {
    let mut text = "Times in ms from release to end, of chains from the first release to the last end. misses: ended after the deadline.\n\
                    lost: messages that were displaced, and due times that a timer skipped.\n\
                    simulated: the recorded arrivals and execution times, without the time that the machine adds."
        .to_owned();
    if cases.iter().any(|case| case.name == "changed") {
        text += " changed: the same\nwith the changes; compare it with `simulated`.";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_percentiles_of_responses() {
        let figures = Figures::new((1..=200).rev().map(|ms| ms * 1_000_000), None, None);
        assert_eq!([50, 99, 100].map(|percent| figures.percentile(percent)), ["100.000", "198.000", "200.000"]);
        assert_eq!(Figures::default().percentile(99), "-");
    }

    #[test]
    fn callbacks_that_never_ran_are_left_out() {
        let case = |name| Case {
            name,
            callbacks: vec![Figures::new([2_000_000], Some(1), Some(0)), Figures::default()],
            chains: Vec::new(),
        };
        let text = render("callback", &["a", "b"], &[case("recorded"), case("changed")], |case| &case.callbacks);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(
            lines[2].starts_with("a") && lines[2].contains("recorded") && lines[3].trim().starts_with("changed"),
            "{text}"
        );
    }
}

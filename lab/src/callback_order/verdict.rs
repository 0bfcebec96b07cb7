//! Effect of rospin's own policies, in one sentence that is generated from the runs.

use rospin_engine::EntityKind;

use super::agreement::seconds;
use super::cases::{E2, OWN};
use super::runs::CaseResult;

/// Returns a sentence that compares rospin's policies with the wait set (E2) in each experiment. Times that differ by
/// at most `tolerance_ns` count as the same.
pub(super) fn sentence(results: &[CaseResult], tolerance_ns: u64) -> String {
    let policies: Vec<String> = OWN.iter().filter_map(|policy| changes(results, policy, tolerance_ns)).collect();
    let mut text = format!("Beside {E2}, {}", policies.join("; "));
    let of = |policy: &str| longest_timer_wait_ns(results, policy);
    let waits: Vec<_> =
        OWN.iter().filter_map(|policy| of(policy).map(|ns| format!("{} s under {policy}", seconds(ns)))).collect();
    if let Some(ns) = of(E2) {
        text += &format!("; the longest that a timer waits is {} s under {E2}, {}", seconds(ns), waits.join(", "));
    }
    match latest(results, tolerance_ns) {
        Some(Delay { ns, entity, experiment, policy }) => {
            let s = seconds(ns);
            text + &format!("; in return, others start up to {s} s later ({entity} in {experiment} under {policy}).")
        }
        None => text + "; nothing else starts later.",
    }
}

/// Returns a clause about one policy, such as "fifo changes when T0 M (exp1), T0 (exp2) start, and nothing in exp3,
/// exp4". `None` if the policy was not run.
fn changes(results: &[CaseResult], policy: &str, tolerance_ns: u64) -> Option<String> {
    let mut changed = Vec::new();
    let mut same = Vec::new();
    for (result, wait_set) in pairs(results).filter(|(result, _)| result.case.policy == policy) {
        let experiment = result.case.experiment.name;
        let names = moved(result, wait_set, tolerance_ns);
        if names.is_empty() {
            same.push(experiment);
        } else {
            changed.push(format!("{} ({experiment})", names.join(" ")));
        }
    }
    match (changed.is_empty(), same.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("{policy} changes nothing in {}", same.join(", "))),
        (false, true) => Some(format!("{policy} changes when {} start", changed.join(", "))),
        (false, false) => {
            Some(format!("{policy} changes when {} start, and nothing in {}", changed.join(", "), same.join(", ")))
        }
    }
}

/// Returns the runs under rospin's policies, each with the run of the same experiment under the wait set (E2).
fn pairs(results: &[CaseResult]) -> impl Iterator<Item = (&CaseResult, &CaseResult)> {
    results.iter().filter(|result| !result.case.is_published()).filter_map(|result| {
        let same = |other: &&CaseResult| other.case.experiment == result.case.experiment && other.case.policy == E2;
        results.iter().find(same).map(|wait_set| (result, wait_set))
    })
}

/// Returns the callbacks that start more or less often than under the wait set, or at other times.
fn moved<'a>(result: &'a CaseResult, wait_set: &CaseResult, tolerance_ns: u64) -> Vec<&'a str> {
    let names = result.scenario.callbacks.iter().map(|callback| callback.name.as_str());
    let differs = |name: &&str| {
        let (here, there) = (result.runs_of(name).count(), wait_set.runs_of(name).count());
        let mut starts = result.runs_of(name).zip(wait_set.runs_of(name));
        here != there || starts.any(|(here, there)| here.start_ns.abs_diff(there.start_ns) > tolerance_ns)
    };
    names.filter(differs).collect()
}

/// Returns the longest wait of any timer under a policy, over all experiments; `None` if no timer ran.
fn longest_timer_wait_ns(results: &[CaseResult], policy: &str) -> Option<u64> {
    results.iter().filter(|result| result.case.policy == policy).filter_map(CaseResult::timer_wait_ns).max()
}

impl CaseResult {
    /// Returns the longest wait of any timer from its release to its start; `None` if no timer ran.
    pub(super) fn timer_wait_ns(&self) -> Option<u64> {
        self.wait_ns(|kind| kind == EntityKind::Timer)
    }

    /// Returns the longest wait of any callback other than a timer's, from its release to its start; `None` if none
    /// ran.
    pub(super) fn other_wait_ns(&self) -> Option<u64> {
        self.wait_ns(|kind| kind != EntityKind::Timer)
    }

    /// Returns the longest wait of the callbacks whose kind `of` accepts; `None` if none ran.
    fn wait_ns(&self, of: impl Fn(EntityKind) -> bool) -> Option<u64> {
        let chosen = self.activations.iter().filter(|activation| of(self.scenario.callbacks[activation.callback].kind));
        chosen.map(rospin_report::timeline::Activation::wait_ns).max()
    }
}

/// Callback that starts later under a policy than under the wait set, by `ns` nanoseconds.
struct Delay<'a> {
    ns: u64,
    entity: &'a str,
    experiment: &'static str,
    policy: &'static str,
}

/// Returns the largest delay of a callback compared with the wait set, over all policies and callbacks that are not
/// timers. `None` if none starts later by more than the tolerance.
fn latest(results: &[CaseResult], tolerance_ns: u64) -> Option<Delay<'_>> {
    let mut latest: Option<Delay<'_>> = None;
    for (result, wait_set) in pairs(results) {
        for callback in result.scenario.callbacks.iter().filter(|callback| callback.kind != EntityKind::Timer) {
            for (here, there) in result.runs_of(&callback.name).zip(wait_set.runs_of(&callback.name)) {
                let ns = here.start_ns.saturating_sub(there.start_ns);
                if ns > latest.as_ref().map_or(tolerance_ns, |latest| latest.ns) {
                    let (experiment, policy) = (result.case.experiment.name, result.case.policy);
                    latest = Some(Delay { ns, entity: &callback.name, experiment, policy });
                }
            }
        }
    }
    latest
}

#[cfg(test)]
mod tests {
    use super::super::runs;
    use super::*;

    #[test]
    fn sentence_of_virtual_time() {
        let text = sentence(&runs::simulate_all().unwrap(), 0);
        assert_eq!(text, include_str!("golden/sentence.txt").trim_end());
    }

    #[test]
    fn no_difference_is_said_as_plainly() {
        let results = runs::simulate_all().unwrap();
        let wait_set = results.iter().find(|result| result.case.label() == "exp2 wait-set-e2").unwrap();
        let mut same = wait_set.clone();
        same.case.policy = "fifo";
        let text = sentence(&[wait_set.clone(), same], 0);
        assert!(text.starts_with("Beside wait-set-e2, fifo changes nothing in exp2; the longest"), "{text}");
        assert!(text.ends_with("; nothing else starts later."), "{text}");
    }
}

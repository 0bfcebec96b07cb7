//! What really happened, as the processes tell it, and the invariants that must hold at any time.
//!
//! Facts of different processes come in any order, so what needs two of them is judged when all is quiet.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;

use super::words::{End, Fact, Late, Outcome};

/// A goal as its server, and its client, have it.
#[derive(Clone, Debug, Default)]
struct Goal {
    /// The start of the robot that accepted it.
    boot: i64,
    order: Option<i32>,
    is_canceling: bool,
    cancel_told: bool,
    end: Option<End>,
    told: Vec<End>,
    /// True if its client was told that it was accepted.
    is_known: bool,
}

/// Number of outcomes of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Tally {
    pub(super) answered: u64,
    pub(super) unavailable: u64,
    pub(super) unanswered: u64,
    pub(super) timed_out: u64,
    pub(super) refused: u64,
}

impl Tally {
    fn note(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Answered(_) => self.answered += 1,
            Outcome::Unavailable => self.unavailable += 1,
            Outcome::Unanswered => self.unanswered += 1,
            Outcome::TimedOut => self.timed_out += 1,
            Outcome::Refused | Outcome::Other(_) => self.refused += 1,
        }
    }

    /// Returns the number of all outcomes.
    pub(super) const fn total(&self) -> u64 {
        self.answered + self.unavailable + self.unanswered + self.timed_out + self.refused
    }
}

/// Callbacks that were late, by their cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Lateness {
    /// Callbacks that were timed.
    pub(super) timed: u64,
    /// Those whose process was stopped, had just been started, or had too little memory.
    pub(super) stopped: u64,
    /// Those whose thread could run, and had no processor.
    pub(super) no_processor: u64,
    /// Those whose thread waited while other threads of the process could run, and had no processor.
    pub(super) others_without_processor: u64,
    /// Those whose thread had a processor, which stood still, or that were late while the whole machine was.
    pub(super) stood_still: u64,
    /// Those whose process waited for pages of its program from a disk.
    pub(super) pages_read: u64,
    /// Those whose thread ran other callbacks.
    pub(super) other_callbacks: u64,
    /// Those whose thread waited until a publisher had room.
    pub(super) publishing: u64,
    /// The longest lateness of a process that was not stopped.
    pub(super) longest_ms: f64,
}

/// The share of a callback's lateness that its causes have to explain.
const EXPLAINED: f64 = 0.7;

impl Lateness {
    /// Notes a callback that was late. Returns false if that has no cause. `was_stopped` if its process was; `stalled` is
    /// for how long the whole machine was late at that time.
    pub(super) fn note(&mut self, late: &Late, was_stopped: bool, stalled: Duration) -> bool {
        if was_stopped {
            self.stopped += 1;
            return true;
        }
        if late.has_stood_still {
            self.stood_still += 1;
            return true;
        }
        self.longest_ms = self.longest_ms.max(late.ms);
        let causes = [late.waited_ms, late.publishing_ms, late.ran_ms];
        let [waited, publishing, ran] = causes;
        let own: f64 = causes.iter().sum();
        if own < late.ms * EXPLAINED {
            if own + late.others_waited_ms >= late.ms * EXPLAINED {
                self.others_without_processor += 1;
                return true;
            }
            if late.pages_read > 0 {
                self.pages_read += 1;
                return true;
            }
            let is_explained = own + late.others_waited_ms + stalled.as_secs_f64() * 1e3 >= late.ms * EXPLAINED;
            self.stood_still += u64::from(is_explained);
            return is_explained;
        }
        let count = if waited >= publishing.max(ran) {
            &mut self.no_processor
        } else if publishing >= ran {
            &mut self.publishing
        } else {
            &mut self.other_callbacks
        };
        *count += 1;
        true
    }
}

/// All facts since the last rest, and the numbers of all before.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    effects: BTreeMap<i64, u32>,
    calls: BTreeMap<i64, (Outcome, bool)>,
    goals: BTreeMap<String, Goal>,
    asked: BTreeMap<i32, (Option<String>, Outcome)>,
    /// Speeds that were taken over, by start.
    speeds: BTreeMap<i64, Vec<i64>>,
    sets: BTreeMap<i64, Outcome>,
    /// State of each robot's managed node by its callbacks, by start.
    arms: BTreeMap<i64, String>,
    pub(super) called: Tally,
    pub(super) relayed: Tally,
    pub(super) asked_goals: Tally,
    pub(super) speed_sets: Tally,
    pub(super) changed: Tally,
    pub(super) components: Tally,
    pub(super) goals_told: u64,
    pub(super) lateness: Lateness,
    /// What is not as it must be.
    pub(super) wrong: Vec<String>,
}

impl Ledger {
    fn check(&mut self, is_right: bool, text: impl FnOnce() -> String) {
        if !is_right {
            self.wrong.push(text());
        }
    }

    /// Notes a fact that the process of that start tells.
    pub(super) fn note(&mut self, boot: i64, fact: Fact) {
        match fact {
            Fact::Effect { id } => {
                let effects = self.effects.entry(id).or_default();
                *effects += 1;
                let is_first = *effects == 1;
                self.check(is_first, || format!("request {id} was executed twice"));
            }
            Fact::Called { id, outcome, relayed } => {
                let tally = if relayed { &mut self.relayed } else { &mut self.called };
                tally.note(&outcome);
                let before = self.calls.insert(id, (outcome, relayed));
                self.check(before.is_none(), || format!("call {id} ended twice"));
            }
            Fact::Accepted { goal, order } => {
                let entry = self.goals.entry(goal.clone()).or_default();
                let is_first = entry.order.is_none();
                (entry.boot, entry.order) = (boot, Some(order));
                self.check(is_first, || format!("goal {goal} was accepted twice"));
            }
            Fact::Canceling { goal } => self.goals.entry(goal).or_default().is_canceling = true,
            Fact::Ended { goal, end } => {
                let former = self.goals.entry(goal.clone()).or_default().end.replace(end);
                self.check(former.is_none(), || format!("goal {goal} ended twice"));
            }
            Fact::Asked { order, goal, outcome } => {
                self.asked_goals.note(&outcome);
                if let Some(goal) = &goal {
                    self.goals.entry(goal.clone()).or_default().is_known = true;
                }
                self.asked.insert(order, (goal, outcome));
            }
            Fact::Told { goal, end } => {
                self.goals_told += 1;
                self.goals.entry(goal).or_default().told.push(end);
            }
            Fact::CancelTold { goal } => self.goals.entry(goal).or_default().cancel_told = true,
            Fact::Speed { value } => self.speeds.entry(boot).or_default().push(value),
            Fact::SpeedSet { value, outcome } => {
                self.speed_sets.note(&outcome);
                self.sets.insert(value, outcome);
            }
            Fact::Transition { callback, from } => self.note_transition(boot, &callback, &from),
            Fact::Changed { outcome, .. } => self.changed.note(&outcome),
            Fact::Component { outcome } => self.components.note(&outcome),
            Fact::Wrong { text } => self.wrong.push(format!("start {boot}: {text}")),
            Fact::Timed { count } => self.lateness.timed += count,
            Fact::Ready | Fact::Late(_) | Fact::RobotSnapshot(_) | Fact::StationSnapshot(_) => {}
            Fact::RollCalled { .. } | Fact::Heap { .. } => {}
        }
    }

    fn note_transition(&mut self, boot: i64, callback: &str, from: &str) {
        let state = self.arms.entry(boot).or_insert_with(|| "Unconfigured".to_owned());
        let to = match (callback, state.as_str()) {
            ("configure", "Unconfigured") | ("deactivate", "Active") => "Inactive",
            ("cleanup", "Inactive") => "Unconfigured",
            ("activate", "Inactive") => "Active",
            _ => "",
        };
        let is_right = !to.is_empty() && from == state;
        let before = std::mem::replace(state, to.to_owned());
        self.check(is_right, || format!("start {boot}: `{callback}` ran from {from} in state {before}"));
    }

    /// Returns the state of a robot's managed node as its callbacks have left it.
    pub(super) fn arm(&self, boot: i64) -> &str {
        self.arms.get(&boot).map_or("Unconfigured", String::as_str)
    }

    /// Judges all that needs facts of two processes, which have all come. `live` are the starts that still run. Forgets
    /// what was judged.
    pub(super) fn settle(&mut self, live: &BTreeSet<i64>) {
        self.judge_calls();
        self.judge_goals(live);
        self.judge_speeds();
        self.effects.clear();
        self.calls.clear();
        self.goals.clear();
        self.asked.clear();
        self.sets.clear();
        self.speeds.retain(|boot, _| live.contains(boot));
        self.arms.retain(|boot, _| live.contains(boot));
    }

    fn judge_calls(&mut self) {
        let calls = std::mem::take(&mut self.calls);
        for (id, (outcome, relayed)) in calls {
            let effects = self.effects.get(&id).copied().unwrap_or_default();
            let is_right = match outcome {
                Outcome::Answered(sum) => sum == 2 * id && effects == 1,
                // Nothing was sent. A relayed call says so of its first half only.
                Outcome::Unavailable => effects == 0,
                Outcome::Unanswered | Outcome::TimedOut => effects <= 1,
                Outcome::Refused | Outcome::Other(_) => false,
            };
            let which = if relayed { "relayed call" } else { "call" };
            self.check(is_right, || format!("{which} {id} had {effects} effects, and ends with {outcome:?}"));
        }
    }

    fn judge_goals(&mut self, live: &BTreeSet<i64>) {
        for (id, goal) in std::mem::take(&mut self.goals) {
            let Some(order) = goal.order else {
                self.check(false, || format!("goal {id} was accepted by no server, and its client has it: {goal:?}"));
                continue;
            };
            let is_over = goal.end.is_some() || !live.contains(&goal.boot);
            self.check(is_over, || format!("goal {order} has no end, and its server lives"));
            for told in &goal.told {
                // A server that ends in an orderly way aborts the goals that it executes.
                let is_given_up = goal.end.is_none() && !live.contains(&goal.boot) && told.is_aborted_unasked();
                let is_right = goal.end.as_ref() == Some(told) || is_given_up;
                self.check(is_right, || format!("goal {order} ended as {:?}, and its client has {told:?}", goal.end));
            }
            let is_right = !goal.cancel_told || goal.is_canceling;
            self.check(is_right, || format!("goal {order} is not being canceled, and its client was told so"));
        }
        for (order, (goal, outcome)) in std::mem::take(&mut self.asked) {
            let is_right = match &outcome {
                Outcome::Answered(_) => goal.is_some() && order % super::REJECTED != 0,
                Outcome::Refused => order % super::REJECTED == 0,
                Outcome::Unavailable | Outcome::Unanswered | Outcome::TimedOut => true,
                Outcome::Other(_) => false,
            };
            self.check(is_right, || format!("goal {order} was asked for, which ends with {outcome:?}"));
        }
    }

    fn judge_speeds(&mut self) {
        for (value, outcome) in std::mem::take(&mut self.sets) {
            let count = self.speeds.values().flatten().filter(|speed| **speed == value).count();
            let is_right = match &outcome {
                Outcome::Answered(_) => count == 1,
                Outcome::Unavailable => count == 0,
                Outcome::Unanswered | Outcome::TimedOut => count <= 1,
                Outcome::Refused => count == 0 && value % super::TOO_FAST == 0,
                Outcome::Other(_) => false,
            };
            self.check(is_right, || format!("speed {value} was set {count} times, and the call ends with {outcome:?}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(facts: Vec<(i64, Fact)>) -> Vec<String> {
        let mut ledger = Ledger::default();
        for (boot, fact) in facts {
            ledger.note(boot, fact);
        }
        ledger.settle(&BTreeSet::from([1]));
        ledger.wrong
    }

    fn called(outcome: Outcome) -> Fact {
        Fact::Called { id: 4, outcome, relayed: false }
    }

    #[test]
    fn a_call_has_at_most_one_effect_and_one_answer() {
        let effect = || (1, Fact::Effect { id: 4 });
        assert_eq!(judged(vec![(2, called(Outcome::Answered(8))), effect()]), [""; 0]);
        assert_eq!(judged(vec![effect(), (2, called(Outcome::Unanswered))]), [""; 0]);
        assert_eq!(judged(vec![(2, called(Outcome::Unanswered))]), [""; 0]);
        for facts in [
            vec![effect(), effect()],
            vec![(2, called(Outcome::Answered(8)))],
            vec![effect(), (2, called(Outcome::Answered(9)))],
            vec![effect(), (2, called(Outcome::Unavailable))],
            vec![effect(), (2, called(Outcome::Answered(8))), (2, called(Outcome::Unanswered))],
            vec![effect(), (2, called(Outcome::Other("a reason".to_owned())))],
        ] {
            assert_eq!(judged(facts.clone()).len(), 1, "{facts:?}");
        }
    }

    #[test]
    fn a_goal_has_one_end_which_its_client_has_too() {
        let goal = || "a".to_owned();
        let end = |state: &str| End { state: state.to_owned(), result: vec![1] };
        let accepted = || (1, Fact::Accepted { goal: goal(), order: 3 });
        let ended = |state| (1, Fact::Ended { goal: goal(), end: end(state) });
        let told = |state| (2, Fact::Told { goal: goal(), end: end(state) });
        assert_eq!(judged(vec![told("Aborted"), accepted(), ended("Aborted")]), [""; 0]);
        // A server that has ended takes its goals with it.
        let ended_server = || (9, Fact::Accepted { goal: goal(), order: 3 });
        assert_eq!(judged(vec![ended_server()]), [""; 0]);
        let given_up =
            || (2, Fact::Told { goal: goal(), end: End { state: "Aborted".to_owned(), result: Vec::new() } });
        assert_eq!(judged(vec![ended_server(), given_up()]), [""; 0]);
        for facts in [
            vec![accepted()],
            vec![accepted(), accepted(), ended("Aborted")],
            vec![accepted(), ended("Aborted"), ended("Aborted")],
            vec![accepted(), ended("Aborted"), told("Succeeded")],
            vec![ended_server(), told("Succeeded")],
            vec![told("Aborted")],
            vec![accepted(), ended("Aborted"), (2, Fact::CancelTold { goal: goal() })],
        ] {
            assert_eq!(judged(facts.clone()).len(), 1, "{facts:?}");
        }
    }

    #[test]
    fn a_speed_is_set_once_or_not_at_all() {
        let took = |value| (1, Fact::Speed { value });
        let set = |value, outcome| (2, Fact::SpeedSet { value, outcome });
        assert_eq!(judged(vec![took(5), set(5, Outcome::Answered(5)), set(11, Outcome::Refused)]), [""; 0]);
        for facts in [
            vec![set(5, Outcome::Answered(5))],
            vec![took(5), took(5), set(5, Outcome::Unanswered)],
            vec![took(5), set(5, Outcome::Unavailable)],
            vec![set(5, Outcome::Refused)],
        ] {
            assert_eq!(judged(facts.clone()).len(), 1, "{facts:?}");
        }
    }

    #[test]
    fn a_late_callback_has_a_cause() {
        let late = Late { ms: 200.0, waited_ms: 60.0, ran_ms: 10.0, ..Late::default() };
        let mut lateness = Lateness::default();
        let none = Duration::ZERO;
        assert!(!lateness.note(&late, false, none));
        assert!(lateness.note(&late, true, none));
        assert!(lateness.note(&Late { has_stood_still: true, ..late }, false, none));
        assert!(lateness.note(&late, false, Duration::from_millis(90)));
        assert!(lateness.note(&Late { others_waited_ms: 90.0, ..late }, false, none));
        assert!(lateness.note(&Late { pages_read: 2, ..late }, false, none));
        assert!(lateness.note(&Late { publishing_ms: 90.0, ..late }, false, none));
        assert!(lateness.note(&Late { waited_ms: 190.0, ..late }, false, none));
        assert!(lateness.note(&Late { ran_ms: 190.0, ..late }, false, none));
        let rare = [lateness.stopped, lateness.stood_still, lateness.others_without_processor, lateness.pages_read];
        assert_eq!(
            (rare, lateness.publishing, lateness.no_processor, lateness.other_callbacks),
            ([1, 2, 1, 1], 1, 1, 1)
        );
    }

    #[test]
    fn states_change_in_their_order() {
        let ran =
            |callback: &str, from: &str| (1, Fact::Transition { callback: callback.to_owned(), from: from.to_owned() });
        assert_eq!(judged(vec![ran("configure", "Unconfigured"), ran("activate", "Inactive")]), [""; 0]);
        assert_eq!(judged(vec![ran("activate", "Unconfigured")]).len(), 1);
        assert_eq!(judged(vec![ran("configure", "Inactive")]).len(), 1);
    }
}

//! Single activations that are told: those that missed a deadline, and those that waited for other callbacks.

use std::collections::{BTreeMap, VecDeque};

use rospin_core::recording::Step;
use serde::Serialize;

use super::{Live, Place, place};
use crate::overdue::Watch;
use crate::waits::Reason;

/// The largest number of misses that an interval tells.
const MISSES: usize = 100;
/// The shortest wait that is explained: an idle thread takes some of this to wake up.
const SHORTEST: u64 = 200_000;
/// The largest number of waits that are explained in an interval.
const EXPLAINED: u64 = 1_000;
/// The largest number of pairs of callbacks that an interval tells.
const PAIRS: usize = 200;

/// An activation that missed its deadline.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MissView {
    /// The place of the callback.
    pub place: Place,
    /// Its name.
    pub callback: String,
    /// The sequence number of the activation within its executor.
    pub sequence: u64,
    /// The time at which it ended, on the steady clock.
    pub end_ns: u64,
    /// The time from its release to its end.
    pub response_ns: u64,
    /// The time by which it missed its deadline.
    pub late_ns: u64,
}

/// Waits of a callback for another one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WaitView {
    /// The place of the callback that waits.
    pub place: Place,
    /// Its name.
    pub callback: String,
    /// The reason in words: `a higher priority`.
    pub reason: &'static str,
    /// The callback that it waits for; `None` if it waits for a thread that nothing runs on.
    pub culprit: Option<String>,
    /// The place of that callback.
    pub culprit_place: Option<Place>,
    /// The time for which activations that began in the interval had waited.
    pub ended_ns: u64,
    /// The time for which an activation that has not begun waits already.
    pub still_ns: u64,
}

/// Waits of an interval.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Waits {
    /// Pairs of callbacks, the longest wait first: at most two hundred.
    pub pairs: Vec<WaitView>,
    /// The number of waits that are not explained, because there were too many.
    pub left_out: u64,
}

pub(super) struct Miss {
    pub(super) of: Place,
    pub(super) sequence: u64,
    pub(super) end_ns: u64,
    pub(super) response_ns: u64,
    pub(super) late_ns: u64,
}

/// Notes a miss. If there are too many, the oldest one goes.
pub(super) fn note_miss(misses: &mut VecDeque<Miss>, miss: Miss) {
    if misses.len() == MISSES {
        misses.pop_front();
    }
    misses.push_back(miss);
}

/// A callback that waits, the reason, and the callback that it waits for.
type Pair = (Place, Reason, Option<Place>);

/// Waits of the interval, while it lasts.
#[derive(Default)]
pub(super) struct Waiting {
    ended: BTreeMap<Pair, u64>,
    explained: u64,
    left_out: u64,
}

impl Waiting {
    /// Notes whom an activation waited for that was released at `release` and begins now.
    pub(super) fn ended(&mut self, watch: &Watch, step: Step, release: u64, now: u64) {
        if now.saturating_sub(release) < SHORTEST {
            return;
        }
        if self.explained == EXPLAINED {
            self.left_out += 1;
            return;
        }
        self.explained += 1;
        let of = (step.executor, step.entity);
        for (reason, culprit, ns) in watch.shares(of, Some(step.sequence), release, now) {
            let culprit = culprit.map(|(executor, entity)| place(executor, entity));
            let sum = self.ended.entry((place(of.0, of.1), reason, culprit)).or_default();
            *sum = sum.saturating_add(ns);
        }
    }
}

impl Live {
    /// Asks for [`View::waits`](super::View::waits) from now on.
    pub fn explain_waits(&mut self) {
        self.waits.get_or_insert_default();
    }

    /// Returns the misses, and ends their interval.
    pub(super) fn misses_view(&mut self) -> Vec<MissView> {
        let mut views = Vec::new();
        for miss in self.misses.drain(..) {
            let Some(callback) = self.callbacks.get(&miss.of) else { continue };
            views.push(MissView {
                place: miss.of,
                callback: callback.name.clone(),
                sequence: miss.sequence,
                end_ns: miss.end_ns,
                response_ns: miss.response_ns,
                late_ns: miss.late_ns,
            });
        }
        views
    }

    /// Returns the waits, and ends their interval; `None` unless somebody asked for them.
    pub(super) fn waits_view(&mut self, now: u64) -> Option<Waits> {
        let Waiting { ended, mut explained, mut left_out } = std::mem::take(self.waits.as_mut()?);
        let mut pairs: BTreeMap<Pair, (u64, u64)> = ended.into_iter().map(|(pair, ns)| (pair, (ns, 0))).collect();
        for (of, sequence, release) in self.watch.waiting() {
            if now.saturating_sub(release) < SHORTEST {
                continue;
            }
            if explained == EXPLAINED {
                left_out += 1;
                continue;
            }
            explained += 1;
            for (reason, culprit, ns) in self.watch.shares(of, Some(sequence), release, now) {
                let culprit = culprit.map(|(executor, entity)| place(executor, entity));
                let sum = pairs.entry((place(of.0, of.1), reason, culprit)).or_default();
                sum.1 = sum.1.saturating_add(ns);
            }
        }
        let mut views = Vec::new();
        for ((of, reason, culprit), (ended_ns, still_ns)) in pairs {
            let Some(callback) = self.callbacks.get(&of) else { continue };
            let by = culprit.and_then(|culprit| self.callbacks.get(&culprit));
            views.push(WaitView {
                place: of,
                callback: callback.name.clone(),
                reason: reason.as_str(),
                culprit: by.map(|by| by.name.clone()),
                culprit_place: culprit,
                ended_ns,
                still_ns,
            });
        }
        views.sort_by_key(|view| std::cmp::Reverse(view.ended_ns.saturating_add(view.still_ns)));
        views.truncate(PAIRS);
        Some(Waits { pairs: views, left_out })
    }
}

#[cfg(test)]
mod tests {
    use rospin_core::Instant;
    use rospin_core::recording::Event;

    use super::*;
    use crate::names::Name;
    use crate::recording::Recorded;

    const MS: u64 = 1_000_000;

    /// A fixed-priority executor with one thread, an urgent planner and a scanner.
    struct Robot(Live);

    impl Robot {
        fn new() -> Self {
            let mut live = Live::default();
            live.name(Name::Executor { executor: 0, name: "main".into(), policy: "fixed-priority".into(), threads: 1 });
            for (number, name) in (0..).zip(["planner", "scanner"]) {
                live.name(Name::Entity {
                    executor: 0,
                    entity: number,
                    account: number,
                    name: name.into(),
                    group: name.into(),
                    excludes: true,
                    kind: "subscription".into(),
                    priority: 10 - number as u32,
                    deadline_ns: None,
                    period_ns: None,
                    rules: None,
                });
            }
            live.view(0);
            Self(live)
        }

        fn at(&mut self, ms: u64, event: Event) {
            self.0.event(Recorded { thread: 1, at: Instant::from_nanos(ms * MS), event });
        }

        fn release(&mut self, ms: u64, entity: u64, sequence: u64) {
            let release = Instant::from_nanos(ms * MS);
            self.at(ms, Event::Released { step: step(entity, sequence), release, deadline: Instant::MAX });
        }

        fn begin(&mut self, ms: u64, entity: u64, sequence: u64, release: u64) {
            let release = Instant::from_nanos(release * MS);
            self.at(ms, Event::Dispatched { step: step(entity, sequence), thread: 0, release, cpu_ns: 0 });
        }

        fn end(&mut self, ms: u64, entity: u64, sequence: u64, deadline: u64) {
            let deadline = Instant::from_nanos(deadline * MS);
            self.at(ms, Event::Completed { step: step(entity, sequence), deadline, cpu_ns: 0 });
        }
    }

    fn step(entity: u64, sequence: u64) -> Step {
        Step { executor: 0, entity, sequence, segment: 0 }
    }

    #[test]
    fn who_waits_for_whom_is_told_while_it_waits_and_once_it_began() {
        let mut robot = Robot::new();
        assert_eq!(robot.0.view(1).waits, None, "nobody asked");
        robot.0.explain_waits();
        robot.begin(1, 0, 1, 1);
        robot.release(2, 1, 2);
        let pairs = |robot: &mut Robot, ms: u64| {
            let waits = robot.0.view(ms * MS).waits.unwrap();
            assert_eq!(waits.left_out, 0);
            let told = |of: &WaitView| (of.callback.clone(), of.culprit.clone(), of.ended_ns / MS, of.still_ns / MS);
            waits.pairs.iter().map(told).collect::<Vec<_>>()
        };
        let scanner = |ended, still| vec![("scanner".to_owned(), Some("planner".to_owned()), ended, still)];
        assert_eq!(pairs(&mut robot, 12), scanner(0, 10));
        robot.end(22, 0, 1, 1_000);
        robot.begin(22, 1, 2, 2);
        assert_eq!(pairs(&mut robot, 25), scanner(20, 0));
        assert_eq!(pairs(&mut robot, 30), []);
    }

    #[test]
    fn misses_have_names_and_times_and_the_last_ones_stay() {
        let mut robot = Robot::new();
        for number in 0..MISSES as u64 + 5 {
            robot.begin(10 * number, 1, number, 10 * number);
            robot.end(10 * number + 3, 1, number, 10 * number + 1);
        }
        let view = robot.0.view(2_000 * MS);
        assert_eq!((view.misses.len(), view.misses[0].sequence, view.callbacks[1].missed), (MISSES, 5, 105));
        let last = view.misses.last().unwrap();
        assert_eq!((last.callback.as_str(), last.late_ns, last.response_ns), ("scanner", 2 * MS, 3 * MS));
        assert_eq!(last.end_ns, 1_043 * MS);
        assert_eq!(robot.0.view(3_000 * MS).misses, []);
    }
}

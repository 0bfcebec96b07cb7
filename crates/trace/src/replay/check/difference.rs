//! The report of a decision that differs from the recorded one.

use std::sync::PoisonError;

use rospin_core::recording::Step;
use rospin_core::trace::TraceEvent;
use rospin_core::{Activation, Instant, ThreadIndex};

use super::super::{Candidate, Difference, State};
use super::{Polled, Run};

impl Run<'_> {
    /// Compares the last polling point with the recorded one. Returns what differs.
    pub(super) fn compare_polls(&mut self, recorded: Option<Vec<Polled>>) -> Option<String> {
        let told = std::mem::take(&mut *self.told.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner));
        let polls = told.iter().any(|event| matches!(event, TraceEvent::PollingPoint(_)));
        let collected: Vec<_> = told
            .iter()
            .filter_map(|event| match event {
                // All entities are added in the order of their places, and none is removed.
                TraceEvent::Collected(of) => Some((of.entity.index(), of.sequence, of.segment)),
                _ => None,
            })
            .collect();
        match recorded {
            Some(polled) if polls && polled == collected => {
                self.ready_set = polled;
                None
            }
            Some(polled) if polls => Some(format!(
                "the ready sets of the polling point differ: recorded {}; replayed {}",
                self.list(&polled),
                self.list(&collected)
            )),
            Some(polled) => Some(format!(
                "the recorded thread built a new ready set ({}), and the replay still serves the former one",
                self.list(&polled)
            )),
            None if polls => Some(format!(
                "the recorded thread served its former ready set, and the replay built a new one ({})",
                self.list(&collected)
            )),
            None => None,
        }
    }

    fn list(&self, segments: &[Polled]) -> String {
        const MOST: usize = 12;
        let name = |(entity, sequence, _): &Polled| {
            format!("{} #{sequence}", self.described.entities.get(*entity).map_or("?", |entity| entity.name.as_str()))
        };
        let mut names: Vec<String> = segments.iter().take(MOST).map(name).collect();
        if segments.len() > MOST {
            names.push(format!("and {} more", segments.len() - MOST));
        }
        if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
    }

    pub(super) fn difference(
        &self,
        at: Instant,
        thread: ThreadIndex,
        decision: u64,
        recorded: Option<Candidate>,
        replayed: Option<Candidate>,
    ) -> Difference {
        let state = |activation: &Activation| {
            let key = (activation.entity.index(), activation.sequence, activation.segment);
            match (self.scheduler.may_run(activation), self.ready_set.contains(&key)) {
                (false, _) => State::Blocked,
                (true, true) => State::Polled,
                (true, false) => State::MayRun,
            }
        };
        let ready =
            self.scheduler.ready().iter().map(|activation| self.candidate(activation, state(activation))).collect();
        let running = self.running.iter().flatten().map(|activation| self.candidate(activation, State::Running));
        let suspended = self.suspended.iter().flatten().map(|activation| self.candidate(activation, State::Suspended));
        Difference {
            decision,
            at_ns: at.as_nanos(),
            since_begin_ns: at.as_nanos().saturating_sub(self.described.begin_ns),
            thread: thread.0,
            recorded,
            replayed,
            what: None,
            ready,
            under_way: running.chain(suspended).collect(),
        }
    }

    pub(super) fn candidate(&self, activation: &Activation, state: State) -> Candidate {
        let entity = self.described.entities.get(activation.entity.index());
        Candidate {
            callback: entity.map_or_else(|| "?".to_owned(), |entity| entity.name.clone()),
            group: entity.map_or_else(String::new, |entity| entity.group.clone()),
            sequence: activation.sequence,
            segment: activation.segment,
            priority: activation.priority.0,
            release_ns: activation.release.as_nanos(),
            deadline_ns: Some(activation.deadline.as_nanos()).filter(|_| activation.deadline != Instant::MAX),
            registration: entity.map_or(0, |entity| entity.registration),
            state,
        }
    }

    /// Returns the recorded choice, which need not be ready in the replay.
    pub(super) fn named(&self, entity: usize, step: &Step) -> Candidate {
        let of = &self.described.entities[entity];
        Candidate {
            callback: of.name.clone(),
            group: of.group.clone(),
            sequence: step.sequence,
            segment: step.segment,
            priority: of.priority,
            release_ns: 0,
            deadline_ns: None,
            registration: of.registration,
            state: State::Blocked,
        }
    }
}

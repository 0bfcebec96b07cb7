//! Parameter events, as they are published.

use std::collections::VecDeque;
use std::sync::Arc;

use super::store::{Change, State, Store};
use super::value::ParameterSetting;
use crate::interfaces::builtin_interfaces::Time;
use crate::interfaces::rcl_interfaces::{Parameter, ParameterEvent};

/// Number of events that wait for publication at most; the topic keeps as many.
pub(super) const EVENTS_MAX: usize = 1000;

/// Publishes an event.
type Publish = dyn Fn(ParameterEvent) + Send + Sync;

/// Events on their way to the topic, in the order of the changes.
///
/// One thread publishes at a time, which keeps the order. The others append their events, and do not wait.
#[derive(Default)]
pub(super) struct Outbox {
    events: VecDeque<Change>,
    publish: Option<Arc<Publish>>,
    is_publishing: bool,
    /// Number of events that newer ones displaced.
    missed: u64,
}

impl Outbox {
    /// Appends a change. While nobody publishes, nothing is kept.
    pub(super) fn push(&mut self, change: Change) {
        let is_empty = change.new.is_empty() && change.changed.is_empty() && change.deleted.is_empty();
        if self.publish.is_none() || is_empty {
            return;
        }
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
            self.missed += 1;
        }
        self.events.push_back(change);
    }

    pub(super) const fn missed(&self) -> u64 {
        self.missed
    }

    pub(super) const fn is_open(&self) -> bool {
        self.publish.is_some()
    }
}

impl State {
    /// Starts the publication of events. The first event has all parameters that are declared already.
    pub(super) fn open_outbox(&mut self, publish: Arc<Publish>) {
        self.outbox.publish = Some(publish);
        let new = self.all();
        self.outbox.push(Change { new, ..Change::default() });
    }
}

impl Store {
    /// Ends the publication of events.
    pub(super) fn close_outbox(&self) {
        let mut state = self.lock();
        let closed = (state.outbox.publish.take(), std::mem::take(&mut state.outbox.events));
        drop(state);
        drop(closed);
    }

    /// Publishes the queued events, unless a thread, perhaps this one, does so already.
    pub(super) fn publish_events(&self) {
        loop {
            let mut state = self.lock();
            let outbox = &mut state.outbox;
            let (false, Some(publish)) = (outbox.is_publishing, outbox.publish.clone()) else {
                return;
            };
            let Some(change) = outbox.events.pop_front() else {
                return;
            };
            outbox.is_publishing = true;
            drop(state);
            let _until_its_end = Publishing(self);
            publish(self.event(change));
        }
    }

    fn event(&self, change: Change) -> ParameterEvent {
        let parameters = |settings: Vec<ParameterSetting>| settings.into_iter().map(Parameter::from).collect();
        ParameterEvent {
            stamp: Time::default(),
            node: self.node.clone(),
            new_parameters: parameters(change.new),
            changed_parameters: parameters(change.changed),
            deleted_parameters: parameters(change.deleted),
        }
    }
}

/// Marks that a thread publishes. The drop ends that, also after a panic.
struct Publishing<'a>(&'a Store);

impl Drop for Publishing<'_> {
    fn drop(&mut self) {
        self.0.lock().outbox.is_publishing = false;
    }
}

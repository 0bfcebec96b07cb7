//! Reports of changes: events for the topic, and news for watchers in this process.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rospin_engine::Notifier;

use super::value::{Change, ParameterSetting, ParameterValue};
use crate::interfaces::builtin_interfaces::Time;
use crate::interfaces::rcl_interfaces::{Parameter, ParameterEvent};

/// Number of events that wait for publication at most; the topic keeps as many.
pub(super) const EVENTS_MAX: usize = 1000;

/// Function that publishes an event.
pub(super) type Publish = dyn Fn(ParameterEvent) + Send + Sync;

/// Events on their way to the topic, in the order of the changes.
///
/// One thread publishes at a time, which keeps the order. The others append their events, and do not wait.
#[derive(Default)]
pub(super) struct Outbox {
    events: VecDeque<Change>,
    /// Function that publishes the events; `None` while the publication is not open.
    publish: Option<Arc<Publish>>,
    is_publishing: bool,
    /// Number of events that newer ones displaced.
    missed: u64,
}

impl Outbox {
    /// Appends a change. While the publication is not [open](Self::open), nothing is kept.
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

    /// Starts the publication of events with one that has the parameters `new`.
    pub(super) fn open(&mut self, publish: Arc<Publish>, new: Vec<ParameterSetting>) {
        self.publish = Some(publish);
        self.push(Change { new, ..Change::default() });
    }

    /// Ends the publication. Returns the function that published and the events that were left, which the caller drops
    /// once it has released the lock.
    #[must_use]
    pub(super) fn close(&mut self) -> (Option<Arc<Publish>>, VecDeque<Change>) {
        (self.publish.take(), std::mem::take(&mut self.events))
    }

    /// Takes the oldest event for the calling thread, which publishes it without the lock and calls [`end`](Self::end)
    /// then. `None` if there is no event, or if another thread publishes.
    pub(super) fn begin(&mut self) -> Option<(Arc<Publish>, Change)> {
        let publish = self.publish.clone().filter(|_| !self.is_publishing)?;
        let change = self.events.pop_front()?;
        self.is_publishing = true;
        Some((publish, change))
    }

    /// Lets a thread publish the next event.
    pub(super) const fn end(&mut self) {
        self.is_publishing = false;
    }

    pub(super) const fn missed(&self) -> u64 {
        self.missed
    }

    pub(super) const fn is_open(&self) -> bool {
        self.publish.is_some()
    }
}

impl Change {
    /// Returns the change as an event of the node with this full name. Its stamp is zero: the publisher sets it.
    pub(super) fn into_event(self, node: String) -> ParameterEvent {
        let parameters = |settings: Vec<ParameterSetting>| settings.into_iter().map(Parameter::from).collect();
        ParameterEvent {
            stamp: Time::default(),
            node,
            new_parameters: parameters(self.new),
            changed_parameters: parameters(self.changed),
            deleted_parameters: parameters(self.deleted),
        }
    }
}

/// Watchers of parameters, each with the values that it has not taken yet. A parameter has one entry, so memory is
/// bounded by the number of parameters.
pub(super) type Watchers = crate::watchers::Watchers<BTreeMap<String, ParameterValue>>;

/// Queues a change for every watcher, and returns the notifiers to call.
pub(super) fn tell(watchers: &mut Watchers, change: &Change) -> Vec<Notifier> {
    let set = || change.new.iter().chain(&change.changed);
    for watcher in watchers.iter_mut() {
        watcher.news.extend(set().map(|setting| (setting.name.clone(), setting.value.clone())));
        // Entries of removed parameters are removed, so that memory stays bounded when names come and go.
        for deleted in &change.deleted {
            watcher.news.remove(&deleted.name);
        }
    }
    if set().next().is_none() {
        return Vec::new();
    }
    watchers.iter_mut().filter_map(|watcher| watcher.notifier.clone()).collect()
}

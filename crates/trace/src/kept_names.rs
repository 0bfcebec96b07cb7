//! The definitions that files need which begin later: of everything that there is, and of what is gone as long as
//! events name it.

use std::collections::{BTreeMap, BTreeSet};

use rospin_core::recording::{Definition, DefinitionKey, Event, Words};

/// Definitions by their keys, in the order in which they came first.
#[derive(Default)]
pub(crate) struct Names {
    places: BTreeMap<DefinitionKey, u64>,
    definitions: BTreeMap<u64, Definition>,
    count: u64,
    /// The definitions that are gone, with the latest time of an event then, in nanoseconds: later events do not name
    /// them.
    gone: BTreeMap<DefinitionKey, u64>,
}

/// The definitions that events name.
#[derive(Default)]
pub(crate) struct Named {
    keys: BTreeSet<DefinitionKey>,
    accounts: BTreeSet<u64>,
}

impl Names {
    /// Adds a definition, in place of an earlier one of the same key. Returns false if it is the same one.
    pub(crate) fn add(&mut self, definition: &Definition) -> bool {
        let key = definition.key();
        self.gone.remove(&key);
        let place = *self.places.entry(key).or_insert(self.count);
        if place == self.count {
            self.count += 1;
        }
        self.definitions.insert(place, definition.clone()).is_none_or(|former| former != *definition)
    }

    /// Notes that it is gone. `latest_ns` is the latest time of an event so far.
    pub(crate) fn forget(&mut self, key: DefinitionKey, latest_ns: u64) {
        if self.places.contains_key(&key) {
            self.gone.insert(key, latest_ns);
        }
    }

    /// Returns the number of definitions of what is gone.
    pub(crate) fn gone(&self) -> usize {
        self.gone.len()
    }

    /// Drops what was gone when the events before `cut_ns` were recorded: no later event names it.
    pub(crate) fn drop_before(&mut self, cut_ns: u64) {
        let over: Vec<DefinitionKey> =
            self.gone.iter().filter(|(_, until)| **until < cut_ns).map(|(key, _)| *key).collect();
        for key in &over {
            self.remove(key);
        }
    }

    /// Drops what is gone and not named, of these keys, or of all if that is `None`. Returns the keys.
    pub(crate) fn drop_unnamed(&mut self, named: Named, of: Option<&BTreeSet<DefinitionKey>>) -> Vec<DefinitionKey> {
        let named = self.with_accounts(named);
        let is_over = |key: &DefinitionKey| of.is_none_or(|of| of.contains(key)) && !self.is_named(key, &named);
        let over: Vec<DefinitionKey> = self.gone.keys().copied().filter(is_over).collect();
        for key in &over {
            self.remove(key);
        }
        over
    }

    fn remove(&mut self, key: &DefinitionKey) {
        self.gone.remove(key);
        if let Some(place) = self.places.remove(key) {
            self.definitions.remove(&place);
        }
    }

    /// Adds the callbacks that take from named queues.
    fn with_accounts(&self, mut named: Named) -> Named {
        for key in self.gone.keys().filter(|key| named.keys.contains(key)) {
            if let Some(Definition::Queue { account, .. }) = self.get(key) {
                named.accounts.insert(*account);
            }
        }
        named
    }

    fn is_named(&self, key: &DefinitionKey, named: &Named) -> bool {
        let by_account = match self.get(key) {
            Some(Definition::Entity { account, .. } | Definition::Queue { account, .. }) => {
                named.accounts.contains(account)
            }
            _ => false,
        };
        by_account || named.keys.contains(key)
    }

    pub(crate) fn get(&self, key: &DefinitionKey) -> Option<&Definition> {
        self.definitions.get(self.places.get(key)?)
    }

    /// Returns all definitions.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Definition> {
        self.definitions.values()
    }
}

impl Named {
    /// Returns what these events of threads name.
    pub(crate) fn of<'a>(events: impl IntoIterator<Item = (u32, &'a Words)>) -> Self {
        let mut named = Self::default();
        for (thread, words) in events {
            named.keys.insert(DefinitionKey::Thread(thread));
            if let Some((_, event)) = Event::decode(words) {
                named.add(&event);
            }
        }
        named
    }

    fn add(&mut self, event: &Event) {
        if let Some(step) = event.step() {
            self.keys.insert(DefinitionKey::Entity(step.executor, step.entity));
            self.keys.insert(DefinitionKey::Executor(step.executor));
            return;
        }
        let key = match *event {
            Event::Overrun { executor, entity, .. }
            | Event::Incident { executor, entity, .. }
            | Event::FoundArmed { executor, entity, .. } => DefinitionKey::Entity(executor, entity),
            Event::Violation { executor, entity, culprit, .. } => {
                self.accounts.insert(culprit);
                DefinitionKey::Entity(executor, entity)
            }
            Event::Queued { queue, .. } | Event::Taken { queue, .. } => DefinitionKey::Queue(queue),
            Event::Sent { publisher, .. } | Event::Received { publisher, .. } => DefinitionKey::Publisher(publisher),
            Event::Lost { account, .. } => {
                self.accounts.insert(account);
                return;
            }
            Event::PollingPoint { executor, .. }
            | Event::Discarded { executor, .. }
            | Event::HandedOver { executor, .. }
            | Event::Snapshot { executor, .. } => DefinitionKey::Executor(executor),
            _ => return,
        };
        self.keys.insert(key);
        if let DefinitionKey::Entity(executor, _) = key {
            self.keys.insert(DefinitionKey::Executor(executor));
        }
    }
}

//! Post-set callbacks: parameters that were set, as the source of an entity.

use std::collections::BTreeMap;
use std::sync::Arc;

use rospin::{Notifier, Pending, Source, TakeError};

use super::store::Store;
use super::value::{ParameterSetting, ParameterValue};

/// Those who are told of what was set.
#[derive(Default)]
pub(super) struct Watchers {
    watchers: Vec<Watcher>,
    last: u64,
}

struct Watcher {
    number: u64,
    /// What was set since it was last taken; a parameter once, so it does not grow with the number of changes.
    set: BTreeMap<String, ParameterValue>,
    notifier: Option<Notifier>,
}

impl Watchers {
    /// Notes what was set; whom to notify of it.
    pub(super) fn tell<'a>(&mut self, set: impl Iterator<Item = &'a ParameterSetting> + Clone) -> Vec<Notifier> {
        if set.clone().next().is_none() {
            return Vec::new();
        }
        for watcher in &mut self.watchers {
            watcher.set.extend(set.clone().map(|setting| (setting.name.clone(), setting.value.clone())));
        }
        self.watchers.iter().filter_map(|watcher| watcher.notifier.clone()).collect()
    }

    fn find(&mut self, number: u64) -> Option<&mut Watcher> {
        self.watchers.iter_mut().find(|watcher| watcher.number == number)
    }
}

/// What was set since it was last taken.
pub(super) struct SetParameters {
    store: Arc<Store>,
    number: u64,
    is_empty: bool,
}

impl SetParameters {
    pub(super) fn new(store: &Arc<Store>) -> Self {
        let mut state = store.lock();
        let watchers = &mut state.watchers;
        watchers.last += 1;
        let number = watchers.last;
        watchers.watchers.push(Watcher { number, set: BTreeMap::new(), notifier: None });
        drop(state);
        Self { store: Arc::clone(store), number, is_empty: true }
    }
}

impl Source for SetParameters {
    type Item = Vec<ParameterSetting>;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        if let Some(watcher) = self.store.lock().watchers.find(self.number) {
            watcher.notifier = Some(notifier);
        }
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Vec<ParameterSetting>>, TakeError> {
        let set = self.store.lock().watchers.find(self.number).map(|watcher| std::mem::take(&mut watcher.set));
        self.is_empty = true;
        let set = set.unwrap_or_default();
        let settings = set.into_iter().map(|(name, value)| ParameterSetting { name, value }).collect::<Vec<_>>();
        Ok(Some(settings).filter(|settings| !settings.is_empty()))
    }

    fn pending(&self) -> Pending {
        // A take leaves nothing, and whoever sets parameters later notifies.
        if self.is_empty { Pending::Empty } else { Pending::Unknown }
    }
}

impl Drop for SetParameters {
    fn drop(&mut self) {
        let mut state = self.store.lock();
        let watchers = &mut state.watchers.watchers;
        let at = watchers.iter().position(|watcher| watcher.number == self.number);
        let removed = at.map(|at| watchers.swap_remove(at));
        drop(state);
        drop(removed);
    }
}

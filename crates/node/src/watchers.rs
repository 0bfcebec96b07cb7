//! Watchers of a shared state. A watcher is a source that finds its entry by number, behind the state's lock.

use rospin_engine::Notifier;

/// All watchers, each with the changes that it has not taken yet.
#[derive(Debug)]
pub(crate) struct Watchers<T> {
    watchers: Vec<Watcher<T>>,
    last: u64,
}

/// Entry of a watcher.
#[derive(Debug)]
pub(crate) struct Watcher<T> {
    number: u64,
    /// Changes that the watcher has not taken yet.
    pub(crate) news: T,
    /// `None` until the watcher is the source of an entity.
    pub(crate) notifier: Option<Notifier>,
}

impl<T> Default for Watchers<T> {
    fn default() -> Self {
        Self { watchers: Vec::new(), last: 0 }
    }
}

impl<T: Default> Watchers<T> {
    /// Adds a watcher and returns its number.
    pub(crate) fn add(&mut self) -> u64 {
        self.last += 1;
        self.watchers.push(Watcher { number: self.last, news: T::default(), notifier: None });
        self.last
    }
}

impl<T> Watchers<T> {
    pub(crate) fn find(&mut self, number: u64) -> Option<&mut Watcher<T>> {
        self.watchers.iter_mut().find(|watcher| watcher.number == number)
    }

    /// Sets the notifier that is called on changes for the watcher `number`. Does nothing if that was removed.
    pub(crate) fn attach(&mut self, number: u64, notifier: Notifier) {
        if let Some(watcher) = self.find(number) {
            watcher.notifier = Some(notifier);
        }
    }

    /// Removes the watcher. The caller drops the result after it has released the lock.
    #[must_use]
    pub(crate) fn remove(&mut self, number: u64) -> Option<Watcher<T>> {
        let at = self.watchers.iter().position(|watcher| watcher.number == number);
        at.map(|at| self.watchers.swap_remove(at))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Watcher<T>> {
        self.watchers.iter_mut()
    }

    #[cfg(test)]
    pub(crate) const fn is_empty(&self) -> bool {
        self.watchers.is_empty()
    }
}

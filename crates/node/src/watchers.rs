//! Those who watch a state for changes: sources that find theirs by number, behind the state's lock.

use rospin_engine::Notifier;

/// Who watches, each with what it has yet to take.
#[derive(Debug)]
pub(crate) struct Watchers<T> {
    watchers: Vec<Watcher<T>>,
    last: u64,
}

/// One who watches.
#[derive(Debug)]
pub(crate) struct Watcher<T> {
    number: u64,
    /// What it has not taken yet.
    pub(crate) news: T,
    /// Not there before it is an entity's source.
    pub(crate) notifier: Option<Notifier>,
}

impl<T> Default for Watchers<T> {
    fn default() -> Self {
        Self { watchers: Vec::new(), last: 0 }
    }
}

impl<T: Default> Watchers<T> {
    /// One more, by the number that is returned.
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

    /// Has it notify from now on.
    pub(crate) fn attach(&mut self, number: u64, notifier: Notifier) {
        if let Some(watcher) = self.find(number) {
            watcher.notifier = Some(notifier);
        }
    }

    /// The one of that number is no more. What is returned is to be dropped without the lock.
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

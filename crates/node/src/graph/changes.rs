//! Changes of the graph as the source of an entity.

use std::collections::VecDeque;
use std::sync::Arc;

use rospin_engine::{LossCause, Notifier, Pending, Source, TakeError};

use super::{Graph, GraphChange};
use crate::watchers::Watcher;

/// Number of changes that wait for a callback at most. It is more than the start of a large system causes at once.
const CHANGES_MAX: usize = 4096;

/// Watchers of the graph, with the changes that they have not taken yet.
pub(super) type Watchers = crate::watchers::Watchers<VecDeque<GraphChange>>;

/// Notifiers to call, each with the number of changes that its watcher lost.
pub(super) struct Told(Vec<(Notifier, usize)>);

impl Told {
    /// Calls the notifiers. The caller must have released the lock.
    pub(super) fn notify(self) {
        for (notifier, displaced) in self.0 {
            if displaced > 0 {
                notifier.count_lost(LossCause::QueueFull, u64::try_from(displaced).unwrap_or(u64::MAX));
            }
            notifier.notify();
        }
    }
}

/// Queues the changes for every watcher, and returns the notifiers to call. A full queue drops its oldest changes.
pub(super) fn tell(watchers: &mut Watchers, changes: &[GraphChange]) -> Told {
    let tell = |watcher: &mut Watcher<VecDeque<GraphChange>>| {
        watcher.news.extend(changes.iter().cloned());
        let displaced = watcher.news.len().saturating_sub(CHANGES_MAX);
        watcher.news.drain(..displaced);
        watcher.notifier.clone().map(|notifier| (notifier, displaced))
    };
    Told(watchers.iter_mut().filter_map(tell).collect())
}

/// The changes of the graph since this source was made.
pub(crate) struct Changes {
    graph: Arc<Graph>,
    number: u64,
    is_empty: bool,
}

impl Changes {
    pub(crate) fn new(graph: &Arc<Graph>) -> Self {
        let number = graph.lock().watchers.add();
        Self { graph: Arc::clone(graph), number, is_empty: false }
    }
}

impl Source for Changes {
    type Item = GraphChange;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.graph.lock().watchers.attach(self.number, notifier.clone());
        // Changes may have come before the notifier was set.
        notifier.notify();
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<GraphChange>, TakeError> {
        let mut state = self.graph.lock();
        let changes = state.watchers.find(self.number).map(|watcher| &mut watcher.news);
        let (change, is_empty) = changes.map_or((None, true), |changes| (changes.pop_front(), changes.is_empty()));
        drop(state);
        self.is_empty = is_empty;
        Ok(change)
    }

    fn pending(&self) -> Pending {
        if self.is_empty { Pending::Empty } else { Pending::Unknown }
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        let removed = self.graph.lock().watchers.remove(self.number);
        drop(removed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_kept_than_a_bound() {
        let graph = Graph::new();
        let mut changes = Changes::new(&graph);
        let nodes = CHANGES_MAX + 5;
        for n in 0..nodes {
            graph.node_came(&n.to_be_bytes(), format!("/{n}"));
        }
        let first = changes.try_take().unwrap();
        assert_eq!(first, Some(GraphChange::NodeCame("/5".to_owned())));
        assert_eq!(std::iter::from_fn(|| changes.try_take().unwrap()).count(), CHANGES_MAX - 1);
        assert_eq!(changes.pending(), Pending::Empty);
        drop(changes);
        assert!(graph.lock().watchers.is_empty());
    }
}

//! The end of endpoints of a topic or service as the source of an entity.

use std::sync::Arc;

use rospin_engine::{Notifier, Pending, Source, TakeError};

use super::{EndpointKind, Graph, GraphChange};

/// Watchers that are told when an endpoint of a kind and name has gone.
pub(super) type Watchers = crate::watchers::Watchers<Watched>;

/// The kind and name of the endpoints that a watcher watches, and their state.
#[derive(Default, Debug)]
pub(super) struct Watched {
    of: Option<(EndpointKind, String)>,
    /// True if such an endpoint has gone and the watcher has not taken that yet.
    has_gone: bool,
}

/// Tells the watchers of the endpoints that have gone by `changes`, and returns the notifiers to call.
pub(super) fn tell(watchers: &mut Watchers, changes: &[GraphChange]) -> Vec<Notifier> {
    let mut told = Vec::new();
    for change in changes {
        let GraphChange::EndpointWent(endpoint) = change else { continue };
        let is_meant = |watched: &Watched| {
            watched.of.as_ref().is_some_and(|(kind, name)| (*kind, name) == (endpoint.kind, &endpoint.name))
        };
        for watcher in watchers.iter_mut().filter(|watcher| is_meant(&watcher.news)) {
            watcher.news.has_gone = true;
            told.extend(watcher.notifier.clone());
        }
    }
    told
}

/// Source with an item if endpoints of a kind and name have left the graph since the last one. Others may be left.
pub(crate) struct Departures {
    graph: Arc<Graph>,
    number: u64,
}

impl Departures {
    pub(crate) fn new(graph: &Arc<Graph>, kind: EndpointKind, name: &str) -> Self {
        let mut state = graph.lock();
        let number = state.departures.add();
        if let Some(watcher) = state.departures.find(number) {
            watcher.news.of = Some((kind, name.to_owned()));
        }
        drop(state);
        Self { graph: Arc::clone(graph), number }
    }
}

impl Source for Departures {
    type Item = ();
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.graph.lock().departures.attach(self.number, notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<()>, TakeError> {
        let mut state = self.graph.lock();
        let Some(watcher) = state.departures.find(self.number) else {
            return Ok(None);
        };
        let has_gone = std::mem::take(&mut watcher.news.has_gone);
        Ok(if has_gone { Some(()) } else { None })
    }

    fn pending(&self) -> Pending {
        let mut state = self.graph.lock();
        let has_gone = state.departures.find(self.number).is_some_and(|watcher| watcher.news.has_gone);
        if has_gone { Pending::Unknown } else { Pending::Empty }
    }
}

impl Drop for Departures {
    fn drop(&mut self) {
        let removed = self.graph.lock().departures.remove(self.number);
        drop(removed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Endpoint;

    #[test]
    fn the_end_of_each_endpoint_of_that_kind_and_name_is_told() {
        let graph = Graph::new();
        let mut departures = Departures::new(&graph, EndpointKind::Server, "/add");
        let server = |name| Endpoint::new(EndpointKind::Server, name, "p/srv/Add");
        graph.endpoint_came(b"1", server("/add"));
        graph.endpoint_came(b"2", server("/add"));
        graph.endpoint_came(b"3", server("/other"));
        graph.endpoint_came(b"4", Endpoint::new(EndpointKind::Client, "/add", "p/srv/Add"));
        for id in [b"3", b"4", b"5"] {
            graph.endpoint_went(id);
            assert_eq!((departures.pending(), departures.try_take().unwrap()), (Pending::Empty, None));
        }
        for id in [b"1", b"2"] {
            graph.all_went(id);
            assert_eq!((departures.pending(), departures.try_take().unwrap()), (Pending::Unknown, Some(())));
            assert_eq!((departures.pending(), departures.try_take().unwrap()), (Pending::Empty, None));
        }
        drop(departures);
        assert!(graph.lock().departures.is_empty());
    }
}

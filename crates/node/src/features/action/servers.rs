//! Servers of an action as its client tells them apart: by the ids of the publishers of their status.
//!
//! The status is the part of a server whose messages say which server they are from, and whose publisher the graph
//! lists under the same id. So a server that died and was started again is not mistaken for the one before, whatever
//! it publishes at its start, and one that was only out of reach is recognized when it is back.
//!
//! Nothing depends on when messages and changes of the graph are handled: who is there is looked up in the graph at the
//! moment of each decision.

use std::sync::Arc;

use crate::graph::Graph;
use crate::info::Gid;

/// The servers of an action, as the graph lists them.
#[derive(Clone)]
pub(crate) struct Servers {
    graph: Arc<Graph>,
    /// Full name of the topic of their status.
    status: String,
}

impl Servers {
    pub(crate) const fn new(graph: Arc<Graph>, status: String) -> Self {
        Self { graph, status }
    }

    /// Returns the servers that are there at this moment.
    pub(crate) fn there(&self) -> There {
        There(self.graph.publishers(&self.status))
    }
}

/// The servers that are there at one moment. `None` is one whose id the middleware does not tell.
pub(crate) struct There(Vec<Option<Gid>>);

impl There {
    pub(crate) const fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns true if the server may be there whose status had that publisher.
    pub(crate) fn may_have(&self, publisher: Option<Gid>) -> bool {
        self.0.iter().any(|there| there.is_none() || publisher.is_none() || *there == publisher)
    }
}

/// Servers that may have a goal: those that were there when it was sent, until some report it, and then these. A goal
/// is sent to all servers that are matched, so several may execute it.
#[derive(Default)]
pub(crate) struct Holders {
    /// Their ids. Empty if they are not known.
    ids: Vec<Gid>,
    /// True if a server has reported the goal.
    is_reported: bool,
}

impl Holders {
    /// Notes the servers that are there when the goal is sent or accepted, unless more is known already.
    pub(crate) fn consider(&mut self, there: &There) {
        if self.ids.is_empty() && !self.is_reported {
            // One without an id may be any server.
            self.ids = there.0.iter().copied().collect::<Option<Vec<Gid>>>().unwrap_or_default();
        }
    }

    /// Notes that a server has the goal.
    pub(crate) fn report(&mut self, publisher: Option<Gid>) {
        if !self.is_reported {
            self.ids.clear();
        }
        self.is_reported = true;
        if let Some(id) = publisher.filter(|id| !self.ids.contains(id)) {
            self.ids.push(id);
        }
    }

    /// Notes that a server does not list the goal. Returns true if a server had reported the goal, and none is left
    /// that has it.
    pub(crate) fn deny(&mut self, publisher: Option<Gid>) -> bool {
        if !self.is_reported {
            return false;
        }
        match publisher {
            Some(id) => self.ids.retain(|other| *other != id),
            None => self.ids.clear(),
        }
        self.ids.is_empty()
    }

    /// Returns true if only the server whose status has that publisher may have the goal. Without ids, there is taken
    /// to be one server.
    pub(crate) fn are_only(&self, publisher: Option<Gid>) -> bool {
        publisher.is_none_or(|publisher| self.ids.iter().all(|id| *id == publisher))
    }

    /// Returns true if one of them may be there.
    pub(crate) fn may_be_among(&self, there: &There) -> bool {
        if self.ids.is_empty() { there.count() > 0 } else { self.ids.iter().any(|id| there.may_have(Some(*id))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u8) -> Gid {
        Gid::new([number; 16])
    }

    fn there<const N: usize>(numbers: [u8; N]) -> There {
        There(numbers.iter().map(|number| Some(id(*number))).collect())
    }

    #[test]
    fn a_goal_is_with_the_servers_that_were_there_until_one_reports_it() {
        let mut holders = Holders::default();
        holders.consider(&there([]));
        assert!(holders.may_be_among(&there([7])) && !holders.may_be_among(&there([])), "nothing is known");
        holders.consider(&there([1, 2]));
        holders.consider(&there([3]));
        assert!(holders.may_be_among(&there([2, 3])) && !holders.may_be_among(&there([3])));
        assert!(!holders.are_only(Some(id(1))));
        assert!(!holders.deny(Some(id(1))), "that status may be from before the goal");
        holders.report(Some(id(2)));
        assert!(!holders.may_be_among(&there([1, 3])) && holders.are_only(Some(id(2))));
    }

    #[test]
    fn a_goal_has_ended_when_all_that_had_reported_it_list_it_no_more() {
        let mut holders = Holders::default();
        for server in [1, 2, 1] {
            holders.report(Some(id(server)));
        }
        assert!(!holders.deny(Some(id(3))) && !holders.deny(Some(id(2))));
        assert!(holders.deny(Some(id(1))));
    }

    #[test]
    fn without_ids_all_statuses_are_taken_to_be_of_one_server() {
        let mut holders = Holders::default();
        holders.consider(&There(vec![Some(id(1)), None]));
        assert!(holders.are_only(None) && holders.may_be_among(&There(vec![None])));
        assert!(!holders.deny(None));
        holders.report(None);
        assert!(holders.may_be_among(&there([5])) && holders.deny(None));
    }
}

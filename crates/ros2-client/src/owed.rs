//! Responses to clients whose reader is not known yet.
//!
//! Discovery tells of the writer of a client's requests and of the reader of its responses apart from each other, so a request may
//! come before its client can be answered. What is sent to a reader that is not known is lost. So it is sent at once, since the
//! reader may be known in truth, and once more when it is told of: a response that comes twice is ignored by every client. That
//! helps nearly always, and no more: a reader that was matched this moment may still take a response for one from before its time.

use std::collections::{BTreeMap, BTreeSet};

use ros2_client::dds::rustdds::GUID;

/// How many are remembered; beyond that, the oldest are forgotten. Responses may be large, and only a client's first few matter.
const OWED_MAX: usize = 64;

/// Whom each reader and writer of ours is matched with.
pub(crate) type Remotes = BTreeMap<GUID, BTreeSet<GUID>>;

/// A reader and a writer of ours, for the requests and the responses of a service.
#[derive(Clone, Copy)]
pub(crate) struct ServerEnds {
    pub(crate) requests: GUID,
    pub(crate) responses: GUID,
}

impl ServerEnds {
    /// Whether the reader for responses to `requester` must be known: its participant has one for each of its writers.
    pub(crate) fn know(self, remotes: &Remotes, requester: GUID) -> bool {
        let of = |end| remotes.get(&end).into_iter().flatten().filter(|remote| remote.prefix == requester.prefix);
        let others = of(self.requests).filter(|writer| **writer != requester).count();
        others < of(self.responses).count()
    }
}

/// What will send a response once more.
pub(crate) struct Debt {
    pub(crate) ends: ServerEnds,
    /// The client's writer.
    pub(crate) requester: GUID,
    pub(crate) pay: Box<dyn FnOnce() + Send>,
}

/// All of a participant's.
#[derive(Default)]
pub(crate) struct Owed(Vec<Debt>);

impl Owed {
    /// Remembers it; returns one that has to go for it.
    pub(crate) fn add(&mut self, debt: Debt) -> Option<Debt> {
        let oldest = (self.0.len() == OWED_MAX).then(|| self.0.remove(0));
        self.0.push(debt);
        oldest
    }

    /// Takes out those that can be paid now.
    pub(crate) fn due(&mut self, remotes: &Remotes) -> Vec<Debt> {
        self.0.extract_if(.., |debt| debt.ends.know(remotes, debt.requester)).collect()
    }

    /// Takes out those that nobody waits for any more, or that nobody can pay.
    pub(crate) fn forget(&mut self, is_over: impl Fn(&Debt) -> bool) -> Vec<Debt> {
        self.0.extract_if(.., |debt| is_over(debt)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader or writer of a participant.
    fn id(participant: u8, number: u8) -> GUID {
        let mut bytes = [participant; 16];
        bytes[14] = number;
        // An entity kind that exists: a reader without key.
        bytes[15] = 0x04;
        GUID::from_bytes(bytes)
    }

    #[test]
    fn a_participant_has_a_reader_for_each_writer() {
        let ends = ServerEnds { requests: id(1, 1), responses: id(1, 2) };
        let mut remotes = Remotes::from([(ends.requests, BTreeSet::new()), (ends.responses, BTreeSet::new())]);
        let mut tell = |end: GUID, remote| _ = remotes.get_mut(&end).unwrap().insert(remote);
        // Of another participant.
        tell(ends.responses, id(3, 9));
        assert!(!ends.know(&remotes, id(2, 1)));
        let mut tell = |end: GUID, remote| _ = remotes.get_mut(&end).unwrap().insert(remote);
        tell(ends.responses, id(2, 2));
        assert!(ends.know(&remotes, id(2, 1)));
        // A second client of theirs, whose reader is not among those that are known.
        assert!(ends.know(&remotes, id(2, 3)));
        let mut tell = |end: GUID, remote| _ = remotes.get_mut(&end).unwrap().insert(remote);
        tell(ends.requests, id(2, 1));
        assert!(ends.know(&remotes, id(2, 1)) && !ends.know(&remotes, id(2, 3)));
        let mut tell = |end: GUID, remote| _ = remotes.get_mut(&end).unwrap().insert(remote);
        tell(ends.responses, id(2, 4));
        assert!(ends.know(&remotes, id(2, 3)));
    }

    #[test]
    fn no_more_is_remembered_than_can_be() {
        let ends = ServerEnds { requests: id(1, 1), responses: id(1, 2) };
        let debt = |number: u8| Debt { ends, requester: id(2, number), pay: Box::new(|| ()) };
        let mut owed = Owed::default();
        for _ in 0..OWED_MAX {
            assert!(owed.add(debt(1)).is_none());
        }
        assert_eq!(owed.add(debt(2)).map(|debt| debt.requester), Some(id(2, 1)));
        assert_eq!(owed.forget(|debt| debt.requester == id(2, 1)).len(), OWED_MAX - 1);
        assert_eq!(owed.due(&Remotes::new()).len(), 0);
        assert_eq!(owed.due(&Remotes::from([(ends.responses, [id(2, 5)].into())])).len(), 1);
    }
}

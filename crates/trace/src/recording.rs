//! Recordings in memory: events in their order, and the names behind their numbers.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use rospin_core::Instant;
use rospin_core::recording::{Definition, Event, Words};

use crate::file::ProcessName;
use crate::names::Name;

/// The recording of one process.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Recording {
    /// The file, for messages.
    pub path: PathBuf,
    /// Definitions of the numbers in events, in the order of the file.
    pub names: Vec<Name>,
    /// Events in the order in which they happened.
    pub events: Vec<Recorded>,
    /// Places at which the file is damaged.
    pub faults: Vec<Fault>,
    /// Sentences about what the recording does not tell, and what was assumed instead. Recordings of rospin have none.
    pub notes: Vec<String>,
    /// The number of the file, from 1, if the recording has [several](crate::RotatingSink).
    pub part: Option<u32>,
}

/// An event with its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recorded {
    /// The number of the thread that recorded it.
    pub thread: u32,
    /// Its time on the steady clock. A release may be noted after it happened, so that this is earlier than the event
    /// before.
    pub at: Instant,
    /// The event.
    pub event: Event,
}

/// A damaged place of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The bytes of the file before the damaged record.
    pub offset: u64,
    /// Description of the damage, and of what it means for the recording.
    pub text: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.offset, self.text)
    }
}

impl Recording {
    /// Returns the recording of a process from its definitions and events. Each event comes with the number of its
    /// thread, and after all earlier ones of that thread.
    pub fn of<'a>(
        process: &ProcessName,
        definitions: impl IntoIterator<Item = &'a Definition>,
        events: impl IntoIterator<Item = (u32, &'a Words)>,
    ) -> Self {
        let mut order = EventSorter::default();
        for (thread, words) in events {
            order.add(thread, words);
        }
        let mut names = vec![process.to_name()];
        names.extend(definitions.into_iter().filter_map(Name::of));
        Self { names, events: order.finish(), ..Self::default() }
    }
}

/// Events that are being put in order.
#[derive(Default)]
pub(crate) struct EventSorter {
    /// Events with the times that they are ordered by: each at least as late as the one before it of the same thread.
    events: Vec<(u64, Recorded)>,
    /// The latest time of each thread.
    latest: BTreeMap<u32, u64>,
    unknown: u64,
}

impl EventSorter {
    /// Adds the next event of a thread.
    pub(crate) fn add(&mut self, thread: u32, words: &Words) {
        let Some((at, event)) = Event::decode(words) else {
            self.unknown += 1;
            return;
        };
        // A release is noted later than it happened, and must not come before what its thread noted earlier.
        let latest = self.latest.entry(thread).or_default();
        *latest = at.as_nanos().max(*latest);
        self.events.push((*latest, Recorded { thread, at, event }));
    }

    /// Adds events of several threads, each thread's in order.
    #[cfg(feature = "read")]
    pub(crate) fn add_all(&mut self, events: Vec<Recorded>) {
        for recorded in events {
            let latest = self.latest.entry(recorded.thread).or_default();
            *latest = recorded.at.as_nanos().max(*latest);
            self.events.push((*latest, recorded));
        }
    }

    /// Returns the number of events.
    #[cfg_attr(not(feature = "read"), expect(dead_code, reason = "readers of files limit it"))]
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// Returns the number of events of unknown kinds, which are left out.
    #[cfg_attr(not(feature = "read"), expect(dead_code, reason = "readers of files tell it"))]
    pub(crate) const fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Returns the events in the order in which they happened.
    pub(crate) fn finish(mut self) -> Vec<Recorded> {
        // A stable sort keeps the order of each thread.
        self.events.sort_by_key(|(order, _)| *order);
        self.events.into_iter().map(|(_, recorded)| recorded).collect()
    }
}

//! The way of encoded messages into the queue of a subscription: the inlet of the engine's queue, with the time of
//! arrival noted, and each message in an envelope.

use std::fmt;

use rospin_engine::{Clock, Pushed};

use crate::envelope::Envelope;
use crate::events::EndEvents;
use crate::info::Packet;

/// The way of encoded messages into the queue of a subscription, for threads that receive. Clones are the same way.
///
/// Messages of this process come into the same queue, whose depth is that of the subscription's quality of service.
#[derive(Clone)]
pub struct Inlet {
    queue: rospin_engine::Inlet<Envelope>,
    clock: Clock,
    /// Record of the subscription's events, if it must be told of each arrival.
    told: Option<EndEvents>,
}

impl Inlet {
    pub(crate) fn new(queue: rospin_engine::Inlet<Envelope>, clock: Clock, events: &EndEvents) -> Self {
        let told = if events.is_timed() { Some(events.clone()) } else { None };
        Self { queue, clock, told }
    }

    /// Adds a message, on any thread. In a full queue the oldest message makes room, and is counted as lost. So are the
    /// `missing` messages: those that never arrived, as far as the caller can tell.
    ///
    /// Locks, with priority inheritance, while it moves the message. Allocates. A message of this process that makes
    /// room is not dropped on the calling thread, where the middleware may hold locks, but by the executor that takes
    /// the new message, or by a publisher of this process that displaces that one in turn.
    pub fn push(&self, packet: Packet, missing: u64) {
        drop(self.begin(packet, missing));
    }

    /// Adds a message as [`push`](Self::push) does. The drop of the result wakes the executor. Drop it after the
    /// caller's locks are unlocked.
    pub(crate) fn begin(&self, packet: Packet, missing: u64) -> Pushed {
        let arrival = self.clock.now();
        if let Some(told) = &self.told {
            told.message(arrival);
        }
        self.queue.push(Envelope::encoded(packet, arrival), arrival, missing)
    }
}

impl fmt::Debug for Inlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inlet").finish_non_exhaustive()
    }
}

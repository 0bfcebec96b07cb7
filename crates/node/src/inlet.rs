//! The way of encoded messages into the queue of a subscription: the inlet of the engine's queue, with the time of
//! arrival noted, and each message in an envelope.

use std::fmt;
use std::sync::Arc;

use rospin_engine::{Clock, Pushed};

use crate::envelope::Envelope;
use crate::events::EndEvents;
use crate::info::{Gid, Packet};

/// The way of encoded messages into the queue of a subscription, for threads that receive. Clones are the same way.
///
/// Messages of this process come into the same queue, whose depth is that of the subscription's quality of service.
#[derive(Clone)]
pub struct Inlet {
    queue: rospin_engine::Inlet<Envelope>,
    clock: Clock,
    /// Record of the subscription's events, if it must be told of each arrival.
    told: Option<EndEvents>,
    keeps_all: bool,
    /// Function that says by their publisher which messages do not come this way.
    other_way: Option<Arc<OtherWay>>,
}

/// The largest number of free places that are kept for messages which cannot be refused any more.
const RESERVE_MAX: usize = 512;

/// Function that returns true for publishers whose messages come another way.
type OtherWay = dyn Fn(Gid) -> bool + Send + Sync;

impl Inlet {
    pub(crate) fn new(
        queue: rospin_engine::Inlet<Envelope>,
        clock: Clock,
        events: &EndEvents,
        keeps_all: bool,
    ) -> Self {
        let told = if events.is_timed() { Some(events.clone()) } else { None };
        Self { queue, clock, told, keeps_all, other_way: None }
    }

    /// Returns true if the subscription is reliable and keeps all messages: one that has no room should stay with its
    /// publisher, as far as the middleware can do that, see [`has_room`](Self::has_room).
    #[must_use]
    pub const fn keeps_all(&self) -> bool {
        self.keeps_all
    }

    /// Returns true if the queue has room for `count` further messages, or if it is empty or the subscription has
    /// ended. A few places do not count: they are for messages that the middleware has accepted on other threads
    /// meanwhile.
    ///
    /// A middleware that has messages sent again asks this before it acknowledges one to a subscription that
    /// [keeps all](Self::keeps_all), and has it sent again once the queue [is half empty](Self::is_half_empty).
    ///
    /// Locks for a moment, as [`push`](Self::push) does. Does not allocate.
    #[must_use]
    pub fn has_room(&self, count: usize) -> bool {
        let Some(places) = self.queue.places() else { return true };
        let reserve = (places.depth / 16).min(RESERVE_MAX);
        places.free >= count.saturating_add(reserve).min(places.depth)
    }

    /// Returns true if no message waits in the queue, or if the subscription has ended.
    ///
    /// Locks for a moment, as [`push`](Self::push) does. Does not allocate.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.places().is_none_or(|places| places.free == places.depth)
    }

    /// Returns true if at least half of the queue is free, or if the subscription has ended.
    ///
    /// Locks for a moment, as [`push`](Self::push) does. Does not allocate.
    #[must_use]
    pub fn is_half_empty(&self) -> bool {
        self.queue.places().is_none_or(|places| places.free >= places.depth.div_ceil(2))
    }

    /// Returns true if a further message would displace one. Locks for a moment.
    pub(crate) fn is_full(&self) -> bool {
        self.queue.places().is_some_and(|places| places.free == 0)
    }

    /// Returns the way of messages whose publishers have no other one: [`push`](Self::push) ignores messages, and those
    /// that are missing before them, if `has_other_way` returns true for their publisher. It is called on the threads
    /// that receive.
    #[must_use]
    pub fn except(&self, has_other_way: impl Fn(Gid) -> bool + Send + Sync + 'static) -> Self {
        Self { other_way: Some(Arc::new(has_other_way)), ..self.clone() }
    }

    /// Adds a message, on any thread. In a full queue the oldest message makes room, and is counted as lost. So are the
    /// `missing` messages: those that never arrived, as far as the caller can tell.
    ///
    /// Locks, with priority inheritance, while it moves the message. Allocates. A message of this process that makes
    /// room is not dropped on the calling thread, where the middleware may hold locks, but by the executor that takes
    /// the new message, or by a publisher of this process that displaces that one in turn.
    pub fn push(&self, packet: Packet, missing: u64) {
        if let (Some(has_other_way), Some((publisher, _))) = (&self.other_way, packet.way().identity())
            && has_other_way(publisher)
        {
            return;
        }
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

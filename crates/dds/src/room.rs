//! Room in the queues of subscriptions that keep all messages.
//!
//! A message for which there is no room is refused: it is not acknowledged, so its writer keeps it and sends it again.
//! A writer that has no more room itself makes its publisher wait. None of Cyclone DDS's threads waits for a queue,
//! because everything else that comes to the process would wait, too. Nobody is told when a callback takes a message,
//! so that dispatching stays as fast as it is: the thread of [`Ready`](crate::ready::Ready) looks for room, while a
//! message was refused, and then has the reader ask for what it missed.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rospin_node::Inlet;

use crate::cyclone::{ReaderProbe, Sample};
use crate::ready::Watch;

/// The number of bytes in a queue from which on there is no room for further messages. An empty queue has room for one
/// of any size.
const BYTES_MAX: usize = 64 << 20;

/// Room of a subscription that keeps all.
pub(crate) struct Room {
    inlet: Inlet,
    /// Bytes of the messages that have arrived and were not dropped.
    bytes: AtomicUsize,
    reader: OnceLock<ReaderProbe>,
    /// True while a message was refused, and the reader has not asked for it.
    is_short: AtomicBool,
    watch: Watch,
}

impl Room {
    pub(crate) fn new(inlet: &Inlet, watch: Watch) -> Arc<Self> {
        let inlet = inlet.clone();
        let bytes = AtomicUsize::new(0);
        Arc::new(Self { inlet, bytes, reader: OnceLock::new(), is_short: AtomicBool::new(false), watch })
    }

    /// Sets the reader of the subscription.
    pub(crate) fn is_of(&self, reader: ReaderProbe) {
        let _ = self.reader.set(reader);
    }

    /// Returns true if the queue has room for that many messages. Otherwise the reader asks again once it has.
    pub(crate) fn is_for(room: &Arc<Self>, count: usize) -> bool {
        let has_bytes = room.bytes.load(Ordering::Relaxed) < BYTES_MAX || room.inlet.is_empty();
        if has_bytes && room.inlet.has_room(count) {
            return true;
        }
        if !room.is_short.swap(true, Ordering::AcqRel) {
            room.watch.add_room(room);
        }
        false
    }

    /// Has the reader ask for what was refused, if there is room now. Returns false if there is none yet.
    pub(crate) fn look(&self) -> bool {
        let Some(reader) = self.reader.get() else { return false };
        let has_bytes = self.bytes.load(Ordering::Relaxed) < BYTES_MAX / 2 || self.inlet.is_empty();
        if !has_bytes || !self.inlet.is_half_empty() {
            return false;
        }
        // Before the reader asks: what is refused from now on has it asked once more.
        self.is_short.store(false, Ordering::Release);
        reader.ask_again();
        true
    }
}

/// A message of a subscription that keeps all, whose bytes count until it is dropped.
pub(crate) struct Counted {
    sample: Sample,
    room: Arc<Room>,
}

impl Counted {
    pub(crate) fn new(sample: Sample, room: &Arc<Room>) -> Self {
        room.bytes.fetch_add(sample.bytes().len(), Ordering::Relaxed);
        Self { sample, room: Arc::clone(room) }
    }
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        self.sample.bytes()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.room.bytes.fetch_sub(self.sample.bytes().len(), Ordering::Relaxed);
    }
}

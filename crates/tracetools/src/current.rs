//! Notes of the calling thread: the subscription whose message it takes next, and the message that it published last.

use std::cell::Cell;

use crate::address::{Address, EntityKey};

thread_local! {
    /// The subscription whose callback was dispatched, and whose message was not taken yet.
    static READER: Cell<Option<EntityKey>> = const { Cell::new(None) };
    /// The publisher of the last message, and the message, until it is in a first queue.
    static SENT: Cell<Option<(Address, Address)>> = const { Cell::new(None) };
}

/// Notes the subscription whose callback starts when its message was taken.
pub(crate) fn set_reader(reader: Option<EntityKey>) {
    // While a thread ends, there is nothing left to note.
    let _ = READER.try_with(|cell| cell.set(reader));
}

/// Returns the subscription whose callback starts now, once for each dispatch.
pub(crate) fn take_reader() -> Option<EntityKey> {
    READER.try_with(Cell::take).ok().flatten()
}

/// Notes the message that the thread publishes.
pub(crate) fn set_sent(publisher: Address, message: Address) {
    let _ = SENT.try_with(|cell| cell.set(Some((publisher, message))));
}

/// Returns the message that the thread published last, once for each.
pub(crate) fn take_sent() -> Option<(Address, Address)> {
    SENT.try_with(Cell::take).ok().flatten()
}

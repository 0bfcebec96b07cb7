//! Messages of a bag, which a thread of its own reads ahead of their times.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::vec;

use crate::bag::read::{Message, Messages, ReadError};

type Item = Result<Message, ReadError>;

/// Bytes of messages that are handed over together, and their number.
const BATCH_BYTES: usize = 1 << 20;
const BATCH: usize = 256;

/// Number of batches that are read ahead.
const BATCHES: usize = 8;

/// Messages that are read ahead. The thread ends with them.
pub(super) struct Ahead {
    batches: Receiver<Vec<Item>>,
    batch: vec::IntoIter<Item>,
}

impl Ahead {
    pub(super) fn new(messages: Messages) -> Self {
        let (sender, batches) = sync_channel(BATCHES);
        let spawned = thread::Builder::new().name("bag reader".to_owned()).spawn(move || read(messages, &sender));
        // Without a thread, the sender is gone and nothing comes; there is no memory for anything else either.
        drop(spawned);
        Self { batches, batch: Vec::new().into_iter() }
    }
}

fn read(messages: Messages, to: &SyncSender<Vec<Item>>) {
    let mut batch = Vec::new();
    let mut bytes = 0;
    for item in messages {
        bytes += item.as_ref().map_or(0, |message| message.payload.len());
        batch.push(item);
        if bytes >= BATCH_BYTES || batch.len() >= BATCH {
            if to.send(std::mem::take(&mut batch)).is_err() {
                return;
            }
            bytes = 0;
        }
    }
    // Nobody wants the rest if the other side has gone.
    let _ = to.send(batch);
}

impl Iterator for Ahead {
    type Item = Item;

    /// Returns the next message. Waits for the disk if the thread was not fast enough.
    fn next(&mut self) -> Option<Item> {
        loop {
            if let Some(item) = self.batch.next() {
                return Some(item);
            }
            self.batch = self.batches.recv().ok()?.into_iter();
        }
    }
}

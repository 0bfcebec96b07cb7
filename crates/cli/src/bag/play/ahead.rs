//! Messages of a bag, which a thread of its own reads ahead of their times.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use crate::bag::read::{Message, ReadError};

type Item = Result<Message, ReadError>;

/// Bytes of messages that are read ahead, and their number.
const BYTES_MAX: usize = 8 << 20;
const ITEMS_MAX: usize = 2048;

/// Time for which the executor waits for the disk before it looks at what else there is, such as Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(20);

#[derive(Default)]
struct State {
    items: VecDeque<Item>,
    bytes: usize,
    /// True once nothing more is read.
    is_over: bool,
    /// True once nobody wants the rest.
    is_unwanted: bool,
}

impl State {
    fn is_full(&self) -> bool {
        self.bytes >= BYTES_MAX || self.items.len() >= ITEMS_MAX
    }
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    came: Condvar,
    room: Condvar,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock leaves nothing half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an item once there is room. Returns false if nobody wants it.
    fn push(&self, item: Item) -> bool {
        let mut state = self.lock();
        while state.is_full() && !state.is_unwanted {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.bytes += bytes(&item);
        state.items.push_back(item);
        self.came.notify_one();
        !state.is_unwanted
    }

    /// Returns the next item, and `Ready(None)` behind the last one.
    fn poll(&self) -> Poll<Option<Item>> {
        let mut state = self.lock();
        if state.items.is_empty() && !state.is_over {
            state = self.came.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
        }
        let Some(item) = state.items.pop_front() else {
            return if state.is_over { Poll::Ready(None) } else { Poll::Pending };
        };
        state.bytes -= bytes(&item);
        self.room.notify_one();
        Poll::Ready(Some(item))
    }
}

fn bytes(item: &Item) -> usize {
    item.as_ref().map_or(0, |message| message.payload.len())
}

/// Ends the queue, also if the reader panics.
struct End(Arc<Queue>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        self.0.came.notify_one();
    }
}

/// Messages that are read ahead. The thread ends with them.
pub(super) struct Ahead(Arc<Queue>);

impl Ahead {
    pub(super) fn new(messages: impl Iterator<Item = Item> + Send + 'static) -> Self {
        let queue = Arc::new(Queue::default());
        let end = End(Arc::clone(&queue));
        let read = move || {
            for item in messages {
                if !end.0.push(item) {
                    return;
                }
            }
        };
        // Without a thread, the queue has ended; there is no memory for anything else either.
        drop(thread::Builder::new().name("bag reader".to_owned()).spawn(read));
        Self(queue)
    }

    /// Returns the next message, once the thread has read it.
    pub(super) async fn next(&mut self) -> Option<Item> {
        poll_fn(|cx| {
            let polled = self.0.poll();
            if polled.is_pending() {
                cx.waker().wake_by_ref();
            }
            polled
        })
        .await
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.0.lock().is_unwanted = true;
        self.0.room.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::mpsc::channel;
    use std::task::{Context, Waker};

    use super::*;

    fn poll(ahead: &mut Ahead) -> Poll<Option<Item>> {
        let next = pin!(ahead.next());
        next.poll(&mut Context::from_waker(Waker::noop()))
    }

    fn wait(ahead: &mut Ahead) -> Option<u64> {
        loop {
            if let Poll::Ready(item) = poll(ahead) {
                return item.map(|item| item.unwrap().log_time);
            }
        }
    }

    fn message(log_time: u64, length: usize) -> Item {
        Ok(Message { topic: "/a".into(), log_time, publish_time: 0, payload: vec![0; length].into() })
    }

    #[test]
    fn message_is_there_before_the_next_one_is_read_and_nobody_is_kept_waiting_for_that() {
        let (sender, messages) = channel();
        let mut ahead = Ahead::new(messages.into_iter());
        sender.send(message(1, 0)).unwrap();
        assert_eq!(wait(&mut ahead), Some(1));
        assert!(poll(&mut ahead).is_pending());
        sender.send(message(2, 0)).unwrap();
        drop(sender);
        assert_eq!((wait(&mut ahead), wait(&mut ahead)), (Some(2), None));
    }

    #[test]
    fn queue_is_full_by_number_and_by_bytes() {
        for (length, items) in [(0, ITEMS_MAX), (BYTES_MAX / 2, 2), (2 * BYTES_MAX, 1)] {
            let queue = Queue::default();
            for number in 0..items {
                assert!(!queue.lock().is_full() && queue.push(message(number as u64, length)), "{length}");
            }
            assert!(queue.lock().is_full() && queue.poll().is_ready() && !queue.lock().is_full(), "{length}");
        }
    }

    #[test]
    fn reader_ends_with_who_listens() {
        let (sender, ended) = channel::<()>();
        let messages = (0..).map(move |number| {
            let _ = &sender;
            message(number, 0)
        });
        drop(Ahead::new(messages));
        // The iterator, and the sender in it, are dropped by the thread.
        assert!(ended.recv().is_err());
    }
}

//! Control of a contender: it reports that it runs, and is told to end.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

/// Function that ends a thread's waiting.
type Wake = Box<dyn Fn() + Send>;

pub(crate) struct Control {
    over: AtomicBool,
    wakes: Mutex<Vec<Wake>>,
    running: SyncSender<()>,
    lost: AtomicU64,
}

impl Control {
    /// The receiver gets something once the contender runs, or is closed if it does not.
    pub(crate) fn new() -> (Self, Receiver<()>) {
        let (running, is_running) = sync_channel(1);
        let (over, wakes, lost) = (AtomicBool::new(false), Mutex::default(), AtomicU64::new(0));
        (Self { over, wakes, running, lost }, is_running)
    }

    /// The contender's part: from now on messages are received. `wake` has it look whether it is over.
    pub(super) fn running(&self, wake: impl Fn() + Send + 'static) {
        self.wakes.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(wake));
        // Several threads of one contender report that they run. One report is enough.
        let _ = self.running.try_send(());
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// A message did not fit into what the contender has between ring and callback.
    pub(super) fn lose(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Ends the contender.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Release);
        for wake in &*self.wakes.lock().unwrap_or_else(PoisonError::into_inner) {
            wake();
        }
    }
}

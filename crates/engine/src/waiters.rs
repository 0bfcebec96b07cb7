//! Tasks that wait until something changes.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_channel::oneshot;

use crate::panics::contain_and_log;

/// A list of tasks that wait until some data changes. It is kept beside the data, behind the same lock.
///
/// A task that waits checks the data first, and again after every wake-up. A thread that changes the data takes all
/// waiters out under the lock and wakes them without it, since wakers are user code.
///
/// ```
/// use std::sync::Mutex;
/// use rospin_engine::Waiters;
///
/// #[derive(Default)]
/// struct Door {
///     is_open: bool,
///     waiters: Waiters,
/// }
///
/// async fn pass(door: &Mutex<Door>) {
///     loop {
///         let changed = {
///             let mut door = door.lock().unwrap();
///             if door.is_open {
///                 return;
///             }
///             door.waiters.wait()
///         };
///         changed.await;
///     }
/// }
///
/// fn open(door: &Mutex<Door>) {
///     let mut state = door.lock().unwrap();
///     state.is_open = true;
///     let waiters = state.waiters.take();
///     drop(state);
///     waiters.wake();
/// }
/// # let door = Mutex::new(Door::default());
/// # open(&door);
/// # let context = rospin_engine::Context::new(rospin_engine::ContextOptions::new());
/// # let executor = context.create_executor(rospin_engine::ExecutorOptions::new("main"));
/// # executor.spin_until(pass(&door), rospin_engine::SpinOptions::new()).unwrap();
/// ```
#[derive(Debug, Default)]
pub struct Waiters(Vec<oneshot::Sender<()>>);

impl Waiters {
    /// Creates an empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a waiter, and returns a future that resolves when the list is woken or dropped. Allocates. Removes waiters
    /// whose future was dropped.
    pub fn wait(&mut self) -> Waiting {
        let (sender, receiver) = oneshot::channel();
        self.0.retain(|waiting| !waiting.is_canceled());
        self.0.push(sender);
        Waiting(receiver)
    }

    /// Moves all waiters to the list that it returns, so that they can be woken outside the lock.
    #[must_use = "they wait until they are woken, or dropped"]
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// Wakes all waiters.
    ///
    /// Wakers are foreign code: a panic of one is logged, and the others are called nevertheless.
    pub fn wake(self) {
        drop(self);
    }

    /// Returns true if there are no waiters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Drop for Waiters {
    fn drop(&mut self) {
        for waiting in self.0.drain(..) {
            // The drop of the sender wakes the waiter.
            contain_and_log("a waker", || drop(waiting));
        }
    }
}

/// A future that resolves when its [`Waiters`] are woken or dropped.
///
/// Cancel safe: dropped early, it has no effect.
#[derive(Debug)]
#[must_use = "futures do nothing unless they are awaited"]
pub struct Waiting(oneshot::Receiver<()>);

impl Future for Waiting {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx).map(drop)
    }
}

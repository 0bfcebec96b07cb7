//! The callback that the calling thread runs, and the executor that the thread belongs to.
//!
//! Both are thread locals. The executor is set once a spin. The callback is set around every run, so it is a single
//! word. A future that is polled asks here if its wait can ever end, and which executor wakes it.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use crate::shared::Shared;
use crate::waits::{GroupKey, Wait};

/// Flag: the callback is synchronous, so its thread does nothing else until it returns.
const IS_SYNCHRONOUS: usize = 1;
/// Flag: the callback waits for calls, which are noted in [`WAITS`].
const HAS_WAITS: usize = 2;
const FLAGS: usize = IS_SYNCHRONOUS | HAS_WAITS;
const _: () = assert!(FLAGS == GroupKey::FREE_BITS, "a group's address leaves room for the flags");

/// The callback that a thread runs: the address of the group that it holds, or zero, and flags.
#[derive(Clone, Copy)]
pub(crate) struct Running(usize);

impl Running {
    /// No callback: for example, the future that a spin waits for.
    const NOTHING: Self = Self(0);

    /// Creates the word for a synchronous callback of `group`, which is `None` if the group is reentrant.
    pub(crate) fn synchronous(group: Option<GroupKey>) -> Self {
        Self(address(group) | IS_SYNCHRONOUS)
    }

    /// Creates the word for an asynchronous callback that holds the group `holds` while it waits, or no group if that
    /// is `None`.
    pub(crate) fn asynchronous(holds: Option<GroupKey>) -> Self {
        Self(address(holds))
    }

    /// Returns the callback that the calling thread runs.
    pub(crate) fn here() -> Self {
        Self(RUNNING.with(Cell::get))
    }

    pub(crate) fn is_synchronous(self) -> bool {
        self.0 & IS_SYNCHRONOUS != 0
    }

    /// Returns the group that the callback holds until it has ended; `None` if it holds none.
    pub(crate) fn group(self) -> Option<GroupKey> {
        GroupKey::from_address(self.0 & !FLAGS)
    }

    /// Makes this the callback that the calling thread runs, until the guard is dropped.
    #[inline]
    pub(crate) fn enter(self) -> Entered {
        Entered(RUNNING.with(|running| running.replace(self.0)))
    }
}

fn address(group: Option<GroupKey>) -> usize {
    group.map_or(0, GroupKey::address)
}

crate::sync::thread_local! {
    /// The callback that this thread runs, as the word of a [`Running`].
    static RUNNING: Cell<usize> = const { Cell::new(0) };
    /// Calls that the running callback waits for.
    static WAITS: RefCell<Vec<Arc<Wait>>> = const { RefCell::new(Vec::new()) };
    static SPINNING: RefCell<Option<SpinningThread>> = const { RefCell::new(None) };
}

/// Returns true if the calling callback holds the group, so that waiting for the group would never end.
pub(crate) fn holds(group: Option<GroupKey>) -> bool {
    group.is_some() && Running::here().group() == group
}

/// Guard that, when it is dropped, restores the callback that the thread ran before.
#[must_use]
pub(crate) struct Entered(usize);

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        let ended = RUNNING.with(|running| running.replace(self.0));
        if ended & HAS_WAITS != 0 {
            // A synchronous callback has ended and waits no longer. An asynchronous one has taken its waits out
            // already.
            end_noted();
        }
    }
}

/// Notes a wait of the callback that the calling thread runs. It ends with the callback at the latest: an
/// asynchronous one [keeps](Noted::keep) it from poll to poll.
pub(crate) fn note_wait(wait: Arc<Wait>) {
    WAITS.with(|waits| waits.borrow_mut().push(wait));
    RUNNING.with(|running| running.set(running.get() | HAS_WAITS));
}

/// The waits of an asynchronous callback between two polls. Dropping them ends them.
#[derive(Default)]
pub(crate) struct Noted(Vec<Arc<Wait>>);

impl Noted {
    /// Keeps the waits that were noted during the poll that is about to end.
    pub(crate) fn keep(&mut self) {
        RUNNING.with(|running| {
            if running.get() & HAS_WAITS != 0 {
                running.set(running.get() & !HAS_WAITS);
                self.0.retain(|wait| wait.is_on());
                self.0.append(&mut take_noted());
            }
        });
    }

    /// Ends the waits, since the callback has ended.
    pub(crate) fn end(&mut self) {
        for wait in self.0.drain(..) {
            wait.end();
        }
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        self.end();
    }
}

#[cold]
fn end_noted() {
    for wait in take_noted().iter() {
        wait.end();
    }
}

#[cold]
fn take_noted() -> Vec<Arc<Wait>> {
    WAITS.with(|waits| std::mem::take(&mut *waits.borrow_mut()))
}

/// A thread's part in a spin: the executor that it spins, and the number of threads that do so. What its loop keeps
/// from step to step is in its [`Seat`](crate::spin::Seat).
#[derive(Clone)]
pub(crate) struct SpinningThread {
    pub(crate) executor: Arc<Shared>,
    /// The number of threads that take part in the spin.
    threads: u16,
}

impl SpinningThread {
    /// Returns the part of the calling thread; `None` if it spins no executor.
    pub(crate) fn here() -> Option<Self> {
        SPINNING.with(|here| here.borrow().clone())
    }

    /// Returns true if the calling thread spins an executor.
    pub(crate) fn is_here() -> bool {
        SPINNING.with(|here| here.borrow().is_some())
    }

    /// Makes the calling thread one of `threads` threads that spin the executor, until the guard is dropped.
    pub(crate) fn enter(executor: &Arc<Shared>, threads: u16) -> InSpin {
        let own = Self { executor: Arc::clone(executor), threads };
        let former = SPINNING.with(|here| here.borrow_mut().replace(own));
        InSpin { former, _entered: Running::NOTHING.enter() }
    }

    /// Returns true if the calling callback blocks the executor: it is synchronous and runs on the only thread.
    pub(crate) fn is_busy(&self) -> bool {
        self.threads == 1 && Running::here().is_synchronous()
    }
}

/// Guard that, when it is dropped, restores the part that the thread had before.
#[must_use]
pub(crate) struct InSpin {
    former: Option<SpinningThread>,
    _entered: Entered,
}

impl Drop for InSpin {
    fn drop(&mut self) {
        let ended = SPINNING.with(|here| std::mem::replace(&mut *here.borrow_mut(), self.former.take()));
        drop(ended);
    }
}

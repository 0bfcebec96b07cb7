//! What the calling thread is running.
//!
//! Two thread locals. The executor that the thread belongs to is set once a spin. What it runs is set around every callback, so
//! it is a single word. Futures that are polled ask here where they are: whether waiting can ever end, and who wakes them.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use crate::shared::Shared;
use crate::waits::{GroupKey, Wait};

/// The callback is synchronous: its thread does nothing else until it returns.
const IS_SYNCHRONOUS: usize = 1;
/// Calls have noted in [`WAITS`] that it waits for them.
const HAS_WAITS: usize = 2;
const FLAGS: usize = IS_SYNCHRONOUS | HAS_WAITS;
const _: () = assert!(FLAGS == GroupKey::FREE_BITS, "a group's address leaves room for the flags");

/// What a thread runs: the address of the group that its callback holds, or zero, and flags.
#[derive(Clone, Copy)]
pub(crate) struct Running(usize);

impl Running {
    /// No callback: the awaited future, say.
    const NOTHING: Self = Self(0);

    /// A synchronous callback, of that group unless it is reentrant.
    pub(crate) fn synchronous(group: Option<GroupKey>) -> Self {
        Self(address(group) | IS_SYNCHRONOUS)
    }

    /// An asynchronous callback that holds that group while it waits, or none.
    pub(crate) fn asynchronous(holds: Option<GroupKey>) -> Self {
        Self(address(holds))
    }

    /// What the calling thread runs.
    pub(crate) fn here() -> Self {
        Self(RUNNING.with(Cell::get))
    }

    pub(crate) fn is_synchronous(self) -> bool {
        self.0 & IS_SYNCHRONOUS != 0
    }

    /// The group that is held until the callback has ended.
    pub(crate) fn group(self) -> Option<GroupKey> {
        GroupKey::from_address(self.0 & !FLAGS)
    }

    /// Has the calling thread run this until the guard is dropped.
    #[inline]
    pub(crate) fn enter(self) -> Entered {
        Entered(RUNNING.with(|running| running.replace(self.0)))
    }
}

fn address(group: Option<GroupKey>) -> usize {
    group.map_or(0, GroupKey::address)
}

crate::sync::thread_local! {
    /// A [`Running`].
    static RUNNING: Cell<usize> = const { Cell::new(0) };
    /// What the callback that runs waits for, if it says so.
    static WAITS: RefCell<Vec<Arc<Wait>>> = const { RefCell::new(Vec::new()) };
    static SEAT: RefCell<Option<Seat>> = const { RefCell::new(None) };
}

/// Whether the calling callback holds the group: what needs the group would wait for ever.
pub(crate) fn holds(group: Option<GroupKey>) -> bool {
    group.is_some() && Running::here().group() == group
}

/// Until it is dropped, the thread runs what it was entered for.
#[must_use]
pub(crate) struct Entered(usize);

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        let ended = RUNNING.with(|running| running.replace(self.0));
        if ended & HAS_WAITS != 0 {
            // A synchronous callback has ended, so it waits no longer. An asynchronous one has taken them out.
            take_noted().iter().for_each(|wait| wait.end());
        }
    }
}

/// The callback that the calling thread runs waits like this.
pub(crate) fn note_wait(wait: Arc<Wait>) {
    WAITS.with(|waits| waits.borrow_mut().push(wait));
    RUNNING.with(|running| running.set(running.get() | HAS_WAITS));
}

/// What an asynchronous callback waits for between two polls. Its drop ends these waits.
#[derive(Default)]
pub(crate) struct Noted(Vec<Arc<Wait>>);

impl Noted {
    /// Keeps what was noted in the poll that is about to end.
    pub(crate) fn keep(&mut self) {
        RUNNING.with(|running| {
            if running.get() & HAS_WAITS != 0 {
                running.set(running.get() & !HAS_WAITS);
                self.0.retain(|wait| wait.is_on());
                self.0.append(&mut take_noted());
            }
        });
    }

    /// The callback has ended.
    pub(crate) fn end(&mut self) {
        self.0.drain(..).for_each(|wait| wait.end());
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        self.end();
    }
}

#[cold]
fn take_noted() -> Vec<Arc<Wait>> {
    WAITS.with(|waits| std::mem::take(&mut *waits.borrow_mut()))
}

/// A thread's place in a spin.
#[derive(Clone)]
pub(crate) struct Seat {
    pub(crate) executor: Arc<Shared>,
    /// How many threads take part in the spin.
    threads: u16,
}

impl Seat {
    /// Of the calling thread. None if it is no executor's.
    pub(crate) fn here() -> Option<Self> {
        SEAT.with(|seat| seat.borrow().clone())
    }

    /// The calling thread is one of so many that spin the executor, until the guard is dropped.
    pub(crate) fn take(executor: &Arc<Shared>, threads: u16) -> Seated {
        let seat = Self { executor: Arc::clone(executor), threads };
        let former = SEAT.with(|here| here.borrow_mut().replace(seat));
        Seated { former, _entered: Running::NOTHING.enter() }
    }

    /// Whether the executor does nothing while the calling callback runs: it is synchronous, and there is no other thread.
    pub(crate) fn is_busy(&self) -> bool {
        self.threads == 1 && Running::here().is_synchronous()
    }
}

/// Until it is dropped, the thread is the executor's.
#[must_use]
pub(crate) struct Seated {
    former: Option<Seat>,
    _entered: Entered,
}

impl Drop for Seated {
    fn drop(&mut self) {
        let ended = SEAT.with(|here| std::mem::replace(&mut *here.borrow_mut(), self.former.take()));
        drop(ended);
    }
}

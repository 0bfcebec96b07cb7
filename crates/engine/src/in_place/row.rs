//! Runs of callbacks where they are, on the only thread of an executor.
//!
//! While one thread spins an executor, nobody else looks at its state. So a synchronous callback runs where it is, as
//! long as nothing but notifications has come: the scheduler names the first ready entity, and learns of the run when
//! it is over. Nothing is lent, the group is not held, and the policy is called once. A callback that fails is lent
//! afterwards, and given back as any other. `benches/dispatch.txt` has the instructions of each way.
//!
//! These are lent: timers, callbacks with deadlines, asynchronous ones, and those of entities that may have several
//! activations under way. So is everything under a policy that names no first activation (wait sets, and policies that
//! are written from scratch), while there is a trace, and while a suspended callback holds a group.
//!
//! Where there are many entities, waiting for their memory takes longer than the instructions. So the loop prefetches
//! what the next callbacks need, in steps, one for each callback that runs. A step reads only what an earlier one has
//! prefetched: one read of anything else would keep the thread waiting, since every callback has atomic instructions,
//! which wait for all earlier reads. The data of few entities stay in the caches, and prefetching them would take
//! longer than it saves; only their items are prefetched, just after a drain, when they are still in the cache of the
//! publisher's core. By `rospin lab throughput --workloads fan-in`, a hundred entities got 0.83 of the best other
//! design's messages without that, and 1.07 with it.

use std::any::Any;

use rospin_core::policy::Named;
use rospin_core::{Instant, ThreadIndex};

use crate::body::{AnyPayload, Ran, RunContext};
use crate::lock_free::inbox::Inbox;
use crate::lock_free::prefetch::{prefetch, prefetch_at};
use crate::state::State;
use crate::work::Callback;
use crate::work::Run;

/// The number of entities from which on their data are prefetched. Few are many in a model checker, so that its small
/// programs go both ways.
const MANY: usize = if cfg!(rospin_shuttle) { 10 } else { 256 };

/// The number of callbacks by which the data of an entity are prefetched in advance.
const AHEAD: usize = 8;

/// The number of callbacks from one step of that to the next one. A line that comes from another core takes longer than
/// one callback.
const STEP: usize = 2;

/// The number of callbacks after a drain whose items are probably in the cache of another core, which has just
/// published them. In a backlog, which no drain interrupts, that takes longer than it saves: a line of slots that was
/// fetched once has several of them.
const FRESH: u32 = 64;

/// The outcome of [`State::run_first`].
pub(crate) enum InPlace {
    /// A callback ran, and is over.
    Over,
    /// A callback ran, and has failed. Its run is to be given back as any other.
    Failed(Run),
    /// Nothing ran: no callback is ready, or the next one must be lent to the thread.
    Nothing,
}

/// A row of callbacks that run in place, one after the other.
pub(crate) struct Row {
    /// The one that is next, or runs; `None` if nothing is ready that may run in place.
    next: Option<Named>,
    cx: RunContext,
    /// A time before the last drain. All messages that were published before were drained, and all that were not have
    /// later times, if their publishers had come so far as to notify.
    pub(crate) drained_until: Instant,
    /// The entities of some callbacks that probably come soon, as a ring: with [many](MANY) entities, of the next ones.
    upcoming: [Option<usize>; AHEAD],
    /// The index of the oldest one in the ring, before it is wrapped.
    at: usize,
    /// The number of callbacks during which the items of later ones are fetched. It is 0 with [many](MANY) entities.
    fresh: u32,
    /// True while a callback runs.
    pub(crate) is_inside: bool,
}

impl Row {
    /// Returns true if the next callback comes before all that is released at `time` or later.
    #[inline(always)]
    pub(crate) fn precedes_all_from(&self, time: Instant) -> bool {
        self.next.is_some_and(|next| next.has_later_behind() && next.release() < time)
    }
}

impl State {
    /// Returns true if the callback of the run is one that [`run_first`](Self::run_first) runs.
    #[inline(always)]
    pub(crate) fn is_simple(&self, run: &Run) -> bool {
        if !self.scheduler.runs_in_place() {
            return false;
        }
        let entity = self.entities.get(run.activation.entity.index()).and_then(Option::as_ref);
        entity.is_some_and(|entity| entity.is_simple)
    }

    /// Returns a row of callbacks that begins with the one that is next now. If the inbox is not empty, only the
    /// [drain](Self::drain_into) tells which one that is.
    pub(crate) fn begin_row(&self, inbox: &Inbox) -> Row {
        let next = if inbox.is_empty() { self.scheduler.first() } else { None };
        Row {
            next,
            cx: RunContext::new(),
            drained_until: Instant::ZERO,
            upcoming: [None; AHEAD],
            at: 0,
            fresh: 0,
            is_inside: false,
        }
    }

    /// [Drains](Self::drain) the inbox between two callbacks of the row.
    #[inline(always)]
    pub(crate) fn drain_into(&mut self, row: &mut Row, inbox: &Inbox, now: impl Fn() -> Instant) {
        // Flags are taken word by word. Meanwhile, a publisher may raise one in a word that was taken already, which
        // the drain misses, and then one in a word that comes next, which the drain finds. So only what was published
        // before the first word is known.
        let begin = now();
        inbox.forget_noted();
        let latest = self.drain(inbox, now);
        // The clock of the publishers may be another one than this executor's. Then neither time alone would say
        // anything.
        row.drained_until = begin.min(latest);
        row.next = self.scheduler.first();
        if self.entities.len() < MANY && self.scheduler.upcoming(1).is_some() {
            if row.fresh == 0 {
                // These entities were noted before the last pause of `prefetch_items`, and have run since.
                row.upcoming = [None; AHEAD];
            }
            row.fresh = FRESH;
        }
    }

    /// Runs the callback that is next, where it is: nothing is lent, and the scheduler learns of the run when it is
    /// over. No other thread may look at the state meanwhile. `now` reads the clock.
    ///
    /// If the callback panics, the panic unwinds through this call, and [`fail_inside`](Self::fail_inside) must be
    /// called.
    #[inline(always)]
    pub(crate) fn run_first(&mut self, thread: ThreadIndex, row: &mut Row, now: impl Fn() -> Instant) -> InPlace {
        let Some(first) = row.next else {
            return InPlace::Nothing;
        };
        self.look_ahead(row);
        let Some((callback, payload)) = self.callback_in_place(first.entity()) else {
            return InPlace::Nothing;
        };
        row.cx.release = first.release();
        row.is_inside = true;
        let ran = callback.body.run(&mut row.cx, payload);
        row.is_inside = false;
        if !matches!(ran, Ran::Done | Ran::Nothing) {
            (callback.cx, callback.result) = (row.cx, Ok(ran));
            return self.lend_afterwards(thread).map_or(InPlace::Nothing, InPlace::Failed);
        }
        row.next = self.scheduler.ran_first(first, row.cx.pending.since(now));
        InPlace::Over
    }

    /// Returns the entity's callback, and the place of its group's payload; `None` if the callback must not run in
    /// place.
    #[inline(always)]
    fn callback_in_place(&mut self, entity: usize) -> Option<(&mut Callback, &mut Option<AnyPayload>)> {
        let entity = self.entities.get_mut(entity)?.as_mut()?;
        let group = self.groups.get_mut(entity.group as usize)?.as_mut()?;
        if !entity.is_simple || entity.closing {
            return None;
        }
        let callback = entity.slots.first_mut()?.callback.as_mut()?;
        Some((callback, &mut group.payload))
    }

    /// Prefetches what the next callbacks need, while the present one runs. Few entities have their own data in the
    /// caches anyway, and need only their items, if these are [fresh](FRESH).
    #[inline(always)]
    fn look_ahead(&self, row: &mut Row) {
        if self.entities.len() >= MANY {
            self.prefetch_upcoming(row);
        } else if row.fresh > 0 {
            self.prefetch_items(row);
        }
    }

    /// Prefetches the place of the item for the callback that probably comes two [steps](STEP) later, and the item
    /// itself for the one that comes one step later, whose place was fetched one step ago.
    #[inline(never)]
    fn prefetch_items(&self, row: &mut Row) {
        row.fresh -= 1;
        let last = self.scheduler.upcoming(2 * STEP);
        let soon = std::mem::replace(&mut row.upcoming[row.at % STEP], last);
        row.at = row.at.wrapping_add(1);
        self.prefetch_for(soon, STEP);
        self.prefetch_for(last, 2 * STEP);
    }

    /// Has the source of an entity, if there is one, prefetch what it needs in so many callbacks.
    #[inline(always)]
    fn prefetch_for(&self, entity: Option<usize>, distance: usize) {
        if let Some(callback) = entity.and_then(|entity| self.callback_of(entity)) {
            callback.body.prefetch(distance);
        }
    }

    /// Returns the first callback of the entity with that index.
    #[inline(always)]
    fn callback_of(&self, entity: usize) -> Option<&Callback> {
        self.entities.get(entity)?.as_ref()?.slots.first()?.callback.as_deref()
    }

    /// Goes one step further for some of the next callbacks. What a step looks at was fetched by the step before: the
    /// entity, its callback, what the source has of its items, where the next item is, and the item. Looking at
    /// anything else would keep the thread waiting.
    #[inline(never)]
    fn prefetch_upcoming(&self, row: &mut Row) {
        let slot = |index: usize| self.entities.get(index);
        let after = |distance: usize| row.upcoming[(row.at + distance) % AHEAD];
        for distance in [STEP, 2 * STEP, 3 * STEP] {
            self.prefetch_for(after(distance - 1), distance);
        }
        after(AHEAD - 1).and_then(|index| self.callback_of(index)).into_iter().for_each(prefetch);
        let last = self.scheduler.upcoming(AHEAD + 1);
        last.and_then(slot).into_iter().for_each(prefetch);
        last.and_then(|last| self.scheduler.address_of(last)).into_iter().for_each(prefetch_at);
        row.upcoming[row.at % AHEAD] = last;
        row.at = row.at.wrapping_add(1);
    }

    /// Notes that the callback which ran in place has panicked. Lends it, so that it is given back as any other.
    #[cold]
    pub(crate) fn fail_inside(&mut self, thread: ThreadIndex, row: &Row, panic: Box<dyn Any + Send>) -> Option<Run> {
        let (callback, _) = self.callback_in_place(row.next?.entity())?;
        callback.cx = row.cx;
        callback.fail(panic);
        self.lend_afterwards(thread)
    }

    /// Lends the callback that has just failed in place, so that it is given back as any other.
    #[cold]
    fn lend_afterwards(&mut self, thread: ThreadIndex) -> Option<Run> {
        let activation = self.scheduler.take_first(thread)?;
        self.lend(&activation)
    }
}

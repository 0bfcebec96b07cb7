//! Runs of callbacks where they are, on the only thread of an executor.

use std::any::Any;

use rospin_core::{EntityId, GroupId, Instant, ThreadIndex};

use super::State;
use crate::body::Ran;
use crate::lock_free::prefetch::prefetch;
use crate::work::Run;

/// The number of entities from which on their data are fetched in advance.
const MANY: usize = 256;

/// The outcome of [`State::run_first`].
pub(crate) enum InPlace {
    /// A callback ran, and is over.
    Over,
    /// A callback ran, and has failed. Its run is to be given back as any other.
    Failed(Run),
    /// Nothing ran: no callback is ready, or the next one must be lent to the thread.
    Nothing,
}

/// The entity whose callback runs in place, and its group.
pub(crate) type Inside = (EntityId, GroupId);

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

    /// Runs the callback that is next, where it is: nothing is lent, and the scheduler learns of the run when it is over. No other
    /// thread may look at the state meanwhile. `now` reads the clock.
    ///
    /// `inside` says which callback runs while it does. If that panics, the panic unwinds through this call, and
    /// [`fail_inside`](Self::fail_inside) must be called.
    #[inline(always)]
    pub(crate) fn run_first(
        &mut self,
        thread: ThreadIndex,
        inside: &mut Option<Inside>,
        now: impl Fn() -> Instant,
    ) -> InPlace {
        let Some(first) = self.scheduler.first() else {
            return InPlace::Nothing;
        };
        let (id, group_id, release) = (first.entity, first.group, first.release);
        self.look_ahead();
        let Self { entities, groups, .. } = self;
        let entity = entities.get_mut(id.index()).and_then(Option::as_mut);
        let group = groups.get_mut(group_id.index()).and_then(Option::as_mut);
        let (Some(entity), Some(group)) = (entity, group) else {
            return InPlace::Nothing;
        };
        debug_assert!(entity.id == id && group.id == group_id, "the scheduler knows what the state has");
        if !entity.is_simple || entity.closing {
            return InPlace::Nothing;
        }
        let Some(callback) = entity.slots.first_mut().and_then(|slot| slot.callback.as_mut()) else {
            return InPlace::Nothing;
        };
        // They change places, since an assignment would have to look for something to drop.
        std::mem::swap(&mut callback.cx.payload, &mut group.payload);
        callback.cx.release = release;
        *inside = Some((id, group_id));
        let ran = callback.body.run(&mut callback.cx);
        *inside = None;
        std::mem::swap(&mut callback.cx.payload, &mut group.payload);
        if !matches!(ran, Ran::Done | Ran::Nothing) {
            callback.result = Ok(ran);
            return self.lend_afterwards(thread).map_or(InPlace::Nothing, InPlace::Failed);
        }
        let more = callback.cx.pending.since(now);
        self.scheduler.ran_first(id, more);
        InPlace::Over
    }

    /// Has the processor fetch what the next callbacks need, while the present one runs: the later a callback comes, the fewer of its
    /// data are known by then. Few entities have theirs in the caches anyway.
    #[inline(always)]
    fn look_ahead(&self) {
        if self.entities.len() >= MANY {
            self.prefetch_upcoming();
        }
    }

    #[inline(never)]
    fn prefetch_upcoming(&self) {
        let [second, third, fourth] = self.scheduler.upcoming();
        let slot = |index: usize| self.entities.get(index);
        let callback = |index| slot(index)?.as_ref()?.slots.first()?.callback.as_deref();
        if let Some(callback) = second.and_then(callback) {
            callback.body.prefetch();
        }
        third.and_then(callback).into_iter().for_each(prefetch);
        fourth.and_then(slot).into_iter().for_each(prefetch);
    }

    /// Notes that the callback which ran in place has panicked. Lends it, so that it is given back as any other.
    #[cold]
    pub(crate) fn fail_inside(
        &mut self,
        thread: ThreadIndex,
        (id, group): Inside,
        panic: Box<dyn Any + Send>,
    ) -> Option<Run> {
        let Self { entities, groups, .. } = self;
        let slot = entities.get_mut(id.index())?.as_mut()?.slots.first_mut()?;
        let (callback, group) = (slot.callback.as_mut()?, groups.get_mut(group.index())?.as_mut()?);
        std::mem::swap(&mut callback.cx.payload, &mut group.payload);
        callback.fail(panic);
        self.lend_afterwards(thread)
    }

    /// Lends the callback that has just failed in place, so that it is given back as any other.
    #[cold]
    fn lend_afterwards(&mut self, thread: ThreadIndex) -> Option<Run> {
        let activation = self.scheduler.take_first(thread)?;
        self.lend(activation)
    }
}

//! The executor's thread, from one callback to the next: *drain*, *pick*, *run*, *complete*, in this order below.
//! `Spin::dispatch` is the loop, and `Spin::step` is everything between two callbacks: it drains, completes the last
//! run, and picks the next one. So what arrived during a run is drained before the run is completed. The same loop
//! serves any number of threads: one thread borrows the state, and several share it behind a lock that is held only
//! between callbacks.
//!
//! The only thread of an executor has a second way from one callback to the next, and most callbacks take it: it runs
//! synchronous ones without a deadline, except timers, where they are ([`crate::in_place`]). Both ways lead to the same
//! decisions.
//!
//! # The life of an activation
//!
//! ```text
//!                  1                       3                       4
//!   none ---------------------> ready ----------------> running ----------------> over
//!     \                         ^  ^  \                    |
//!      \ 2                   5 /   |   \ 8                 | 6
//!       v                     /    |    v                  v          9
//!        held back ----------+     |    withdrawn       suspended -----------> withdrawn
//!                                  |          7            |
//!                                  +-----------------------+
//! ```
//!
//! 1. A drain or a due time releases the entity: `Scheduler::release`. While an activation is ready, further releases
//!    change nothing, except that an earlier one counts.
//! 2. The same, while as many activations of the entity are under way as may be. The entity keeps it; the policy does
//!    not know it yet.
//! 3. `Scheduler::next` picks it and takes its group, and arms a timer again. `State::lend` lends callback and payload
//!    to the thread.
//! 4. The callback returned, panicked, or found nothing to take. `State::complete` gives back what was lent and calls
//!    `Scheduler::complete`, which frees the group. `State::fail` deals with panics.
//! 5. Another activation of the entity completed, so there is room: `Scheduler::complete`.
//! 6. The future is not ready. `State::suspend` gives back what was lent and calls `Scheduler::suspend`: the activation
//!    keeps its group, unless its options release groups at await. The thread is free.
//! 7. Its waker was called. A drain calls `Scheduler::resume`, and the next segment is ready. If the waker was called
//!    while the segment ran, `State::suspend` does that at once.
//! 8. The entity was removed, or its timer was cancelled or restarted: `Scheduler::remove_entity`,
//!    `Scheduler::cancel_timer`. The same holds for what is held back.
//! 9. The entity was removed: `State::remove_entity`. Its future is dropped later, without the state.
//!
//! # Shutdown
//!
//! 1. Somebody wants the end of the spin: `Shared::halt`, a deadline, the awaited future, a panic in a group that
//!    halts, or a thread that cannot have its settings. `halt` sets a flag and unparks all threads.
//! 2. The first thread that notices, between two callbacks, calls `Spin::stop`: a flag for all threads of the spin,
//!    which are unparked once.
//! 3. Each thread gives its run back before it looks at that flag, in `Spin::step`. So callbacks that run are waited
//!    for. Suspended ones stay where they are and go on in the next spin; raised flags stay raised.
//! 4. The calling thread joins the others: `Spin::spin_threads`.
//! 5. `Spin::run` undoes the OS settings of its thread, unlocks the state, and only then reports incidents and drops
//!    what was removed, since both are user code.
//! 6. `ExecutorCore::settle` makes the changes that were submitted during the last step.
//! 7. `Shared::stop_spinning`: jumps of ROS time no longer wait for this executor.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use rospin_core::{Activation, EntityId, EntityKind, Instant, Scheduler, ThreadIndex};

use crate::access::Access;
use crate::body::Ran;
use crate::executor_options::Until;
use crate::lock_free::inbox::Inbox;
use crate::lock_free::parker::{Deadline, Ticket};
use crate::lookout::Lookout;
use crate::loss::LossCause;
use crate::main_future::MainFuture;
use crate::os::ShortSlices;
use crate::panics::contain;
use crate::shared::Shared;
use crate::source::Pending;
use crate::spin_call::Spin;
use crate::state::{EntitySlot, NOBODY, State, Target, WrittenLines};
use crate::sync::atomic::Ordering;
use crate::work::{Callback, Run};

/// State of one thread of a spin, from step to step. The executor that the thread spins is in its
/// [`SpinningThread`](crate::current::SpinningThread).
pub(crate) struct Seat {
    pub(crate) thread: ThreadIndex,
    /// The run that is under way, or that was not given back to the state yet.
    pub(crate) run: Option<Run>,
    /// True if a callback ran since the last check of the end of the spin.
    pub(crate) ran_one: bool,
    pub(crate) idle_since: Option<Instant>,
    /// True if the state counts the thread as parked.
    pub(crate) was_idle: bool,
    /// True if the last step was for leftovers of user code, so that this one is for callbacks.
    pub(crate) cleaned_up: bool,
    /// True if the thread has woken sleepers since its last pick.
    pub(crate) has_woken: bool,
    /// True if the awaited future was woken and is polled only after the next pick.
    pub(crate) main_waits: bool,
    pub(crate) lookout: Lookout,
    /// The thread's short time slices, once it waited for work.
    pub(crate) slices: Option<ShortSlices>,
    /// The panic of a policy between a pick and its run.
    pub(crate) panic: Option<Box<dyn Any + Send>>,
}

/// The next action of a thread.
pub(crate) enum Next {
    /// Run the callback in the seat.
    Run,
    Park(Ticket, Deadline),
    /// Poll for work until that time instead of parking.
    Poll(Instant),
    /// Report incidents and drop leftovers of user code, then look again.
    CleanUp,
    /// Look again, since there are more changes to make.
    Again,
    /// Wake the sleepers that are due at this time, then look again.
    Wake(Instant),
    Stop,
}

impl Spin<'_> {
    /// Runs the loop of a thread until the spin ends.
    pub(crate) fn dispatch(&self, access: &impl Access, seat: &mut Seat, mut main: Option<MainFuture<'_>>) {
        let mut lines = WrittenLines::new();
        loop {
            let woken = main.as_mut().filter(|main| main.is_woken());
            // The future is not polled between a round of wake-ups and its pick. It might take long, and sleepers that
            // become due meanwhile would miss the pick.
            seat.main_waits = seat.has_woken && woken.is_some();
            if let Some(main) = woken.filter(|_| !seat.main_waits) {
                self.complete_before_poll(access, seat);
                if main.poll_if_woken() {
                    self.stop();
                }
            }
            let (next, wake_another) = access.with_lines(&mut lines, |state| {
                self.unpark_if_idle(state, seat);
                if self.may_run_in_place(state, seat) && self.runs_in_place(state, seat, main.as_ref()) {
                    return (Next::Again, false);
                }
                let next = self.step(state, seat);
                // A thread that is about to run user code leaves other work to other threads.
                let is_busy = matches!(next, Next::Run | Next::CleanUp | Next::Wake(_));
                (next, is_busy && self.has_parked(state) && self.ask_for_others(state, seat))
            });
            if wake_another {
                self.executor.call_another();
                unwind_after_run(seat);
            }
            let is_called = || {
                let main_woken = main.as_ref().is_some_and(MainFuture::is_woken);
                main_woken || self.stopped() || self.executor.wants_attention()
            };
            match next {
                Next::Run => {
                    if let Some(run) = &mut seat.run {
                        run.run();
                    }
                }
                Next::CleanUp => access.with(State::take_some_leftovers).deal_with(self.executor),
                Next::Poll(until) => {
                    while !is_called() && self.executor.now() < until {
                        std::hint::spin_loop();
                    }
                }
                Next::Park(ticket, _) if is_called() => self.executor.bell.parker.cancel(ticket),
                Next::Park(ticket, deadline) => {
                    // Threads that look for work without waiting never need it.
                    seat.slices.get_or_insert_with(ShortSlices::new);
                    self.executor.bell.parker.park(ticket, deadline);
                }
                Next::Again => {}
                Next::Wake(now) => self.executor.sleeps.wake_due(&self.executor.times, now),
                Next::Stop => return,
            }
        }
    }

    /// Does everything between two callbacks, and returns the next action.
    #[inline]
    fn step(&self, state: &mut State, seat: &mut Seat) -> Next {
        let executor = self.executor;
        self.core.make_some_changes(state);
        executor.answer_call();
        // The clock is read after the changes, since a moved clock counts as one of them.
        let now = executor.now();
        if !executor.bell.inbox.is_empty() || state.has_drained() {
            state.drain(&executor.bell.inbox, || now);
        }
        self.complete(state, seat, now);
        if state.must_look(now) {
            state.look_for_held_up(executor, now);
        }
        if self.is_over(state, seat, now) {
            return Next::Stop;
        }
        // Leftovers come before the pick: user code must not run between an urgent callback's pick and its start. They
        // alternate with callbacks, so that neither waits for long.
        if state.has_leftovers() && !seat.cleaned_up {
            seat.cleaned_up = true;
            return Next::CleanUp;
        }
        seat.cleaned_up = false;
        // There is one round of wake-ups before each pick: a task that falls asleep again at once must not starve
        // callbacks.
        if !std::mem::take(&mut seat.has_woken) && executor.sleeps.is_due(&executor.times, now) {
            seat.has_woken = true;
            return Next::Wake(now);
        }
        state.advance(executor, now);
        state.pick(now, seat.thread, &mut seat.run);
        state.watch_ros_time(executor);
        if seat.run.is_some() {
            seat.idle_since = None;
            Next::Run
        } else if seat.main_waits || state.has_leftovers() || state.has_changes_left {
            Next::Again
        } else {
            self.idle(state, seat, now)
        }
    }

    /// Gives the run of the seat, if there is one, back to the state, which ends or suspends its activation.
    #[inline]
    pub(crate) fn complete(&self, state: &mut State, seat: &mut Seat, now: Instant) {
        if let Some(run) = seat.run.take() {
            // A spin of what is ready also ends if sources turn out to be empty.
            seat.ran_one |= state.complete(self.executor, run, now) | (self.until == Until::Some);
        }
    }

    /// Completes the run of the seat and calls another thread for other work, since the awaited future is polled next
    /// and may take long.
    fn complete_before_poll(&self, access: &impl Access, seat: &mut Seat) {
        let wake_another = access.with(|state| {
            self.unpark_if_idle(state, seat);
            self.complete(state, seat, self.executor.now());
            self.others_are_needed(state)
        });
        if wake_another {
            self.executor.call_another();
        }
    }

    /// Returns true if another thread is needed for other work, or if the policy panics when it is asked. The seat has
    /// the panic then, and [`unwind_after_run`] unwinds: the thread first runs what it has picked, which would be lost
    /// otherwise.
    fn ask_for_others(&self, state: &State, seat: &mut Seat) -> bool {
        match catch_unwind(AssertUnwindSafe(|| self.others_are_needed(state))) {
            Ok(are_needed) => are_needed,
            Err(panic) => {
                seat.panic = Some(panic);
                true
            }
        }
    }

    /// Stops the spin if it is over. Returns true if it was stopped.
    fn is_over(&self, state: &State, seat: &mut Seat, now: Instant) -> bool {
        let halted = state.fatal.is_some() || self.executor.halt.load(Ordering::Acquire);
        let done = self.is_done(std::mem::take(&mut seat.ran_one));
        if halted || done {
            self.stop();
        } else if self.until != Until::Once && !seat.main_waits && self.is_late(now) && !self.stopped() {
            self.time_out();
        }
        self.stopped()
    }
}

/// If the policy has panicked after the pick, runs what was picked, and unwinds.
fn unwind_after_run(seat: &mut Seat) {
    if let Some(panic) = seat.panic.take() {
        if let Some(run) = &mut seat.run {
            run.run();
        }
        resume_unwind(panic);
    }
}

// Drain: the flags that notifiers raised become releases.

impl State {
    /// Passes the flags that were raised since the last drain on to the scheduler, in the order of arrival: a ready set
    /// takes fewer steps for what comes in order. If neither the flag nor a queue has a time of arrival, the flag
    /// counts as one that was raised now, for which `now` reads the clock.
    ///
    /// Returns the latest of the publication times that it found in queues; zero if it found none.
    #[inline(never)]
    pub(crate) fn drain(&mut self, inbox: &Inbox, now: impl Fn() -> Instant) -> Instant {
        if !self.drained.is_empty() {
            self.release_drained();
        }
        let mut latest = Instant::ZERO;
        let Self { books, targets, drained, .. } = self;
        inbox.drain(books, |signal, arrival_ns| {
            // Without a target, the entity is not added yet, and adding it will look at the source; or the entity was
            // removed.
            if let Some(target) = targets.get(signal).and_then(Option::as_ref) {
                // A source may have a queue among others, and may notify for reasons of its own: a time that was noted
                // counts.
                let arrival = match arrival_ns {
                    Some(noted) => Instant::from_nanos(noted),
                    None => target.oldest_ns().map_or_else(&now, |published| {
                        let published = Instant::from_nanos(published);
                        latest = latest.max(published);
                        published
                    }),
                };
                drained.push((arrival, signal));
            }
        });
        if drained.len() > 1 {
            drained.sort_unstable_by(|a, b| b.cmp(a));
        }
        self.release_drained();
        latest
    }

    /// Releases what was drained. If a policy or a trace panics, the rest is left for the next drain.
    #[inline]
    fn release_drained(&mut self) {
        let Self { scheduler, entities, targets, drained, .. } = self;
        while let Some((arrival, signal)) = drained.pop() {
            match targets.get(signal).and_then(Option::as_ref) {
                Some(Target::Source(id, _)) => {
                    scheduler.release(arrival, *id);
                }
                Some(Target::Segment(id, slot)) => wake(scheduler, entities, *id, *slot, arrival),
                None => {}
            }
        }
    }

    /// Returns true if a panic has left something that was drained and not released yet.
    pub(crate) fn has_drained(&self) -> bool {
        !self.drained.is_empty()
    }
}

/// Resumes the activation in a slot of an entity, which was woken at `now`.
fn wake(scheduler: &mut Scheduler, entities: &mut [Option<EntitySlot>], id: EntityId, slot: usize, now: Instant) {
    let entity = entities.get_mut(id.index()).and_then(Option::as_mut).filter(|entity| entity.id == id);
    let Some(run) = entity.and_then(|entity| entity.slots.get_mut(slot)) else {
        return;
    };
    let sequence = run.sequence;
    if sequence == NOBODY {
        // The waker belongs to an activation that has ended.
        return;
    }
    if run.suspended {
        run.suspended = false;
        scheduler.resume(now, id, sequence);
    } else {
        // If the activation runs, it is polled once more. If it was resumed already, it will be polled anyway.
        run.woken = run.callback.is_none();
    }
}

// Pick: the scheduler decides, and the state lends callback and payload to the thread.

impl State {
    /// Picks the next activation for `thread`, and lends the thread its callback and payload, in `seat`, which is
    /// empty. It stays empty if none may start.
    #[inline(always)]
    fn pick(&mut self, now: Instant, thread: ThreadIndex, seat: &mut Option<Run>) {
        while let Some(activation) = self.scheduler.next(now, thread) {
            *seat = self.lend(&activation);
            if seat.is_some() {
                return;
            }
            // The entity is about to be removed, or the policy made the activation up. It must not hold its group for
            // ever.
            self.scheduler.complete(now, &activation);
        }
    }

    /// Lends the callback and the payload of an activation that was picked; `None` if its entity is about to be
    /// removed, or the policy made the activation up.
    #[inline(always)]
    pub(crate) fn lend(&mut self, activation: &Activation) -> Option<Run> {
        let mut callback = self.lend_callback(activation)?;
        callback.payload = self.group_mut(activation.group)?.payload.take();
        Some(Run { activation: *activation, callback })
    }

    /// Lends the callback of an activation, without its payload. Brings the counts of a timer up to date.
    #[inline(always)]
    fn lend_callback(&mut self, activation: &Activation) -> Option<Box<Callback>> {
        let is_timer = activation.kind == EntityKind::Timer;
        let timer_state = if is_timer { self.scheduler.timer_state(activation.entity) } else { None };
        let has_changes_left = self.has_changes_left;
        let on_steady = self.ros.is_on_steady();
        let entity = self.entity_mut(activation.entity)?;
        let is_first = activation.segment == 0;
        // A source that has ended is not taken from again, although another activation of its entity may still be under
        // way.
        if entity.closing && is_first {
            return None;
        }
        // A suspended callback goes on although its timer gets another due time.
        if has_changes_left && (entity.is_removed() || is_first && entity.has_another_due()) {
            return None;
        }
        let mut fired = None;
        if let Some((due, overruns)) = timer_state {
            entity.details.losses.set(LossCause::TimerOverrun, overruns);
            if let Some(timer) = &entity.details.timer {
                fired = timer.fired();
                timer.note_due(due, on_steady);
            }
        }
        let wanted = if activation.segment > 0 { activation.sequence } else { NOBODY };
        let slot = entity.slots.iter_mut().find(|slot| slot.sequence == wanted)?;
        let mut callback = slot.callback.take()?;
        if is_timer {
            callback.cx.due = fired;
        }
        slot.sequence = activation.sequence;
        Some(callback)
    }
}

// Run: the thread takes an item and calls the callback, while no lock is held.

impl Run {
    /// Takes an item and runs the callback, or polls a suspended one again. Notes the outcome, or the message of a
    /// panic, in the callback's `result`.
    #[inline(always)]
    fn run(&mut self) {
        let Callback { body, cx, payload, result, .. } = &mut *self.callback;
        cx.release = self.activation.release;
        cx.pending = Pending::Empty;
        // Unwind safety: after a panic the body only drops its activation, and the group's options say if the payload
        // is used further.
        match catch_unwind(AssertUnwindSafe(|| body.run(cx, payload))) {
            Ok(ran) => *result = Ok(ran),
            Err(panic) => self.callback.fail(panic),
        }
    }
}

// Complete: the thread gives back callback and payload, and the activation ends or is suspended.

/// Events of an entity while its callback was lent.
struct GivenBack {
    /// True if the activation's waker was called.
    is_woken: bool,
    /// True if the entity's source has ended.
    is_closing: bool,
}

impl State {
    /// Gives back a run, and ends or suspends its activation, as the outcome says. Returns true if the callback itself
    /// ran.
    pub(crate) fn complete(&mut self, executor: &Shared, run: Run, now: Instant) -> bool {
        match &run.callback.result {
            Ok(Ran::Done) => {
                self.note_if_missed(executor, &run, now);
                self.end(run, now);
                true
            }
            Ok(Ran::Suspended) => {
                self.suspend(run, now);
                true
            }
            Ok(Ran::Nothing) => {
                self.end(run, now);
                false
            }
            Ok(Ran::Failed(_)) => {
                self.fail(executor, run, now);
                false
            }
            Err(_) => {
                self.note_if_missed(executor, &run, now);
                self.fail(executor, run, now);
                true
            }
        }
    }

    /// Counts the deadline of a run if it was missed.
    #[inline(always)]
    fn note_if_missed(&mut self, executor: &Shared, run: &Run, now: Instant) {
        if run.activation.deadline < now {
            self.leftovers.note_miss(executor, &self.scheduler, &run.callback.label, &run.activation, now);
        }
    }

    /// Gives back a run and ends its activation. Removes the entity if its source has ended and nothing of it is under
    /// way any more.
    #[inline(always)]
    fn end(&mut self, run: Run, now: Instant) {
        let Run { activation, callback } = run;
        if self.end_activation(&activation, callback, now) {
            self.remove_if_over(activation.entity);
        }
    }

    /// Gives back a callback with its payload, and ends its activation. Returns true if the entity's source has ended.
    #[inline(always)]
    pub(crate) fn end_activation(&mut self, activation: &Activation, callback: Box<Callback>, now: Instant) -> bool {
        let pending = callback.cx.pending;
        // The scheduler is called last: its policy and trace may be user code and panic.
        let is_closing = self.give_back(activation, callback, false).is_closing;
        // Items that arrived while it ran were released already, and must not count as older than the items that were
        // left. So the entity is released before the activation ends.
        let mut is_released = false;
        let ended = catch_unwind(AssertUnwindSafe(|| {
            self.release_pending(activation.entity, pending, now);
            is_released = true;
            self.scheduler.complete(now, activation);
        }));
        if ended.is_err() {
            self.end_after_panic(activation, is_released, is_closing, now);
        }
        self.end_orphan(activation);
        if let Err(panic) = ended {
            resume_unwind(panic);
        }
        is_closing
    }

    /// Does what is left of the end of an activation after a policy or a trace panicked, at the release or later. The
    /// activation ends nevertheless, since its group must be free, and the entity goes if its source has ended.
    #[cold]
    fn end_after_panic(&mut self, activation: &Activation, is_released: bool, is_closing: bool, now: Instant) {
        if !is_released {
            contain(|| self.scheduler.complete(now, activation));
        }
        if is_closing {
            contain(|| self.remove_if_over(activation.entity));
        }
    }

    /// Suspends the activation of a run whose callback waits, or resumes it if its waker was called already.
    fn suspend(&mut self, run: Run, now: Instant) {
        let Run { activation, callback } = run;
        let pending = callback.cx.pending;
        let is_woken = self.give_back(&activation, callback, true).is_woken;
        let released = catch_unwind(AssertUnwindSafe(|| self.release_pending(activation.entity, pending, now)));
        let suspended = catch_unwind(AssertUnwindSafe(|| self.scheduler.suspend(now, &activation)));
        self.end_orphan(&activation);
        // A wake-up counts also if a policy or a trace has panicked: nobody tells of it again.
        if is_woken {
            self.scheduler.resume(now, activation.entity, activation.sequence);
        } else {
            self.note_suspended(&activation, now);
        }
        if let Err(panic) = released.and(suspended) {
            resume_unwind(panic);
        }
    }

    /// Gives the callback of an activation and the payload of its group back to their places, or puts them among the
    /// leftovers if the entity or the group was removed meanwhile.
    #[inline(always)]
    fn give_back(&mut self, activation: &Activation, mut callback: Box<Callback>, is_suspended: bool) -> GivenBack {
        if let Some(payload) = callback.payload.take() {
            match self.group_mut(activation.group) {
                Some(group) => group.payload = Some(payload),
                None => self.leftovers.garbage.push(payload),
            }
        }
        let Some(entity) = self.entity_mut(activation.entity) else {
            if is_suspended {
                callback.label.losses.add(LossCause::Cancelled, 1);
            }
            self.drop_later(callback);
            return GivenBack { is_woken: false, is_closing: false };
        };
        let is_closing = entity.closing;
        let slot = &mut entity.slots[callback.slot];
        let is_woken = slot.woken;
        if is_suspended {
            slot.suspend(callback);
        } else {
            slot.end(callback);
        }
        GivenBack { is_woken, is_closing }
    }

    /// Releases an entity whose source has left something.
    #[inline(always)]
    pub(crate) fn release_pending(&mut self, id: EntityId, pending: Pending, now: Instant) {
        if let Some(release) = pending.since(|| now) {
            self.scheduler.release(release, id);
        }
    }
}

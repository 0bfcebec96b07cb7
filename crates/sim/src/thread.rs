//! The actions of an executor's thread between two callbacks: the engine's `Spin::step`, in virtual time.

use std::time::Duration;

use rospin_core::{Activation, ClockKind, Instant};

use crate::agenda::Happening;
use crate::driver::Driver;
use crate::event::What;
use crate::locks;
use crate::outcome::Run;
use crate::system::{Executor, Item, Phase, Progress, Spin, Work};

impl Driver<'_> {
    /// Completes the activation of a thread whose callback ended. The thread then asks for work.
    pub(crate) fn hand_back(&mut self, thread: usize) {
        if !matches!(self.threads[thread].phase, Phase::Ended(_)) {
            return;
        }
        let phase = std::mem::replace(&mut self.threads[thread].phase, Phase::Picking);
        let Phase::Ended(work) = phase else {
            return;
        };
        let executor = self.threads[thread].executor;
        self.drain(executor);
        let last = self.is_last_segment(&work);
        let Work { callback, activation, item, pending, .. } = work;
        let scheduler = &mut self.executors[executor].scheduler;
        // This precedes the completion. Messages that arrived during the run are released already, and must not count
        // as older than those that were left.
        if let Some(arrival) = pending {
            scheduler.release(arrival, activation.entity);
        }
        if last {
            scheduler.complete(self.now, &activation);
        } else {
            scheduler.suspend(self.now, &activation);
        }
        self.fetch(executor);
        if last {
            self.count_run(callback, executor, &item);
        } else {
            let place = activation.segment as usize;
            self.callbacks[callback].suspended.push((activation.sequence, item));
            if let Some(port) = self.ports[callback].get(place).copied().flatten() {
                self.request(port, callback, activation.sequence);
            } else {
                let wait = self.callbacks[callback].awaits[place].0.draw();
                let awaited = Happening::Awaited(self.now.as_nanos(), callback, activation.sequence);
                self.agenda.push(self.now + wait, awaited);
            }
        }
    }

    /// Records the end of an activation: a run, or one more activation that found no message.
    fn count_run(&mut self, callback: usize, executor: usize, item: &Item) {
        if item.taken {
            let Item { release, start, thread, .. } = *item;
            self.runs.push(Run { callback, executor, thread, release, start, end: self.now });
        } else {
            self.tallies[callback].empty += 1;
        }
    }

    /// Lets every thread that has a core and no callback pick, in the order of their numbers.
    pub(crate) fn pick_in_turn(&mut self) {
        loop {
            self.place();
            let picking = |thread: &usize| matches!(self.threads[*thread].phase, Phase::Picking);
            let Some(thread) = self.cpu.on_cores().filter(picking).min() else {
                return;
            };
            self.pick(thread);
        }
    }

    /// Gives the thread something to run, or parks or stops it.
    fn pick(&mut self, thread: usize) {
        let executor = self.threads[thread].executor;
        self.unpark(thread, executor);
        self.drain(executor);
        if self.executors[executor].spin == Spin::Halted {
            self.stop(thread, executor);
            return;
        }
        let now = self.now;
        let scheduler = &mut self.executors[executor].scheduler;
        for clock in [ClockKind::System, ClockKind::Ros] {
            if scheduler.has_timers(clock) {
                scheduler.advance(clock, self.clocks.read(clock, now), now);
            }
        }
        let picked = scheduler.next(now, self.threads[thread].index);
        self.fetch(executor);
        match picked {
            Some(activation) => {
                self.start(thread, executor, activation);
                if self.others_are_needed(executor) {
                    self.wake_one(executor);
                }
            }
            None => self.park(thread, executor),
        }
    }

    /// Takes the item of an activation, and starts to run.
    fn start(&mut self, thread: usize, executor: usize, activation: Activation) {
        let number = self.executors[executor].callbacks[activation.entity.index()];
        let mut pending = None;
        let (item, run) = if activation.segment > 0 {
            let callback = &mut self.callbacks[number];
            let run = callback.awaits[activation.segment as usize - 1].1.draw();
            let at = callback.suspended.iter().position(|(sequence, _)| *sequence == activation.sequence);
            let item = at.map(|at| callback.suspended.swap_remove(at).1);
            (item.unwrap_or_else(|| self.new_item(thread, activation.release)), run)
        } else {
            let item = self.take(thread, number, &activation);
            pending = self.callbacks[number].queue.front().map(|message| message.arrival);
            let run = if item.taken { self.draw_execution(number) } else { Duration::ZERO };
            (item, run)
        };
        if self.callbacks[number].tells_of_more
            && let Some(arrival) = pending.take()
        {
            self.notify(number, arrival);
        }
        let sections: &[_] = if item.taken { &self.callbacks[number].sections } else { &[] };
        let (run, steps) = locks::steps(sections, run);
        let work = Work { callback: number, activation, item, pending, steps };
        self.threads[thread].phase = Phase::Running(work, Progress::EndsAt(self.now + run));
    }

    /// Returns the item of an activation that starts now. It has no message yet.
    fn new_item(&self, thread: usize, release: Instant) -> Item {
        let thread = self.threads[thread].index;
        Item { release, arrival: release, start: self.now, thread, origins: Vec::new(), taken: true, number: 0 }
    }

    /// Takes the item of a new activation. A timer has nothing to take; for others, the item says if there was a
    /// message.
    fn take(&mut self, thread: usize, number: usize, activation: &Activation) -> Item {
        let mut item = self.new_item(thread, activation.release);
        let callback = &mut self.callbacks[number];
        item.number = callback.starts;
        if callback.is_timer {
            callback.starts += 1;
            return item;
        }
        let message = callback.queue.pop_front();
        callback.starts += usize::from(message.is_some());
        let displaced = if message.is_some() { callback.displaced.take() } else { None };
        let executor = callback.executor;
        self.emit(executor, What::Took(number, message.as_ref().map(|message| message.arrival)));
        match message {
            Some(message) => {
                item.arrival = message.arrival;
                item.release = displaced.unwrap_or(message.arrival);
                item.origins = message.origins;
            }
            None => item.taken = false,
        }
        item
    }

    /// Returns the execution time of the callback's first segment, with the overrun if the fault strikes.
    fn draw_execution(&mut self, number: usize) -> Duration {
        let callback = &mut self.callbacks[number];
        let mut run = callback.execution.draw();
        if let Some((probability, extra, stream)) = &mut callback.overrun
            && stream.chance(*probability)
        {
            run += *extra;
        }
        run
    }

    /// Parks the thread. One parked thread watches the timers, so that the others can stay asleep.
    fn park(&mut self, thread: usize, executor: usize) {
        let due = self.next_due(executor);
        let watch = &mut self.executors[executor].watch;
        let watches = watch.is_none_or(|(_, until)| due.is_some_and(|due| due < until));
        let until = if watches { due } else { None };
        if watches {
            *watch = due.map(|due| (thread, due));
        }
        self.executors[executor].parked.push_back(thread);
        self.threads[thread].phase = Phase::Parked(until.unwrap_or(Instant::MAX));
        self.leave_core(thread, executor);
        self.emit(executor, What::Parked(thread));
    }

    /// Marks the thread as not parked.
    fn unpark(&mut self, thread: usize, executor: usize) {
        let executor = &mut self.executors[executor];
        executor.parked.retain(|parked| *parked != thread);
        executor.watch = executor.watch.filter(|(watcher, _)| *watcher != thread);
    }

    /// Stops the thread. With the last thread of the executor, the spin returns.
    fn stop(&mut self, thread: usize, executor: usize) {
        self.threads[thread].phase = Phase::Off;
        self.leave_core(thread, executor);
        self.emit(executor, What::Parked(thread));
        let mut others = self.threads[self.executors[executor].threads.clone()].iter();
        if others.all(|thread| matches!(thread.phase, Phase::Off)) {
            self.executors[executor].spin = Spin::Returned;
            self.emit(executor, What::SpinReturned);
        }
    }

    /// Takes the thread off its core, if it has one; it is not runnable any more.
    pub(crate) fn leave_core(&mut self, thread: usize, executor: usize) {
        if let Some(core) = self.cpu.remove(thread) {
            self.emit(executor, What::Displaced(thread, core));
        }
    }

    /// Returns true if a parked thread is needed: there is more to run, or no parked thread watches the next timer.
    fn others_are_needed(&self, executor: usize) -> bool {
        let Executor { scheduler, parked, watch, .. } = &self.executors[executor];
        let unwatched = |due| watch.is_none_or(|(_, until)| due < until);
        !parked.is_empty() && (scheduler.has_candidates() || self.next_due(executor).is_some_and(unwatched))
    }
}

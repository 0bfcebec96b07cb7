//! Locks with priority inheritance that callbacks take while they run.

use std::time::Duration;

use crate::driver::Driver;
use crate::event::What;
use crate::system::{Lock, Phase, Progress, Step, Work};

/// Returns the lock operations of a callback that runs for `run`: the time until the first one, and the operations in
/// reverse order. A section is a lock, the execution time before it, and the execution time in it.
pub(crate) fn steps(sections: &[(usize, Duration, Duration)], run: Duration) -> (Duration, Vec<Step>) {
    // Each entry is a time, a lock, and true if the lock is taken then. Sections that would start after the callback's
    // end are left out. Locks that it still holds at its end are released there.
    let reached = sections.iter().filter(|(_, after, _)| *after < run);
    let marks: Vec<(Duration, usize, bool)> = reached
        .flat_map(|(lock, after, hold)| [(*after, *lock, true), ((*after + *hold).min(run), *lock, false)])
        .collect();
    let ends = marks.iter().skip(1).map(|(at, ..)| *at).chain(std::iter::once(run));
    let mut steps: Vec<Step> = marks
        .iter()
        .zip(ends)
        .map(|((at, lock, takes), end)| Step { lock: *lock, takes: *takes, then: end - *at })
        .collect();
    steps.reverse();
    (marks.first().map_or(run, |(at, ..)| *at), steps)
}

impl Driver<'_> {
    /// Executes a thread's next lock operation. The callback continues, or waits for the lock.
    pub(crate) fn step(&mut self, thread: usize, work: Work, step: Step) {
        let Step { lock, takes, then } = step;
        let executor = self.threads[thread].executor;
        if !takes {
            self.give_back(thread, lock);
        } else if self.locks[lock].owner.is_some() {
            self.locks[lock].waiting.push(thread);
            self.threads[thread].phase = Phase::Blocked(work, then);
            self.leave_core(thread, executor);
            self.emit(executor, What::Blocked(thread, lock));
            self.inherit(lock);
            return;
        } else {
            self.locks[lock].owner = Some(thread);
            self.emit(executor, What::Locked(thread, lock));
        }
        self.threads[thread].phase = Phase::Running(work, Progress::EndsAt(self.now + then));
    }

    /// Passes the lock to the most urgent waiting thread; among equal ones, to the first.
    fn give_back(&mut self, thread: usize, lock: usize) {
        let executor = self.threads[thread].executor;
        self.locks[lock].owner = None;
        self.emit(executor, What::Unlocked(thread, lock));
        self.cpu.set_priority(thread, self.executors[executor].os_priority);
        let urgency = |thread: &usize| self.executors[self.threads[*thread].executor].os_priority;
        let waiting = &self.locks[lock].waiting;
        let Some(most) = waiting.iter().map(urgency).max() else { return };
        let Some(place) = waiting.iter().position(|thread| urgency(thread) == most) else { return };
        let next = self.locks[lock].waiting.remove(place);
        let Lock { owner, .. } = &mut self.locks[lock];
        *owner = Some(next);
        let phase = std::mem::replace(&mut self.threads[next].phase, Phase::Off);
        if let Phase::Blocked(work, then) = phase {
            // The thread continues as soon as it has a core.
            self.threads[next].phase = Phase::Running(work, Progress::Left(then));
        }
        let executor = self.threads[next].executor;
        self.emit(executor, What::Locked(next, lock));
        self.cpu.add(next, self.executors[executor].os_priority, self.executors[executor].affinity);
        self.inherit(lock);
    }

    /// Raises the priority of a lock's owner to that of the most urgent thread that waits for the lock.
    fn inherit(&mut self, lock: usize) {
        let Some(owner) = self.locks[lock].owner else { return };
        let urgency = |thread: usize| self.executors[self.threads[thread].executor].os_priority;
        let waiting = self.locks[lock].waiting.iter().map(|thread| urgency(*thread)).max();
        self.cpu.set_priority(owner, waiting.unwrap_or(0).max(urgency(owner)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_end_with_the_callback() {
        let us = Duration::from_micros;
        let sections = [(0, us(2), us(3)), (1, us(5), us(4))];
        let of = |run| {
            let (first, steps) = steps(&sections, us(run));
            let steps: Vec<_> = steps.iter().rev().map(|step| (step.lock, step.takes, step.then.as_micros())).collect();
            (first.as_micros(), steps)
        };
        assert_eq!(of(10), (2, vec![(0, true, 3), (0, false, 0), (1, true, 4), (1, false, 1)]));
        assert_eq!(of(6), (2, vec![(0, true, 3), (0, false, 0), (1, true, 1), (1, false, 0)]));
        assert_eq!(of(2), (2, vec![]));
    }
}

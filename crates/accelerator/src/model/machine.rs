//! The model device as a state machine: no clock, no thread.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use rospin_core::{Instant, Priority};

use super::{ModelOptions, ModelWork};
use crate::backend::{Ended, SegmentFailure};

/// A segment that has ended.
pub struct Finished {
    /// The number of the lane.
    pub lane: usize,
    /// The ticket of the launch.
    pub ticket: u64,
    /// The time of the end.
    pub at: Instant,
    /// The time for which it kept engines busy.
    pub busy: Duration,
    /// The result.
    pub result: Result<(), SegmentFailure>,
    /// The function that [`ModelWork::then`] set, which is called at the end of the work; `None` if none was set.
    pub effect: Option<Box<dyn FnOnce() + Send>>,
}

impl Finished {
    /// Calls the function that the work asked for, and returns the report of the end. A panic makes the segment fail.
    /// The caller must hold no locks, since the function is the user's.
    #[must_use]
    pub fn report(self) -> Ended {
        let Self { lane, ticket, at, busy, mut result, effect } = self;
        if let Some(effect) = effect
            && catch_unwind(AssertUnwindSafe(effect)).is_err()
        {
            result = Err(SegmentFailure("the function at the segment's end panicked".to_owned()));
        }
        Ended { lane, ticket, at, busy, result }
    }
}

/// The kinds of engines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Engine {
    Copy,
    Compute,
}

/// Number of phases of a segment: copy in, kernel, copy out.
const PHASES: usize = 3;

/// Segment on a lane.
struct Job {
    ticket: u64,
    priority: Priority,
    work: ModelWork,
    /// The number of the phase: copy in, kernel, copy out.
    phase: usize,
    /// Time for which it has kept engines busy.
    busy: Duration,
    /// The part of the kernel that has run.
    computed: Duration,
    /// The place of the present phase among those that were ready, from its first block on.
    sequence: u64,
}

impl Job {
    /// Returns the engine that the present phase takes, and the time for which it takes it without a break.
    fn phase(&self) -> (Engine, Duration) {
        match self.phase {
            0 => (Engine::Copy, self.work.copy_in),
            1 => (Engine::Compute, self.block()),
            _ => (Engine::Copy, self.work.copy_out),
        }
    }

    /// Returns the length of the kernel's next block.
    fn block(&self) -> Duration {
        let left = self.work.kernel - self.computed;
        if self.work.block.is_zero() { left } else { left.min(self.work.block) }
    }
}

/// An engine's queue: the phases that wait, and the number of engines that are free.
struct Engines {
    free: usize,
    /// Phases that wait: priority, number in the order in which they were ready, and lane. The most urgent one comes
    /// first, then the one that was ready first.
    waiting: BinaryHeap<(Priority, Reverse<u64>, usize)>,
}

/// A model device without a clock. Time moves by [`step`](Self::step). A lane is a queue of segments, which run one
/// after the other, as on a CUDA stream.
pub struct Machine {
    now: Instant,
    lanes: Vec<VecDeque<Job>>,
    copies: Engines,
    computes: Engines,
    /// The phases that run: their end, a number that orders equal ends, and their lane.
    ends: BinaryHeap<Reverse<(Instant, u64, usize)>>,
    finished: VecDeque<Finished>,
    /// Counter of phases, which breaks ties.
    sequence: u64,
}

impl Machine {
    /// Creates an idle device at time zero.
    #[must_use]
    pub fn new(options: ModelOptions) -> Self {
        let engines = |free| Engines { free, waiting: BinaryHeap::new() };
        Self {
            now: Instant::ZERO,
            lanes: (0..options.lanes).map(|_| VecDeque::new()).collect(),
            copies: engines(options.copy_engines),
            computes: engines(options.compute_engines),
            ends: BinaryHeap::new(),
            finished: VecDeque::new(),
            sequence: 0,
        }
    }

    /// Returns the number of lanes.
    #[must_use]
    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// Appends a segment to a lane at the time `now`, which is not earlier than the last step. Returns false, and drops
    /// the work, if there is no such lane. Ends until `now` are kept for the next step.
    pub fn submit(&mut self, now: Instant, lane: usize, ticket: u64, priority: Priority, work: ModelWork) -> bool {
        while self.end_next(now) {}
        self.now = self.now.max(now);
        let Some(queue) = self.lanes.get_mut(lane) else {
            return false;
        };
        let zero = Duration::ZERO;
        queue.push_back(Job { ticket, priority, work, phase: 0, busy: zero, computed: zero, sequence: 0 });
        if queue.len() == 1 {
            self.begin_phase(lane);
            self.assign();
        }
        true
    }

    /// Returns the time of the next step; `None` if nothing runs.
    #[must_use]
    pub fn next_step(&self) -> Option<Instant> {
        if !self.finished.is_empty() {
            return Some(self.now);
        }
        self.ends.peek().map(|Reverse((at, _, _))| *at)
    }

    /// Moves time on to the next end of a segment, and returns that end. Moves it to `until` and returns `None` if none
    /// ends by then.
    pub fn step(&mut self, until: Instant) -> Option<Finished> {
        loop {
            if let Some(finished) = self.finished.pop_front() {
                return Some(finished);
            }
            if !self.end_next(until) {
                return None;
            }
        }
    }

    /// Ends the phase that ends first, if its end is not after `until`. Returns false if there is no such phase.
    fn end_next(&mut self, until: Instant) -> bool {
        let Some(Reverse((at, _, lane))) = self.ends.peek().copied().filter(|Reverse((at, _, _))| *at <= until) else {
            return false;
        };
        self.ends.pop();
        self.now = self.now.max(at);
        self.end_phase(lane);
        self.assign();
        true
    }

    /// Removes all segments without ending them, because the device is lost. Returns their work.
    pub fn clear(&mut self) -> Vec<ModelWork> {
        self.ends.clear();
        self.finished.clear();
        self.copies.waiting.clear();
        self.computes.waiting.clear();
        self.lanes.iter_mut().flat_map(|lane| lane.drain(..)).map(|job| job.work).collect()
    }

    /// Makes the lane's first segment wait for the engine of its next phase that takes time, or ends it.
    fn begin_phase(&mut self, lane: usize) {
        loop {
            let Some(job) = self.lanes[lane].front_mut() else { return };
            while job.phase < PHASES && job.phase().1.is_zero() {
                job.phase += 1;
            }
            if job.phase < PHASES {
                job.sequence = self.sequence;
                self.sequence += 1;
                self.await_engine(lane);
                return;
            }
            if let Some(job) = self.lanes[lane].pop_front() {
                self.finished.push_back(Finished {
                    lane,
                    ticket: job.ticket,
                    at: self.now,
                    busy: job.busy,
                    result: job.work.failure.map_or(Ok(()), |reason| Err(SegmentFailure(reason))),
                    effect: job.work.effect,
                });
            }
        }
    }

    /// Ends the phase of the lane's first segment, and begins the next one.
    fn end_phase(&mut self, lane: usize) {
        let Some(job) = self.lanes[lane].front_mut() else { return };
        let (engine, length) = job.phase();
        job.busy += length;
        if engine == Engine::Compute {
            job.computed += length;
        }
        let has_more_blocks = engine == Engine::Compute && job.computed < job.work.kernel;
        if !has_more_blocks {
            job.phase += 1;
        }
        self.engines(engine).free += 1;
        if has_more_blocks {
            self.await_engine(lane);
        } else {
            self.begin_phase(lane);
        }
    }

    /// Makes the lane's first segment wait for the engine of its present phase.
    fn await_engine(&mut self, lane: usize) {
        let Some(job) = self.lanes[lane].front() else { return };
        let entry = (job.priority, Reverse(job.sequence), lane);
        let engine = job.phase().0;
        self.engines(engine).waiting.push(entry);
    }

    /// Gives free engines to the phases that wait.
    fn assign(&mut self) {
        for engine in [Engine::Copy, Engine::Compute] {
            while self.engines(engine).free > 0
                && let Some((_, _, lane)) = self.engines(engine).waiting.pop()
            {
                self.engines(engine).free -= 1;
                let length = self.lanes[lane].front().map_or(Duration::ZERO, |job| job.phase().1);
                self.ends.push(Reverse((self.now + length, self.sequence, lane)));
                self.sequence += 1;
            }
        }
    }

    /// Returns the engines of a kind.
    const fn engines(&mut self, engine: Engine) -> &mut Engines {
        match engine {
            Engine::Copy => &mut self.copies,
            Engine::Compute => &mut self.computes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn ends(machine: &mut Machine) -> Vec<(u64, u64)> {
        std::iter::from_fn(|| machine.step(Instant::MAX))
            .map(|end| (end.ticket, end.at.as_nanos() / 1_000_000))
            .collect()
    }

    #[test]
    fn copies_of_one_lane_overlap_kernels_of_another() {
        let mut machine = Machine::new(ModelOptions::new().lanes(2));
        let work = || ModelWork::kernel(ms(4)).copies(ms(2), ms(1));
        assert!(machine.submit(Instant::ZERO, 0, 1, Priority(0), work()));
        assert!(machine.submit(Instant::ZERO, 1, 2, Priority(0), work()));
        // Copies at 0..2 and 2..4, kernels at 2..6 and 6..10, copies back at 6..7 and 10..11.
        assert_eq!(ends(&mut machine), [(1, 7), (2, 11)]);
    }

    #[test]
    fn an_engine_takes_the_most_urgent_lane_first_and_preempts_nothing() {
        let mut machine = Machine::new(ModelOptions::new().lanes(3));
        for (lane, priority) in [(0, 1), (1, 1), (2, 9)] {
            assert!(machine.submit(Instant::ZERO, lane, lane as u64, Priority(priority), ModelWork::kernel(ms(3))));
        }
        assert_eq!(ends(&mut machine), [(0, 3), (2, 6), (1, 9)]);
    }

    #[test]
    fn a_kernel_is_preempted_between_its_blocks_and_keeps_its_place_before_others() {
        let mut machine = Machine::new(ModelOptions::new().lanes(3));
        let blocks = ModelWork::kernel(ms(7)).blocks(ms(2));
        assert!(machine.submit(Instant::ZERO, 0, 0, Priority(1), blocks));
        assert!(machine.submit(Instant::ZERO, 1, 1, Priority(1), ModelWork::kernel(ms(3))));
        assert!(machine.submit(Instant::from_millis(3), 2, 2, Priority(9), ModelWork::kernel(ms(1))));
        // Blocks at 0..2 and 2..4, the urgent one at 4..5, the rest at 5..8, and only then the other kernel.
        assert_eq!(ends(&mut machine), [(2, 5), (0, 8), (1, 11)]);
    }

    #[test]
    fn segments_of_one_lane_run_in_order_even_those_of_no_length() {
        let mut machine = Machine::new(ModelOptions::new());
        for ticket in 0..3 {
            assert!(machine.submit(Instant::ZERO, 0, ticket, Priority(0), ModelWork::kernel(Duration::ZERO)));
        }
        assert!(!machine.submit(Instant::ZERO, 1, 9, Priority(0), ModelWork::kernel(ms(1))));
        assert_eq!(ends(&mut machine), [(0, 0), (1, 0), (2, 0)]);
    }
}

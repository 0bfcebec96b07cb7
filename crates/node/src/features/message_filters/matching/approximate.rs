//! Approximate time: the algorithm of ROS's `ApproximateTime`, which finds the sets of the least span, with a
//! [penalty](Limits::age_penalty) on later ends.
//!
//! Once each input has a message, the latest of the oldest messages is the *pivot*. The next set contains the pivot: a
//! set without it would contain a later message of the same input, and leave out the pivot and all that could go with
//! it. The search begins with the set of the oldest message of each input. Then it passes the oldest message of this
//! set, and looks at the set of the oldest messages that it has not passed, and so on. Each of these sets ends no
//! earlier than the ones before, so the search is over when even a set that began at the pivot would not be better.
//!
//! The best set so far always consists of the first message of each queue, because older messages are dropped when it
//! is found. So it needs no memory of its own. The end of a search means that the next one begins with the first
//! message of each queue.

use std::collections::VecDeque;

use super::{Matching, Set};

/// The limits of a search.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// The number of messages that are held of each input at most.
    pub(crate) queue_size: usize,
    /// The penalty on sets that end later: the end counts `1 + age_penalty` times. Not negative.
    pub(crate) age_penalty: f64,
    /// The longest span of a set.
    pub(crate) max_interval_ns: i64,
    /// The least time between two messages, by input. It lets sets be decided earlier, and changes none.
    pub(crate) lower_bounds_ns: Vec<i64>,
}

/// The messages of an input that wait for others.
#[derive(Debug)]
struct Queue<T> {
    /// With their stamps, in the order of their arrival.
    messages: VecDeque<(i64, T)>,
    /// The number of messages at the front that the search has passed.
    passed: usize,
    /// True if the full queue dropped a message that might have been in a better set than the messages that are left.
    has_dropped: bool,
}

impl<T> Queue<T> {
    /// Returns the stamp of the oldest message that the search has not passed.
    fn head(&self) -> Option<i64> {
        self.messages.get(self.passed).map(|(stamp, _)| *stamp)
    }
}

/// The best set so far. Its messages are the first of each queue.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    start: i64,
    end: i64,
    /// The input of the pivot, and its stamp.
    pivot: usize,
    pivot_time: i64,
}

/// The first and the last of a number of stamps, one of each input, with their inputs.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: i64,
    first: usize,
    end: i64,
    last: usize,
}

impl Span {
    /// Returns the span of these stamps, of which there is at least one. Of equal stamps, that of the first input
    /// counts as earlier.
    fn of(stamps: impl Iterator<Item = i64>) -> Option<Self> {
        let mut span: Option<Self> = None;
        for (input, stamp) in stamps.enumerate() {
            let span = span.get_or_insert(Self { start: stamp, first: input, end: stamp, last: input });
            if stamp < span.start {
                (span.start, span.first) = (stamp, input);
            }
            if stamp >= span.end {
                (span.end, span.last) = (stamp, input);
            }
        }
        span
    }
}

/// The factor `1 + age_penalty`, exactly: `mantissa / 2^shift`.
#[derive(Clone, Copy, Debug)]
struct Penalty {
    mantissa: i128,
    shift: u32,
}

impl Penalty {
    /// Converts a penalty. One above a million counts as a million.
    fn new(age_penalty: f64) -> Self {
        // At least 1 and less than 2^20, so the exponent's bias is in this range.
        let bits = (1.0 + age_penalty.clamp(0.0, 1e6)).to_bits();
        let exponent = (bits >> 52) as u32 - 1023;
        Self { mantissa: i128::from(bits & ((1 << 52) - 1) | 1 << 52), shift: 52 - exponent }
    }

    /// Returns true if `later`, penalized, is at least `other`. Differences of stamps fit 64 bits, so nothing
    /// overflows.
    fn outweighs(self, later: i128, other: i128) -> bool {
        later * self.mantissa >= other << self.shift
    }
}

/// A search for the next set, over the messages that wait.
#[derive(Debug)]
pub(crate) struct Approximate<T> {
    queues: Vec<Queue<T>>,
    candidate: Option<Candidate>,
    limits: Limits,
    penalty: Penalty,
}

impl<T> Approximate<T> {
    /// Creates the matching, with an input for each of the lower bounds, of which there must be at least one.
    pub(crate) fn new(limits: Limits) -> Self {
        let queue = |_: &i64| Queue { messages: VecDeque::new(), passed: 0, has_dropped: false };
        let queues = limits.lower_bounds_ns.iter().map(queue).collect();
        Self { queues, candidate: None, penalty: Penalty::new(limits.age_penalty), limits }
    }

    /// Drops the oldest message of an input, and appends it to `decided` as an incomplete set.
    fn drop_first(&mut self, input: usize, decided: &mut Vec<Set<T>>) {
        let inputs = self.queues.len();
        let first = self.queues[input].messages.pop_front();
        decided.extend(first.map(|(_, message)| super::alone(inputs, input, message)));
    }

    /// Ends the search: the next one begins with the oldest message of each input.
    fn look_again(&mut self) {
        for queue in &mut self.queues {
            queue.passed = 0;
        }
        self.candidate = None;
    }

    /// Searches until an input has no more messages that the search has not passed.
    fn search(&mut self, decided: &mut Vec<Set<T>>) {
        while let Some(span) = self.heads() {
            for (input, queue) in self.queues.iter_mut().enumerate() {
                // A message that this input dropped was older than its message here, which is not the latest of this
                // set. So the dropped message would have been in no better set.
                queue.has_dropped &= input == span.last;
            }
            let candidate = match self.candidate {
                None if i128::from(span.end) - i128::from(span.start) > i128::from(self.limits.max_interval_ns)
                    || self.queues[span.last].has_dropped =>
                {
                    // Either the span is too long for a set, or the set may not be the best one: a message that was
                    // dropped may have been the pivot.
                    self.drop_first(span.first, decided);
                    continue;
                }
                None => self.choose(
                    Candidate { start: span.start, end: span.end, pivot: span.last, pivot_time: span.end },
                    decided,
                ),
                Some(best) if self.is_no_better(best, span.end, span.start) => best,
                Some(best) => self.choose(Candidate { start: span.start, end: span.end, ..best }, decided),
            };
            self.queues[span.first].passed += 1;
            // The sets that are left reach at least from the pivot to the end of this one. Those that begin after the
            // pivot do not contain it.
            let is_best = span.first == candidate.pivot
                || self.is_no_better(candidate, span.end, candidate.pivot_time)
                || self.heads().is_none() && self.is_provably_best(candidate);
            if is_best {
                self.finish(decided);
            }
        }
    }

    /// Returns the span of the oldest messages that the search has not passed, if each input has one.
    fn heads(&self) -> Option<Span> {
        if self.queues.iter().any(|queue| queue.head().is_none()) {
            return None;
        }
        Span::of(self.queues.iter().filter_map(Queue::head))
    }

    /// Returns true if a set with that end and that start is not better than `best`.
    fn is_no_better(&self, best: Candidate, end: i64, start: i64) -> bool {
        self.penalty.outweighs(i128::from(end) - i128::from(best.end), i128::from(start) - i128::from(best.start))
    }

    /// Makes the oldest messages that the search has not passed the best set so far. Those before them will be in no
    /// set.
    fn choose(&mut self, candidate: Candidate, decided: &mut Vec<Set<T>>) -> Candidate {
        for input in 0..self.queues.len() {
            for _ in 0..std::mem::take(&mut self.queues[input].passed) {
                self.drop_first(input, decided);
            }
        }
        *self.candidate.insert(candidate)
    }

    /// Returns true if no message that is still to come can be in a better set, given the least time between messages.
    ///
    /// Goes on with the search as if each input without messages had one at the earliest time that is possible.
    fn is_provably_best(&self, best: Candidate) -> bool {
        let mut passed: Vec<_> = self.queues.iter().map(|queue| queue.passed).collect();
        loop {
            let stamp =
                |(input, queue): (usize, &Queue<T>)| match (queue.messages.get(passed[input]), queue.messages.back()) {
                    (Some((stamp, _)), _) => *stamp,
                    (None, Some((last, _))) => {
                        last.saturating_add(self.limits.lower_bounds_ns[input]).max(best.pivot_time)
                    }
                    // Cannot happen while there is a candidate, because each queue has a message of it.
                    (None, None) => best.pivot_time,
                };
            let Some(span) = Span::of(self.queues.iter().enumerate().map(stamp)) else { return false };
            if self.is_no_better(best, span.end, best.pivot_time) {
                return true;
            }
            if !self.is_no_better(best, span.end, span.start) || span.start >= best.pivot_time {
                return false;
            }
            passed[span.first] += 1;
        }
    }

    /// Takes the best set out of the queues.
    fn finish(&mut self, decided: &mut Vec<Set<T>>) {
        self.look_again();
        let set = self.queues.iter_mut().map(|queue| queue.messages.pop_front().map(|(_, message)| message));
        decided.push(set.collect());
    }
}

impl<T: Send> Matching<T> for Approximate<T> {
    fn add(&mut self, input: usize, stamp_ns: i64, message: T, decided: &mut Vec<Set<T>>) {
        let queue = &mut self.queues[input];
        let was_passed = queue.head().is_none();
        queue.messages.push_back((stamp_ns, message));
        if was_passed {
            self.search(decided);
        }
        if self.queues[input].messages.len() > self.limits.queue_size {
            let had_candidate = self.candidate.is_some();
            self.look_again();
            self.drop_first(input, decided);
            self.queues[input].has_dropped = true;
            if had_candidate {
                self.search(decided);
            }
        }
    }

    fn clear(&mut self, decided: &mut Vec<Set<T>>) {
        self.look_again();
        for input in 0..self.queues.len() {
            self.queues[input].has_dropped = false;
            while !self.queues[input].messages.is_empty() {
                self.drop_first(input, decided);
            }
        }
    }

    fn held(&self) -> usize {
        self.queues.iter().map(|queue| queue.messages.len()).sum()
    }
}

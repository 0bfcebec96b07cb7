//! The busy-window equation that all analyses of one processor share.
//!
//! The abstract response-time analysis of Bozhko and Brandenburg (ECRTS 2020): for each offset of a release within the
//! longest busy window, first the time by which the job has started, then the time by which it has ended. The crate
//! `response-time-analysis` has the instances for a processor of its own and one policy; this one adds what it lacks:
//! several executors with OS priorities above an executor that does not preempt, a supply bound for every policy, and
//! the ready sets of the wait set by the counting argument of Blass et al. (RTSS 2021, Lemmas 8 and 16), with timers
//! inside or outside. The tests hold it against the crate wherever both apply.
//!
//! Theorems and proofs: `book/src/analysis/one-thread.md`.

use response_time_analysis::supply::{Dedicated, Periodic, SupplyBound};
use response_time_analysis::time::{Duration, Service};

use crate::arrivals::Arrivals;
use crate::budget::Budget;
use crate::overheads::Reservation;
use crate::search::Search;
use crate::system::{Executor, nanos};

/// Largest number of offsets that are examined one by one.
const OFFSETS_MAX: usize = 2_000;
/// Largest number of starts that a search remembers, from which others begin.
const STARTS_MAX: usize = 64;

/// Activations of another callback that run before the job under analysis, which is released at an offset A.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ahead {
    /// All activations that arrive until the job starts: they are more urgent, but do not preempt it.
    UntilStart,
    /// All activations that arrive until the job ends: they preempt it.
    UntilEnd,
    /// All activations that arrive until the job starts, and at most `lead` after its release. If the callback
    /// `overtakes`, also all activations that arrived before the release: they have run before the job was there.
    ByKey { lead: i64, overtakes: bool },
    /// All activations that arrived before the job's release, and at most this many more, because ready sets are served
    /// in rounds.
    Rounds(u64),
    /// All activations that arrived before the job's release: they run only while the job is not ready.
    BeforeRelease,
}

/// Other callback, or other work, that may run before the job under analysis.
#[derive(Clone, Debug)]
pub(crate) struct Interferer {
    pub(crate) arrivals: Arrivals,
    pub(crate) cost: u64,
    pub(crate) ahead: Ahead,
}

impl Interferer {
    /// Returns the time that its activations take before a job with this offset starts, if the job starts by `start`.
    pub(crate) fn before_start(&self, offset: u64, start: u64) -> u64 {
        let count = match self.ahead {
            Ahead::UntilStart | Ahead::UntilEnd => self.arrivals.number(start),
            Ahead::ByKey { lead, overtakes } => {
                let until = (offset + 1).saturating_add_signed(lead).min(start);
                self.arrivals.number(if overtakes { until.max(offset.min(start)) } else { until })
            }
            Ahead::Rounds(more) => self.arrivals.number(start).min(self.arrivals.number(offset) + more),
            Ahead::BeforeRelease => self.arrivals.number(offset.min(start)),
        };
        count.saturating_mul(self.cost)
    }

    fn demand(&self, length: u64) -> u64 {
        self.arrivals.number(length).saturating_mul(self.cost)
    }

    /// Returns the first offset after this one from which on more of its activations run before the job.
    pub(crate) fn next_offset(&self, offset: u64) -> Option<u64> {
        match self.ahead {
            Ahead::UntilStart | Ahead::UntilEnd => None,
            Ahead::ByKey { lead, overtakes } => {
                let known = (offset + 1).saturating_add_signed(lead);
                let step = self.arrivals.next_step(known);
                let by_key = step.map(|step| (step - 1).saturating_add_signed(-lead).max(offset + 1));
                let before = self.arrivals.next_step(offset).filter(|_| overtakes);
                by_key.into_iter().chain(before).min()
            }
            Ahead::Rounds(_) | Ahead::BeforeRelease => self.arrivals.next_step(offset),
        }
    }
}

/// Less urgent activation that may have begun just before the busy window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocker {
    pub(crate) cost: u64,
    /// Only jobs with a smaller offset than this are more urgent than the blocker.
    pub(crate) below: u64,
}

impl Blocker {
    /// Returns the blockers that are the longest ones at some offset, which leads to the same blocking as all of them.
    pub(crate) fn longest(mut all: Vec<Self>) -> Vec<Self> {
        all.sort_by_key(|blocker| std::cmp::Reverse((blocker.below, blocker.cost)));
        let mut longest: Vec<Self> = Vec::new();
        for blocker in all {
            if longest.last().is_none_or(|last| blocker.cost > last.cost) {
                longest.push(blocker);
            }
        }
        longest
    }
}

/// Processor time that is available to an executor: all of it, or that of a reservation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Supply {
    Whole(Dedicated),
    Reserved(Periodic),
}

impl Supply {
    /// Returns the processor time that is available to an executor.
    pub(crate) fn of(executor: &Executor) -> Self {
        match executor.reservation {
            Some(Reservation { budget, period }) => {
                Self::Reserved(Periodic::new(Service::from(nanos(budget)), Duration::from(nanos(period))))
            }
            None => Self::Whole(Dedicated::new()),
        }
    }
}

impl SupplyBound for Supply {
    fn provided_service(&self, delta: Duration) -> Service {
        match self {
            Self::Whole(supply) => supply.provided_service(delta),
            Self::Reserved(supply) => supply.provided_service(delta),
        }
    }

    fn service_time(&self, demand: Service) -> Duration {
        match self {
            Self::Whole(supply) => supply.service_time(demand),
            Self::Reserved(supply) => supply.service_time(demand),
        }
    }
}

/// Callback, and all work that may delay it.
#[derive(Clone, Debug)]
pub(crate) struct Window<'a> {
    /// Arrivals of the callback.
    pub(crate) own: &'a Arrivals,
    /// Execution time of one activation of the callback.
    pub(crate) cost: u64,
    pub(crate) interferers: Vec<Interferer>,
    pub(crate) blockers: Vec<Blocker>,
    pub(crate) supply: Supply,
    pub(crate) limit: u64,
    pub(crate) budget: &'a Budget,
    /// A bound up to this one need not be exact, since only a longer one is asked for. Zero asks for the exact bound.
    pub(crate) enough: u64,
}

impl Window<'_> {
    /// Returns the longest time from release to end; `None` if it is beyond the limit.
    pub(crate) fn bound(&self) -> Option<u64> {
        let last = self.longest()?.max(1) - 1;
        // Offsets from which on a blocker no longer blocks. Between two of them, a later release has a later end.
        let mut cuts: Vec<u64> = self.blockers.iter().map(|blocker| blocker.below).collect();
        cuts.retain(|cut| (1..=last).contains(cut));
        cuts.sort_unstable();
        cuts.dedup();
        let from = std::iter::once(0).chain(cuts.iter().copied());
        let to = cuts.iter().map(|cut| cut - 1).chain(std::iter::once(last));
        let search = Search { budget: self.budget, stretches: from.zip(to).collect(), enough: self.enough };
        // With the same blocking, starts grow with the offset. So the start at a smaller offset is where a search can
        // begin.
        let mut known: Vec<(u64, u64, u64)> = Vec::new();
        let end = |offset: u64| {
            let stretch = cuts.partition_point(|cut| *cut <= offset) as u64;
            let before = |(place, at, _): &&(u64, u64, u64)| *place == stretch && *at <= offset;
            let begun = known.iter().filter(before).map(|(_, _, start)| *start).max().unwrap_or(1);
            let (start, end) = self.at(offset, begun)?;
            if known.len() < STARTS_MAX {
                known.push((stretch, offset, start));
            }
            Some(end)
        };
        search.longest(end, |offset| self.next_offset(offset))
    }

    /// Returns the bound of a callback that is released once in a window, by the end of its releaser, which runs when
    /// the window begins and takes the time `releaser`. All of that time is counted into the window: a shorter part
    /// leaves less time for others to arrive.
    pub(crate) fn after(&self, releaser: u64) -> Option<u64> {
        let blockers = vec![Blocker { cost: releaser, below: u64::MAX }];
        let (_, end) = Window { blockers, ..self.clone() }.at(releaser, 1)?;
        Some(end.saturating_sub(releaser))
    }

    /// Returns the offsets of the first and the last release that can end later than `due` after it; (0, 0) if every
    /// release ends in time, and `None` if a release has no bound. Between two offsets at which something changes,
    /// releases end no later than the one at the first of the two, because only the blocking changes, and decreases.
    pub(crate) fn late(&self, due: u64) -> Option<(u64, u64)> {
        let length = self.longest()?;
        let (mut offset, mut found) = (0, None);
        for _ in 0..OFFSETS_MAX {
            let (_, end) = self.at(offset, 1)?;
            let next = self.next_offset(offset).unwrap_or(u64::MAX).min(length.max(1));
            if end > offset.saturating_add(due) {
                let last = (next - 1).min(end - due - 1);
                found = Some((found.map_or(offset, |(first, _)| first), last));
            }
            if next >= length {
                return found.or(Some((0, 0)));
            }
            offset = next;
        }
        // There are too many offsets to look at each of them.
        Some((found.map_or(0, |(first, _)| first), length - 1))
    }

    /// Returns the cost of a look at all arrivals, in units of the budget.
    fn weight(&self) -> u64 {
        self.own.weight() + self.interferers.iter().map(|other| other.arrivals.weight()).sum::<u64>()
    }

    /// Returns the first offset after this one at which more work runs before the job.
    fn next_offset(&self, offset: u64) -> Option<u64> {
        self.budget.spend(self.weight());
        let own = self.own.next_step(offset + 1).map(|step| step - 1);
        self.interferers.iter().filter_map(|other| other.next_offset(offset)).chain(own).min()
    }

    /// Returns the length of the longest busy window: everything that arrives in it is done by its end. `None` if it is
    /// beyond the limit.
    fn longest(&self) -> Option<u64> {
        let blocking = self.blockers.iter().map(|blocker| blocker.cost).max().unwrap_or(0);
        let all = || {
            let others = self.interferers.iter().map(|other| (&other.arrivals, other.cost));
            others.chain(std::iter::once((self.own, self.cost)))
        };
        let start = at_least(blocking, all());
        self.fixed_point(start, |length| {
            let work = all().map(|(arrivals, cost)| arrivals.number(length).saturating_mul(cost));
            work.fold(blocking, u64::saturating_add)
        })
    }

    /// Returns the times by which the job that is released at `offset` has started, which is not before `begun`, and
    /// has ended. `None` if one of them is beyond the limit.
    fn at(&self, offset: u64, begun: u64) -> Option<(u64, u64)> {
        let blockers = self.blockers.iter().filter(|blocker| offset < blocker.below);
        let blocking = blockers.map(|blocker| blocker.cost).max().unwrap_or(0);
        let own = self.own.number(offset + 1).max(1).saturating_mul(self.cost);
        let always = |other: &&Interferer| matches!(other.ahead, Ahead::UntilStart | Ahead::UntilEnd);
        let steady = self.interferers.iter().filter(always).map(|other| (&other.arrivals, other.cost));
        // The job has started when its first nanosecond has run.
        let first = blocking.saturating_add(own - self.cost + 1);
        let begin = begun.max(at_least(first, steady));
        let start = self.fixed_point(begin, |start| {
            self.interferers.iter().fold(first, |sum, other| sum.saturating_add(other.before_start(offset, start)))
        })?;
        let (mut fixed, mut preempts) = (blocking.saturating_add(own), false);
        for other in &self.interferers {
            match other.ahead {
                Ahead::UntilEnd => preempts = true,
                _ => fixed = fixed.saturating_add(other.before_start(offset, start)),
            }
        }
        if !preempts && matches!(self.supply, Supply::Whole(_)) {
            return Some((start, fixed)).filter(|_| fixed <= self.limit);
        }
        let preempting = || self.interferers.iter().filter(|other| other.ahead == Ahead::UntilEnd);
        let begin = at_least(fixed, preempting().map(|other| (&other.arrivals, other.cost)));
        let end = self.fixed_point(begin.max(start), |end| {
            preempting().fold(fixed, |sum, other| sum.saturating_add(other.demand(end)))
        })?;
        Some((start, end))
    }

    fn fixed_point(&self, start: u64, demand: impl Fn(u64) -> u64) -> Option<u64> {
        self.budget.fixed_point(&self.supply, self.limit, start, self.weight(), demand)
    }
}

/// Returns a length that no busy window is below, in which the work `fixed` is there at the beginning, and `work`
/// arrives: curves with the cost of each activation. The work is never below a line, and a division tells the length at
/// which this line has been served (after Sjödin and Hansson, RTSS 1998).
pub(crate) fn at_least<'a>(fixed: u64, work: impl Iterator<Item = (&'a Arrivals, u64)>) -> u64 {
    let (mut rate, mut first) = (0.0, fixed as f64);
    for (arrivals, cost) in work {
        let (slope, begin) = arrivals.at_least();
        rate += slope * cost as f64;
        first += begin * cost as f64;
    }
    // The result is reduced by more than rounding can have added. From load 1 on, the divisor would be zero or
    // negative.
    if rate < 0.999_999 { ((first / (1.0 - rate)) * (1.0 - 1e-6)) as u64 } else { 1 }
}

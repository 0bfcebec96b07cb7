//! The busy-window equation that all analyses of one processor share.
//!
//! The abstract response-time analysis of Bozhko and Brandenburg (ECRTS 2020): for each offset of a release within the
//! longest busy window, first the time by which the job has started, then the time by which it has ended. The crate
//! `response-time-analysis` has the instances for a processor of its own and one policy; this one adds what it lacks:
//! several executors with OS priorities above an executor that does not preempt, a supply bound for every policy, and the
//! ready sets of the wait set by the counting argument of Blass et al. (RTSS 2021, Lemmas 8 and 16), with timers inside or
//! outside. The tests hold it against the crate wherever both apply.

use response_time_analysis::fixed_point;
use response_time_analysis::supply::{Dedicated, Periodic, SupplyBound};
use response_time_analysis::time::{Duration, Offset, Service};

use crate::arrivals::Arrivals;

/// As many offsets are looked at; a busy window with more is given up.
const OFFSETS_MAX: usize = 200_000;

/// Which activations of another callback run before the job under analysis, which is released at an offset A.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ahead {
    /// What arrives until the job starts: more urgent, but does not preempt.
    UntilStart,
    /// What arrives until the job ends: preempts.
    UntilEnd,
    /// What arrives until the job starts and no later than `lead` after it; what arrived before it as well if it
    /// `overtakes`, having run before the job was there.
    ByKey { lead: i64, overtakes: bool },
    /// What arrived before it, and at most so many more: ready sets are served once around.
    Rounds(u64),
    /// What arrived before it: runs only while the job is not there.
    BeforeRelease,
}

#[derive(Clone, Debug)]
pub(crate) struct Interferer {
    pub(crate) arrivals: Arrivals,
    pub(crate) cost: u64,
    pub(crate) ahead: Ahead,
}

impl Interferer {
    /// How much of it runs before a job with this offset starts, if that is by `start`.
    fn before_start(&self, offset: u64, start: u64) -> u64 {
        let count = match self.ahead {
            Ahead::UntilStart | Ahead::UntilEnd => self.arrivals.number(start),
            Ahead::ByKey { lead, overtakes } => {
                let until = (offset + 1).saturating_add_signed(lead).min(start);
                self.arrivals.number(if overtakes { until.max(offset.min(start)) } else { until })
            }
            Ahead::Rounds(more) => self.arrivals.number(start).min(self.arrivals.number(offset) + more),
            Ahead::BeforeRelease => self.arrivals.number(offset.min(start)),
        };
        count * self.cost
    }

    /// The offsets, below `limit`, from which on more of it runs before.
    fn offsets(&self, limit: u64) -> Box<dyn Iterator<Item = u64> + '_> {
        match self.ahead {
            Ahead::UntilStart | Ahead::UntilEnd => Box::new(std::iter::empty()),
            Ahead::ByKey { lead, overtakes } => {
                let last = limit.saturating_add_signed(lead).saturating_add(1);
                let by_key = self.arrivals.steps(last).map(move |step| (step - 1).saturating_add_signed(-lead));
                let before = self.arrivals.steps(if overtakes { limit } else { 0 });
                Box::new(by_key.chain(before))
            }
            Ahead::Rounds(_) | Ahead::BeforeRelease => Box::new(self.arrivals.steps(limit)),
        }
    }
}

/// What is less urgent and may have begun just before the busy window does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocker {
    pub(crate) cost: u64,
    /// It is less urgent than jobs with a smaller offset only.
    pub(crate) below: u64,
}

/// What processor time there is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Supply {
    Whole(Dedicated),
    Reserved(Periodic),
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

/// A callback and all that may delay it.
#[derive(Clone, Debug)]
pub(crate) struct Window<'a> {
    pub(crate) own: &'a Arrivals,
    pub(crate) cost: u64,
    pub(crate) interferers: Vec<Interferer>,
    pub(crate) blockers: Vec<Blocker>,
    pub(crate) supply: Supply,
    pub(crate) limit: u64,
}

impl Window<'_> {
    /// The longest time from release to end, `None` if there is none below the limit.
    pub(crate) fn bound(&self) -> Option<u64> {
        let length = self.longest()?;
        let mut offsets = vec![0];
        offsets.extend(self.own.steps(length).map(|step| step - 1));
        for interferer in &self.interferers {
            offsets.extend(interferer.offsets(length).take(OFFSETS_MAX + 1));
        }
        offsets.retain(|offset| *offset < length);
        offsets.sort_unstable();
        offsets.dedup();
        if offsets.len() > OFFSETS_MAX {
            return None;
        }
        offsets.into_iter().try_fold(0, |longest, offset| Some(longest.max(self.at(offset)?)))
    }

    /// The same for a callback that is released once in a window, by the end of what runs when it begins, for so long. A
    /// shorter part of that in the window leaves less time for others to arrive.
    pub(crate) fn after(&self, releaser: u64) -> Option<u64> {
        let blockers = vec![Blocker { cost: releaser, below: u64::MAX }];
        Window { blockers, ..self.clone() }.at(releaser)
    }

    /// The longest busy window: everything that arrives in it is done by its end.
    fn longest(&self) -> Option<u64> {
        let blocking = self.blockers.iter().map(|blocker| blocker.cost).max().unwrap_or(0);
        self.fixed_point(|length| {
            let others: u64 = self.interferers.iter().map(|other| other.arrivals.number(length) * other.cost).sum();
            blocking + self.own.number(length) * self.cost + others
        })
    }

    /// Response time of the job that is released at this offset.
    fn at(&self, offset: u64) -> Option<u64> {
        let blockers = self.blockers.iter().filter(|blocker| offset < blocker.below);
        let blocking = blockers.map(|blocker| blocker.cost).max().unwrap_or(0);
        let own = self.own.number(offset + 1).max(1) * self.cost;
        let before = |other: &Interferer, start| other.before_start(offset, start);
        // It has started when it has had the first nanosecond.
        let start = self.fixed_point(|start| {
            let others: u64 = self.interferers.iter().map(|other| before(other, start)).sum();
            blocking + own - self.cost + 1 + others
        })?;
        let (preempting, others): (Vec<_>, Vec<_>) =
            self.interferers.iter().partition(|other| other.ahead == Ahead::UntilEnd);
        let fixed = blocking + own + others.iter().map(|other| before(other, start)).sum::<u64>();
        let end = self.fixed_point(|end| {
            fixed + preempting.iter().map(|other| other.arrivals.number(end) * other.cost).sum::<u64>()
        })?;
        Some(end.saturating_sub(offset))
    }

    fn fixed_point(&self, demand: impl Fn(u64) -> u64) -> Option<u64> {
        let demand = |length: Duration| Service::from(demand(length.into()));
        let found = fixed_point::search_with_offset(&self.supply, Offset::from(0), Duration::from(self.limit), &demand);
        found.ok().map(u64::from)
    }
}

//! Margins under EDF and first in, first out, by the demand of intervals: one condition for the deadlines of all
//! callbacks together.
//!
//! Let every callback of an executor have a deadline, or come after all that have one. All deadlines hold if in each
//! interval of a length t no more work is released and due than there is time for, after the longest activation that is
//! due later and had begun before: B(t) + the sum of N(t - D + 1) C is at most t. For suppose that an activation ends
//! later than its due time d. Take the last time before at which nothing was left that is due by d. From then until d
//! the thread only runs what is released since and due by d, and what had begun before, which is due later than t after
//! that time, so its deadline is longer than t. Since the activation has not ended at d, that is more than t. An
//! interval from there on is shorter than the busy window, so longer ones need no look. (George, Rivierre and Spuri,
//! INRIA 2966, 1996; with arrival curves in place of periods.)
//!
//! First in, first out is EDF with one deadline for all, the shortest: an activation ends once all is done that was
//! released no later. Nothing comes later and runs first, so nothing blocks.
//!
//! Lengths are looked at from the longest one downwards (Zhang and Burns, "Schedulability analysis for real-time
//! systems with EDF scheduling", IEEE Transactions on Computers 2009): where the work of t is x, all lengths from x to
//! t have time for theirs, as long as the blocking is the same. A margin is found by cuts: at a length without time
//! enough, the callback is made shorter, or rarer, until there is enough. Lengths above stay good, because less work is
//! due in each of them. So one way down finds the margin.
//!
//! The margins of all callbacks share the lengths at which one of them was cut: what is due there of all others is known
//! then, so the next callback is cut there at once, before its own way down. It ends nearly where it began, and has far
//! fewer steps than one from a load that leaves no time.
//!
//! Theorems and proofs: `book/src/analysis/one-thread.md`.

use response_time_analysis::supply::Dedicated;
use rospin_scenario::Scenario;

use crate::arrivals::Arrivals;
use crate::budget::Budget;
use crate::system::{Policy, System, nanos};
use crate::window::{Supply, at_least};

/// Share of the thread's time that stays free: with less, the busy window is longer than the longest bound of interest.
const REST: f64 = 0.004;
/// Inverse of the least part by which a period is made longer in a step.
const PRECISION: u64 = 4_096;
/// Largest factor by which a callback is made longer or more frequent.
const FACTOR_MAX: u64 = 64;
/// Largest number of lengths that are kept for the margins of other callbacks.
const LOOKS_MAX: usize = 2_000;

/// Callback as its demand sees it. Times are in nanoseconds.
#[derive(Clone, Debug)]
struct Part {
    arrivals: Arrivals,
    cost: u64,
    /// Time that it may still run when something is released that is due earlier.
    blocking: u64,
    /// Deadline from the release; `None` if it comes after all that have one.
    due: Option<u64>,
}

impl Part {
    /// Returns the work that is released and due in an interval of this length.
    fn demand(&self, length: u64) -> u64 {
        let number = |due: u64| self.arrivals.number((length + 1).saturating_sub(due));
        self.due.map_or(0, number).saturating_mul(self.cost)
    }

    /// Returns the work that is released and due in an interval of this length, and the largest length up to this one
    /// at which more of it is due, or a longer one up to this; `None` if none is.
    fn last_due(&self, length: u64) -> Option<(u64, u64)> {
        let due = self.due.filter(|due| *due <= length)?;
        let Arrivals::Repeated { gap, jitter, burst } = self.arrivals else {
            return Some((self.demand(length), length));
        };
        let periods = (length - due + jitter) / gap;
        let number = (periods + 1).saturating_mul(burst);
        Some((number.saturating_mul(self.cost), (due + periods * gap).saturating_sub(jitter).max(due)))
    }

    /// Returns how long it delays what is due after `length`.
    fn blocks(&self, length: u64) -> u64 {
        if self.due.is_none_or(|due| due > length) { self.blocking } else { 0 }
    }

    fn load(&self) -> f64 {
        self.arrivals.rate() * self.cost as f64
    }
}

/// Work that is due in an interval of some length.
#[derive(Clone, Copy, Debug)]
struct Look {
    length: u64,
    work: u64,
    /// The longest times for which parts that had begun before delay it, with the places of those parts, the longest
    /// one first.
    blockers: [(u64, usize); 2],
    /// Number of parts of which something is due.
    due: usize,
}

/// Work of all callbacks but one that is due in an interval of some length.
#[derive(Clone, Copy, Debug)]
struct Others {
    length: u64,
    work: u64,
    /// Longest time for which one that had begun before delays it.
    blocking: u64,
    /// True if something is due.
    is_due: bool,
}

/// Demand of the callbacks of an executor under EDF.
pub(crate) struct Demand<'a> {
    parts: Vec<Part>,
    /// Lengths at which a callback was cut, with what is due there of all callbacks as they are.
    looks: Vec<Look>,
    /// Cost of a look at all arrivals.
    weight: u64,
    /// Nanoseconds by which blocking is shorter than an activation; more than an activation takes if nothing blocks.
    begun: u64,
    /// Deadlines by which the callbacks are judged if one deadline, the shortest of these, is that of all.
    judged: Option<Vec<Option<u64>>>,
    budget: &'a Budget,
    limit: u64,
}

impl<'a> Demand<'a> {
    /// Returns the demand of the executor's callbacks; `None` unless it is alone on its core, under EDF with one
    /// thread, with callbacks that do not wait and are judged by the deadlines that order them.
    pub(crate) fn of(scenario: &Scenario, system: &System, executor: usize, budget: &'a Budget) -> Option<Self> {
        let own = &system.executors[executor];
        let by_release = own.policy == Policy::Fifo;
        let is_plain = (by_release || own.policy == Policy::Edf)
            && own.threads == 1
            && own.reservation.is_none()
            && system.receive == 0
            && !system.moves(executor)
            && system.neighbours(executor).next().is_none()
            && !own.callbacks.iter().any(|callback| system.callbacks[*callback].is_async());
        let is_judged = |callback: &usize| {
            let plan = &system.callbacks[*callback];
            let chains = scenario.chains.iter().filter(|chain| chain.callbacks.contains(&plan.name));
            let shortest = chains.filter_map(|chain| chain.deadline).map(nanos).min();
            (by_release || plan.due == plan.deadline)
                && shortest.is_none_or(|limit| plan.due.is_some_and(|due| due <= limit))
        };
        if !is_plain || !own.callbacks.iter().all(is_judged) {
            return None;
        }
        let part = |callback: &usize| {
            let plan = &system.callbacks[*callback];
            let blocking = system.blocking(*callback);
            Part { arrivals: plan.source.clone(), cost: plan.cost(), blocking, due: plan.due }
        };
        let parts: Vec<Part> = own.callbacks.iter().map(part).collect();
        let begun = if by_release { u64::MAX } else { parts.first().map_or(0, |first| first.cost - first.blocking) };
        let judged = by_release.then(|| parts.iter().map(|part| part.due).collect());
        let weight = parts.iter().map(|part| part.arrivals.weight()).sum();
        let mut demand = Self { parts, looks: Vec::new(), weight, begun, judged, budget, limit: system.limit };
        for place in 0..demand.parts.len() {
            demand.set_cost(place, demand.parts[place].cost);
        }
        demand.share_deadline();
        Some(demand)
    }

    /// Returns true if all deadlines are found to hold.
    pub(crate) fn holds(&mut self) -> bool {
        self.cut(|_, _| None).is_some()
    }

    /// Gives all parts the shortest deadline, if they have one together.
    fn share_deadline(&mut self) {
        if let Some(judged) = &self.judged {
            let shortest = judged.iter().flatten().min().copied();
            self.parts.iter_mut().for_each(|part| part.due = shortest);
        }
    }

    /// Returns the longest execution time of the callback at this place with which all deadlines hold, up to 64 times
    /// the present one; `None` if none was found within the budget.
    pub(crate) fn longest(&mut self, place: usize) -> Option<u64> {
        let before = self.parts[place].clone();
        let most = (before.cost as f64 * self.room(place)?).min((before.cost * FACTOR_MAX) as f64) as u64;
        self.set_cost(place, most);
        let mut lengths = Vec::new();
        let found = self.shorten_at_known(&before, place, |demand, look| demand.shorten(place, look)).and_then(|()| {
            self.cut(|demand, at| {
                lengths.push(at);
                let look = demand.look(at);
                let others = demand.others(&look, place, &demand.parts[place]);
                demand.shorten(place, others)
            })
        });
        let cost = self.parts[place].cost;
        self.parts[place] = before;
        self.keep(lengths);
        found.map(|()| cost)
    }

    /// Makes the callback at this place short enough for an interval; `None` if it cannot be.
    fn shorten(&mut self, place: usize, others: Others) -> Option<()> {
        let Others { length, work, blocking, .. } = others;
        let left = length.checked_sub(work + blocking)?;
        let part = &self.parts[place];
        let number = part.due.map_or(0, |due| part.arrivals.number((length + 1).saturating_sub(due)));
        // It is part of the work that is due, or it had begun before.
        let had_begun = (length - work).saturating_add(self.begun);
        let cost = left.checked_div(number).unwrap_or(had_begun);
        self.set_cost(place, cost.min(part.cost - 1));
        (cost > 0).then_some(())
    }

    /// Returns the shortest time between two releases of the callback at this place with which all deadlines hold, down
    /// to a 64th of the present one; `None` if none was found within the budget. `moves` is true if the callback's
    /// deadline is its period, and changes with it.
    pub(crate) fn densest(&mut self, place: usize, moves: bool) -> Option<u64> {
        let before = self.parts[place].clone();
        let Arrivals::Repeated { gap, .. } = before.arrivals else { return None };
        let least = ((gap as f64 / self.room(place)?).ceil() as u64).max(gap.div_ceil(FACTOR_MAX)).max(1);
        self.set_gap(place, least, moves);
        let mut lengths = Vec::new();
        // With one deadline for all that moves, what is due of the others moves, too.
        let is_alone = !moves || self.judged.is_none();
        let known = if is_alone {
            self.shorten_at_known(&before, place, |demand, look| demand.widen(place, moves, |_| look))
        } else {
            Some(())
        };
        let found = known.and_then(|()| {
            self.cut(|demand, at| {
                lengths.push(at);
                let others = demand.others(&demand.look(at), place, &demand.parts[place]);
                if is_alone {
                    return demand.widen(place, moves, |_| others);
                }
                demand.widen(place, moves, |demand| demand.others(&demand.look(at), place, &demand.parts[place]))
            })
        });
        let found = found.map(|()| self.gap(place));
        self.set_gap(place, gap, moves);
        if is_alone {
            self.keep(lengths);
        }
        found
    }

    /// Makes the callback at this place rare enough for an interval, of which `others` is what is due of the others;
    /// `None` if it cannot be.
    fn widen(&mut self, place: usize, moves: bool, others: impl Fn(&Self) -> Others) -> Option<()> {
        let fits = |demand: &mut Self, gap: u64| {
            demand.set_gap(place, gap, moves);
            let Others { length, work, blocking, is_due } = others(demand);
            let part = &demand.parts[place];
            let is_due = is_due || part.due.is_some_and(|due| due <= length);
            !is_due || work + part.demand(length) + blocking.max(part.blocks(length)) <= length
        };
        let mut bad = self.gap(place);
        // A deadline that moves a little beyond this interval may fail in one that is a little longer. So steps are
        // not tiny.
        let least = bad + bad / PRECISION + 1;
        let mut good = least;
        while !fits(self, good) {
            bad = good;
            good = (good * 2).min(self.limit);
            if bad == self.limit {
                return None;
            }
        }
        while good > least && good - bad > 1 {
            let middle = bad + (good - bad) / 2;
            if fits(self, middle) { good = middle } else { bad = middle }
        }
        self.set_gap(place, good.max(least), moves);
        Some(())
    }

    /// Changes the callback at this place, which was `before`, until the lengths at which others were cut have time for
    /// what is due in them. `None` if that is not possible.
    fn shorten_at_known(
        &mut self,
        before: &Part,
        place: usize,
        mut shorten: impl FnMut(&mut Self, Others) -> Option<()>,
    ) -> Option<()> {
        self.budget.spend(2 * self.looks.len() as u64);
        for number in 0..self.looks.len() {
            let look = self.looks[number];
            let others = self.others(&look, place, before);
            while !self.has_time(place, others) {
                shorten(self, others)?;
            }
        }
        Some(())
    }

    /// Returns true if an interval has time for what is due of the callback at this place, and of the others.
    fn has_time(&self, place: usize, others: Others) -> bool {
        let Others { length, work, blocking, is_due } = others;
        let part = &self.parts[place];
        let is_due = is_due || part.due.is_some_and(|due| due <= length);
        !is_due || work + part.demand(length) + blocking.max(part.blocks(length)) <= length
    }

    /// Keeps what is due at lengths at which a callback was cut, with all callbacks as they are.
    fn keep(&mut self, lengths: Vec<u64>) {
        for length in lengths {
            if self.looks.len() < LOOKS_MAX && self.looks.iter().all(|look| look.length != length) {
                self.budget.spend(self.weight);
                let look = self.look(length);
                self.looks.push(look);
            }
        }
    }

    /// Returns what is due in an interval of this length.
    fn look(&self, length: u64) -> Look {
        let mut look = Look { length, work: 0, blockers: [(0, usize::MAX); 2], due: 0 };
        for (place, part) in self.parts.iter().enumerate() {
            look.work += part.demand(length);
            look.due += usize::from(part.due.is_some_and(|due| due <= length));
            let blocks = part.blocks(length);
            if blocks > look.blockers[0].0 {
                look.blockers = [(blocks, place), look.blockers[0]];
            } else if blocks > look.blockers[1].0 {
                look.blockers[1] = (blocks, place);
            }
        }
        look
    }

    /// Returns what is due of all callbacks but the one at this place, which is `part` in the look.
    fn others(&self, look: &Look, place: usize, part: &Part) -> Others {
        let blocking = if look.blockers[0].1 == place { look.blockers[1].0 } else { look.blockers[0].0 };
        let is_due = look.due > usize::from(part.due.is_some_and(|due| due <= look.length));
        Others { length: look.length, work: look.work - part.demand(look.length), blocking, is_due }
    }

    /// Returns the factor by which the load of the callback at this place can change before the thread has hardly any
    /// time left; `None` if the others leave none.
    fn room(&self, place: usize) -> Option<f64> {
        let own = self.parts[place].load();
        let rest = self.parts.iter().map(Part::load).sum::<f64>() - own;
        let left = 1.0 - rest - REST;
        (left > 0.0).then(|| if own > 0.0 { left / own } else { f64::MAX })
    }

    /// Goes from the longest interval of interest downwards. At each that is asked for more time than it has, `shorten`
    /// changes the parts so that it is not. `None` if that is not possible, or the work ran out.
    fn cut(&mut self, mut shorten: impl FnMut(&mut Self, u64) -> Option<()>) -> Option<()> {
        let mut at = self.horizon().or_else(|| self.window(self.weight))?;
        loop {
            self.budget.spend(self.weight);
            if self.budget.is_spent() {
                return None;
            }
            // From the last due time on, no more work is due, and nothing begins to block: the shortest length has the
            // least time.
            let (mut work, mut last, mut blocking) = (0, None, 0);
            for part in &self.parts {
                match part.last_due(at) {
                    Some((demand, due)) => {
                        work += demand;
                        last = last.max(Some(due));
                    }
                    None => blocking = part.blocking.max(blocking),
                }
            }
            let Some(due) = last else { return Some(()) };
            let top = std::mem::replace(&mut at, due);
            if work + blocking > at {
                shorten(self, at)?;
                // With other due times, the shortest length that matters may be a longer one.
                at = top;
                continue;
            }
            // Below this length, something with a shorter deadline blocks for longer.
            let higher = self.parts.iter().filter(|part| part.blocking > blocking).filter_map(|part| part.due);
            let step = higher.filter(|due| *due <= at).max().map_or(0, |due| due - 1);
            let Some(below) = at.checked_sub(1) else { return Some(()) };
            at = below.min((work + blocking).max(step));
        }
    }

    /// Returns the length of the longest busy window; `None` if it has no bound. `weight` is the cost of a look at all
    /// arrivals.
    fn window(&self, weight: u64) -> Option<u64> {
        let blocking = self.parts.iter().map(|part| part.blocking).max().unwrap_or(0);
        let all = || self.parts.iter().map(|part| (&part.arrivals, part.cost));
        let supply = Supply::Whole(Dedicated::new());
        self.budget.fixed_point(&supply, self.limit, at_least(blocking, all()), weight, |length| {
            let work = all().map(|(arrivals, cost)| arrivals.number(length).saturating_mul(cost));
            work.fold(blocking, u64::saturating_add)
        })
    }

    /// Returns a length beyond which no interval is asked for more time than it has: there, the work that is due is
    /// below a line that grows more slowly than the interval, and nothing blocks that has a deadline. `None` for
    /// arrivals without a simple line.
    fn horizon(&self) -> Option<u64> {
        let load: f64 = self.parts.iter().map(Part::load).sum();
        let (mut longest, mut first, mut blocking) = (0, 0.0, 0);
        for part in &self.parts {
            let Some(due) = part.due else {
                blocking = blocking.max(part.blocking);
                continue;
            };
            let Arrivals::Repeated { gap, jitter, .. } = part.arrivals else { return None };
            longest = longest.max(due);
            first += part.load() * (gap + jitter).saturating_sub(due) as f64;
        }
        let line = (first + blocking as f64) / (1.0 - load).max(1e-9);
        Some(longest.max((line * (1.0 + 1e-6)) as u64 + 1))
    }

    fn set_cost(&mut self, place: usize, cost: u64) {
        self.parts[place].cost = cost;
        self.parts[place].blocking = cost.saturating_sub(self.begun);
    }

    fn gap(&self, place: usize) -> u64 {
        let Arrivals::Repeated { gap, .. } = self.parts[place].arrivals else { return 0 };
        gap
    }

    fn set_gap(&mut self, place: usize, gap: u64, moves: bool) {
        let part = &mut self.parts[place];
        if let Arrivals::Repeated { gap: known, .. } = &mut part.arrivals {
            *known = gap;
        }
        if moves {
            part.due = Some(gap);
            if let Some(judged) = &mut self.judged {
                judged[place] = Some(gap);
                self.share_deadline();
            }
        }
    }
}

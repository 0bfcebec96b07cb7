//! The cause of a delay or a loss: the assumption that was broken meanwhile, or else what ran.
//!
//! The cause is the assumption of the analysis that was broken in the busy period, if it explains half of the lateness;
//! else the longest share of the wait, by the rules of the report.

use std::collections::BTreeMap;

use super::judge::{Judge, Open};
use super::known::{Callback, Segment};
use super::violation::Cause;
use crate::waits::Reason;

/// The longest pause between two segments of a busy period, in nanoseconds: the executor picks the next callback
/// meanwhile.
const PAUSE: u64 = 20_000;

/// A cause, and the place of the callback that is the culprit.
type Found = (Cause, Option<usize>);
/// Nanoseconds by cause and culprit.
type Weights = BTreeMap<Found, u64>;

impl Judge {
    /// Returns the cause for which the activation took `lateness` longer than it may.
    pub(super) fn cause_of_delay(&self, open: &Open, at: u64, lateness: u64) -> Found {
        let executor = self.callbacks[open.callback].executor;
        let from = self.busy_since(executor, open.release);
        let mut weights = self.broken(executor, from, at);
        let mut shares = Weights::new();
        for &(from, to) in &open.waits {
            for (reason, culprit, ns) in self.shares(open, from, to) {
                let found = match reason {
                    Reason::Group => (Cause::Group, culprit),
                    Reason::Priority => (Cause::Priority, culprit),
                    Reason::Running | Reason::Order => (Cause::Running, culprit),
                    // Threads that sleep although there is something to run are an assumption that is broken.
                    Reason::Idle => {
                        add(&mut weights, (Cause::NotScheduled, None), ns);
                        continue;
                    }
                };
                add(&mut shares, found, ns);
            }
        }
        // The callback's own excess is no other callback's.
        let waited = open.waits.iter().map(|(from, to)| to.saturating_sub(*from)).fold(0, u64::saturating_add);
        let own = |of: &Found| of.1 == Some(open.callback) && matches!(of.0, Cause::RanTooLong | Cause::NotScheduled);
        let own_of = |cause| if cause == Cause::RanTooLong { (Cause::Itself, None) } else { (cause, None) };
        let mut broken = Weights::new();
        for (found, ns) in weights {
            // Others cost it at most the time that it waited.
            let (found, ns) = if own(&found) { (own_of(found.0), ns) } else { (found, ns.min(waited)) };
            add(&mut broken, found, ns);
        }
        if let Some((found, ns)) = largest(&broken)
            && ns.saturating_mul(2) >= lateness
        {
            return found;
        }
        match largest(&shares) {
            Some((found, ns)) if ns > open.execution => found,
            _ => (Cause::Itself, None),
        }
    }

    /// Returns the cause for which the queue of a callback was full.
    pub(super) fn cause_of_loss(&self, place: usize, at: u64) -> Found {
        let callback = &self.callbacks[place];
        let stated = callback.limit.as_ref().and_then(|limit| limit.depth);
        if stated.is_some_and(|stated| callback.depth < stated) {
            return (Cause::QueueTooShort, None);
        }
        let waiting = usize::try_from(callback.depth).unwrap_or(usize::MAX).saturating_add(1);
        let first = callback.arrivals.iter().rev().take(waiting).next_back().copied().unwrap_or(at);
        if let Some(found) = self.early(place, first) {
            return found;
        }
        let from = self.busy_since(callback.executor, first);
        let broken = self.broken(callback.executor, from, at);
        match largest(&broken) {
            Some((found, ns)) if ns.saturating_mul(10) >= at.saturating_sub(from) => match found {
                (Cause::RanTooLong, Some(culprit)) if culprit == place => (Cause::Itself, None),
                found => found,
            },
            _ => (Cause::QueueTooShort, None),
        }
    }

    /// Returns the broken assumption for which a chain took `lateness` longer than it may.
    pub(super) fn broken_assumption_of_chain(&self, chain: u32, from: u64, at: u64, lateness: u64) -> Option<Found> {
        let names = &self.limits.chains.get((chain as usize).checked_sub(1)?)?.callbacks;
        let mut executors: Vec<u16> =
            names.iter().filter_map(|name| self.names.get(name)).map(|place| self.callbacks[*place].executor).collect();
        executors.sort_unstable();
        executors.dedup();
        let mut all = Weights::new();
        for executor in executors.iter().copied() {
            for (found, ns) in self.broken(executor, self.busy_since(executor, from), at) {
                add(&mut all, found, ns);
            }
        }
        if let [only] = executors[..] {
            // A message of the chain waits all the time that the executor's thread does not run.
            let ran = self.segments(only, from, at).map(|of| of.end.min(at).saturating_sub(of.start.max(from)));
            let threads = self.executors.get(&only).map_or(1, |of| of.threads);
            let idle = at.saturating_sub(from).saturating_sub(ran.fold(0, u64::saturating_add));
            add(&mut all, (Cause::NotScheduled, None), if threads == 1 { idle } else { 0 });
        }
        largest(&all).filter(|(_, ns)| ns.saturating_mul(2) >= lateness).map(|(found, _)| found)
    }

    /// Returns the assumptions that were broken on the executor in that time, with the time that each of them cost.
    fn broken(&self, executor: u16, from: u64, at: u64) -> Weights {
        let mut weights = Weights::new();
        let mut times: BTreeMap<usize, u64> = BTreeMap::new();
        for segment in self.segments(executor, from, at) {
            let Segment { callback, excess, stall, .. } = segment;
            let time = times.entry(callback).or_default();
            *time = time.saturating_add(segment.end.min(at).saturating_sub(segment.start.max(from)));
            // Where the kernel did not run the thread for as long as the callback was too long, the callback is not to
            // blame.
            let (cause, ns) = if stall >= excess { (Cause::NotScheduled, stall) } else { (Cause::RanTooLong, excess) };
            if ns > 0 {
                add(&mut weights, (cause, Some(callback)), ns);
            }
        }
        for (callback, ns) in times {
            if let Some(found) = self.early(callback, from) {
                add(&mut weights, found, ns);
            }
        }
        weights
    }

    /// Returns the cause of an arrival that came too early and still had an effect at `since`: an arrival of the
    /// callback, or of a callback that publishes what it takes. `None` if there was none.
    fn early(&self, place: usize, since: u64) -> Option<Found> {
        let is_recent = |place: &usize| {
            self.callbacks[*place].early.is_some_and(|early| early.at.saturating_add(early.allowed) >= since)
        };
        if is_recent(&place) {
            let early = self.callbacks[place].early?;
            let is_own = early.cause == Cause::Itself;
            return Some(if is_own { (Cause::ArrivedTooOften, Some(place)) } else { (early.cause, early.culprit) });
        }
        let limit = self.callbacks[place].limit.as_ref()?;
        let mut publishers = limit.publishers.iter().filter_map(|name| self.names.get(name).copied());
        publishers.find(is_recent).map(|publisher| (Cause::ArrivedTooOften, Some(publisher)))
    }

    /// Returns the beginning of the executor's busy period that `from` is in; `from` itself if nothing ran right
    /// before.
    fn busy_since(&self, executor: u16, from: u64) -> u64 {
        let mut since = from;
        for segment in self.executors.get(&executor).iter().flat_map(|of| of.segments.iter().rev()) {
            if segment.end.saturating_add(PAUSE) < since {
                break;
            }
            since = since.min(segment.start);
        }
        since
    }

    /// Returns the segments of the executor that overlap that time, also those that have not ended.
    fn segments(&self, executor: u16, from: u64, to: u64) -> impl Iterator<Item = Segment> + '_ {
        let ended = self.executors.get(&executor).into_iter().flat_map(|of| of.segments.iter().copied());
        let running = self.running.values().filter(move |key| key.0 == executor).filter_map(move |key| {
            let open = self.open.get(key)?;
            let so_far = to.saturating_sub(open.segment_start);
            let limit = self.callbacks[open.callback].limit.as_ref().and_then(|limit| limit.execution_ns);
            let excess =
                limit.map_or(0, |limit| open.execution.saturating_add(so_far).saturating_sub(limit).min(so_far));
            Some(Segment { callback: open.callback, start: open.segment_start, end: to, excess, stall: 0 })
        });
        ended.chain(running).filter(move |segment| segment.start < to && segment.end > from)
    }

    /// Returns the parts of a wait of the activation from `from` to `to`.
    fn shares(&self, open: &Open, from: u64, to: u64) -> Vec<(Reason, Option<usize>, u64)> {
        let Callback { executor, entity, .. } = self.callbacks[open.callback];
        let mut shares = Vec::new();
        for (why, by, ns) in self.watch.shares((executor, entity), Some(open.sequence), from, to) {
            let culprit = by.and_then(|by| self.entities.get(&by).copied());
            shares.push((why, culprit, ns));
        }
        shares
    }
}

fn add(weights: &mut Weights, found: Found, ns: u64) {
    let weight = weights.entry(found).or_default();
    *weight = weight.saturating_add(ns);
}

fn largest(weights: &Weights) -> Option<(Found, u64)> {
    let (found, ns) = weights.iter().max_by_key(|(_, ns)| **ns)?;
    if *ns > 0 { Some((*found, *ns)) } else { None }
}

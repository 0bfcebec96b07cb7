//! End-to-end bounds, by compositional analysis: each callback's bound holds from the arrival of its message, with the
//! jitter that its predecessors give it, so along a chain the bounds add up. Chains inside one executor have smaller
//! bounds: see [`end_to_end`].
//!
//! A join adds the time that a message waits for those of the other topics.
//!
//! Reaction time and data age after Dürr et al. (CODES+ISSS 2019) and Günzel et al. (RTAS 2023): in a chain whose links
//! are events, only its start is sampled, so both are the latency and one longest gap between two starts.
//!
//! The same holds for data behind a join. Consider the message of a start, and that of the next start. The latter is
//! taken by the join within the time that a message waits at most, or newer ones have displaced it by then, and one of
//! those is taken. So the output is made from newer data by the latency of the next start.
//!
//! Theorems and proofs: `book/src/analysis/chains.md`.

use std::time::Duration;

use rospin_core::EntityKind;
use rospin_scenario::{Chain, Scenario};

use crate::busy::{self, Windows};
use crate::end_to_end;
use crate::known::{Known, Solution};
use crate::report::ChainBound;
use crate::system::{Pace, System};

/// Name of the analysis that adds up bounds along a chain.
const SUM: &str = "sum of the bounds along the chain (Henia et al. 2005)";
/// Name of the analysis of a chain inside an executor under fixed priorities.
const INSIDE: &str = "busy window of the chain's least urgent callback (after Choi et al. 2021)";

/// Returns how many messages may wait for a callback at once; `None` for timers, and if nothing is known.
///
/// A message waits until the callback starts. A callback that starts may take its longest time and ends within its
/// bound, so it starts by the bound less that time. All messages that wait at one time have come in an interval of that
/// length, with both of its ends.
pub(crate) fn backlog(system: &System, solution: &Solution, callback: usize) -> Option<u64> {
    let plan = &system.callbacks[callback];
    if plan.kind == EntityKind::Timer {
        return None;
    }
    let bound = solution.found[callback].bound?;
    // With overheads, a part of the execution time is over before the message is taken. A join's messages wait for
    // those of others.
    let taken = if system.has_overheads || plan.is_join() { 0 } else { plan.cost().saturating_sub(1) };
    let by_rate = solution.arrivals[callback].as_ref()?.number(bound.saturating_sub(taken).max(1));
    Some(end_to_end::backlog(system, callback).map_or(by_rate, |inside| inside.min(by_rate)))
}

/// Returns true if a message for this callback can be displaced before it is taken, or if nothing is known of that.
pub(crate) fn may_lose(system: &System, solution: &Solution, callback: usize) -> bool {
    let plan = &system.callbacks[callback];
    let overflows = |solution| backlog(system, solution, callback).is_none_or(|waiting| waiting > plan.depth);
    plan.kind != EntityKind::Timer && overflows(solution) && overflows(solution.for_any_depth())
}

/// Returns the pace of each callback's releases, as long as everything comes that the scenario promises; `None` for a
/// callback that nothing is promised for, or whose messages may be lost.
pub(crate) fn paces(system: &System, solution: &Solution) -> Vec<Option<Pace>> {
    let mut paces: Vec<Option<Pace>> = vec![None; system.callbacks.len()];
    for &callback in &system.order {
        let plan = &system.callbacks[callback];
        paces[callback] = if plan.is_join() {
            let input = |input: usize| input_pace(system, solution, &paces, callback, input);
            // By the latest of these times, every input has had a message, whatever was left in its queue before.
            let latest =
                |one: Pace, other: Pace| Pace { gap: one.gap.max(other.gap), first: one.first.max(other.first) };
            let inputs: Option<Vec<_>> = (0..plan.joined.len()).map(input).collect();
            inputs.and_then(|inputs| inputs.into_iter().reduce(latest))
        } else {
            let sent =
                (0..plan.publishers.len()).filter_map(|place| sent_pace(system, solution, &paces, callback, place));
            let pace = Pace::least(sent.chain(plan.pace));
            // A timer whose start is delayed beyond its next due time may skip that due time.
            let late = solution.found[callback].bound.unwrap_or(0).saturating_sub(plan.shortest);
            let skips = |pace: &Pace| plan.kind == EntityKind::Timer && late > pace.gap;
            pace.map(|pace| if skips(&pace) { Pace { gap: pace.gap + late, ..pace } } else { pace })
        };
    }
    paces
}

/// Returns the paces of all callbacks if the system has joins, whose latencies depend on paces; otherwise no paces.
pub(crate) fn paces_for_latency(system: &System, solution: &Solution) -> Vec<Option<Pace>> {
    let joins = system.callbacks.iter().any(crate::system::Callback::is_join);
    if joins { paces(system, solution) } else { vec![None; system.callbacks.len()] }
}

/// Returns the pace of the messages that one of its publishers sends to a callback.
fn sent_pace(
    system: &System,
    solution: &Solution,
    paces: &[Option<Pace>],
    callback: usize,
    place: usize,
) -> Option<Pace> {
    let plan = &system.callbacks[callback];
    let (publisher, way) = (plan.publishers[place], plan.ways[place]);
    if may_lose(system, solution, publisher) {
        return None;
    }
    let (of, response) = (paces[publisher]?, solution.found[publisher].bound?);
    let jitter = response.saturating_sub(system.callbacks[publisher].shortest);
    let gap = of.gap.checked_add(jitter)?.checked_add(way.longest - way.shortest)?;
    Some(Pace { gap, first: of.first.checked_add(response)?.checked_add(way.longest)? })
}

/// Returns the pace of the messages of one of a join's topics.
fn input_pace(system: &System, solution: &Solution, paces: &[Option<Pace>], join: usize, input: usize) -> Option<Pace> {
    let plan = &system.callbacks[join];
    let sent = plan.of_input(input).filter_map(|place| sent_pace(system, solution, paces, join, place));
    Pace::least(sent.chain(plan.joined[input].pace))
}

/// Returns the longest time from the publication of a message by `from` until `to`, the next member of the chain, can
/// take it: its way and, if `to` joins topics, its wait for the others. The queue may be full of older messages, and
/// each of them takes one of each other topic. Returns `None` if messages of one of those topics are not sure to come.
fn passage(system: &System, solution: &Solution, paces: &[Option<Pace>], from: usize, to: usize) -> Option<u64> {
    let plan = &system.callbacks[to];
    let mut longest = 0;
    for place in (0..plan.publishers.len()).filter(|place| plan.publishers[*place] == from) {
        let mut time = plan.ways[place].longest;
        let others = (0..plan.joined.len()).filter(|input| *input != plan.ways[place].input);
        let wait = |input| {
            let Pace { gap, first } = input_pace(system, solution, paces, to, input)?;
            gap.max(first).checked_add(gap.checked_mul(plan.depth - 1)?)
        };
        let waits: Option<Vec<u64>> = others.map(wait).collect();
        time = time.checked_add(waits?.into_iter().max().unwrap_or(0))?;
        longest = longest.max(time);
    }
    Some(longest)
}

/// Returns the shortest latency of a chain that is known, with the name of the analysis: the chain is cut into parts,
/// each of which ends within the bound of its only callback, or within the busy window of a set that it does not leave;
/// with the ways between the parts. Or the chain is inside one executor, with a bound as a whole. `None` if there is no
/// bound.
fn latency(
    solution: &Solution,
    known: &Known<'_>,
    paces: &[Option<Pace>],
    windows: &mut Windows,
    members: &[usize],
) -> Option<(u64, &'static str)> {
    let system = known.system;
    // By the number of callbacks from the chain's first one on, the latency until the last of them has ended.
    let mut until: Vec<Option<(u64, &'static str)>> = vec![Some((0, ""))];
    for end in 1..=members.len() {
        let mut least: Option<(u64, &'static str)> = None;
        for begin in 0..end {
            let part = &members[begin..end];
            let alone = || solution.found[part[0]].bound.map(|bound| (bound, solution.found[part[0]].method));
            let within = if begin + 1 == end { alone() } else { busy::chain(known, windows, part) };
            let way = if begin == 0 { Some(0) } else { passage(system, solution, paces, members[begin - 1], part[0]) };
            let whole = until[begin].zip(within).zip(way).and_then(|(((before, _), (within, method)), way)| {
                let method = if begin == 0 { method } else { SUM };
                Some((before.checked_add(within)?.checked_add(way)?, method))
            });
            least = least.into_iter().chain(whole).min_by_key(|(length, _)| *length);
        }
        until.push(least);
    }
    known.budget.begin(known.budget.whole() / 8);
    let whole = end_to_end::bound(known, members).map(|length| (length, INSIDE));
    let found = until.pop().flatten();
    found.into_iter().chain(whole).min_by_key(|(length, _)| *length)
}

/// Returns the bounds of a chain. `windows` has results for chains of the same solution.
pub(crate) fn bound(
    scenario: &Scenario,
    solution: &Solution,
    known: &Known<'_>,
    paces: &[Option<Pace>],
    windows: &mut Windows,
    chain: &Chain,
) -> ChainBound {
    let system = known.system;
    let place = |name: &String| scenario.callbacks.iter().position(|callback| callback.name == *name);
    let members: Vec<usize> = chain.callbacks.iter().filter_map(place).collect();
    let (latency, method) = latency(solution, known, paces, windows, &members).unzip();
    let lossy: Vec<_> = members.iter().filter(|member| may_lose(system, solution, **member)).collect();
    let lossless = latency.filter(|_| lossy.is_empty());
    let first = &system.callbacks[members[0]];
    let gap = paces[members[0]].map(|pace| pace.gap);
    let sampled = if first.kind == EntityKind::Timer { gap } else { Some(0) };
    let sum = |more: Option<u64>| Some(Duration::from_nanos(lossless?.checked_add(more?)?));
    let latency = latency.map(Duration::from_nanos);
    ChainBound {
        name: chain.name.clone(),
        latency,
        reaction_time: sum(sampled),
        data_age: sum(gap),
        deadline: chain.deadline,
        holds: latency.is_some_and(|latency| chain.deadline.is_none_or(|deadline| latency <= deadline)),
        method: method.unwrap_or(SUM),
        lossy: lossy.into_iter().map(|member| system.callbacks[*member].name.clone()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Analysis;
    use crate::budget::Budget;
    use crate::solve::solve;

    /// Two chains of one executor: the window in which both end is searched for once.
    #[test]
    fn a_window_is_searched_for_once_for_all_chains() {
        let mut text = "duration = \"1 s\"\ntopics = [\"/a\", \"/b\"]\n[[executor]]\nname = \"x\"\npolicy = \"fifo\"\n\
            threads = THREADS\n[[group]]\nname = \"g\"\n[[group]]\nname = \"h\"\n"
            .to_owned();
        for topic in ["a", "b"] {
            text += &format!(
                "[[callback]]\nname = \"send_{topic}\"\ngroup = \"g\"\nkind = \"timer\"\nperiod = \"10 ms\"\n\
                execution = \"1 ms\"\npublishes = [\"/{topic}\"]\n[[callback]]\nname = \"take_{topic}\"\ngroup = \"h\"\n\
                kind = \"subscription\"\nsubscribes = \"/{topic}\"\nexecution = \"1 ms\"\n\
                [[chain]]\nname = \"{topic}\"\ncallbacks = [\"send_{topic}\", \"take_{topic}\"]\ncriticality = 1\n"
            );
        }
        for threads in ["1", "2"] {
            let scenario = Scenario::parse(&text.replace("THREADS", threads)).unwrap();
            let system = Analysis::new(&scenario).system().unwrap();
            let budget = Budget::for_bounds(4, None);
            let solution = solve(&system, &budget);
            let known = Known::of(&system, &solution, &budget);
            let paces = paces(&system, &solution);
            let mut windows = Windows::default();
            let mut steps = |chain| {
                let before = budget.left();
                assert!(bound(&scenario, &solution, &known, &paces, &mut windows, chain).latency.is_some());
                before - budget.left()
            };
            let (first, second) = (steps(&scenario.chains[0]), steps(&scenario.chains[1]));
            assert!(first > 0 && second == 0, "{threads} threads: {first}, {second} steps");
        }
    }
}

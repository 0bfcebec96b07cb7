//! Executors with several threads, each on a core of its own: global scheduling without preemption.
//!
//! The argument is the one for work-conserving global schedulers (Baker, RTSS 2003; for jobs that are not preempted, Guan et
//! al., RTCSA 2008), over response-time intervals: while an activation waits, either one that excludes it is running, of its
//! group or an earlier one of itself, or all threads are busy with others. The former is counted in full, the latter is
//! divided by the number of threads.

use crate::solve::{Found, Known};
use crate::suspension::may_overtake;
use crate::system::Policy;

pub(crate) fn bound(known: &Known<'_>, callback: usize) -> Found {
    let executor = &known.system.executors[known.system.callbacks[callback].executor];
    let method = match executor.policy {
        Policy::FixedPriority => "global non-preemptive fixed priority, by interference over the response time",
        _ => "work-conserving threads, in any order, by interference over the response time",
    };
    Found { bound: response(known, callback), method }
}

fn response(known: &Known<'_>, callback: usize) -> Option<u64> {
    let system = known.system;
    let plan = &system.callbacks[callback];
    let executor = &system.executors[plan.executor];
    let ordered = executor.policy == Policy::FixedPriority;
    // Earlier activations of its own that are not over when it is released, itself not counted.
    let earlier = known.arrivals[callback].as_ref()?.number(known.responses[callback]?).saturating_sub(1);
    if plan.is_async() && earlier > 0 {
        return None;
    }
    let segments = plan.segments.len() as u64;
    let mut serial = earlier * plan.cost();
    let (mut one_by_one, mut side_by_side) = (Vec::new(), Vec::new());
    let (mut holding, mut blocking) = (0, 0);
    for &other in executor.callbacks.iter().filter(|other| **other != callback) {
        let mate = &system.callbacks[other];
        let before = may_overtake(executor, plan, mate);
        if plan.mates.contains(&other) {
            let hold = if mate.holds_group() { known.responses[other]? } else { mate.longest_segment() };
            let each = if mate.holds_group() { hold } else { mate.cost() };
            if before {
                one_by_one.push((known.spread(other)?, each));
            } else {
                holding = holding.max(hold);
            }
        } else if before || !plan.mates.is_empty() {
            // While its group is taken, less urgent ones may take the threads, too.
            side_by_side.push((known.spread(other)?, mate.cost()));
        } else {
            blocking = blocking.max(mate.longest_segment());
        }
    }
    debug_assert!(ordered || blocking == 0);
    let acquisitions = if plan.releases_group { segments } else { 1 };
    // As many less urgent ones as there are threads may be running when it becomes ready: each time one of the longest.
    serial += acquisitions * holding + (segments + earlier) * blocking;
    let receiving: Vec<_> = crate::uniprocessor::receive_load(known, executor.core)?.collect();
    let fixed = plan.cost() + plan.waits + serial + known.delay(callback)?;
    let supply = crate::uniprocessor::supply(executor);
    crate::uniprocessor::fixed_point(&supply, system.limit, |length| {
        let sum = |parts: &[(crate::arrivals::Arrivals, u64)]| -> u64 {
            parts.iter().map(|(arrivals, cost)| arrivals.number(length) * cost).sum()
        };
        let receive: u64 = receiving.iter().map(|arrivals| arrivals.number(length) * system.receive).sum();
        fixed + receive + sum(&one_by_one) + sum(&side_by_side).div_ceil(executor.threads)
    })
}

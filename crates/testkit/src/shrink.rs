//! Shrinks a failing scenario, so that a person can understand it.

use rospin_core::Overrun;

use crate::scenario::{EntityPlan, Op, Scenario, TimerPlan};

/// Returns the smallest scenario found that still `fails`. Operations are left out and numbers simplified, until
/// nothing more can be.
pub fn shrink(scenario: &Scenario, mut fails: impl FnMut(&Scenario) -> bool) -> Scenario {
    let mut best = scenario.clone();
    // Every round makes the scenario smaller or simpler. The bound is for a `fails` that gives different answers to
    // the same scenario.
    for _ in 0..50 {
        let before = best.clone();
        drop_parts(&mut best, &mut fails);
        plainer_ops(&mut best, &mut fails);
        join_waits(&mut best, &mut fails);
        while best.threads > 1 && accept(&mut best, &mut fails, |smaller| smaller.threads -= 1) {}
        if best == before {
            break;
        }
    }
    best
}

/// Makes the change, if the scenario then differs and still fails. Returns true if so.
fn accept(best: &mut Scenario, fails: &mut impl FnMut(&Scenario) -> bool, change: impl FnOnce(&mut Scenario)) -> bool {
    let mut candidate = best.clone();
    change(&mut candidate);
    let better = candidate != *best && fails(&candidate);
    if better {
        *best = candidate;
    }
    better
}

/// Leaves out operations: halves, quarters, and so on down to single ones, from the end.
fn drop_parts(best: &mut Scenario, fails: &mut impl FnMut(&Scenario) -> bool) {
    let mut size = best.ops.len().div_ceil(2);
    while size > 0 {
        let mut end = best.ops.len();
        while end > 0 {
            let start = end.saturating_sub(size);
            accept(best, fails, |smaller| drop(smaller.ops.drain(start..end)));
            end = start.min(best.ops.len());
        }
        size /= 2;
    }
}

/// Joins waits in a row into one.
fn join_waits(best: &mut Scenario, fails: &mut impl FnMut(&Scenario) -> bool) {
    let mut at = 0;
    while at + 1 < best.ops.len() {
        let joined = match best.ops[at..=at + 1] {
            [Op::Advance(first), Op::Advance(second)] => accept(best, fails, |smaller| {
                smaller.ops[at] = Op::Advance(first + second);
                smaller.ops.remove(at + 1);
            }),
            _ => false,
        };
        at += usize::from(!joined);
    }
}

/// Replaces operations by simpler ones.
fn plainer_ops(best: &mut Scenario, fails: &mut impl FnMut(&Scenario) -> bool) {
    for at in 0..best.ops.len() {
        // Each form is simpler than the one before, so this ends.
        while plainer(best.ops[at]).into_iter().any(|form| accept(best, fails, |smaller| smaller.ops[at] = form)) {}
    }
}

/// Returns simpler forms of an operation, the simplest first.
fn plainer(op: Op) -> Vec<Op> {
    let lower = |place: usize| (0..place.min(8)).collect::<Vec<_>>();
    match op {
        Op::AddEntity(plan) => plainer_entity(plan).into_iter().map(Op::AddEntity).collect(),
        Op::Release { entity, ago_ms } => {
            let mut forms = vec![Op::Release { entity, ago_ms: 0 }];
            forms.extend(lower(entity).into_iter().map(|entity| Op::Release { entity, ago_ms }));
            forms
        }
        Op::Advance(ms) => (1..ms).map(Op::Advance).collect(),
        Op::Next(place) => lower(place).into_iter().map(Op::Next).collect(),
        Op::GoOn { running, ago_ms } => {
            let mut simpler = vec![Op::Complete(running)];
            simpler.extend(lower(running).into_iter().map(|running| Op::GoOn { running, ago_ms }));
            if ago_ms.is_some_and(|ago_ms| ago_ms > 0) {
                simpler.push(Op::GoOn { running, ago_ms: Some(0) });
            }
            simpler
        }
        Op::RunThrough { idle, ago_ms } => {
            let mut simpler = vec![Op::Next(idle)];
            simpler.extend(lower(idle).into_iter().map(|idle| Op::RunThrough { idle, ago_ms }));
            if ago_ms.is_some_and(|ago_ms| ago_ms > 0) {
                simpler.push(Op::RunThrough { idle, ago_ms: Some(0) });
            }
            simpler
        }
        Op::Complete(place) => lower(place).into_iter().map(Op::Complete).collect(),
        Op::Suspend(place) => lower(place).into_iter().map(Op::Suspend).collect(),
        Op::Resume(place) => lower(place).into_iter().map(Op::Resume).collect(),
        Op::Cancel(place) => lower(place).into_iter().map(Op::Cancel).collect(),
        Op::RemoveEntity(place) => lower(place).into_iter().map(Op::RemoveEntity).collect(),
        Op::RemoveGroup(place) => lower(place).into_iter().map(Op::RemoveGroup).collect(),
        Op::Restart { entity, due_ms, period_ms } => {
            let mut forms = vec![Op::Cancel(entity), Op::Restart { entity, due_ms, period_ms: None }];
            forms.extend(lower(entity).into_iter().map(|entity| Op::Restart { entity, due_ms, period_ms }));
            forms
        }
        Op::AddGroup(_) | Op::Wake { .. } => Vec::new(),
    }
}

/// Returns the plans of an entity that are simpler than this one by one setting.
fn plainer_entity(plan: EntityPlan) -> Vec<EntityPlan> {
    let mut forms = vec![
        EntityPlan { priority: 0, ..plan },
        EntityPlan { deadline_ms: None, ..plan },
        EntityPlan { max_in_flight: 1, ..plan },
        EntityPlan { releases_group_at_await: false, ..plan },
        EntityPlan { precedes_all: false, ..plan },
    ];
    forms.extend(
        plan.timer.map(|timer| EntityPlan { timer: Some(TimerPlan { overrun: Overrun::Skip, ..timer }), ..plan }),
    );
    forms.extend((0..plan.group.min(4)).map(|group| EntityPlan { group, ..plan }));
    forms
}

//! Random scenarios.
//!
//! There are few entities, few groups and a coarse grid of times, so that ties, merges and blocked groups are common.
//! Each scenario leaves out or favours some operations (swarm testing: Groce et al. 2012), because a mixture of
//! everything rarely gets deep into anything.

use rospin_core::{EntityKind, GroupKind, Overrun};

use crate::rng::Rng;
use crate::scenario::{EntityPlan, Op, Scenario, TimerPlan};

/// Kinds of entities other than timers.
const OTHER_KINDS: [EntityKind; 4] =
    [EntityKind::Subscription, EntityKind::Service, EntityKind::Client, EntityKind::Waitable];

/// The ingredients of a scenario, drawn once for each.
struct Mixture {
    /// Share of timers among the entities.
    timers_percent: u64,
    /// Share of reentrant groups.
    reentrant_percent: u64,
    /// Number of different priorities.
    priorities: u64,
    /// Share of entities with a deadline of their own.
    deadlines_percent: u64,
    /// Largest limit of activations at once.
    in_flight_most: u64,
    /// Share of entities whose activations release their group at awaits.
    releasing_percent: u64,
    /// Share of entities that precede all others.
    preceding_percent: u64,
    /// Largest age of a release.
    backdate_most_ms: u64,
    /// Longest time by which an operation advances the clock.
    advance_most_ms: u64,
    /// Weights of the operations, in the order of `Mixture::op`.
    weights: [u64; 13],
}

impl Mixture {
    fn draw(rng: &mut Rng) -> Self {
        let asynchronous = rng.chance(60);
        let weights = [
            rng.pick(&[10, 20, 40]),                              // release
            rng.pick(&[20, 30]),                                  // next
            rng.pick(&[8, 15, 25]),                               // complete
            rng.pick(&[0, 5, 10, 20]),                            // advance
            if asynchronous { rng.pick(&[4, 8, 16]) } else { 0 }, // suspend
            if asynchronous { rng.pick(&[2, 8, 16]) } else { 0 }, // resume
            rng.pick(&[0, 0, 1, 3, 9]),                           // cancel
            rng.pick(&[0, 0, 1, 3]),                              // restart
            rng.pick(&[0, 0, 1, 3]),                              // remove an entity
            rng.pick(&[0, 0, 1, 3]),                              // add an entity
            rng.pick(&[0, 0, 1, 2]),                              // remove or add a group
            rng.pick(&[0, 0, 1]),                                 // a stray wake-up
            rng.pick(&[0, 15, 40]),                               // go on, or run through
        ];
        Self {
            timers_percent: rng.pick(&[0, 30, 70]),
            reentrant_percent: rng.pick(&[0, 30, 60]),
            priorities: rng.pick(&[1, 2, 5]),
            deadlines_percent: rng.pick(&[0, 50, 100]),
            in_flight_most: rng.pick(&[1, 1, 3]),
            releasing_percent: rng.pick(&[0, 50, 100]),
            preceding_percent: rng.pick(&[0, 0, 25]),
            backdate_most_ms: rng.pick(&[0, 3]),
            advance_most_ms: rng.pick(&[1, 4, 20]),
            weights,
        }
    }

    fn group(&self, rng: &mut Rng) -> Op {
        let reentrant = rng.chance(self.reentrant_percent);
        Op::AddGroup(if reentrant { GroupKind::Reentrant } else { GroupKind::MutuallyExclusive })
    }

    fn entity(&self, rng: &mut Rng) -> Op {
        let timer = if rng.chance(self.timers_percent) { Some(self.timer(rng)) } else { None };
        Op::AddEntity(EntityPlan {
            kind: if timer.is_some() { EntityKind::Timer } else { rng.pick(&OTHER_KINDS) },
            group: rng.index(8),
            priority: rng.below(self.priorities) as u32,
            deadline_ms: if rng.chance(self.deadlines_percent) { Some(rng.between(1, 6)) } else { None },
            // Now and then a limit of 0, which must be refused.
            max_in_flight: if rng.chance(1) { 0 } else { rng.between(1, self.in_flight_most) as u32 },
            releases_group_at_await: rng.chance(self.releasing_percent),
            precedes_all: rng.chance(self.preceding_percent),
            timer,
        })
    }

    fn timer(&self, rng: &mut Rng) -> TimerPlan {
        TimerPlan {
            first_due_ms: rng.below(7),
            period_ms: if rng.chance(75) { Some(rng.between(1, 5)) } else { None },
            overrun: match rng.below(4) {
                0 => Overrun::Skip,
                1 => Overrun::ShiftPhase,
                _ => Overrun::CatchUp(rng.below(4) as u32),
            },
        }
    }

    fn op(&self, rng: &mut Rng) -> Op {
        let mut left = rng.below(self.weights.iter().sum());
        let choice = self.weights.iter().position(|weight| {
            let chosen = left < *weight;
            left = left.wrapping_sub(if chosen { 0 } else { *weight });
            chosen
        });
        let place = rng.index(32);
        match choice.unwrap_or(1) {
            0 => Op::Release { entity: place, ago_ms: rng.below(self.backdate_most_ms + 1) },
            1 => Op::Next(place),
            2 => Op::Complete(place),
            3 => Op::Advance(rng.between(1, self.advance_most_ms)),
            4 => Op::Suspend(place),
            5 => Op::Resume(place),
            6 => Op::Cancel(place),
            7 => Op::Restart { entity: place, due_ms: rng.below(6), period_ms: new_period(rng) },
            8 => Op::RemoveEntity(place),
            9 => self.entity(rng),
            10 if rng.chance(50) => Op::RemoveGroup(place),
            10 => self.group(rng),
            11 => Op::Wake { entity: place, sequence: rng.below(10) },
            _ => {
                let ago_ms = rng.below(self.backdate_most_ms + 1);
                let ago_ms = if rng.chance(75) { Some(ago_ms) } else { None };
                if rng.chance(50) {
                    Op::GoOn { running: place, ago_ms }
                } else {
                    Op::RunThrough { idle: place, ago_ms }
                }
            }
        }
    }
}

/// Returns the new period of a timer that is restarted, in milliseconds; usually `None`, which keeps the old one. A
/// scheduler must ignore a period of 0.
fn new_period(rng: &mut Rng) -> Option<u64> {
    if rng.chance(30) { Some(rng.below(5)) } else { None }
}

/// Returns the scenario of `seed`.
#[must_use]
pub fn scenario(seed: u64) -> Scenario {
    let rng = &mut Rng::new(seed);
    let mixture = Mixture::draw(rng);
    let threads = rng.between(1, 4) as u16;
    // One in ten is large, so that heaps grow and slots are reused.
    let (entities, steps) = if rng.chance(10) { (24, 300) } else { (7, 90) };
    let groups = rng.between(1, 4);
    let entities = rng.between(1, entities);
    let steps = rng.between(10, steps);
    let mut ops: Vec<Op> = (0..groups).map(|_| mixture.group(rng)).collect();
    ops.extend((0..entities).map(|_| mixture.entity(rng)));
    ops.extend((0..steps).map(|_| mixture.op(rng)));
    Scenario { threads, ops }
}

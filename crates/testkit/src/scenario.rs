//! Scenarios: sequences of operations on a scheduler.
//!
//! Operations refer to entities and groups by the order of their creation, and to activations by their place in a
//! list, always modulo its length. An operation that refers to nothing does nothing. So any part of a scenario is a
//! scenario, and a failing one can be shrunk.

use std::fmt;

use rospin_core::{EntityKind, GroupKind, Overrun};

/// A planned entity. Times are in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntityPlan {
    /// Its kind. It is a timer exactly if `timer` is given.
    pub kind: EntityKind,
    /// Its group, by the order of creation.
    pub group: usize,
    /// Its priority.
    pub priority: u32,
    /// Its relative deadline. `None` stands for the period of a periodic timer, and for no deadline of any other
    /// entity.
    pub deadline_ms: Option<u64>,
    /// Maximum number of its activations at once.
    pub max_in_flight: u32,
    /// True if a suspended activation releases its group.
    pub releases_group_at_await: bool,
    /// True if it runs before everything that the policy chooses from, even while a suspended activation holds its
    /// group.
    pub precedes_all: bool,
    /// Its due times, if it is a timer.
    pub timer: Option<TimerPlan>,
}

/// The due times of a timer, in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimerPlan {
    /// First due time, counted from the time at which the timer is added.
    pub first_due_ms: u64,
    /// Period; `None` for a one-shot timer.
    pub period_ms: Option<u64>,
    /// Overrun policy.
    pub overrun: Overrun,
}

/// An operation on a scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// A group is added.
    AddGroup(GroupKind),
    /// A group is removed, and its entities with it.
    RemoveGroup(usize),
    /// An entity is added. It is refused if its group was removed, or if its `max_in_flight` or its timer's period is
    /// 0.
    AddEntity(EntityPlan),
    /// An entity is removed.
    RemoveEntity(usize),
    /// An entity, not a timer, is released.
    Release {
        /// Place of the entity.
        entity: usize,
        /// Age of the release, in ms.
        ago_ms: u64,
    },
    /// Time advances, in ms.
    Advance(u64),
    /// One of the idle threads asks for work.
    Next(usize),
    /// One of the running activations completes.
    Complete(usize),
    /// One of the running activations completes, its entity (unless it is a timer) may be released again, and its
    /// thread asks for work.
    GoOn {
        /// Place of the activation among those that run.
        running: usize,
        /// Age of the new release, in ms; `None` if there is none.
        ago_ms: Option<u64>,
    },
    /// One of the idle threads asks for work, and what it gets completes before anything else happens. Its entity
    /// (unless it is a timer) may be released again before it completes.
    RunThrough {
        /// Place of the thread among the idle ones.
        idle: usize,
        /// Age of the new release, in ms; `None` if there is none.
        ago_ms: Option<u64>,
    },
    /// One of the running activations is suspended.
    Suspend(usize),
    /// One of the suspended activations is resumed.
    Resume(usize),
    /// A wake-up of an entity and a sequence number that need not be suspended: a late or a wrong one.
    Wake {
        /// Place of the entity.
        entity: usize,
        /// Sequence number of the activation.
        sequence: u64,
    },
    /// An entity is stopped, if it is a timer.
    Cancel(usize),
    /// An entity is restarted, if it is a timer.
    Restart {
        /// Place of the entity.
        entity: usize,
        /// First due time, counted from 2 ms ago, so that it may be in the past.
        due_ms: u64,
        /// New period; `None` and 0 keep the old one.
        period_ms: Option<u64>,
    },
}

/// A scenario: threads, and operations on their scheduler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scenario {
    /// Number of threads that ask for work.
    pub threads: u16,
    /// The operations, in order.
    pub ops: Vec<Op>,
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "threads: {}", self.threads)?;
        // For each group a flag that says if it still exists; and the number of accepted entities.
        let mut groups = Vec::new();
        let mut entities = 0;
        for (step, op) in self.ops.iter().enumerate() {
            let op = op.named(groups.len(), entities);
            write!(f, "{step:>4}  {op}")?;
            match op {
                Op::AddGroup(_) => {
                    write!(f, "  -> g{}", groups.len())?;
                    groups.push(true);
                }
                Op::RemoveGroup(group) if group < groups.len() => groups[group] = false,
                Op::AddEntity(plan) if plan.max_in_flight > 0 && groups.get(plan.group) == Some(&true) => {
                    write!(f, "  -> e{entities}")?;
                    entities += 1;
                }
                Op::AddEntity(_) => f.write_str("  -> refused")?,
                _ => {}
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Op {
    /// Returns the operation with the numbers of its group and its entity in place of their places. `groups` and
    /// `entities` are how many there are; if there are none, the place stays.
    pub(crate) fn named(self, groups: usize, entities: usize) -> Self {
        let group = |place: usize| place.checked_rem(groups).unwrap_or(place);
        let entity = |place: usize| place.checked_rem(entities).unwrap_or(place);
        match self {
            Self::RemoveGroup(place) => Self::RemoveGroup(group(place)),
            Self::AddEntity(plan) => Self::AddEntity(EntityPlan { group: group(plan.group), ..plan }),
            Self::RemoveEntity(place) => Self::RemoveEntity(entity(place)),
            Self::Release { entity: place, ago_ms } => Self::Release { entity: entity(place), ago_ms },
            Self::Wake { entity: place, sequence } => Self::Wake { entity: entity(place), sequence },
            Self::Cancel(place) => Self::Cancel(entity(place)),
            Self::Restart { entity: place, due_ms, period_ms } => {
                Self::Restart { entity: entity(place), due_ms, period_ms }
            }
            Self::AddGroup(_)
            | Self::Advance(_)
            | Self::Next(_)
            | Self::Complete(_)
            | Self::GoOn { .. }
            | Self::RunThrough { .. }
            | Self::Suspend(_)
            | Self::Resume(_) => self,
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddGroup(kind) => write!(f, "add group {kind:?}"),
            Self::RemoveGroup(group) => write!(f, "remove g{group}"),
            Self::AddEntity(plan) => write!(f, "add {plan}"),
            Self::RemoveEntity(entity) => write!(f, "remove e{entity}"),
            Self::Release { entity, ago_ms: 0 } => write!(f, "release e{entity}"),
            Self::Release { entity, ago_ms } => write!(f, "release e{entity} as of {ago_ms} ms ago"),
            Self::Advance(ms) => write!(f, "advance time by {ms} ms"),
            Self::Next(thread) => write!(f, "next, idle thread [{thread}]"),
            Self::Complete(running) => write!(f, "complete, running [{running}]"),
            Self::GoOn { running, ago_ms: None } => write!(f, "go on, running [{running}], no more"),
            Self::GoOn { running, ago_ms: Some(ms) } => write!(f, "go on, running [{running}], more since {ms} ms ago"),
            Self::RunThrough { idle, ago_ms: None } => write!(f, "run through, idle thread [{idle}], no more"),
            Self::RunThrough { idle, ago_ms: Some(ms) } => {
                write!(f, "run through, idle thread [{idle}], more since {ms} ms ago")
            }
            Self::Suspend(running) => write!(f, "suspend, running [{running}]"),
            Self::Resume(suspended) => write!(f, "resume, suspended [{suspended}]"),
            Self::Wake { entity, sequence } => write!(f, "wake e{entity} #{sequence}"),
            Self::Cancel(entity) => write!(f, "cancel timer e{entity}"),
            Self::Restart { entity, due_ms, period_ms } => {
                write!(f, "restart timer e{entity}, due in {due_ms} - 2 ms")?;
                period_ms.map_or(Ok(()), |ms| write!(f, ", new period {ms} ms"))
            }
        }
    }
}

impl fmt::Display for EntityPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in g{}", self.kind, self.group)?;
        if let Some(timer) = self.timer {
            write!(f, ", due in {} ms", timer.first_due_ms)?;
            match timer.period_ms {
                Some(ms) => write!(f, " and every {ms} ms")?,
                None => f.write_str(" once")?,
            }
            if timer.overrun != Overrun::Skip {
                write!(f, ", {:?}", timer.overrun)?;
            }
        }
        if self.priority > 0 {
            write!(f, ", priority {}", self.priority)?;
        }
        if let Some(ms) = self.deadline_ms {
            write!(f, ", deadline {ms} ms")?;
        }
        if self.max_in_flight != 1 {
            write!(f, ", {} in flight", self.max_in_flight)?;
        }
        if self.releases_group_at_await {
            f.write_str(", releases its group at await")?;
        }
        if self.precedes_all {
            f.write_str(", precedes all")?;
        }
        Ok(())
    }
}

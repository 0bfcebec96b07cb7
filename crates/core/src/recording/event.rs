//! Events, and their encoding in words.

use crate::activation::Activation;
use crate::id::ThreadIndex;
use crate::time::Instant;
use crate::trace::TraceEvent;

/// An event as six words: its time, its kind with small fields, and four fields whose meaning depends on the kind.
pub type Words = [u64; 6];

/// The names of the causes of losses, by the number in [`Event::Lost`].
pub const LOSS_CAUSES: [&str; 7] =
    ["queue full", "entity dropped", "take failed", "cancelled", "timer overrun", "unmatched", "expired"];

/// The names of the kinds of incidents, by the number in [`Event::Incident`].
pub const INCIDENTS: [&str; 4] = ["panicked", "take failed", "failed", "held up"];

/// The names of the kinds of violations, by the number in [`Event::Violation`].
pub const VIOLATIONS: [&str; 9] = [
    "arrived too often",
    "ran too long",
    "missed its deadline",
    "exceeded its bound",
    "missed its chain's deadline",
    "exceeded its chain's bound",
    "lost messages",
    "did not run",
    "did not serve what waits",
];

/// The names of the causes of violations, by the number in [`Event::Violation`].
pub const VIOLATION_CAUSES: [&str; 10] = [
    "unknown",
    "itself",
    "published too often",
    "ran too long",
    "arrived too often",
    "its group",
    "a higher priority",
    "a running callback",
    "not scheduled by the kernel",
    "queue too short",
];

/// Names of the segment of an activation, as recorded events have them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Step {
    /// The number of the executor.
    pub executor: u16,
    /// The bits of the [`EntityId`](crate::EntityId), which is unique within its executor.
    pub entity: u64,
    /// The sequence number of the activation, which is unique within its executor.
    pub sequence: u64,
    /// The number of the segment, from 0.
    pub segment: u32,
}

/// A recorded event. The thread that recorded it is stored beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// An activation, or a further segment of one, became eligible at `release`; its absolute deadline is
    /// [`Instant::MAX`] if it has none.
    Released {
        /// The segment.
        step: Step,
        /// The segment's release: that of the activation for the first one, the wake-up for a later one.
        release: Instant,
        /// The activation's absolute deadline, [`Instant::MAX`] if it has none.
        deadline: Instant,
    },
    /// An activation turned out to have an earlier release than recorded.
    Antedated {
        /// The segment.
        step: Step,
        /// The segment's release: that of the activation for the first one, the wake-up for a later one.
        release: Instant,
        /// The activation's absolute deadline, [`Instant::MAX`] if it has none.
        deadline: Instant,
    },
    /// A thread begins to run the segment. `cpu_ns` is the processor time of the thread so far, 0 if that is not
    /// recorded.
    Dispatched {
        /// The segment.
        step: Step,
        /// The thread's number in the executor; 255 stands for all further ones.
        thread: u8,
        /// The segment's release: that of the activation for the first one, the wake-up for a later one.
        release: Instant,
        /// The processor time of the thread so far in nanoseconds, 0 if that is not recorded.
        cpu_ns: u64,
    },
    /// The segment ended, and its activation awaits something.
    Suspended {
        /// The segment.
        step: Step,
        /// The processor time of the thread so far in nanoseconds, 0 if that is not recorded.
        cpu_ns: u64,
    },
    /// The activation ended.
    Completed {
        /// The segment.
        step: Step,
        /// The activation's absolute deadline, [`Instant::MAX`] if it has none.
        deadline: Instant,
        /// The processor time of the thread so far in nanoseconds, 0 if that is not recorded.
        cpu_ns: u64,
    },
    /// A wait-set policy built a new ready set for that thread of the executor.
    PollingPoint {
        /// The number of the executor.
        executor: u16,
        /// The thread's number in the executor; 255 stands for all further ones.
        thread: u8,
    },
    /// The activation is in the ready set of the last polling point.
    Collected {
        /// The segment.
        step: Step,
    },
    /// A timer skipped this many due times because it was late.
    Overrun {
        /// The number of the executor.
        executor: u16,
        /// The bits of the entity.
        entity: u64,
        /// The number of them.
        count: u64,
    },
    /// The message with the number `ticket` of that queue was appended to it, and perhaps displaced the oldest one.
    Queued {
        /// The number of the queue.
        queue: u64,
        /// The number of the message in the queue, from 0.
        ticket: u64,
        /// True if the oldest message of the queue was displaced.
        displaced: bool,
    },
    /// The message with that number was taken from the queue.
    Taken {
        /// The number of the queue.
        queue: u64,
        /// The number of the message in the queue, from 0.
        ticket: u64,
    },
    /// A publisher of a node published its message with that number.
    Sent {
        /// The id of the publisher.
        publisher: [u8; 16],
        /// The number of the message among those of its publisher.
        number: u64,
    },
    /// A subscription took that message, which came encoded: from a middleware, or from a publisher with another form
    /// of the type. A message that was shared within the process is [`Taken`](Self::Taken) instead. The number is 0 if
    /// the middleware does not tell it.
    Received {
        /// The id of the publisher.
        publisher: [u8; 16],
        /// The number of the message among those of its publisher.
        number: u64,
    },
    /// An entity lost items for the cause with that place in [`LOSS_CAUSES`].
    Lost {
        /// The account of the entity, as in [`Definition::Entity`](super::Definition::Entity) and
        /// [`Definition::Queue`](super::Definition::Queue).
        account: u64,
        /// The place of the cause in [`LOSS_CAUSES`].
        cause: u8,
        /// The number of them.
        count: u64,
    },
    /// A callback panicked or returned an error, or its source had an item that could not be taken.
    Incident {
        /// The number of the executor.
        executor: u16,
        /// The bits of the entity; [`u64::MAX`] for the one whose callback the recording thread runs at that time.
        entity: u64,
        /// The place of the kind in [`INCIDENTS`].
        kind: u8,
    },
    /// A callback did what its system file or the analysis says that it does not. A monitor records it, some time later
    /// than it happened.
    Violation {
        /// The number of the executor.
        executor: u16,
        /// The bits of the entity.
        entity: u64,
        /// The place of the kind in [`VIOLATIONS`].
        kind: u8,
        /// The place of the cause in [`VIOLATION_CAUSES`].
        cause: u8,
        /// The number of the chain, 0 for none; numbers beyond 24 bits are cut off.
        chain: u32,
        /// The account of the entity that is the cause, 0 for none.
        culprit: u64,
        /// Nanoseconds that were measured, or a number of messages.
        measured: u64,
        /// The most that it may be, or for arrivals the least time between them.
        limit: u64,
    },
    /// The buffer of this thread was full, so that this many events are missing before this one.
    Dropped {
        /// The number of them.
        count: u64,
    },
    /// This thread works with the executor's scheduler in place of the one before. What it records of the executor from
    /// here to its next such event comes behind all that others recorded after a smaller number.
    HandedOver {
        /// The number of the executor.
        executor: u16,
        /// A number that grows from each of these events to the next one of the executor.
        number: u64,
        /// The number of the event before this one, 0 for the first one. If it is [`u64::MAX`], the recording of the
        /// executor begins anew, and a snapshot follows. If it is the number of this event, a file begins here, and the
        /// thread has had the scheduler before.
        previous: u64,
        /// The number of events of the scheduler since the event before this one, so that missing ones are noticed.
        /// Snapshots do not count. Recordings of earlier versions have 0 here, and as `previous`.
        count: u64,
    },
    /// The activation was ready or suspended, and will not go on: its timer was cancelled, or its entity was removed.
    Withdrawn {
        /// The segment.
        step: Step,
    },
    /// A wait-set policy found nothing to run for that thread, and discarded what was left of its ready set.
    Discarded {
        /// The number of the executor.
        executor: u16,
        /// The thread's number in the executor; 255 stands for all further ones.
        thread: u8,
    },
    /// The recorder begins to record the executor, or a file begins. The state of the executor's scheduler follows:
    /// `count` events [`FoundReady`](Self::FoundReady), [`FoundRunning`](Self::FoundRunning),
    /// [`FoundSuspended`](Self::FoundSuspended) and [`FoundArmed`](Self::FoundArmed) in place of everything that
    /// happened before. Nothing else is ready or under way.
    Snapshot {
        /// The number of the executor.
        executor: u16,
        /// The number of the events that follow.
        count: u64,
    },
    /// Part of a snapshot: the segment is ready. Those that are in the ready set of the last polling point come first,
    /// in the order in which they will be served.
    FoundReady {
        /// The segment.
        step: Step,
        /// The segment's release: that of the activation for the first one, the wake-up for a later one.
        release: Instant,
        /// The activation's absolute deadline, [`Instant::MAX`] if it has none.
        deadline: Instant,
        /// True if it is in the ready set of the last polling point.
        is_polled: bool,
    },
    /// Part of a snapshot: a thread runs the activation, which holds its group. Its next event tells the segment; it is
    /// 0 here.
    FoundRunning {
        /// The activation.
        step: Step,
    },
    /// Part of a snapshot: the activation awaits something after this segment. It holds its group, unless the
    /// [rules](super::Rules) of its entity say that it frees it.
    FoundSuspended {
        /// The segment.
        step: Step,
    },
    /// Part of a snapshot: the timer is armed.
    FoundArmed {
        /// The number of the executor.
        executor: u16,
        /// The bits of the entity.
        entity: u64,
        /// The timer's clock: 0 for the steady one, 1 for the system's, 2 for ROS time.
        clock: u8,
        /// Its next due time on that clock.
        due: Instant,
    },
}

/// The kinds of events: number, name, and the names of the four last fields, of which unused ones are `unused_…`.
///
/// The name of the small field, which stands beside the kind, comes before them.
pub const KINDS: [(u8, &str, &str, [&str; 4]); 24] = [
    (1, "released", "unused", ["entity", "sequence", "release_ns", "deadline_ns"]),
    (2, "antedated", "unused", ["entity", "sequence", "release_ns", "deadline_ns"]),
    (3, "dispatched", "executor_thread", ["entity", "sequence", "release_ns", "cpu_ns"]),
    (4, "suspended", "unused", ["entity", "sequence", "unused_c", "cpu_ns"]),
    (5, "completed", "unused", ["entity", "sequence", "deadline_ns", "cpu_ns"]),
    (6, "polling_point", "executor_thread", ["unused_a", "unused_b", "unused_c", "unused_d"]),
    (7, "collected", "unused", ["entity", "sequence", "unused_c", "unused_d"]),
    (8, "overrun", "unused", ["entity", "count", "unused_c", "unused_d"]),
    (9, "queued", "displaced", ["queue", "ticket", "unused_c", "unused_d"]),
    (10, "taken", "unused", ["queue", "ticket", "unused_c", "unused_d"]),
    (11, "sent", "unused", ["publisher_low", "publisher_high", "number", "unused_d"]),
    (12, "received", "unused", ["publisher_low", "publisher_high", "number", "unused_d"]),
    (13, "lost", "cause", ["account", "count", "unused_c", "unused_d"]),
    (14, "incident", "incident", ["entity", "unused_b", "unused_c", "unused_d"]),
    (15, "dropped", "unused", ["count", "unused_b", "unused_c", "unused_d"]),
    // The field `segment` has the cause in its lowest byte, and the chain above it.
    (16, "violation", "violation", ["entity", "measured", "limit", "culprit"]),
    (20, "handed_over", "unused", ["number", "previous", "count", "unused_d"]),
    (21, "withdrawn", "unused", ["entity", "sequence", "unused_c", "unused_d"]),
    (22, "discarded", "executor_thread", ["unused_a", "unused_b", "unused_c", "unused_d"]),
    (23, "snapshot", "unused", ["count", "unused_b", "unused_c", "unused_d"]),
    (24, "found_ready", "polled", ["entity", "sequence", "release_ns", "deadline_ns"]),
    (25, "found_running", "unused", ["entity", "sequence", "unused_c", "unused_d"]),
    (26, "found_suspended", "unused", ["entity", "sequence", "unused_c", "unused_d"]),
    (27, "found_armed", "clock", ["entity", "due_ns", "unused_c", "unused_d"]),
];

impl Event {
    /// Returns what a recording has of an event of the executor's scheduler. `cpu_ns` returns the processor time of the
    /// calling thread, and is called only if it matters.
    #[must_use]
    pub fn of_scheduler(executor: u16, event: &TraceEvent, cpu_ns: impl FnOnce() -> u64) -> Self {
        let step = |of: &Activation| {
            let Activation { entity, sequence, segment, .. } = *of;
            Step { executor, entity: entity.to_bits(), sequence, segment }
        };
        let number = |thread: &ThreadIndex| u8::try_from(thread.0).unwrap_or(u8::MAX);
        match event {
            TraceEvent::Released(of) => Self::Released { step: step(of), release: of.release, deadline: of.deadline },
            TraceEvent::Antedated(of) => Self::Antedated { step: step(of), release: of.release, deadline: of.deadline },
            TraceEvent::Dispatched(thread, of) => {
                Self::Dispatched { step: step(of), thread: number(thread), release: of.release, cpu_ns: cpu_ns() }
            }
            TraceEvent::Suspended(of) => Self::Suspended { step: step(of), cpu_ns: cpu_ns() },
            TraceEvent::Completed(of) => Self::Completed { step: step(of), deadline: of.deadline, cpu_ns: cpu_ns() },
            TraceEvent::PollingPoint(thread) => Self::PollingPoint { executor, thread: number(thread) },
            TraceEvent::Collected(of) => Self::Collected { step: step(of) },
            TraceEvent::Overrun(entity, count) => Self::Overrun { executor, entity: entity.to_bits(), count: *count },
            TraceEvent::Withdrawn(of) => Self::Withdrawn { step: step(of) },
            TraceEvent::Discarded(thread) => Self::Discarded { executor, thread: number(thread) },
        }
    }

    /// Returns the segment that the event is about; `None` if it is about something else.
    #[must_use]
    pub const fn step(&self) -> Option<Step> {
        let mut copy = *self;
        match copy.step_mut() {
            Some(step) => Some(*step),
            None => None,
        }
    }

    /// Returns the segment that the event is about, to give it other numbers; `None` if it is about something else.
    pub const fn step_mut(&mut self) -> Option<&mut Step> {
        match self {
            Self::Released { step, .. }
            | Self::Antedated { step, .. }
            | Self::Dispatched { step, .. }
            | Self::Suspended { step, .. }
            | Self::Completed { step, .. }
            | Self::Collected { step }
            | Self::Withdrawn { step }
            | Self::FoundReady { step, .. }
            | Self::FoundRunning { step }
            | Self::FoundSuspended { step } => Some(step),
            _ => None,
        }
    }

    /// Returns the event, which happened at `at`, as words. Neither blocks nor allocates.
    #[must_use]
    pub fn encode(&self, at: Instant) -> Words {
        let of = |kind: u64, small: u8, executor: u16, segment: u32| {
            kind | u64::from(small) << 8 | u64::from(executor) << 16 | u64::from(segment) << 32
        };
        let step_of = |kind, small, step: &Step| of(kind, small, step.executor, step.segment);
        let (head, fields) = match self {
            Self::Released { step, release, deadline } => {
                (step_of(1, 0, step), [step.entity, step.sequence, release.as_nanos(), deadline.as_nanos()])
            }
            Self::Antedated { step, release, deadline } => {
                (step_of(2, 0, step), [step.entity, step.sequence, release.as_nanos(), deadline.as_nanos()])
            }
            Self::Dispatched { step, thread, release, cpu_ns } => {
                (step_of(3, *thread, step), [step.entity, step.sequence, release.as_nanos(), *cpu_ns])
            }
            Self::Suspended { step, cpu_ns } => (step_of(4, 0, step), [step.entity, step.sequence, 0, *cpu_ns]),
            Self::Completed { step, deadline, cpu_ns } => {
                (step_of(5, 0, step), [step.entity, step.sequence, deadline.as_nanos(), *cpu_ns])
            }
            Self::PollingPoint { executor, thread } => (of(6, *thread, *executor, 0), [0; 4]),
            Self::Collected { step } => (step_of(7, 0, step), [step.entity, step.sequence, 0, 0]),
            Self::Overrun { executor, entity, count } => (of(8, 0, *executor, 0), [*entity, *count, 0, 0]),
            Self::Queued { queue, ticket, displaced } => (of(9, u8::from(*displaced), 0, 0), [*queue, *ticket, 0, 0]),
            Self::Taken { queue, ticket } => (of(10, 0, 0, 0), [*queue, *ticket, 0, 0]),
            Self::Sent { publisher, number } => {
                let [low, high] = halves(*publisher);
                (of(11, 0, 0, 0), [low, high, *number, 0])
            }
            Self::Received { publisher, number } => {
                let [low, high] = halves(*publisher);
                (of(12, 0, 0, 0), [low, high, *number, 0])
            }
            Self::Lost { account, cause, count } => (of(13, *cause, 0, 0), [*account, *count, 0, 0]),
            Self::Incident { executor, entity, kind } => (of(14, *kind, *executor, 0), [*entity, 0, 0, 0]),
            Self::Dropped { count } => (of(15, 0, 0, 0), [*count, 0, 0, 0]),
            Self::Violation { executor, entity, kind, cause, chain, culprit, measured, limit } => {
                (of(16, *kind, *executor, chain << 8 | u32::from(*cause)), [*entity, *measured, *limit, *culprit])
            }
            Self::HandedOver { executor, number, previous, count } => {
                (of(20, 0, *executor, 0), [*number, *previous, *count, 0])
            }
            Self::Withdrawn { step } => (step_of(21, 0, step), [step.entity, step.sequence, 0, 0]),
            Self::Discarded { executor, thread } => (of(22, *thread, *executor, 0), [0; 4]),
            Self::Snapshot { executor, count } => (of(23, 0, *executor, 0), [*count, 0, 0, 0]),
            Self::FoundReady { step, release, deadline, is_polled } => (
                step_of(24, u8::from(*is_polled), step),
                [step.entity, step.sequence, release.as_nanos(), deadline.as_nanos()],
            ),
            Self::FoundRunning { step } => (step_of(25, 0, step), [step.entity, step.sequence, 0, 0]),
            Self::FoundSuspended { step } => (step_of(26, 0, step), [step.entity, step.sequence, 0, 0]),
            Self::FoundArmed { executor, entity, clock, due } => {
                (of(27, *clock, *executor, 0), [*entity, due.as_nanos(), 0, 0])
            }
        };
        let [a, b, c, d] = fields;
        [at.as_nanos(), head, a, b, c, d]
    }

    /// Returns the event and its time, or `None` if the words are of a kind that this version does not know.
    #[must_use]
    pub fn decode(words: &Words) -> Option<(Instant, Self)> {
        let [at, head, a, b, c, d] = *words;
        let small = (head >> 8) as u8;
        let executor = (head >> 16) as u16;
        let segment = (head >> 32) as u32;
        let step = Step { executor, entity: a, sequence: b, segment };
        let [release, late] = [c, d].map(Instant::from_nanos);
        let event = match head as u8 {
            1 => Self::Released { step, release, deadline: late },
            2 => Self::Antedated { step, release, deadline: late },
            3 => Self::Dispatched { step, thread: small, release, cpu_ns: d },
            4 => Self::Suspended { step, cpu_ns: d },
            5 => Self::Completed { step, deadline: release, cpu_ns: d },
            6 => Self::PollingPoint { executor, thread: small },
            7 => Self::Collected { step },
            8 => Self::Overrun { executor, entity: a, count: b },
            9 => Self::Queued { queue: a, ticket: b, displaced: small != 0 },
            10 => Self::Taken { queue: a, ticket: b },
            11 => Self::Sent { publisher: whole(a, b), number: c },
            12 => Self::Received { publisher: whole(a, b), number: c },
            13 => Self::Lost { account: a, cause: small, count: b },
            14 => Self::Incident { executor, entity: a, kind: small },
            15 => Self::Dropped { count: a },
            16 => {
                let cause = segment as u8;
                let chain = segment >> 8;
                Self::Violation { executor, entity: a, kind: small, cause, chain, culprit: d, measured: b, limit: c }
            }
            20 => Self::HandedOver { executor, number: a, previous: b, count: c },
            21 => Self::Withdrawn { step },
            22 => Self::Discarded { executor, thread: small },
            23 => Self::Snapshot { executor, count: a },
            24 => Self::FoundReady { step, release, deadline: late, is_polled: small != 0 },
            25 => Self::FoundRunning { step },
            26 => Self::FoundSuspended { step },
            27 => Self::FoundArmed { executor, entity: a, clock: small, due: Instant::from_nanos(b) },
            _ => return None,
        };
        Some((Instant::from_nanos(at), event))
    }
}

fn halves(bytes: [u8; 16]) -> [u64; 2] {
    let whole = u128::from_le_bytes(bytes);
    [whole as u64, (whole >> 64) as u64]
}

fn whole(low: u64, high: u64) -> [u8; 16] {
    (u128::from(low) | u128::from(high) << 64).to_le_bytes()
}

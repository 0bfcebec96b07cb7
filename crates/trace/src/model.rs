//! The model of what happened: callbacks with their activations, the messages between them, and losses.

mod build;

use rospin_core::EntityKind;
use serde::{Serialize, Serializer};

use crate::monitor::{Cause, ViolationKind, told};
use crate::overdue::Told;
use crate::recording::Recording;
use crate::waits::Reason;
use build::Build;

/// Model of the events of one or more processes. All times are nanoseconds on the steady clock of the machine.
///
/// Items refer to each other by place: the index in the model's list of such items, as of an executor in `executors`.
#[derive(Clone, PartialEq, Debug, Serialize, Default)]
#[non_exhaustive]
pub struct Model {
    /// The processes.
    pub processes: Vec<Process>,
    /// Executors of all processes.
    pub executors: Vec<Executor>,
    /// Threads of all processes.
    pub threads: Vec<Thread>,
    /// Callbacks of all processes.
    pub callbacks: Vec<Callback>,
    /// Activations, process by process, each in the order of their starts.
    pub activations: Vec<Activation>,
    /// Messages. Those of one process are in the order of their publication, except for further takes: a message that
    /// several subscriptions took is here once for each of them, and all but the first come later in the list.
    pub messages: Vec<Message>,
    /// Queues in which subscriptions keep messages.
    pub queues: Vec<Queue>,
    /// Losses of items, of all entities.
    pub losses: Vec<Loss>,
    /// Violations that the monitors of the processes recorded.
    pub violations: Vec<Violation>,
    /// Incidents: panics and errors.
    pub incidents: Vec<Incident>,
    /// Activations that still wait for their first run when the recording of their process ends.
    pub waiting: Vec<Waiting>,
    /// Callbacks that should have run by the end of the recording of their process, and have not for long.
    pub overdue: Vec<Overdue>,
    /// The number of events that threads could not record because their buffers were full.
    pub dropped: u64,
    /// The number of events that were read.
    pub events: u64,
    /// The times of the first and the last event.
    pub span: (u64, u64),
}

fn reason_as_text<S: Serializer>(reason: &Reason, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(reason.as_str())
}

fn as_text<S: Serializer>(kind: &EntityKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}

/// An activation that was released, and had not begun when the recording ended.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Waiting {
    /// The place of the callback.
    pub callback: usize,
    /// The time from which it waits: its release, or the beginning of the executor's work if that came later.
    pub from_ns: u64,
    /// The end of the recording of its process.
    pub until_ns: u64,
    /// True if its deadline has passed.
    pub is_late: bool,
}

/// A callback that should have run by the end of the recording of its process, and has not.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Overdue {
    /// The place of the callback.
    pub callback: usize,
    /// The nanoseconds for which it has not run.
    pub for_ns: u64,
    /// True if it may not have run for longer: it has not since the recording began.
    pub is_at_least: bool,
    /// The period of a timer, or else the deadline.
    pub limit_ns: Option<u64>,
    /// The reason that kept it from running for most of the time.
    #[serde(serialize_with = "reason_as_text")]
    pub reason: Reason,
    /// The place of the callback that did.
    pub culprit: Option<usize>,
}

/// A queue in which a subscription keeps messages until its callback takes them.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Queue {
    /// The place of its process.
    pub process: usize,
    /// The topic.
    pub topic: String,
    /// The largest number of messages that it can hold.
    pub depth: u64,
    /// The place of the callback that takes from it; `None` if it is not known.
    pub callback: Option<usize>,
    /// The times at which messages came or went, each with the number of messages from then on. Messages from before
    /// the recording are not counted.
    pub levels: Vec<(u64, u64)>,
}

/// A process.
#[derive(Clone, PartialEq, Debug, Serialize, Default)]
#[expect(missing_docs, reason = "the fields are those of `Name::Process`")]
pub struct Process {
    pub name: String,
    pub process: u32,
    pub host: String,
    pub system_offset_ns: i64,
}

/// An executor.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Executor {
    /// The place of its process.
    pub process: usize,
    /// Its number in the events of its process.
    pub number: u16,
    /// Its name.
    pub name: String,
    /// The name of its policy.
    pub policy: String,
    /// The number of its threads.
    pub threads: u16,
    /// The time of its first callback, or polling point; `None` if the recording has none.
    pub since_ns: Option<u64>,
}

/// A thread.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Thread {
    /// The place of its process.
    pub process: usize,
    /// Its number in the events of its process.
    pub number: u32,
    /// Its number in the kernel.
    pub kernel_id: u32,
    /// Its name in the kernel.
    pub name: String,
}

/// A callback: an entity, with what is known of it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Callback {
    /// The place of its process.
    pub process: usize,
    /// The place of its executor.
    pub executor: usize,
    /// The bits of its `EntityId`, which is unique within the executor.
    pub entity: u64,
    /// The number that events of losses name it by; 0 if it is not known.
    pub account: u64,
    /// Its name.
    pub name: String,
    /// The name of its group.
    pub group: String,
    /// True if its group is mutually exclusive: callbacks of the group run one at a time.
    pub excludes: bool,
    /// True if a suspended activation frees its group. Otherwise it holds the group until it ends.
    pub frees_group: bool,
    /// Its kind.
    #[serde(serialize_with = "as_text")]
    pub kind: EntityKind,
    /// Its priority.
    pub priority: u32,
    /// The relative deadline: the longest time from a release to the end of the activation that is wanted.
    pub deadline_ns: Option<u64>,
    /// The period, if it is a timer.
    pub period_ns: Option<u64>,
    /// The topics of the queues from which it took messages in the recording.
    pub topics: Vec<String>,
    /// The places of its activations, in order.
    pub activations: Vec<usize>,
    /// The number of due times that it skipped, if it is a timer.
    pub overruns: u64,
}

/// A run of a callback.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Activation {
    /// The place of its callback.
    pub callback: usize,
    /// Its sequence number, which is unique within its executor.
    pub sequence: u64,
    /// The time of its release.
    pub release_ns: u64,
    /// The nanoseconds for which it waited for its executor to spin: until the first callback of the executor in the
    /// recording. They count neither as waiting nor as response, and the deadline is later by as much.
    pub before_spin_ns: u64,
    /// Its absolute deadline.
    pub deadline_ns: Option<u64>,
    /// Its segments: one, unless its callback is asynchronous and awaited something.
    pub segments: Vec<Segment>,
    /// Its end; `None` if the recording does not have it.
    pub end_ns: Option<u64>,
    /// The places of the messages that it took.
    pub inputs: Vec<usize>,
    /// The places of the messages that it published.
    pub outputs: Vec<usize>,
}

/// A time during which a thread ran an activation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Segment {
    /// The place of the thread.
    pub thread: usize,
    /// The time at which the segment became eligible: the activation's release, or the wake-up after an await.
    pub release_ns: u64,
    /// Its start.
    pub start_ns: u64,
    /// Its end; its start if the recording does not have it.
    pub end_ns: u64,
    /// The processor time that the thread used meanwhile; `None` if it was not recorded.
    pub cpu_ns: Option<u64>,
}

impl Activation {
    /// Returns the start of its first segment.
    #[must_use]
    pub fn start_ns(&self) -> u64 {
        self.segments.first().map_or(self.release_ns, |segment| segment.start_ns)
    }

    /// Returns the sum of the lengths of its segments.
    #[must_use]
    pub fn execution_ns(&self) -> u64 {
        self.segments.iter().map(|segment| segment.end_ns - segment.start_ns).sum()
    }

    /// Returns the time for which it was eligible and no thread ran it: before its start, and after each await.
    #[must_use]
    pub fn waiting_ns(&self) -> u64 {
        let waited = self.segments.iter().map(|segment| segment.start_ns.saturating_sub(segment.release_ns));
        waited.sum::<u64>().saturating_sub(self.before_spin_ns)
    }

    /// Returns the time from which it is judged: its release, or the beginning of its executor's work if that came
    /// later.
    #[must_use]
    pub const fn eligible_ns(&self) -> u64 {
        self.release_ns.saturating_add(self.before_spin_ns)
    }

    /// Returns the time by which it ended after its deadline; `None` if it did not, or if one of the two is not known.
    #[must_use]
    pub fn late_ns(&self) -> Option<u64> {
        let deadline = self.deadline_ns?.saturating_add(self.before_spin_ns);
        self.end_ns.filter(|end| *end > deadline).map(|end| end - deadline)
    }

    /// Returns the time from its release to its end; `None` if the recording does not have the end.
    #[must_use]
    pub fn response_ns(&self) -> Option<u64> {
        self.end_ns.map(|end| end.saturating_sub(self.eligible_ns()))
    }

    /// Returns the time within its segments for which its thread had no processor; `None` unless processor times were
    /// recorded.
    #[must_use]
    pub fn stalled_ns(&self) -> Option<u64> {
        let stalls = self
            .segments
            .iter()
            .map(|segment| segment.cpu_ns.map(|cpu| (segment.end_ns - segment.start_ns).saturating_sub(cpu)));
        stalls.sum()
    }

    /// Returns true if it ended after its deadline. Returns false if one of the two is not known.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.late_ns().is_some()
    }
}

/// A message that was published, and at most one take of it. It went through a queue of its process or through a
/// middleware.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Message {
    /// The topic; empty if it is not known.
    pub topic: String,
    /// The place of the queue of its process that it went to; `None` if it went to a middleware.
    pub queue: Option<usize>,
    /// The time of its publication.
    pub published_ns: u64,
    /// The place of the activation that published it; `None` for code outside of callbacks.
    pub from: Option<usize>,
    /// The place of the thread that published it.
    pub thread: usize,
    /// The place of the activation that took it, and the time of the take; `None` if no callback took it.
    pub taken: Option<(usize, u64)>,
}

/// Items that an entity lost.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Loss {
    /// The place of the callback, if it is known.
    pub callback: Option<usize>,
    /// The place of the process.
    pub process: usize,
    /// The topic of the entity's queue; empty if it has none in its process.
    pub topic: String,
    /// The time.
    pub at_ns: u64,
    /// The cause, one of [`LOSS_CAUSES`](rospin_core::recording::LOSS_CAUSES).
    pub cause: &'static str,
    /// The number of items.
    pub count: u64,
}

/// Violation of a limit by a callback or chain, as the monitor of its process recorded it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Violation {
    /// The place of the callback; of the last one of a chain.
    pub callback: usize,
    /// The name of the chain, if it is a violation of one.
    pub chain: Option<String>,
    /// The time.
    pub at_ns: u64,
    /// The place of the kind in [`VIOLATIONS`](rospin_core::recording::VIOLATIONS).
    pub kind: u8,
    /// The place of the cause in [`VIOLATION_CAUSES`](rospin_core::recording::VIOLATION_CAUSES).
    pub cause: u8,
    /// The place of the callback that is the cause, if there is one.
    pub culprit: Option<usize>,
    /// The measured time in nanoseconds, or the number of lost messages if a queue was full.
    pub measured: u64,
    /// The limit of `measured`: the most nanoseconds, or the length of the queue. For arrivals that came too often, the
    /// least nanoseconds, or 0 if the system file has no such arrival.
    pub limit: u64,
}

/// A panic or an error.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Incident {
    /// The place of the callback, if it is known.
    pub callback: Option<usize>,
    /// The time.
    pub at_ns: u64,
    /// The kind, as an index of [`INCIDENTS`](rospin_core::recording::INCIDENTS).
    pub kind: u8,
}

impl Model {
    /// Builds the model of the recorded processes, one for each recording.
    #[must_use]
    pub fn new(recordings: &[Recording]) -> Self {
        let mut build = Build::default();
        for recording in recordings {
            build.recording(recording);
        }
        build.finish()
    }

    /// Returns the violation in words, with the names of callback or chain, and of the culprit.
    #[must_use]
    pub fn tell(&self, violation: &Violation) -> String {
        let subject = violation.chain.clone().unwrap_or_else(|| self.label(violation.callback));
        let Some(kind) = ViolationKind::at(violation.kind) else { return format!("{subject}, of an unknown kind") };
        let culprit = violation.culprit.map(|culprit| self.label(culprit));
        let cause = Cause::at(violation.cause).describe(kind, culprit.as_deref());
        format!("{subject} {}, {cause}", told(kind, violation.measured, violation.limit))
    }

    /// Returns a sentence about a callback that does not run, without its full stop.
    #[must_use]
    pub fn tell_overdue(&self, one: &Overdue) -> String {
        let &Overdue { callback, for_ns, is_at_least, limit_ns, reason, culprit } = one;
        let culprit = culprit.map(|culprit| self.label(culprit));
        let kind = self.callbacks[callback].kind;
        let told = Told { kind, for_ns, is_at_least, limit_ns, reason, culprit: culprit.as_deref() };
        format!("{} {}", self.label(callback), told.text())
    }

    /// Returns a name of the callback that no other one has: with its executor or process, and a number, where the name
    /// alone is not enough.
    #[must_use]
    pub fn label(&self, callback: usize) -> String {
        let of = &self.callbacks[callback];
        let same: Vec<usize> =
            (0..self.callbacks.len()).filter(|other| self.callbacks[*other].name == of.name).collect();
        let is_in_process = |other: &usize| self.callbacks[*other].process == of.process;
        let is_beside = |other: &usize| is_in_process(other) && self.callbacks[*other].executor == of.executor;
        let mut parts = Vec::new();
        if !same.iter().all(is_beside) {
            parts.push(self.executors[of.executor].name.clone());
        }
        if !same.iter().all(is_in_process) {
            let process = &self.processes[of.process];
            parts.push(format!("{} {}", process.name, process.process));
        }
        let beside: Vec<usize> = same.into_iter().filter(is_beside).collect();
        if beside.len() > 1 {
            let before = beside.iter().filter(|other| **other < callback).count();
            parts.push(format!("#{}", before + 1));
        }
        if parts.is_empty() { of.name.clone() } else { format!("{} ({})", of.name, parts.join(", ")) }
    }
}

//! Replay of recordings: the events of each executor go through the scheduling core once more, and whatever it decides
//! is compared with what was decided then.
//!
//! The core gets what happened (releases, ends, awaits, withdrawn activations) in the order in which the executor's
//! scheduler saw it. Wherever a thread was given an activation, the core is asked which one it would give to that
//! thread.

mod check;
mod described;
mod initial;
mod order;
mod text;

use rospin_core::policy::{Policy, by_name};

use crate::Recording;

pub use check::check_executor;
pub use described::{Described, Entity, executors as described};
pub use order::{Ordered, order};

/// The result of the replay of one executor.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Replayed {
    /// The program.
    pub program: String,
    /// The executor's name.
    pub executor: String,
    /// The policy that decided when it was recorded.
    pub policy: String,
    /// The policy that decided in the replay.
    pub replayed_policy: String,
    /// The number of the executor's threads.
    pub threads: u16,
    /// The events of its scheduler in the recording.
    pub events: u64,
    /// The decisions that were compared: activations and segments that a thread was given.
    pub decisions: u64,
    /// Those of them for which more than one activation was ready.
    pub choices: u64,
    /// Decisions that were not compared, because they precede the state with which the replay begins.
    pub unchecked: u64,
    /// Limits of the check, a sentence each.
    pub notes: Vec<String>,
    /// The result of the check.
    pub verdict: Verdict,
}

/// Result of a check.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Verdict {
    /// All decisions are the same.
    Same,
    /// A decision differs. This is the first one.
    Differs(Box<Difference>),
    /// The decisions cannot be checked, for this reason.
    NotChecked(String),
}

/// The first decision that differs.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Difference {
    /// The number of the decision, from 1.
    pub decision: u64,
    /// Its time in nanoseconds on the steady clock.
    pub at_ns: u64,
    /// The nanoseconds from the first event of the recording to the decision.
    pub since_begin_ns: u64,
    /// The number of the executor's thread.
    pub thread: u16,
    /// The recorded choice; `None` if nothing was run.
    pub recorded: Option<Candidate>,
    /// The choice of the replay; `None` if nothing would run.
    pub replayed: Option<Candidate>,
    /// Description of the difference, if it is not the choice itself.
    pub what: Option<String>,
    /// The activations that were ready before the decision, in the order of registration.
    pub ready: Vec<Candidate>,
    /// The activations that ran or were suspended then.
    pub under_way: Vec<Candidate>,
}

/// A segment that was ready or under way when a decision was made.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Candidate {
    /// The callback's name.
    pub callback: String,
    /// The name of its group.
    pub group: String,
    /// The sequence number of the activation.
    pub sequence: u64,
    /// The number of the segment, from 0.
    pub segment: u32,
    /// The priority.
    pub priority: u32,
    /// The release in nanoseconds on the steady clock.
    pub release_ns: u64,
    /// The absolute deadline in nanoseconds; `None` if it has none.
    pub deadline_ns: Option<u64>,
    /// The place of its entity in the order of registration.
    pub registration: u64,
    /// Its state: waiting, running or suspended.
    pub state: State,
}

/// The state of an activation when a decision was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It may run.
    MayRun,
    /// It may run, and is in the ready set of the last polling point.
    Polled,
    /// Its group is held, or too many activations of its entity are under way.
    Blocked,
    /// A thread runs it.
    Running,
    /// It is suspended at an await.
    Suspended,
}

/// Policies for a replay, in place of the recorded ones.
pub trait Policies {
    /// Returns the policy for an executor with that name, whose policy had the name `recorded`. An error says why there
    /// is none.
    ///
    /// # Errors
    /// If there is no policy of that name.
    fn policy(&self, executor: &str, recorded: &str) -> Result<Box<dyn Policy>, String>;
}

/// The policies of the recording, which are those that come with rospin.
#[derive(Clone, Copy, Debug, Default)]
pub struct AsRecorded;

impl Policies for AsRecorded {
    fn policy(&self, _: &str, recorded: &str) -> Result<Box<dyn Policy>, String> {
        by_name(recorded).map_err(|_| {
            format!(
                "its policy, `{recorded}`, is the program's own, which this command does not have; `replay::check` \
                 takes it in a test of the program"
            )
        })
    }
}

impl<F: Fn(&str, &str) -> Result<Box<dyn Policy>, String>> Policies for F {
    fn policy(&self, executor: &str, recorded: &str) -> Result<Box<dyn Policy>, String> {
        self(executor, recorded)
    }
}

/// Runs the recorded events of all executors through the scheduling core, and compares all decisions.
///
/// ```
/// use rospin_trace::replay::{AsRecorded, Verdict, check};
/// use rospin_trace::Recording;
///
/// # let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden.mcap");
/// for recording in Recording::open(file.as_ref())? {
///     for executor in check(&recording, &AsRecorded) {
///         assert_eq!(executor.verdict, Verdict::Same);
///     }
/// }
/// # Ok::<(), rospin_trace::ReadError>(())
/// ```
#[must_use]
pub fn check(recording: &Recording, policies: &dyn Policies) -> Vec<Replayed> {
    described::executors(recording)
        .iter()
        .map(|described| check_executor(&order(recording, described.number), described, policies))
        .collect()
}

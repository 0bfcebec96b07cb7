//! The events that are noted.

use super::super::program::{Clock, Ms, SpinPlan};
use super::At;

/// The ends of a spin.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum SpinResult {
    Done,
    Halted,
    /// The awaited future resolved.
    Resolved,
    /// The awaited future did not resolve before the end.
    Unresolved,
    Timeout,
    Panicked,
    AlreadySpinning,
    Other(String),
}

/// A change of a timer by its handle.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Change {
    Cancel,
    Reset,
    Period(Ms),
    /// It is next due at that time on its clock.
    Due(Ms),
}

/// The things that a callback or a thread can wait for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum WaitOn {
    /// A sleep on that executor and clock, until a time between these two.
    Sleep { executor: usize, clock: Clock, not_before: Ms, due_by: Ms },
    /// The response to that request.
    Call { item: usize },
    /// The response to that request, for some time. `executor` measures it; `None` if that is unknown.
    Within { item: usize, executor: Option<usize>, not_before: Ms, due_by: Ms },
    /// A service of that name.
    Service { name: usize },
    /// A subscription of that topic.
    Subscription { topic: usize },
    /// A barrier of ROS time.
    Barrier,
    /// Its own wake-up, which has come already.
    Itself,
}

/// A wait outside of callbacks.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Wait {
    pub(crate) task: usize,
    pub(crate) since: At,
    pub(crate) on: WaitOn,
    /// The executor whose spin awaits the future; `None` for an outside thread.
    pub(crate) main_of: Option<usize>,
}

/// An event. Numbers are those of the model's lists.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Event {
    SpinBegins {
        executor: usize,
        plan: SpinPlan,
    },
    SpinEnded {
        executor: usize,
        result: SpinResult,
    },
    DropsExecutor {
        executor: usize,
    },
    DroppedExecutor {
        executor: usize,
    },
    Creates {
        entity: usize,
        life: usize,
    },
    Created {
        life: usize,
        failed: Option<String>,
    },
    Drops {
        life: usize,
    },
    Dropped {
        life: usize,
    },
    Detached {
        life: usize,
    },
    RemovesGroup {
        group: usize,
    },
    RemovedGroup {
        group: usize,
    },
    Changes {
        life: usize,
        change: Change,
    },
    Changed {
        life: usize,
    },
    /// A callback begins with the item that it took.
    Starts {
        entity: usize,
        life: usize,
        run: usize,
        item: Option<usize>,
    },
    /// A callback that had waited goes on.
    GoesOn {
        run: usize,
    },
    Waits {
        run: usize,
        on: WaitOn,
    },
    Suspends {
        run: usize,
    },
    Ends {
        run: usize,
    },
    Panics {
        run: usize,
    },
    /// The future was dropped before its end.
    Abandoned {
        run: usize,
    },
    Publishes {
        topic: usize,
        item: usize,
    },
    Published {
        item: usize,
        queued: usize,
        displaced: usize,
    },
    /// The message was not published for want of room.
    Refused {
        item: usize,
    },
    LooksAtKept {
        topic: usize,
    },
    Kept {
        topic: usize,
        kept: Vec<usize>,
    },
    CreatesQueue {
        queue: usize,
    },
    CreatedQueue {
        queue: usize,
    },
    DropsQueue {
        queue: usize,
    },
    DroppedQueue {
        queue: usize,
    },
    TakesFromQueue {
        queue: usize,
    },
    LookedAtQueue {
        queue: usize,
        length: usize,
    },
    TookFromQueue {
        queue: usize,
        item: Option<usize>,
    },
    SetsWaker {
        queue: usize,
    },
    QueueWakes {
        queue: usize,
    },
    /// The source of an entity is told to close.
    Closes {
        life: usize,
    },
    /// An entity that watches losses is told of them.
    ToldOfLosses {
        life: usize,
        count: u64,
    },
    /// The recorder is switched.
    Records {
        on: bool,
    },
    Calls {
        service: usize,
        item: usize,
    },
    Called {
        item: usize,
    },
    Answered {
        item: usize,
        outcome: String,
    },
    Slept {
        ok: bool,
    },
    Halts {
        executor: usize,
    },
    Halted {
        executor: usize,
    },
    Advances {
        by: Ms,
    },
    Advanced,
    SetsSystem {
        to: Ms,
    },
    AsksRos {
        time: Option<Ms>,
        active: Option<bool>,
    },
    AskedRos,
    RosMoved {
        outcome: String,
    },
    TakesLong {
        executor: Option<usize>,
    },
    HasTakenLong,
    Incident {
        entity: String,
        text: String,
    },
    Blocked {
        task_waits: Option<WaitOn>,
    },
    Unblocked,
    /// All threads are blocked.
    Quiet {
        steady: Ms,
        system: Ms,
        ros: Ms,
        ros_active: bool,
    },
    /// Any other action of a script.
    Did(&'static str),
}

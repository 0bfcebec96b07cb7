//! A model of the engine, which judges a program by what its callbacks and threads note.
//!
//! Callbacks, outside threads and the main thread note what they do, in the order of the model's steps. Taking a note
//! is no step of its own. From the notes the model knows what is surely true and what may be true. For example, a
//! message is surely in the queue once `publish` has returned, and may be there from the call on. A rule counts as
//! broken only if that is sure.
//!
//! A thread of an executor looks at requests between two callbacks. So when it picks a callback, it must have seen
//! everything that came before the last note of its former callback (`outside`). It may have missed what came later.

mod clocks;
mod conservation;
mod event;
mod lives;
mod order;
mod queues;
mod quiet;
mod records;
mod runs;
mod spins;
mod timers;
mod topics;
mod waits;

use std::sync::Arc;

pub(crate) use clocks::Clocks;
pub(crate) use event::{Change, Event, SpinResult, Wait, WaitOn};
pub(crate) use lives::Place;
pub(crate) use lives::{Item, Life};
pub(crate) use order::Picked;
pub(crate) use quiet::Seen;
pub(crate) use records::{Record, Switched};
pub(crate) use runs::{Run, RunState};
pub(crate) use spins::ExecutorState;
pub(crate) use topics::Sent;
pub(crate) use waits::{Arrival, Tick, Ticks};

use super::program::Program;

/// A position in the notes.
pub(crate) type At = usize;

/// The rules that are judged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Rule {
    /// Nothing runs before it is due.
    TooEarly,
    /// Nothing runs after it was dropped or cancelled, or after its group or its executor was dropped.
    Gone,
    /// Nothing runs before a spin begins or after it returned.
    OutsideSpin,
    /// One callback of a mutually exclusive group runs at a time.
    Exclusion,
    /// Nothing that is ready waits while a thread that may run it is idle.
    Forgotten,
    /// Callbacks run in the order of the policy.
    Order,
    /// Every message is taken, kept or counted as lost.
    Loss,
    /// A spin ends when it is told to, and returns the right reason.
    SpinEnd,
    /// Every future resolves once the event that it waits for has come, or never will.
    Future,
    /// ROS time moves once the jump callbacks that can run have run.
    RosTime,
    /// Everything that was created is dropped exactly once.
    Memory,
    /// Streams are not polled after their end.
    Stream,
    /// A recording has what happened while the recorder was on.
    Record,
    /// Every panic is reported once.
    Incident,
    /// The engine neither panics nor goes on for ever.
    Engine,
}

/// A rule that was broken.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    pub(crate) rule: Rule,
    pub(crate) message: String,
}

/// The knowledge of a program that runs.
pub(crate) struct Model {
    pub(crate) program: Arc<Program>,
    /// True if several entities have the same priority.
    has_ties: bool,
    pub(crate) notes: Vec<(usize, Event)>,
    /// The first rule that was broken, and the number of notes before that.
    pub(crate) violation: Option<(Violation, At)>,
    pub(crate) clocks: Clocks,
    /// By thread: the last note that shows it outside of the engine.
    outside: Vec<At>,
    pub(crate) executors: Vec<ExecutorState>,
    /// By the number of the group: the notes between which it was removed.
    pub(crate) removals: Vec<Option<(At, Option<At>)>>,
    pub(crate) lives: Vec<Life>,
    /// Queues without a callback.
    pub(crate) queues: Vec<queues::QueueLife>,
    pub(crate) runs: Vec<Run>,
    /// The numbers of the runs that have not ended, in the order of their beginnings.
    open: Vec<usize>,
    /// Messages, requests and responses, by their number.
    pub(crate) items: Vec<Item>,
    /// The waits of outside threads and awaited futures.
    pub(crate) waits: Vec<Wait>,
    pub(crate) panics: usize,
    pub(crate) incidents: usize,
    /// Threads that block until the next round, and the executor that they belong to if they run no callback.
    gated: Vec<(usize, Option<usize>)>,
    /// By thread: the last pick that a trace reported, with the executor.
    picked: Vec<Option<(usize, Picked)>>,
    /// All picks that traces reported.
    dispatched: Vec<order::Pick>,
    /// The note at which a spin last ended; true if that was within a callback.
    last_end: (At, bool),
    /// The last time that the clock began to move while all threads were blocked.
    woken_by_clock: At,
    /// The last time that all threads were blocked.
    pub(crate) last_quiet: At,
}

impl Model {
    pub(crate) fn new(program: Arc<Program>) -> Self {
        let groups = program.groups.iter().map(|group| group.id + 1).max().unwrap_or(0);
        let executors = ExecutorState::all(&program);
        let has_ties = program.has_ties();
        Self {
            program,
            has_ties,
            notes: Vec::new(),
            violation: None,
            clocks: Clocks::default(),
            outside: Vec::new(),
            executors,
            removals: vec![None; groups],
            lives: Vec::new(),
            queues: Vec::new(),
            runs: Vec::new(),
            open: Vec::new(),
            items: Vec::new(),
            waits: Vec::new(),
            panics: 0,
            incidents: 0,
            gated: Vec::new(),
            picked: Vec::new(),
            dispatched: Vec::new(),
            last_end: (0, false),
            woken_by_clock: 0,
            last_quiet: 0,
        }
    }

    /// Returns the position of the next note.
    pub(crate) fn now(&self) -> At {
        self.notes.len() + 1
    }

    /// Takes a note of the thread `task`.
    pub(crate) fn note(&mut self, task: usize, event: Event) -> At {
        let at = self.now();
        self.notes.push((task, event));
        self.set_outside(task, at);
        at
    }

    pub(crate) fn broken(&mut self, rule: Rule, message: String) {
        let at = self.notes.len();
        self.violation.get_or_insert((Violation { rule, message }, at));
    }

    /// Returns the note up to which the thread must have seen everything when it picked the callback that begins now.
    pub(crate) fn seen_by(&self, task: usize, executor: usize) -> At {
        let outside = self.outside.get(task).copied().unwrap_or(0);
        let spin = self.spin_began(executor).unwrap_or(0);
        outside.max(spin).max(self.last_quiet).max(self.woken_by_clock)
    }

    fn set_outside(&mut self, task: usize, at: At) {
        if self.outside.len() <= task {
            self.outside.resize(task + 1, 0);
        }
        self.outside[task] = at;
        for pick in self.dispatched.iter_mut().filter(|pick| pick.task == task && pick.begun.is_none()) {
            pick.begun = Some(at);
        }
    }

    /// Returns the last `count` notes as text.
    pub(crate) fn story(&self, count: usize) -> String {
        let end = self.violation.as_ref().map_or(self.notes.len(), |(_, at)| (at + 3).min(self.notes.len()));
        let from = end.saturating_sub(count);
        let lines = self.notes[from..end].iter().zip(from + 1..);
        lines.map(|((task, event), at)| format!("{at:4} thread {task}: {event:?}\n")).collect()
    }
}

//! The callbacks of the graph on rospin's executors: what they run, and the callback groups that they are in.

use std::sync::{Arc, Mutex, PoisonError};

use rospin_engine::{CallbackGroup, Context, Executor, ReentrantGroup, Tick, Timer, TimerError, TimerOptions};

use crate::crunch;

use super::graph::Port;
use super::message::Message;
use super::node::Activation;
use super::runner::Settings;
use super::system::Group;
use super::transport::Publish;

/// Callback group of a group of the graph.
pub(super) enum Callbacks {
    /// Its callbacks exclude each other and share the group as payload.
    Exclusive(CallbackGroup<Group>),
    /// Its callbacks run beside each other and share the group behind a mutex.
    Reentrant(ReentrantGroup, Arc<Mutex<Group>>),
}

impl Callbacks {
    /// Creates the callback group on the executor.
    pub(super) fn create(executor: &Executor, is_reentrant: bool, group: Group) -> Self {
        let name = group.spec.name;
        if is_reentrant {
            return Self::Reentrant(executor.create_reentrant_group(name), Arc::new(Mutex::new(group)));
        }
        Self::Exclusive(executor.create_group(name, group))
    }

    /// Creates the timer of the group.
    pub(super) fn create_timer(&self, options: TimerOptions, callback: Callback) -> Result<Timer, TimerError> {
        match self {
            Self::Exclusive(group) => {
                group.create_timer(options, move |group, tick| callback.run(group, Input::Tick(tick)))
            }
            Self::Reentrant(group, state) => {
                let state = Arc::clone(state);
                group.create_timer(options, move |tick| callback.run_beside_others(&state, Input::Tick(tick)))
            }
        }
    }
}

/// What a callback runs for.
pub(super) enum Input {
    /// The sample that the subscription took.
    Message(Arc<Message>),
    /// The tick of the timer.
    Tick(Tick),
}

/// Data of a callback besides its group.
#[derive(Clone)]
pub(super) struct Callback {
    pub(super) port: Port,
    /// Function that publishes on the group's topic; `None` for a command node.
    pub(super) output: Option<Publish>,
    pub(super) context: Context,
    pub(super) settings: Settings,
    /// Start of the run on the context's clock.
    pub(super) started_ns: u64,
}

impl Callback {
    /// Runs the callback on its `group`, and publishes the message that it returns, if any.
    pub(super) fn run(&self, group: &mut Group, input: Input) {
        self.publish(self.run_node(group, input, &mut || self.crunch()));
    }

    /// Does the same on a group that other callbacks use at the same time. The node decides first what there is to do;
    /// its work runs without the mutex.
    pub(super) fn run_beside_others(&self, group: &Mutex<Group>, input: Input) {
        let mut works = 0;
        let output = {
            let mut group = group.lock().unwrap_or_else(PoisonError::into_inner);
            self.run_node(&mut group, input, &mut || works += 1)
        };
        for _ in 0..works {
            self.crunch();
        }
        self.publish(output);
    }

    fn run_node(&self, group: &mut Group, input: Input, crunch: &mut dyn FnMut()) -> Option<Message> {
        let start_ns = self.context.clock().now().as_nanos() - self.started_ns;
        let (message, due_ns) = match input {
            Input::Message(message) => (Some(message), None),
            Input::Tick(tick) => (None, Some(tick.due.as_nanos().saturating_sub(self.started_ns))),
        };
        group.run(self.port, message, Activation { start_ns, due_ns, crunch })
    }

    fn crunch(&self) {
        crunch::crunch(self.settings.crunch, self.settings.calibration);
    }

    fn publish(&self, message: Option<Message>) {
        if let (Some(message), Some(output)) = (message, &self.output) {
            output(message);
        }
    }
}

//! How action servers and clients are set up.

use std::time::Duration;

use rospin_engine::Priority;

use crate::options::Common;

/// How an action server is set up; a plain `&str` is the action's name.
#[derive(Clone, Debug)]
pub struct ActionServerOptions {
    pub(crate) action: String,
    pub(crate) name: Option<String>,
    pub(crate) priority: Option<Priority>,
    pub(crate) max_executing: Option<u32>,
    pub(crate) max_goals: usize,
    pub(crate) result_timeout: Duration,
}

impl ActionServerOptions {
    /// A server of the action that executes up to 16 goals at once, has room for 1024, and keeps results for 10 seconds.
    #[must_use]
    pub fn new(action: impl Into<String>) -> Self {
        Self {
            action: action.into(),
            name: None,
            priority: None,
            max_executing: None,
            max_goals: 1024,
            result_timeout: Duration::from_secs(10),
        }
    }

    /// Sets what the names of its entities begin with, under which they appear in messages, traces, chains and deployment
    /// files. By default group and action: `arm/fibonacci/send_goal`, and so `cancel_goal`, `get_result`, `execute`, `expire`.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the urgency of all of its entities. A deployment file can tell them apart, by their names.
    #[must_use]
    pub const fn priority(mut self, priority: Priority) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Sets how many of the callbacks that execute goals are under way at once; at least 1, at most 1024. Other goals wait
    /// for their turn, also those that somebody asks to cancel meanwhile: with 1, goals are executed one after the other.
    #[must_use]
    pub fn max_executing(mut self, count: u32) -> Self {
        self.max_executing = Some(count);
        self
    }

    /// Sets how many goals it remembers; at least 1. If all of them are active, a new one is rejected; otherwise the one that
    /// ended first is forgotten for it, although its result may still be asked for.
    #[must_use]
    pub fn max_goals(mut self, count: usize) -> Self {
        self.max_goals = count.max(1);
        self
    }

    /// Sets how long results can be asked for after their goals ended, on the steady clock; [`Duration::MAX`] for as long as
    /// there is [room](Self::max_goals).
    #[must_use]
    pub const fn result_timeout(mut self, timeout: Duration) -> Self {
        self.result_timeout = timeout;
        self
    }
}

impl From<&str> for ActionServerOptions {
    fn from(action: &str) -> Self {
        Self::new(action)
    }
}

/// How an action client is set up; a plain `&str` is the action's name.
#[derive(Clone, Debug)]
pub struct ActionClientOptions {
    pub(crate) action: String,
    pub(crate) name: Option<String>,
    pub(crate) priority: Option<Priority>,
    pub(crate) feedback_depth: usize,
}

impl ActionClientOptions {
    /// A client of the action, which need not be there yet, that keeps the last 10 feedbacks.
    #[must_use]
    pub fn new(action: impl Into<String>) -> Self {
        Self { action: action.into(), name: None, priority: None, feedback_depth: 10 }
    }

    /// Sets the name of its group, with which the name of its entity begins; by default `action_client/` and the action.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets how urgent feedback and status are.
    #[must_use]
    pub const fn priority(mut self, priority: Priority) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Sets how much feedback is kept: by the middleware for all goals of the action, including those of other clients, and
    /// besides for each goal of its own. The oldest makes room for a new one, and is counted as lost. At least 1.
    #[must_use]
    pub fn keep_feedback(mut self, depth: usize) -> Self {
        self.feedback_depth = depth.max(1);
        self
    }
}

impl From<&str> for ActionClientOptions {
    fn from(action: &str) -> Self {
        Self::new(action)
    }
}

/// The options of one entity of several, called `name` and then `part`.
pub(crate) fn entity(name: &str, part: &str, priority: Option<Priority>) -> Common {
    Common::named(format!("{name}/{part}"), priority)
}

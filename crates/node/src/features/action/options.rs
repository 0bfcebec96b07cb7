//! Options of action servers and clients.

use std::time::Duration;

use rospin_engine::Priority;

use crate::options::Common;

/// Options of an action server. A plain `&str` is the action's name.
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
    /// Returns the options of a server that executes up to 16 goals at once, has room for 1024, and keeps results for
    /// 10 seconds after the goals' ends.
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

    /// Sets the prefix of the names that the server's entities have in messages, traces, chains and deployment files.
    /// The default consists of the names of node, group and action, such as `arm/fibonacci` in the own group of node
    /// `arm`. The entities are then `arm/fibonacci/send_goal`, and likewise `cancel_goal`, `get_result`, `execute` and
    /// `expire`.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the priority of all entities of the server. A deployment file can set the priorities one by one, by the
    /// entities' names.
    #[must_use]
    pub const fn priority(mut self, priority: Priority) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Sets the number of goals that are executed at once: by default 16, at least 1, at most 1024. Other accepted
    /// goals wait, even if a client asks to cancel them meanwhile. With 1, goals are executed one after the other.
    #[must_use]
    pub fn max_executing(mut self, count: u32) -> Self {
        self.max_executing = Some(count);
        self
    }

    /// Sets the number of goals that the server remembers, those that have ended included: by default 1024, at least 1.
    /// If none of them has ended, a new goal is rejected. Otherwise a new goal takes the place of the goal that ended
    /// first, even if the result of that goal may still be requested.
    ///
    /// As many requests of each kind (goals, results, requests to cancel) wait for the executor, but at least 10 and at
    /// most 8192. Further ones displace the oldest, which are counted by
    /// [`lost`](super::ActionServer::lost). A deployment file sets the depths one by one, by the entities' names.
    #[must_use]
    pub fn max_goals(mut self, count: usize) -> Self {
        self.max_goals = count.max(1);
        self
    }

    /// Sets the time for which results can be requested after their goals ended, on the steady clock: by default 10
    /// seconds. [`Duration::MAX`] keeps them as long as there is [room](Self::max_goals).
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

/// Options of an action client. A plain `&str` is the action's name.
#[derive(Clone, Debug)]
pub struct ActionClientOptions {
    pub(crate) action: String,
    pub(crate) name: Option<String>,
    pub(crate) priority: Option<Priority>,
    pub(crate) feedback_depth: usize,
}

impl ActionClientOptions {
    /// Returns the options of a client that keeps the last 10 feedback messages. The action need not exist yet.
    #[must_use]
    pub fn new(action: impl Into<String>) -> Self {
        Self { action: action.into(), name: None, priority: None, feedback_depth: 10 }
    }

    /// Sets the prefix of the names that the client's entities have in messages, traces, chains and deployment files.
    /// The entities are `feedback`, `server_gone` and `grace`, such as `arm/fibonacci/feedback`. The default consists
    /// of the names of node, group and action. A client that is created on a node, not on a group, creates a group of
    /// that name, by default `action_client/` and the action: its entities are then
    /// `arm/action_client/fibonacci/feedback` and so on.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the priority of all entities of the client.
    #[must_use]
    pub const fn priority(mut self, priority: Priority) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Sets the number of feedback messages that are kept, by default 10, at least 1: by the middleware for all goals
    /// of the action, including those of other clients, and again for each goal of this client. If there is no room,
    /// the oldest message is displaced, and counted as lost.
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

/// Returns the options of one of several entities, called `name/part`.
pub(crate) fn entity(name: &str, part: &str, priority: Option<Priority>) -> Common {
    Common::named(&format!("{name}/{part}"), priority)
}

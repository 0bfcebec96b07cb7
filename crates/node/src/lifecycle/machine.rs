//! States and transitions of a managed node, as data and pure functions.
//!
//! ```text
//!                     configure            activate
//!     unconfigured ─────────────▶ inactive ─────────▶ active
//!           ▲      ◀─────────────          ◀─────────    │
//!           │         cleanup             deactivate     │
//!           │            any of the three: shutdown      ▼
//!     on_error: success                              finalized ◀── on_error: failure, error
//! ```
//!
//! Every arrow leads through a transition state, in which the callback of that name runs. Its result selects the next
//! state.

use std::fmt;

use rospin_engine::Time;

use crate::interfaces::lifecycle_msgs as msgs;

/// A state of a [`LifecycleNode`](crate::LifecycleNode), with the number that ROS 2 gives it.
///
/// ```
/// use rospin_node::lifecycle::{State, Transition};
///
/// assert_eq!(State::from_id(3), Some(State::Active));
/// assert_eq!((State::Active.id(), State::Active.label(), Transition::Activate.label()), (3, "active", "activate"));
/// assert!(State::Activating.is_transition() && !State::Active.is_transition());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum State {
    /// A state that rospin's nodes never have. ROS 2 defines it for tools.
    Unknown = 0,
    /// The first state: nothing is set up.
    Unconfigured = 1,
    /// The node is set up, and does not work: its publishers are silent.
    Inactive = 2,
    /// The node works: its publishers send.
    Active = 3,
    /// The node has ended. No transition leads out of this state.
    Finalized = 4,
    /// `on_configure` runs.
    Configuring = 10,
    /// `on_cleanup` runs.
    CleaningUp = 11,
    /// `on_shutdown` runs.
    ShuttingDown = 12,
    /// `on_activate` runs.
    Activating = 13,
    /// `on_deactivate` runs.
    Deactivating = 14,
    /// `on_error` runs.
    ErrorProcessing = 15,
}

impl State {
    /// All states, in the order of their numbers.
    pub const ALL: [Self; 11] = [
        Self::Unknown,
        Self::Unconfigured,
        Self::Inactive,
        Self::Active,
        Self::Finalized,
        Self::Configuring,
        Self::CleaningUp,
        Self::ShuttingDown,
        Self::Activating,
        Self::Deactivating,
        Self::ErrorProcessing,
    ];

    /// Returns the number that ROS 2 gives the state.
    #[must_use]
    pub const fn id(self) -> u8 {
        self as u8
    }

    /// Returns the state with that number, or `None` if ROS 2 defines none.
    #[must_use]
    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.id() == id)
    }

    /// Returns the name that ROS 2 gives the state.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Unconfigured => "unconfigured",
            Self::Inactive => "inactive",
            Self::Active => "active",
            Self::Finalized => "finalized",
            Self::Configuring => "configuring",
            Self::CleaningUp => "cleaningup",
            Self::ShuttingDown => "shuttingdown",
            Self::Activating => "activating",
            Self::Deactivating => "deactivating",
            Self::ErrorProcessing => "errorprocessing",
        }
    }

    /// Returns true if a transition's callback runs in this state, after which the node leaves the state by itself.
    #[must_use]
    pub const fn is_transition(self) -> bool {
        self.id() >= Self::Configuring.id()
    }
}

impl State {
    /// Returns the state as a message.
    pub(super) fn message(self) -> msgs::State {
        msgs::State { id: self.id(), label: self.label().to_owned() }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// A transition that can be requested of a node.
///
/// ```
/// use rospin_node::lifecycle::Transition;
///
/// assert_eq!(Transition::Configure.label(), "configure");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Transition {
    /// From unconfigured to inactive.
    Configure,
    /// From inactive back to unconfigured.
    Cleanup,
    /// From inactive to active.
    Activate,
    /// From active back to inactive.
    Deactivate,
    /// From unconfigured, inactive or active to finalized.
    Shutdown,
}

impl Transition {
    /// Returns the name that ROS 2 gives the transition.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Configure => "configure",
            Self::Cleanup => "cleanup",
            Self::Activate => "activate",
            Self::Deactivate => "deactivate",
            Self::Shutdown => "shutdown",
        }
    }
}

impl fmt::Display for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// The result of a transition's callback, which selects the next state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum End {
    Success,
    Failure,
    Error,
}

/// A transition between two states, with the number and the name that ROS 2 gives it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Edge {
    /// Number of the transition.
    pub id: u8,
    /// Name of the transition. It is not unique: the three shutdowns share one, and so do equal results of different
    /// callbacks.
    pub label: &'static str,
    /// State in which the transition starts.
    pub start: State,
    /// State to which the transition leads.
    pub goal: State,
}

const fn edge(id: u8, label: &'static str, start: State, goal: State) -> Edge {
    Edge { id, label, start, goal }
}

/// Returns the edge out of a transition state. The last digit of its number is the result: 0 success, 1 failure, 2
/// error.
const fn end(id: u8, start: State, goal: State) -> Edge {
    let label = match id % 10 {
        0 => "transition_success",
        1 => "transition_failure",
        _ => "transition_error",
    };
    Edge { id, label, start, goal }
}

impl Edge {
    /// Returns the transition as a message.
    pub(super) fn message(&self) -> msgs::Transition {
        msgs::Transition { id: self.id, label: self.label.to_owned() }
    }

    /// Returns the message that reports that a node took this transition.
    pub(super) fn event(&self, at: Time) -> msgs::TransitionEvent {
        let event = msgs::TransitionEvent {
            transition: self.message(),
            start_state: self.start.message(),
            goal_state: self.goal.message(),
            ..msgs::TransitionEvent::default()
        };
        event.at(at)
    }
}

/// All transitions between two states.
pub const EDGES: [Edge; 25] = {
    use State::{
        Activating, Active, CleaningUp, Configuring, Deactivating, ErrorProcessing, Finalized, Inactive, ShuttingDown,
        Unconfigured,
    };
    [
        edge(1, "configure", Unconfigured, Configuring),
        end(10, Configuring, Inactive),
        end(11, Configuring, Unconfigured),
        end(12, Configuring, ErrorProcessing),
        edge(2, "cleanup", Inactive, CleaningUp),
        end(20, CleaningUp, Unconfigured),
        end(21, CleaningUp, Inactive),
        end(22, CleaningUp, ErrorProcessing),
        edge(3, "activate", Inactive, Activating),
        end(30, Activating, Active),
        end(31, Activating, Inactive),
        end(32, Activating, ErrorProcessing),
        edge(4, "deactivate", Active, Deactivating),
        end(40, Deactivating, Inactive),
        end(41, Deactivating, Active),
        end(42, Deactivating, ErrorProcessing),
        edge(5, "shutdown", Unconfigured, ShuttingDown),
        edge(6, "shutdown", Inactive, ShuttingDown),
        edge(7, "shutdown", Active, ShuttingDown),
        end(50, ShuttingDown, Finalized),
        // A failure of `on_shutdown` finalizes the node, too.
        end(51, ShuttingDown, Finalized),
        end(52, ShuttingDown, ErrorProcessing),
        end(60, ErrorProcessing, Unconfigured),
        end(61, ErrorProcessing, Finalized),
        end(62, ErrorProcessing, Finalized),
    ]
};

/// A requested transition, by its number or its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Ask {
    Label(String),
    Id(u8),
}

impl From<Transition> for Ask {
    fn from(transition: Transition) -> Self {
        Self::Label(transition.label().to_owned())
    }
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Label(label) => write!(f, "`{label}`"),
            Self::Id(id) => match EDGES.iter().find(|edge| edge.id == *id) {
                Some(edge) => write!(f, "`{}` (number {id}, of a node that is {})", edge.label, edge.start),
                None => write!(f, "number {id}"),
            },
        }
    }
}

/// Returns the edges that can be requested in a state.
pub(crate) fn ways_from(state: State) -> impl Iterator<Item = &'static Edge> {
    let edges = EDGES.iter().filter(move |edge| edge.start == state);
    // A transition state is left only by the result of its callback.
    edges.filter(move |_| !state.is_transition())
}

/// Returns the edge that a node in `state` takes on that request, or `None` if it must be refused.
pub(crate) fn begin(state: State, ask: &Ask) -> Option<&'static Edge> {
    ways_from(state).find(|edge| match ask {
        Ask::Label(label) => edge.label == label,
        Ask::Id(id) => edge.id == *id,
    })
}

/// Returns the edge out of a transition state whose callback ended with that result, or `None` for any other state.
pub(crate) fn finish(state: State, end: End) -> Option<&'static Edge> {
    let digit = match end {
        End::Success => 0,
        End::Failure => 1,
        End::Error => 2,
    };
    EDGES.iter().find(|edge| state.is_transition() && edge.start == state && edge.id % 10 == digit)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Returns the state of a node after `label` was requested in `state` and the callback ended with `result`.
    fn after(state: State, label: &str, result: End) -> Option<State> {
        let edge = begin(state, &Ask::Label(label.to_owned()))?;
        finish(edge.goal, result).map(|edge| edge.goal)
    }

    #[test]
    fn every_callback_has_its_three_ways_out() {
        use State::{Active, ErrorProcessing, Finalized, Inactive, Unconfigured};
        let ways = [
            ("configure", Unconfigured, Inactive, Unconfigured),
            ("cleanup", Inactive, Unconfigured, Inactive),
            ("activate", Inactive, Active, Inactive),
            ("deactivate", Active, Inactive, Active),
            ("shutdown", Unconfigured, Finalized, Finalized),
            ("shutdown", Inactive, Finalized, Finalized),
            ("shutdown", Active, Finalized, Finalized),
        ];
        for (label, start, success, failure) in ways {
            assert_eq!(after(start, label, End::Success), Some(success), "{label}");
            assert_eq!(after(start, label, End::Failure), Some(failure), "{label}");
            assert_eq!(after(start, label, End::Error), Some(ErrorProcessing), "{label}");
        }
        let errors = [End::Success, End::Failure, End::Error].map(|end| finish(ErrorProcessing, end).unwrap().goal);
        assert_eq!(errors, [Unconfigured, Finalized, Finalized]);
    }

    #[test]
    fn only_these_can_be_asked_for() {
        let ways = |state| ways_from(state).map(|edge| edge.label).collect::<Vec<_>>();
        assert_eq!(ways(State::Unconfigured), ["configure", "shutdown"]);
        assert_eq!(ways(State::Inactive), ["cleanup", "activate", "shutdown"]);
        assert_eq!(ways(State::Active), ["deactivate", "shutdown"]);
        for state in State::ALL.into_iter().filter(|state| state.is_transition() || state.id() % 4 == 0) {
            assert!(ways(state).is_empty(), "{state}");
        }
        assert_eq!(begin(State::Inactive, &Ask::Id(6)).unwrap().goal, State::ShuttingDown);
        assert_eq!(begin(State::Inactive, &Ask::Id(5)), None, "that is the shutdown of an unconfigured node");
        assert_eq!(begin(State::Configuring, &Ask::Id(10)), None, "results are not for asking");
        assert_eq!(finish(State::Active, End::Success), None);
    }

    #[test]
    fn numbers_are_unique_and_lead_back() {
        assert_eq!(EDGES.iter().map(|edge| edge.id).collect::<BTreeSet<_>>().len(), EDGES.len());
        for state in State::ALL {
            assert_eq!(State::from_id(state.id()), Some(state));
        }
        assert_eq!(State::from_id(5), None);
    }
}

//! States of a goal, and the events that lead from one to another.
//!
//! ```text
//!              Execute               Succeed
//!  ACCEPTED ------------> EXECUTING ----------> SUCCEEDED
//!     |                    |   |                  ^
//!     | RequestCancel      |   +-- Abort ------+  | Succeed
//!     |                    | RequestCancel     v  |
//!     +-------------> CANCELING -- Abort --> ABORTED
//!                         |
//!                         +-- Cancel -> CANCELED
//! ```

use crate::interfaces::action_msgs::GoalStatus;

/// The state of a goal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum GoalState {
    /// The server has accepted the goal, and its execution has not begun.
    Accepted,
    /// The goal is being executed.
    Executing,
    /// The server agreed to cancel the goal. The execution continues until it notices.
    Canceling,
    /// The goal succeeded. A terminal state.
    Succeeded,
    /// The goal was canceled because a client asked for it. A terminal state.
    Canceled,
    /// The server ended the goal without success. A terminal state.
    Aborted,
}

/// An event in the life of a goal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum GoalEvent {
    /// The execution begins.
    Execute,
    /// The server agrees to cancel the goal.
    RequestCancel,
    /// The goal succeeds.
    Succeed,
    /// The goal ends without success.
    Abort,
    /// The execution ends because the goal was canceled.
    Cancel,
}

impl GoalState {
    /// All states of a goal.
    pub const ALL: [Self; 6] =
        [Self::Accepted, Self::Executing, Self::Canceling, Self::Succeeded, Self::Canceled, Self::Aborted];

    /// Returns the state after the event, or `None` if the event cannot happen in this state.
    #[must_use]
    pub const fn after(self, event: GoalEvent) -> Option<Self> {
        match (self, event) {
            (Self::Accepted, GoalEvent::Execute) => Some(Self::Executing),
            (Self::Accepted | Self::Executing, GoalEvent::RequestCancel) => Some(Self::Canceling),
            (Self::Executing | Self::Canceling, GoalEvent::Succeed) => Some(Self::Succeeded),
            (Self::Executing | Self::Canceling, GoalEvent::Abort) => Some(Self::Aborted),
            (Self::Canceling, GoalEvent::Cancel) => Some(Self::Canceled),
            _ => None,
        }
    }

    /// Returns true if the goal has ended.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Canceled | Self::Aborted)
    }

    /// Returns the number of the state in [`GoalStatus::status`].
    #[must_use]
    pub const fn status(self) -> i8 {
        match self {
            Self::Accepted => GoalStatus::STATUS_ACCEPTED,
            Self::Executing => GoalStatus::STATUS_EXECUTING,
            Self::Canceling => GoalStatus::STATUS_CANCELING,
            Self::Succeeded => GoalStatus::STATUS_SUCCEEDED,
            Self::Canceled => GoalStatus::STATUS_CANCELED,
            Self::Aborted => GoalStatus::STATUS_ABORTED,
        }
    }

    /// Returns the state with that number in [`GoalStatus::status`], or `None` if the number is unknown.
    #[must_use]
    pub fn from_status(status: i8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.status() == status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: [GoalEvent; 5] =
        [GoalEvent::Execute, GoalEvent::RequestCancel, GoalEvent::Succeed, GoalEvent::Abort, GoalEvent::Cancel];

    #[test]
    fn transitions_are_those_of_the_design_and_no_others() {
        use GoalEvent as E;
        use GoalState as S;
        let transitions: Vec<_> = S::ALL
            .into_iter()
            .flat_map(|from| EVENTS.into_iter().filter_map(move |event| Some((from, event, from.after(event)?))))
            .collect();
        assert_eq!(
            transitions,
            [
                (S::Accepted, E::Execute, S::Executing),
                (S::Accepted, E::RequestCancel, S::Canceling),
                (S::Executing, E::RequestCancel, S::Canceling),
                (S::Executing, E::Succeed, S::Succeeded),
                (S::Executing, E::Abort, S::Aborted),
                (S::Canceling, E::Succeed, S::Succeeded),
                (S::Canceling, E::Abort, S::Aborted),
                (S::Canceling, E::Cancel, S::Canceled),
            ]
        );
    }

    #[test]
    fn nothing_leads_out_of_a_last_state() {
        for state in GoalState::ALL {
            assert_eq!(state.is_terminal(), EVENTS.iter().all(|event| state.after(*event).is_none()), "{state:?}");
            assert_eq!(GoalState::from_status(state.status()), Some(state));
        }
        assert_eq!(GoalState::from_status(GoalStatus::STATUS_UNKNOWN), None);
        assert_eq!(GoalState::from_status(7), None);
    }
}

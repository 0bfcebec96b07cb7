//! Actions: goals that take time, give feedback, and can be canceled.
//!
//! An action consists of three services and two topics, all of them ordinary entities of callback groups.
//!
//! The execution of a goal is an activation of an asynchronous callback that releases its group while it awaits. So
//! requests to cancel get through on one thread, and a policy orders executions like everything else. The handle of a
//! goal aborts it when it is dropped, whatever the cause.

mod accepted;
mod book;
mod client;
mod client_goal;
mod core;
mod departed;
mod desk;
mod execution;
mod feedback;
mod goal;
mod id;
mod options;
mod parts;
mod server;
mod servers;
mod signal;
mod state;
mod tracked;

pub use client::{ActionClient, CancelError, SendGoalError};
pub use client_goal::{ClientGoalHandle, GoalOutcome, ResultError};
pub use goal::{GoalHandle, NotCanceling};
pub use id::GoalId;
pub use options::{ActionClientOptions, ActionServerOptions};
pub use rospin_wire::Action;
pub use server::{ActionError, ActionServer, CancelResponse, GoalResponse};
pub use state::{GoalEvent, GoalState};
pub use tracked::FeedbackStream;

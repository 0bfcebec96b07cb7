//! Actions: goals that take time, give feedback, and can be canceled.
//!
//! An action consists of three services and two topics, all of them ordinary entities of callback groups.

mod accepted;
mod book;
mod client;
mod client_goal;
mod core;
mod departed;
mod desk;
mod feedback;
mod goal;
mod id;
mod options;
mod parts;
mod server;
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

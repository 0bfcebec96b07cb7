//! Executions of goals: their beginning, and their end by an error.

use rospin_engine::Failures;
use rospin_wire::Action;

use super::goal::{GoalHandle, GoalTail};
use crate::callback::{Nothing, Returns};

/// What all executions of an action server have in common. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Execution(Failures);

/// The end of one goal's execution.
pub(crate) struct ExecutionEnd<A: Action> {
    failures: Failures,
    goal: GoalTail<A>,
}

impl Execution {
    /// Returns what reports errors of executions by `failures`, that of the entity that executes goals.
    pub(crate) const fn new(failures: Failures) -> Self {
        Self(failures)
    }

    /// Marks the goal as executing, unless it is deferred. Called before the callback that executes it.
    pub(crate) fn begin<A: Action>(&self, goal: &GoalHandle<A>) -> ExecutionEnd<A> {
        if !goal.is_deferred() {
            goal.execute();
        }
        ExecutionEnd { failures: self.0.clone(), goal: goal.tail() }
    }
}

impl<A: Action> ExecutionEnd<A> {
    /// Awaits the execution. If it returns an error, aborts the goal, unless that has ended, and reports the error.
    pub(crate) async fn after<Fut>(self, execution: Fut)
    where
        Fut: Future<Output: Returns<Nothing>>,
    {
        if let Err(reason) = execution.await.value() {
            self.goal.abort();
            self.failures.report(format_args!("goal {}: {reason}", self.goal.id()));
        }
    }
}

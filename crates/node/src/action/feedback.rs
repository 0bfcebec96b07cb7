//! Feedback and status of an action as one source: what is told of a goal's end comes after what was told before.

use std::sync::{Arc, OnceLock};

use rospin::{LossCause, Notifier, Pending, Source, TakeError};

use super::Action;
use super::parts::FeedbackMessage;
use crate::interfaces::action_msgs::GoalStatusArray;

/// What an action server tells all of its clients.
pub(crate) enum News<A: Action> {
    Feedback(FeedbackMessage<A>),
    Status(GoalStatusArray),
}

/// Counts what a goal's queue displaced, with what the middleware's did.
#[derive(Clone, Default)]
pub(crate) struct Lost(Arc<OnceLock<Notifier>>);

impl Lost {
    pub(crate) fn count(&self, cause: LossCause) {
        if let Some(notifier) = self.0.get() {
            notifier.count_lost(cause, 1);
        }
    }
}

/// Two subscriptions. If they were entities of their own, a policy could run the status of a goal that has ended before its
/// last feedback.
pub(crate) struct Merged<F, S> {
    feedback: F,
    status: S,
    /// A status, until the feedback that is older is taken.
    held: Option<GoalStatusArray>,
    lost: Lost,
}

impl<F, S> Merged<F, S> {
    pub(crate) fn new(feedback: F, status: S, lost: Lost) -> Self {
        Self { feedback, status, held: None, lost }
    }
}

impl<A, F, S> Source for Merged<F, S>
where
    A: Action,
    F: Source<Item = FeedbackMessage<A>>,
    S: Source<Item = GoalStatusArray>,
{
    type Item = News<A>;
    type Attachment = (F::Attachment, S::Attachment);

    fn attach(&mut self, notifier: Notifier) -> Result<Self::Attachment, TakeError> {
        // Attached once.
        let _ = self.lost.0.set(notifier.clone());
        Ok((self.feedback.attach(notifier.clone())?, self.status.attach(notifier)?))
    }

    fn try_take(&mut self) -> Result<Option<News<A>>, TakeError> {
        // First the status: whatever feedback is older than it is there by now.
        if self.held.is_none() {
            self.held = self.status.try_take()?;
        }
        if let Some(feedback) = self.feedback.try_take()? {
            return Ok(Some(News::Feedback(feedback)));
        }
        Ok(self.held.take().map(News::Status))
    }

    fn pending(&self) -> Pending {
        // Both are asked in any case: being told that one is empty, it notifies.
        match (self.feedback.pending(), self.status.pending()) {
            _ if self.held.is_some() => Pending::Unknown,
            (Pending::Empty, other) | (other, Pending::Empty) => other,
            (Pending::Since(one), Pending::Since(other)) => Pending::Since(one.min(other)),
            _ => Pending::Unknown,
        }
    }
}

//! Feedback and status of an action as one source, so that the end of a goal is reported after its last feedback.

use std::sync::{Arc, OnceLock};

use rospin_engine::{Closer, LossCause, Notifier, Pending, Source, TakeError};
use rospin_wire::Action;

use super::parts::FeedbackMessage;
use crate::info::Gid;
use crate::interfaces::action_msgs::GoalStatusArray;

/// A message of an action server to all of its clients.
pub(crate) enum News<A: Action> {
    Feedback(FeedbackMessage<A>),
    /// All goals that a server remembers, and the publisher of its status, if that is known.
    Status(GoalStatusArray, Option<Gid>),
}

/// Counter of the feedback that goals' queues displaced: the losses of the entity, which also count what the
/// middleware's queues displaced. Counts nothing before there is an entity.
#[derive(Clone, Default)]
pub(crate) struct Lost(Arc<OnceLock<Notifier>>);

impl Lost {
    pub(crate) fn count(&self, cause: LossCause) {
        if let Some(notifier) = self.0.get() {
            notifier.count_lost(cause, 1);
        }
    }
}

/// A status with its publisher, if that is known.
type Status = (GoalStatusArray, Option<Gid>);

/// Two subscriptions as one source. As two entities, a policy could run the status that ends a goal before the goal's
/// last feedback.
pub(crate) struct Merged<F, S> {
    feedback: F,
    status: S,
    /// The depth of the feedback's queue: so many messages may be older than a status that is taken.
    depth: usize,
    /// A status that waits for older feedback, and how many feedback messages may still be older.
    held: Option<(Status, usize)>,
    lost: Lost,
}

impl<F, S> Merged<F, S> {
    pub(crate) const fn new(feedback: F, status: S, depth: usize, lost: Lost) -> Self {
        Self { feedback, status, depth, held: None, lost }
    }
}

impl<A, F, S> Source for Merged<F, S>
where
    A: Action,
    F: Source<Item = FeedbackMessage<A>>,
    S: Source<Item = Status>,
{
    type Item = News<A>;
    type Attachment = (F::Attachment, S::Attachment);

    fn attach(&mut self, notifier: Notifier) -> Result<Self::Attachment, TakeError> {
        // A source is attached only once.
        let _ = self.lost.0.set(notifier.clone());
        Ok((self.feedback.attach(notifier.clone())?, self.status.attach(notifier)?))
    }

    fn try_take(&mut self) -> Result<Option<News<A>>, TakeError> {
        // The status is taken first: all feedback that is older than it has arrived by then.
        if self.held.is_none() {
            self.held = self.status.try_take()?.map(|status| (status, self.depth));
        }
        // At most `depth` feedback messages are taken before a status, so that fast feedback cannot delay it for ever.
        let may_be_older = self.held.as_ref().is_none_or(|(_, older)| *older > 0);
        if may_be_older {
            let taken = self.feedback.try_take();
            if let (Some((_, older)), Ok(Some(_)) | Err(_)) = (&mut self.held, &taken) {
                *older -= 1;
            }
            if let Some(feedback) = taken? {
                return Ok(Some(News::Feedback(feedback)));
            }
        }
        Ok(self.held.take().map(|((status, publisher), _)| News::Status(status, publisher)))
    }

    fn pending(&self) -> Pending {
        // Both are called, because a source that answers `Empty` notifies of its next item.
        match (self.feedback.pending(), self.status.pending()) {
            _ if self.held.is_some() => Pending::Unknown,
            (Pending::Empty, other) | (other, Pending::Empty) => other,
            (Pending::Since(one), Pending::Since(other)) => Pending::Since(one.min(other)),
            _ => Pending::Unknown,
        }
    }

    fn closer(&self) -> Option<Closer> {
        let closers = [self.feedback.closer(), self.status.closer()];
        Some(Box::new(move || {
            for close in closers.iter().flatten() {
                close();
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::interfaces::action_msgs::GoalStatus;
    use crate::interfaces::unique_identifier_msgs::UUID;

    enum Count {}

    impl Action for Count {
        type Goal = i32;
        type Result = i32;
        type Feedback = i32;
        const TYPE: &str = "test_interfaces/action/Count";
    }

    struct Fake<T>(VecDeque<T>);

    impl<T: Send + 'static> Source for Fake<T> {
        type Item = T;
        type Attachment = ();

        fn attach(&mut self, _: Notifier) -> Result<(), TakeError> {
            Ok(())
        }

        fn try_take(&mut self) -> Result<Option<T>, TakeError> {
            Ok(self.0.pop_front())
        }

        fn pending(&self) -> Pending {
            if self.0.is_empty() { Pending::Empty } else { Pending::Unknown }
        }
    }

    #[test]
    fn a_status_does_not_wait_for_feedback_that_came_after_it() {
        let feedback = |feedback| FeedbackMessage::<Count> { goal_id: UUID::default(), feedback };
        let statuses = GoalStatusArray { status_list: vec![GoalStatus::default()] };
        let depth = 3;
        let older = Fake((0..3).map(feedback).collect());
        let mut merged = Merged::new(older, Fake([(statuses, None)].into()), depth, Lost::default());
        let mut taken = Vec::new();
        // For each feedback message that is taken, another one arrives.
        for next in 3..10 {
            match Source::try_take(&mut merged).unwrap().unwrap() {
                News::<Count>::Feedback(message) => taken.push(Some(message.feedback)),
                News::Status(..) => taken.push(None),
            }
            merged.feedback.0.push_back(feedback(next));
        }
        assert_eq!(taken, [Some(0), Some(1), Some(2), None, Some(3), Some(4), Some(5)]);
    }
}

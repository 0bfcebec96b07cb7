//! Queues without a callback, and their wakers.

use super::super::program::{Clock, Ms, QueuePlan};
use super::lives::Place;
use super::topics::Receiver;
use super::{At, Event, Model, Rule};

/// A queue, from its creation to its end.
#[derive(Clone, Debug)]
pub(crate) struct QueueLife {
    pub(crate) plan: QueuePlan,
    creating: At,
    created: Option<At>,
    created_by: Ms,
    dropping: Option<At>,
    closed: Option<At>,
    pub(crate) taken: Vec<usize>,
    /// The notes between which threads took, or take.
    takes: Vec<(At, Option<At>)>,
    /// The number of threads that set its waker, and the note since which it has one.
    setting: usize,
    waker: Option<At>,
    /// The calls of its wakers, with their threads.
    woken: Vec<(usize, At)>,
    lost: u64,
}

impl QueueLife {
    pub(super) fn receiver(&self) -> Receiver<'_> {
        let inbox = self.plan.inbox;
        Receiver {
            place: Place::Topic(inbox.topic),
            depth: inbox.depth,
            keeps_all: inbox.keeps_all,
            is_late: inbox.is_late,
            creating: self.creating,
            created: self.created,
            created_by: self.created_by,
            dropping: self.dropping,
            closed: self.closed,
            taken: &self.taken,
            is_broken: false,
        }
    }

    /// Returns true if no other thread takes, or has taken since then.
    fn is_alone(&self, since: At) -> bool {
        let overlaps = |take: &&(At, Option<At>)| take.0 != since && take.1.is_none_or(|end| end > since);
        !self.takes.iter().any(|take| overlaps(&take))
    }
}

impl Model {
    pub(crate) fn creates_queue(&mut self, task: usize, plan: QueuePlan) -> usize {
        let queue = self.queues.len();
        let creating = self.note(task, Event::CreatesQueue { queue });
        self.queues.push(QueueLife {
            plan,
            creating,
            created: None,
            created_by: 0,
            dropping: None,
            closed: None,
            taken: Vec::new(),
            takes: Vec::new(),
            setting: 0,
            waker: None,
            woken: Vec::new(),
            lost: 0,
        });
        queue
    }

    pub(crate) fn created_queue(&mut self, task: usize, queue: usize) {
        let at = self.note(task, Event::CreatedQueue { queue });
        self.queues[queue].created = Some(at);
        self.queues[queue].created_by = self.clocks.reading_max(Clock::Steady);
    }

    pub(crate) fn drops_queue(&mut self, task: usize, queue: usize) {
        let at = self.note(task, Event::DropsQueue { queue });
        self.queues[queue].dropping.get_or_insert(at);
    }

    /// Notes that a thread has given up the queue; `is_last` tells that it was the last one.
    pub(crate) fn dropped_queue(&mut self, task: usize, queue: usize, is_last: bool) {
        let at = self.note(task, Event::DroppedQueue { queue });
        if is_last {
            self.queues[queue].closed.get_or_insert(at);
        }
    }

    pub(crate) fn takes_from_queue(&mut self, task: usize, queue: usize) -> At {
        let at = self.note(task, Event::TakesFromQueue { queue });
        self.queues[queue].takes.push((at, None));
        at
    }

    /// Judges what a queue said of itself: its length, whether it is empty, and the time of its oldest message.
    pub(crate) fn looked_at_queue(
        &mut self,
        task: usize,
        queue: usize,
        begin: At,
        (length, is_empty, oldest): (usize, bool, Option<Ms>),
    ) {
        self.note(task, Event::LookedAtQueue { queue, length });
        let life = &self.queues[queue];
        let surely = self.surely_queued(&life.receiver(), begin).is_some() && life.is_alone(begin);
        let depth = life.plan.inbox.depth;
        let now = self.clocks.reading_max(Clock::Steady);
        if length > depth || oldest.is_some_and(|oldest| oldest > now) {
            let message =
                format!("queue {queue} of depth {depth} says {length}, and {oldest:?} of its oldest at {now}");
            self.broken(Rule::Loss, message);
        }
        if surely && (is_empty || length == 0 || oldest.is_none()) {
            let message =
                format!("queue {queue} says {length}, empty: {is_empty}, oldest {oldest:?}, and has a message");
            self.broken(Rule::Loss, message);
        }
    }

    pub(crate) fn took_from_queue(&mut self, task: usize, queue: usize, begin: At, item: Option<usize>) {
        let at = self.note(task, Event::TookFromQueue { queue, item });
        let life = self.queues[queue].clone();
        let is_alone = life.is_alone(begin);
        match item {
            Some(item) => {
                self.judge_taken(&life.receiver(), &format!("queue {queue}"), item, is_alone);
                self.items[item].taken = Some(at);
                self.queues[queue].taken.push(item);
            }
            None if is_alone && self.surely_queued(&life.receiver(), begin).is_some() => {
                self.broken(Rule::Loss, format!("queue {queue} had nothing to take, and has a message"));
            }
            None => {}
        }
        if let Some(take) = self.queues[queue].takes.iter_mut().find(|take| take.0 == begin) {
            take.1 = Some(at);
        }
    }

    pub(crate) fn queue_lost(&mut self, queue: usize, lost: u64) {
        let life = &mut self.queues[queue];
        life.lost = life.lost.max(lost);
    }

    // ---- wakers ----

    pub(crate) fn sets_waker(&mut self, task: usize, queue: usize) {
        self.note(task, Event::SetsWaker { queue });
        self.queues[queue].setting += 1;
    }

    pub(crate) fn set_waker(&mut self, task: usize, queue: usize) {
        let at = self.note(task, Event::Did("set the waker"));
        self.queues[queue].setting -= 1;
        self.queues[queue].waker.get_or_insert(at);
    }

    pub(crate) fn queue_wakes(&mut self, task: usize, queue: usize) {
        let at = self.note(task, Event::QueueWakes { queue });
        self.queues[queue].woken.push((task, at));
    }

    /// Judges that the publisher's thread has called the wakers of all queues that surely got the message.
    pub(super) fn judge_wakers(&mut self, task: usize, topic: usize, item: usize) {
        let sending = self.items[item].sending;
        let is_forgotten = |life: &QueueLife| {
            let got = life.plan.inbox.topic == topic && life.created.is_some() && life.dropping.is_none();
            let is_woken = life.woken.iter().any(|(by, at)| *by == task && *at > sending);
            got && life.waker.is_some_and(|since| since < sending) && !is_woken
        };
        if let Some(queue) = self.queues.iter().position(is_forgotten) {
            let message = format!("queue {queue} got message {item}, and its waker was not called");
            self.broken(Rule::Forgotten, message);
        }
    }

    /// Judges the queues of that plan once everything was dropped: `all` is the number of messages that they lost.
    pub(super) fn judge_queue(&mut self, plan: QueuePlan, all: u64) {
        let (mut least, mut most, mut taken, mut told) = (0, 0, 0, 0);
        for life in self.queues.iter().filter(|life| life.plan.id == plan.id) {
            let (at_least, at_most) = self.sent_to(&life.receiver());
            least += at_least;
            most += at_most;
            taken += life.taken.len();
            told += life.lost;
        }
        let accounted = taken + all as usize;
        if accounted < least || accounted > most || told > all {
            let message = format!(
                "queue {} gave {taken} messages and lost {all}, of which it told {told}; {least} to {most} were sent to it",
                plan.id
            );
            self.broken(Rule::Loss, message);
        }
    }
}

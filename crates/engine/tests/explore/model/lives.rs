//! The lives of entities from creation to end, and the items that they take.

use super::super::program::{EntityPlan, Kind, Ms};
use super::timers::TimerModel;
use super::{At, Event, Model};

/// The life of an entity, from one creation to its end.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    /// Number of the entity's plan.
    pub(crate) entity: usize,
    pub(crate) group: usize,
    pub(crate) executor: usize,
    pub(crate) creating: At,
    pub(crate) created: Option<At>,
    /// The note at which it was asked to end. `dropped` is the note at which that was done.
    pub(crate) dropping: Option<At>,
    pub(crate) dropped: Option<At>,
    /// The note from which on it surely got nothing any more: at once if its handle was dropped.
    pub(crate) closed: Option<At>,
    /// True if its callback and its source were surely dropped.
    pub(crate) gone: bool,
    /// Numbers of the items that the entity took.
    pub(crate) taken: Vec<usize>,
    pub(crate) timer: Option<TimerModel>,
    /// True if its source has panicked or ended, so that nothing is known of it.
    pub(crate) broken: bool,
    /// True if its callback panicked and its group removes it for that.
    pub(crate) removed_by_panic: bool,
}

/// A message or a request on its way.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// The topic or service.
    pub(crate) place: Place,
    pub(crate) sending: At,
    pub(crate) sent: Option<At>,
    /// The latest time of its publication.
    pub(crate) stamp_max: Ms,
    /// For a message that was published: the number of queues that got it, and of older items that made room.
    pub(crate) delivery: Option<(usize, usize)>,
    /// For a request: the note at which it was answered.
    pub(crate) answered: Option<At>,
}

/// The topic or service that an item is sent to, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Topic(usize),
    Service(usize),
}

impl Life {
    /// Returns true if the entity surely exists from the note `seen` until now.
    pub(crate) fn is_alive(&self, seen: At) -> bool {
        self.created.is_some_and(|created| created <= seen) && self.dropping.is_none() && !self.broken
    }

    fn takes(plan: &EntityPlan, item: &Item) -> bool {
        match (plan.kind, item.place) {
            (Kind::Subscription { topic, .. }, Place::Topic(of)) => topic == of,
            (Kind::Service { name, .. }, Place::Service(of)) => name == of,
            _ => false,
        }
    }
}

impl Model {
    /// Notes that an entity is about to be created. Returns the number of its life.
    pub(crate) fn creates(&mut self, task: usize, entity: usize) -> usize {
        let life = self.lives.len();
        let at = self.note(task, Event::Creates { entity, life });
        let plan = self.program.entity(entity).expect("it is created from its plan");
        let group = self.program.group(plan.group).expect("its group is there");
        let (group, executor) = (group.id, self.program.runs(group));
        let timer = TimerModel::created(task, plan, at, &self.clocks);
        let dropping = self.removals[group].map(|(from, _)| from).or(self.executors[executor].dropping);
        self.lives.push(Life {
            entity,
            group,
            executor,
            creating: at,
            created: None,
            dropping,
            dropped: None,
            closed: None,
            gone: false,
            taken: Vec::new(),
            timer,
            broken: false,
            removed_by_panic: false,
        });
        life
    }

    pub(crate) fn created(&mut self, task: usize, life: usize, failed: Option<String>) {
        let has_failed = failed.is_some();
        let at = self.note(task, Event::Created { life, failed });
        let clocks = &self.clocks;
        let life = &mut self.lives[life];
        if has_failed {
            life.dropping = Some(life.creating);
            life.dropped = Some(life.creating);
            life.closed = Some(at);
            life.gone = true;
        } else {
            life.created = Some(at);
            if let Some(timer) = &mut life.timer {
                timer.change_ended(task, at, clocks);
            }
        }
    }

    pub(crate) fn drops(&mut self, task: usize, life: usize) {
        let at = self.note(task, Event::Drops { life });
        self.lives[life].dropping.get_or_insert(at);
    }

    pub(crate) fn dropped(&mut self, task: usize, life: usize) {
        let at = self.note(task, Event::Dropped { life });
        self.lives[life].dropped.get_or_insert(at);
        self.lives[life].closed.get_or_insert(at);
    }

    pub(crate) fn removes_group(&mut self, task: usize, group: usize) {
        let at = self.note(task, Event::RemovesGroup { group });
        self.removals[group].get_or_insert((at, None));
        for life in self.lives.iter_mut().filter(|life| life.group == group) {
            life.dropping.get_or_insert(at);
        }
    }

    pub(crate) fn removed_group(&mut self, task: usize, group: usize) {
        let at = self.note(task, Event::RemovedGroup { group });
        if let Some((_, end)) = &mut self.removals[group] {
            *end = Some(at);
        }
        for life in self.lives.iter_mut().filter(|life| life.group == group && life.creating < at) {
            life.dropped.get_or_insert(at);
        }
    }

    /// Notes that an item is about to be sent. Returns its number.
    pub(crate) fn sends(&mut self, task: usize, place: Place) -> usize {
        let item = self.items.len();
        let at = match place {
            Place::Topic(topic) => self.note(task, Event::Publishes { topic, item }),
            Place::Service(service) => self.note(task, Event::Calls { service, item }),
        };
        let stamp_max = Ms::MAX;
        self.items.push(Item { place, sending: at, sent: None, stamp_max, delivery: None, answered: None });
        item
    }

    pub(crate) fn published(&mut self, task: usize, item: usize, queued: usize, displaced: usize) {
        let at = self.note(task, Event::Published { item, queued, displaced });
        self.sent(item, at);
        self.items[item].delivery = Some((queued, displaced));
        let Place::Topic(topic) = self.items[item].place else {
            return;
        };
        let sending = self.items[item].sending;
        let (mut least, mut most) = (0, 0);
        for life in &self.lives {
            let plan = self.program.entity(life.entity);
            if plan.is_none_or(|plan| !matches!(plan.kind, Kind::Subscription { topic: of, .. } if of == topic)) {
                continue;
            }
            let was_there = life.created.is_some_and(|created| created < sending) && life.dropping.is_none();
            let may_be_there = life.closed.is_none_or(|closed| closed > sending);
            least += usize::from(was_there && !life.broken);
            most += usize::from(may_be_there);
        }
        if queued < least || queued > most {
            let message = format!("{queued} subscriptions got message {item}, of {least} to {most} that there were");
            self.broken(super::Rule::Loss, message);
        }
    }

    pub(crate) fn called(&mut self, task: usize, item: usize) {
        let at = self.note(task, Event::Called { item });
        self.sent(item, at);
    }

    pub(crate) fn answered(&mut self, task: usize, item: usize, outcome: String) {
        let at = self.note(task, Event::Answered { item, outcome });
        self.items[item].answered = Some(at);
    }

    fn sent(&mut self, item: usize, at: At) {
        let now = self.clocks.reading_max(super::super::program::Clock::Steady);
        let item = &mut self.items[item];
        item.sent = Some(at);
        item.stamp_max = now;
    }

    /// Returns the latest publication time of an item that is surely in the life's queue, counting only items that were
    /// sent before `seen`.
    ///
    /// A queue returns its items in order, and only a newer item displaces the newest one. So the queue has an item if
    /// one was sent after all items that were taken.
    pub(crate) fn surely_queued(&self, life: &Life, seen: At) -> Option<Ms> {
        let created = life.created?;
        let plan = self.program.entity(life.entity)?;
        let (Kind::Subscription { depth, .. } | Kind::Service { depth, .. }) = plan.kind else {
            return None;
        };
        // The queue may be empty for a moment while a publisher makes room.
        let may_be_there = |number: usize, item: &Item| {
            item.sending > life.creating && Life::takes(plan, item) && !life.taken.contains(&number)
        };
        let there = self.items.iter().enumerate().filter(|(number, item)| may_be_there(*number, item));
        let (mut count, mut making_room) = (0, false);
        for (_, item) in there {
            count += 1;
            making_room |= item.sent.is_none_or(|sent| sent > seen);
        }
        if making_room && count > depth {
            return None;
        }
        let is_queued = |item: &Item| {
            let is_sent = item.sending > created && item.sent.is_some_and(|sent| sent <= seen);
            let after = |taken: &usize| self.items[*taken].sent.is_some_and(|sent| sent < item.sending);
            is_sent && Life::takes(plan, item) && life.taken.iter().all(after)
        };
        let stamps = self.items.iter().filter(|item| is_queued(item)).map(|item| item.stamp_max);
        // The oldest item is still there, unless it may have made room for another.
        if count > depth { stamps.max() } else { stamps.min() }
    }

    /// Returns the least and the most items that the life's queue got.
    pub(crate) fn sent_to(&self, life: &Life) -> (usize, usize) {
        let Some(plan) = self.program.entity(life.entity) else {
            return (0, 0);
        };
        let (mut least, mut most) = (0, 0);
        for item in self.items.iter().filter(|item| Life::takes(plan, item)) {
            let begins_after = life.created.is_some_and(|created| item.sending > created);
            let ends_before = life.dropping.is_none_or(|dropping| item.sent.is_some_and(|sent| sent < dropping));
            least += usize::from(begins_after && ends_before && item.sent.is_some());
            let overlaps = item.sent.is_none_or(|sent| sent > life.creating)
                && life.closed.is_none_or(|closed| item.sending < closed);
            most += usize::from(overlaps);
        }
        (least, most)
    }
}

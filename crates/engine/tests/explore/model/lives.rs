//! The lives of entities from creation to end, and the items that they take.

use super::super::program::{Clock, Kind, Ms};
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
    /// The latest time of its creation, on the steady clock.
    pub(crate) created_by: Ms,
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
    /// The number of times that its source was told to close.
    pub(crate) closes: usize,
    /// The losses that it was told of, if it watches those of another entity.
    pub(crate) told: Vec<u64>,
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
    /// The note at which it was last taken.
    pub(crate) taken: Option<At>,
    /// For a request: the note at which it was answered.
    pub(crate) answered: Option<At>,
}

/// The topic or service that an item is sent to, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Topic(usize),
    Service(usize),
    /// The place of a message that was refused.
    Nowhere,
}

impl Life {
    /// Returns true if the entity surely exists from the note `seen` until now.
    pub(crate) fn is_alive(&self, seen: At) -> bool {
        self.created.is_some_and(|created| created <= seen) && self.dropping.is_none() && !self.broken
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
            created_by: 0,
            dropping,
            dropped: None,
            closed: None,
            gone: false,
            taken: Vec::new(),
            timer,
            broken: false,
            removed_by_panic: false,
            closes: 0,
            told: Vec::new(),
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
            life.created_by = clocks.reading_max(Clock::Steady);
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
        let closes = self.lives[life].closes;
        let has_closer = matches!(self.plan_of(life).kind, Kind::Source { .. });
        if has_closer && closes != 1 {
            let message = format!("the handle of life {life} was dropped, and its source was closed {closes} times");
            self.broken(super::Rule::Gone, message);
        }
    }

    /// Notes that a source is told to close. It panics then if that is true.
    pub(crate) fn closes(&mut self, task: usize, life: usize, panics: bool) {
        self.note(task, Event::Closes { life });
        self.lives[life].closes += 1;
        self.panics += usize::from(panics);
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
            Place::Nowhere => unreachable!("it is sent somewhere"),
        };
        let stamp_max = Ms::MAX;
        self.items.push(Item {
            place,
            sending: at,
            sent: None,
            stamp_max,
            delivery: None,
            taken: None,
            answered: None,
        });
        item
    }

    pub(crate) fn answered(&mut self, task: usize, item: usize, outcome: String) {
        let at = self.note(task, Event::Answered { item, outcome });
        self.items[item].answered = Some(at);
    }
}

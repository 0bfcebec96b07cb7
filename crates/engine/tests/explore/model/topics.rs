//! Messages on their way through topics, and the queues that they go to.

use super::super::program::{EntityPlan, Inbox, Kind, Ms, Way};
use super::lives::{Item, Life, Place};
use super::{At, Event, Model, Rule};

/// The outcome of a publication.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Sent {
    pub(crate) queued: usize,
    pub(crate) displaced: usize,
    /// The number of times that the thread let others go on meanwhile.
    pub(crate) yields: u64,
    /// True if the thread spins an executor.
    pub(crate) in_callback: bool,
    pub(crate) way: Way,
}

/// The number of times that a publisher which waits for room yields before it sleeps between two looks.
const YIELDS: u64 = 16;

/// A queue of messages or requests, whoever takes from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receiver<'a> {
    pub(super) place: Place,
    pub(super) depth: usize,
    pub(super) keeps_all: bool,
    pub(super) is_late: bool,
    pub(super) creating: At,
    pub(super) created: Option<At>,
    /// The latest time of its creation.
    pub(super) created_by: Ms,
    pub(super) dropping: Option<At>,
    pub(super) closed: Option<At>,
    pub(super) taken: &'a [usize],
    /// True if nothing is known of it any more.
    pub(super) is_broken: bool,
}

/// Returns true if `first` was surely published before the other one.
fn precedes(first: &Item, other: &Item) -> bool {
    first.sent.is_some_and(|sent| sent < other.sending)
}

impl Model {
    /// Returns the queue of an entity; `None` if the entity has none.
    pub(super) fn receiver<'a>(&self, life: &'a Life, plan: &EntityPlan) -> Option<Receiver<'a>> {
        let (place, depth, keeps_all, is_late) = match plan.kind {
            Kind::Subscription { inbox: Inbox { topic, depth, keeps_all, is_late }, .. } => {
                (Place::Topic(topic), depth, keeps_all, is_late)
            }
            Kind::Service { name, depth, .. } => (Place::Service(name), depth, false, false),
            _ => return None,
        };
        let Life { creating, created, created_by, dropping, closed, .. } = *life;
        let (taken, is_broken) = (&*life.taken, life.broken);
        let receiver = Receiver {
            place,
            depth,
            keeps_all,
            is_late,
            creating,
            created,
            created_by,
            dropping,
            closed,
            taken,
            is_broken,
        };
        Some(receiver)
    }

    /// Returns the queues of that topic, of entities and of others.
    fn receivers(&self, topic: usize) -> impl Iterator<Item = Receiver<'_>> {
        let place = Place::Topic(topic);
        let of_entities = self.lives.iter().filter_map(|life| self.receiver(life, self.program.entity(life.entity)?));
        let others = self.queues.iter().map(super::queues::QueueLife::receiver);
        of_entities.chain(others).filter(move |receiver| receiver.place == place)
    }

    /// Returns the number of messages that the publisher of that topic keeps for late subscriptions.
    fn keeps(&self, place: Place) -> usize {
        match place {
            Place::Topic(topic) => self.program.topics.get(topic).map_or(0, |plan| plan.keeps),
            Place::Service(_) | Place::Nowhere => 0,
        }
    }

    fn items_of(&self, place: Place) -> impl Iterator<Item = (usize, &Item)> {
        self.items.iter().enumerate().filter(move |(_, item)| item.place == place)
    }

    /// Returns the least and the most messages that the publisher kept for the queue when it was created. The most
    /// leaves out messages that were being published meanwhile.
    fn kept_for(&self, receiver: &Receiver<'_>) -> (usize, usize) {
        let (keeps, created) = (self.keeps(receiver.place), receiver.created.unwrap_or(At::MAX));
        if !receiver.is_late || keeps == 0 {
            return (0, 0);
        }
        let (mut least, mut most) = (0, 0);
        for (number, item) in self.items_of(receiver.place) {
            if item.sent.is_none_or(|sent| sent > receiver.creating) {
                continue;
            }
            let may_follow =
                |(other, of): &(usize, &Item)| *other != number && !precedes(of, item) && of.sending < created;
            // A queue whose creation failed may have got nothing.
            let is_there = receiver.created.is_some();
            least += usize::from(is_there && self.items_of(receiver.place).filter(may_follow).count() < keeps);
            most += usize::from(self.followers(item, receiver.creating) < keeps);
        }
        (least.min(receiver.depth), most.min(receiver.depth))
    }

    /// Returns the number of items of the same place that were surely published after that one, and before `until`.
    fn followers(&self, item: &Item, until: At) -> usize {
        let follows = |other: &Item| precedes(item, other) && other.sent.is_some_and(|sent| sent < until);
        self.items_of(item.place).filter(|(_, other)| follows(other)).count()
    }

    /// Returns the latest publication time of an item that is surely in the queue, counting only items that were sent
    /// before `seen`.
    ///
    /// A queue returns its items in order, and only a newer item displaces the newest one. So the queue has an item if
    /// one was sent after all items that were taken.
    pub(super) fn surely_queued(&self, receiver: &Receiver<'_>, seen: At) -> Option<Ms> {
        let created = receiver.created?;
        // The queue may be empty for a moment while a publisher makes room.
        let (mut count, mut making_room) = (if receiver.is_late { self.keeps(receiver.place) } else { 0 }, false);
        for (number, item) in self.items_of(receiver.place) {
            let may_come_after = item.sent.is_none_or(|sent| sent > receiver.creating);
            if may_come_after && !receiver.taken.contains(&number) {
                count += 1;
                making_room |= item.sent.is_none_or(|sent| sent > seen);
            }
        }
        if making_room && count > receiver.depth {
            return None;
        }
        let is_queued = |item: &Item| {
            let is_sent = item.sending > created && item.sent.is_some_and(|sent| sent <= seen);
            is_sent && receiver.taken.iter().all(|taken| precedes(&self.items[*taken], item))
        };
        let stamps = self.items_of(receiver.place).filter(|(_, item)| is_queued(item)).map(|(_, item)| item.stamp_max);
        // The oldest item is still there, unless it may have made room for another.
        let newer = if count > receiver.depth { stamps.max() } else { stamps.min() };
        let has_kept = receiver.taken.is_empty() && created <= seen && self.kept_for(receiver).0 > 0;
        newer.or_else(|| has_kept.then_some(receiver.created_by))
    }

    /// Returns the least and the most items that the queue got.
    pub(super) fn sent_to(&self, receiver: &Receiver<'_>) -> (usize, usize) {
        let (mut least, mut most) = self.kept_for(receiver);
        for (_, item) in self.items_of(receiver.place) {
            let begins_after = receiver.created.is_some_and(|created| item.sending > created);
            let ends_before = receiver.dropping.is_none_or(|dropping| item.sent.is_some_and(|sent| sent < dropping));
            least += usize::from(begins_after && ends_before && item.sent.is_some());
            let overlaps = item.sent.is_none_or(|sent| sent > receiver.creating)
                && receiver.closed.is_none_or(|closed| item.sending < closed);
            most += usize::from(overlaps);
        }
        (least, most)
    }

    /// Judges that an item was taken from a queue. `in_order` tells that nobody else takes from it at the same time.
    pub(super) fn judge_taken(&mut self, receiver: &Receiver<'_>, what: &str, number: usize, in_order: bool) {
        let item = &self.items[number];
        let (keeps, followers) = (self.keeps(receiver.place), self.followers(item, receiver.creating));
        let is_of_before = item.sent.is_some_and(|sent| sent < receiver.creating);
        let later = receiver.taken.iter().find(|taken| precedes(item, &self.items[**taken]));
        let wrong = if item.place != receiver.place {
            Some("which was sent elsewhere".to_owned())
        } else if receiver.taken.contains(&number) {
            Some("which it had taken before".to_owned())
        } else if is_of_before && !receiver.is_late {
            Some("which was sent before it was there".to_owned())
        } else if is_of_before && followers >= keeps {
            Some(format!("which {followers} later ones had displaced before it was there, of {keeps} kept"))
        } else if receiver.closed.is_some_and(|closed| closed < item.sending) {
            Some("which was sent after its end".to_owned())
        } else {
            later.filter(|_| in_order).map(|later| format!("after the later item {later}"))
        };
        if let Some(wrong) = wrong {
            self.broken(Rule::Loss, format!("{what} took item {number}, {wrong}"));
        }
    }

    // ---- publications ----

    pub(crate) fn published(&mut self, task: usize, item: usize, sent: Sent) {
        let Sent { queued, displaced, .. } = sent;
        let at = self.note(task, Event::Published { item, queued, displaced });
        self.sent(item, at);
        self.items[item].delivery = Some((queued, displaced));
        let Place::Topic(topic) = self.items[item].place else {
            return;
        };
        let (least, most) = self.count_receivers(topic, self.items[item].sending);
        if queued < least || queued > most {
            let message = format!("{queued} subscriptions got message {item}, of {least} to {most} that there were");
            self.broken(Rule::Loss, message);
        }
        self.judge_patience(topic, item, sent);
        self.judge_wakers(task, topic, item);
    }

    /// Returns the least and the most queues that the topic had since then.
    fn count_receivers(&self, topic: usize, since: At) -> (usize, usize) {
        let (mut least, mut most) = (0, 0);
        for receiver in self.receivers(topic) {
            let was_there = receiver.created.is_some_and(|created| created < since) && receiver.dropping.is_none();
            let may_be_there = receiver.closed.is_none_or(|closed| closed > since);
            least += usize::from(was_there && !receiver.is_broken);
            most += usize::from(may_be_there);
        }
        (least, most)
    }

    /// Judges a count of the topic's queues.
    pub(crate) fn judge_count(&mut self, topic: usize, since: At, count: usize) {
        let (least, most) = self.count_receivers(topic, since);
        if count < least || count > most {
            let message = format!("topic {topic} has {least} to {most} subscriptions, and {count} were counted");
            self.broken(Rule::Loss, message);
        }
    }

    /// Judges that the publisher waits for room as long as it should, and not in a callback.
    fn judge_patience(&mut self, topic: usize, item: usize, sent: Sent) {
        let Sent { displaced, yields, in_callback, way, .. } = sent;
        if way == Way::IfRoom && displaced > 0 {
            self.broken(
                Rule::Loss,
                format!("message {item} displaced {displaced}, and should only go where there is room"),
            );
        }
        let Some(plan) = self.program.topics.get(topic).copied() else {
            return;
        };
        let Some(patience) = plan.patience.filter(|_| matches!(way, Way::Plain | Way::Try)) else {
            return;
        };
        if in_callback && yields > 0 {
            self.broken(Rule::Engine, format!("a callback waits for room for message {item}"));
        }
        let waits_for_all = !plan.keeps_all || self.receivers(topic).all(|receiver| receiver.keeps_all);
        if !in_callback && displaced > 0 && waits_for_all && yields < patience.min(YIELDS) {
            let message = format!("message {item} displaced {displaced} after {yields} looks for room, of {patience}");
            self.broken(Rule::Loss, message);
        }
    }

    /// Notes that a message was not published for want of room.
    pub(crate) fn refused(&mut self, task: usize, item: usize, returned: usize) {
        self.note(task, Event::Refused { item });
        self.judge_returned(item, returned);
        let (place, sending) = (self.items[item].place, self.items[item].sending);
        self.items[item].place = Place::Nowhere;
        let Place::Topic(topic) = place else {
            return;
        };
        let may_be_full = self.receivers(topic).any(|receiver| {
            let may_be_there = receiver.closed.is_none_or(|closed| closed > sending);
            let kept = if receiver.is_late { self.keeps(place) } else { 0 };
            let may_be_in = |(number, item): &(usize, &Item)| {
                item.sent.is_none_or(|sent| sent > receiver.creating) && !receiver.taken.contains(number)
            };
            // Messages that were taken since publishing began may have been in the queue when it looked for room.
            let since = self.taken_since(receiver.taken, sending);
            let count = kept + since + self.items_of(place).filter(may_be_in).count();
            may_be_there && count >= receiver.depth
        });
        if !may_be_full {
            self.broken(Rule::Loss, format!("message {item} was refused, and no queue was full"));
        }
    }

    /// Returns the number of those items that were taken after that note.
    fn taken_since(&self, taken: &[usize], since: At) -> usize {
        taken.iter().filter(|item| self.items[**item].taken.is_none_or(|at| at > since)).count()
    }

    pub(crate) fn judge_returned(&mut self, item: usize, returned: usize) {
        if item != returned {
            self.broken(Rule::Loss, format!("message {item} was not published, and message {returned} was returned"));
        }
    }

    // ---- what publishers keep ----

    pub(crate) fn looks_at_kept(&mut self, task: usize, topic: usize) -> At {
        self.note(task, Event::LooksAtKept { topic })
    }

    pub(crate) fn looked_at_kept(&mut self, task: usize, topic: usize, since: At, kept: &[usize]) {
        self.note(task, Event::Kept { topic, kept: kept.to_vec() });
        let (place, keeps) = (Place::Topic(topic), self.program.topics[topic].keeps);
        let mut wrong = None;
        if kept.len() > keeps {
            wrong = Some(format!("it keeps {keeps}"));
        }
        for (at, number) in kept.iter().enumerate() {
            let item = &self.items[*number];
            let is_before_earlier = kept[..at].iter().any(|earlier| precedes(item, &self.items[*earlier]));
            if item.place != place || is_before_earlier || self.followers(item, since) >= keeps {
                wrong = Some(format!("message {number} is not among the last ones, or not in order"));
            }
        }
        for (number, item) in self.items_of(place) {
            let may_follow = |(other, of): &(usize, &Item)| *other != number && !precedes(of, item);
            let is_last = self.items_of(place).filter(may_follow).count() < keeps;
            if item.sent.is_some_and(|sent| sent < since) && is_last && !kept.contains(&number) {
                wrong = Some(format!("message {number} is missing"));
            }
        }
        if let Some(wrong) = wrong {
            self.broken(Rule::Loss, format!("the publisher of topic {topic} says that it keeps {kept:?}: {wrong}"));
        }
    }

    fn sent(&mut self, item: usize, at: At) {
        let now = self.clocks.reading_max(super::super::program::Clock::Steady);
        let item = &mut self.items[item];
        item.sent = Some(at);
        item.stamp_max = now;
    }

    pub(crate) fn called(&mut self, task: usize, item: usize) {
        let at = self.note(task, Event::Called { item });
        self.sent(item, at);
    }
}

//! Actions on topics: the ways to publish, and queues without a callback.

use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};

use rospin_engine::{LossCause, NoRoom, PublisherOptions, SubscriptionOptions};

use super::model::{Place, Rule, Sent};
use super::operations::{does, does_all};
use super::program::{Inbox, TopicPlan, Way};
use super::schedule;
use super::script::us;
use super::world::{Message, World};

/// Returns the options of a topic's publisher.
pub(crate) fn publisher_options(topic: usize, plan: TopicPlan) -> PublisherOptions {
    does("PublisherOptions::new");
    let mut options = PublisherOptions::new(format!("t{topic}"));
    if plan.keeps > 0 {
        does("PublisherOptions::transient_local");
        options = options.transient_local(plan.keeps);
    }
    match plan.patience {
        Some(looks) if plan.keeps_all => {
            does("PublisherOptions::keep_all");
            options.keep_all(us(looks))
        }
        Some(looks) => {
            does("PublisherOptions::wait_for_room");
            options.wait_for_room(us(looks))
        }
        None => options,
    }
}

/// Returns the options of a subscription with that queue.
pub(crate) fn inbox_options(inbox: Inbox) -> SubscriptionOptions {
    does("SubscriptionOptions::new");
    let options = SubscriptionOptions::new(format!("t{}", inbox.topic));
    let options = if inbox.keeps_all {
        does("SubscriptionOptions::keep_all");
        options.keep_all(inbox.depth)
    } else {
        does("SubscriptionOptions::keep_last");
        options.keep_last(inbox.depth)
    };
    if inbox.is_late {
        does("SubscriptionOptions::transient_local");
        return options.transient_local();
    }
    options
}

/// Publishes a message. `in_callback` tells that the thread spins an executor, and never waits.
pub(crate) fn publish(world: &Arc<World>, topic: usize, way: Way, in_callback: bool) {
    if !world.spend() {
        return;
    }
    let publisher = &world.publishers[topic];
    if way == Way::Waits {
        does("Publisher::wait_for_room");
        publisher.wait_for_room();
    }
    let item = world.note(|model, task| model.sends(task, Place::Topic(topic)));
    let message = Message { item, _token: world.token() };
    let before = schedule::yields_here();
    let delivery = match way {
        Way::Plain | Way::Waits => {
            does("Publisher::publish");
            publisher.publish(message)
        }
        Way::Try => {
            does("Publisher::try_publish");
            publisher.try_publish(message).unwrap_or_else(|returned| {
                world.note(|model, _| model.judge_returned(item, returned.message.item));
                rospin_engine::Delivery::default()
            })
        }
        Way::IfRoom => {
            does("Publisher::publish_if_room");
            match publisher.publish_if_room(message) {
                Ok(delivery) => delivery,
                Err(NoRoom { message, .. }) => {
                    world.note(|model, task| model.refused(task, item, message.item));
                    return;
                }
            }
        }
        Way::Begin(other) => {
            does("Publisher::begin");
            let begun = publisher.begin(message);
            let delivery = begun.delivery();
            does("Published::delivery");
            shuttle::thread::yield_now();
            if other != topic {
                publish(world, other, Way::Plain, in_callback);
            }
            drop(begun);
            delivery
        }
    };
    let yields = schedule::yields_here() - before;
    let sent = Sent { queued: delivery.queued, displaced: delivery.displaced, yields, in_callback, way };
    world.note(|model, task| model.published(task, item, sent));
}

pub(crate) fn look_at_kept(world: &Arc<World>, topic: usize) {
    does("Publisher::kept");
    let since = world.note(|model, task| model.looks_at_kept(task, topic));
    let kept: Vec<usize> = world.publishers[topic].kept().iter().map(|message| message.item).collect();
    world.note(|model, task| model.looked_at_kept(task, topic, since, &kept));
}

pub(crate) fn create_queue(world: &Arc<World>, queue: usize) {
    let Some(plan) = world.program.queues.iter().find(|plan| plan.id == queue).copied() else {
        return;
    };
    if world.tables().queues[queue].is_some() || !world.spend() {
        return;
    }
    does("Context::create_local_queue");
    let life = world.note(|model, task| model.creates_queue(task, plan));
    let options = inbox_options(plan.inbox).name(format!("q{queue}"));
    let created = world.context.create_local_queue(options).expect("it has the topic's type");
    world.note(|model, task| model.created_queue(task, life));
    let former = world.tables().queues[queue].replace((life, Arc::new(created)));
    // Another thread may have created it meanwhile.
    if let Some((life, queue)) = former {
        end_queue(world, life, queue);
    }
}

pub(crate) fn drop_queue(world: &Arc<World>, queue: usize) {
    let taken = world.tables().queues.get_mut(queue).and_then(Option::take);
    if let Some((life, queue)) = taken {
        end_queue(world, life, queue);
    }
}

fn end_queue(world: &Arc<World>, life: usize, queue: Arc<rospin_engine::Queue<Message>>) {
    world.note(|model, task| model.drops_queue(task, life));
    // A thread that takes from it meanwhile drops it later.
    let is_last = Arc::into_inner(queue).map(drop).is_some();
    world.note(|model, task| model.dropped_queue(task, life, is_last));
}

pub(crate) fn take_from_queue(world: &Arc<World>, queue: usize) {
    let Some((life, queue)) = world.tables().queues.get(queue).cloned().flatten() else {
        return;
    };
    let begin = world.note(|model, task| model.takes_from_queue(task, life));
    does_all(&[
        "Queue::is_empty",
        "Queue::len",
        "Queue::oldest_arrival",
        "Queue::try_take",
        "Queue::lost",
        "Queue::ends",
    ]);
    let publishers = queue.ends().publisher_count();
    world.note(|model, _| model.judge_returned(1, publishers));
    let (length, is_empty) = (queue.len(), queue.is_empty());
    let oldest = queue.oldest_arrival().map(|arrival| arrival.as_nanos() / 1_000_000);
    world.note(|model, task| model.looked_at_queue(task, life, begin, (length, is_empty, oldest)));
    let item = queue.try_take().map(|message| message.item);
    world.note(|model, task| model.took_from_queue(task, life, begin, item));
    let lost = queue.lost(LossCause::QueueFull);
    world.note(|model, _| model.queue_lost(life, lost));
    if Arc::into_inner(queue).is_some() {
        world.note(|model, task| model.dropped_queue(task, life, true));
    }
}

pub(crate) fn set_waker(world: &Arc<World>, queue: usize, panics: bool) {
    let Some((life, queue)) = world.tables().queues.get(queue).cloned().flatten() else {
        return;
    };
    does("Queue::set_waker");
    let waker = Waker::from(Arc::new(QueueWaker { world: Arc::downgrade(world), life, panics }));
    world.note(|model, task| model.sets_waker(task, life));
    queue.set_waker(waker);
    world.note(|model, task| model.set_waker(task, life));
    if Arc::into_inner(queue).is_some() {
        world.note(|model, task| model.dropped_queue(task, life, true));
    }
}

/// The waker of a queue.
struct QueueWaker {
    world: Weak<World>,
    life: usize,
    panics: bool,
}

impl Wake for QueueWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(world) = self.world.upgrade() {
            world.note(|model, task| model.queue_wakes(task, self.life));
        }
        assert!(!self.panics, "a waker panics, as it was asked to");
    }
}

impl Drop for QueueWaker {
    fn drop(&mut self) {
        assert!(!self.panics || std::thread::panicking(), "the drop of a waker panics, as it was asked to");
    }
}

/// Looks at the ends of a topic.
pub(crate) fn judge_ends(world: &Arc<World>, topic: usize) {
    does_all(&[
        "Publisher::ends",
        "Publisher::topic",
        "Publisher::subscription_count",
        "TopicEnds::publisher_count",
        "TopicEnds::subscription_count",
    ]);
    let ends = world.publishers[topic].ends();
    let since = world.note(|model, task| model.note(task, super::model::Event::Did("counts the ends of a topic")));
    let counted = [ends.subscription_count(), world.publishers[topic].subscription_count()];
    let publishers = ends.publisher_count();
    let name = world.publishers[topic].topic().to_owned();
    world.note(|model, task| {
        model.note(task, super::model::Event::Did("has counted the ends of a topic"));
        if name != format!("t{topic}") {
            model.broken(Rule::Engine, format!("topic {topic} is called {name}"));
        }
        if publishers != 1 {
            model.broken(Rule::Loss, format!("topic {topic} has one publisher, and {publishers} were counted"));
        }
        for count in counted {
            model.judge_count(topic, since, count);
        }
    });
}

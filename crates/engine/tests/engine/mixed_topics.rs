//! Mixed topics: values and envelopes wait in one queue.

use std::sync::Arc;

use rospin_engine::{
    Carried, Context, ContextOptions, EntityKind, EntityOptions, Envelope, ExecutorOptions, Instant, LateQueue,
    LossCause, Mixed, MixedPublisher, MixedQueue, PublisherOptions, Source, SpinOptions, SubscriptionOptions,
};

/// A number in an envelope, which expires at a time if there is one.
struct Letter {
    number: u32,
    from_outside: bool,
    expires: Option<Instant>,
    carried: Option<Carried>,
}

impl Envelope for Letter {
    fn is_expired(&self, now: Instant) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    fn order(&self) -> u64 {
        u64::from(self.number)
    }

    fn came_through_inlet(&self) -> bool {
        self.from_outside
    }

    fn carried(&mut self) -> Option<&mut Option<Carried>> {
        if self.from_outside { Some(&mut self.carried) } else { None }
    }
}

fn letter(number: u32) -> Letter {
    Letter { number, from_outside: false, expires: None, carried: None }
}

fn from_outside(number: u32, expires: Option<u64>) -> Letter {
    Letter { number, from_outside: true, expires: expires.map(Instant::from_nanos), carried: None }
}

type Numbers = MixedQueue<u8, Letter>;

fn number(message: &Mixed<u8, Letter>) -> u32 {
    match message {
        Mixed::Value(number) => u32::from(**number),
        Mixed::Envelope(letter) => letter.number,
    }
}

fn take_all(queue: &mut Numbers) -> Vec<u32> {
    std::iter::from_fn(|| queue.try_take().unwrap()).map(|message| number(&message)).collect()
}

fn set_up(depth: usize) -> (Context, MixedPublisher<u8, Letter>, Numbers) {
    let context = Context::new(ContextOptions::new());
    let publisher = context.create_mixed_publisher("numbers").unwrap();
    let queue = context.create_mixed_queue(SubscriptionOptions::new("numbers").keep_last(depth), false).unwrap();
    (context, publisher, queue)
}

#[test]
fn values_envelopes_and_what_comes_through_the_inlet_wait_in_one_queue() {
    let (context, publisher, mut queue) = set_up(4);
    let inlet = queue.inlet();
    for number in [1, 4, 7] {
        assert_eq!(publisher.publish(Arc::new(number)).queued, 1);
        publisher.publish_envelope(letter(u32::from(number) + 1));
        drop(inlet.push(from_outside(u32::from(number) + 2, None), context.clock().now(), 0));
    }
    assert_eq!(take_all(&mut queue), [6, 7, 8, 9]);
    drop(inlet.push(from_outside(10, None), Instant::from_nanos(10), 3));
    assert_eq!(queue.oldest_arrival(), Some(Instant::from_nanos(10)));
    drop(queue);
    let lost: Vec<_> = context.losses().into_iter().map(|loss| (loss.cause, loss.count)).collect();
    assert_eq!(lost, [(LossCause::QueueFull, 5 + 3), (LossCause::EntityDropped, 1)]);
    // Nobody is there any more.
    drop(inlet.push(from_outside(11, None), Instant::from_nanos(11), 0));
}

#[test]
fn a_queue_that_wants_envelopes_gets_no_values_and_late_ones_get_what_was_kept() {
    let context = Context::new(ContextOptions::new());
    let options = PublisherOptions::new("numbers").transient_local(2);
    let latched = context.create_mixed_publisher::<u8, Letter>(options).unwrap();
    let publisher = context.create_mixed_publisher::<u8, Letter>("numbers").unwrap();
    (1..=3).for_each(|number| drop(latched.begin_envelope(letter(number))));
    let kept: Vec<_> = latched.kept().iter().map(|letter| letter.number).collect();
    assert_eq!(kept, [2, 3]);
    let late = || SubscriptionOptions::new("numbers").keep_last(9).transient_local();
    let mut plain: Numbers = context.create_mixed_queue(late(), false).unwrap();
    assert!(!publisher.is_asked_for_envelopes());
    let mut asking: Numbers = context.create_mixed_queue(late(), true).unwrap();
    assert!(publisher.is_asked_for_envelopes() && publisher.subscription_count() == 2);
    assert_eq!(publisher.publish(Arc::new(4)).queued, 1);
    assert_eq!(publisher.publish_envelope(letter(5)).queued, 2);
    assert_eq!((take_all(&mut plain), take_all(&mut asking)), (vec![2, 3, 4, 5], vec![2, 3, 5]));
    drop(asking);
    assert!(!publisher.is_asked_for_envelopes());
}

#[test]
fn in_a_full_queue_the_oldest_makes_room_also_if_a_later_one_has_expired() {
    let (context, publisher, mut queue) = set_up(3);
    let inlet = queue.inlet();
    let push = |letter, at| drop(inlet.push(letter, Instant::from_nanos(at), 0));
    publisher.publish(Arc::new(1));
    push(from_outside(2, Some(20)), 1);
    push(from_outside(3, Some(10)), 1);
    push(from_outside(4, None), 10);
    push(from_outside(5, Some(u64::MAX)), 20);
    push(from_outside(6, None), 30);
    assert_eq!(take_all(&mut queue), [4, 5, 6]);
    drop(queue);
    let mut lost: Vec<_> = context.losses().into_iter().map(|loss| (loss.cause, loss.count)).collect();
    lost.sort_unstable();
    assert_eq!(lost, [(LossCause::QueueFull, 1), (LossCause::Expired, 2)], "for what they were when they made room");
}

#[test]
fn a_late_queue_begins_with_the_newest_messages_of_both_places_in_their_order() {
    let context = Context::new(ContextOptions::new());
    let options = PublisherOptions::new("numbers").transient_local(9);
    let latched = context.create_mixed_publisher::<u8, Letter>(options).unwrap();
    [2, 5, 6].into_iter().for_each(|number| drop(latched.begin_envelope(letter(number))));
    for depth in 1..=7 {
        let late = SubscriptionOptions::new("numbers").keep_last(depth).transient_local();
        let elsewhere = [4, 1, 7].map(|number| from_outside(number, None)).into();
        let LateQueue { mut queue, older } =
            context.create_late_mixed_queue::<u8, Letter>(late, false, elsewhere).unwrap();
        let all: Vec<u32> = older.iter().map(number).chain(take_all(&mut queue)).collect();
        assert_eq!((all, older.len()), (vec![1, 2, 4, 5, 6, 7], 6_usize.saturating_sub(depth)));
        assert_eq!(context.losses(), []);
    }
}

#[test]
fn one_message_makes_room_although_several_have_expired() {
    let (context, _publisher, mut queue) = set_up(3);
    let inlet = queue.inlet();
    let push = |letter, at| drop(inlet.push(letter, Instant::from_nanos(at), 0));
    (1..=3).for_each(|number| push(from_outside(number, Some(10)), 1));
    push(from_outside(4, None), 10);
    assert_eq!(take_all(&mut queue), [2, 3, 4]);
    drop(queue);
    let lost: Vec<_> = context.losses().into_iter().map(|loss| (loss.cause, loss.count)).collect();
    assert_eq!(lost, [(LossCause::Expired, 1)]);
}

#[test]
fn each_message_is_dropped_once_whatever_its_form() {
    struct Owner {
        _owner: Arc<()>,
        carried: Option<Carried>,
    }
    impl Envelope for Owner {
        fn order(&self) -> u64 {
            0
        }
        fn came_through_inlet(&self) -> bool {
            true
        }
        fn carried(&mut self) -> Option<&mut Option<Carried>> {
            Some(&mut self.carried)
        }
    }
    let context = Context::new(ContextOptions::new());
    let owner = Arc::new(());
    let publisher = context.create_mixed_publisher::<Arc<()>, Owner>("owners").unwrap();
    let options = || SubscriptionOptions::new("owners").keep_last(2);
    let queues: [MixedQueue<Arc<()>, Owner>; 2] =
        [(); 2].map(|()| context.create_mixed_queue(options(), false).unwrap());
    for _ in 0..3 {
        publisher.publish(Arc::new(Arc::clone(&owner)));
        publisher.publish_envelope(Owner { _owner: Arc::clone(&owner), carried: None });
        drop(queues[0].inlet().push(Owner { _owner: Arc::clone(&owner), carried: None }, context.clock().now(), 0));
    }
    // One queue has the last two messages, and the other one the last value and the last envelope of both.
    assert_eq!(Arc::strong_count(&owner), 1 + 3);
    drop(queues);
    assert_eq!(Arc::strong_count(&owner), 1);
}

#[test]
fn the_inlet_notifies_an_entity() {
    let (context, publisher, queue) = set_up(4);
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let group = executor.create_group("group", Vec::new());
    let inlet = queue.inlet();
    // Before it has an entity, too.
    drop(inlet.push(from_outside(1, None), context.clock().now(), 0));
    let hear = |heard: &mut Vec<u32>, message: Mixed<u8, Letter>| heard.push(number(&message));
    let entity = group.create_source(EntityKind::Subscription, EntityOptions::new("numbers"), queue, hear).unwrap();
    executor.spin(SpinOptions::spin_all()).unwrap();
    drop(inlet.push(from_outside(2, None), context.clock().now(), 1));
    publisher.publish(Arc::new(3));
    drop(inlet.push(from_outside(4, None), context.clock().now(), 0));
    executor.spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(entity.lost(LossCause::QueueFull), 1);
    drop(entity);
    executor.spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(group.into_payload().unwrap(), [1, 2, 3, 4]);
}

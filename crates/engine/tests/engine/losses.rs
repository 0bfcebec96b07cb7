//! Counts of lost items, as they are read and as a source.

use std::sync::Arc;
use std::time::Duration;

use crate::common::{manual_executor, spin_all, watchdog};
use rospin_engine::{EntityKind, EntityOptions, LossCause, SubscriptionOptions};

#[test]
fn losses_of_entities_of_one_name_add_up() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let publisher = context.create_local_publisher::<u32>("topic").unwrap();
        let group = executor.create_group("group", ());
        let subscribe = || {
            let options = SubscriptionOptions::new("topic").name("ear").keep_last(1);
            group.create_local_subscription(options, |(), _: Arc<u32>| {}).unwrap()
        };
        for _ in 0..3 {
            let _ear = subscribe();
            publisher.publish(1);
            publisher.publish(2);
        }
        let _ear = subscribe();
        publisher.publish(1);
        publisher.publish(2);
        spin_all(&executor);
        let losses = context.losses();
        let of =
            |cause| losses.iter().filter(|loss| loss.cause == cause).map(|loss| (&*loss.entity, loss.count)).collect();
        let (full, dropped): (Vec<_>, Vec<_>) = (of(LossCause::QueueFull), of(LossCause::EntityDropped));
        assert_eq!((full, dropped), (vec![("ear", 4)], vec![("ear", 3)]));
    });
}

#[test]
fn losses_are_the_source_of_another_entity() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let group = executor.create_group("group", Vec::new());
        let publisher = context.create_local_publisher::<u32>("topic").unwrap();
        let options = SubscriptionOptions::new("topic").keep_last(2);
        let subscription = group.create_local_subscription(options, |_, _: Arc<u32>| ()).unwrap();
        (0..5).for_each(|n| _ = publisher.publish(n));
        let watch = || {
            let losses = subscription.watch_losses(LossCause::QueueFull);
            let options = EntityOptions::new("lost");
            group.create_source(EntityKind::Waitable, options, losses, |seen: &mut Vec<u64>, total| seen.push(total))
        };
        let one = watch().unwrap();
        spin_all(&executor);
        (0..3).for_each(|n| _ = publisher.publish(n));
        spin_all(&executor);
        let another = watch().unwrap();
        drop(one);
        (0..4).for_each(|n| _ = publisher.publish(n));
        spin_all(&executor);
        drop((another, subscription));
        assert_eq!(group.into_payload().unwrap(), [3, 4, 6], "one that comes later is told the total");
    });
}

#[test]
fn skipped_due_times_of_a_timer_are_told_to_who_watches_them() {
    watchdog(|| {
        let (clock, _, executor) = manual_executor();
        let group = executor.create_group("group", Vec::new());
        let timer = group.create_timer(Duration::from_millis(3), |_, _| ()).unwrap();
        let skipped = timer.watch_losses(LossCause::TimerOverrun);
        let note = |seen: &mut Vec<u64>, total| seen.push(total);
        let watch = group.create_source(EntityKind::Waitable, EntityOptions::new("skipped"), skipped, note).unwrap();
        spin_all(&executor);
        clock.advance(Duration::from_millis(13));
        spin_all(&executor);
        clock.advance(Duration::from_millis(6));
        spin_all(&executor);
        drop((timer, watch));
        assert_eq!(group.into_payload().unwrap(), [3, 4]);
    });
}

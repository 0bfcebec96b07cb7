//! Custom sources: notifications, takes, errors, ends. Streams are in `streams.rs`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::common::{Count, Log, OnDrop, manual_executor, ms, spin_all, spin_in_background, threads, watchdog};
use rospin_engine::policy::Fifo;
use rospin_engine::{
    Context, ContextOptions, EntityKind, ExecutorOptions, Incident, IncidentKind, Instant, LossCause, ManualClock,
    Notifier, Payload, Pending, Source, SpinOptions, TakeError,
};

/// The result of the next take of a [`Queue`].
enum Next {
    Item(u32),
    Failed,
    Closed,
    Panic,
}

/// A source that is filled by hand.
#[derive(Clone, Default)]
struct Feed {
    items: Arc<Mutex<VecDeque<Next>>>,
    notifier: Arc<Mutex<Option<Notifier>>>,
    takes: Count,
    /// The number of drops of the source.
    sources: Count,
    /// The number of drops of the attachment.
    attachments: Count,
}

impl Feed {
    fn push(&self, next: Next) {
        self.items.lock().unwrap().push_back(next);
    }

    fn notify(&self) {
        self.notifier.lock().unwrap().as_ref().expect("it is attached").notify();
    }

    fn source(&self, knows: bool) -> Queue {
        Queue { feed: self.clone(), knows, _drop: self.sources.on_drop() }
    }
}

struct Queue {
    feed: Feed,
    /// True if the source tells what is left.
    knows: bool,
    _drop: OnDrop,
}

impl Source for Queue {
    type Item = u32;
    type Attachment = OnDrop;

    fn attach(&mut self, notifier: Notifier) -> Result<OnDrop, TakeError> {
        *self.feed.notifier.lock().unwrap() = Some(notifier);
        Ok(self.feed.attachments.on_drop())
    }

    fn try_take(&mut self) -> Result<Option<u32>, TakeError> {
        self.feed.takes.up();
        match self.feed.items.lock().unwrap().pop_front() {
            Some(Next::Item(n)) => return Ok(Some(n)),
            Some(Next::Failed) => return Err(TakeError::Failed("garbled".into())),
            Some(Next::Closed) => return Err(TakeError::Closed),
            None => return Ok(None),
            Some(Next::Panic) => {}
        }
        panic!("in the source")
    }

    fn pending(&self) -> Pending {
        if self.knows && self.feed.items.lock().unwrap().is_empty() { Pending::Empty } else { Pending::Unknown }
    }
}

#[test]
fn spurious_notifications_run_nothing() {
    watchdog(|| {
        for knows in [true, false] {
            let (context, incidents) = crate::common::with_incidents();
            let executor = context.create_executor(ExecutorOptions::new("main"));
            let feed = Feed::default();
            let group = executor.create_group("group", Vec::new());
            let _entity =
                group.create_source(EntityKind::Waitable, "queue", feed.source(knows), |seen, n| seen.push(n));
            for n in 0..20 {
                (0..10).for_each(|_| feed.notify());
                spin_all(&executor);
                feed.push(Next::Item(n));
                feed.notify();
                feed.notify();
                spin_all(&executor);
                feed.notify();
            }
            spin_all(&executor);
            let takes = feed.takes.get();
            spin_all(&executor);
            assert_eq!(feed.takes.get(), takes, "without a notification nobody looks");
            assert_eq!(group.into_payload().unwrap(), (0..20).collect::<Vec<_>>());
            assert_eq!((incidents.len(), context.losses()), (0, vec![]));
        }
    });
}

#[test]
fn a_spurious_notification_is_not_what_spin_once_waits_for() {
    watchdog(|| {
        let (_, _context, executor) = manual_executor();
        let feed = Feed::default();
        let group = executor.create_group("group", 0);
        let _entity = group.create_source(EntityKind::Waitable, "queue", feed.source(true), |sum, n| *sum += n);
        feed.notify();
        let result = executor.spin(SpinOptions::spin_once().timeout(ms(0)));
        assert!(result.is_err(), "nothing ran");
        feed.push(Next::Item(1));
        feed.notify();
        executor.spin(SpinOptions::spin_once()).unwrap();
        assert_eq!(group.into_payload().ok(), Some(1));
    });
}

#[test]
fn items_from_before_are_taken_and_a_notification_before_spin_is_not_lost() {
    watchdog(|| {
        let (_, _context, executor) = manual_executor();
        for knows in [true, false] {
            let feed = Feed::default();
            feed.push(Next::Item(1));
            feed.push(Next::Item(2));
            let group = executor.create_group("group", Vec::new());
            let _entity =
                group.create_source(EntityKind::Waitable, "queue", feed.source(knows), |seen, n| seen.push(n));
            assert_eq!(feed.takes.get(), 0, "taken on an executor thread only");
            spin_all(&executor);
            feed.push(Next::Item(3));
            feed.notify();
            spin_all(&executor);
            assert_eq!(group.into_payload().unwrap(), [1, 2, 3]);
        }
    });
}

#[test]
fn notifications_from_several_threads_lose_nothing() {
    const ITEMS: u32 = 1000;
    watchdog(|| {
        for (count, knows) in [(1, true), (1, false), (3, true), (3, false)] {
            let context = Context::new(ContextOptions::new());
            let executor = Arc::new(context.create_executor(ExecutorOptions::new("main").threads(threads(count))));
            let feed = Feed::default();
            let group = executor.create_group("group", vec![0; 3 * ITEMS as usize]);
            let received = Count::new();
            let counter = received.clone();
            let _entity = group.create_source(
                EntityKind::Waitable,
                "queue",
                feed.source(knows),
                move |seen: &mut Vec<u32>, n| {
                    seen[n as usize] += 1;
                    counter.up();
                },
            );
            let spin = spin_in_background(&executor);
            let feeders: Vec<_> = (0..3)
                .map(|thread| {
                    let feed = feed.clone();
                    thread::spawn(move || {
                        for n in 0..ITEMS {
                            feed.push(Next::Item(thread * ITEMS + n));
                            feed.notify();
                        }
                    })
                })
                .collect();
            feeders.into_iter().for_each(|feeder| feeder.join().unwrap());
            crate::common::eventually(|| received.get() == 3 * ITEMS as usize);
            executor.halt();
            spin.join().unwrap().unwrap();
            assert!(group.into_payload().unwrap().into_iter().all(|times| times == 1));
        }
    });
}

#[test]
fn an_item_that_cannot_be_taken_is_counted_and_reported() {
    watchdog(|| {
        for knows in [true, false] {
            let (context, incidents) = crate::common::with_incidents();
            let executor = context.create_executor(ExecutorOptions::new("main"));
            let feed = Feed::default();
            let group = executor.create_group("group", Vec::new());
            let entity =
                group.create_source(EntityKind::Waitable, "queue", feed.source(knows), |seen, n| seen.push(n)).unwrap();
            for next in [Next::Failed, Next::Item(1), Next::Failed, Next::Failed, Next::Item(2)] {
                feed.push(next);
            }
            feed.notify();
            spin_all(&executor);
            assert_eq!(entity.lost(LossCause::TakeFailed), 3);
            let incidents = incidents.take();
            assert_eq!(incidents.len(), 3);
            let Incident { executor: at, group: of, entity: who, kind, .. } = &incidents[0];
            assert_eq!((at.as_str(), of.as_str(), who.as_str()), ("main", "group", "queue"));
            assert!(matches!(kind, IncidentKind::TakeFailed(reason) if reason.contains("garbled")), "{kind:?}");
            assert_eq!(group.into_payload().unwrap(), [1, 2], "the others are not harmed");
            assert_eq!(context.losses().len(), 1);
        }
    });
}

#[test]
fn a_source_that_closes_is_removed_and_detached() {
    watchdog(|| {
        let (context, incidents) = crate::common::with_incidents();
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let feed = Feed::default();
        let group = executor.create_group("group", 0);
        let entity = group.create_source(EntityKind::Waitable, "queue", feed.source(true), |sum, n| *sum += n).unwrap();
        feed.push(Next::Item(7));
        feed.push(Next::Closed);
        feed.push(Next::Item(100));
        feed.notify();
        spin_all(&executor);
        assert_eq!((feed.sources.get(), feed.attachments.get(), feed.takes.get()), (1, 1, 2));
        feed.notify();
        spin_all(&executor);
        assert_eq!((feed.takes.get(), incidents.len()), (2, 0), "an end is no incident");
        drop(entity);
        spin_all(&executor);
        assert_eq!((feed.sources.get(), feed.attachments.get()), (1, 1));
        assert_eq!(group.into_payload().ok(), Some(7));
    });
}

#[test]
fn a_source_that_panicked_is_reported_once_and_over() {
    watchdog(|| {
        for asynchronous in [false, true] {
            let (context, incidents) = crate::common::with_incidents();
            let executor = context.create_executor(ExecutorOptions::new("main"));
            let feed = Feed::default();
            let group = executor.create_group("group", 0);
            let source = feed.source(true);
            let _entity = if asynchronous {
                group.create_source_async(EntityKind::Waitable, "queue", source, |sum: Payload<u32>, n| async move {
                    sum.with(|sum| *sum += n);
                })
            } else {
                group.create_source(EntityKind::Waitable, "queue", source, |sum, n| *sum += n)
            };
            for next in [Next::Item(1), Next::Panic, Next::Item(2)] {
                feed.push(next);
                feed.notify();
                spin_all(&executor);
            }
            assert_eq!(incidents.len(), 1);
            assert!(matches!(&incidents.take()[0].kind, IncidentKind::Panicked(text) if text == "in the source"));
            assert_eq!((feed.takes.get(), feed.sources.get(), feed.attachments.get()), (2, 1, 1));
            assert_eq!(group.into_payload().ok(), Some(1));
        }
    });
}

#[test]
fn a_source_that_cannot_notify_makes_no_entity() {
    struct Mute(OnDrop);
    impl Source for Mute {
        type Item = ();
        type Attachment = ();
        fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
            // The notifier may be called until attaching fails.
            notifier.notify();
            Err(TakeError::Failed("no such device".into()))
        }
        fn try_take(&mut self) -> Result<Option<()>, TakeError> {
            self.0.touch();
            unreachable!("it was not attached")
        }
    }
    watchdog(|| {
        let (_, _context, executor) = manual_executor();
        let drops = Count::new();
        let group = executor.create_group("group", ());
        let error = group.create_source(EntityKind::Waitable, "mute", Mute(drops.on_drop()), |(), ()| {}).unwrap_err();
        assert!(error.to_string().contains("no such device"));
        spin_all(&executor);
        assert_eq!(drops.get(), 1);
    });
}

#[test]
fn a_notifier_that_outlives_its_entity_or_executor_does_nothing() {
    watchdog(|| {
        let (_, _context, executor) = manual_executor();
        let feed = Feed::default();
        let group = executor.create_group("group", 0);
        let entity = group.create_source(EntityKind::Waitable, "queue", feed.source(false), |sum, n| *sum += n);
        drop(entity);
        feed.push(Next::Item(1));
        feed.notify();
        spin_all(&executor);
        assert_eq!((feed.takes.get(), feed.sources.get(), feed.attachments.get()), (0, 1, 1));
        drop(executor);
        feed.notify();
        feed.notifier.lock().unwrap().as_ref().unwrap().notify_at(Instant::from_millis(5));
    });
}

#[test]
fn the_arrival_that_a_source_tells_is_the_release() {
    watchdog(|| {
        let clock = ManualClock::new();
        let context = Context::new(ContextOptions::new().manual_clock(clock.clone()));
        let executor = context.create_executor(ExecutorOptions::new("main").policy(Fifo::new()));
        let log = Log::new();
        let group = executor.create_group("group", ());
        let feeds = [40, 20, 30].map(|millis| {
            let (feed, log) = (Feed::default(), log.clone());
            let source = feed.source(true);
            let entity = group.create_source(EntityKind::Waitable, "queue", source, move |(), _| log.push(millis));
            (feed, entity, millis)
        });
        spin_all(&executor);
        clock.advance(ms(50));
        for (feed, _, millis) in &feeds {
            feed.push(Next::Item(0));
            let notifier = feed.notifier.lock().unwrap().clone().unwrap();
            notifier.notify_at(Instant::from_millis(*millis));
        }
        spin_all(&executor);
        assert_eq!(log.take(), [20, 30, 40]);
    });
}

#[test]
fn a_source_that_always_has_more_keeps_nobody_else_from_running() {
    /// A source that never tells what is left.
    struct Endless(u32);
    impl Source for Endless {
        type Item = u32;
        type Attachment = ();
        fn attach(&mut self, _: Notifier) -> Result<(), TakeError> {
            Ok(())
        }
        fn try_take(&mut self) -> Result<Option<u32>, TakeError> {
            self.0 += 1;
            Ok(Some(self.0))
        }
    }
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("endless", 0);
        let _endless = group.create_source(EntityKind::Waitable, "endless", Endless(0), |last, n| {
            assert_eq!(n, *last + 1);
            *last = n;
        });
        let other = executor.create_group("other", 0);
        let (handle, publisher) = (executor.handle(), context.create_local_publisher::<u8>("topic").unwrap());
        publisher.publish(0);
        let forward = publisher.clone();
        let _other = other.create_local_subscription("topic", move |ran, _: Arc<u8>| {
            forward.publish(0);
            *ran += 1;
            if *ran == 50 {
                handle.halt();
            }
        });
        publisher.publish(0);
        executor.spin(SpinOptions::new()).unwrap();
        assert_eq!(other.into_payload().ok(), Some(50));
        assert!(group.into_payload().unwrap() > 0);
    });
}

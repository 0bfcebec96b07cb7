//! Wakers and destructors of other code that panic: nobody but their owners is harmed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Wake, Waker};
use std::{iter, pin::Pin};

use crate::common::{Count, manual_executor, ms, spin_all, watchdog, with_incidents};
use rospin_engine::{
    CallError, ClockKind, EntityKind, ExecutorOptions, IncidentKind, JumpThreshold, LossCause, Notifier,
    PublisherOptions, ServiceOptions, Source, SubscriptionOptions, TakeError, Waiters,
};

/// A waker that counts its calls and panics at each, and when it is dropped.
struct Bad {
    woken: Count,
    panics_when_dropped: bool,
}

impl Wake for Bad {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.up();
        panic!("a waker panics");
    }
}

impl Drop for Bad {
    fn drop(&mut self) {
        if self.panics_when_dropped {
            panic!("a waker panics when it is dropped");
        }
    }
}

fn bad(woken: &Count) -> Waker {
    Waker::from(Arc::new(Bad { woken: woken.clone(), panics_when_dropped: false }))
}

/// A waker that panics when it is dropped, too.
fn worse(woken: &Count) -> Waker {
    Waker::from(Arc::new(Bad { woken: woken.clone(), panics_when_dropped: true }))
}

/// A message whose drop is counted and panics.
struct Bomb(Count);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.up();
        panic!("a message panics when it is dropped");
    }
}

/// Drops the value while the thread unwinds: a panic that leaves the value's destructor would abort the process.
fn drop_while_unwinding(value: impl Sized) {
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _value = value;
        panic!("the thread unwinds");
    }));
    assert!(unwound.is_err());
}

fn poll_once(future: Pin<&mut impl Future>, waker: &Waker) {
    assert!(future.poll(&mut TaskContext::from_waker(waker)).is_pending());
}

#[test]
fn a_waker_that_panics_harms_neither_the_publisher_nor_the_wakers_after_it() {
    watchdog(|| {
        let (context, incidents) = with_incidents();
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("group", 0);
        let woken = Count::new();
        let queues: Vec<_> =
            iter::repeat_with(|| context.create_local_queue::<u32>("topic").unwrap()).take(3).collect();
        queues.iter().for_each(|queue| queue.set_waker(bad(&woken)));
        let publisher = context.create_local_publisher::<u32>("topic").unwrap();
        let _entity = group
            .create_stream("publisher", futures::stream::iter([1, 2]), move |published, n: u32| {
                *published += publisher.publish(n).queued;
            })
            .unwrap();
        spin_all(&executor);
        assert_eq!((woken.get(), group.into_payload().unwrap(), incidents.take()), (6, 6, vec![]));
    });
}

#[test]
fn wakers_may_panic_while_their_callers_unwind() {
    watchdog(|| {
        let (_, context, _executor) = manual_executor();
        let woken = Count::new();
        let queue = context.create_local_queue::<u32>("topic").unwrap();
        queue.set_waker(worse(&woken));
        let publisher = context.create_local_publisher::<u32>("topic").unwrap();
        drop_while_unwinding(publisher.begin(1));
        assert_eq!(woken.get(), 1);
        drop_while_unwinding(queue);
        let queue = context.create_local_queue::<u32>("topic").unwrap();
        queue.set_waker(worse(&woken));
        queue.set_waker(worse(&woken));
    });
}

#[test]
fn sleeps_may_be_dropped_while_their_tasks_unwind_whatever_the_wakers_do() {
    watchdog(|| {
        let (clock, _context, executor) = manual_executor();
        let woken = Count::new();
        let sleep = || Box::pin(executor.handle().sleep(ClockKind::Steady, ms(1)));
        let (mut first, mut second, mut third) = (sleep(), sleep(), sleep());
        // The executor has the last owner of each waker. The second one replaces the first one.
        for sleep in [&mut first, &mut second] {
            poll_once(sleep.as_mut(), &worse(&woken));
            poll_once(sleep.as_mut(), &worse(&woken));
        }
        poll_once(third.as_mut(), &bad(&woken));
        drop_while_unwinding(first);
        clock.advance(ms(1));
        spin_all(&executor);
        assert_eq!(woken.get(), 2, "the other two were woken");
    });
}

#[test]
fn all_that_wait_for_ros_time_are_woken_although_wakers_panic() {
    watchdog(|| {
        let (context, _incidents) = with_incidents();
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("group", ());
        let threshold = JumpThreshold { min_forward: None, min_backward: None, on_clock_change: true };
        let _hook = group.create_jump_callback(threshold, |_, _| {}).unwrap();
        let woken = Count::new();
        // A callback that sets ROS time while its executor spins, so that the barriers stay closed until the jump
        // callback ran.
        let (ros, wakes) = (context.ros_time(), woken.clone());
        let kept = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&kept);
        let _entity = group
            .create_stream("setter", futures::stream::iter([1]), move |(), _| {
                let mut barriers: Vec<_> = (0..3).map(|_| Box::pin(ros.set_active(true))).collect();
                barriers.iter_mut().for_each(|barrier| poll_once(barrier.as_mut(), &bad(&wakes)));
                // They stay, as in a task that awaits them.
                keep.lock().unwrap().append(&mut barriers);
            })
            .unwrap();
        spin_all(&executor);
        assert_eq!(woken.get(), 3);
        kept.lock().unwrap().clear();
    });
}

#[test]
fn all_that_wait_for_a_change_are_woken_although_wakers_panic() {
    watchdog(|| {
        let woken = Count::new();
        for is_dropped in [false, true] {
            let mut waiters = Waiters::new();
            let mut waits: Vec<_> = (0..3).map(|_| Box::pin(waiters.wait())).collect();
            waits.iter_mut().for_each(|wait| poll_once(wait.as_mut(), &bad(&woken)));
            if is_dropped { drop_while_unwinding(waiters) } else { waiters.wake() }
        }
        assert_eq!(woken.get(), 6);
    });
}

#[test]
fn messages_may_panic_when_they_are_dropped_and_are_all_counted() {
    watchdog(|| {
        let (_, context, _executor) = manual_executor();
        let dropped = Count::new();
        let queue = context.create_local_queue::<Bomb>(SubscriptionOptions::new("topic").keep_last(2)).unwrap();
        let late = context.create_local_queue::<Bomb>(SubscriptionOptions::new("topic").keep_last(1)).unwrap();
        let kept = PublisherOptions::new("topic").transient_local(2);
        let publisher = context.create_local_publisher::<Bomb>(kept).unwrap();
        for n in 0..5 {
            let delivery = publisher.publish(Bomb(dropped.clone()));
            assert_eq!(delivery.queued, 2, "message {n}");
        }
        assert_eq!((dropped.get(), queue.lost(LossCause::QueueFull), late.lost(LossCause::QueueFull)), (3, 3, 4));
        drop_while_unwinding(late);
        drop_while_unwinding(publisher);
        drop_while_unwinding(queue);
        assert_eq!(dropped.get(), 5);
        let lost = |loss: &rospin_engine::Loss| loss.cause == LossCause::EntityDropped;
        assert_eq!(context.losses().into_iter().filter(lost).map(|loss| loss.count).sum::<u64>(), 3);
    });
}

#[test]
fn requests_may_panic_when_they_are_dropped_and_callers_are_told() {
    watchdog(|| {
        let (_, context, _executor) = manual_executor();
        let dropped = Count::new();
        let server = ServiceOptions::new("service").keep_last(2);
        let server = context.create_local_request_queue::<Bomb, ()>(server).unwrap();
        let client = context.create_local_client::<Bomb, ()>("service").unwrap();
        let mut calls: Vec<_> = (0..4).map(|_| Box::pin(client.call(Bomb(dropped.clone())))).collect();
        drop_while_unwinding(server);
        assert_eq!(dropped.get(), 4);
        let mut cx = TaskContext::from_waker(Waker::noop());
        let ends: Vec<_> = calls.iter_mut().map(|call| call.as_mut().poll(&mut cx)).collect();
        let full = |end: &&_| matches!(end, std::task::Poll::Ready(Err(CallError::QueueFull { .. })));
        let unanswered = |end: &&_| matches!(end, std::task::Poll::Ready(Err(CallError::Unanswered { .. })));
        assert_eq!((ends.iter().filter(full).count(), ends.iter().filter(unanswered).count()), (2, 2));
    });
}

#[test]
fn a_caller_whose_waker_panics_does_not_harm_the_service() {
    watchdog(|| {
        let (context, incidents) = with_incidents();
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("group", 0);
        let _service = group.create_local_service("service", |calls, n: u32| (*calls += 1, n).1).unwrap();
        let client = context.create_local_client::<u32, u32>("service").unwrap();
        let woken = Count::new();
        let mut calls: Vec<_> = (0..2).map(|n| Box::pin(client.call(n))).collect();
        calls.iter_mut().for_each(|call| poll_once(call.as_mut(), &bad(&woken)));
        spin_all(&executor);
        assert_eq!((woken.get(), group.into_payload().unwrap(), incidents.take()), (2, 2, vec![]));
    });
}

/// A source whose closer panics.
struct BadlyClosed;

impl Source for BadlyClosed {
    type Item = u32;
    type Attachment = ();

    fn attach(&mut self, _: Notifier) -> Result<(), TakeError> {
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<u32>, TakeError> {
        Ok(None)
    }

    fn closer(&self) -> Option<rospin_engine::Closer> {
        Some(Box::new(|| panic!("a closer panics")))
    }
}

#[test]
fn a_closer_that_panics_is_an_incident_and_the_entity_is_removed() {
    watchdog(|| {
        let (context, incidents) = with_incidents();
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("group", ());
        let entity = group.create_source(EntityKind::Waitable, "source", BadlyClosed, |(), _| {}).unwrap();
        spin_all(&executor);
        drop_while_unwinding(entity);
        spin_all(&executor);
        let incidents = incidents.take();
        let [incident] = &*incidents else { panic!("{incidents:?}") };
        assert_eq!((&*incident.entity, &*incident.group, &*incident.executor), ("source", "group", "main"));
        assert_eq!(incident.kind, IncidentKind::Panicked("a closer panics".to_owned()));
    });
}

#[test]
fn a_report_that_panics_does_not_harm_the_callback_that_failed() {
    watchdog(|| {
        let reports = Count::new();
        let counted = reports.clone();
        let options = rospin_engine::ContextOptions::new().on_incident(move |_| {
            counted.up();
            panic!("a report panics");
        });
        let context = rospin_engine::Context::new(options);
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("group", 0);
        let failures = group.failures("entity");
        let _entity = group
            .create_stream("entity", futures::stream::iter([1, 2]), move |ended, _| {
                failures.report("an error");
                *ended += 1;
            })
            .unwrap();
        spin_all(&executor);
        assert_eq!((reports.get(), group.into_payload().unwrap()), (2, 2));
    });
}

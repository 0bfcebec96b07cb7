//! Sources that notify only when they are armed: nothing of them may be left lying.

mod common;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use common::watchdog;
use rospin::{
    Context, ContextOptions, EntityKind, EntityOptions, Executor, ExecutorOptions, Instant, Notifier, Pending, Source,
    SpinOptions, TakeError,
};

const ITEMS: usize = 20_000;

/// A queue whose filler notifies once, and then no more until it is armed again.
#[derive(Clone, Default)]
struct Feed(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    items: VecDeque<Instant>,
    armed: Option<Notifier>,
    notifier: Option<Notifier>,
    is_over: bool,
}

impl Feed {
    fn push(&self, now: Instant) {
        let armed = {
            let mut state = self.0.lock().unwrap();
            state.items.push_back(now);
            state.armed.take()
        };
        armed.iter().for_each(Notifier::notify);
    }

    fn close(&self) {
        let armed = {
            let mut state = self.0.lock().unwrap();
            state.is_over = true;
            state.armed.take()
        };
        armed.iter().for_each(Notifier::notify);
    }
}

impl Source for Feed {
    type Item = Instant;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        let mut state = self.0.lock().unwrap();
        state.armed = Some(notifier.clone());
        state.notifier = Some(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Instant>, TakeError> {
        let mut state = self.0.lock().unwrap();
        match state.items.pop_front() {
            None if state.is_over => Err(TakeError::Closed),
            item => Ok(item),
        }
    }

    fn pending(&self) -> Pending {
        let state = self.0.lock().unwrap();
        match state.items.front() {
            None if state.is_over => Pending::Unknown,
            None => Pending::Empty,
            Some(arrival) => Pending::Since(*arrival),
        }
    }

    fn arm(&self) -> Pending {
        let mut state = self.0.lock().unwrap();
        if state.items.is_empty() {
            state.armed = state.notifier.clone();
        }
        drop(state);
        self.pending()
    }
}

/// Has a thread fill a feed of an executor with so many threads while it spins; the callback is created by `create`.
fn all_are_taken<E>(threads: u16, create: impl Fn(&Executor, Feed, Arc<AtomicUsize>) -> E + Send + Copy + 'static) {
    watchdog(move || {
        let context = Context::new(ContextOptions::new());
        let executor = context.create_executor(ExecutorOptions::new("main").threads(threads));
        let (feed, taken) = (Feed::default(), Arc::<AtomicUsize>::default());
        let _entity = create(&executor, feed.clone(), Arc::clone(&taken));
        let handle = executor.handle();
        let (clock, counted) = (context.clock().clone(), Arc::clone(&taken));
        let filler = thread::spawn(move || {
            for number in 1..=ITEMS {
                feed.push(clock.now());
                // Now and then all has to be taken: what waits for a notification that is not to come would stay.
                while number % 100 == 0 && counted.load(Ordering::Acquire) < number {
                    thread::yield_now();
                }
            }
            feed.close();
            handle.halt();
        });
        executor.spin(SpinOptions::new()).unwrap();
        filler.join().unwrap();
        assert_eq!(taken.load(Ordering::Acquire), ITEMS);
    });
}

fn options() -> EntityOptions {
    EntityOptions::new("feed")
}

#[test]
fn by_callbacks_of_a_mutually_exclusive_group() {
    for threads in [1, 2] {
        all_are_taken(threads, |executor, feed, taken| {
            let group = executor.create_group("group", taken);
            let count = |taken: &mut Arc<AtomicUsize>, _| _ = taken.fetch_add(1, Ordering::AcqRel);
            group.create_source(EntityKind::Waitable, options(), feed, count).unwrap()
        });
    }
}

#[test]
fn by_asynchronous_callbacks_of_a_mutually_exclusive_group() {
    for threads in [1, 2] {
        all_are_taken(threads, |executor, feed, taken| {
            let group = executor.create_group("group", ());
            let count = move |_, _| {
                let taken = Arc::clone(&taken);
                async move { _ = taken.fetch_add(1, Ordering::AcqRel) }
            };
            group.create_source_async(EntityKind::Waitable, options(), feed, count).unwrap()
        });
    }
}

#[test]
fn by_callbacks_of_a_reentrant_group() {
    for threads in [1, 2] {
        all_are_taken(threads, |executor, feed, taken| {
            let group = executor.create_reentrant_group("group");
            let count = move |_| _ = taken.fetch_add(1, Ordering::AcqRel);
            group.create_source(EntityKind::Waitable, options(), feed, count).unwrap()
        });
    }
}

#[test]
fn by_asynchronous_callbacks_of_a_reentrant_group() {
    for threads in [1, 2] {
        all_are_taken(threads, |executor, feed, taken| {
            let group = executor.create_reentrant_group("group");
            let count = move |_| {
                let taken = Arc::clone(&taken);
                async move { _ = taken.fetch_add(1, Ordering::AcqRel) }
            };
            group.create_source_async(EntityKind::Waitable, options(), feed, count).unwrap()
        });
    }
}

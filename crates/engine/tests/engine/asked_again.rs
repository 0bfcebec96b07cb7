//! Sources that withhold notifications until they were asked once more.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use rospin_engine::policy::by_name;
use rospin_engine::{
    EntityKind, Executor, ExecutorOptions, GroupOptions, Incident, Instant, Notifier, OnPanic, Payload, Pending,
    Source, TakeError,
};

use crate::common::{Log, manual_executor, spin_all, watchdog, with_incidents};

/// Event that the source or a callback logs.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Event {
    Taken(u32),
    Ran(u32),
    Asked,
}
use Event::{Asked, Ran, Taken};

/// A source that never notifies by itself: whoever adds an item to it relies on it being asked.
#[derive(Clone)]
struct Silent {
    items: Arc<Mutex<VecDeque<u32>>>,
    notifier: Arc<Mutex<Option<Notifier>>>,
    log: Log<Event>,
    /// True if the source panics when it is asked after a take.
    panics: bool,
}

impl Silent {
    fn new() -> Self {
        Self { items: Arc::default(), notifier: Arc::default(), log: Log::new(), panics: false }
    }

    fn push(&self, item: u32) {
        self.items.lock().unwrap().push_back(item);
    }

    fn notify(&self) {
        self.notifier.lock().unwrap().as_ref().unwrap().notify();
    }
}

impl Source for Silent {
    type Item = u32;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        *self.notifier.lock().unwrap() = Some(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<u32>, TakeError> {
        let item = self.items.lock().unwrap().pop_front();
        item.iter().for_each(|item| self.log.push(Taken(*item)));
        Ok(item)
    }

    fn pending(&self) -> Pending {
        // The first call, when the entity is added, comes before any take.
        let has_taken = self.log.len() > 0;
        self.log.push(Asked);
        assert!(!has_taken || !self.panics, "asked");
        if self.items.lock().unwrap().is_empty() { Pending::Empty } else { Pending::Since(Instant::ZERO) }
    }

    fn take_and_look(&mut self) -> Result<Option<(u32, Pending)>, TakeError> {
        Ok(self.try_take()?.map(|item| (item, Pending::AskAgain)))
    }
}

/// Adds item 1, whose callback adds item 10, and runs everything that is ready. Then notifies once more, and runs
/// everything again. Returns the events before and after that notification.
fn run<E>(executor: &Executor, source: &Silent, entity: impl FnOnce(Silent) -> E) -> [Vec<Event>; 2] {
    let _entity = entity(source.clone());
    spin_all(executor);
    source.log.take();
    source.push(1);
    source.notify();
    spin_all(executor);
    let without = source.log.take();
    source.notify();
    spin_all(executor);
    [without, source.log.take()]
}

/// The body of the callbacks.
fn handle(source: &Silent, item: u32) {
    source.log.push(Ran(item));
    if item == 1 {
        source.push(10);
    }
}

/// The policies of both ways to run a callback: in place, and lent to the thread, as under a policy that cannot name
/// what comes first.
const BOTH_WAYS: [&str; 2] = ["fifo", "wait-set-e1"];

fn of_both_ways(test: impl Fn(&Executor)) {
    for policy in BOTH_WAYS {
        let (_clock, context, _) = manual_executor();
        test(&context.create_executor(ExecutorOptions::new("both").boxed_policy(by_name(policy).unwrap())));
    }
}

#[test]
fn a_synchronous_callback_runs_before_the_source_is_asked() {
    watchdog(|| {
        of_both_ways(|executor| {
            let source = Silent::new();
            let group = executor.create_group("group", ());
            let [without, with] = run(executor, &source, |of| {
                let source = of.clone();
                group.create_source(EntityKind::Waitable, "silent", of, move |(), item| handle(&source, item)).unwrap()
            });
            assert_eq!(without, [Taken(1), Ran(1), Asked, Taken(10), Ran(10), Asked]);
            assert_eq!(with, []);
        });
    });
}

#[test]
fn others_run_after_the_source_was_asked() {
    watchdog(|| {
        of_both_ways(|executor| {
            let source = Silent::new();
            let group = executor.create_reentrant_group("group");
            let reentrant = run(executor, &source, |of| {
                let source = of.clone();
                group.create_source(EntityKind::Waitable, "silent", of, move |item| handle(&source, item)).unwrap()
            });
            let group = executor.create_group("group", ());
            let source = Silent::new();
            let asynchronous = run(executor, &source, |of| {
                let source = of.clone();
                let callback = move |_: Payload<()>, item| {
                    let source = source.clone();
                    async move { handle(&source, item) }
                };
                group.create_source_async(EntityKind::Waitable, "silent", of, callback).unwrap()
            });
            for [without, with] in [reentrant, asynchronous] {
                assert_eq!(without, [Taken(1), Asked, Ran(1)], "the source said that it had nothing");
                assert_eq!(with, [Taken(10), Asked, Ran(10)]);
            }
        });
    });
}

/// [Runs](run) a callback. The first element of `panics` is true if it panics at item 1, the second one if the source
/// panics when it is asked. Returns the events, and the incidents.
fn run_panicking(policy: &str, panics: [bool; 2]) -> ([Vec<Event>; 2], Vec<Incident>) {
    let (context, incidents) = with_incidents();
    let executor = context.create_executor(ExecutorOptions::new("main").boxed_policy(by_name(policy).unwrap()));
    let [callback_panics, source_panics] = panics;
    let source = Silent { panics: source_panics, ..Silent::new() };
    let group = executor.create_group(GroupOptions::new("group").on_panic(OnPanic::Continue), ());
    let events = run(&executor, &source, |of| {
        let source = of.clone();
        let callback = move |(): &mut (), item| {
            handle(&source, item);
            assert!(item != 1 || !callback_panics, "first item");
        };
        group.create_source(EntityKind::Waitable, "silent", of, callback).unwrap()
    });
    (events, incidents.take())
}

#[test]
fn an_item_that_came_before_a_panic_runs() {
    watchdog(|| {
        for policy in BOTH_WAYS {
            let ([without, with], incidents) = run_panicking(policy, [true, false]);
            assert_eq!(without, [Taken(1), Ran(1), Asked, Taken(10), Ran(10), Asked]);
            assert_eq!((with, incidents.len()), (vec![], 1));
        }
    });
}

#[test]
fn a_source_that_panics_when_it_is_asked_is_over() {
    watchdog(|| {
        for policy in BOTH_WAYS {
            for callback_panics in [false, true] {
                let ([without, with], incidents) = run_panicking(policy, [callback_panics, true]);
                assert_eq!(without, [Taken(1), Ran(1), Asked]);
                assert_eq!((with, incidents.len()), (vec![], 1), "of two panics, the first one is reported");
            }
        }
    });
}

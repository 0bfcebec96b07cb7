//! Sources of many entities: which are asked to fetch their items, and when.

use rospin_engine::policy::Fifo;
use rospin_engine::{
    Context, ContextOptions, EntityKind, EntityOptions, ExecutorOptions, Notifier, Pending, Source, TakeError,
};

use crate::common::{Log, spin_all, watchdog};

/// A call of a source. The first number is that of the source.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Event {
    /// A prefetch, and its distance.
    Fetched(usize, usize),
    /// A take.
    Taken(usize),
}

/// A source of one item. Every tenth one panics when it is asked to fetch.
struct One {
    number: usize,
    is_left: bool,
    log: Log<Event>,
}

impl Source for One {
    type Item = usize;
    type Attachment = ();

    fn attach(&mut self, _: Notifier) -> Result<(), TakeError> {
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<usize>, TakeError> {
        self.log.push(Event::Taken(self.number));
        Ok(std::mem::take(&mut self.is_left).then_some(self.number))
    }

    fn pending(&self) -> Pending {
        if self.is_left { Pending::Unknown } else { Pending::Empty }
    }

    fn prefetch(&self, distance: usize) {
        self.log.push(Event::Fetched(self.number, distance));
        assert!(!self.number.is_multiple_of(10), "on purpose");
    }
}

/// Runs the callbacks of so many sources, each of which has an item. Returns what happened.
fn run(count: usize) -> Vec<Event> {
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("main").policy(Fifo::new()));
    let group = executor.create_group("group", Vec::new());
    let log = Log::new();
    let create = |number| {
        let source = One { number, is_left: true, log: log.clone() };
        let options = EntityOptions::new(format!("one-{number}"));
        group.create_source(EntityKind::Waitable, options, source, |ran: &mut Vec<usize>, n| ran.push(n)).unwrap()
    };
    let _entities: Vec<_> = (0..count).map(create).collect();
    spin_all(&executor);
    assert_eq!(group.into_payload().unwrap(), (0..count).collect::<Vec<_>>());
    log.take()
}

#[test]
fn sources_of_many_entities_fetch_six_four_and_two_callbacks_before_they_are_taken_from() {
    watchdog(|| {
        let events = run(300);
        let of = |number| {
            let is_of = move |event: &&Event| matches!(**event, Event::Fetched(n, _) | Event::Taken(n) if n == number);
            events.iter().filter(is_of).copied().collect::<Vec<_>>()
        };
        // The first ones run before anybody has looked ahead.
        for number in 9..300 {
            let wanted = [6, 4, 2].map(|distance| Event::Fetched(number, distance));
            assert_eq!(of(number), [&wanted[..], &[Event::Taken(number)]].concat());
        }
    });
}

#[test]
fn sources_of_few_entities_are_not_asked_to_fetch() {
    watchdog(|| assert!(run(200).iter().all(|event| matches!(event, Event::Taken(_)))));
}

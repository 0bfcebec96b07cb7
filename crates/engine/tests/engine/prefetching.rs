//! Prefetching: which sources are asked to fetch their items, and when.

use std::sync::Arc;

use rospin_engine::{EntityKind, EntityOptions, Notifier, Pending, Source, TakeError};

use crate::common::{Log, manual_executor, spin_all, watchdog};

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

/// Runs the callbacks of so many sources, each of which has an item. Those of the sources `publish` also publish a
/// message, which comes last. Returns what happened.
fn run(count: usize, publish: &'static [usize]) -> Vec<Event> {
    let (_clock, context, executor) = manual_executor();
    let group = executor.create_group("group", Vec::new());
    let log = Log::new();
    let publisher = Arc::new(context.create_local_publisher("topic").unwrap());
    let create = |number| {
        let publisher = Arc::clone(&publisher);
        let callback = move |ran: &mut Vec<usize>, number| {
            ran.push(number);
            if publish.contains(&number) {
                publisher.publish(());
            }
        };
        let source = One { number, is_left: true, log: log.clone() };
        let options = EntityOptions::new(format!("one-{number}"));
        group.create_source(EntityKind::Waitable, options, source, callback).unwrap()
    };
    let _entities: Vec<_> = (0..count).map(create).collect();
    let _last = group.create_local_subscription("topic", |_, _: Arc<()>| {}).unwrap();
    spin_all(&executor);
    assert_eq!(group.into_payload().unwrap(), (0..count).collect::<Vec<_>>());
    log.take()
}

/// Asserts that a source was asked to fetch at these distances, and then taken from.
fn assert_fetched(number: usize, distances: &[usize], events: &[Event]) {
    let is_of = |event: &&Event| matches!(**event, Event::Fetched(n, _) | Event::Taken(n) if n == number);
    let fetched = distances.iter().map(|distance| Event::Fetched(number, *distance));
    let wanted: Vec<_> = fetched.chain([Event::Taken(number)]).collect();
    assert_eq!(events.iter().filter(is_of).copied().collect::<Vec<_>>(), wanted);
}

#[test]
fn sources_of_many_entities_fetch_six_four_and_two_callbacks_before_they_are_taken_from() {
    watchdog(|| {
        let events = run(300, &[]);
        // The first ones run before anybody has looked ahead.
        (9..300).for_each(|number| assert_fetched(number, &[6, 4, 2], &events));
    });
}

#[test]
fn sources_of_few_entities_fetch_four_and_two_callbacks_before_they_are_taken_from_while_items_come() {
    watchdog(|| {
        let events = run(200, &[10, 150]);
        // A message is found before the next callback. From then on, 64 callbacks look ahead: the first one to the
        // fourth after it.
        for first in [11, 151] {
            (first..first + 4).for_each(|number| assert_fetched(number, &[], &events));
            (first + 4..(first + 66).min(200)).for_each(|number| assert_fetched(number, &[4, 2], &events));
        }
        (0..11).for_each(|number| assert_fetched(number, &[], &events));
        (77..79).for_each(|number| assert_fetched(number, &[4], &events));
        (79..151).for_each(|number| assert_fetched(number, &[], &events));
    });
}

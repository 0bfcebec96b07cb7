//! Topics and executors: the spin contract, and isolation between executors.

use std::thread;
use std::time::Instant;

use rospin_engine::{SpinEnd, SpinOptions};
use rospin_node::{PublisherOptions, SubscriptionOptions};

use super::fixture::Fixture;
use super::messages::{Number, number};
use super::seen::Seen;
use super::world::{Flood, World};

/// Nothing runs before `spin`, and nothing after it has returned. The next spin gets the messages that arrived
/// meanwhile.
pub fn nothing_runs_before_spin_or_after_it<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("numbers").unwrap();
    let listener = world.listen(&world.there, &main, "numbers");
    let witness = world.listen(&world.there, world.helper(), "numbers");
    world.matched(&publisher, &[&listener.subscription, &witness.subscription]);
    for round in 0..5 {
        world.publish(&publisher, number(round));
        world.wait("it has arrived", witness.heard.until_has(round));
        assert_eq!(listener.heard.all(), (0..round).collect::<Vec<_>>(), "nobody spins");
        world.spin_until(&main, "it is heard", listener.heard.until_has(round));
    }
}

/// With several messages, `spin_once` runs the callback for one.
pub fn spin_once_runs_one_callback<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("numbers").unwrap();
    let listener = world.listen(&world.there, &main, "numbers");
    world.matched(&publisher, &[&listener.subscription]);
    world.publish_all(&publisher, 0..5);
    for count in 1..=5 {
        let options = SpinOptions::spin_once().timeout(F::PATIENCE);
        assert_eq!(main.spin(options).unwrap(), SpinEnd::Done);
        assert_eq!(listener.heard.count(), count);
    }
}

/// A halt stops an executor while messages arrive all the time: nothing runs after its spin has returned.
pub fn halt_while_messages_pour_in<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("numbers").unwrap();
    let listener = world.listen(&world.there, &main, "numbers");
    let witness = world.listen(&world.there, world.helper(), "numbers");
    world.matched(&publisher, &[&listener.subscription, &witness.subscription]);
    let _flood = Flood::start::<F>(&publisher);
    for _ in 0..20 {
        world.spinning(&[&main], || {
            world.wait("something is heard", listener.heard.until_count(listener.heard.count() + 3));
        });
        let after = listener.heard.count();
        world.wait("more has come", witness.heard.until_count(witness.heard.count() + 3));
        assert_eq!(listener.heard.count(), after, "the spin has returned");
    }
    let heard = listener.heard.all();
    assert!(heard.is_sorted_by(|one, next| one < next), "in order, none twice");
}

/// A callback halts its own executor. No other callback runs in that spin.
pub fn a_callback_halts_its_executor<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("numbers").unwrap();
    let group = main.create_group("halts", ());
    let heard = Seen::new();
    let handle = main.handle();
    let log = heard.clone();
    let subscription = world.there.on(&group).create_subscription("numbers", move |number: Number| {
        log.push(number.data);
        handle.halt();
    });
    let subscription = subscription.unwrap();
    world.matched(&publisher, &[&subscription]);
    world.publish_all(&publisher, 0..5);
    for round in 0..5 {
        assert_eq!(main.spin(SpinOptions::new().timeout(F::PATIENCE)).unwrap(), SpinEnd::Halted);
        assert_eq!(heard.all(), (0..=round).collect::<Vec<_>>());
    }
}

/// An executor is dropped while another thread publishes to its subscriptions. The callbacks are dropped with it, and
/// publishing continues.
pub fn an_executor_is_dropped_while_another_thread_publishes<F: Fixture>() {
    let world = World::<F>::new();
    let publisher = world.here.create_publisher("numbers").unwrap();
    let witness = world.listen(&world.there, world.helper(), "numbers");
    let flood = Flood::start::<F>(&publisher);
    for _ in 0..5 {
        let main = world.executor("main");
        let listener = world.listen(&world.there, &main, "numbers");
        world.spinning(&[&main], || world.wait("something is heard", listener.heard.until_count(3)));
        drop(main);
        let after = listener.heard.count();
        world.wait("others hear more", witness.heard.until_count(witness.heard.count() + 3));
        assert_eq!(listener.heard.count(), after, "the executor is gone");
        drop(listener);
    }
    drop(flood);
    world.publish(&publisher, number(-1));
    world.wait("the last one is heard", witness.heard.until_has(-1));
}

/// A callback that blocks delays only its own executor.
pub fn one_executor_blocks_and_the_other_goes_on<F: Fixture>() {
    let world = World::<F>::new();
    let slow = world.executor("slow");
    let quick = world.executor("quick");
    let publisher = world.here.create_publisher(PublisherOptions::new("numbers").keep_last(100)).unwrap();
    let group = slow.create_group("slow", ());
    let begun = Seen::new();
    let gate = world.gate();
    let log = begun.clone();
    let wait = gate.clone();
    let blocked = world.there.on(&group).create_subscription("numbers", move |number: Number| {
        log.push(number.data);
        wait.pass();
    });
    let blocked = blocked.unwrap();
    let listener = world.listen(&world.there, &quick, SubscriptionOptions::new("numbers").keep_last(100));
    world.matched(&publisher, &[&blocked, &listener.subscription]);
    world.spinning(&[&slow, &quick], || {
        world.publish(&publisher, number(0));
        world.wait("the slow one blocks", begun.until_count(1));
        world.publish_all(&publisher, 1..100);
        world.wait("the quick one hears all", listener.heard.until_count(100));
        assert_eq!(begun.count(), 1, "it blocks still");
        gate.open();
        world.wait("the slow one goes on", begun.until_has(99));
    });
    assert_eq!(begun.count() as u64 + blocked.missed(), 100);
}

/// Spurious or merged notifications do not matter: a callback runs once per message, over many spins.
pub fn each_message_runs_one_callback_over_many_spins<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher(PublisherOptions::new("numbers").keep_last(200)).unwrap();
    let listener = world.listen(&world.there, &main, SubscriptionOptions::new("numbers").keep_last(200));
    world.matched(&publisher, &[&listener.subscription]);
    thread::scope(|scope| {
        scope.spawn(|| world.publish_all(&publisher, 0..200));
        let begin = Instant::now();
        while listener.heard.count() < 200 {
            assert!(begin.elapsed() < F::PATIENCE, "{} of 200 are heard", listener.heard.count());
            // Messages arrive while nobody spins, during a spin, and right after it.
            world.spin_all(&main);
        }
    });
    assert_eq!(listener.heard.all(), (0..200).collect::<Vec<_>>());
    assert_eq!(listener.subscription.missed(), 0);
}

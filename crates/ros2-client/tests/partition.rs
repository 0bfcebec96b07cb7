//! The network falls apart for ten seconds and heals: nothing that has to go on waits for it, and nothing is lost uncounted.
//!
//! Two processes in network namespaces of their own, joined by a virtual cable. That takes `ip` and the right to make
//! namespaces; where they cannot be had, the test says so and passes.

mod common;

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::network::{ADDRESS, Network, PART};
use common::ticks::{Ticks, assert_they_went_on};
use common::{context, executor, wait};
use rospin_engine::{Context, Executor};
use rospin_ros2_client::{Domain, DomainOptions, Message, Node, PublisherOptions, SubscriptionOptions};
use serde::{Deserialize, Serialize};

/// How long the cable is out.
const OUTAGE: Duration = Duration::from_secs(10);
/// How often the talker talks.
const TALK: Duration = Duration::from_millis(20);

#[derive(Clone, Serialize, Deserialize)]
struct Number {
    data: i64,
}

impl Message for Number {
    const TYPE: &str = "std_msgs/msg/Int64";
}

#[test]
#[expect(clippy::print_stderr, reason = "it says that the test is skipped, and what it measured")]
fn timers_go_on_and_counts_are_exact_when_the_network_heals() {
    let network = match Network::new() {
        Ok(network) => network,
        Err(why) => return eprintln!("SKIPPED for want of network namespaces: {why}"),
    };
    let listener = network.start(0, "listener");
    let mut talker = network.start(1, "talker");
    listener.expect("HEARS");
    network.set("down");
    thread::sleep(OUTAGE);
    network.set("up");
    // Neither process was told of anything.
    talker.tell();
    let [published, talker_ticks @ ..] = &talker.expect("TALKED")[..] else { panic!("figures") };
    let [heard, missed, in_order, listener_ticks @ ..] = &listener.expect("HEARD")[..] else { panic!("figures") };
    eprintln!("{published} published, {heard} heard, {missed} missed; {talker_ticks:?}, {listener_ticks:?}");
    assert!(*published > i64::try_from(OUTAGE.as_millis() / TALK.as_millis()).unwrap() / 2, "it talked all the while");
    assert_eq!((heard + missed, *in_order), (*published, 1));
    for ticks in [talker_ticks, listener_ticks] {
        assert_they_went_on(ticks, OUTAGE);
    }
}

/// What runs in a namespace; without a part, nothing.
#[test]
fn the_other_process() {
    let (Ok(part), Ok(address)) = (std::env::var(PART), std::env::var(ADDRESS)) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let options = DomainOptions::new().domain_id(7).only_networks([address.parse::<IpAddr>().unwrap()]);
    let domain = Domain::join(&executor.handle(), options).unwrap();
    let node = domain.ros().create_node(part.as_str()).unwrap();
    match part.as_str() {
        "talker" => talk(&context, &executor, &node),
        _ => hear(&context, &executor, &node),
    }
}

#[expect(clippy::print_stdout, reason = "the test reads it")]
fn talk(context: &Context, executor: &Executor, node: &Node) {
    let publisher = node.create_publisher::<Number>(PublisherOptions::new("numbers").keep_last(10)).unwrap();
    wait(executor, "somebody listens", publisher.wait_for_subscription());
    let ticks = Ticks::start(context, executor);
    let told = Arc::new(AtomicBool::new(false));
    thread::spawn({
        let told = Arc::clone(&told);
        move || {
            let mut line = String::new();
            // The end of the pipe ends it, too.
            let _ = std::io::stdin().read_line(&mut line);
            told.store(true, Ordering::Relaxed);
        }
    });
    let (group, handle) = (executor.create_group("talk", 0), executor.handle());
    // With the last clone the middleware forgets what is to be sent again.
    let numbers = publisher.clone();
    let _timer = group.create_timer(TALK, move |next: &mut i64, _| {
        numbers.publish(Number { data: *next }).expect("ten seconds are not too much");
        *next += 1;
        if told.load(Ordering::Relaxed) {
            handle.halt();
        }
    });
    // No patience here: it ends when it is told to.
    executor.spin(rospin_engine::SpinOptions::new()).unwrap();
    assert_eq!(publisher.subscription_count(), 1, "it is matched still, or again");
    // Matching goes on: this topic is new.
    let published = group.into_payload().unwrap();
    let end = node.create_publisher::<Number>("end").unwrap();
    wait(executor, "the new topic is matched", end.wait_for_subscription());
    end.publish(Number { data: published }).unwrap();
    println!("TALKED {published} {}", ticks.figures());
    // What is on its way is sent, and sent again, by threads that end with the process: the test ends it.
    wait(executor, "the test ends", std::future::pending())
}

#[expect(clippy::print_stdout, reason = "the test reads it")]
fn hear(context: &Context, executor: &Executor, node: &Node) {
    let ticks = Ticks::start(context, executor);
    let (group, handle) = (executor.create_group("hear", ()), executor.handle());
    let (heard, published) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(None)));
    // Whichever comes later: the last number, or how many there are.
    let halt_at_end = {
        let (heard, published) = (Arc::clone(&heard), Arc::clone(&published));
        move || {
            let last = heard.lock().unwrap().last().copied();
            if published.lock().unwrap().is_some_and(|published: i64| last == Some(published - 1)) {
                handle.halt();
            }
        }
    };
    let (log, check) = (Arc::clone(&heard), halt_at_end.clone());
    let options = SubscriptionOptions::new("numbers").keep_last(1000);
    let numbers = node.on(&group).create_subscription(options, move |number: Number| {
        log.lock().unwrap().push(number.data);
        if log.lock().unwrap().len() == 50 {
            println!("HEARS");
        }
        check();
    });
    let (numbers, told) = (numbers.unwrap(), Arc::clone(&published));
    let _end = node.on(&group).create_subscription("end", move |number: Number| {
        *told.lock().unwrap() = Some(number.data);
        halt_at_end();
    });
    executor.spin(rospin_engine::SpinOptions::new()).unwrap();
    assert_eq!(numbers.publisher_count(), 1, "it is matched still, or again");
    let heard = heard.lock().unwrap();
    let in_order = i32::from(heard.is_sorted_by(|one, next| one < next));
    println!("HEARD {} {} {in_order} {}", heard.len(), numbers.missed() + number_of_first(&heard), ticks.figures());
}

/// What was published before the first that was heard: it came before the subscription was matched from both sides.
fn number_of_first(heard: &[i64]) -> u64 {
    u64::try_from(heard[0]).unwrap()
}

//! The network falls apart and heals: nothing that has to go on waits for it. Within the lease nothing is lost
//! uncounted, beyond it who lost each other find each other again.
//!
//! Two processes in network namespaces of their own, joined by a virtual cable. That takes `ip` and the right to make
//! namespaces; where they cannot be had, the test says so and passes.

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::network::{ADDRESS, Network, PART};
use common::ticks::{Ticks, assert_they_went_on};
use common::{context, executor, wait};
use rospin_dds::{Domain, DomainOptions, Message, Node, PublisherOptions, SubscriptionOptions};
use rospin_engine::{Context, Executor};
use serde::{Deserialize, Serialize};

/// The times that the cable is out: less than the lease, which is ten seconds, and more.
const OUTAGES: [Duration; 2] = [Duration::from_secs(6), Duration::from_secs(16)];
/// The period of the talker.
const TALK: Duration = Duration::from_millis(20);

#[derive(Clone, Serialize, Deserialize)]
struct Number {
    data: i64,
}

impl Message for Number {
    const TYPE: &str = "std_msgs/msg/Int64";
}

/// Pulls the cable for that long, and checks the counts; they are exact if nobody is given up meanwhile.
#[expect(clippy::print_stderr, reason = "it says that the test is skipped, and what it measured")]
fn fall_apart(outage: Duration, is_exact: bool) {
    // Both tests use the same names for their hosts.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock();
    let network = match Network::new() {
        Ok(network) => network,
        Err(why) => return eprintln!("SKIPPED for want of network namespaces: {why}"),
    };
    let listener = network.start(0, "listener");
    let mut talker = network.start(1, "talker");
    listener.expect("HEARS");
    network.set("down");
    thread::sleep(outage);
    network.set("up");
    // Neither process knew that the network was down.
    talker.tell();
    let [published, talker_ticks @ ..] = &talker.expect("TALKED")[..] else { panic!("figures") };
    let [heard, missed, in_order, listener_ticks @ ..] = &listener.expect("HEARD")[..] else { panic!("figures") };
    eprintln!("{published} published, {heard} heard, {missed} missed; {talker_ticks:?}, {listener_ticks:?}");
    assert!(*published > i64::try_from(outage.as_millis() / TALK.as_millis()).unwrap() / 2, "it talked all the while");
    assert_eq!(*in_order, 1);
    if is_exact {
        assert_eq!(heard + missed, *published);
    }
    assert!(heard + missed <= *published);
    for ticks in [talker_ticks, listener_ticks] {
        assert_they_went_on(ticks, outage);
    }
}

#[test]
fn timers_go_on_and_counts_are_exact_when_the_network_heals_soon() {
    fall_apart(OUTAGES[0], true);
}

#[test]
fn timers_go_on_and_who_was_lost_is_found_when_the_network_heals_late() {
    fall_apart(OUTAGES[1], false);
}

/// The part of a process in a namespace; without a part, nothing.
#[test]
fn the_other_process() {
    let (Ok(part), Ok(address)) = (std::env::var(PART), std::env::var(ADDRESS)) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let only = format!("<General><Interfaces><NetworkInterface address=\"{address}\"/></Interfaces></General>");
    let options = DomainOptions::new().domain_id(7).cyclonedds_uri(only);
    let domain = Domain::join(options).unwrap();
    let node = domain.ros(&context).create_node(part.as_str()).unwrap();
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
            // Returns when the test sends a line, or closes the pipe because it has ended.
            let _ = std::io::stdin().read_line(&mut line);
            told.store(true, Ordering::Relaxed);
        }
    });
    let group = executor.create_group("talk", 0);
    let handle = executor.handle();
    let numbers = publisher.clone();
    let mut more = 10;
    let told_at = std::sync::OnceLock::new();
    let _timer = group.create_timer(TALK, move |next: &mut i64, _| {
        numbers.publish(Number { data: *next }).expect("it is not too much");
        *next += 1;
        let is_told = told.load(Ordering::Relaxed);
        if is_told && told_at.get_or_init(std::time::Instant::now).elapsed() > common::PATIENCE {
            panic!("it is matched no more");
        }
        if is_told && numbers.subscription_count() == 1 {
            more -= 1;
        }
        if more == 0 {
            handle.halt();
        }
    });
    // This spin has no timeout: it ends when the test tells the process to.
    executor.spin(rospin_engine::SpinOptions::new()).unwrap();
    assert_eq!(publisher.subscription_count(), 1, "it is matched still, or again");
    // A topic that is new after the outage is matched.
    let published = group.into_payload().unwrap();
    let end = node.create_publisher::<Number>("end").unwrap();
    wait(executor, "the new topic is matched", end.wait_for_subscription());
    end.publish(Number { data: published }).unwrap();
    println!("TALKED {published} {}", ticks.figures());
    // The library's threads send lost messages again, so the process must live until the test ends it.
    wait(executor, "the test ends", std::future::pending())
}

#[expect(clippy::print_stdout, reason = "the test reads it")]
fn hear(context: &Context, executor: &Executor, node: &Node) {
    let ticks = Ticks::start(context, executor);
    let group = executor.create_group("hear", ());
    let handle = executor.handle();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let published = Arc::new(Mutex::new(None));
    // Either may come last: the last number, or the number of published messages.
    let halt_at_end = {
        let heard = Arc::clone(&heard);
        let published = Arc::clone(&published);
        move || {
            let last = heard.lock().unwrap().last().copied();
            if published.lock().unwrap().is_some_and(|published: i64| last == Some(published - 1)) {
                handle.halt();
            }
        }
    };
    let log = Arc::clone(&heard);
    let check = halt_at_end.clone();
    let options = SubscriptionOptions::new("numbers").keep_last(1000);
    let numbers = node.on(&group).create_subscription(options, move |number: Number| {
        log.lock().unwrap().push(number.data);
        if log.lock().unwrap().len() == 50 {
            println!("HEARS");
        }
        check();
    });
    let numbers = numbers.unwrap();
    let told = Arc::clone(&published);
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

/// Messages that were published before the first that was heard, and before the subscription was matched from both
/// sides.
fn number_of_first(heard: &[i64]) -> u64 {
    u64::try_from(heard[0]).unwrap()
}

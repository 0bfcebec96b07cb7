//! The network falls apart for ten seconds and heals: what waits for room loses nothing, what is dropped is counted,
//! who is out of reach for longer than a lease is met again, and nothing that has to go on waits for any of it.
//!
//! The hosts are network namespaces; where they cannot be had, the test says so and passes.

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::network::{ADDRESS, Network, PART};
use common::ticks::{Ticks, assert_they_went_on};
use common::{context, executor, keep_all, wait, wait_until};
use rospin_engine::{Context, Executor, SpinOptions};
use rospin_zenoh::{Message, Node, PublisherOptions, Qos, Session, SessionOptions, SubscriptionOptions};
use serde::{Deserialize, Serialize};

/// The time for which the cable is out.
const OUTAGE: Duration = Duration::from_secs(10);
/// The period of a talker's messages.
const TALK: Duration = Duration::from_millis(20);
/// The length of each message in bytes: during the outage there are far more of them than there is room for.
const LOAD: usize = 8192;
/// The size of the kernel's send buffer in bytes. Without it, the size would depend on the machine.
const ROOM: usize = 65_536;

/// A talker and a listener, with a connection of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pair {
    /// The publisher keeps all messages, and waits for room.
    Waits,
    /// It keeps the last ones: it drops what finds no room.
    Drops,
    /// As before, and the connection's lease ends during the outage.
    Leaves,
}

const PAIRS: [Pair; 3] = [Pair::Waits, Pair::Drops, Pair::Leaves];

#[derive(Clone, Serialize, Deserialize)]
struct Numbered {
    number: i64,
    load: String,
}

impl Message for Numbered {
    const TYPE: &str = "test_msgs/msg/Numbered";
}

#[test]
#[expect(clippy::print_stderr, reason = "it says that the test is skipped, and what it measured")]
fn published_messages_are_heard_or_counted_and_timers_go_on() {
    let network = match Network::new() {
        Ok(network) => network,
        Err(why) => return eprintln!("SKIPPED for want of network namespaces: {why}"),
    };
    let start = |host, part: &str, pair: Pair| network.start(host, &format!("{part} {}", pair as usize));
    let listeners = PAIRS.map(|pair| start(0, "listener", pair));
    let mut talkers = PAIRS.map(|pair| start(1, "talker", pair));
    let both_say = |word| [&listeners, &talkers].map(|parts| parts[Pair::Leaves as usize].expect(word));
    for listener in &listeners {
        listener.expect("HEARS");
    }
    network.set("down");
    thread::sleep(OUTAGE);
    both_say("GONE");
    network.set("up");
    both_say("BACK");
    // The talkers did not know that the network was down.
    for talker in &mut talkers {
        talker.tell();
    }
    for (pair, (talker, listener)) in PAIRS.into_iter().zip(talkers.iter().zip(&listeners)) {
        let [published, longest_ms, talker_ticks @ ..] = &talker.expect("TALKED")[..] else { panic!("figures") };
        let [heard, first, missed, last, in_order, listener_ticks @ ..] = &listener.expect("HEARD")[..] else {
            panic!("figures")
        };
        eprintln!(
            "{pair:?}: {published} published, the slowest in {longest_ms} ms; of {} {heard} heard, {missed} missed; \
             {talker_ticks:?}, {listener_ticks:?}",
            last - first + 1
        );
        assert_eq!((first + heard + missed, *in_order), (last + 1, 1));
        match pair {
            Pair::Waits => {
                assert_eq!(*missed, 0);
                assert!(*longest_ms > 1_000, "it had to wait for the network");
            }
            Pair::Drops | Pair::Leaves => {
                assert!(*missed > 0);
                assert!(*published > i64::try_from(OUTAGE.as_millis() / TALK.as_millis()).unwrap() / 2, "it talked on");
                assert!(*longest_ms < 5_000, "it waited {longest_ms} ms, as if for the network");
            }
        }
        for ticks in [talker_ticks, listener_ticks] {
            assert_they_went_on(ticks, OUTAGE);
        }
    }
}

/// Runs one part in a namespace; without a part, nothing.
#[test]
fn the_other_process() {
    let (Ok(part), Ok(_)) = (std::env::var(PART), std::env::var(ADDRESS)) else { return };
    let Some((part, pair)) = part.split_once(' ') else { panic!("a part and a pair") };
    let pair = PAIRS[pair.parse::<usize>().unwrap()];
    let endpoint = format!("tcp/{}:{}", Network::ADDRESSES[0], 7450 + pair as usize);
    let options = match part {
        "listener" => SessionOptions::new().connect([]).listen([endpoint.as_str()]),
        _ => SessionOptions::new().connect([format!("{endpoint}#so_sndbuf={ROOM}").as_str()]).listen([]),
    };
    let options = if pair == Pair::Leaves { options.setting("transport/link/tx/lease", "2000") } else { options };
    let (context, _) = context();
    let main = executor(&context, "main");
    let node = Session::open(options).unwrap().ros(&context).create_node(part).unwrap();
    // This executor does not wait for the network. Its publisher keeps the last messages only.
    let apart = executor(&context, "apart");
    let ticks = Ticks::start(&context, &apart);
    let group = apart.create_group("beside", ());
    let publisher = node.create_publisher::<Numbered>("beside").unwrap();
    let _timer = group.create_timer(TALK, move |(), _| {
        publisher.publish(Numbered { number: 0, load: String::new() }).unwrap();
    });
    thread::spawn(move || apart.spin(SpinOptions::new()));
    match part {
        "listener" => hear(&main, &node, pair, &ticks),
        _ => talk(&context, &main, &node, pair, &ticks),
    }
}

/// Says when there is nobody else any more, and when there is somebody again.
#[expect(clippy::print_stdout, reason = "the test reads it")]
fn tell_of_the_outage(executor: &Executor, node: &Node, count: impl Fn() -> usize) {
    let alone = [node.fully_qualified_name()];
    let is_met = || count() == 1 && node.node_names() == ["/listener", "/talker"];
    wait_until(executor, "the other one is there", is_met);
    wait_until(executor, "the other one is out of reach", || count() == 0 && node.node_names() == alone);
    println!("GONE");
    wait_until(executor, "the other one is back", is_met);
    println!("BACK");
}

#[expect(clippy::print_stdout, reason = "the test reads it")]
fn talk(context: &Context, executor: &Executor, node: &Node, pair: Pair, ticks: &Ticks) {
    let qos = if pair == Pair::Waits { keep_all() } else { Qos::default() };
    let publisher = node.create_publisher::<Numbered>(PublisherOptions::new("numbers").qos(qos)).unwrap();
    wait(executor, "somebody listens", publisher.wait_for_subscription());
    let told = Arc::new(AtomicBool::new(false));
    thread::spawn({
        let told = Arc::clone(&told);
        move || {
            let mut line = String::new();
            // The end of the pipe ends the wait, too.
            let _ = std::io::stdin().read_line(&mut line);
            told.store(true, Ordering::Relaxed);
        }
    });
    let group = executor.create_group("talk", ());
    let handle = executor.handle();
    let numbers = publisher.clone();
    let clock = context.clock().clone();
    let load = "x".repeat(LOAD);
    let said = Arc::new(Mutex::new((0, Duration::ZERO)));
    let count = Arc::clone(&said);
    let _timer = group.create_timer(TALK, move |(), _| {
        let number = count.lock().unwrap().0;
        let began = clock.now();
        numbers.publish(Numbered { number, load: load.clone() }).unwrap();
        let (published, longest) = &mut *count.lock().unwrap();
        (*published, *longest) = (number + 1, clock.now().saturating_since(began).max(*longest));
        if told.swap(false, Ordering::Relaxed) {
            handle.halt();
        }
    });
    if pair == Pair::Leaves {
        tell_of_the_outage(executor, node, || publisher.subscription_count());
    }
    executor.spin(SpinOptions::new()).unwrap();
    let (published, longest) = *said.lock().unwrap();
    assert_eq!(publisher.subscription_count(), 1, "it is matched still, or again");
    // A topic that is new after the outage is matched.
    let end = node.create_publisher::<Numbered>(PublisherOptions::new("end").qos(keep_all())).unwrap();
    wait(executor, "the new topic is matched", end.wait_for_subscription());
    end.publish(Numbered { number: published, load: String::new() }).unwrap();
    println!("TALKED {published} {} {}", longest.as_millis(), ticks.figures());
    // The talker keeps publishing until the test ends it, because the last message may be among those that are dropped.
    wait(executor, "the test ends", std::future::pending())
}

/// Messages that a listener got.
#[derive(Default)]
struct Heard {
    numbers: Vec<i64>,
    published: Option<i64>,
}

impl Heard {
    /// Returns true if no message can come any more that was published before the talker was told to end.
    fn is_all(&self) -> bool {
        self.published.zip(self.numbers.last()).is_some_and(|(published, last)| last + 1 >= published)
    }
}

#[expect(clippy::print_stdout, reason = "the test reads it")]
fn hear(executor: &Executor, node: &Node, pair: Pair, ticks: &Ticks) {
    let group = executor.create_group("hear", Heard::default());
    let handle = executor.handle();
    let at_end = handle.clone();
    let options = SubscriptionOptions::new("numbers").keep_last(1000);
    let numbers = node.on(&group).create_subscription(options, move |heard: &mut Heard, message: Numbered| {
        heard.numbers.push(message.number);
        if heard.numbers.len() == 50 {
            println!("HEARS");
        }
        if heard.is_all() {
            handle.halt();
        }
    });
    let numbers = numbers.unwrap();
    let _beside = node.on(&group).create_subscription("beside", |_: Numbered| {});
    let _end = node.on(&group).create_subscription("end", move |heard: &mut Heard, message: Numbered| {
        heard.published = Some(message.number);
        if heard.is_all() {
            at_end.halt();
        }
    });
    if pair == Pair::Leaves {
        tell_of_the_outage(executor, node, || numbers.publisher_count());
    }
    executor.spin(SpinOptions::new()).unwrap();
    assert_eq!(numbers.publisher_count(), 1, "it is matched still, or again");
    let missed = numbers.missed();
    let heard = group.into_payload().unwrap().numbers;
    let [first, .., last] = heard[..] else { panic!("many numbers") };
    let in_order = i32::from(heard.is_sorted_by(|one, next| one < next));
    println!("HEARD {} {first} {missed} {last} {in_order} {}", heard.len(), ticks.figures());
}

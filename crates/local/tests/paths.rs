//! Ways of messages: what is shared, what is copied, and who hears what, once and in order.

mod common;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{OwnDomain, domain, join};
use rospin_engine::{Context, Executor, SpinOptions};
use rospin_local::LocalOptions;
use rospin_msgs::sensor_msgs::msg::Image;
use rospin_node::{
    Blob, Gid, MessageInfo, Node, Publisher, PublisherOptions, Qos, Reliability, Ros, Subscription, SubscriptionOptions,
};
use rospin_testkit::peers::{context, executor, wait, wait_until};

const MIB: usize = 1 << 20;

/// A process, as far as the middleware and the local path can tell.
struct Process {
    _context: Context,
    executor: Executor,
    _ros: Ros,
    node: Node,
}

impl Process {
    fn new(name: &str, ros: impl FnOnce(&Context) -> Ros) -> Self {
        let (context, _) = context();
        let executor = executor(&context, name);
        let ros = ros(&context);
        let node = ros.create_node(name).unwrap();
        Self { _context: context, executor, _ros: ros, node }
    }

    fn local(domain: &OwnDomain, name: &str) -> Self {
        let id = domain.id;
        Self::new(name, |context| join(id, LocalOptions::new()).ros(context))
    }

    fn publisher(&self, qos: Qos) -> Publisher<Image> {
        self.node.create_publisher(PublisherOptions::new("images").qos(qos)).unwrap()
    }

    /// Subscribes, and keeps what is heard.
    fn listen(&self, qos: Qos) -> Ear {
        let heard = Arc::<Mutex<Vec<(Image, MessageInfo)>>>::default();
        let hears = Arc::clone(&heard);
        let group = self.executor.create_group("ears", ());
        let callback = move |image: Image, info: MessageInfo| hears.lock().unwrap().push((image, info));
        let options = SubscriptionOptions::new("images").qos(qos);
        let subscription = self.node.on(&group).create_subscription(options, callback).unwrap();
        Ear { heard, subscription, _group: Box::new(group) }
    }
}

struct Ear {
    heard: Arc<Mutex<Vec<(Image, MessageInfo)>>>,
    subscription: Subscription,
    _group: Box<dyn std::any::Any>,
}

impl Ear {
    fn count(&self) -> usize {
        self.heard.lock().unwrap().len()
    }

    fn numbers(&self) -> Vec<u32> {
        self.heard.lock().unwrap().iter().map(|(image, _)| image.height).collect()
    }

    /// Returns true if the bytes of that message lie in memory that processes share.
    fn is_shared(&self, at: usize) -> bool {
        is_shared(&self.heard.lock().unwrap()[at].0.data)
    }
}

/// Returns true if the bytes lie in memory of the local path.
fn is_shared(bytes: &[u8]) -> bool {
    let address = bytes.as_ptr().addr();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().any(|line| {
        let (range, rest) = line.split_once(' ').unwrap();
        let (start, end) = range.split_once('-').unwrap();
        let bound = |text| usize::from_str_radix(text, 16).unwrap();
        (bound(start)..bound(end)).contains(&address) && rest.contains("/rospin_")
    })
}

fn image(number: u32, data: impl Into<Blob>) -> Image {
    Image { height: number, encoding: "rgb8".to_owned(), data: data.into(), ..Image::default() }
}

/// Returns an image whose bytes are lent by the publisher, and written there.
fn lent(publisher: &Publisher<Image>, number: u32, length: usize) -> Image {
    let mut bytes = publisher.borrow_loaned_bytes(length);
    bytes.fill(number as u8);
    image(number, bytes)
}

/// Waits until both are matched.
fn meet(talker: &Process, publisher: &Publisher<Image>, listener: &Process, ear: &Ear) {
    wait(&talker.executor, "a subscription", publisher.wait_for_subscription());
    wait(&listener.executor, "a publisher", ear.subscription.wait_for_publisher());
}

#[test]
fn a_loan_is_read_where_it_was_written() {
    let domain = OwnDomain::new();
    let (talker, listener) = (Process::local(&domain, "talker"), Process::local(&domain, "listener"));
    let ear = listener.listen(Qos::default());
    let publisher = talker.publisher(Qos::default());
    meet(&talker, &publisher, &listener, &ear);
    assert!(publisher.can_loan_messages());
    for number in 1..=3 {
        publisher.publish(lent(&publisher, number, 10 * MIB)).unwrap();
    }
    wait_until(&listener.executor, "three images", || ear.count() == 3);
    assert_eq!((ear.numbers(), ear.subscription.missed()), (vec![1, 2, 3], 0));
    for (image, info) in &*ear.heard.lock().unwrap() {
        assert!(image.data.len() == 10 * MIB && image.data.iter().all(|byte| u32::from(*byte) == image.height));
        assert_eq!((info.publication_sequence_number, info.is_in_process), (Some(image.height.into()), false));
        assert!(info.source_timestamp.unwrap() <= info.received_timestamp);
    }
    assert!((0..3).all(|at| ear.is_shared(at)));
}

#[test]
fn what_this_process_can_still_read_is_copied() {
    let domain = OwnDomain::new();
    let (talker, listener) = (Process::local(&domain, "talker"), Process::local(&domain, "listener"));
    let ear = listener.listen(Qos::default());
    let publisher = talker.publisher(Qos::default());
    meet(&talker, &publisher, &listener, &ear);
    // By reference, and with a clone.
    let kept = lent(&publisher, 1, MIB);
    publisher.publish(&kept).unwrap();
    let cloned = lent(&publisher, 2, MIB);
    let clone = cloned.data.clone();
    publisher.publish(cloned).unwrap();
    // Shared by a caller.
    let shared = Arc::new(lent(&publisher, 3, MIB));
    publisher.publish(Arc::clone(&shared)).unwrap();
    // With a subscription of the same process.
    let own = talker.listen(Qos::default());
    publisher.publish(lent(&publisher, 4, MIB)).unwrap();
    wait_until(&talker.executor, "its own", || own.count() == 1);
    wait_until(&listener.executor, "all", || ear.count() == 4);
    assert_eq!((ear.numbers(), own.numbers()), (vec![1, 2, 3, 4], vec![4]));
    assert!(kept.data.iter().all(|byte| *byte == 1) && clone.iter().all(|byte| *byte == 2));
    assert!(shared.data.iter().all(|byte| *byte == 3));
    assert!(own.heard.lock().unwrap()[0].0.data.iter().all(|byte| *byte == 4));
    for (image, _) in &*ear.heard.lock().unwrap() {
        assert!(image.data.iter().all(|byte| u32::from(*byte) == image.height));
    }
}

#[test]
fn more_loans_than_there_are_lie_in_memory_of_the_process() {
    let domain = OwnDomain::new();
    let talker = Process::local(&domain, "talker");
    let publisher = talker.publisher(Qos::default());
    let loans: Vec<_> = (0..8).map(|_| publisher.borrow_loaned_bytes(1000)).collect();
    let shared: Vec<_> = loans.iter().map(|loan| loan.is_shared()).collect();
    assert_eq!(shared, [true, true, true, true, false, false, false, false]);
    // There is still memory for messages that are copied.
    let (listener, qos) = (Process::local(&domain, "listener"), Qos::default());
    let ear = listener.listen(qos);
    meet(&talker, &publisher, &listener, &ear);
    publisher.publish(image(1, vec![1; MIB])).unwrap();
    wait_until(&listener.executor, "an image", || ear.count() == 1);
    assert!(ear.is_shared(0));
    // Loans come back unused, as a blob, and published.
    for (at, loan) in loans.into_iter().enumerate() {
        if at % 2 == 0 {
            publisher.publish(image(2, loan)).unwrap();
        } else {
            drop(Blob::from(loan));
        }
    }
    wait_until(&listener.executor, "all", || ear.count() == 5);
    let loans: Vec<_> = (0..4).map(|_| publisher.borrow_loaned_bytes(1000)).collect();
    assert!(loans.iter().all(|loan| loan.is_shared()));
    drop(loans);
    assert!(publisher.borrow_loaned_bytes(1000).is_shared());
    // A publisher that the local path does not take lends none.
    let other = talker.publisher(Qos::keep_all());
    assert!(!other.can_loan_messages() && !other.borrow_loaned_bytes(1000).is_shared());
}

#[test]
fn a_loan_that_is_given_to_another_publisher_is_copied() {
    let domain = OwnDomain::new();
    let (talker, listener) = (Process::local(&domain, "talker"), Process::local(&domain, "listener"));
    let ear = listener.listen(Qos::default());
    let publisher = talker.publisher(Qos::default());
    let other = talker.publisher(Qos::default());
    meet(&talker, &publisher, &listener, &ear);
    wait(&talker.executor, "a subscription", other.wait_for_subscription());
    other.publish(lent(&publisher, 5, MIB)).unwrap();
    wait_until(&listener.executor, "an image", || ear.count() == 1);
    assert!(ear.heard.lock().unwrap()[0].0.data.iter().all(|byte| *byte == 5));
}

#[test]
fn messages_that_a_subscription_keeps_are_copied_beyond_a_number() {
    let domain = OwnDomain::new();
    let (talker, listener) = (Process::local(&domain, "talker"), Process::local(&domain, "listener"));
    let ear = listener.listen(Qos::keep_last(100));
    let publisher = talker.publisher(Qos::keep_last(100));
    meet(&talker, &publisher, &listener, &ear);
    for number in 1..=60 {
        publisher.publish(lent(&publisher, number, MIB)).unwrap();
    }
    wait_until(&listener.executor, "all", || ear.count() == 60);
    assert_eq!((ear.numbers(), ear.subscription.missed()), ((1..=60).collect(), 0));
    let shared = (0..60).filter(|at| ear.is_shared(*at)).count();
    assert_eq!(shared, 8);
    // Those that are dropped make room for others.
    ear.heard.lock().unwrap().clear();
    publisher.publish(lent(&publisher, 61, MIB)).unwrap();
    wait_until(&listener.executor, "one more", || ear.count() == 1);
    assert!(ear.is_shared(0));
}

/// The publisher must not write to memory that somebody reads, though the subscription that got it has gone.
#[test]
fn what_is_kept_of_a_subscription_that_was_dropped_stays_as_it_is() {
    let domain = OwnDomain::new();
    let (talker, listener) = (Process::local(&domain, "talker"), Process::local(&domain, "listener"));
    let (ear, other) = (listener.listen(Qos::keep_last(100)), listener.listen(Qos::keep_last(100)));
    let publisher = talker.publisher(Qos::keep_last(100));
    meet(&talker, &publisher, &listener, &ear);
    wait(&listener.executor, "a publisher", other.subscription.wait_for_publisher());
    publisher.publish(lent(&publisher, 1, MIB)).unwrap();
    wait_until(&listener.executor, "an image", || ear.count() == 1 && other.count() == 1);
    let kept = ear.heard.lock().unwrap()[0].0.data.clone();
    assert!(is_shared(&kept));
    drop(ear);
    other.heard.lock().unwrap().clear();
    for number in 2..=40 {
        publisher.publish(lent(&publisher, number, MIB)).unwrap();
        wait_until(&listener.executor, "one more", || other.count() == number as usize - 1);
        assert!(kept.iter().all(|byte| *byte == 1), "after {number}");
    }
    assert_eq!(other.subscription.missed(), 0);
}

/// Subscriptions of a process without the local path, of one with it, and of the publisher's process.
#[test]
fn everybody_hears_everything_once_and_in_order() {
    let id = OwnDomain::new();
    let talker = Process::local(&id, "talker");
    let near = Process::local(&id, "near");
    let far = Process::new("far", |context| domain(id.id).ros(context));
    let qos = Qos::keep_last(1000);
    let publisher = talker.publisher(qos);
    let (near_ear, own_ear) = (near.listen(qos), talker.listen(qos));
    meet(&talker, &publisher, &near, &near_ear);
    for number in 1..=100 {
        publisher.publish(image(number, vec![number as u8; 100 * number as usize])).unwrap();
    }
    // It comes while messages are published.
    let far_ear = far.listen(qos);
    wait_until(&talker.executor, "both", || publisher.subscription_count() == 3);
    wait(&far.executor, "a publisher", far_ear.subscription.wait_for_publisher());
    for number in 101..=300 {
        publisher.publish(lent(&publisher, number, 100 * number as usize)).unwrap();
    }
    wait_until(&near.executor, "near", || near_ear.count() == 300);
    wait_until(&far.executor, "far", || far_ear.count() == 200);
    wait_until(&talker.executor, "own", || own_ear.count() == 300);
    assert_eq!(near_ear.numbers(), (1..=300).collect::<Vec<_>>());
    assert_eq!(far_ear.numbers(), (101..=300).collect::<Vec<_>>());
    assert_eq!(own_ear.numbers(), (1..=300).collect::<Vec<_>>());
    assert_eq!((near_ear.subscription.missed(), far_ear.subscription.missed()), (0, 0));
    // Gone again: the publisher uses the local path alone, and nobody else is told anything.
    drop(far_ear);
    for number in 301..=400 {
        publisher.publish(lent(&publisher, number, 64)).unwrap();
    }
    wait_until(&near.executor, "near", || near_ear.count() == 400);
    assert_eq!((near_ear.numbers()[300..].to_vec(), near_ear.subscription.missed()), ((301..=400).collect(), 0));
}

/// Publishers with and without the local path, some of which come late and go early.
#[test]
fn publishers_of_both_kinds_are_heard() {
    let id = OwnDomain::new();
    let listener = Process::local(&id, "listener");
    let ear = listener.listen(Qos::keep_last(1000));
    let with = Process::local(&id, "with");
    let without = Process::new("without", |context| domain(id.id).ros(context));
    let mut counts: BTreeMap<Gid, u32> = BTreeMap::new();
    for round in 0..10 {
        let before = ear.count();
        for (at, process) in [&with, &without].into_iter().enumerate() {
            let publisher = process.publisher(Qos::keep_last(1000));
            wait(&process.executor, "a subscription", publisher.wait_for_subscription());
            for number in 1..=20 {
                publisher.publish(image(round * 100 + number, vec![3; 70_000])).unwrap();
            }
            wait_until(&listener.executor, &format!("round {round} {at} {:?}", ear.count()), || {
                ear.count() == before + 20 * (at + 1)
            });
        }
    }
    for (image, info) in &*ear.heard.lock().unwrap() {
        let count = counts.entry(info.publisher_gid.unwrap()).or_default();
        *count += 1;
        assert_eq!(image.height % 100, *count);
    }
    assert_eq!((counts.len(), ear.subscription.missed()), (20, 0));
}

#[test]
fn ends_that_do_not_match_hear_nothing() {
    let id = OwnDomain::new();
    let (talker, listener) = (Process::local(&id, "talker"), Process::local(&id, "listener"));
    let mut best_effort = Qos::default();
    best_effort.reliability = Reliability::BestEffort;
    let (reliable_ear, other_ear) = (listener.listen(Qos::default()), listener.listen(best_effort));
    let publisher = talker.publisher(best_effort);
    wait(&talker.executor, "a subscription", publisher.wait_for_subscription());
    wait(&listener.executor, "a publisher", other_ear.subscription.wait_for_publisher());
    publisher.publish(lent(&publisher, 1, MIB)).unwrap();
    wait_until(&listener.executor, "an image", || other_ear.count() == 1);
    assert_eq!((reliable_ear.count(), reliable_ear.subscription.missed()), (0, 0));
    // Another domain has the same topic, and the same shared memory.
    let other_domain = OwnDomain::new();
    let stranger = Process::local(&other_domain, "stranger");
    let strange_ear = stranger.listen(best_effort);
    publisher.publish(lent(&publisher, 2, MIB)).unwrap();
    wait_until(&listener.executor, "an image", || other_ear.count() == 2);
    assert_eq!((strange_ear.count(), strange_ear.subscription.publisher_count()), (0, 0));
}

/// Memory that comes back is lent anew, while the message that had it is still on its way to others.
#[test]
fn loans_in_place_of_others_are_published() {
    let id = OwnDomain::new();
    let (talker, listener) = (Process::local(&id, "talker"), Process::local(&id, "listener"));
    let far = Process::new("far", |context| domain(id.id).ros(context));
    let (ear, far_ear) = (listener.listen(Qos::keep_last(5)), far.listen(Qos::keep_last(5)));
    let publisher = talker.publisher(Qos::keep_last(5));
    meet(&talker, &publisher, &listener, &ear);
    wait_until(&talker.executor, "both", || publisher.subscription_count() == 2);
    wait(&far.executor, "a publisher", far_ear.subscription.wait_for_publisher());
    std::thread::scope(|scope| {
        let publish = || (0..400).try_for_each(|number| publisher.publish(lent(&publisher, number, 200_000)));
        let talkers: Vec<_> = (0..3).map(|_| scope.spawn(publish)).collect();
        while !talkers.iter().all(|talker| talker.is_finished()) {
            let _ = listener.executor.spin(SpinOptions::new().timeout(Duration::from_millis(1)));
            ear.heard.lock().unwrap().clear();
        }
        for talker in talkers {
            talker.join().unwrap().unwrap();
        }
    });
}

//! Room on a connection: a publisher waits for it, but not for ever, and what is dropped for want of it is counted.
//!
//! Two sessions meet through a relay that can be stopped, as a subscriber's process can. The buffers on the way hold
//! far less than what is published meanwhile.

mod common;

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use common::{Place, context, executor, wait, wait_until};
use rospin_zenoh::{Message, PublisherOptions, Session, SessionOptions, SubscriptionOptions};
use serde::{Deserialize, Serialize};

/// The number of messages that are published while the relay is stopped.
const COUNT: usize = 200;
/// The length of each message in bytes: two packets.
const LOAD: usize = 64 << 10;
/// The time that a publisher is given to publish all of them, if it does not wait.
const MOMENT: Duration = Duration::from_millis(200);

#[derive(Clone, Serialize, Deserialize)]
struct Numbered {
    number: usize,
    load: String,
}

impl Message for Numbered {
    const TYPE: &str = "test_msgs/msg/Numbered";
}

fn numbered(number: usize) -> Numbered {
    Numbered { number, load: "x".repeat(LOAD) }
}

/// True while the relay passes on what comes.
#[derive(Default)]
struct Gate(Mutex<bool>, Condvar);

impl Gate {
    fn set(&self, is_open: bool) {
        *self.0.lock().unwrap() = is_open;
        self.1.notify_all();
    }

    fn wait(&self) {
        drop(self.1.wait_while(self.0.lock().unwrap(), |is_open| !*is_open).unwrap());
    }
}

/// Passes on what comes until either end is gone.
fn pass_on(mut from: TcpStream, mut to: TcpStream, gate: &Gate) -> io::Result<()> {
    let mut buffer = [0; 4096];
    loop {
        gate.wait();
        let length = from.read(&mut buffer)?;
        gate.wait();
        if length == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..length])?;
    }
}

/// Starts a relay to that address, and returns its own; what it gets from its guest goes through the gate.
fn relay(address: &str, gate: &Arc<Gate>) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let own = listener.local_addr().unwrap().to_string();
    let address = address.to_owned();
    let gate = Arc::clone(gate);
    thread::spawn(move || {
        for guest in listener.incoming().map_while(Result::ok) {
            let host = TcpStream::connect(&address).unwrap();
            let back = (host.try_clone().unwrap(), guest.try_clone().unwrap());
            let gate = Arc::clone(&gate);
            thread::spawn(move || pass_on(guest, host, &gate));
            let open = Gate(Mutex::new(true), Condvar::new());
            thread::spawn(move || pass_on(back.0, back.1, &open));
        }
    });
    own
}

/// Publishes `COUNT` messages while the relay is stopped, and then more, until one of these is heard. Returns true if
/// the first ones were all published before the relay went on, how many were heard and how many were missed.
fn publish_to_a_stopped_subscriber(options: SessionOptions) -> (bool, usize, usize) {
    let place = Place::new();
    let host = place.host();
    let gate = Arc::<Gate>::default();
    gate.set(true);
    let endpoint = format!("tcp/{}#so_sndbuf=65536", relay(place.endpoint.trim_start_matches("tcp/"), &gate));
    let guest = Session::open(options.connect([endpoint.as_str()]).listen([])).unwrap();
    let (context, _) = context();
    let executor = executor(&context, "main");
    let heard = Arc::new(Mutex::new(Vec::new()));
    let listener = host.ros(&context).create_node("listener").unwrap();
    let group = executor.create_group("hear", Arc::clone(&heard));
    let options = SubscriptionOptions::new("numbers").keep_last(10 * COUNT);
    let hear = |heard: &mut Arc<Mutex<Vec<usize>>>, message: Numbered| heard.lock().unwrap().push(message.number);
    let subscription = listener.on(&group).create_subscription(options, hear).unwrap();
    let talker = guest.ros(&context).create_node("talker").unwrap();
    let options = PublisherOptions::new("numbers").keep_last(10 * COUNT);
    let publisher = talker.create_publisher::<Numbered>(options).unwrap();
    wait(&executor, "they meet", publisher.wait_for_subscription());
    gate.set(false);
    let (done, is_done) = mpsc::channel();
    let talking = thread::spawn({
        let publisher = publisher.clone();
        move || {
            for number in 0..COUNT {
                publisher.publish(numbered(number)).unwrap();
            }
            let _ = done.send(());
        }
    });
    let waited = is_done.recv_timeout(MOMENT) == Err(RecvTimeoutError::Timeout);
    gate.set(true);
    wait_until(&executor, "all were published", || talking.is_finished());
    let mut last = COUNT;
    wait_until(&executor, "the relay goes on", || {
        publisher.publish(numbered(last)).unwrap();
        last += 1;
        heard.lock().unwrap().last().is_some_and(|number| *number >= COUNT)
    });
    // A gap is counted when the message behind it arrives, a moment before that is heard.
    let missed = || usize::try_from(subscription.missed()).unwrap();
    wait_until(&executor, "what was not heard is counted", || {
        let heard = heard.lock().unwrap();
        heard.len() + missed() == heard.last().unwrap() + 1
    });
    let heard = heard.lock().unwrap();
    let missed = missed();
    assert!(heard.is_sorted_by(|one, next| one < next));
    (!waited, heard.iter().filter(|number| **number < COUNT).count(), missed)
}

#[test]
fn a_publisher_waits_for_room() {
    let patient = SessionOptions::new().max_blocking_time(common::PATIENCE);
    let (was_done, heard, missed) = publish_to_a_stopped_subscriber(patient);
    assert!(!was_done, "there cannot be room for all of them");
    assert_eq!((heard, missed), (COUNT, 0));
}

#[test]
fn messages_dropped_for_want_of_room_are_counted() {
    let (_, heard, missed) = publish_to_a_stopped_subscriber(SessionOptions::new().max_blocking_time(Duration::ZERO));
    assert!(heard < COUNT && missed > 0, "{heard} heard, {missed} missed");
}

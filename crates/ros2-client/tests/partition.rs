//! The network falls apart for ten seconds and heals: nothing that has to go on waits for it, and nothing is lost uncounted.
//!
//! Two processes in network namespaces of their own, joined by a virtual cable. That takes `ip` and the right to make
//! namespaces; where they cannot be had, the test says so and passes.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::net::IpAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use common::{PATIENCE, context, executor, wait};
use rospin::{CallbackGroup, Context, Executor, Instant, LossCause, Tick, Timer};
use rospin_ros2_client::{Domain, DomainOptions, Message, Node, PublisherOptions, SubscriptionOptions};
use serde::{Deserialize, Serialize};

/// How long the cable is out.
const OUTAGE: Duration = Duration::from_secs(10);
/// How often the talker talks.
const TALK: Duration = Duration::from_millis(20);
/// How often the timer fires that has nothing to do with the network.
const TICK: Duration = Duration::from_millis(5);
/// The part, and the address, of a process that the test started.
const PART: &str = "ROSPIN_TEST_PARTITION_PART";
const ADDRESS: &str = "ROSPIN_TEST_PARTITION_ADDRESS";

#[derive(Clone, Serialize, Deserialize)]
struct Number {
    data: i64,
}

impl Message for Number {
    const TYPE: &str = "std_msgs/msg/Int64";
}

/// Runs `ip`, or says why it cannot.
fn ip(arguments: &str) -> Result<(), String> {
    let output = Command::new("ip").args(arguments.split_whitespace()).output();
    let output = output.map_err(|error| format!("`ip` cannot be run: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("`ip {arguments}`: {}", said.trim())) }
}

/// Two namespaces and a cable between them; gone when this is dropped.
struct Network {
    names: [String; 2],
}

impl Network {
    const ADDRESSES: [&str; 2] = ["10.213.77.1", "10.213.77.2"];

    fn new() -> Result<Self, String> {
        let network = Self { names: ["a", "b"].map(|end| format!("rospin-{}-{end}", std::process::id())) };
        for name in &network.names {
            ip(&format!("netns add {name}"))?;
        }
        let [a, b] = &network.names;
        ip(&format!("-n {a} link add cable type veth peer name cable netns {b}"))?;
        for (name, address) in network.names.iter().zip(Self::ADDRESSES) {
            ip(&format!("-n {name} address add {address}/24 dev cable"))?;
            ip(&format!("-n {name} link set lo up"))?;
            ip(&format!("-n {name} link set cable up"))?;
        }
        Ok(network)
    }

    /// Pulls the cable out, or puts it back: one end is down, the other one has no carrier.
    fn set(&self, state: &str) {
        ip(&format!("-n {} link set cable {state}", self.names[0])).expect("who made it may set it");
    }

    /// Starts this program's [`the_other_process`] in a namespace.
    fn start(&self, at: usize, part: &str) -> Part {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[at]]).arg(std::env::current_exe().unwrap());
        command.args(["--exact", "the_other_process", "--nocapture"]);
        command.env(PART, part).env(ADDRESS, Self::ADDRESSES[at]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("`ip` that was there");
        let says = listen(child.stdout.take().expect("a pipe"));
        Part { child, says }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in &self.names {
            // Those that could not be made are not there.
            let _ = ip(&format!("netns delete {name}"));
        }
    }
}

/// What a process says to the test, line by line.
fn listen(stdout: ChildStdout) -> mpsc::Receiver<String> {
    let (send, says) = mpsc::channel();
    thread::spawn(move || {
        // Nobody need listen to the end.
        BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|line| send.send(line))
    });
    says
}

/// A process in its namespace.
struct Part {
    child: Child,
    says: mpsc::Receiver<String>,
}

impl Part {
    /// What follows `word` in the next line that begins with it.
    fn expect(&self, word: &str) -> Vec<i64> {
        loop {
            let line = self.says.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("it should have said `{word}`"));
            if let Some(rest) = line.strip_prefix(word) {
                return rest.split_whitespace().map(|figure| figure.parse().expect("a number")).collect();
            }
        }
    }

    fn tell(&mut self) {
        writeln!(self.child.stdin.as_mut().expect("a pipe"), "go on").expect("it listens");
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Nothing to do if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
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
        let [ticks, overruns, unaccounted, latest_ms] = ticks else { panic!("figures") };
        assert_eq!(*unaccounted, 0, "every due time is accounted for");
        let due = i64::try_from(OUTAGE.as_millis() / TICK.as_millis()).unwrap();
        assert!(ticks + overruns >= due, "it went on all the while");
        assert!(*latest_ms < 2_000, "a tick was {latest_ms} ms late, as if it had waited for the network");
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
    let node = domain.create_node(part.as_str()).unwrap();
    match part.as_str() {
        "talker" => talk(&context, &executor, &node),
        _ => hear(&context, &executor, &node),
    }
}

/// A timer that has nothing to do with the network, and its due times.
struct Ticks {
    timer: Arc<OnceLock<Timer>>,
    seen: Arc<Mutex<Seen>>,
    _group: CallbackGroup<()>,
}

#[derive(Default)]
struct Seen {
    ticks: u64,
    /// Due times before this one that were given up, as known when the callback before it ran.
    overruns: u64,
    first: Option<Instant>,
    unaccounted: u64,
    latest: Duration,
}

impl Ticks {
    fn start(context: &Context, executor: &Executor) -> Self {
        let (group, seen) = (executor.create_group("ticks", ()), Arc::<Mutex<Seen>>::default());
        let (clock, log) = (context.clock().clone(), Arc::clone(&seen));
        let timer = Arc::<OnceLock<Timer>>::default();
        let own = Arc::clone(&timer);
        let created = group.create_timer(TICK, move |(), Tick { due, .. }| {
            let mut seen = log.lock().unwrap();
            let first = *seen.first.get_or_insert(due);
            let due_before = due.saturating_since(first).as_nanos() / TICK.as_nanos();
            seen.unaccounted += u64::from(due_before != u128::from(seen.ticks + seen.overruns));
            seen.ticks += 1;
            seen.latest = seen.latest.max(clock.now().saturating_since(due));
            seen.overruns = own.get().expect("it was there before the spin").lost(LossCause::TimerOverrun);
        });
        timer.set(created.unwrap()).expect("it is set once");
        Self { timer, seen, _group: group }
    }

    /// Ticks, due times given up, ticks before which others were neither, and by how many milliseconds the worst was late.
    fn figures(&self) -> String {
        let seen = self.seen.lock().unwrap();
        let overruns = self.timer.get().map_or(0, |timer| timer.lost(LossCause::TimerOverrun));
        format!("{} {overruns} {} {}", seen.ticks, seen.unaccounted, seen.latest.as_millis())
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
    executor.spin(rospin::SpinOptions::new()).unwrap();
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
    let numbers = node.create_subscription(&group, options, move |(), number: Number| {
        log.lock().unwrap().push(number.data);
        if log.lock().unwrap().len() == 50 {
            println!("HEARS");
        }
        check();
    });
    let (numbers, told) = (numbers.unwrap(), Arc::clone(&published));
    let _end = node.create_subscription(&group, "end", move |(), number: Number| {
        *told.lock().unwrap() = Some(number.data);
        halt_at_end();
    });
    executor.spin(rospin::SpinOptions::new()).unwrap();
    assert_eq!(numbers.publisher_count(), 1, "it is matched still, or again");
    let heard = heard.lock().unwrap();
    let in_order = i32::from(heard.is_sorted_by(|one, next| one < next));
    println!("HEARD {} {} {in_order} {}", heard.len(), numbers.missed() + number_of_first(&heard), ticks.figures());
}

/// What was published before the first that was heard: it came before the subscription was matched from both sides.
fn number_of_first(heard: &[i64]) -> u64 {
    u64::try_from(heard[0]).unwrap()
}

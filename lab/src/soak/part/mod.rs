//! The processes of a run: robots, the station and routers. Each does what the lines on its stdin ask for, and tells
//! facts on its stdout.

mod awaited;
mod ear;
mod heap;
mod lateness;
mod robot;
mod router;
mod station;
mod work;

pub(super) use robot::{REJECTED, TOO_FAST};

use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rospin_node::{Message, Node};

use super::words::{Count, Fact, Order, Request, Role, Seen};

/// Reason for which a process failed; any error becomes one.
pub(super) type Failed = Box<dyn Error + Send + Sync>;

impl Message for Count {
    const TYPE: &str = "rospin_soak_interfaces/msg/Count";
}

/// Whom a process tells its facts. Standard output itself is locked by the thread that runs the command.
#[derive(Clone)]
struct Teller(Arc<Mutex<File>>);

impl Teller {
    /// Tells a fact. When it returns, the fact is known even if this process is killed.
    fn tell(&self, fact: &Fact) {
        let Ok(mut line) = serde_json::to_vec(fact) else { return };
        line.push(b'\n');
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody hears it if the leading process has gone.
        let _ = out.write_all(&line);
    }

    /// Tells that something is not as it must be, unless it is.
    fn check(&self, is_right: bool, text: impl FnOnce() -> String) {
        if !is_right {
            self.tell(&Fact::Wrong { text: text() });
        }
    }
}

/// What all callbacks of a process share.
#[derive(Clone)]
struct Part {
    order: Arc<Order>,
    teller: Teller,
    /// True while nothing is published, called and commanded.
    is_paused: Arc<AtomicBool>,
}

impl Part {
    fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Relaxed)
    }
}

/// Something that does what the leading process asks for.
trait Asked {
    /// Publishes each topic once.
    fn publish_once(&self);
    /// Tells what there is.
    fn snapshot(&self);
    /// Asks every robot for everything once.
    fn roll_call(&self);
}

/// Returns the name of a robot by its host.
fn robot_name(host: usize) -> String {
    format!("robot_{host}")
}

/// Runs the process that the first line on stdin orders.
///
/// # Errors
/// If the order cannot be read, or the process cannot be started.
pub(super) fn run() -> Result<(), Failed> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let order: Order = serde_json::from_str(&line)?;
    let stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let teller = Teller(Arc::new(Mutex::new(stdout)));
    let part = Part { order: Arc::new(order), teller, is_paused: Arc::new(AtomicBool::new(false)) };
    match part.order.role {
        Role::Router => router::run(&part),
        Role::Robot => robot::run(&part),
        Role::Station => station::run(&part),
    }
}

/// Does what the lines on stdin ask for, until there are no more. The leading process has gone then, so this one ends.
/// `asked` does it for as long as it exists.
fn obey(part: &Part, asked: &Weak<impl Asked>) {
    for line in io::stdin().lines() {
        let Ok(line) = line else { break };
        let Some(asked) = asked.upgrade() else { break };
        match serde_json::from_str(&line) {
            Ok(Request::Pause) => part.is_paused.store(true, Ordering::Relaxed),
            Ok(Request::Resume) => part.is_paused.store(false, Ordering::Relaxed),
            Ok(Request::PublishOnce) => asked.publish_once(),
            Ok(Request::Snapshot) => asked.snapshot(),
            Ok(Request::RollCall) => asked.roll_call(),
            Ok(Request::Heap) => part.teller.tell(&Fact::Heap { in_use: heap::in_use() }),
            Err(error) => part.teller.tell(&Fact::Wrong { text: format!("a request is malformed: {error}") }),
        }
    }
}

/// Returns the part of the graph that a node sees: nodes, and the ends of these topics and services.
fn seen(node: &Node, robots: usize) -> Seen {
    let mut seen = Seen { nodes: node.node_names(), ..Seen::default() };
    for robot in (1..=robots).map(robot_name) {
        for topic in super::words::TOPICS.map(|topic| format!("/{robot}/{topic}")) {
            let ends = [node.count_publishers(&topic), node.count_subscriptions(&topic)];
            seen.ends.insert(topic, ends.map(Result::unwrap_or_default));
        }
        for service in ["double", "relay", "drive/_action/get_result", "arm/change_state", "tuner/set_parameters"] {
            let service = format!("/{robot}/{service}");
            let ends = [node.count_servers(&service), node.count_clients(&service)];
            seen.ends.insert(service, ends.map(Result::unwrap_or_default));
        }
    }
    seen.ends.insert(
        "/mission".to_owned(),
        [node.count_publishers("/mission"), node.count_subscriptions("/mission")].map(Result::unwrap_or_default),
    );
    seen
}

//! The part of a launch that leads managed nodes to their states, by their lifecycle services.
//!
//! It is a process of its own with a node on the network: the launch itself has no thread of a middleware, and a signal
//! that ends the launch's processes does not reach it. It ends with its input.
//!
//! | line | from | meaning |
//! | --- | --- | --- |
//! | `3 active /r1/camera` | launch | lead this node of process 3 to that state |
//! | `3 stop` | launch | process 3 has ended: forget its nodes |
//! | `waits 3 TEXT` | leader | a node of process 3 has not answered yet |
//! | `reached 3 TEXT` | leader | a node of process 3 is in its state |
//! | `failed 3 TEXT` | leader | a node of process 3 will not come to its state |

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{self, BufRead, Write};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use rospin::message::interfaces::lifecycle_msgs as wire;
use rospin::time::ClockKind;
use rospin::{Client, ServiceInterface};
use rospin_report::Failure;

use super::file::Goal;
use crate::ros::{Discovery, Mailbox, Session};

/// Longest time that a node may take to say its state, before it is asked once more.
const ANSWER: Duration = Duration::from_secs(1);
/// Time after which a transition is looked at: its request may have gone to a process that has ended.
const TRANSITION: Duration = Duration::from_secs(3);
/// Pause between two looks at a node.
const PAUSE: Duration = Duration::from_millis(50);
/// Time after which a node that does not answer is told.
const LATE: Duration = Duration::from_secs(5);

/// Numbers of states and transitions in `lifecycle_msgs`.
const UNCONFIGURED: u8 = 1;
const INACTIVE: u8 = 2;
const ACTIVE: u8 = 3;
const FINALIZED: u8 = 4;
const CONFIGURE: (u8, &str) = (1, "configure");
const ACTIVATE: (u8, &str) = (3, "activate");
const DEACTIVATE: (u8, &str) = (4, "deactivate");

/// Runs as the leader: reads commands from stdin, and writes to `out`, which is stdout.
pub(super) fn run(out: &mut dyn Write) -> Result<(), Failure> {
    let session = Session::join(&Discovery::default())?;
    let commands = Mailbox::new();
    let lines = commands.clone();
    let read = move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            lines.post(Some(line));
        }
        lines.post(None);
    };
    thread::Builder::new().name("commands".to_owned()).spawn(read).map_err(Failure::run)?;
    session.finish(lead_all(&session, &commands, out))?
}

/// A line of the launch.
#[derive(PartialEq, Eq, Debug)]
enum Order {
    Lead { process: usize, goal: Goal, node: String },
    Stop { process: usize },
}

/// Returns the line that asks for a node's state.
pub(super) fn order(process: usize, goal: Goal, node: &str) -> String {
    format!("{process} {goal} {node}\n")
}

/// Returns the line that says that a process has ended.
pub(super) fn stop(process: usize) -> String {
    format!("{process} stop\n")
}

fn read(line: &str) -> Option<Order> {
    let words: Vec<&str> = line.split(' ').collect();
    let process = words.first()?.parse().ok()?;
    match words[1..] {
        ["stop"] => Some(Order::Stop { process }),
        ["active", node] => Some(Order::Lead { process, goal: Goal::Active, node: node.to_owned() }),
        ["inactive", node] => Some(Order::Lead { process, goal: Goal::Inactive, node: node.to_owned() }),
        _ => None,
    }
}

/// News that the leader tells the launch about a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Said {
    Waits { process: usize, text: String },
    Reached { process: usize, text: String },
    Failed { process: usize, text: String },
}

impl Said {
    fn line(&self) -> String {
        match self {
            Self::Waits { process, text } => format!("waits {process} {text}"),
            Self::Reached { process, text } => format!("reached {process} {text}"),
            Self::Failed { process, text } => format!("failed {process} {text}"),
        }
    }

    /// Reads a line of the leader.
    pub(super) fn read(line: &str) -> Option<Self> {
        let mut words = line.splitn(3, ' ');
        let kind = words.next()?;
        let process = words.next()?.parse().ok()?;
        let text = words.next()?.to_owned();
        match kind {
            "waits" => Some(Self::Waits { process, text }),
            "reached" => Some(Self::Reached { process, text }),
            "failed" => Some(Self::Failed { process, text }),
            _ => None,
        }
    }
}

/// A node on its way.
struct Task<'a> {
    process: usize,
    leading: Pin<Box<dyn Future<Output = Said> + 'a>>,
}

/// Leads nodes as the lines say, all at once, until the lines end.
async fn lead_all(session: &Session, commands: &Mailbox<Option<String>>, out: &mut dyn Write) -> Result<(), Failure> {
    let waits = Rc::new(RefCell::new(Vec::new()));
    let mut tasks: Vec<Task<'_>> = Vec::new();
    loop {
        let mut next = Box::pin(commands.next());
        let step = poll_fn(|context| step(&mut tasks, next.as_mut(), &waits, context));
        match step.await {
            Step::Said(said) => {
                writeln!(out, "{}", said.line())?;
                out.flush()?;
            }
            Step::Line(None) => return Ok(()),
            Step::Line(Some(line)) => match read(&line) {
                Some(Order::Stop { process }) => tasks.retain(|task| task.process != process),
                Some(Order::Lead { process, goal, node }) => {
                    let leading = lead(session, process, node, goal, Rc::clone(&waits));
                    tasks.push(Task { process, leading: Box::pin(leading) });
                }
                None => return Err(Failure::Input(format!("`{line}` is no order of a launch").into())),
            },
        }
    }
}

/// Next thing that the leader handles: a line from the launch, or news of a node.
enum Step {
    Line(Option<String>),
    Said(Said),
}

fn step(
    tasks: &mut Vec<Task<'_>>,
    next: Pin<&mut (impl Future<Output = Option<String>> + ?Sized)>,
    waits: &RefCell<Vec<Said>>,
    context: &mut Context<'_>,
) -> Poll<Step> {
    // Lines first: what they stop says nothing more.
    if let Poll::Ready(line) = next.poll(context) {
        return Poll::Ready(Step::Line(line));
    }
    let mut ended = None;
    for (number, task) in tasks.iter_mut().enumerate() {
        if let Poll::Ready(said) = task.leading.as_mut().poll(context) {
            ended = Some((number, said));
            break;
        }
    }
    if let Some((number, said)) = ended {
        drop(tasks.swap_remove(number));
        return Poll::Ready(Step::Said(said));
    }
    match waits.borrow_mut().pop() {
        Some(said) => Poll::Ready(Step::Said(said)),
        None => Poll::Pending,
    }
}

/// Leads a node to its state.
async fn lead(session: &Session, process: usize, node: String, goal: Goal, waits: Rc<RefCell<Vec<Said>>>) -> Said {
    let leader = match Leader::new(session, &node) {
        Ok(leader) => leader,
        Err(text) => return Said::Failed { process, text },
    };
    let wait = |text: String| waits.borrow_mut().push(Said::Waits { process, text });
    match leader.lead(goal, wait).await {
        Ok(()) => Said::Reached { process, text: format!("node {node} is {goal}") },
        Err(text) => Said::Failed { process, text },
    }
}

/// The services of one node.
struct Leader<'a> {
    session: &'a Session,
    node: String,
    get_state: Client<wire::GetState>,
    change_state: Client<wire::ChangeState>,
}

impl<'a> Leader<'a> {
    fn new(session: &'a Session, node: &str) -> Result<Self, String> {
        Ok(Self {
            session,
            node: node.to_owned(),
            get_state: client(session, node, "get_state")?,
            change_state: client(session, node, "change_state")?,
        })
    }

    async fn lead(&self, goal: Goal, wait: impl Fn(String)) -> Result<(), String> {
        let begin = Instant::now();
        let mut is_told = false;
        loop {
            let request = wire::GetStateRequest::default();
            let state = self.call(&self.get_state, request, ANSWER).await.map(|response| response.current_state.id);
            let transition = match (state, goal) {
                (Some(INACTIVE), Goal::Inactive) | (Some(ACTIVE), Goal::Active) => return Ok(()),
                (Some(UNCONFIGURED), _) => CONFIGURE,
                (Some(INACTIVE), Goal::Active) => ACTIVATE,
                (Some(ACTIVE), Goal::Inactive) => DEACTIVATE,
                (Some(FINALIZED), _) => {
                    return Err(format!("node {} is finalized, so it will not be {goal}", self.node));
                }
                // No answer, or a transition that is not over yet.
                (state, _) => {
                    if !is_told && begin.elapsed() >= LATE {
                        is_told = true;
                        wait(self.trouble(state));
                    }
                    self.pause().await;
                    continue;
                }
            };
            self.change(transition).await?;
        }
    }

    /// Returns what keeps the node from its next state.
    fn trouble(&self, state: Option<u8>) -> String {
        let node = &self.node;
        match state {
            Some(_) => format!("node {node} is still in a transition"),
            None => {
                format!("node {node} does not answer on {node}/get_state; is that its name, and is it a managed node?")
            }
        }
    }

    /// Starts a transition. Errors if the node refuses it and is not on its way by itself.
    async fn change(&self, (id, label): (u8, &str)) -> Result<(), String> {
        let before = if id == CONFIGURE.0 {
            UNCONFIGURED
        } else if id == ACTIVATE.0 {
            INACTIVE
        } else {
            ACTIVE
        };
        let request = wire::ChangeStateRequest { transition: wire::Transition { id, label: label.to_owned() } };
        match self.call(&self.change_state, request, TRANSITION).await {
            Some(response) if !response.success => {
                // An earlier request, whose answer came late, may have been granted.
                let request = wire::GetStateRequest::default();
                let state = self.call(&self.get_state, request, ANSWER).await;
                if state.is_some_and(|state| state.current_state.id == before || state.current_state.id == FINALIZED) {
                    return Err(format!("node {} failed to {label}", self.node));
                }
                Ok(())
            }
            // The caller asks for the state.
            _ => Ok(()),
        }
    }

    /// Calls a service. `None` if there was no response in time.
    async fn call<S: ServiceInterface>(
        &self,
        client: &Client<S>,
        request: S::Request,
        limit: Duration,
    ) -> Option<S::Response> {
        let calling = async {
            client.wait_for_service().await;
            client.call(request).await
        };
        let handle = self.session.ros().executor().handle();
        match handle.timeout(ClockKind::Steady, limit, calling).await {
            Ok(Ok(response)) => Some(response),
            // The server has gone, or did not answer.
            Ok(Err(_)) => {
                self.pause().await;
                None
            }
            Err(_) => None,
        }
    }

    async fn pause(&self) {
        let handle = self.session.ros().executor().handle();
        // Only fails as the executor ends, which drops this future.
        let _ = handle.sleep(ClockKind::Steady, PAUSE).await;
    }
}

fn client<S: ServiceInterface>(session: &Session, node: &str, service: &str) -> Result<Client<S>, String> {
    let name = format!("{node}/{service}");
    session.node().create_client(&*name).map_err(|error| format!("{name}: {error}"))
}

#[cfg(test)]
mod tests {
    use rospin::lifecycle::{Fault, Lifecycle, LifecycleHandle, State};

    use super::*;
    use crate::ros::testing::Robot;

    /// A node that configures as often as it is told.
    struct Camera {
        refuses: bool,
    }

    impl Lifecycle for Camera {
        fn on_configure(&mut self, _: &LifecycleHandle<Self>, _: State) -> Result<(), Fault> {
            if self.refuses { Err(Fault::Failure("no camera".into())) } else { Ok(()) }
        }
    }

    /// Returns what the leader says to these lines.
    fn said(robot: &Robot, lines: &[&str], count: usize) -> Vec<String> {
        let commands = Mailbox::new();
        for line in lines {
            commands.post(Some((*line).trim_end().to_owned()));
        }
        let out = Lines { commands: commands.clone(), count, text: Vec::new() };
        let mut out = out;
        robot.session.finish(lead_all(&robot.session, &commands, &mut out)).unwrap().unwrap();
        String::from_utf8(out.text).unwrap().lines().map(str::to_owned).collect()
    }

    /// Ends the leader's input after that number of lines.
    struct Lines {
        commands: Mailbox<Option<String>>,
        count: usize,
        text: Vec<u8>,
    }

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.text.extend_from_slice(bytes);
            if self.text.iter().filter(|byte| **byte == b'\n').count() >= self.count {
                self.commands.post(None);
            }
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn nodes_are_led_to_their_states() {
        let robot = Robot::new();
        let ros = robot.session.ros();
        let _camera = ros.create_lifecycle_node("camera", Camera { refuses: false }).unwrap();
        let _lidar = ros.create_lifecycle_node("lidar", Camera { refuses: false }).unwrap();
        let lines = [order(0, Goal::Active, "/camera"), order(1, Goal::Inactive, "/lidar")];
        let mut both = said(&robot, &[&lines[0], &lines[1]], 2);
        both.sort();
        assert_eq!(both, ["reached 0 node /camera is active", "reached 1 node /lidar is inactive"]);
        // A node that has its goal already reaches it at once, and one that is active goes back to inactive.
        let lines = [order(0, Goal::Active, "/camera"), order(1, Goal::Inactive, "/camera")];
        assert_eq!(said(&robot, &[&lines[0]], 1), ["reached 0 node /camera is active"]);
        assert_eq!(said(&robot, &[&lines[1]], 1), ["reached 1 node /camera is inactive"]);
    }

    #[test]
    fn a_node_that_refuses_is_told() {
        let robot = Robot::new();
        let _camera = robot.session.ros().create_lifecycle_node("camera", Camera { refuses: true }).unwrap();
        let line = order(4, Goal::Active, "/camera");
        assert_eq!(said(&robot, &[&line], 1), ["failed 4 node /camera failed to configure"]);
    }

    #[test]
    fn a_process_that_has_ended_is_forgotten() {
        let robot = Robot::new();
        let _camera = robot.session.ros().create_lifecycle_node("camera", Camera { refuses: false }).unwrap();
        let lines = [order(0, Goal::Active, "/none"), stop(0), order(1, Goal::Active, "/camera")];
        assert_eq!(said(&robot, &[&lines[0], &lines[1], &lines[2]], 1), ["reached 1 node /camera is active"]);
    }

    #[test]
    fn lines_are_read_as_they_are_written() {
        let lead = Order::Lead { process: 3, goal: Goal::Inactive, node: "/r/a".to_owned() };
        assert_eq!(read(order(3, Goal::Inactive, "/r/a").trim_end()), Some(lead));
        assert_eq!(read(stop(3).trim_end()), Some(Order::Stop { process: 3 }));
        assert_eq!((read(""), read("x stop"), read("3 on /a")), (None, None, None));
        let said = Said::Failed { process: 3, text: "a b  c".to_owned() };
        assert_eq!(Said::read(&said.line()), Some(said));
        assert_eq!((Said::read(""), Said::read("failed x y"), Said::read("ends 3 a")), (None, None, None));
    }
}

//! Everything that nodes do, between peers and our nodes, in both directions: a table of what works.

use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc;
use std::time::Duration;

use rospin_engine::{ClockKind, ExecutorHandle, SpinOptions};
use rospin_node::interfaces::lifecycle_msgs::{ChangeState, ChangeStateRequest, GetState, GetStateRequest};
use rospin_node::interfaces::rcl_interfaces::{GetParameters, GetParametersRequest};
use rospin_node::{ActionClient, Client, Node, ParameterSetting, ServiceInterface, SubscriptionOptions};

use super::ours::{ENDLESS, Ours, STUBBORN};
use super::ros2::Process;
use super::{PATIENCE, wait_until};
use crate::conformance::messages::{FibonacciGoal, SetBool, Switch, TestFibonacci, Text};

/// Parts that are tried, in the order of the table.
const PARTS: [&str; 9] =
    ["topic", "latched", "service", "action", "cancel", "reject", "parameters", "lifecycle", "description"];

/// The page of the book that has the table.
const NETWORK_PAGE: &str = include_str!("../../../../book/src/guide/network.md");

/// Lengths of texts that a service repeats. The last ones are sent in fragments.
const LENGTHS: [usize; 5] = [0, 1, 5, 1_000_000, 10_000_000];

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Tried = Result<(), Failure>;

/// Returns an error with that text unless `is_so`.
fn check(is_so: bool, text: impl Into<String>) -> Tried {
    if is_so { Ok(()) } else { Err(text.into().into()) }
}

/// Our node that uses the nodes `theirs` and `managed` of a peer.
struct User {
    node: Node,
    executor: ExecutorHandle,
}

impl User {
    async fn pause(&self) {
        // It fails only when the executor ends.
        let _ = self.executor.sleep(ClockKind::Steady, Duration::from_millis(20)).await;
    }

    async fn client<S: ServiceInterface>(&self, name: &str) -> Result<Client<S>, Failure> {
        let client = self.node.create_client::<S>(name)?;
        client.wait_for_service().await;
        Ok(client)
    }

    async fn topic(&self) -> Tried {
        let (sender, receiver) = mpsc::channel();
        let hear = move |text: Text| drop(sender.send(text.data));
        let subscription = self.node.create_subscription(SubscriptionOptions::new("out"), hear)?;
        let publisher = self.node.create_publisher::<Text>("in")?;
        publisher.wait_for_subscription().await;
        subscription.wait_for_publisher().await;
        // Their publisher may be matched a moment later.
        loop {
            publisher.publish(Text { data: "hello".to_owned() })?;
            self.pause().await;
            if let Ok(text) = receiver.try_recv() {
                return check(text == "hello", text);
            }
        }
    }

    async fn latched(&self) -> Tried {
        let (sender, receiver) = mpsc::channel();
        let hear = move |text: Text| drop(sender.send(text.data));
        let options = SubscriptionOptions::new("latched").keep_last(1).transient_local();
        let _subscription = self.node.create_subscription(options, hear)?;
        loop {
            if let Ok(text) = receiver.try_recv() {
                return check(text == "theirs", text);
            }
            self.pause().await;
        }
    }

    async fn service(&self) -> Tried {
        let set = self.client::<SetBool>("set").await?;
        let answer = set.call(Switch { data: true }).await?;
        check(answer.success && answer.message == "done", format!("{answer:?}"))?;
        let echo = self.client::<GetParameters>("echo").await?;
        for length in LENGTHS {
            let name = "x".repeat(length);
            let answer = echo.call(GetParametersRequest { names: vec![name.clone()] }).await?;
            let texts: Vec<_> = answer.values.iter().map(|value| &value.string_value).collect();
            check(texts == [&name], format!("a text of {length} bytes"))?;
        }
        Ok(())
    }

    async fn action_client(&self) -> Result<ActionClient<TestFibonacci>, Failure> {
        let client = self.node.create_action_client::<TestFibonacci>("fibonacci")?;
        client.wait_for_server().await;
        Ok(client)
    }

    async fn action(&self) -> Tried {
        let client = self.action_client().await?;
        let goal = client.send_goal(FibonacciGoal { order: 6 }).await?;
        let mut feedback = goal.take_feedback().ok_or("no feedback")?;
        let first = feedback.next().await.ok_or("no feedback")?;
        check(first.sequence.starts_with(&[0, 1, 1]), format!("{first:?}"))?;
        let outcome = goal.result().await?;
        check(outcome.result.sequence == [0, 1, 1, 2, 3, 5, 8], format!("{outcome:?}"))
    }

    async fn cancel(&self) -> Tried {
        let client = self.action_client().await?;
        let goal = client.send_goal(FibonacciGoal { order: ENDLESS }).await?;
        goal.cancel().await?;
        let outcome = goal.result().await?;
        check(format!("{:?}", outcome.state) == "Canceled", format!("{outcome:?}"))?;
        check([0, 1, 1].starts_with(&outcome.result.sequence), format!("{outcome:?}"))
    }

    async fn reject(&self) -> Tried {
        let client = self.action_client().await?;
        check(client.send_goal(FibonacciGoal { order: -1 }).await.is_err(), "a goal was accepted")?;
        let goal = client.send_goal(FibonacciGoal { order: STUBBORN }).await?;
        check(goal.cancel().await.is_err(), "a refused cancellation counts as accepted")?;
        let outcome = goal.result().await?;
        check(format!("{:?}", outcome.state) == "Succeeded", format!("{outcome:?}"))
    }

    async fn parameters(&self) -> Tried {
        let client = self.node.create_parameter_client("/theirs")?;
        client.wait_for_service().await;
        let listed = client.list(&[], 0).await?;
        check(listed.names.iter().any(|name| name == "speed"), format!("{listed:?}"))?;
        check(client.get_one::<i64>("speed").await? == 1, "speed is not 1")?;
        let set = client.set(vec![ParameterSetting::new("speed", 7)]).await?;
        check(set[0].is_ok(), format!("{set:?}"))?;
        check(client.get_one::<i64>("speed").await? == 7, "speed is not 7")?;
        let set = client.set(vec![ParameterSetting::new("speed", "fast")]).await?;
        check(set[0].is_err(), "a text was accepted as a number")
    }

    async fn lifecycle(&self) -> Tried {
        let state = self.client::<GetState>("managed/get_state").await?;
        let before = state.call(GetStateRequest::default()).await?.current_state.label;
        check(before == "unconfigured", before)?;
        let change = self.client::<ChangeState>("managed/change_state").await?;
        let mut request = ChangeStateRequest::default();
        request.transition.id = 1;
        request.transition.label = "configure".to_owned();
        check(change.call(request).await?.success, "it was not configured")?;
        let after = state.call(GetStateRequest::default()).await?.current_state.label;
        check(after == "inactive", after)
    }

    async fn description(&self) -> Tried {
        let found = self.node.message_type_of(&self.executor, "out").await?;
        check(found.name() == "std_msgs/msg/String", format!("{found:?}"))
    }

    fn part(&self, part: &str) -> Pin<Box<dyn Future<Output = Tried> + '_>> {
        match part {
            "topic" => Box::pin(self.topic()),
            "latched" => Box::pin(self.latched()),
            "service" => Box::pin(self.service()),
            "action" => Box::pin(self.action()),
            "cancel" => Box::pin(self.cancel()),
            "reject" => Box::pin(self.reject()),
            "parameters" => Box::pin(self.parameters()),
            "lifecycle" => Box::pin(self.lifecycle()),
            _ => Box::pin(self.description()),
        }
    }
}

/// Uses each part of a peer's servers from our node. Returns what happened, part by part.
fn ours_uses_theirs(start: &dyn Fn(&[&str]) -> Process, ros: rospin_node::Ros) -> Vec<String> {
    let mut theirs = start(&["serve"]);
    let node = ros.create_node("user").expect("a node");
    let executor = ros.executor();
    wait_until(executor, "their nodes serve", || theirs.said("serving"));
    let user = User { node, executor: executor.handle() };
    let mut results = Vec::new();
    for part in PARTS {
        results.push(match executor.spin_until(user.part(part), SpinOptions::new().timeout(PATIENCE)) {
            Ok(Ok(())) => "yes".to_owned(),
            Ok(Err(error)) => format!("no: {error}"),
            Err(error) => format!("no: {error}"),
        });
    }
    theirs.end_input();
    results
}

/// Has a peer use each part of our servers. Returns what happened, part by part.
fn theirs_uses_ours(start: &dyn Fn(&[&str]) -> Process, ros: rospin_node::Ros) -> Vec<String> {
    let ours = Ours::new(ros);
    let mut user = start(&[&["ask"], &PARTS[..]].concat());
    // Each part has its own patience.
    let end = SpinOptions::new().timeout(PATIENCE * 4);
    let handle = ours.executor().handle();
    let _ended = ours.executor().spin_until(
        async {
            while !user.has_ended() {
                let _ = handle.sleep(ClockKind::Steady, Duration::from_millis(10)).await;
            }
        },
        end,
    );
    PARTS.map(|part| answer(&user, part)).into()
}

/// Returns what the peer has printed of a part.
fn answer(user: &Process, part: &str) -> String {
    let lines = user.lines();
    let found = lines.iter().find_map(|line| line.strip_prefix(part)?.strip_prefix(' '));
    found.map_or_else(|| format!("no: it said nothing; {lines:?}"), str::to_owned)
}

/// Tries everything in both directions, and prints the table of what works. `start` starts a part of the peer, whose
/// parts are those of `rclpy_peer.py`: `serve`, or `ask` and the names of parts. The peers have the same nodes as
/// [`Ours`].
///
/// # Panics
/// If something does not work.
#[expect(clippy::print_stdout, reason = "it prints the table")]
pub fn all_parts_work(peer: &str, start: &dyn Fn(&[&str]) -> Process, join: impl Fn() -> rospin_node::Ros) {
    let client = ours_uses_theirs(start, join());
    let server = theirs_uses_ours(start, join());
    let mut failed = Vec::new();
    println!("{peer:<24} {:<14} {:<14}", "rospin client", "rospin server");
    for (at, part) in PARTS.iter().enumerate() {
        println!("  {part:<22} {:<14} {:<14}", client[at], server[at]);
        for result in [&client[at], &server[at]] {
            if result != "yes" {
                failed.push(format!("{part}: {result}"));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
    // Everything works both ways: the book says so, if it names this peer.
    let row = format!("| {peer} |{}", " both ways |".repeat(PARTS.len()));
    let header = format!("| with | {} |", PARTS.join(" | "));
    let is_told = NETWORK_PAGE.contains(&row) && NETWORK_PAGE.contains(&header);
    assert!(is_told || !NETWORK_PAGE.contains(&format!("| {peer} |")), "the book lacks the rows {header} and {row}");
}

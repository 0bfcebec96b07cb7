//! `rospin action send_goal`.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use rospin::dynamic::{DynamicClient, DynamicMessage, MessageType, ServiceType, YamlFormat};
use rospin::graph::Endpoint;
use rospin::message::interfaces::action_msgs::{CancelGoal, CancelGoalRequest};
use rospin::time::ClockKind;
use rospin::{Client, ExecutorHandle, Qos, Subscription, SubscriptionOptions};
use rospin_report::{Failure, number};

use super::find;
use crate::ros::types::ActionType;
use crate::ros::{Mailbox, Session, ends, type_and_fields, types};

/// Time that a server has to answer a request to cancel.
const CANCELING: Duration = Duration::from_secs(2);

/// Time that feedback may come after the result, whose way is another one.
const FEEDBACK_AFTER: Duration = Duration::from_millis(20);

/// Options of `rospin action send_goal`.
#[derive(Args, Debug)]
pub(super) struct Options {
    /// Action, such as /fibonacci
    action: String,

    /// Type, such as example_interfaces/action/Fibonacci; may be left out
    action_type: Option<String>,

    /// Fields of the goal in YAML, such as '{order: 10}'; others have their defaults
    goal: Option<String>,

    /// Reads the fields from standard input
    #[arg(long, conflicts_with = "goal")]
    stdin: bool,

    /// Prints the feedback of the goal
    #[arg(long, short)]
    feedback: bool,

    /// Cancels the goal after so many seconds
    #[arg(long, short, value_name = "SECONDS", value_parser = |text: &str| number::parse_seconds(text, 0.001, 1e9))]
    timeout: Option<Duration>,
}

/// The ends through which a goal is sent.
struct Ends {
    send_goal: DynamicClient,
    get_result: DynamicClient,
    cancel_goal: Client<CancelGoal>,
    _feedback: Option<Subscription>,
}

/// Sends a goal, and waits for its result.
pub(super) fn run(session: &Session, options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let (type_name, goal) = type_and_fields(options.action_type.as_deref(), options.goal.as_deref(), options.stdin)?;
    // A type or a goal that is wrong is told before anything is waited for.
    if let Some(name) = &type_name {
        request(&types::action(name)?, &goal, [0; 16])?;
    }
    writeln!(out, "Waiting for an action server to become available...")?;
    out.flush()?;
    let (action, found) = match find(session, &options.action) {
        // The server need not exist yet.
        Err(Failure::Run(_)) if type_name.is_some() => wait_for(session, &options.action)?,
        found => found?,
    };
    let name = match (type_name, &found[..]) {
        (None, [only]) => only.clone(),
        (Some(name), found) if found.contains(&types::full_name(&name, "action")) => name,
        (given, found) => {
            let wanted = given.map(|given| format!(", not {given}")).unwrap_or_default();
            return Err(Failure::Run(format!("action {action} is of type {}{wanted}", found.join(", ")).into()));
        }
    };
    let of = types::action(&name)?;
    let id = *id();
    let request = request(&of, &goal, id)?;
    let mailbox = Mailbox::new();
    let ends = create(session, &action, &of, if options.feedback { Some(&mailbox) } else { None }, id)?;
    let done = session.wait(send(session, &ends, &request, options, &mailbox, out))?;
    match done {
        Some(Ended::Done(result)) => result,
        // The goal was accepted, or may have been: the user does not want it any more.
        Some(Ended::Late) | None => cancel(session, &ends, id, out),
    }
}

/// Waits for an action, without an end, and returns its full name and its types.
fn wait_for(session: &Session, action: &str) -> Result<(String, Vec<String>), Failure> {
    let name = session.node().resolve_topic(action).map_err(Failure::input)?.to_string();
    let types = session.finish(async {
        loop {
            let change = session.node().wait_for_graph_change();
            if let Some(types) = ends::actions(&session.node().topic_names_and_types()).remove(&name) {
                return types;
            }
            change.await;
        }
    })?;
    Ok((name, types.into_iter().collect()))
}

/// End of waiting for a goal.
enum Ended {
    Done(Result<(), Failure>),
    /// The time was over before the goal ended.
    Late,
}

/// Returns a random id of a goal.
fn id() -> Box<[u8; 16]> {
    Box::new(*uuid::Uuid::new_v4().as_bytes())
}

/// Returns the request to send a goal with these fields.
fn request(of: &ActionType, goal: &str, id: [u8; 16]) -> Result<DynamicMessage, Failure> {
    let mut request = DynamicMessage::new(of.send_goal.request());
    let empty: DynamicMessage = request.get("goal").map_err(Failure::input)?;
    let goal = DynamicMessage::from_yaml(empty.message_type(), goal).map_err(Failure::input)?;
    request.set("goal", goal).map_err(Failure::input)?;
    request.set("goal_id.uuid", id.to_vec()).map_err(Failure::input)?;
    Ok(request)
}

/// Creates the ends of an action's client. With a mailbox, the feedback of the goal with that id goes there.
fn create(
    session: &Session,
    action: &str,
    of: &ActionType,
    mailbox: Option<&Mailbox<DynamicMessage>>,
    id: [u8; 16],
) -> Result<Ends, Failure> {
    let node = session.node();
    let send_goal = client(session, &format!("{action}/_action/send_goal"), &of.send_goal)?;
    let get_result = client(session, &format!("{action}/_action/get_result"), &of.get_result)?;
    let cancel_goal = node.create_client(&*format!("{action}/_action/cancel_goal")).map_err(Failure::run)?;
    let mut feedback = None;
    if let Some(mailbox) = mailbox {
        let topic = format!("{action}/_action/feedback");
        let servers = node.publishers_info_by_topic(&topic).map_err(Failure::run)?;
        let message_type = announced(of.feedback.clone(), &servers)?;
        let mailbox = mailbox.clone();
        let post = move |message: DynamicMessage| {
            if message.get::<Vec<u8>>("goal_id.uuid").is_ok_and(|goal| goal == id) {
                mailbox.post(message);
            }
        };
        let options = SubscriptionOptions::new(&*topic).qos(Qos::keep_last(100));
        feedback = Some(node.create_dynamic_subscription(options, &message_type, post).map_err(Failure::run)?);
    }
    Ok(Ends { send_goal, get_result, cancel_goal, _feedback: feedback })
}

/// Returns the type such that it announces its hash where the publishers do. It must be theirs.
fn announced(message_type: MessageType, ends: &[Endpoint]) -> Result<MessageType, Failure> {
    let Some(hash) = ends.iter().find_map(|end| end.type_hash.as_deref()) else {
        return Ok(message_type.without_hash());
    };
    message_type.check_hash(hash).map_err(Failure::run)?;
    Ok(message_type.with_hash())
}

fn client(session: &Session, service: &str, of: &ServiceType) -> Result<DynamicClient, Failure> {
    let servers = session.node().servers_info_by_service(service).map_err(Failure::run)?;
    let of = match servers.iter().find_map(|server| server.type_hash.as_deref()) {
        Some(hash) if !of.has_hash(hash) => {
            let sentence = format!("the server of {service} has another version of {}", of.name());
            return Err(Failure::Run(sentence.into()));
        }
        None if !servers.is_empty() => of.clone().without_hash(),
        _ => of.clone().with_hash(),
    };
    session.node().create_dynamic_client(service, &of).map_err(Failure::run)
}

/// Sends the goal, and prints what comes of it.
async fn send(
    session: &Session,
    ends: &Ends,
    request: &DynamicMessage,
    options: &Options,
    mailbox: &Mailbox<DynamicMessage>,
    out: &mut dyn Write,
) -> Ended {
    let handle = session.ros().executor().handle();
    let result = accept(ends, request, out).await;
    match result {
        Ok(true) => {}
        Ok(false) => return Ended::Done(Err(Failure::Run("the goal was rejected".into()))),
        Err(failure) => return Ended::Done(Err(failure)),
    }
    let late = if options.feedback { FEEDBACK_AFTER } else { Duration::ZERO };
    let ending = end(ends, request, (mailbox, &handle, late), out);
    match options.timeout {
        None => Ended::Done(ending.await),
        Some(limit) => match handle.timeout(ClockKind::Steady, limit, ending).await {
            Ok(result) => Ended::Done(result),
            Err(_) => Ended::Late,
        },
    }
}

/// Sends the goal. Returns true if the server accepts it.
async fn accept(ends: &Ends, request: &DynamicMessage, out: &mut dyn Write) -> Result<bool, Failure> {
    ends.send_goal.wait_for_service().await;
    ends.get_result.wait_for_service().await;
    let goal: DynamicMessage = request.get("goal").map_err(Failure::run)?;
    writeln!(out, "Sending goal:\n     {}\n", yaml(&goal))?;
    out.flush()?;
    let response = ends.send_goal.call(request).await.map_err(Failure::run)?;
    if !response.get::<bool>("accepted").map_err(Failure::run)? {
        writeln!(out, "Goal was rejected.")?;
        return Ok(false);
    }
    let id: Vec<u8> = request.get("goal_id.uuid").map_err(Failure::run)?;
    let digits: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    writeln!(out, "Goal accepted with ID: {digits}\n")?;
    out.flush()?;
    Ok(true)
}

/// Waits for the result, and prints it, and the feedback before it.
async fn end(
    ends: &Ends,
    request: &DynamicMessage,
    (mailbox, executor, late): (&Mailbox<DynamicMessage>, &ExecutorHandle, Duration),
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut asking = DynamicMessage::new(ends.get_result.service_type().request());
    let id: Vec<u8> = request.get("goal_id.uuid").map_err(Failure::run)?;
    asking.set("goal_id.uuid", id).map_err(Failure::run)?;
    let mut result = Box::pin(ends.get_result.call(&asking));
    let response = loop {
        match first(&mut result, mailbox).await {
            Either::Result(response) => break response.map_err(Failure::run)?,
            Either::Feedback(message) => print_feedback(&message, out)?,
        }
    };
    let mut over = Box::pin(executor.sleep(ClockKind::Steady, late));
    while let Either::Feedback(message) = first(&mut over, mailbox).await {
        print_feedback(&message, out)?;
    }
    let status: i8 = response.get("status").map_err(Failure::run)?;
    let result: DynamicMessage = response.get("result").map_err(Failure::run)?;
    writeln!(out, "Result:\n    {}\n", yaml(&result))?;
    writeln!(out, "Goal finished with status: {}", status_name(status))?;
    match status_name(status) {
        "SUCCEEDED" => Ok(()),
        other => Err(Failure::Run(format!("the goal did not succeed: {other}").into())),
    }
}

fn print_feedback(message: &DynamicMessage, out: &mut dyn Write) -> Result<(), Failure> {
    let feedback: DynamicMessage = message.get("feedback").map_err(Failure::run)?;
    writeln!(out, "Feedback:\n    {}\n", yaml(&feedback))?;
    Ok(out.flush()?)
}

/// The next news of a goal.
enum Either<R> {
    Result(R),
    Feedback(DynamicMessage),
}

/// Returns feedback, or the result once there is no feedback before it.
async fn first<R>(result: &mut (impl Future<Output = R> + Unpin), mailbox: &Mailbox<DynamicMessage>) -> Either<R> {
    use std::pin::{Pin, pin};
    use std::task::Poll;

    let mut next = pin!(mailbox.next());
    std::future::poll_fn(|context| {
        if let Poll::Ready(message) = next.as_mut().poll(context) {
            return Poll::Ready(Either::Feedback(message));
        }
        Pin::new(&mut *result).poll(context).map(Either::Result)
    })
    .await
}

fn yaml(message: &DynamicMessage) -> String {
    YamlFormat::new().truncate_length(None).text(message)
}

const fn status_name(status: i8) -> &'static str {
    match status {
        1 => "ACCEPTED",
        2 => "EXECUTING",
        3 => "CANCELING",
        4 => "SUCCEEDED",
        5 => "CANCELED",
        6 => "ABORTED",
        _ => "UNKNOWN",
    }
}

/// Cancels the goal with that id.
fn cancel(session: &Session, ends: &Ends, id: [u8; 16], out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "Canceling goal...")?;
    out.flush()?;
    let mut request = CancelGoalRequest::default();
    request.goal_info.goal_id.uuid = id;
    let call = ends.cancel_goal.call(request);
    let limited = session.ros().executor().handle().timeout(ClockKind::Steady, CANCELING, call);
    let canceled = match session.finish(limited)? {
        Ok(response) => response.map_err(Failure::run)?.goals_canceling.iter().any(|goal| goal.goal_id.uuid == id),
        Err(_) => false,
    };
    if canceled {
        writeln!(out, "Goal canceled.")?;
        return Err(Failure::Run("the goal was canceled".into()));
    }
    Err(Failure::Run("the server did not cancel the goal".into()))
}

//! The station: it hears, calls and commands all robots, and judges what comes back.

use std::collections::BTreeMap;

use rospin::testing::SimulatedNetwork;
use rospin_engine::{Context, LossCause};
use rospin_node::interfaces::lifecycle_msgs as msgs;
use rospin_node::interfaces::rcl_interfaces::ParameterEvent;
use rospin_node::{
    ActionClient, CallError, CancelError, Client, ClientGoalHandle, FeedbackStream, GoalOutcome, GoalState, Node,
    NodeOptions, ParameterClient, ParameterClientError, PublisherOptions, ResultError, Ros, SendGoalError, Service,
    Subscription, SubscriptionOptions,
};

use super::super::super::actions::set_up::{Fibonacci, Goal, Sequence};
use super::super::{Awaited, Rng, Shared, is_among, poll_once};
use super::Truth;
use super::extras::{Guest, Matches, Relayed, Watch, change_guests, poll_relayed};
use super::robot::{Count, Ear, REJECTED, STUBBORN, TOO_FAST, Talker, double};
use crate::in_process::{Double, Number};

/// What the station has of one robot.
pub(super) struct Line {
    robot: String,
    /// Reliable, of best effort, and latched: what was heard, and the subscription.
    pub(super) ears: [(Shared<Ear>, Subscription); 3],
    pub(super) matches: Matches,
    double: Client<Double>,
    relay: Client<Double>,
    pub(super) drive: ActionClient<Fibonacci>,
    pub(super) parameters: ParameterClient,
    change: Client<msgs::ChangeState>,
    state: Client<msgs::GetState>,
}

/// A goal as its client has it.
pub(super) struct Sent {
    robot: usize,
    pub(super) handle: ClientGoalHandle<Fibonacci>,
    pub(super) stream: Option<FeedbackStream<Fibonacci>>,
    heard: Vec<i32>,
    state: GoalState,
    pub(super) result: Option<Awaited<Result<GoalOutcome<Sequence>, ResultError>>>,
    pub(super) cancel: Option<Awaited<Result<(), CancelError>>>,
    /// True if its client has had its result.
    pub(super) has_ended: bool,
}

type Asked = Awaited<Result<ClientGoalHandle<Fibonacci>, SendGoalError>>;

pub(super) struct Station {
    pub(super) ros: Ros,
    pub(super) node: Node,
    pub(super) lines: Vec<Line>,
    pub(super) mission: Talker,
    pub(super) calls: Vec<(i64, Awaited<Result<Number, CallError>>)>,
    pub(super) asked: Vec<(usize, i32, Asked)>,
    pub(super) sent: Vec<Sent>,
    pub(super) sets: Vec<(i64, Awaited<Result<(), ParameterClientError>>)>,
    pub(super) changing: Vec<(i64, Awaited<Result<msgs::ChangeStateResponse, CallError>>)>,
    /// The last speed of each robot that was told as an event.
    pub(super) speeds: Shared<BTreeMap<String, i64>>,
    pub(super) is_stalled: bool,
    pub(super) relayed: Vec<Relayed>,
    /// Calls of `wait_for_service` and the like, each with the number of the robot whose server it waits for.
    waits: Vec<(usize, Awaited<()>)>,
    pub(super) guests: Vec<Guest>,
    pub(super) watch: Watch,
    _service: Service,
    _events: Subscription,
}

impl Station {
    pub(super) fn start(
        network: &SimulatedNetwork,
        context: &Context,
        robots: &[String],
        boot: i64,
        truth: &Truth,
    ) -> Self {
        let ros = network.join(context, "station");
        let options = NodeOptions::new("station").start_type_description_service(false);
        let node = ros.create_node(options.start_parameter_services(false)).unwrap();
        let watch = Watch::new(&node);
        let _service = double(&node, "station", truth);
        let options = PublisherOptions::new("/mission").keep_last(1).transient_local();
        let mut mission = Talker::new(&node, options, boot);
        mission.publish();
        let lines = robots.iter().map(|robot| Line::new(&node, robot, truth)).collect();
        let speeds = Shared::<BTreeMap<String, i64>>::new();
        let (told, judged) = (speeds.clone(), truth.clone());
        let places = Shared::<BTreeMap<String, (i64, usize)>>::new();
        let hear = move |event: ParameterEvent| {
            let all = event.new_parameters.iter().chain(&event.changed_parameters);
            for speed in all.filter(|parameter| parameter.name == "speed") {
                let value = speed.value.integer_value;
                told.with(|told| told.insert(event.node.clone(), value));
                let place = places.with(|places| places.get(&event.node).copied());
                let found = judged.with(|truth| truth.place_of_speed(value, place));
                judged.with(|truth| {
                    truth.check(found.is_some(), || format!("speed {value} of {} was told too late", event.node));
                });
                if let Some(found) = found {
                    places.with(|places| places.insert(event.node.clone(), found));
                }
            }
        };
        let options = SubscriptionOptions::new("/parameter_events").keep_last(1000);
        let _events = node.create_subscription(options, hear).unwrap();
        Self {
            ros,
            node,
            lines,
            mission,
            calls: Vec::new(),
            asked: Vec::new(),
            sent: Vec::new(),
            sets: Vec::new(),
            changing: Vec::new(),
            speeds,
            is_stalled: false,
            relayed: Vec::new(),
            waits: Vec::new(),
            guests: Vec::new(),
            watch,
            _service,
            _events,
        }
    }

    /// Calls the service of a robot. Some callers are not interested in the answer.
    pub(super) fn call(&mut self, robot: usize, id: i64, rng: &mut Rng) {
        let call = self.lines[robot].double.call(Number { data: id });
        if rng.percent(85) && self.calls.len() < 50 {
            self.calls.push((id, Awaited::new(call)));
        }
    }

    /// Calls the service of a robot that asks the station in turn.
    pub(super) fn relay(&mut self, robot: usize, id: i64) {
        if self.relayed.len() < 50 {
            self.relayed.push((id, Awaited::new(self.lines[robot].relay.call(Number { data: id }))));
        }
    }

    /// Waits for a server of a robot, of a service or of an action.
    pub(super) fn wait(&mut self, robot: usize, rng: &mut Rng) {
        let line = &self.lines[robot];
        if self.waits.len() < 20 {
            let wait = if rng.percent(50) {
                Awaited::new(line.double.wait_for_service())
            } else {
                Awaited::new(line.drive.wait_for_server())
            };
            self.waits.push((robot, wait));
        }
    }

    /// Returns the robots whose servers are waited for.
    pub(super) fn waits(&self) -> Vec<usize> {
        self.waits.iter().map(|(robot, _)| *robot).collect()
    }

    /// Has a latched subscription and a client come, or go.
    pub(super) fn change_guests(&mut self, robot: usize, rng: &mut Rng) {
        let Self { node, lines, guests, .. } = self;
        change_guests(guests, rng, || Guest::new(node, robot, &lines[robot].robot));
    }

    pub(super) fn send(&mut self, robot: usize, order: i32) {
        let asked = self.lines[robot].drive.send_goal(Goal { order });
        self.asked.push((robot, order, Awaited::new(asked)));
    }

    /// Does something with a goal.
    pub(super) fn ask(&mut self, rng: &mut Rng) {
        let at = rng.below(self.sent.len());
        let Some(goal) = self.sent.get_mut(at) else { return };
        match rng.below(2) {
            0 if goal.cancel.is_none() => goal.cancel = Some(Awaited::new(goal.handle.cancel())),
            1 if goal.result.is_none() => goal.result = Some(Awaited::new(goal.handle.result())),
            _ => {}
        }
    }

    pub(super) fn set_speed(&mut self, robot: usize, speed: i64) {
        let set = self.lines[robot].parameters.set_one("speed", speed);
        self.sets.push((speed, Awaited::new(set)));
    }

    /// Requests a transition of a robot's arm.
    pub(super) fn change(&mut self, robot: usize, id: u8, truth: &Truth) {
        let boot = truth.with(|truth| {
            let boot = truth.boots[robot];
            truth.changes.entry(boot).or_default().asked += 1;
            boot
        });
        let transition = msgs::Transition { id, label: String::new() };
        let call = self.lines[robot].change.call(msgs::ChangeStateRequest { transition });
        self.changing.push((boot, Awaited::new(call)));
    }

    pub(super) fn state_of_arm(&self, robot: usize) -> Awaited<Result<msgs::GetStateResponse, CallError>> {
        Awaited::new(self.lines[robot].state.call(msgs::GetStateRequest::default()))
    }

    /// Gives up what has no answer. Returns how much that is.
    pub(super) fn give_up(&mut self) -> u64 {
        let cancels = self.sent.iter_mut().filter_map(|sent| sent.cancel.take()).count();
        let calls = self.calls.drain(..).count() + self.relayed.drain(..).count();
        let requests = self.sets.drain(..).count() + self.changing.drain(..).count();
        (cancels + calls + requests + self.asked.drain(..).count()) as u64
    }

    /// Polls everything that the station waits for, and judges it.
    pub(super) fn poll(&mut self, truth: &Truth) {
        self.poll_calls(truth);
        self.poll_asked(truth);
        poll_relayed(&mut self.relayed, truth);
        self.waits.retain_mut(|(_, wait)| wait.poll().is_none());
        for at in 0..self.sent.len() {
            self.sent[at].poll(truth);
        }
    }

    fn poll_calls(&mut self, truth: &Truth) {
        self.calls.retain_mut(|(id, call)| {
            let Some(outcome) = call.poll() else { return true };
            let effects = truth.with(|truth| truth.effects.get(id).copied().unwrap_or_default());
            let is_right = match &outcome {
                Ok(number) => number.data == 2 * *id && effects == 1,
                Err(CallError::Unavailable { .. }) => effects == 0,
                Err(CallError::Unanswered { .. }) => true,
                Err(_) => false,
            };
            truth.with(|truth| truth.saw(if outcome.is_ok() { "call answered" } else { "call failed" }));
            assert!(is_right, "call {id} had {effects} effects, and ends with {outcome:?}");
            false
        });
        self.sets.retain_mut(|(speed, set)| {
            let Some(outcome) = set.poll() else { return true };
            let count = truth.with(|truth| truth.count_of_speed(*speed));
            let is_right = match &outcome {
                Ok(()) => count == 1,
                Err(ParameterClientError::Call(CallError::Unavailable { .. })) => count == 0,
                Err(ParameterClientError::Call(CallError::Unanswered { .. })) => count <= 1,
                Err(ParameterClientError::Refused { .. }) => count == 0 && *speed % TOO_FAST == 0,
                Err(_) => false,
            };
            truth.with(|truth| truth.saw(if outcome.is_ok() { "speed set" } else { "speed not set" }));
            assert!(is_right, "speed {speed} was set {count} times, and the call ends with {outcome:?}");
            false
        });
        self.changing.retain_mut(|(boot, call)| {
            let Some(outcome) = call.poll() else { return true };
            match &outcome {
                Ok(response) => truth.with(|truth| {
                    let changes = truth.changes.entry(*boot).or_default();
                    changes.succeeded += usize::from(response.success);
                    changes.refused += usize::from(!response.success);
                    truth.saw(if response.success { "transition done" } else { "transition refused" });
                }),
                Err(CallError::Unavailable { .. } | CallError::Unanswered { .. }) => {}
                Err(error) => panic!("{error}"),
            }
            false
        });
    }

    fn poll_asked(&mut self, truth: &Truth) {
        for (robot, order, mut asked) in std::mem::take(&mut self.asked) {
            match asked.poll() {
                None => self.asked.push((robot, order, asked)),
                Some(Ok(handle)) => {
                    truth.with(|truth| truth.saw("goal accepted"));
                    let is_right =
                        truth.with(|truth| truth.goals.get(&handle.id()).is_some_and(|goal| goal.order == order));
                    assert!(is_right, "goal {order} was not accepted by a server");
                    let stream = handle.take_feedback();
                    self.sent.push(Sent {
                        robot,
                        handle,
                        stream,
                        heard: Vec::new(),
                        state: GoalState::Accepted,
                        result: None,
                        cancel: None,
                        has_ended: false,
                    });
                }
                Some(Err(SendGoalError::Rejected { .. })) => {
                    assert_eq!(order % REJECTED, 0, "goal {order} was rejected")
                }
                Some(Err(SendGoalError::Call(CallError::Unavailable { .. }))) => {
                    assert!(!truth.with(|truth| truth.orders.contains(&order)), "goal {order} was sent");
                }
                Some(Err(SendGoalError::Call(CallError::Unanswered { .. }))) => {}
                Some(Err(error)) => panic!("goal {order}: {error}"),
            }
        }
    }
}

/// Returns true if a goal may go from one state to the other, perhaps through others.
fn is_legal(from: GoalState, to: GoalState) -> bool {
    use GoalState::{Accepted, Canceling, Executing};
    match from {
        Accepted => true,
        Executing => to != Accepted,
        Canceling => to != Accepted && to != Executing,
        _ => from == to,
    }
}

impl Sent {
    pub(super) fn robot(&self) -> usize {
        self.robot
    }

    /// Returns the feedback that was heard.
    pub(super) fn heard(&self) -> &[i32] {
        &self.heard
    }

    /// Polls what the client waits for, and judges it.
    fn poll(&mut self, truth: &Truth) {
        let id = self.handle.id();
        while let Some(stream) = &mut self.stream
            && let Some(next) = poll_once(stream.next())
        {
            match next {
                Some(feedback) => self.heard.extend(feedback.sequence),
                None => self.stream = None,
            }
        }
        let state = self.handle.state();
        assert!(is_legal(self.state, state), "goal {id} went from {:?} to {state:?}", self.state);
        self.state = state;
        truth.with(|truth| {
            let served = &truth.goals[&id];
            assert!(is_among(&self.heard, &served.feedback), "{:?}, not {:?}", self.heard, served.feedback);
            if let Some(outcome) = self.result.as_mut().and_then(Awaited::poll) {
                truth.saw(match &outcome {
                    Ok(outcome) if outcome.state == GoalState::Canceled => "result: canceled",
                    Ok(_) => "result",
                    Err(ResultError::ServerGone { .. }) => "result: server gone",
                    Err(ResultError::Unknown { .. }) => "result: unknown",
                    Err(_) => "result: not answered",
                });
                let served = &truth.goals[&id];
                match &outcome {
                    Ok(outcome) => {
                        let end = Some((outcome.state, outcome.result.sequence.clone()));
                        assert_eq!(end, served.end, "goal {}", served.order);
                        self.has_ended = true;
                    }
                    Err(ResultError::Unknown { .. }) => {
                        let is_right = served.boot != truth.boots[self.robot] || truth.is_old(served);
                        assert!(is_right, "the server of goal {} has forgotten it", served.order);
                    }
                    Err(
                        ResultError::ServerGone { .. }
                        | ResultError::Call(CallError::Unavailable { .. } | CallError::Unanswered { .. }),
                    ) => {}
                    Err(error) => panic!("goal {}: {error}", served.order),
                }
                self.result = None;
            }
            if let Some(outcome) = self.cancel.as_mut().and_then(Awaited::poll) {
                truth.saw(match &outcome {
                    Ok(()) => "cancel",
                    Err(CancelError::Rejected { .. }) => "cancel: rejected",
                    Err(CancelError::Terminated { .. }) => "cancel: terminated",
                    Err(_) => "cancel: failed",
                });
                let served = &truth.goals[&id];
                match &outcome {
                    Ok(()) => assert!(served.is_canceling, "goal {} is not being canceled", served.order),
                    Err(CancelError::Rejected { .. }) => assert_eq!(served.order % STUBBORN, 0),
                    Err(CancelError::Terminated { .. }) => assert!(served.end.is_some(), "goal {}", served.order),
                    Err(CancelError::Unknown { .. }) => {
                        let is_right = served.boot != truth.boots[self.robot] || truth.is_old(served);
                        assert!(is_right, "the server of goal {} has forgotten it", served.order);
                    }
                    Err(CancelError::Call(CallError::Unavailable { .. } | CallError::Unanswered { .. })) => {}
                    Err(error) => panic!("goal {}: {error}", served.order),
                }
                self.cancel = None;
            }
        });
    }
}

impl Line {
    fn new(node: &Node, robot: &str, truth: &Truth) -> Self {
        let listen = |topic: &str, options: fn(SubscriptionOptions) -> SubscriptionOptions, is_latched: bool| {
            let ear = Shared::<Ear>::new();
            let (heard, judged, name) = (ear.clone(), truth.clone(), format!("/{robot}/{topic}"));
            let options = options(SubscriptionOptions::new(name.clone()));
            let hear = move |count: Count| {
                let is_right = heard.with(|ear| ear.hear(count, is_latched));
                judged.with(|truth| truth.check(is_right, || format!("{name}: {count:?} came twice or too late")));
            };
            (ear, node.create_subscription(options, hear).unwrap())
        };
        let ears = [
            listen("odom", |options| options.keep_last(1000), false),
            listen("scan", |options| options.keep_last(1000).best_effort(), false),
            listen("map", |options| options.keep_last(1).transient_local(), true),
        ];
        let matches = Matches::of(node, &ears[0].1, truth);
        let arm = |service: &str| format!("/{robot}/arm/{service}");
        Self {
            robot: robot.to_owned(),
            ears,
            matches,
            double: node.create_client(format!("/{robot}/double").as_str()).unwrap(),
            relay: node.create_client(format!("/{robot}/relay").as_str()).unwrap(),
            drive: node.create_action_client(format!("/{robot}/drive").as_str()).unwrap(),
            parameters: node.create_parameter_client(&format!("/{robot}")).unwrap(),
            change: node.create_client(arm("change_state").as_str()).unwrap(),
            state: node.create_client(arm("get_state").as_str()).unwrap(),
        }
    }

    /// Checks that each gap of a volatile topic is counted as lost messages.
    pub(super) fn judge_gaps(&self) {
        for (ear, subscription) in &self.ears[..2] {
            let missing = ear.with(|ear| ear.missing());
            let counted = subscription.lost(LossCause::QueueFull);
            assert_eq!(counted, missing, "{}: messages that are missing, and counted", self.robot);
        }
    }
}

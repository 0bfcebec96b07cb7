//! What the station asks of the robots: calls, goals, parameters, changes of state and components, by a seed.

use std::time::{Duration, Instant};

use rospin::action::{ClientGoalHandle, FeedbackStream, GoalOutcome, GoalState, SendGoalError};
use rospin::errors::CallError;
use rospin::msgs::composition_interfaces::srv::{
    ListNodesRequest, ListNodesResponse, LoadNodeRequest, LoadNodeResponse, UnloadNodeRequest, UnloadNodeResponse,
};
use rospin::msgs::example_interfaces::action::{Fibonacci, FibonacciGoal, FibonacciResult};
use rospin::msgs::example_interfaces::srv::{AddTwoIntsRequest, AddTwoIntsResponse};
use rospin::msgs::lifecycle_msgs::msg::Transition;
use rospin::msgs::lifecycle_msgs::srv::{ChangeStateRequest, ChangeStateResponse, GetStateRequest, GetStateResponse};
use rospin::parameters::ParameterClientError;
use rospin_node::{CancelError, ResultError};

use super::super::rng::Rng;
use super::super::words::{End, Fact, Order, Outcome, RollAnswer};
use super::Teller;
use super::awaited::{Awaited, poll_once};
use super::robot::{ABORTED, GUEST, NO_ANSWER, REJECTED};
use super::station::{Line, Station};

/// The longest time that the station waits for an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest time that it waits when all is quiet.
const CALM: Duration = Duration::from_secs(10);
/// The average time between two things that it asks for.
const EVERY: Duration = Duration::from_millis(100);
/// The most calls and requests of a kind that wait for an answer.
const OPEN_MAX: usize = 100;
/// The most goals that are followed at once.
const GOALS_MAX: usize = 40;

/// A goal as its client has it.
struct Sent {
    id: String,
    handle: ClientGoalHandle<Fibonacci>,
    stream: Option<FeedbackStream<Fibonacci>>,
    /// The last piece of feedback that was heard.
    heard: i32,
    state: GoalState,
    result: Option<Awaited<Result<GoalOutcome<FibonacciResult>, ResultError>>>,
    cancel: Option<Awaited<Result<(), CancelError>>>,
    since: Instant,
}

type Called = Awaited<Result<AddTwoIntsResponse, CallError>>;
type Asked = Awaited<Result<ClientGoalHandle<Fibonacci>, SendGoalError>>;

/// What the station has asked for, and what has no answer yet.
pub(super) struct Work {
    rng: Rng,
    robots: usize,
    /// The last number that a call, goal or speed got.
    last: i64,
    next_at: Instant,
    calls: Vec<(i64, bool, Called)>,
    asked: Vec<(i32, Asked)>,
    sent: Vec<Sent>,
    sets: Vec<(i64, Awaited<Result<(), ParameterClientError>>)>,
    changes: Vec<(usize, Awaited<Result<ChangeStateResponse, CallError>>)>,
    loads: Vec<(usize, Awaited<Result<LoadNodeResponse, CallError>>)>,
    unloads: Vec<Awaited<Result<UnloadNodeResponse, CallError>>>,
    /// Components that were loaded, by the number of the robot.
    loaded: Vec<(usize, u64)>,
}

impl Work {
    pub(super) fn new(order: &Order) -> Self {
        Self {
            rng: Rng::new(order.seed ^ order.boot as u64),
            robots: order.robots,
            // Each start of a station has numbers of its own, which fit into the orders of goals.
            last: order.boot * 1_000_000,
            next_at: Instant::now(),
            calls: Vec::new(),
            asked: Vec::new(),
            sent: Vec::new(),
            sets: Vec::new(),
            changes: Vec::new(),
            loads: Vec::new(),
            unloads: Vec::new(),
            loaded: Vec::new(),
        }
    }

    fn next(&mut self) -> i64 {
        self.last += 1;
        self.last
    }

    /// Polls all that is open, and asks for something if it is time and the station is not paused.
    pub(super) fn step(&mut self, station: &Station, is_paused: bool) {
        let teller = &station.part.teller;
        self.poll_calls(teller);
        self.poll_requests(teller);
        self.poll_goals(teller);
        if !is_paused && Instant::now() >= self.next_at {
            self.next_at = Instant::now() + EVERY.mul_f64(self.rng.between(0.2, 1.8));
            self.act(station);
        }
    }

    /// Asks for one thing.
    fn act(&mut self, station: &Station) {
        let at = self.rng.below(self.robots);
        let line = &station.lines[at];
        let id = self.next();
        match self.rng.below(20) {
            0..=4 if self.calls.len() < OPEN_MAX => self.calls.push((id, false, call(&line.double, id))),
            5..=6 if self.calls.len() < OPEN_MAX => self.calls.push((id, true, call(&line.relay, id))),
            7..=9 if self.asked.len() + self.sent.len() < GOALS_MAX => self.send(line, id as i32),
            10..=13 => self.ask_about_a_goal(),
            14 if self.sets.len() < OPEN_MAX => {
                self.sets.push((id, Awaited::new(line.parameters.set_one("speed", id))));
            }
            15..=16 if self.changes.len() < OPEN_MAX => {
                let transition = Transition { id: 1 + self.rng.below(4) as u8, label: String::new() };
                let call = line.change.call(ChangeStateRequest { transition });
                self.changes.push((at + 1, Awaited::new(call)));
            }
            17 if self.loads.len() < 5 && self.loaded.len() < 2 * self.robots => {
                let request = LoadNodeRequest {
                    plugin_name: GUEST.to_owned(),
                    node_name: format!("guest_{id}"),
                    node_namespace: format!("/{}", super::robot_name(at + 1)),
                    ..LoadNodeRequest::default()
                };
                self.loads.push((at, Awaited::new(line.load.call(request))));
            }
            18 if !self.loaded.is_empty() => {
                let (at, unique_id) = self.loaded.swap_remove(self.rng.below(self.loaded.len()));
                let call = station.lines[at].unload.call(UnloadNodeRequest { unique_id });
                self.unloads.push(Awaited::new(call));
            }
            19 => station.publish_mission(),
            _ => {}
        }
    }

    fn send(&mut self, line: &Line, order: i32) {
        self.asked.push((order, Awaited::new(line.drive.send_goal(FibonacciGoal { order }))));
    }

    /// Asks for the result of a goal, or to cancel it.
    fn ask_about_a_goal(&mut self) {
        if self.sent.is_empty() {
            return;
        }
        let at = self.rng.below(self.sent.len());
        let cancels = self.rng.percent(30);
        let goal = &mut self.sent[at];
        if cancels && goal.cancel.is_none() {
            goal.cancel = Some(Awaited::new(goal.handle.cancel()));
        } else if goal.result.is_none() {
            goal.result = Some(Awaited::new(goal.handle.result()));
        }
    }

    fn poll_calls(&mut self, teller: &Teller) {
        self.calls.retain_mut(|(id, relayed, call)| {
            let outcome = match call.poll() {
                Some(answer) => called(answer),
                None if call.is_older_than(PATIENCE) => Outcome::TimedOut,
                None => return true,
            };
            teller.tell(&Fact::Called { id: *id, outcome, relayed: *relayed });
            false
        });
    }

    fn poll_requests(&mut self, teller: &Teller) {
        self.sets.retain_mut(|(value, set)| {
            let outcome = match set.poll() {
                Some(Ok(())) => Outcome::Answered(*value),
                Some(Err(ParameterClientError::Call(error))) => failed(&error),
                Some(Err(ParameterClientError::Refused { .. })) => Outcome::Refused,
                Some(Err(error)) => Outcome::Other(error.to_string()),
                None if set.is_older_than(PATIENCE) => Outcome::TimedOut,
                None => return true,
            };
            teller.tell(&Fact::SpeedSet { value: *value, outcome });
            false
        });
        self.changes.retain_mut(|(host, change)| {
            let outcome = match change.poll() {
                Some(Ok(response)) if response.success => Outcome::Answered(1),
                Some(Ok(_)) => Outcome::Refused,
                Some(Err(error)) => failed(&error),
                None if change.is_older_than(PATIENCE) => Outcome::TimedOut,
                None => return true,
            };
            teller.tell(&Fact::Changed { host: *host, outcome });
            false
        });
        let loaded = &mut self.loaded;
        self.loads.retain_mut(|(at, load)| {
            let outcome = match load.poll() {
                Some(Ok(response)) if response.success => {
                    loaded.push((*at, response.unique_id));
                    Outcome::Answered(1)
                }
                Some(Ok(response)) => Outcome::Other(response.error_message),
                Some(Err(error)) => failed(&error),
                None if load.is_older_than(PATIENCE) => Outcome::TimedOut,
                None => return true,
            };
            teller.tell(&Fact::Component { outcome });
            false
        });
        self.unloads.retain_mut(|unload| {
            let outcome = match unload.poll() {
                Some(Ok(response)) if response.success => Outcome::Answered(0),
                // The robot that had it has started again.
                Some(Ok(_)) => Outcome::Refused,
                Some(Err(error)) => failed(&error),
                None if unload.is_older_than(PATIENCE) => Outcome::TimedOut,
                None => return true,
            };
            teller.tell(&Fact::Component { outcome });
            false
        });
    }

    fn poll_goals(&mut self, teller: &Teller) {
        for (order, mut asked) in std::mem::take(&mut self.asked) {
            let (goal, outcome) = match asked.poll() {
                Some(Ok(handle)) => {
                    let sent = Sent::new(handle);
                    let id = sent.id.clone();
                    self.sent.push(sent);
                    (Some(id), Outcome::Answered(0))
                }
                Some(Err(SendGoalError::Rejected { .. })) => (None, Outcome::Refused),
                Some(Err(SendGoalError::Call(error))) => (None, failed(&error)),
                Some(Err(error)) => (None, Outcome::Other(error.to_string())),
                None if asked.is_older_than(PATIENCE) => (None, Outcome::TimedOut),
                None => {
                    self.asked.push((order, asked));
                    continue;
                }
            };
            teller.tell(&Fact::Asked { order, goal, outcome });
        }
        self.sent.retain_mut(|sent| sent.poll(teller));
    }

    /// Returns what has no answer yet, in words.
    pub(super) fn open(&self) -> Vec<String> {
        let mut open = Vec::new();
        let mut note = |count: usize, what: &str| {
            if count > 0 {
                open.push(format!("{count} {what}"));
            }
        };
        note(self.calls.iter().filter(|(_, relayed, _)| !relayed).count(), "calls");
        note(self.calls.iter().filter(|(_, relayed, _)| *relayed).count(), "relayed calls");
        note(self.asked.len(), "requests for goals");
        note(self.sent.len(), "goals");
        note(self.sets.len(), "requests to set a parameter");
        note(self.changes.len(), "requests to change a state");
        note(self.loads.len() + self.unloads.len(), "requests to load or unload a component");
        open
    }

    /// Asks every robot for everything once, and waits for the answers.
    pub(super) fn roll_call(&mut self, station: &Station) -> Vec<RollAnswer> {
        let asked: Vec<_> = station
            .lines
            .iter()
            .map(|line| {
                let mut order = self.next();
                while order as i32 % REJECTED == 0 || order as i32 % ABORTED == 0 || order % 20 != 3 {
                    order = self.next();
                }
                let order = order as i32;
                let goal = Awaited::new(line.drive.send_goal(FibonacciGoal { order }));
                let (doubled, relayed) = (call(&line.double, self.next()), call(&line.relay, self.next()));
                let speed = Awaited::new(line.parameters.get_one::<i64>("speed"));
                let state = Awaited::new(line.state.call(GetStateRequest::default()));
                (order, goal, doubled, relayed, speed, state)
            })
            .collect();
        let teller = &station.part.teller;
        let mut answers = Vec::new();
        for (order, goal, doubled, relayed, speed, state) in asked {
            let (goal, feedback) = match goal.within(CALM) {
                Some(Ok(handle)) => {
                    let mut sent = Sent::new(handle);
                    teller.tell(&Fact::Asked { order, goal: Some(sent.id.clone()), outcome: Outcome::Answered(0) });
                    sent.end_calmly(teller)
                }
                _ => (None, 0),
            };
            let answered = |call: Called| call.within(CALM).map_or(Outcome::TimedOut, called);
            let speed = match speed.within(CALM) {
                Some(Ok(speed)) => Outcome::Answered(speed),
                Some(Err(error)) => Outcome::Other(error.to_string()),
                None => Outcome::TimedOut,
            };
            let arm =
                state.within(CALM).and_then(Result::ok).map(|response: GetStateResponse| response.current_state.label);
            answers.push(RollAnswer {
                doubled: answered(doubled),
                relayed: answered(relayed),
                speed,
                arm,
                goal,
                feedback,
            });
        }
        self.unload_all(station);
        answers
    }

    /// Unloads all components of all robots, also those that a robot has loaded without the station's knowing it.
    fn unload_all(&mut self, station: &Station) {
        let teller = &station.part.teller;
        self.loaded.clear();
        let lists: Vec<_> =
            station.lines.iter().map(|line| Awaited::new(line.list.call(ListNodesRequest::default()))).collect();
        for (line, list) in station.lines.iter().zip(lists) {
            let listed: Option<Result<ListNodesResponse, CallError>> = list.within(CALM);
            let Some(Ok(listed)) = listed else {
                teller.tell(&Fact::Wrong { text: format!("a robot does not list its components: {listed:?}") });
                continue;
            };
            for unique_id in listed.unique_ids {
                let unloaded = Awaited::new(line.unload.call(UnloadNodeRequest { unique_id })).within(CALM);
                let is_right = matches!(&unloaded, Some(Ok(response)) if response.success);
                teller.check(is_right, || format!("component {unique_id} is not unloaded: {unloaded:?}"));
            }
        }
    }
}

impl Sent {
    fn new(handle: ClientGoalHandle<Fibonacci>) -> Self {
        Self {
            id: handle.id().to_string(),
            stream: handle.take_feedback(),
            heard: -1,
            state: handle.state(),
            result: None,
            cancel: None,
            since: Instant::now(),
            handle,
        }
    }

    /// Polls what the client waits for, and tells it. Returns false once the goal is over and nothing is left to ask.
    fn poll(&mut self, teller: &Teller) -> bool {
        while let Some(stream) = &mut self.stream
            && let Some(next) = poll_once(stream.next())
        {
            match next {
                Some(feedback) => {
                    let number = feedback.sequence.first().copied().unwrap_or(-1);
                    let heard = self.heard;
                    teller.check(number > heard, || format!("goal {}: feedback {number} came after {heard}", self.id));
                    self.heard = number;
                }
                None => self.stream = None,
            }
        }
        let state = self.handle.state();
        let before = std::mem::replace(&mut self.state, state);
        teller.check(is_legal(before, state), || format!("goal {} went from {before:?} to {state:?}", self.id));
        let mut is_over = false;
        if let Some(outcome) = self.result.as_mut().and_then(Awaited::poll) {
            self.result = None;
            match outcome {
                Ok(outcome) => {
                    let end = End { state: format!("{:?}", outcome.state), result: outcome.result.sequence };
                    teller.tell(&Fact::Told { goal: self.id.clone(), end });
                    is_over = true;
                }
                Err(ResultError::ServerGone { .. } | ResultError::Unknown { .. }) => is_over = true,
                Err(ResultError::Call(error)) => check_call(teller, &self.id, &error),
                Err(error) => teller.tell(&Fact::Wrong { text: format!("result of goal {}: {error}", self.id) }),
            }
        }
        if let Some(outcome) = self.cancel.as_mut().and_then(Awaited::poll) {
            self.cancel = None;
            match outcome {
                Ok(()) => teller.tell(&Fact::CancelTold { goal: self.id.clone() }),
                Err(CancelError::Call(error)) => check_call(teller, &self.id, &error),
                Err(CancelError::Rejected { .. } | CancelError::Terminated { .. } | CancelError::Unknown { .. }) => {}
                Err(error) => teller.tell(&Fact::Wrong { text: format!("cancelling goal {}: {error}", self.id) }),
            }
        }
        if is_over {
            return false;
        }
        // Its stream has ended, so it is over: nobody has asked for the result yet.
        if self.stream.is_none() && self.result.is_none() {
            self.result = Some(Awaited::new(self.handle.result()));
        }
        let is_forgotten = self.since.elapsed() > PATIENCE * 3;
        teller.check(!is_forgotten, || format!("goal {}: no end in {:?}", self.id, PATIENCE * 3));
        !is_forgotten
    }

    /// Waits for the end of a goal on a quiet network. Returns its state, and the number of pieces of feedback.
    fn end_calmly(&mut self, teller: &Teller) -> (Option<String>, usize) {
        let begun = Instant::now();
        self.result = Some(Awaited::new(self.handle.result()));
        let mut has_result = false;
        while begun.elapsed() < CALM {
            has_result = has_result || !self.poll(teller);
            // The report of the state is a message of its own, and may come after the result.
            let state = self.handle.state();
            if has_result && !matches!(state, GoalState::Accepted | GoalState::Executing | GoalState::Canceling) {
                return (Some(format!("{state:?}")), (self.heard + 1).max(0) as usize);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        (None, 0)
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

/// Calls a service that doubles a number.
fn call(client: &rospin::Client<rospin::msgs::example_interfaces::srv::AddTwoInts>, id: i64) -> Called {
    Awaited::new(client.call(AddTwoIntsRequest { a: id, b: id }))
}

/// Returns the outcome of a call of a service that doubles a number.
fn called(answer: Result<AddTwoIntsResponse, CallError>) -> Outcome {
    match answer {
        // A robot's service had no answer of the station.
        Ok(response) if response.sum == NO_ANSWER => Outcome::Unanswered,
        Ok(response) => Outcome::Answered(response.sum),
        Err(error) => failed(&error),
    }
}

fn failed(error: &CallError) -> Outcome {
    match error {
        CallError::Unavailable { .. } => Outcome::Unavailable,
        CallError::Unanswered { .. } => Outcome::Unanswered,
        error => Outcome::Other(error.to_string()),
    }
}

/// Tells that a call of a goal failed in a way that it may not.
fn check_call(teller: &Teller, goal: &str, error: &CallError) {
    let is_right = matches!(error, CallError::Unavailable { .. } | CallError::Unanswered { .. });
    teller.check(is_right, || format!("goal {goal}: {error}"));
}

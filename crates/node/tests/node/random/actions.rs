//! Goals of an action: each ends once, in the state in which its execution ended it, and its client hears the feedback
//! in between.

use std::collections::BTreeMap;

use rospin_engine::LossCause;
use rospin_node::{
    ActionClient, ActionClientOptions, ActionServer, ActionServerOptions, CallError, CancelError, CancelResponse,
    ClientGoalHandle, FeedbackStream, GoalHandle, GoalId, GoalOutcome, GoalResponse, GoalState, ResultError,
    SendGoalError,
};

use super::super::actions::set_up::{Fibonacci, Goal, Sequence};
use super::{Awaited, Rng, Shared, Stage, explore, is_among, poll_once};

/// A goal as the server has it.
struct Served {
    order: i32,
    /// The feedback that was published before its end.
    feedback: Vec<i32>,
    is_canceling: bool,
    /// The state in which it ended, with its result.
    end: Option<(GoalState, Vec<i32>)>,
}

/// The server's side: goals by id, and the executions that the program has to end.
#[derive(Default)]
struct Site {
    goals: BTreeMap<GoalId, Served>,
    executions: Vec<GoalHandle<Fibonacci>>,
    refused: Vec<i32>,
}

impl Site {
    fn end(&mut self, id: GoalId, state: GoalState, result: &[i32]) {
        let goal = self.goals.get_mut(&id).expect("it was accepted");
        assert_eq!(goal.end, None, "a goal ends once");
        goal.end = Some((state, result.to_vec()));
    }
}

/// A goal as its client has it.
struct Sent {
    handle: ClientGoalHandle<Fibonacci>,
    stream: Option<FeedbackStream<Fibonacci>>,
    heard: Vec<i32>,
    states: Vec<GoalState>,
    result: Option<Awaited<Result<GoalOutcome<Sequence>, ResultError>>>,
    cancel: Option<Awaited<Result<(), CancelError>>>,
    /// True if its client has had its result.
    ended: bool,
}

type Asked = Awaited<Result<ClientGoalHandle<Fibonacci>, SendGoalError>>;

struct World {
    stage: Stage,
    site: Shared<Site>,
    _server: ActionServer,
    client: ActionClient<Fibonacci>,
    asked: Vec<(i32, Asked)>,
    sent: Vec<Sent>,
    next: i32,
    /// The number of goals that waited in vain for an answer, because later ones displaced them.
    displaced: usize,
}

/// Orders that are divisible by this are rejected, and those by that are not canceled.
const REJECTED: i32 = 5;
const STUBBORN: i32 = 3;

impl World {
    fn new(rng: &mut Rng) -> Self {
        let stage = Stage::new();
        let node = stage.ros.create_node("node").unwrap();
        let site = Shared::<Site>::new();
        let (goals, cancels, begun) = (site.clone(), site.clone(), site.clone());
        let paces = [stage.pace.clone(), stage.pace.clone(), stage.pace.clone()];
        let [pace_goal, pace_cancel, pace_begin] = paces;
        let on_goal = move |(): &mut (), id, goal: &Goal| {
            pace_goal.step();
            goals.with(|site| {
                if goal.order % REJECTED == 0 {
                    site.refused.push(goal.order);
                    return GoalResponse::Reject;
                }
                let (feedback, is_canceling, end) = (Vec::new(), false, None);
                let former = site.goals.insert(id, Served { order: goal.order, feedback, is_canceling, end });
                assert!(former.is_none(), "a goal is accepted once");
                GoalResponse::AcceptAndExecute
            })
        };
        let on_cancel = move |(): &mut (), id, goal: &Goal| {
            pace_cancel.step();
            if goal.order % STUBBORN == 0 {
                return CancelResponse::Reject;
            }
            cancels.with(|site| site.goals.get_mut(&id).expect("it was accepted").is_canceling = true);
            CancelResponse::Accept
        };
        let on_begin = move |_: rospin_engine::Payload<()>, goal: GoalHandle<Fibonacci>| {
            pace_begin.step();
            begun.with(|site| site.executions.push(goal));
            async {}
        };
        let group = stage.any_executor(rng).create_group("server", ());
        let options = ActionServerOptions::new("fibonacci").max_executing(64);
        let server = node.on(&group).create_action_server(options, on_goal, on_cancel, on_begin).unwrap();
        let group = stage.any_executor(rng).create_group("client", ());
        let options = ActionClientOptions::new("fibonacci").keep_feedback(200);
        let client = node.on(&group).create_action_client(options).unwrap();
        Self { stage, site, _server: server, client, asked: Vec::new(), sent: Vec::new(), next: 1, displaced: 0 }
    }

    fn send(&mut self) {
        let order = self.next;
        self.next += 1;
        self.asked.push((order, Awaited::new(self.client.send_goal(Goal { order }))));
    }

    /// Goes on with one execution, or ends it.
    fn execute(&mut self, rng: &mut Rng) {
        let count = self.site.with(|site| site.executions.len());
        if count == 0 {
            return;
        }
        let at = rng.below(count);
        let number = rng.below(1000) as i32;
        if rng.percent(60) {
            self.site.with(|site| {
                let handle = &site.executions[at];
                handle.publish_feedback(Sequence { sequence: vec![number] }).expect("there is room");
                let id = handle.id();
                site.goals.get_mut(&id).expect("it was accepted").feedback.push(number);
            });
            return;
        }
        let handle = self.site.with(|site| site.executions.swap_remove(at));
        let id = handle.id();
        let is_canceling = self.site.with(|site| site.goals[&id].is_canceling);
        assert_eq!(handle.is_cancel_requested(), is_canceling);
        let result = Sequence { sequence: vec![number] };
        let state = match rng.below(4) {
            0 => {
                handle.succeed(result);
                GoalState::Succeeded
            }
            1 => {
                handle.abort(result);
                GoalState::Aborted
            }
            2 => {
                let canceled = handle.canceled(result);
                assert_eq!(canceled.is_ok(), is_canceling);
                if is_canceling { GoalState::Canceled } else { GoalState::Aborted }
            }
            _ => {
                drop(handle);
                self.site.with(|site| site.end(id, GoalState::Aborted, &[]));
                return;
            }
        };
        self.site.with(|site| site.end(id, state, &[number]));
    }

    /// Does something with a goal on the client's side.
    fn ask(&mut self, rng: &mut Rng) {
        let at = rng.below(self.sent.len());
        let Some(goal) = self.sent.get_mut(at) else {
            return;
        };
        match rng.below(3) {
            0 if goal.cancel.is_none() => goal.cancel = Some(Awaited::new(goal.handle.cancel())),
            1 if goal.result.is_none() => goal.result = Some(Awaited::new(goal.handle.result())),
            _ => {}
        }
    }

    /// Polls everything that the client waits for, and judges it.
    fn poll(&mut self) {
        for (order, mut asked) in std::mem::take(&mut self.asked) {
            match asked.poll() {
                None => self.asked.push((order, asked)),
                Some(Ok(handle)) => {
                    assert_ne!(order % REJECTED, 0, "goal {order} was accepted");
                    let stream = handle.take_feedback();
                    let (heard, states) = (Vec::new(), Vec::new());
                    self.sent.push(Sent { handle, stream, heard, states, result: None, cancel: None, ended: false });
                }
                // Too many requests waited.
                Some(Err(SendGoalError::Call(CallError::Unanswered { .. }))) => self.displaced += 1,
                Some(Err(error)) => {
                    assert!(matches!(error, SendGoalError::Rejected { .. }), "goal {order}: {error}");
                    assert_eq!(order % REJECTED, 0, "goal {order} was rejected");
                }
            }
        }
        for goal in &mut self.sent {
            let served = |look: &mut dyn FnMut(&Served)| {
                self.site.with(|site| look(&site.goals[&goal.handle.id()]));
            };
            while let Some(stream) = &mut goal.stream
                && let Some(next) = poll_once(stream.next())
            {
                match next {
                    Some(feedback) => goal.heard.extend(feedback.sequence),
                    None => goal.stream = None,
                }
            }
            served(&mut |served| {
                assert!(is_among(&goal.heard, &served.feedback), "{:?}, not {:?}", goal.heard, served.feedback);
            });
            let state = goal.handle.state();
            if let Some(before) = goal.states.last().filter(|before| **before != state) {
                assert!(is_legal(*before, state), "from {before:?} to {state:?}");
            }
            goal.states.push(state);
            if let Some(outcome) = goal.result.as_mut().and_then(Awaited::poll) {
                served(&mut |served| match &outcome {
                    Ok(outcome) => {
                        let end = Some((outcome.state, outcome.result.sequence.clone()));
                        assert_eq!(end, served.end, "goal {}", served.order);
                    }
                    Err(ResultError::Call(CallError::Unanswered { .. })) => {}
                    Err(error) => panic!("goal {}: {error}", served.order),
                });
                goal.ended |= outcome.is_ok();
                goal.result = None;
            }
            if let Some(outcome) = goal.cancel.as_mut().and_then(Awaited::poll) {
                served(&mut |served| match &outcome {
                    Ok(()) => assert!(served.is_canceling, "goal {}", served.order),
                    Err(CancelError::Call(CallError::Unanswered { .. })) => {}
                    Err(CancelError::Rejected { .. }) => assert_eq!(served.order % STUBBORN, 0),
                    Err(CancelError::Terminated { .. }) => assert!(served.end.is_some(), "goal {}", served.order),
                    Err(error) => panic!("goal {}: {error}", served.order),
                });
                goal.cancel = None;
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
        _ => false,
    }
}

#[test]
fn goals_end_once_as_their_execution_ended_them_and_feedback_comes_before() {
    explore(|rng| {
        let mut world = World::new(rng);
        for _ in 0..60 {
            match rng.below(10) {
                0..=1 => world.send(),
                2..=4 => world.execute(rng),
                5 => world.ask(rng),
                6 => world.poll(),
                7 => world.stage.advance(rng),
                _ => world.stage.spin_some(rng),
            }
        }
        world.stage.settle();
        world.poll();
        assert!(world.asked.is_empty(), "every goal is answered");
        while world.site.with(|site| !site.executions.is_empty()) {
            world.execute(rng);
        }
        world.poll();
        for at in 0..world.sent.len() {
            world.sent[at].ended = false;
            let result = world.sent[at].handle.result();
            world.sent[at].result = Some(Awaited::new(result));
            for _ in 0..2 {
                world.stage.settle();
                world.poll();
            }
        }
        let has_lost = world.client.lost(LossCause::QueueFull) > 0;
        for goal in &world.sent {
            assert!(goal.ended && goal.cancel.is_none(), "every question about a goal is answered");
            let feedback = world.site.with(|site| site.goals[&goal.handle.id()].feedback.clone());
            assert!(has_lost || goal.heard == feedback, "{:?} of {feedback:?} was heard", goal.heard);
        }
        let all = world.site.with(|site| site.goals.len() + site.refused.len()) + world.displaced;
        assert_eq!(all as i32, world.next - 1, "every goal is decided once");
    });
}

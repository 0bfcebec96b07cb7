//! Goals of an action.
//!
//! A goal is accepted once and ends once. Its client gets the state and the result that its execution gave it, and all
//! of its feedback before. A request to cancel is answered as the server's callback decided, and reaches the execution:
//! some wait for nothing else.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rospin_engine::{LossCause, Payload};
use rospin_node::{
    Action, ActionClient, ActionClientOptions, ActionServer, ActionServerOptions, CancelError, CancelResponse,
    ClientGoalHandle, GoalHandle, GoalId, GoalResponse, GoalState, SendGoalError,
};
use serde::{Deserialize, Serialize};

use super::rng::Rng;
use super::world::{Act, Feature, Stage, give_up, lock};

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Goal {
    number: i32,
    seed: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
struct Sequence {
    numbers: Vec<i32>,
}

enum Count {}

impl Action for Count {
    type Goal = Goal;
    type Result = Sequence;
    type Feedback = Sequence;
    const TYPE: &str = "test_interfaces/action/Count";
}

/// Ways in which the server treats a goal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Nature {
    Rejected,
    /// It ends only when it is canceled.
    Patient,
    /// It cannot be canceled.
    Stubborn,
    Ordinary,
}

fn nature(goal: &Goal) -> Nature {
    match goal.seed % 8 {
        0 => Nature::Rejected,
        1..=3 => Nature::Patient,
        4 => Nature::Stubborn,
        _ => Nature::Ordinary,
    }
}

/// A goal as the server has it.
#[derive(Default)]
struct Served {
    feedback: Vec<i32>,
    may_cancel: bool,
    /// The state in which it ended, with its result.
    end: Option<(GoalState, Vec<i32>)>,
}

#[derive(Default)]
struct Site {
    goals: BTreeMap<GoalId, Served>,
    next: i32,
}

#[derive(Clone)]
struct Executions {
    stage: Stage,
    site: Arc<Mutex<Site>>,
}

impl Executions {
    fn accept(&self, id: GoalId, goal: &Goal) -> GoalResponse {
        if nature(goal) == Nature::Rejected {
            return GoalResponse::Reject;
        }
        let former = lock(&self.site).goals.insert(id, Served::default());
        self.stage.note(format!("goal {} is accepted", goal.number));
        self.stage.check(former.is_none(), || "a goal was accepted twice".to_owned());
        GoalResponse::AcceptAndExecute
    }

    fn cancel(&self, id: GoalId, goal: &Goal) -> CancelResponse {
        self.stage.note(format!("the server is asked to cancel goal {}", goal.number));
        if nature(goal) == Nature::Stubborn {
            return CancelResponse::Reject;
        }
        if let Some(served) = lock(&self.site).goals.get_mut(&id) {
            served.may_cancel = true;
        }
        CancelResponse::Accept
    }

    fn end(&self, id: GoalId, state: GoalState, result: &[i32]) {
        let former = {
            let mut site = lock(&self.site);
            let served = site.goals.get_mut(&id).expect("it was accepted");
            served.end.replace((state, result.to_vec()))
        };
        self.stage.check(former.is_none(), || "a goal was executed twice".to_owned());
    }

    async fn execute(self, handle: GoalHandle<Count>) {
        let goal = handle.goal().clone();
        let id = handle.id();
        let mut rng = Rng::new(goal.seed);
        self.stage.note(format!("goal {} begins", goal.number));
        for step in 0..rng.below(3) as i32 {
            lock(&self.site).goals.get_mut(&id).expect("it was accepted").feedback.push(step);
            handle.publish_feedback(Sequence { numbers: vec![step] }).expect("there is room");
            if rng.percent(50) {
                let _ = self.stage.sleep(&mut rng, 3).await;
            }
        }
        if nature(&goal) == Nature::Patient {
            handle.cancel_requested().await;
            self.stage.check(handle.is_cancel_requested(), || "the signal to cancel came, and no request".to_owned());
        }
        let numbers = vec![goal.number, rng.below(100) as i32];
        let result = Sequence { numbers: numbers.clone() };
        self.stage.note(format!("goal {} ends", goal.number));
        if handle.is_cancel_requested() && rng.percent(70) {
            let may_cancel = lock(&self.site).goals[&id].may_cancel;
            self.stage.check(may_cancel, || "an execution is to be canceled that nobody may cancel".to_owned());
            self.end(id, GoalState::Canceled, &numbers);
            let ended = handle.canceled(result);
            self.stage.check(ended.is_ok(), || format!("a goal that is to be canceled cannot be: {ended:?}"));
            return;
        }
        match rng.below(4) {
            0 => {
                self.end(id, GoalState::Aborted, &numbers);
                handle.abort(result);
            }
            1 => {
                self.end(id, GoalState::Aborted, &[]);
                drop(handle);
            }
            _ => {
                self.end(id, GoalState::Succeeded, &numbers);
                handle.succeed(result);
            }
        }
    }
}

pub(crate) struct Actions {
    stage: Stage,
    site: Arc<Mutex<Site>>,
    server: ActionServer,
    client: ActionClient<Count>,
}

impl Actions {
    pub(crate) fn new(stage: &Stage, rng: &mut Rng) -> Self {
        let site = Arc::<Mutex<Site>>::default();
        let executions = Executions { stage: stage.clone(), site: Arc::clone(&site) };
        let options = ActionServerOptions::new("count").max_executing(64);
        let node = stage.node("counter");
        let (on_goal, on_cancel) = (executions.clone(), executions.clone());
        let server = if rng.percent(50) {
            let group = stage.group(rng, "counter");
            node.on(&group).create_action_server(
                options,
                move |(): &mut (), id, goal: &Goal| on_goal.accept(id, goal),
                move |(): &mut (), id, goal: &Goal| on_cancel.cancel(id, goal),
                move |_: Payload<()>, goal| executions.clone().execute(goal),
            )
        } else {
            let group = stage.executor(rng).create_reentrant_group("counter");
            node.on(&group).create_action_server(
                options,
                move |id, goal: &Goal| on_goal.accept(id, goal),
                move |id, goal: &Goal| on_cancel.cancel(id, goal),
                move |goal| executions.clone().execute(goal),
            )
        };
        let group = stage.group(rng, "asker");
        let options = ActionClientOptions::new("count").keep_feedback(100);
        let client = stage.node("asker").on(&group).create_action_client(options).unwrap();
        Self { stage: stage.clone(), site, server: server.unwrap(), client }
    }

    async fn cancel(&self, goal: &Goal, handle: &ClientGoalHandle<Count>) {
        let outcome = handle.cancel().await;
        self.stage.note(format!("cancel of goal {}: {outcome:?}", goal.number));
        let site = lock(&self.site);
        let served = &site.goals[&handle.id()];
        let (may_cancel, has_ended) = (served.may_cancel, served.end.is_some());
        drop(site);
        let is_right = match &outcome {
            Ok(()) => may_cancel,
            Err(CancelError::Rejected { .. }) => nature(goal) == Nature::Stubborn,
            Err(CancelError::Terminated { .. }) => has_ended,
            // The server has forgotten goals that ended, or has room for no more.
            Err(_) => false,
        };
        self.stage.check(is_right, || format!("goal {} was to be canceled: {outcome:?}", goal.number));
    }

    async fn send(&self, mut rng: Rng) {
        let number = {
            let mut site = lock(&self.site);
            site.next += 1;
            site.next
        };
        let goal = Goal { number, seed: rng.next() };
        self.stage.note(format!("sends goal {number}, {:?}", nature(&goal)));
        let sent = self.client.send_goal(goal.clone()).await;
        let handle = match sent {
            Ok(handle) => handle,
            Err(error) => {
                let is_right = matches!(error, SendGoalError::Rejected { .. }) && nature(&goal) == Nature::Rejected;
                self.stage.check(is_right, || format!("goal {number} was not accepted: {error}"));
                return;
            }
        };
        self.stage.note(format!("goal {number} is told to be accepted"));
        let is_right = nature(&goal) != Nature::Rejected && lock(&self.site).goals.contains_key(&handle.id());
        self.stage.check(is_right, || format!("goal {number} was accepted by nobody"));
        let stream = handle.take_feedback();
        if nature(&goal) == Nature::Patient {
            if rng.percent(30) {
                // The request is sent, whoever waits for its answer.
                drop(give_up(handle.cancel(), rng.below(3)));
            } else {
                self.cancel(&goal, &handle).await;
            }
        } else if rng.percent(40) {
            self.cancel(&goal, &handle).await;
        }
        if rng.percent(15) {
            return;
        }
        if rng.percent(20) {
            drop(give_up(handle.result(), rng.below(3)));
        }
        let outcome = handle.result().await;
        self.stage.note(format!("result of goal {number}: {outcome:?}"));
        let served_end = lock(&self.site).goals[&handle.id()].end.clone();
        let told_end = outcome.as_ref().ok().map(|outcome| (outcome.state, outcome.result.numbers.clone()));
        let is_right = told_end.is_some() && told_end == served_end;
        self.stage.check(is_right, || format!("goal {number} ended as {served_end:?}, and its client got {outcome:?}"));
        let Some(mut stream) = stream else {
            return;
        };
        let mut heard = Vec::new();
        while let Some(feedback) = stream.next().await {
            heard.extend(feedback.numbers);
        }
        let said = lock(&self.site).goals[&handle.id()].feedback.clone();
        let may_miss = self.client.lost(LossCause::QueueFull) > 0;
        self.stage.check(heard == said || may_miss, || format!("goal {number}: heard {heard:?} of feedback {said:?}"));
        let state = handle.state();
        self.stage.check(state.is_terminal(), || format!("goal {number} has ended, and is {state:?}"));
    }
}

impl Feature for Actions {
    fn act(&self, mut rng: Rng) -> Act<'_> {
        Box::pin(async move {
            if rng.percent(90) {
                self.send(rng).await;
            } else {
                self.client.wait_for_server().await;
            }
        })
    }

    fn quiet(&self) {}

    fn end(&self) {
        let open = lock(&self.site).goals.values().filter(|served| served.end.is_none()).count();
        self.stage.check(open == 0, || format!("{open} goals never ended"));
        let active = self.server.active_goals();
        self.stage.check(active == 0, || format!("{active} goals are active in the end"));
    }
}

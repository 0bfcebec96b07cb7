//! A robot: nodes with each kind of entity, and what really happened in them.

use std::collections::BTreeMap;
use std::time::Duration;

use rospin::testing::SimulatedNetwork;
use rospin_engine::Context;
use rospin_node::lifecycle::{Fault, State};
use rospin_node::{
    ActionServer, ActionServerOptions, CancelResponse, GoalHandle, GoalId, GoalResponse, GoalState, Lifecycle,
    LifecycleHandle, LifecycleNode, Message, Node, NodeOptions, Parameter, ParametersCallback, Publisher,
    PublisherOptions, Ros, Service, ServiceOptions, Subscription, SubscriptionOptions,
};
use serde::{Deserialize, Serialize};

use super::super::super::actions::set_up::{Fibonacci, Goal, Sequence};
use super::super::{Rng, Shared};
use super::{Truth, extras};
use crate::in_process::{Double, Number};

/// A message with the start of its publisher's host, which no other start has, and a number that counts from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Count {
    pub(super) boot: i64,
    pub(super) number: i64,
}

impl Message for Count {
    const TYPE: &str = "test_interfaces/msg/Count";
}

/// A publisher of counts.
pub(super) struct Talker {
    publisher: Publisher<Count>,
    pub(super) last: Count,
}

impl Talker {
    pub(super) fn new(node: &Node, options: PublisherOptions, boot: i64) -> Self {
        Self { publisher: node.create_publisher(options).unwrap(), last: Count { boot, number: 0 } }
    }

    pub(super) fn publish(&mut self) {
        self.last.number += 1;
        self.publisher.publish(self.last).unwrap();
    }

    pub(super) fn matches(&self) -> usize {
        self.publisher.subscription_count()
    }
}

/// A goal as its server has it.
pub(super) struct Served {
    pub(super) boot: i64,
    pub(super) order: i32,
    pub(super) feedback: Vec<i32>,
    pub(super) is_canceling: bool,
    /// The state in which it ended, with its result.
    pub(super) end: Option<(GoalState, Vec<i32>)>,
    /// The time since the beginning at which it ended.
    pub(super) ended_at: Duration,
}

/// A managed part whose callbacks all succeed.
pub(super) struct Arm {
    called: Shared<Vec<(&'static str, State)>>,
}

impl Arm {
    fn run(&mut self, callback: &'static str, previous: State) {
        self.called.with(|called| called.push((callback, previous)));
    }
}

impl Lifecycle for Arm {
    fn on_configure(&mut self, _: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        self.run("configure", previous);
        Ok(())
    }
    fn on_cleanup(&mut self, _: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        self.run("cleanup", previous);
        Ok(())
    }
    fn on_activate(&mut self, _: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        self.run("activate", previous);
        Ok(())
    }
    fn on_deactivate(&mut self, _: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        self.run("deactivate", previous);
        Ok(())
    }
}

/// What a robot of one start is, and does.
pub(super) struct Robot {
    pub(super) name: String,
    pub(super) boot: i64,
    pub(super) ros: Ros,
    pub(super) node: Node,
    /// Reliable, of best effort, and latched.
    pub(super) talkers: [Talker; 3],
    pub(super) speed: Parameter<i64>,
    pub(super) executions: Shared<Vec<GoalHandle<Fibonacci>>>,
    pub(super) server: ActionServer,
    pub(super) arm: LifecycleNode<Arm>,
    pub(super) called: Shared<Vec<(&'static str, State)>>,
    /// The last mission that it heard.
    pub(super) mission: Shared<Option<Count>>,
    /// True while none of its callbacks runs, though the middleware does.
    pub(super) is_stalled: bool,
    pub(super) service: Service,
    pub(super) relay: Service,
    _mission: Subscription,
    _check: ParametersCallback,
}

/// The time for which a server keeps results.
pub(super) const KEPT: Duration = Duration::from_secs(3600);

/// Speeds that are divisible by this are refused.
pub(super) const TOO_FAST: i64 = 11;

/// Orders that are divisible by this are rejected, and those by that are not canceled.
pub(super) const REJECTED: i32 = 7;
pub(super) const STUBBORN: i32 = 5;

impl Robot {
    pub(super) fn start(network: &SimulatedNetwork, context: &Context, name: &str, boot: i64, truth: &Truth) -> Self {
        let ros = network.join(context, name);
        let options = NodeOptions::new(name).start_type_description_service(false);
        let node = ros.create_node(options).unwrap();
        let topic = |topic: &str| PublisherOptions::new(format!("/{name}/{topic}"));
        let talkers = [
            Talker::new(&node, topic("odom").keep_last(5), boot),
            Talker::new(&node, topic("scan").best_effort(), boot),
            Talker::new(&node, topic("map").keep_last(1).transient_local(), boot),
        ];
        let set = truth.clone();
        let _check = node.add_on_set_parameters_callback(move |settings| {
            for setting in settings.iter().filter(|setting| setting.name == "speed") {
                if let Some(value) = setting.value.as_i64() {
                    if value > 0 && value % TOO_FAST == 0 {
                        return Err("it is too fast".to_owned());
                    }
                    set.with(|truth| truth.speeds.entry(boot).or_default().push(value));
                }
            }
            Ok(())
        });
        let speed = node.declare_parameter("speed", -boot).unwrap();
        let service = double(&node, name, truth);
        let mission = Shared::<Option<Count>>::new();
        let (heard, judged) = (mission.clone(), truth.clone());
        let hear = move |count: Count| {
            let former = heard.with(|heard| heard.replace(count));
            // A latched message may come once more, and none that is older.
            let is_later = former.is_none_or(|former| (former.boot, former.number) <= (count.boot, count.number));
            judged.with(|truth| truth.check(is_later, || format!("mission {count:?} came after {former:?}")));
        };
        let options = SubscriptionOptions::new("/mission").keep_last(1).transient_local();
        let _mission = node.create_subscription(options, hear).unwrap();
        let relay = extras::relay(&node, name, truth);
        let executions = Shared::<Vec<GoalHandle<Fibonacci>>>::new();
        let server = serve(&node, name, boot, truth, &executions);
        let called = Shared::<Vec<(&'static str, State)>>::new();
        let arm = Arm { called: called.clone() };
        let options = NodeOptions::new("arm").namespace(format!("/{name}")).start_type_description_service(false);
        let options = options.start_parameter_services(false);
        let arm = LifecycleNode::new(&ros, &ros.executor().handle(), options, arm).unwrap();
        Self {
            name: name.to_owned(),
            boot,
            ros,
            node,
            talkers,
            speed,
            executions,
            server,
            arm,
            called,
            mission,
            is_stalled: false,
            service,
            relay,
            _mission,
            _check,
        }
    }

    /// Goes on with one execution of a goal, or ends it.
    pub(super) fn execute(&self, rng: &mut Rng, truth: &Truth, ends: bool) {
        let count = self.executions.with(|executions| executions.len());
        if count == 0 {
            return;
        }
        let at = rng.below(count);
        let number = rng.below(1000) as i32;
        if !ends && rng.percent(50) {
            self.executions.with(|executions| {
                let handle = &executions[at];
                handle.publish_feedback(Sequence { sequence: vec![number] }).unwrap();
                truth.with(|truth| truth.goals.get_mut(&handle.id()).unwrap().feedback.push(number));
            });
            return;
        }
        let handle = self.executions.with(|executions| executions.swap_remove(at));
        let id = handle.id();
        let is_canceling = truth.with(|truth| truth.goals[&id].is_canceling);
        assert_eq!(handle.is_cancel_requested(), is_canceling);
        let result = Sequence { sequence: vec![number] };
        let state = match rng.below(3) {
            0 => {
                handle.succeed(result);
                GoalState::Succeeded
            }
            1 => {
                handle.abort(result);
                GoalState::Aborted
            }
            _ => {
                let canceled = handle.canceled(result);
                assert_eq!(canceled.is_ok(), is_canceling);
                if is_canceling { GoalState::Canceled } else { GoalState::Aborted }
            }
        };
        note_end(truth, id, state, &[number]);
    }

    /// Returns the state in which the callbacks that ran have left the arm, or what is wrong with their order.
    pub(super) fn state_of_arm(&self) -> Result<State, String> {
        let mut state = State::Unconfigured;
        for (callback, from) in self.called.with(|called| called.clone()) {
            let to = match (callback, state) {
                ("configure", State::Unconfigured) => State::Inactive,
                ("cleanup", State::Inactive) => State::Unconfigured,
                ("activate", State::Inactive) => State::Active,
                ("deactivate", State::Active) => State::Inactive,
                _ => return Err(format!("`{callback}` ran in state {state:?}")),
            };
            if from != state {
                return Err(format!("`{callback}` was told to come from {from:?}, and not from {state:?}"));
            }
            state = to;
        }
        Ok(state)
    }
}

/// Creates the service that doubles numbers.
pub(super) fn double(node: &Node, name: &str, truth: &Truth) -> Service {
    let done = truth.clone();
    let double = move |request: Number| {
        done.with(|truth| {
            let count = truth.effects.entry(request.data).or_default();
            *count += 1;
            let is_first = *count == 1;
            truth.check(is_first, || format!("request {} was executed twice", request.data));
        });
        Number { data: 2 * request.data }
    };
    let options = ServiceOptions::new(format!("/{name}/double")).keep_last(100);
    node.create_service::<Double, _>(options, double).unwrap()
}

/// The orders by which this is the remainder after a division by three are executed by the robot itself.
pub(super) const ITS_OWN: i32 = 1;

/// Executes a goal: some feedback, a second each, then the end.
async fn drive(node: Node, goal: GoalHandle<Fibonacci>, truth: Truth) {
    let id = goal.id();
    for number in 0..goal.goal().order % 20 {
        if goal.is_cancel_requested() {
            let result = Sequence { sequence: vec![number] };
            note_end(&truth, id, GoalState::Canceled, &[number]);
            goal.canceled(result).unwrap();
            return;
        }
        truth.with(|truth| truth.goals.get_mut(&id).unwrap().feedback.push(number));
        goal.publish_feedback(Sequence { sequence: vec![number] }).unwrap();
        match node.sleep(Duration::from_secs(1)) {
            Ok(sleep) => _ = sleep.await,
            Err(_) => return,
        }
    }
    note_end(&truth, id, GoalState::Succeeded, &[]);
    goal.succeed(Sequence::default());
}

/// Notes the end of a goal.
pub(super) fn note_end(truth: &Truth, id: GoalId, state: GoalState, result: &[i32]) {
    truth.with(|truth| {
        let now = truth.now;
        let goal = truth.goals.get_mut(&id).unwrap();
        let is_first = goal.end.is_none();
        goal.end = Some((state, result.to_vec()));
        goal.ended_at = now;
        truth.check(is_first, || format!("goal {id} ended twice"));
    });
}

/// Creates the action server, most of whose executions the program goes on with.
fn serve(
    node: &Node,
    name: &str,
    boot: i64,
    truth: &Truth,
    executions: &Shared<Vec<GoalHandle<Fibonacci>>>,
) -> ActionServer {
    let (goals, cancels, begun) = (truth.clone(), truth.clone(), executions.clone());
    let on_goal = move |id: GoalId, goal: &Goal| {
        goals.with(|truth| {
            if goal.order % REJECTED == 0 {
                return GoalResponse::Reject;
            }
            let ended_at = Duration::MAX;
            let served =
                Served { boot, order: goal.order, feedback: Vec::new(), is_canceling: false, end: None, ended_at };
            let former = truth.goals.insert(id, served);
            truth.check(former.is_none(), || format!("goal {id} was accepted twice"));
            let is_new = truth.orders.insert(goal.order);
            truth.check(is_new, || format!("order {} was accepted twice", goal.order));
            GoalResponse::AcceptAndExecute
        })
    };
    let on_cancel = move |id: GoalId, goal: &Goal| {
        if goal.order % STUBBORN == 0 {
            return CancelResponse::Reject;
        }
        cancels.with(|truth| {
            if let Some(goal) = truth.goals.get_mut(&id) {
                goal.is_canceling = true;
            }
        });
        CancelResponse::Accept
    };
    let (driver, driven) = (node.clone(), truth.clone());
    let on_begin = move |goal: GoalHandle<Fibonacci>| {
        let (driver, driven) = (driver.clone(), driven.clone());
        let is_its_own = goal.goal().order % 3 == ITS_OWN;
        let goal = if is_its_own {
            Some(goal)
        } else {
            begun.with(|executions| executions.push(goal));
            None
        };
        async move {
            if let Some(goal) = goal {
                drive(driver, goal, driven).await;
            }
        }
    };
    let options = ActionServerOptions::new(format!("/{name}/drive")).max_executing(64).result_timeout(KEPT);
    node.create_action_server(options, on_goal, on_cancel, on_begin).unwrap()
}

/// Counts that were heard, by the starts of their publishers.
#[derive(Default)]
pub(super) struct Ear {
    pub(super) boots: BTreeMap<i64, Heard>,
    pub(super) last: Option<Count>,
}

/// Numbers that were heard of one publisher.
#[derive(Clone, Copy)]
pub(super) struct Heard {
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) count: u64,
}

impl Ear {
    /// Notes a count. Returns false if it came twice or too late. A latched one may come once more.
    pub(super) fn hear(&mut self, count: Count, is_latched: bool) -> bool {
        let Count { boot, number } = count;
        self.last = Some(count);
        let Some(heard) = self.boots.get_mut(&boot) else {
            self.boots.insert(boot, Heard { first: number, last: number, count: 1 });
            return true;
        };
        let is_right = number > heard.last || (is_latched && number == heard.last);
        heard.count += u64::from(number != heard.last);
        heard.last = number;
        is_right
    }

    /// Returns the number of counts that are missing between those that were heard.
    pub(super) fn missing(&self) -> u64 {
        self.boots.values().map(|heard| (heard.last - heard.first + 1) as u64 - heard.count).sum()
    }
}

//! Goals whose server is cut off, or dies, on a simulated network.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use rospin::testing::{Harness, SimulatedNetwork};
use rospin_engine::{ExecutorOptions, SpinOptions};
use rospin_node::{
    ActionClient, ActionServer, ActionServerOptions, CancelResponse, ClientGoalHandle, FeedbackStream, GoalHandle,
    GoalResponse, GoalState, ResultError, Ros,
};

use super::set_up::{Fibonacci, Goal, seq};

const SECOND: Duration = Duration::from_secs(1);

type Executions = Arc<Mutex<Vec<GoalHandle<Fibonacci>>>>;

/// A server on a robot, whose executions the test goes on with, and a client on a station.
struct World {
    network: SimulatedNetwork,
    test: Harness,
    client: ActionClient<Fibonacci>,
    executions: Executions,
    server: Option<(Ros, ActionServer)>,
}

impl World {
    fn new(seed: u64) -> Self {
        let network = SimulatedNetwork::new(seed);
        let test = Harness::on_network(&network, "station");
        let client = test.node().create_action_client("drive").unwrap();
        let mut world = Self { network, test, client, executions: Executions::default(), server: None };
        world.start();
        let ready = world.client.wait_for_server();
        world.test.wait(ready, SECOND).unwrap();
        world
    }

    fn start(&mut self) {
        let executions = Arc::clone(&self.executions);
        self.server = Some(self.serve("robot", executions));
    }

    /// Starts a server on a host, which hands its goals to `executions`.
    fn serve(&mut self, host: &str, executions: Executions) -> (Ros, ActionServer) {
        let ros = self.test.host(host);
        let begin = move |goal: GoalHandle<Fibonacci>| {
            executions.lock().unwrap().push(goal);
            async {}
        };
        let accept = |_, _: &Goal| GoalResponse::AcceptAndExecute;
        let server =
            ros.create_node(host).unwrap().create_action_server("drive", accept, |_, _| CancelResponse::Accept, begin);
        (ros, server.unwrap())
    }

    fn kill(&mut self) {
        self.test.kill("robot");
        self.executions.lock().unwrap().clear();
        self.server = None;
    }

    /// Sends a goal, and waits until its execution has begun and its client knows that.
    fn send(&mut self) -> (ClientGoalHandle<Fibonacci>, FeedbackStream<Fibonacci>) {
        let sent = self.client.send_goal(Goal { order: 1 });
        let goal = self.test.wait(sent, SECOND).unwrap().unwrap();
        self.test.run_until(|| goal.state() == GoalState::Executing, SECOND).unwrap();
        let stream = goal.take_feedback().unwrap();
        (goal, stream)
    }
}

/// The lease ends, and the path is healed at once: the server is back before the second is over.
#[test]
fn feedback_goes_on_if_the_server_is_back_within_a_second() {
    let mut quick = 0;
    for seed in 0..60 {
        let mut world = World::new(seed);
        let (goal, mut stream) = world.send();
        world.network.cut("robot", "station");
        world.test.run_until(|| !world.client.server_is_ready(), 11 * SECOND).unwrap();
        let gone = world.test.elapsed();
        world.network.heal("robot", "station");
        world.test.run_until(|| world.client.server_is_ready(), 10 * SECOND).unwrap();
        world.test.run_for(SECOND / 100).unwrap();
        if world.test.elapsed() - gone > SECOND {
            continue;
        }
        quick += 1;
        world.test.run_for(2 * SECOND).unwrap();
        world.executions.lock().unwrap()[0].publish_feedback(seq([1, 2])).unwrap();
        let next = world.test.wait(stream.next(), SECOND).unwrap();
        assert_eq!(next, Some(seq([1, 2])), "seed {seed}");
        world.executions.lock().unwrap().remove(0).succeed(seq([3]));
        let result = goal.result();
        assert_eq!(world.test.wait(result, SECOND).unwrap().unwrap().result, seq([3]));
        assert_eq!(world.test.wait(stream.next(), SECOND).unwrap(), None);
    }
    assert!(quick > 5, "{quick} were back within a second");
}

/// A server that is away for longer does not come back for the stream, but for the result.
#[test]
fn feedback_ends_if_the_server_is_away_for_longer_and_the_result_can_be_had_later() {
    let mut world = World::new(1);
    let (goal, mut stream) = world.send();
    world.network.cut("robot", "station");
    world.test.run_for(12 * SECOND).unwrap();
    assert_eq!(world.test.wait(stream.next(), SECOND).unwrap(), None);
    world.network.heal("robot", "station");
    world.executions.lock().unwrap().remove(0).succeed(seq([3]));
    world.test.run_until(|| goal.state() == GoalState::Succeeded, 9 * SECOND).unwrap();
    let result = goal.result();
    assert_eq!(world.test.wait(result, SECOND).unwrap().unwrap().result, seq([3]));
}

/// The dead server counts as one until its lease ends, so there never is a moment without a server.
#[test]
fn feedback_ends_if_the_server_dies_and_is_started_again_within_the_lease() {
    let mut world = World::new(1);
    let (_goal, mut stream) = world.send();
    world.kill();
    world.test.run_for(SECOND).unwrap();
    world.start();
    let next = world.test.wait(stream.next(), 15 * SECOND);
    assert_eq!(next.unwrap(), None);
}

/// The client's executor stands still while the goal ends, and until the server has forgotten it.
#[test]
fn feedback_ends_if_the_server_says_that_it_does_not_know_the_goal() {
    let mut test = Harness::new();
    let node = test.node().clone();
    let slow = test.ros().context().create_executor(ExecutorOptions::new("slow"));
    let succeed = |goal: GoalHandle<Fibonacci>| async move { goal.succeed(seq([1])) };
    let options = ActionServerOptions::new("drive").result_timeout(SECOND);
    let accept = |_, _: &Goal| GoalResponse::AcceptAndExecute;
    let _server = node.create_action_server(options, accept, |_, _| CancelResponse::Accept, succeed).unwrap();
    let group = node.create_group_on(&slow.handle(), "client", ());
    let client = group.create_action_client::<Fibonacci>("drive").unwrap();
    let goal = test.wait(client.send_goal(Goal { order: 1 }), SECOND).unwrap().unwrap();
    test.run_for(2 * SECOND).unwrap();
    slow.spin(SpinOptions::spin_all()).unwrap();
    let mut stream = goal.take_feedback().unwrap();
    assert!(stream.next().now_or_never().is_none(), "no report had the goal");
    let result = test.wait(goal.result(), SECOND).unwrap();
    assert!(matches!(result, Err(ResultError::Unknown { .. })), "{result:?}");
    assert_eq!(stream.next().now_or_never(), Some(None));
}

/// The second server is a program that was started twice, or a robot that takes over.
#[test]
fn a_second_server_does_not_end_the_feedback_of_the_first_ones_goals() {
    let mut world = World::new(1);
    let (goal, mut stream) = world.send();
    let second = world.serve("other", Executions::default());
    world.test.run_for(2 * SECOND).unwrap();
    let mut round = 0;
    let mut goes_on = |world: &mut World, stream: &mut FeedbackStream<Fibonacci>, when: &str| {
        round += 1;
        world.executions.lock().unwrap()[0].publish_feedback(seq([round])).unwrap();
        let next = world.test.wait(stream.next(), SECOND).unwrap();
        assert_eq!(next, Some(seq([round])), "{when}");
    };
    goes_on(&mut world, &mut stream, "the second one has started");
    // Both get the request, and the second one does not know the goal.
    let result = world.test.wait(goal.result(), SECOND).unwrap();
    assert!(matches!(result, Err(ResultError::Unknown { .. })), "{result:?}");
    goes_on(&mut world, &mut stream, "the second one was asked for the result");
    let sent = world.client.send_goal(Goal { order: 2 });
    let other = world.test.wait(sent, SECOND).unwrap().unwrap();
    let mut of_both = other.take_feedback().unwrap();
    world.test.run_for(SECOND).unwrap();
    goes_on(&mut world, &mut stream, "the second one has a goal");
    drop(second);
    world.test.run_for(3 * SECOND).unwrap();
    goes_on(&mut world, &mut stream, "the second one has gone");
    world.kill();
    let _third = world.serve("third", Executions::default());
    assert_eq!(world.test.wait(stream.next(), 15 * SECOND).unwrap(), None);
    assert_eq!(world.test.wait(of_both.next(), SECOND).unwrap(), None);
}

/// The client's executor is busy from before the end of the lease until the server is back and has reported the goal.
#[test]
fn feedback_goes_on_although_the_cut_is_noticed_after_the_server_is_back() {
    for policy in rospin_engine::policy::POLICIES {
        let mut world = World::new(1);
        let options = ExecutorOptions::new("slow").boxed_policy((policy.build)());
        let slow = world.test.ros().context().create_executor(options);
        let group = world.test.node().create_group_on(&slow.handle(), "client", ());
        world.client = group.create_action_client("drive").unwrap();
        let ready = world.client.wait_for_server();
        world.test.wait(ready, SECOND).unwrap();
        let goal = world.test.wait(world.client.send_goal(Goal { order: 1 }), SECOND).unwrap().unwrap();
        world.test.run_for(SECOND).unwrap();
        slow.spin(SpinOptions::spin_all()).unwrap();
        assert_eq!(goal.state(), GoalState::Executing);
        let mut stream = goal.take_feedback().unwrap();
        world.network.cut("robot", "station");
        world.test.run_until(|| !world.client.server_is_ready(), 11 * SECOND).unwrap();
        world.network.heal("robot", "station");
        world.test.run_until(|| world.client.server_is_ready(), 10 * SECOND).unwrap();
        world.test.run_for(SECOND).unwrap();
        for round in 0..5 {
            slow.spin(SpinOptions::spin_all()).unwrap();
            world.executions.lock().unwrap()[0].publish_feedback(seq([round])).unwrap();
            world.test.run_for(SECOND).unwrap();
            slow.spin(SpinOptions::spin_all()).unwrap();
            assert_eq!(stream.next().now_or_never(), Some(Some(seq([round]))), "{}", policy.name);
        }
    }
}

//! Actions: goals are accepted or rejected, executed and canceled, give feedback, and keep their results for a while.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use rospin_engine::SpinOptions;
use rospin_node::{ActionServerOptions, CallError, CancelError, GoalState, ResultError, SendGoalError};

use super::acting::{
    ACTION, Client, STUBBORN, UNWANTED, fibonacci, hear, pause, reach, serve, serve_with, tell, tell_until_heard,
};
use super::fixture::Fixture;
use super::messages::{FibonacciGoal, Number, Sequence, sequence};
use super::seen::Seen;
use super::world::World;

/// Without a server, a goal that is sent is refused at once.
pub fn without_a_server_no_goal_is_sent<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let client: Client = world.there.on(&main.create_group("client", ())).create_action_client(ACTION).unwrap();
    assert!(!client.server_is_ready());
    let error = world.wait("the goal is refused", client.send_goal(FibonacciGoal { order: 1 })).unwrap_err();
    assert!(matches!(error, SendGoalError::Call(CallError::Unavailable { .. })), "{error}");
}

/// The server decides about each goal. Accepted goals are executed, rejected ones are not.
pub fn goals_are_accepted_or_rejected<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let begun = Seen::new();
    let log = begun.clone();
    let server = serve(&world.here, &main, move |goal| {
        log.push(goal.goal().order);
        reach(goal)
    });
    let client = world.action_client(&world.there, &main);
    world.spinning(&[&main], || {
        for order in [0, 5, UNWANTED, 20, UNWANTED, 3] {
            let sent = world.wait("the goal is answered", client.send_goal(FibonacciGoal { order }));
            if order == UNWANTED {
                let rejected = SendGoalError::Rejected { action: ACTION.to_owned() };
                assert_eq!(sent.map(|goal| goal.id()), Err(rejected));
            } else {
                let goal = sent.unwrap();
                assert_eq!(world.outcome(&goal), (GoalState::Succeeded, fibonacci(order)));
            }
        }
    });
    assert_eq!((begun.all(), server.active_goals()), (vec![0, 5, 20, 3], 0));
    assert_eq!((server.unsent_responses(), world.panics()), (0, 0));
}

/// The client gets all feedback of its goal in order, then the end of the feedback, and the result.
pub fn feedback_comes_in_order_and_then_the_result<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let heard = Seen::new();
    let handle = main.handle();
    let log = heard.clone();
    let _server = serve(&world.here, &main, move |goal| {
        let heard = log.clone();
        let handle = handle.clone();
        async move {
            tell_until_heard(&handle, &goal, sequence([0]), &heard).await;
            for n in 1..8 {
                tell(&handle, &goal, sequence(0..=n)).await;
            }
            // Feedback that arrives after the goal's end is dropped, so wait for all of it.
            heard.until_has(sequence(0..8)).await;
            goal.succeed(sequence([8]));
        }
    });
    let client = world.action_client(&world.there, &main);
    let group = main.create_group("listener", ());
    world.spinning(&[&main], || {
        let goal = world.goal(&client, 8);
        let _feedback = hear(&group, &goal, &heard);
        assert_eq!(world.outcome(&goal), (GoalState::Succeeded, sequence([8])));
        world.until("the status is heard", || goal.state() == GoalState::Succeeded);
    });
    let mut heard = heard.all();
    heard.dedup();
    assert_eq!(heard, (0..8).map(|n| sequence(0..=n)).collect::<Vec<_>>());
}

/// On one thread, a request to cancel reaches a goal whose execution awaits, and one whose execution works in small
/// steps.
pub fn a_goal_is_canceled_while_it_executes_on_one_thread<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let begun = Seen::new();
    let handle = main.handle();
    let log = begun.clone();
    let server = serve(&world.here, &main, move |goal| {
        let log = log.clone();
        let handle = handle.clone();
        async move {
            let order = goal.goal().order;
            log.push(order);
            if order == 1 {
                goal.cancel_requested().await;
            }
            while !goal.is_cancel_requested() {
                pause(&handle).await;
            }
            goal.canceled(sequence([order])).expect("somebody asked for it");
        }
    });
    let client = world.action_client(&world.there, &main);
    world.spinning(&[&main], || {
        let goals = [1, 2].map(|order| world.goal(&client, order));
        let results = goals.each_ref().map(|goal| goal.result());
        world.wait("both are executed", begun.until_count(2));
        for ((goal, result), order) in goals.iter().zip(results).zip(1..) {
            assert_eq!(world.wait("the server agrees", goal.cancel()), Ok(()));
            let outcome = world.wait("the goal ends", result).unwrap();
            assert_eq!((outcome.state, outcome.result), (GoalState::Canceled, sequence([order])));
        }
    });
    assert_eq!((server.active_goals(), world.panics()), (0, 0));
}

/// A server may refuse to cancel: the goal goes on, and others are canceled without it.
pub fn a_server_refuses_to_cancel<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let go_on = Seen::new();
    let wait = go_on.clone();
    let _server = serve(&world.here, &main, move |goal| {
        let wait = wait.clone();
        async move {
            wait.until_count(1).await;
            if goal.is_cancel_requested() {
                goal.canceled(sequence([])).expect("somebody asked for it");
            } else {
                reach(goal).await;
            }
        }
    });
    let client = world.action_client(&world.there, &main);
    world.spinning(&[&main], || {
        let stubborn = world.goal(&client, STUBBORN);
        let other = world.goal(&client, 1);
        let refused = CancelError::Rejected { action: ACTION.to_owned() };
        assert_eq!(world.wait("the server refuses", stubborn.cancel()), Err(refused));
        assert_eq!(world.wait("the server agrees", client.cancel_all()), Ok(vec![other.id()]));
        go_on.push(());
        assert_eq!(world.outcome(&stubborn), (GoalState::Succeeded, fibonacci(STUBBORN)));
        assert_eq!(world.outcome(&other), (GoalState::Canceled, sequence([])));
    });
}

/// A goal that has ended cannot be canceled. Its result does not change.
pub fn a_goal_that_has_ended_is_not_canceled<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let _server = serve(&world.here, &main, reach);
    let client = world.action_client(&world.there, &main);
    world.spinning(&[&main], || {
        let goal = world.goal(&client, 4);
        assert_eq!(world.outcome(&goal), (GoalState::Succeeded, fibonacci(4)));
        let ended = CancelError::Terminated { action: ACTION.to_owned() };
        assert_eq!(world.wait("the server says so", goal.cancel()), Err(ended));
        assert_eq!(world.wait("nothing is left to cancel", client.cancel_all()), Ok(vec![]));
        assert_eq!(world.outcome(&goal), (GoalState::Succeeded, fibonacci(4)));
    });
}

/// Two clients of different nodes get the feedback of their own goals only.
pub fn clients_hear_their_own_feedback_only<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let heard = [(); 2].map(|()| Seen::new());
    let handle = main.handle();
    let logs = heard.clone();
    let _server = serve(&world.here, &main, move |goal| {
        let heard = logs.clone();
        let handle = handle.clone();
        async move {
            // Both publish at the same time, until both were received several times.
            while heard.iter().any(|heard| heard.count() < 3) {
                tell(&handle, &goal, sequence([goal.goal().order])).await;
                pause(&handle).await;
            }
            reach(goal).await;
        }
    });
    let clients = [&world.here, &world.there].map(|node| world.action_client(node, &main));
    let group = main.create_group("listener", ());
    world.spinning(&[&main], || {
        let goals = [0, 1].map(|n| world.goal(&clients[n], n as i32));
        let _feedback = [0, 1].map(|n| hear(&group, &goals[n], &heard[n]));
        for goal in &goals {
            assert_eq!(world.outcome(goal).0, GoalState::Succeeded);
        }
    });
    for (heard, order) in heard.iter().zip(0..) {
        assert!(heard.all().iter().all(|feedback| *feedback == sequence([order])), "{order}: {:?}", heard.all());
    }
}

/// A result can be requested before and after the end, any number of times, by anybody with the goal's handle.
pub fn results_are_kept_after_the_end<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let go_on = Seen::new();
    let wait = go_on.clone();
    let _server = serve(&world.here, &main, move |goal| {
        let wait = wait.clone();
        async move {
            wait.until_count(1).await;
            goal.abort(sequence([7]));
        }
    });
    let client = world.action_client(&world.there, &main);
    world.spinning(&[&main], || {
        let goal = world.goal(&client, 1);
        let early = [goal.result(), goal.result()];
        go_on.push(());
        for result in early {
            let outcome = world.wait("the goal ends", result).unwrap();
            assert_eq!((outcome.state, outcome.result), (GoalState::Aborted, sequence([7])));
        }
        for _ in 0..3 {
            assert_eq!(world.outcome(&goal), (GoalState::Aborted, sequence([7])));
        }
    });
}

/// After its retention time a result is forgotten with its goal. Until then it can be requested.
pub fn results_are_forgotten_in_time<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let options = ActionServerOptions::new(ACTION).result_timeout(Duration::from_millis(20));
    let _server = serve_with(&world.here, &main, options, |_, goal| reach(goal));
    let client = world.action_client(&world.there, &main);
    world.spinning(&[&main], || {
        let goal = world.goal(&client, 6);
        let unknown = ResultError::Unknown { action: ACTION.to_owned(), goal: goal.id() };
        let begin = Instant::now();
        loop {
            match world.wait("the server answers", goal.result()) {
                Ok(outcome) => {
                    assert_eq!((outcome.state, outcome.result), (GoalState::Succeeded, fibonacci(6)));
                    assert!(begin.elapsed() < F::PATIENCE, "the server remembers it");
                }
                Err(error) => break assert_eq!(error, unknown),
            }
        }
        let unknown = CancelError::Unknown { action: ACTION.to_owned() };
        assert_eq!(world.wait("the server does not know it", goal.cancel()), Err(unknown));
    });
}

/// An execution that panics aborts its own goal, and no other one.
pub fn a_panic_of_an_execution_aborts_its_goal<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let _server = serve(&world.here, &main, |goal| async move {
        assert_ne!(goal.goal().order, 1, "on purpose");
        reach(goal).await;
    });
    let client = world.action_client(&world.there, &main);
    world.spinning(&[&main], || {
        let goals = [1, 2].map(|order| world.goal(&client, order));
        assert_eq!(world.outcome(&goals[0]), (GoalState::Aborted, Sequence::default()));
        assert_eq!(world.outcome(&goals[1]), (GoalState::Succeeded, fibonacci(2)));
    });
    assert_eq!(world.panics(), 1);
    assert_eq!(world.incidents.all()[0].entity, format!("server/{ACTION}/execute"));
}

/// A server is dropped while it executes a goal. The suspended execution is dropped, the goal does not succeed, the
/// client notices that the server is gone, and a new server accepts goals.
pub fn a_server_is_dropped_while_a_goal_executes<F: Fixture>() {
    struct Dropped(Seen<&'static str>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.push("dropped");
        }
    }
    let world = World::<F>::new();
    let main = world.executor("main");
    let seen = Seen::new();
    let log = seen.clone();
    let server = serve(&world.here, &main, move |goal| {
        let log = log.clone();
        async move {
            let _dropped = Dropped(log.clone());
            log.push("begun");
            std::future::pending::<()>().await;
            reach(goal).await;
        }
    });
    let client = world.action_client(&world.there, &main);
    world.spinning(&[&main], || {
        let goal = world.goal(&client, 1);
        let mut result = pin!(goal.result());
        world.wait("it is executed", seen.until_has("begun"));
        drop(server);
        world.wait("its execution is dropped", seen.until_has("dropped"));
        world.until("the server is gone", || !client.server_is_ready());
        // The server reports that it aborted the goal. The middleware may lose that report, because the server is
        // gone.
        match result.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending | Poll::Ready(Err(ResultError::Call(_) | ResultError::ServerGone { .. })) => {}
            Poll::Ready(outcome) => assert_eq!(outcome.unwrap().state, GoalState::Aborted),
        }
        let _successor = serve(&world.here, &main, reach);
        world.wait("its successor is there", client.wait_for_server());
        let goal = world.goal(&client, 2);
        assert_eq!(world.outcome(&goal), (GoalState::Succeeded, fibonacci(2)));
    });
    assert_eq!(world.panics(), 0);
}

/// A client is dropped while its goals are executed or sent. They are executed to the end, and other clients get what
/// they ask for.
pub fn a_client_is_dropped_with_goals_under_way<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let begun = Seen::new();
    let ended = Seen::new();
    let log = begun.clone();
    let ends = ended.clone();
    let go_on = Seen::new();
    let wait = go_on.clone();
    let server = serve(&world.here, &main, move |goal| {
        let log = log.clone();
        let ends = ends.clone();
        let wait = wait.clone();
        async move {
            log.push(goal.goal().order);
            wait.until_count(1).await;
            assert!(!goal.is_cancel_requested(), "nobody asked for it");
            ends.push(goal.goal().order);
            reach(goal).await;
        }
    });
    let dropped = world.action_client(&world.there, &main);
    let other = world.action_client(&world.there, &main);
    world.spinning(&[&main], || {
        let goal = world.goal(&dropped, 1);
        let result = goal.result();
        let unanswered = dropped.send_goal(FibonacciGoal { order: 2 });
        world.wait("both are executed", begun.until(|begun| [1, 2].iter().all(|order| begun.contains(order))));
        drop((dropped, goal, result, unanswered));
        go_on.push(());
        world.wait("both have ended", ended.until_count(2));
        let goal = world.goal(&other, 3);
        assert_eq!(world.outcome(&goal), (GoalState::Succeeded, fibonacci(3)));
    });
    assert_eq!((server.active_goals(), world.panics()), (0, 0));
}

/// On one thread, a callback that holds its group awaits an action that its own executor executes.
pub fn a_callback_awaits_an_action_of_its_own_executor<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let _server = serve(&world.here, &main, reach);
    let client = world.action_client(&world.there, &main);
    let trigger = world.here.create_publisher("trigger").unwrap();
    let group = main.create_group("caller", ());
    let outcomes = Seen::new();
    let asks = client.clone();
    let log = outcomes.clone();
    let subscription = world.there.on(&group).create_subscription("trigger", move |_, Number { data }: Number| {
        let log = log.clone();
        let asks = asks.clone();
        async move {
            let order = i32::try_from(data).expect("a small number");
            let goal = asks.send_goal(FibonacciGoal { order }).await.expect("the server accepts it");
            log.push(goal.result().await.expect("a result").result);
        }
    });
    let subscription = subscription.unwrap();
    world.matched(&trigger, &[&subscription]);
    world.publish_all(&trigger, 0..5);
    let options = SpinOptions::new().timeout(F::PATIENCE);
    main.spin_until(outcomes.until_count(5), options).unwrap();
    assert_eq!(outcomes.all(), (0..5).map(fibonacci).collect::<Vec<_>>());
    assert_eq!(world.panics(), 0);
}

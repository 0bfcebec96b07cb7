//! Actions inside callbacks, and on several threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;
use futures::channel::oneshot;
use rospin_engine::{Context, ContextOptions, ExecutorOptions, Payload, SpinOptions};
use rospin_node::{
    ActionClientOptions, ActionServerOptions, CancelResponse, GoalResponse, GoalState, NodeOptions, Ros,
};

use super::set_up::{Fibonacci, Goal, Handle, Kind, Log, Sequence, World, on_both_kinds, seq, watchdog};

/// Returns to the executor once, which may choose another callback.
async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return std::task::Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

/// Executes a goal that can be canceled between two steps.
async fn fibonacci(goal: Handle) {
    let mut numbers = vec![0, 1];
    for n in 1..goal.goal().order as usize {
        if goal.is_cancel_requested() {
            return goal.canceled(Sequence { sequence: numbers }).unwrap();
        }
        numbers.push(numbers[n] + numbers[n - 1]);
        goal.publish_feedback(Sequence { sequence: numbers.clone() }).unwrap();
        yield_now().await;
    }
    goal.succeed(Sequence { sequence: numbers });
}

#[test]
fn a_callback_awaits_an_action_of_its_own_executor() {
    watchdog(|| {
        for kind in [Kind::Exclusive, Kind::Reentrant] {
            let world = World::executing(kind, |goal| Box::pin(fibonacci(goal)));
            let group = world.executor.create_group("caller", Vec::new());
            let (client, stop) = (world.client.clone(), world.executor.handle());
            let _timer = group.create_timer_async(
                rospin_engine::TimerOptions::one_shot(Duration::ZERO),
                move |heard: Payload<Vec<Sequence>>, _| {
                    let (client, stop) = (client.clone(), stop.clone());
                    async move {
                        client.wait_for_server().await;
                        let goal = client.send_goal(Goal { order: 4 }).await.unwrap();
                        let mut feedback = goal.take_feedback().unwrap();
                        while let Some(sequence) = feedback.next().await {
                            heard.with(|heard| heard.push(sequence));
                        }
                        let outcome = goal.result().await.unwrap();
                        heard.with(|heard| heard.push(outcome.result));
                        stop.halt();
                    }
                },
            );
            world.executor.spin(SpinOptions::new()).unwrap();
            let heard = group.into_payload().unwrap();
            assert_eq!(heard, [seq([0, 1, 1]), seq([0, 1, 1, 2]), seq([0, 1, 1, 2, 3]), seq([0, 1, 1, 2, 3])]);
        }
    });
}

/// The callback holds the group of its node for as long as it awaits the feedback.
#[test]
fn a_callback_of_the_nodes_own_group_awaits_the_feedback() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let ros = Ros::in_process(&context);
        let node = ros.create_node("node").unwrap();
        let _server = ros
            .create_node("server")
            .unwrap()
            .create_action_server(
                "fibonacci",
                |_, _| GoalResponse::AcceptAndExecute,
                |_, _| CancelResponse::Accept,
                |goal: Handle| fibonacci(goal),
            )
            .unwrap();
        let client = node.create_action_client::<Fibonacci>("fibonacci").unwrap();
        let (heard, stop) = (Log::new(), ros.executor().handle());
        let log = heard.clone();
        let _timer = node.create_timer(rospin_node::TimerOptions::one_shot(Duration::ZERO), move || {
            let (client, log, stop) = (client.clone(), log.clone(), stop.clone());
            async move {
                let goal = client.send_goal(Goal { order: 3 }).await.unwrap();
                let mut feedback = goal.take_feedback().unwrap();
                while let Some(sequence) = feedback.next().await {
                    log.push(sequence);
                }
                stop.halt();
            }
        });
        ros.executor().spin(SpinOptions::new()).unwrap();
        assert_eq!(heard.take(), [seq([0, 1, 1]), seq([0, 1, 1, 2])]);
    });
}

#[test]
fn news_of_a_client_on_a_reentrant_group_stay_in_order() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let executor = context.create_executor(ExecutorOptions::new("pool").threads(4));
        let node = Ros::in_process(&context).create_node("node").unwrap();
        let group = executor.create_reentrant_group("both");
        let _server = node
            .on(&group)
            .create_action_server(
                "fibonacci",
                |_, _| GoalResponse::AcceptAndExecute,
                |_, _| CancelResponse::Accept,
                fibonacci,
            )
            .unwrap();
        let options = ActionClientOptions::new("fibonacci").keep_feedback(40);
        let client = node.on(&group).create_action_client::<Fibonacci>(options).unwrap();
        for _ in 0..20 {
            let feedback = async {
                let goal = client.send_goal(Goal { order: 40 }).await.unwrap();
                goal.take_feedback().unwrap().map(|sequence| sequence.sequence.len()).collect::<Vec<_>>().await
            };
            let heard = executor.spin_until(feedback, SpinOptions::new()).unwrap();
            assert_eq!(heard, Vec::from_iter(3..=41));
        }
    });
}

/// The node of the client has other names for the action's topics and services.
#[test]
fn all_parts_of_an_action_are_remapped() {
    watchdog(|| {
        let world = World::executing(Kind::Exclusive, |goal| Box::pin(fibonacci(goal)));
        let ros = Ros::in_process(&world.context);
        let parts = ["send_goal", "cancel_goal", "get_result", "feedback", "status"];
        let options = parts.iter().fold(NodeOptions::new("remapped"), |options, part| {
            options.remap(format!("numbers/_action/{part}"), format!("/fibonacci/_action/{part}"))
        });
        let node = ros.create_node(options).unwrap();
        let group = world.executor.create_group("remapped", ());
        let client = node.on(&group).create_action_client::<Fibonacci>("numbers").unwrap();
        assert!(client.server_is_ready());
        let goal = world.wait(client.send_goal(Goal { order: 2 })).unwrap();
        assert_eq!(world.heard(&mut goal.take_feedback().unwrap()), (vec![seq([0, 1, 1])], false));
    });
}

#[test]
fn feedback_can_be_an_entity_of_a_group() {
    on_both_kinds(|world| {
        let (goal, handle) = world.begin(5);
        let group = world.executor.create_group("listener", Vec::new());
        let feedback = goal.take_feedback().unwrap();
        let _entity = group.create_stream("feedback", feedback, |heard: &mut Vec<_>, sequence| heard.push(sequence));
        handle.publish_feedback(seq([0])).unwrap();
        world.spin_all();
        handle.publish_feedback(seq([0, 1])).unwrap();
        handle.succeed(seq([]));
        world.spin_all();
        assert_eq!(group.into_payload().unwrap(), [seq([0]), seq([0, 1])]);
    });
}

#[test]
fn a_new_goal_can_preempt_the_one_before() {
    watchdog(|| {
        let world = World::without_server();
        // Through the payload, a callback can stop the execution that runs.
        let group = world.executor.create_group("server", None::<oneshot::Sender<()>>);
        let _server = world.node.on(&group).create_action_server(
            "fibonacci",
            |_, _, _| GoalResponse::AcceptAndExecute,
            |_, _, _| CancelResponse::Reject,
            |current: Payload<Option<oneshot::Sender<()>>>, goal: Handle| async move {
                let (stop, stopped) = oneshot::channel();
                if let Some(other) = current.with(|current| current.replace(stop)) {
                    let _ = other.send(());
                }
                let _ = stopped.await;
                goal.abort(seq([]));
            },
        );
        let (first, second) = (world.send(1), world.send(2));
        let mut running = Box::pin(second.result());
        assert_eq!(world.wait(first.result()).unwrap().state, GoalState::Aborted);
        assert!(world.poll(&mut running).is_none());
    });
}

#[test]
fn feedback_comes_before_the_end_under_every_policy() {
    watchdog(|| {
        for policy in rospin_engine::policy::POLICIES {
            let context = Context::new(ContextOptions::new());
            let options = ExecutorOptions::new("main").boxed_policy((policy.build)());
            let executor = context.create_executor(options);
            let node = Ros::in_process(&context).create_node("node").unwrap();
            let begun = Log::new();
            let handles = begun.clone();
            let _server = node
                .on(&executor.create_group("server", ()))
                .create_action_server(
                    "fibonacci",
                    |(), _, _| GoalResponse::AcceptAndExecute,
                    |(), _, _| CancelResponse::Accept,
                    move |_: Payload<()>, goal: Handle| {
                        handles.push(goal);
                        async {}
                    },
                )
                .unwrap();
            let client =
                node.on(&executor.create_group("client", ())).create_action_client::<Fibonacci>("fibonacci").unwrap();
            let goal = executor.spin_until(client.send_goal(Goal { order: 1 }), SpinOptions::new()).unwrap().unwrap();
            executor.spin(SpinOptions::spin_all()).unwrap();
            let handle = begun.take().remove(0);
            for n in 0..8 {
                handle.publish_feedback(seq([n])).unwrap();
            }
            handle.succeed(seq([]));
            let feedback = goal.take_feedback().unwrap().collect::<Vec<_>>();
            let heard = executor.spin_until(feedback, SpinOptions::new()).unwrap();
            assert_eq!(heard, Vec::from_iter((0..8).map(|n| seq([n]))), "{}", policy.name);
        }
    });
}

#[test]
fn every_goal_ends_once_on_several_threads() {
    const GOALS: usize = 300;
    watchdog(|| {
        for kind in [Kind::Exclusive, Kind::Reentrant] {
            let context = Context::new(ContextOptions::new());
            let executor = context.create_executor(ExecutorOptions::new("pool").threads(4));
            let node = Ros::in_process(&context).create_node("node").unwrap();
            let options = ActionServerOptions::new("fibonacci").max_goals(GOALS);
            let server = match kind {
                Kind::Exclusive => node.on(&executor.create_group("server", ())).create_action_server(
                    options,
                    |(), _, _| GoalResponse::AcceptAndExecute,
                    |(), _, _| CancelResponse::Accept,
                    |_: Payload<()>, goal: Handle| fibonacci(goal),
                ),
                Kind::Reentrant => node.on(&executor.create_reentrant_group("server")).create_action_server(
                    options,
                    |_, _| GoalResponse::AcceptAndExecute,
                    |_, _| CancelResponse::Accept,
                    fibonacci,
                ),
            }
            .unwrap();
            let client =
                node.on(&executor.create_group("client", ())).create_action_client::<Fibonacci>("fibonacci").unwrap();
            let numbers = futures::stream::iter(0..GOALS as i32).chain(futures::stream::pending());
            let (ended, canceled) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let callers = executor.create_reentrant_group("callers");
            let (stop, ends, cancels) = (executor.handle(), Arc::clone(&ended), Arc::clone(&canceled));
            let _callers = callers.create_stream_async("goals", numbers, move |n: i32| {
                let (client, stop) = (client.clone(), stop.clone());
                let (ends, cancels) = (Arc::clone(&ends), Arc::clone(&cancels));
                async move {
                    let goal = loop {
                        match client.send_goal(Goal { order: 2 + n % 20 }).await {
                            Ok(goal) => break goal,
                            // The service's queue is full.
                            Err(_) => yield_now().await,
                        }
                    };
                    let result = goal.result();
                    if n % 3 == 0 {
                        let _ = goal.cancel().await;
                    }
                    let outcome = match result.await {
                        Ok(outcome) => outcome,
                        Err(_) => loop {
                            match goal.result().await {
                                Ok(outcome) => break outcome,
                                Err(_) => yield_now().await,
                            }
                        },
                    };
                    assert!(matches!(outcome.state, GoalState::Succeeded | GoalState::Canceled), "{outcome:?}");
                    if outcome.state == GoalState::Canceled {
                        cancels.fetch_add(1, Ordering::SeqCst);
                    }
                    if ends.fetch_add(1, Ordering::SeqCst) + 1 == GOALS {
                        stop.halt();
                    }
                }
            });
            executor.spin(SpinOptions::new()).unwrap();
            assert_eq!((ended.load(Ordering::SeqCst), server.active_goals()), (GOALS, 0));
            assert!(canceled.load(Ordering::SeqCst) <= GOALS / 3);
        }
    });
}

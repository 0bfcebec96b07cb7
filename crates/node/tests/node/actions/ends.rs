//! Unplanned ends: dropped handles, panics, and servers and clients that disappear.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::channel::oneshot;
use futures::{FutureExt, StreamExt};
use rospin_engine::{ExecutorOptions, GroupOptions, IncidentKind, OnPanic, Payload, SpinOptions};
use rospin_node::{ActionServerOptions, CancelResponse, GoalResponse, GoalState};

use super::set_up::{Goal, Handle, Kind, Log, World, on_both_kinds, seq, watchdog};

#[test]
fn a_handle_that_is_dropped_aborts_its_goal() {
    on_both_kinds(|world| {
        let (goal, handle) = world.begin(5);
        drop(handle);
        let outcome = world.wait(goal.result()).unwrap();
        assert_eq!((outcome.state, outcome.result), (GoalState::Aborted, seq([])));
    });
}

#[test]
fn a_panic_aborts_the_goal_and_others_go_on() {
    watchdog(|| {
        for kind in [Kind::Exclusive, Kind::Reentrant] {
            let world = World::executing(kind, |goal| {
                assert_ne!(goal.goal().order, 1, "at once");
                Box::pin(async move {
                    std::future::ready(()).await;
                    assert_ne!(goal.goal().order, 2, "later");
                    goal.succeed(seq([]));
                })
            });
            let goals = [1, 2, 3].map(|order| world.send(order));
            let states = goals.map(|goal| world.wait(goal.result()).unwrap().state);
            assert_eq!(states, [GoalState::Aborted, GoalState::Aborted, GoalState::Succeeded]);
            let incidents = world.incidents.take();
            assert_eq!(incidents.len(), 2);
            assert!(incidents.iter().all(|incident| incident.entity == "server/fibonacci/execute"));
        }
    });
}

/// The executions end the first goal themselves, keep the handle of the second one, and drop that of the third one.
#[test]
fn an_error_of_an_execution_aborts_its_goal_unless_that_has_ended_and_is_reported() {
    watchdog(|| {
        for kind in [Kind::Exclusive, Kind::Reentrant] {
            let kept = Log::new();
            let keeps = kept.clone();
            let mut world = World::without_server();
            world.serve(kind, ActionServerOptions::new("fibonacci"), move |goal: Handle| {
                let keeps = keeps.clone();
                async move {
                    let order = goal.goal().order;
                    match order {
                        1 => goal.succeed(seq([1])),
                        2 => keeps.push(goal),
                        _ => drop(goal),
                    }
                    "no path".parse::<u32>().map_err(|_| format!("no path of {order}"))?;
                    Ok::<(), String>(())
                }
            });
            let goals = [1, 2, 3].map(|order| world.send(order));
            let said = [1, 2, 3].map(|order| format!("goal {}: no path of {order}", goals[order - 1].id()));
            let states = goals.map(|goal| world.wait(goal.result()).unwrap().state);
            assert_eq!(states, [GoalState::Succeeded, GoalState::Aborted, GoalState::Aborted]);
            let incidents = world.incidents.take();
            assert!(incidents.iter().all(|incident| incident.entity == "server/fibonacci/execute"));
            let kinds = incidents.into_iter().map(|incident| incident.kind);
            assert!(kinds.eq(said.map(IncidentKind::Failed)));
        }
    });
}

#[test]
fn without_an_execution_goals_are_aborted() {
    watchdog(|| {
        let world = World::without_server();
        let group = world.executor.create_group(GroupOptions::new("server").on_panic(OnPanic::Remove), ());
        let _server = world
            .node
            .on(&group)
            .create_action_server(
                "fibonacci",
                |(), _, _| GoalResponse::AcceptAndExecute,
                |(), _, _| CancelResponse::Accept,
                |_: Payload<()>, goal: Handle| async move { panic!("{}", goal.goal().order) },
            )
            .unwrap();
        let (first, second) = (world.client.send_goal(Goal { order: 1 }), world.client.send_goal(Goal { order: 2 }));
        // Both requests are released before the first execution, so both goals exist when it runs. The third one comes
        // later.
        world.clock.advance(std::time::Duration::from_millis(1));
        for goal in [world.wait(first).unwrap(), world.wait(second).unwrap(), world.send(3)] {
            assert_eq!(world.wait(goal.result()).unwrap().state, GoalState::Aborted);
        }
        let incidents = world.incidents.take();
        assert_eq!(incidents.len(), 1, "the entity is removed then");
        assert_eq!(incidents[0].kind, IncidentKind::Panicked("1".to_owned()));
    });
}

#[test]
fn a_server_that_goes_aborts_its_goals_and_tells() {
    on_both_kinds(|mut world| {
        let (goal, handle) = world.begin(5);
        let queued = world.client.send_goal(Goal { order: 6 });
        world.executor.spin(SpinOptions::spin_once()).unwrap();
        let mut feedback = goal.take_feedback().unwrap();
        let mut result = Box::pin(goal.result());
        assert!(world.poll(&mut result).is_none());
        handle.publish_feedback(seq([0])).unwrap();
        drop(world.server.take());
        assert!(handle.is_cancel_requested(), "the execution should end");
        let outcome = world.poll(&mut result).unwrap().unwrap();
        assert_eq!((outcome.state, outcome.result), (GoalState::Aborted, seq([])));
        assert_eq!(world.heard(&mut feedback), (vec![seq([0])], false));
        // None of these calls has an effect after the end.
        handle.publish_feedback(seq([1])).unwrap();
        assert_eq!(handle.canceled(seq([1])), Ok(()));
        drop(world.wait(queued));
    });
}

#[test]
fn a_server_that_goes_drops_its_executions() {
    watchdog(|| {
        for kind in [Kind::Exclusive, Kind::Reentrant] {
            let dropped = Arc::new(AtomicUsize::new(0));
            struct OnDrop(Arc<AtomicUsize>);
            impl Drop for OnDrop {
                fn drop(&mut self) {
                    self.0.fetch_add(1, Ordering::SeqCst);
                }
            }
            let counter = Arc::clone(&dropped);
            let mut world = World::executing(kind, move |goal| {
                let on_drop = OnDrop(Arc::clone(&counter));
                Box::pin(async move {
                    std::future::pending::<()>().await;
                    drop((goal, on_drop));
                })
            });
            let goals = [1, 2].map(|order| world.send(order));
            world.spin_all();
            let results = goals.map(|goal| goal.result());
            world.spin_all();
            drop(world.server.take());
            assert_eq!(dropped.load(Ordering::SeqCst), 2);
            assert_eq!(Arc::strong_count(&dropped), 1, "the callback is dropped, too");
            let states = results.map(|result| world.wait(result).unwrap().state);
            assert_eq!(states, [GoalState::Aborted, GoalState::Aborted]);
        }
    });
}

#[test]
fn a_client_that_goes_leaves_its_goal_alone() {
    on_both_kinds(|world| {
        let client =
            world.node.on(&world.executor.create_group("client", ())).create_action_client("fibonacci").unwrap();
        let goal = world.wait(client.send_goal(Goal { order: 5 })).unwrap();
        world.spin_all();
        let handle = world.begun.take().remove(0);
        let mut feedback = goal.take_feedback().unwrap();
        let result = goal.result();
        drop((client, goal, result));
        world.spin_all();
        assert_eq!(world.heard(&mut feedback), (vec![], false));
        handle.publish_feedback(seq([0])).unwrap();
        assert!(!handle.is_cancel_requested());
        handle.succeed(seq([1]));
        world.spin_all();
        assert_eq!(world.status().len(), 1);
    });
}

#[test]
fn without_the_clients_executor_there_is_no_feedback() {
    on_both_kinds(|world| {
        let other = world.context.create_executor(ExecutorOptions::new("other"));
        let client = world.node.on(&other.create_group("client", ())).create_action_client("fibonacci").unwrap();
        drop(other);
        let goal = world.wait(client.send_goal(Goal { order: 5 })).unwrap();
        assert_eq!(world.heard(&mut goal.take_feedback().unwrap()), (vec![], false));
    });
}

#[test]
fn feedback_ends_although_another_goal_took_the_place_before_the_end_was_heard() {
    watchdog(|| {
        for kind in [Kind::Exclusive, Kind::Reentrant] {
            let world = World::with(kind, ActionServerOptions::new("fibonacci").max_goals(1));
            let behind = world.context.create_executor(ExecutorOptions::new("behind"));
            let client = world.node.on(&behind.create_group("client", ())).create_action_client("fibonacci").unwrap();
            let execute = || {
                world.clock.advance(Duration::from_millis(1));
                let accepted = client.send_goal(Goal { order: 5 });
                world.spin_all();
                (accepted, world.begun.take().remove(0))
            };
            let end = |handle: Handle| {
                handle.publish_feedback(seq([0])).unwrap();
                handle.succeed(seq([]));
            };
            let (first, handle) = execute();
            let first = world.wait(first).unwrap();
            end(handle);
            let (second, handle) = execute();
            end(handle);
            let (third, _handle) = execute();

            let mut feedback = first.take_feedback().unwrap();
            assert_eq!(world.heard(&mut feedback), (vec![], true), "nothing was heard yet");
            behind.spin(SpinOptions::spin_all()).unwrap();
            assert_eq!(world.heard(&mut feedback), (vec![seq([0])], false));
            // All feedback arrived before the response that accepts the goal.
            let second = world.wait(second).unwrap();
            assert_eq!(world.heard(&mut second.take_feedback().unwrap()), (vec![seq([0])], false));
            let third = world.wait(third).unwrap();
            assert_eq!(world.heard(&mut third.take_feedback().unwrap()), (vec![], true));
        }
    });
}

#[test]
fn nothing_runs_after_the_spin_and_the_next_one_goes_on() {
    watchdog(|| {
        for kind in [Kind::Exclusive, Kind::Reentrant] {
            let (gate, opened) = oneshot::channel::<()>();
            let opened = std::sync::Mutex::new(Some(opened));
            let log = Log::new();
            let entries = log.clone();
            let world = World::executing(kind, move |goal| {
                let (opened, log) = (opened.lock().unwrap().take().unwrap(), entries.clone());
                Box::pin(async move {
                    log.push("begins");
                    opened.await.unwrap();
                    log.push("ends");
                    goal.succeed(seq([]));
                })
            });
            let goal = world.send(5);
            let stop = world.executor.handle();
            stop.halt();
            world.executor.spin(SpinOptions::new()).unwrap();
            world.spin_all();
            assert_eq!(log.take(), ["begins"]);
            gate.send(()).unwrap();
            let canceled = goal.cancel();
            assert_eq!(log.take(), [""; 0], "nobody spins");
            let outcome = world.wait(goal.result()).unwrap();
            assert_eq!((log.take(), outcome.state), (vec!["ends"], GoalState::Succeeded));
            drop(canceled);
        }
    });
}

#[test]
fn an_executor_that_goes_aborts_its_goals() {
    watchdog(|| {
        for kind in [Kind::Exclusive, Kind::Reentrant] {
            let world = World::executing(kind, |goal| {
                Box::pin(async move {
                    std::future::pending::<()>().await;
                    drop(goal);
                })
            });
            let goal = world.send(5);
            let mut result = Box::pin(goal.result());
            assert!(world.poll(&mut result).is_none());
            let feedback = goal.take_feedback().unwrap();
            let World { executor, context: _context, server, .. } = world;
            drop(executor);
            let outcome = result.now_or_never().expect("it was told").unwrap();
            assert_eq!(outcome.state, GoalState::Aborted);
            assert_eq!(feedback.count().now_or_never(), Some(0));
            drop(server);
        }
    });
}

//! Actions with a peer that shares no code: Eclipse Cyclone DDS under Python.

use std::time::Duration;

use rospin_dds::{CancelResponse, Domain, GoalHandle, GoalResponse, GoalState};
use rospin_engine::{ClockKind, Payload, SpinOptions};

use crate::common::{Fibonacci, Order, Sequence, context, cyclonedds, domain_id, executor, options, spin, wait};

const PEER: &str = "cyclonedds_action_peer.py";

#[test]
fn the_peer_reaches_goals() {
    let id = domain_id();
    let Some(peer) = cyclonedds(PEER, "serve", id) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = Domain::join(options(id)).unwrap().ros(&context).create_node("client").unwrap();
    let client = node.on(&executor.create_group("client", ())).create_action_client::<Fibonacci>("fibonacci").unwrap();
    wait(&executor, "the server is there", client.wait_for_server());
    // A server that does not know its client yet cannot answer, so the goal is sent again.
    let patience = SpinOptions::new().timeout(Duration::from_secs(2));
    let mut goals = (0..15).map(|_| executor.spin_until(client.send_goal(Order { order: 6 }), patience));
    let goal = goals.find_map(Result::ok).expect("the peer answers").unwrap();
    let outcome = wait(&executor, "the goal is reached", goal.result()).unwrap();
    assert_eq!((outcome.state, outcome.result.sequence), (GoalState::Succeeded, vec![0, 1, 1, 2, 3, 5, 8]));

    wait(&executor, "the goal is canceled", async {
        let goal = client.send_goal(Order { order: 40 }).await.unwrap();
        let first = goal.take_feedback().unwrap().next().await;
        assert_eq!(first, Some(Sequence { sequence: vec![0, 1, 1] }));
        goal.cancel().await.unwrap();
        let outcome = goal.result().await.unwrap();
        assert_eq!((outcome.state, outcome.result.sequence), (GoalState::Canceled, vec![0, 1, 1]));
    });
    let last = wait(&executor, "the last goal is accepted", client.send_goal(Order { order: 0 })).unwrap();
    wait(&executor, "the last goal is reached", last.result()).unwrap();
    drop((goal, last, client, node, executor));
    peer.assert_success();
}

#[test]
fn the_peers_goals_are_reached() {
    let id = domain_id();
    let Some(peer) = cyclonedds(PEER, "ask", id) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = Domain::join(options(id)).unwrap().ros(&context).create_node("server").unwrap();
    let group = executor.create_group("fibonacci", ());
    let (handle, sleeps) = (executor.handle(), executor.handle());
    let execute = move |_: Payload<()>, goal: GoalHandle<Fibonacci>| {
        let sleeps = sleeps.clone();
        async move {
            let mut sequence = vec![0, 1];
            for n in 1..goal.goal().order.max(1) as usize {
                sequence.push(sequence[n] + sequence[n - 1]);
                goal.publish_feedback(Sequence { sequence: sequence.clone() }).unwrap();
                sleeps.sleep(ClockKind::Steady, Duration::from_millis(1)).await.unwrap();
                if goal.goal().order == 40 {
                    goal.cancel_requested().await;
                    goal.canceled(Sequence { sequence }).unwrap();
                    return;
                }
            }
            goal.succeed(Sequence { sequence });
        }
    };
    let accept = move |(): &mut (), _, goal: &Order| match goal.order {
        0 => {
            handle.halt();
            GoalResponse::Reject
        }
        1.. => GoalResponse::AcceptAndExecute,
        _ => GoalResponse::Reject,
    };
    let server = node.on(&group).create_action_server("fibonacci", accept, |(), _, _| CancelResponse::Accept, execute);
    let server = server.unwrap();
    spin(&executor, "all goals are reached");
    drop((server, node, executor));
    peer.assert_success();
}

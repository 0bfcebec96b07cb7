//! What does a node do if the network is cut for 2 s, and for 12 s, while an action runs? On a simulated network, so that it takes
//! no time and is the same in every run: `cargo run -p rospin --example network_cut`.

#![expect(clippy::print_stdout, reason = "it shows what comes")]

// ANCHOR: all
use rospin::action::ClientGoalHandle;
use rospin::msgs::example_interfaces::action::{Fibonacci, FibonacciFeedback, FibonacciGoal, FibonacciResult};
use rospin::prelude::*;
use rospin::testing::{Harness, LinkOptions, SimulatedNetwork};

/// The node under test: its goals take as many seconds as they say.
fn counter(ros: &Ros) -> rospin::Result<ActionServer> {
    let node = ros.create_node("counter")?;
    let clock = node.clone();
    let execute = move |goal: GoalHandle<Fibonacci>| {
        let clock = clock.clone();
        async move {
            let mut sequence = Vec::new();
            for second in 1..=goal.goal().order {
                clock.sleep(Duration::from_secs(1))?.await?;
                sequence.push(second);
                goal.publish_feedback(FibonacciFeedback { sequence: sequence.clone() })?;
            }
            goal.succeed(FibonacciResult { sequence });
            rospin::Ok(())
        }
    };
    let accept = |_, _: &FibonacciGoal| GoalResponse::AcceptAndExecute;
    Ok(node.create_action_server("count", accept, |_, _| CancelResponse::Accept, execute)?)
}

/// Cuts the network after two of ten seconds, for `cut`. Returns the seconds that the client heard of.
fn count_with_a_cut_of(cut: Duration) -> rospin::Result<Vec<i32>> {
    // The number decides all chance: the same one makes the same losses and delays.
    let network = SimulatedNetwork::new(7);
    let mut test = Harness::on_network(&network, "station");
    let robot = test.host("robot");
    let radio = LinkOptions::new().delay(Duration::from_millis(2), Duration::from_millis(40)).loss(0.05);
    network.set_link("robot", "station", radio);
    let _counter = counter(&robot)?;
    let client = test.node().create_action_client::<Fibonacci>("count")?;
    test.wait(client.wait_for_server(), Duration::from_secs(5))?;

    let goal: ClientGoalHandle<Fibonacci> =
        test.wait(client.send_goal(FibonacciGoal { order: 10 }), Duration::from_secs(5))??;
    let mut feedback = goal.take_feedback().expect("it was not taken before");
    let result = goal.result();
    test.run_for(Duration::from_secs(2))?;
    network.cut("robot", "station");
    test.run_for(cut)?;
    network.heal("robot", "station");
    test.run_for(Duration::from_secs(2))?;
    // Hosts that have forgotten each other find each other again within 8 s.
    test.wait(client.wait_for_server(), Duration::from_secs(10))?;

    match test.wait(result, Duration::from_secs(20))? {
        Ok(outcome) => println!("cut for {cut:?}: the result came, {:?} {:?}", outcome.state, outcome.result.sequence),
        // The station has forgotten the robot, and the call with it. The robot has not: it is asked again.
        Err(error) => {
            println!("cut for {cut:?}: {error}");
            let outcome = test.wait(goal.result(), Duration::from_secs(20))??;
            println!("  asked again: {:?} {:?}", outcome.state, outcome.result.sequence);
        }
    }
    let mut heard = Vec::new();
    while let Some(FibonacciFeedback { sequence }) = test.wait(feedback.next(), Duration::from_secs(5))? {
        heard.extend(sequence.last());
    }
    println!("  heard while it ran: {heard:?}");
    Ok(heard)
}

fn main() -> rospin::Result<()> {
    // Reliable feedback is sent again. Only the last one may be late: the report of the goal's end can overtake it.
    let heard = count_with_a_cut_of(Duration::from_secs(2))?;
    assert!(heard.starts_with(&[1, 2, 3, 4, 5, 6, 7, 8, 9]));
    // After 10 s the hosts have forgotten each other, and with it what was on its way.
    let heard = count_with_a_cut_of(Duration::from_secs(12))?;
    assert!(heard.len() < 9);
    Ok(())
}
// ANCHOR_END: all

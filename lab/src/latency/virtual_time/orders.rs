//! The paper's Figures 3 and 4: the order in which R2R runs callbacks, beside rospin's.
//!
//! R2R's sampling is this lab's ([`Node`]); the executor and the join are the crate `futures`, as in R2R's programs. So
//! no middleware is patched: a socket for each subscription stands for it. rospin's orders, and that of rclcpp's wait
//! set, are those of the simulator.

use std::cell::RefCell;
use std::error::Error;
use std::rc::Rc;
use std::time::Duration;

use futures::StreamExt;
use futures::executor::LocalPool;
use futures::future::{LocalBoxFuture, join_all};
use futures::task::LocalSpawnExt;
use rospin_scenario::Scenario;
use rospin_sim::Simulation;
use serde::Serialize;

use super::super::r2r::Node;
use super::super::transport::{Message, Outlet, pair};

/// Names of the subscriptions, in the order of their creation. Where there are priorities, an earlier one is more
/// urgent.
const NAMES: [&str; 5] = ["A", "B", "C", "D", "E"];

/// A row of one of the figures.
struct Case {
    name: &'static str,
    /// Subscriptions that have a message at each sampling.
    samplings: &'static [&'static [usize]],
    /// Subscriptions whose callbacks are joined into one task.
    joined: &'static [usize],
    /// Order that the paper gives.
    published: &'static [&'static str],
}

const CASES: [Case; 3] = [
    Case {
        name: "Figure 3: two samplings, then the executor",
        samplings: &[&[1, 3], &[0, 1, 2]],
        joined: &[],
        published: &["B1", "B2", "D1", "A1", "C1"],
    },
    Case {
        name: "Figure 4: A, C, E joined, all ready",
        samplings: &[&[0, 1, 2, 3, 4]],
        joined: &[0, 2, 4],
        published: &["A1", "C1", "E1", "B1", "D1"],
    },
    Case {
        name: "Figure 4: A, C, E joined, A not ready",
        samplings: &[&[1, 2, 3, 4]],
        joined: &[0, 2, 4],
        published: &["B1", "C1", "E1", "D1"],
    },
];

/// Policies that stand beside R2R, each with the name of its column.
pub(super) const POLICIES: [(&str, &str); 3] =
    [("rospin, priorities", "fixed-priority"), ("rospin, FIFO", "fifo"), ("rclcpp's wait set", "wait-set-e2")];

/// Orders of a case, as names of callbacks with the number of the message.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Orders {
    pub(super) case: &'static str,
    pub(super) published: String,
    /// Order of R2R here.
    pub(super) r2r: String,
    /// Orders of the policies in [`POLICIES`].
    pub(super) others: [String; 3],
}

/// Returns the orders of all cases.
pub(super) fn all() -> Result<Vec<Orders>, Box<dyn Error + Send + Sync>> {
    let mut all = Vec::new();
    for case in &CASES {
        let mut others = Vec::new();
        for (_, policy) in POLICIES {
            others.push(simulated(case, policy)?.join(" "));
        }
        let others = <[String; 3]>::try_from(others).expect("there is one for each policy");
        let published = case.published.join(" ");
        all.push(Orders { case: case.name, published, r2r: r2r(case)?.join(" "), others });
    }
    Ok(all)
}

/// Returns the order in which R2R's callbacks run: all samplings first, then the executor until it stalls.
fn r2r(case: &Case) -> Result<Vec<String>, Box<dyn Error + Send + Sync>> {
    let order = Rc::new(RefCell::new(Vec::new()));
    let (mut node, mut outlets): (Node, Vec<Outlet>) = (Node::default(), Vec::new());
    let (mut joined, mut alone): (Vec<LocalBoxFuture<'static, ()>>, Vec<_>) = (Vec::new(), Vec::new());
    for (number, name) in NAMES.iter().enumerate() {
        let (outlet, inlet) = pair()?;
        outlets.push(outlet);
        let (mut messages, order) = (node.subscribe(inlet), Rc::clone(&order));
        let task = async move {
            while let Some(message) = messages.next().await {
                order.borrow_mut().push(format!("{name}{}", message.number));
            }
        };
        let tasks = if case.joined.contains(&number) { &mut joined } else { &mut alone };
        tasks.push(Box::pin(task) as LocalBoxFuture<'static, ()>);
    }
    let mut pool = LocalPool::new();
    let spawner = pool.spawner();
    if !joined.is_empty() {
        spawner.spawn_local(async { drop(join_all(joined).await) })?;
    }
    for task in alone {
        spawner.spawn_local(task)?;
    }
    // The tasks begin to wait for their channels.
    pool.run_until_stalled();
    let mut sent = [0; NAMES.len()];
    for ready in case.samplings {
        for number in *ready {
            sent[*number] += 1;
            outlets[*number].send(Message { published_ns: 0, number: sent[*number] })?;
        }
        node.spin_once(Duration::ZERO)?;
    }
    pool.run_until_stalled();
    let order = order.borrow().clone();
    Ok(order)
}

/// Returns the order in which an executor with this policy runs the callbacks: it begins when all messages are there.
fn simulated(case: &Case, policy: &str) -> Result<Vec<String>, Box<dyn Error + Send + Sync>> {
    let mut text = format!(
        "duration = \"1 s\"\n[[executor]]\nname = \"main\"\npolicy = \"{policy}\"\nstart = \"10 ms\"\n\
         [[group]]\nname = \"node\"\n"
    );
    for (number, name) in NAMES.iter().enumerate() {
        let priority = NAMES.len() - number;
        text.push_str(&format!(
            "[[callback]]\nname = \"{name}\"\nkind = \"subscription\"\npriority = {priority}\nexecution = \"1 ms\"\n"
        ));
    }
    for (sampling, ready) in case.samplings.iter().enumerate() {
        for number in *ready {
            text.push_str(&format!("[[release]]\nto = [\"{}\"]\nat = [\"{} ms\"]\n", NAMES[*number], sampling + 1));
        }
    }
    let scenario = Scenario::parse(&text)?;
    let outcome = Simulation::new(&scenario)?.run()?;
    let mut seen = [0; NAMES.len()];
    let name = |callback: usize| {
        seen[callback] += 1;
        format!("{}{}", NAMES[callback], seen[callback])
    };
    Ok(outcome.runs.iter().map(|run| run.callback).map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r2r_runs_callbacks_in_the_published_order() {
        for orders in all().unwrap() {
            assert_eq!(orders.r2r, orders.published, "{}", orders.case);
        }
    }

    #[test]
    fn priorities_run_the_most_urgent_first_and_fifo_what_came_first() {
        let orders = all().unwrap();
        assert_eq!(orders[0].others[..2], ["A1 B1 B2 C1 D1".to_owned(), "B1 D1 A1 B2 C1".to_owned()]);
        for orders in &orders[1..] {
            assert!(orders.others[0].split(' ').is_sorted() && orders.others[1].split(' ').is_sorted(), "{orders:?}");
        }
    }
}

//! The cost of adding and removing an entity, beside few and beside many others. Prints a table. Measures nothing in
//! `cargo test`.
//!
//! ```text
//! cargo bench -p rospin-engine --bench churn
//! ```

use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rospin_engine::{
    CallbackGroup, Context, ContextOptions, Executor, ExecutorOptions, Publisher, SpinOptions, Subscription, Timer,
};

/// Numbers of other entities beside which a case is measured.
const OTHERS: [usize; 2] = [100, 100_000];
const ROUNDS: usize = 15;
const PAIRS: u32 = 2_000;
const HOUR: Duration = Duration::from_secs(3600);

/// An executor with many timers and subscriptions that are never due.
struct World {
    context: Context,
    executor: Executor,
    group: CallbackGroup<()>,
    publisher: Publisher<u32>,
    _timers: Vec<Timer>,
    _subscriptions: Vec<Subscription>,
}

impl World {
    fn new(others: usize) -> Self {
        let context = Context::new(ContextOptions::new());
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("group", ());
        let publisher = context.create_local_publisher("topic").unwrap();
        let crowds: Vec<_> = (0..10).map(|n| executor.create_group(format!("crowd{n}"), ())).collect();
        let crowd = |n: usize| &crowds[n % crowds.len()];
        let timer = |n: usize| crowd(n).create_timer(HOUR + Duration::from_micros(n as u64), |(), _| {}).unwrap();
        let subscription =
            |n: usize| crowd(n).create_local_subscription(format!("topic{n}").as_str(), |(), _: Arc<u32>| {}).unwrap();
        let _timers = (0..others / 2).map(timer).collect();
        let _subscriptions = (0..others / 2).map(subscription).collect();
        Self { context, executor, group, publisher, _timers, _subscriptions }
    }
}

/// A name, and a function that adds and removes one entity or a few.
type Case = (&'static str, fn(&World));

const CASES: [Case; 6] = [
    ("timer", |world| drop(world.group.create_timer(HOUR, |(), _| {}))),
    ("timer, due first", |world| drop(world.group.create_timer(Duration::from_secs(60), |(), _| {}))),
    ("subscription", |world| drop(world.group.create_local_subscription("topic", |(), _: Arc<u32>| {}))),
    ("subscription with a message", |world| {
        let subscription = world.group.create_local_subscription("topic", |(), _: Arc<u32>| {});
        world.publisher.publish(1);
        drop(subscription);
    }),
    ("topic with its only subscription", |world| {
        drop(world.group.create_local_subscription("a topic of its own", |(), _: Arc<u32>| {}));
    }),
    ("group with a timer", |world| drop(world.executor.create_group("other", ()).create_timer(HOUR, |(), _| {}))),
];

/// Returns the time that one call of `case` takes, on average over [`PAIRS`].
fn time(world: &World, case: fn(&World)) -> Duration {
    let begin = Instant::now();
    (0..PAIRS).for_each(|_| case(world));
    begin.elapsed() / PAIRS
}

#[expect(clippy::print_stdout, reason = "it is what a benchmark is for")]
fn row(cells: [&dyn Display; 4]) {
    let [case, few, many, ratio] = cells;
    println!("{case:34} {few:>12} {many:>12} {ratio:>8}");
}

fn main() {
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let worlds = OTHERS.map(World::new);
    for world in &worlds {
        world.executor.spin(SpinOptions::spin_all()).unwrap();
        assert!(world.context.losses().is_empty());
    }
    row([&"created and dropped, ns", &"100 others", &"100,000", &"ratio"]);
    for (name, case) in CASES {
        let mut best = [Duration::MAX; 2];
        for _ in 0..ROUNDS {
            for (world, best) in worlds.iter().zip(&mut best) {
                *best = time(world, case).min(*best);
            }
        }
        let [few, many] = best.map(|time| time.as_nanos());
        row([&name, &few, &many, &format!("{:.2}", many as f64 / few as f64)]);
    }
}

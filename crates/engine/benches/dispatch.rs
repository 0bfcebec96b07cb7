//! The dispatch path, for a tool that counts instructions: `dispatch CASE COUNT` runs `COUNT` activations and ends.
//! Without arguments it prints the cases.
//!
//! `.ci/instructions.sh` runs it with two counts. It divides the difference in instructions by the difference in
//! activations, so that the instructions of setting up do not count.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rospin_engine::{
    Context, ContextOptions, Executor, ExecutorOptions, ManualClock, Overrun, Priority, SpinOptions,
    SubscriptionOptions, TimerOptions, policy,
};

/// A case, which is run under a policy.
#[derive(Clone, Copy)]
enum Load {
    /// A timer that is late, so that it is always due.
    Timer,
    /// This number of subscriptions. Each callback publishes to its own topic, so all of them are always ready.
    Messages(usize),
    /// A subscription with a full queue.
    Queued,
    /// This number of subscriptions of one topic, with full queues. They take turns, so each activation is of another
    /// entity than the one before.
    Turns(usize),
}

const LOADS: [(&str, Load); 5] = [
    ("timer", Load::Timer),
    ("message", Load::Messages(10)),
    ("message-10000", Load::Messages(10_000)),
    ("queued", Load::Queued),
    ("turns", Load::Turns(10)),
];

const POLICIES: [&str; 2] = ["fifo", "fixed-priority"];

/// Counter of the activations that are left. It halts the executor after the last one.
struct Countdown {
    left: AtomicU64,
    executor: rospin_engine::ExecutorHandle,
}

impl Countdown {
    fn new(count: u64, executor: &Executor) -> Arc<Self> {
        Arc::new(Self { left: AtomicU64::new(count), executor: executor.handle() })
    }

    fn down(&self) {
        // There is one thread. A read-modify-write would be the most expensive instruction here.
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        if left <= 1 {
            self.executor.halt();
        }
    }
}

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn timer(policy: &str, count: u64) -> Outcome {
    let (clock, _, executor) = still(policy)?;
    let countdown = Countdown::new(count, &executor);
    let group = executor.create_group("group", 0_u64);
    // The timer missed all due times and catches up.
    let options = TimerOptions::periodic(Duration::from_nanos(1)).overrun(Overrun::CatchUp(u32::MAX));
    let _timer = group.create_timer(options, move |ticks, _| {
        *ticks += 1;
        countdown.down();
    })?;
    clock.advance(Duration::from_millis(1));
    executor.spin(SpinOptions::new())?;
    Ok(())
}

/// Returns an executor on a clock that stands still: the tool cannot run code that reads the kernel's clock without a
/// system call.
fn still(policy: &str) -> Result<(ManualClock, Context, Executor), Box<dyn std::error::Error>> {
    let clock = ManualClock::new();
    let context = Context::new(ContextOptions::new().manual_clock(clock.clone()));
    let executor = context.create_executor(ExecutorOptions::new("main").boxed_policy(policy::by_name(policy)?));
    Ok((clock, context, executor))
}

fn messages(policy: &str, entities: usize, count: u64) -> Outcome {
    let (_, context, executor) = still(policy)?;
    let countdown = Countdown::new(count, &executor);
    let groups: Vec<_> = (0..10).map(|number| executor.create_group(format!("group{number}"), 0_u64)).collect();
    let mut subscriptions = Vec::new();
    for number in 0..entities {
        let topic = format!("topic{number}");
        let publisher = context.create_local_publisher::<u64>(topic.as_str())?;
        let (again, countdown) = (publisher.clone(), Arc::clone(&countdown));
        let options = SubscriptionOptions::new(topic).priority(Priority(number as u32 % 8));
        subscriptions.push(groups[number % 10].create_local_subscription(options, move |runs, message| {
            *runs += 1;
            again.publish(message);
            countdown.down();
        })?);
        publisher.publish(0);
    }
    executor.spin(SpinOptions::new())?;
    Ok(())
}

fn queued(policy: &str, count: u64) -> Outcome {
    const DEPTH: u64 = 100;
    let (_, context, executor) = still(policy)?;
    let countdown = Countdown::new(count, &executor);
    let group = executor.create_group("group", 0_u64);
    let publisher = context.create_local_publisher::<u64>("topic")?;
    let again = publisher.clone();
    let messages: Vec<_> = (0..DEPTH).map(Arc::new).collect();
    let first = messages.clone();
    let options = SubscriptionOptions::new("topic").keep_last(DEPTH as usize);
    let _subscription = group.create_local_subscription(options, move |runs, message: Arc<u64>| {
        *runs += 1;
        // The last message of the queue fills it again. There is one notification for all of them.
        if *message == DEPTH - 1 {
            messages.iter().for_each(|message| _ = again.publish(Arc::clone(message)));
        }
        countdown.down();
    })?;
    first.into_iter().for_each(|message| _ = publisher.publish(message));
    executor.spin(SpinOptions::new())?;
    Ok(())
}

fn turns(policy: &str, entities: usize, count: u64) -> Outcome {
    let depth = 20_000 / entities as u64;
    let (clock, context, executor) = still(policy)?;
    let countdown = Countdown::new(count, &executor);
    let group = executor.create_group("group", 0_u64);
    let publisher = context.create_local_publisher::<u64>("topic")?;
    // Messages of different times. Moving the clock makes the executor look around once.
    let fill = move |publisher: &rospin_engine::Publisher<u64>| {
        for number in 0..depth {
            clock.advance(Duration::from_nanos(1));
            publisher.publish(number);
        }
    };
    let mut subscriptions = Vec::new();
    for number in 0..entities {
        let (again, countdown, fill) = (publisher.clone(), Arc::clone(&countdown), fill.clone());
        let options = SubscriptionOptions::new("topic").keep_last(depth as usize);
        subscriptions.push(group.create_local_subscription(options, move |runs, message: Arc<u64>| {
            *runs += 1;
            // The last one of the last subscription fills all queues again.
            if *message == depth - 1 && number == entities - 1 {
                fill(&again);
            }
            countdown.down();
        })?);
    }
    fill(&publisher);
    executor.spin(SpinOptions::new())?;
    Ok(())
}

fn cases() -> impl Iterator<Item = (String, Load, &'static str)> {
    LOADS.iter().flat_map(|(name, load)| POLICIES.map(|policy| (format!("{name}/{policy}"), *load, policy)))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let ran = match arguments.as_slice() {
        [case, count] => match (cases().find(|(name, ..)| name == case), count.parse()) {
            (Some((_, load, policy)), Ok(count)) => match load {
                Load::Timer => timer(policy, count),
                Load::Messages(entities) => messages(policy, entities, count),
                Load::Queued => queued(policy, count),
                Load::Turns(entities) => turns(policy, entities, count),
            },
            _ => Err(format!("no case `{case}`, or no number `{count}`").into()),
        },
        _ => {
            list();
            Ok(())
        }
    };
    ran.map_or_else(complain, |()| ExitCode::SUCCESS)
}

#[expect(clippy::print_stdout, reason = "its user is a script")]
fn list() {
    cases().for_each(|(name, ..)| println!("{name}"));
}

#[expect(clippy::print_stderr, reason = "its user is a script")]
fn complain(error: Box<dyn std::error::Error>) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::FAILURE
}

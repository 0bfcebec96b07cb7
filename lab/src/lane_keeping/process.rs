//! A process of a drive: its parts on their executors, recorded by the tracer.

use std::error::Error;
use std::thread;
use std::time::Duration;

use rospin_engine::{
    Context, ContextOptions, Executor, ExecutorHandle, ExecutorOptions, Instant, Recorder, SpinOptions, Timer,
    TimerOptions,
};
use rospin_node::{Message, Publisher, PublisherOptions, Subscription, SubscriptionOptions};
use rospin_trace::{FileSink, ProcessName};

use super::deployment;
use super::order::{Answer, Executors, Order, Part};
use super::{keeper_node, vehicle_node, visualiser_node};

/// Period of most of the bus, and of the lane keeper's timer.
pub(crate) const PERIOD: Duration = Duration::from_millis(20);
/// Time for which a process goes on after the drive, so that messages on their way arrive.
const AFTER: Duration = Duration::from_millis(200);

/// Reason for which a process failed; any error becomes one.
pub(crate) type Failed = Box<dyn Error + Send + Sync>;

/// Subscriptions and timers that live as long as a process.
#[derive(Default)]
pub(crate) struct Kept {
    subscriptions: Vec<Subscription>,
    timers: Vec<Timer>,
}

impl Kept {
    /// Keeps a subscription.
    pub(crate) fn subscription(&mut self, subscription: Subscription) {
        self.subscriptions.push(subscription);
    }

    /// Keeps a timer.
    pub(crate) fn timer(&mut self, timer: Timer) {
        self.timers.push(timer);
    }
}

/// Function that reads a part's result after the drive.
pub(crate) type Finish = Box<dyn FnOnce(&mut Answer)>;

/// Returns the options of a publisher on a topic of the experiment.
pub(crate) fn publish(topic: &str) -> PublisherOptions {
    PublisherOptions::new(topic).keep_last(1)
}

/// Returns the options of a subscription of the part `part`, which is called `part/name`.
pub(crate) fn subscribe(part: &str, name: &str, topic: &str) -> SubscriptionOptions {
    SubscriptionOptions::new(topic).keep_last(1).name(format!("{part}/{name}"))
}

/// Returns the options of a timer that is called `name` and is first due `after` the beginning of the drive.
pub(crate) fn every(period: Duration, name: &str, order: &Order, after: Duration) -> TimerOptions {
    TimerOptions::periodic(period).name(name).first_due(Instant::from_nanos(order.start_ns) + after)
}

/// Sends a message. Adds to the number of those that could not be sent.
pub(crate) fn send<M: Message>(publisher: &Publisher<M>, message: M, unsent: &mut u64) {
    *unsent += u64::from(publisher.publish(message).is_err());
}

/// Runs a process of a drive.
///
/// # Errors
/// If the middleware cannot be started, or an executor fails.
pub(crate) fn run(order: &Order) -> Result<Answer, Failed> {
    // Now `rospin top` finds the process.
    rospin::monitoring::open_live_door();
    let recorder = Recorder::of_process();
    recorder.start(FileSink::create(&order.recording, &name_of(order))?)?;
    let plan = deployment::deployment(order.drive.executors, &order.parts)?;
    let context = Context::new(ContextOptions::new().deployment(plan));
    let ros = order.drive.middleware.start(&context, &order.process)?;
    let (mut executors, mut kept, mut finish) = (Vec::new(), Kept::default(), Vec::<Finish>::new());
    for part in &order.parts {
        let of_part: Vec<Executor> =
            order.drive.executors.of(*part).iter().map(|name| create(&context, name)).collect();
        finish.push(match part {
            Part::Vehicle => vehicle_node::start(order, &ros, &of_part, &mut kept)?,
            Part::Keeper => keeper_node::start(order, &ros, &of_part, &mut kept)?,
            Part::Visualiser => visualiser_node::start(order, &ros, &of_part, &mut kept)?,
        });
        executors.extend(of_part);
    }
    let handles: Vec<ExecutorHandle> = executors.iter().map(Executor::handle).collect();
    let lead = order.start_ns.saturating_sub(context.clock().now().as_nanos());
    let executors = spin(executors, Duration::from_nanos(lead) + order.duration + AFTER)?;
    let mut answer = Answer::default();
    for handle in &handles {
        let reports = handle.thread_reports();
        answer.shortfalls.extend(reports.iter().flat_map(|report| &report.shortfalls).map(ToString::to_string));
    }
    drop(kept);
    finish.into_iter().for_each(|finish| finish(&mut answer));
    recorder.stop();
    drop(executors);
    Ok(answer)
}

/// Returns the name of the process in its recording: that of its part.
fn name_of(order: &Order) -> ProcessName {
    let mut name = ProcessName::of_this(Recorder::steady_ns());
    name.name = match order.parts[..] {
        [Part::Vehicle] => "vehicle",
        [Part::Keeper] => "keeper",
        [Part::Visualiser] => "visualiser",
        _ => "lane-keeping",
    }
    .to_owned();
    name
}

fn create(context: &Context, name: &str) -> Executor {
    context.create_executor(ExecutorOptions::new(name))
}

/// Spins each executor on a thread of its own for `duration`, and returns them.
fn spin(executors: Vec<Executor>, duration: Duration) -> Result<Vec<Executor>, Failed> {
    let handles: Vec<ExecutorHandle> = executors.iter().map(Executor::handle).collect();
    let spinning: Vec<_> = executors
        .into_iter()
        .map(|executor| {
            let name = executor.handle().name().to_owned();
            thread::Builder::new().name(name).spawn(move || executor.spin(SpinOptions::new()).map(|_| executor))
        })
        .collect::<Result<_, _>>()?;
    thread::sleep(duration);
    handles.iter().for_each(ExecutorHandle::halt);
    spinning.into_iter().map(|thread| Ok(thread.join().map_err(|_| "an executor panicked")??)).collect()
}

/// Returns the executor of the lane keeper's group at this place among subscribers, timer and planner.
pub(crate) fn executor_of(executors: &[Executor], kind: Executors, place: usize) -> &Executor {
    match kind {
        Executors::Priority => &executors[place],
        Executors::WaitSetSingle => &executors[0],
    }
}

//! Measures an executor:
//! `latency --case saturation|drain|paced|timer|urgent|idle --executor basic|worker|rospin [--seconds N]`.
//!
//! `basic` creates the callbacks on a node of rclrs's own executor, `worker` on workers of it, and `rospin` on workers
//! of rospin. For `timer`, `sleep` is a loop that only sleeps: what it skips, the machine skips. Prints one line of
//! JSON. Compare figures of one machine and one run only, by turns.

mod common;

use rclrs::*;
use ros_env::std_msgs::msg::{Int64, Int64MultiArray};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{Arguments, say};
use rospin_measure::callbacks::{Latencies, LatencySummary, TickSummary, Ticks};
use rospin_measure::process::{CpuMeter, process_cpu_time, use_processor};
use rospin_measure::stats::percentile;
use rospin_measure::wake_up::{Grid, now_ns, sleep_until};
use rospin_rclrs::{Priority, with_priority};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse()?;
    match arguments.text("case", "paced") {
        "saturation" => saturate(&arguments),
        "drain" => drain(&arguments),
        "paced" => pace(&arguments),
        "timer" => tick(&arguments),
        "urgent" => hurry(&arguments),
        "idle" => idle(&arguments),
        other => Err(format!("`{other}` is no case").into()),
    }
}

/// Executor, node, and the time to measure for.
struct Bench {
    executor: Executor,
    node: Node,
    time: Duration,
    is_basic: bool,
}

impl Bench {
    fn new(arguments: &Arguments, seconds: u64) -> Result<Self, Failure> {
        let executor = arguments.executor(&Context::default())?;
        let node = executor.create_node(NodeOptions::new("latency").start_parameter_services(false))?;
        let time = Duration::from_secs(arguments.number("seconds", seconds));
        Ok(Self { executor, node, time, is_basic: arguments.executor_name() == "basic" })
    }

    /// Subscribes on the node itself, or on a worker of its own.
    fn subscribe<T: MessageIDL>(
        &self,
        topic: &str,
        depth: u32,
        callback: impl Fn(T) + Send + Sync + 'static,
    ) -> Result<Box<dyn std::any::Any>, Failure> {
        let options = topic.keep_last(depth).reliable();
        if self.is_basic {
            return Ok(Box::new(self.node.create_subscription::<T, _>(options, callback)?));
        }
        let worker = self.node.create_worker(());
        let subscription =
            worker.create_subscription::<T, _>(options, move |_: &mut (), message: T| callback(message))?;
        Ok(Box::new((worker, subscription)))
    }

    fn publisher<T: MessageIDL>(&self, topic: &str, depth: u32) -> Result<Publisher<T>, Failure> {
        Ok(self.node.create_publisher::<T>(topic.keep_last(depth).reliable())?)
    }

    /// Spins for the time, after a second in which everything gets to know each other. Returns the processor time per
    /// second.
    fn spin(mut self, go: &AtomicBool, source: impl FnOnce() + Send) -> Result<f64, Failure> {
        let time = self.time;
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_secs(1));
                go.store(true, Ordering::Release);
                source();
            });
            let warm = self.executor.spin(SpinOptions::new().timeout(Duration::from_secs(1)));
            let before = (Instant::now(), process_cpu_time());
            let errors = self.executor.spin(SpinOptions::new().timeout(time));
            let processor = process_cpu_time().saturating_sub(before.1);
            go.store(false, Ordering::Release);
            if let Some(error) = warm.into_iter().chain(errors).find(|error| !error.is_timeout()) {
                return Err(error.into());
            }
            Ok(processor.as_secs_f64() / before.0.elapsed().as_secs_f64())
        })
    }
}

/// Publishes as fast as callbacks keep up, with at most 100 messages in flight.
fn saturate(arguments: &Arguments) -> Result<(), Failure> {
    let bench = Bench::new(arguments, 5)?;
    let (go, received) = (AtomicBool::new(false), Arc::new(AtomicU64::new(0)));
    let count = Arc::clone(&received);
    let _subscription = bench.subscribe("saturation", 200, move |_: Int64| {
        count.fetch_add(1, Ordering::Release);
    })?;
    let (publisher, time) = (bench.publisher::<Int64>("saturation", 200)?, bench.time);
    let processor = bench.spin(&go, || {
        let mut sent = 0;
        while go.load(Ordering::Acquire) {
            if sent - received.load(Ordering::Acquire) >= 100 {
                thread::yield_now();
                continue;
            }
            sent += 1;
            // Nothing is published after the context has shut down.
            let _ = publisher.publish(Int64 { data: 0 });
        }
    })?;
    let rate = received.load(Ordering::Acquire) as f64 / time.as_secs_f64();
    say(format_args!(
        r#"{{"case":"saturation","executor":"{}","messages_per_s":{rate:.0},"cores":{processor:.3}}}"#,
        arguments.executor_name()
    ));
    Ok(())
}

/// Publishes 10,000 messages while nothing spins, and measures the time from the spin to the last callback; all in many
/// rounds.
fn drain(arguments: &Arguments) -> Result<(), Failure> {
    const COUNT: u32 = 10_000;
    let mut bench = Bench::new(arguments, 0)?;
    let rounds = arguments.number("rounds", 20);
    let (received, last) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (commands, count, end) = (bench.executor.commands().clone(), Arc::clone(&received), Arc::clone(&last));
    let _subscription = bench.subscribe("drain", COUNT, move |_: Int64| {
        if count.fetch_add(1, Ordering::AcqRel) + 1 == u64::from(COUNT) {
            end.store(now_ns(), Ordering::Release);
            commands.halt_spinning();
        }
    })?;
    let publisher = bench.publisher::<Int64>("drain", COUNT)?;
    while publisher.get_subscription_count()? < 1 {
        thread::sleep(Duration::from_millis(1));
    }
    let mut ms = Vec::new();
    // The first round warms up.
    for _ in 0..=rounds {
        received.store(0, Ordering::Release);
        // Another thread than the one that spins: what a thread both allocates and frees lies in another order.
        let publish = || (0..COUNT).try_for_each(|data| publisher.publish(Int64 { data: data.into() }));
        thread::scope(|scope| scope.spawn(publish).join()).map_err(|_| "the thread that publishes panicked")??;
        let begin = now_ns();
        let errors = bench.executor.spin(SpinOptions::new().timeout(Duration::from_secs(20)));
        if let Some(error) = errors.into_iter().next() {
            return Err(format!("{} of {COUNT} messages came: {error}", received.load(Ordering::Acquire)).into());
        }
        ms.push((last.load(Ordering::Acquire) - begin) as f64 / 1e6);
    }
    let [p50, max] = [50.0, 100.0].map(|percent| percentile(&ms[1..], percent).unwrap_or(0.0));
    let rate = f64::from(COUNT) / p50 * 1e3;
    say(format_args!(
        r#"{{"case":"drain","executor":"{}","p50_ms":{p50:.2},"max_ms":{max:.2},"messages_per_s":{rate:.0}}}"#,
        arguments.executor_name()
    ));
    Ok(())
}

/// Publishes 10,000 messages a second, each with the time at which it was sent.
fn pace(arguments: &Arguments) -> Result<(), Failure> {
    let bench = Bench::new(arguments, 10)?;
    let go = AtomicBool::new(false);
    let latencies = Arc::new(Latencies::new(1_000_000));
    let noted = Arc::clone(&latencies);
    let note = move |message: Int64| noted.note(message.data.cast_unsigned());
    let _subscription = bench.subscribe("paced", 100, note)?;
    let publisher = bench.publisher::<Int64>("paced", 100)?;
    let processor = bench.spin(&go, || {
        let mut due = now_ns();
        while go.load(Ordering::Acquire) {
            due += 100_000;
            sleep_until(due);
            // Nothing is published after the context has shut down.
            let _ = publisher.publish(now());
        }
    })?;
    say_latencies("paced", arguments, latencies.summary(), processor);
    Ok(())
}

/// Runs a timer with a period of a millisecond. A tick is skipped if the next one is due already when its callback
/// could begin.
fn tick(arguments: &Arguments) -> Result<(), Failure> {
    let period = Duration::from_millis(1);
    if arguments.executor_name() == "sleep" {
        return tick_by_sleeping(arguments, period);
    }
    let bench = Bench::new(arguments, 60)?;
    let (go, ticks) = (Arc::new(AtomicBool::new(false)), Arc::new(Ticks::new(period)));
    let (noted, is_measured) = (Arc::clone(&ticks), Arc::clone(&go));
    let tick = move || {
        if is_measured.load(Ordering::Acquire) {
            noted.note();
        }
    };
    let _timer: Box<dyn std::any::Any> = if bench.is_basic {
        Box::new(bench.node.create_timer_repeating(period, tick)?)
    } else {
        let worker = bench.node.create_worker(());
        let timer = worker.create_timer_repeating(period, move |_: &mut ()| tick())?;
        Box::new((worker, timer))
    };
    let processor = bench.spin(&go, || {})?;
    say_ticks(arguments, ticks.summary(), processor);
    Ok(())
}

/// Notes ticks in a loop that does nothing but sleep, without an executor.
fn tick_by_sleeping(arguments: &Arguments, period: Duration) -> Result<(), Failure> {
    let grid = Grid::soon(period, 1_000 * arguments.number("seconds", 60), Duration::ZERO);
    let (ticks, meter) = (Ticks::new(period), CpuMeter::start());
    let mut due_ns = grid.first_ns;
    while due_ns < grid.due_ns(grid.count) {
        sleep_until(due_ns);
        ticks.note();
        due_ns = grid.next_ns(due_ns, now_ns());
    }
    say_ticks(arguments, ticks.summary(), meter.percent() / 100.0);
    Ok(())
}

fn say_ticks(arguments: &Arguments, summary: TickSummary, processor: f64) {
    let TickSummary { ticks, skipped, per_s, longest_gap_ms } = summary;
    say(format_args!(
        r#"{{"case":"timer","executor":"{}","ticks":{ticks},"skipped":{skipped},"ticks_per_s":{per_s:.2},"longest_gap_ms":{longest_gap_ms:.2},"cores":{processor:.4}}}"#,
        arguments.executor_name()
    ));
}

/// Saturates ten subscriptions whose callbacks take half a millisecond, beside an urgent one at 100 Hz.
fn hurry(arguments: &Arguments) -> Result<(), Failure> {
    let bench = Bench::new(arguments, 10)?;
    let go = AtomicBool::new(false);
    let mut others = Vec::new();
    for number in 0..10 {
        let subscription = bench.subscribe(&format!("bulk{number}"), 20, |_: Int64MultiArray| use_processor(BUSY))?;
        others.push((subscription, bench.publisher::<Int64MultiArray>(&format!("bulk{number}"), 20)?));
    }
    let latencies = Arc::new(Latencies::new(10_000));
    let noted = Arc::clone(&latencies);
    let note = move |message: Int64| noted.note(message.data.cast_unsigned());
    let _urgent = with_priority(Priority(8), || bench.subscribe("urgent", 20, note))?;
    let publisher = bench.publisher::<Int64>("urgent", 20)?;
    let publishers: Vec<_> = others.iter().map(|(_, publisher)| publisher.clone()).collect();
    let processor = bench.spin(&go, || {
        let mut due = now_ns();
        while go.load(Ordering::Acquire) {
            due += 10_000_000;
            sleep_until(due);
            for _ in 0..3 {
                for publisher in &publishers {
                    // Nothing is published after the context has shut down.
                    let _ = publisher.publish(Int64MultiArray::default());
                }
            }
            sleep_until(due + 3_000_000);
            let _ = publisher.publish(now());
        }
    })?;
    say_latencies("urgent", arguments, latencies.summary(), processor);
    Ok(())
}

/// Does nothing, with a node, a subscription and a service.
fn idle(arguments: &Arguments) -> Result<(), Failure> {
    let bench = Bench::new(arguments, 10)?;
    let _subscription = bench.subscribe("silent", 10, |_: Int64| {})?;
    let processor = bench.spin(&AtomicBool::new(false), || {})?;
    say(format_args!(r#"{{"case":"idle","executor":"{}","cores":{processor:.5}}}"#, arguments.executor_name()));
    Ok(())
}

/// Returns a message with the time at which it is sent.
fn now() -> Int64 {
    Int64 { data: now_ns().cast_signed() }
}

/// Prints the number of latencies, their median, 99th percentile and maximum.
fn say_latencies(case: &str, arguments: &Arguments, summary: LatencySummary, processor: f64) {
    let LatencySummary { count, p50_us, p99_us, max_us } = summary;
    say(format_args!(
        r#"{{"case":"{case}","executor":"{}","count":{count},"p50_us":{p50_us},"p99_us":{p99_us},"max_us":{max_us},"cores":{processor:.4}}}"#,
        arguments.executor_name(),
    ));
}

/// Time that each of the saturated callbacks takes.
const BUSY: Duration = Duration::from_micros(500);

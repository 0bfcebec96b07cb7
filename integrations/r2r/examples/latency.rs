//! Measures an executor:
//! `latency --case saturation|drain|paced|timer|urgent|idle --executor r2r|tokio|rospin [--seconds N]`.
//!
//! `r2r` is R2R's loop around `spin_once` and a pool of futures, `tokio` a thread that spins beside Tokio's threads.
//! Prints one line of JSON. Compare figures of one machine and one run only, by turns.

mod common;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use futures::StreamExt;
use r2r::QosProfile;
use r2r::std_msgs::msg::Int64;
use rospin_measure::callbacks::{Latencies, LatencySummary, TickSummary, Ticks};
use rospin_measure::process::{process_cpu_time, use_processor};
use rospin_measure::wake_up::{now_ns, sleep_until};

/// The number of topics with callbacks that take long, beside the urgent one.
const OTHERS: usize = 10;

/// The time that each of those callbacks takes.
const BUSY: Duration = Duration::from_micros(500);

/// The period of the timer that is measured.
const PERIOD: Duration = Duration::from_millis(1);

/// The number of messages that wait when the spin of case `drain` begins.
const WAITING: u64 = 10_000;

/// Counters of the program.
#[derive(Default)]
struct Counts {
    sent: AtomicU64,
    received: AtomicU64,
    /// The number of the last message that came, from 1 on: what was sent before it and did not come is lost.
    last: AtomicU64,
    /// The time of the last message that came.
    last_ns: AtomicU64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = common::Arguments::parse()?;
    let case = arguments.text("case", "paced").to_owned();
    if !["saturation", "drain", "paced", "timer", "urgent", "idle"].contains(&&*case) {
        return Err(format!("`{case}` is no case").into());
    }
    let seconds = arguments.number("seconds", if case == "drain" { 2 } else { 10 });
    let (is_latency, is_timer) = (["paced", "urgent"].contains(&&*case), case == "timer");
    let (go, counts) = (Arc::new(AtomicBool::new(true)), Arc::<Counts>::default());
    let (latencies, ticks) = (Arc::new(Latencies::new(1_000_000)), Arc::new(Ticks::new(PERIOD)));
    let publishing;
    let (processor, begun) = (Arc::new(Mutex::new(0.0)), Arc::<AtomicU64>::default());
    common::run!(arguments, "latency", |node, spawner, urgent| {
        let depth = match &*case {
            "drain" => WAITING as usize,
            "saturation" => 200,
            _ => 100,
        };
        let qos = || QosProfile::default().reliable().keep_last(depth);
        let mut measured = node.subscribe::<Int64>("/rospin_r2r/measured", qos())?;
        let publisher = node.create_publisher::<Int64>("/rospin_r2r/measured", qos())?;
        let mut others = Vec::new();
        for number in 0..if case == "urgent" { OTHERS } else { 0 } {
            let topic = format!("/rospin_r2r/bulk{number}");
            let mut bulk = node.subscribe::<Int64>(&topic, qos())?;
            spawner.spawn(async move {
                while bulk.next().await.is_some() {
                    use_processor(BUSY);
                }
            });
            others.push(node.create_publisher::<Int64>(&topic, qos())?);
        }
        let (noted, counted) = (Arc::clone(&latencies), Arc::clone(&counts));
        urgent.spawn(async move {
            while let Some(message) = measured.next().await {
                counted.received.fetch_add(1, Ordering::Relaxed);
                if is_latency {
                    noted.note(message.data.cast_unsigned());
                } else {
                    counted.last_ns.store(now_ns(), Ordering::Relaxed);
                    counted.last.store(message.data.cast_unsigned(), Ordering::Release);
                }
            }
        });
        if is_timer {
            let (mut timer, ticked) = (node.create_wall_timer(PERIOD)?, Arc::clone(&ticks));
            urgent.spawn(async move {
                while timer.tick().await.is_ok() {
                    ticked.note();
                }
            });
        }
        let mut clock = node.create_wall_timer(Duration::from_secs(seconds))?;
        if case == "drain" {
            while publisher.get_inter_process_subscription_count()? < 1 {
                thread::sleep(Duration::from_millis(1));
            }
            for number in 1..=WAITING {
                publisher.publish(&Int64 { data: number.cast_signed() })?;
            }
            counts.sent.store(WAITING, Ordering::Relaxed);
        }
        let (go, counts, case) = (Arc::clone(&go), Arc::clone(&counts), case.clone());
        let is_going = Arc::clone(&go);
        publishing = thread::spawn(move || match &*case {
            "saturation" => saturate(&go, &counts, &publisher),
            "paced" => publish(&go, &counts, &publisher, &[], Duration::from_micros(100)),
            "urgent" => publish(&go, &counts, &publisher, &others, Duration::from_millis(10)),
            _ => {}
        });
        let (processor, begun) = (Arc::clone(&processor), Arc::clone(&begun));
        begun.store(now_ns(), Ordering::Relaxed);
        async move {
            let before = (Instant::now(), process_cpu_time());
            clock.tick().await.expect("a tick");
            is_going.store(false, Ordering::Release);
            let used = process_cpu_time().saturating_sub(before.1);
            *processor.lock().expect("a lock") = used.as_secs_f64() / before.0.elapsed().as_secs_f64();
        }
    });
    publishing.join().map_err(|_| "the thread that publishes panicked")?;
    let processor = *processor.lock().expect("a lock");
    let read = |value: &AtomicU64| value.load(Ordering::Relaxed);
    let (sent, received) = (read(&counts.sent), read(&counts.received));
    let figures = if is_latency {
        let LatencySummary { p50_us, p99_us, max_us, .. } = latencies.summary();
        format!(r#""sent":{sent},"received":{received},"p50_us":{p50_us},"p99_us":{p99_us},"max_us":{max_us}"#)
    } else if is_timer {
        let TickSummary { ticks, skipped, per_s, longest_gap_ms } = ticks.summary();
        format!(r#""ticks":{ticks},"skipped":{skipped},"ticks_per_s":{per_s:.2},"longest_gap_ms":{longest_gap_ms:.2}"#)
    } else {
        let end = if case == "drain" { read(&counts.last_ns) } else { read(&begun) + seconds * 1_000_000_000 };
        let rate = received as f64 * 1e9 / end.saturating_sub(read(&begun)).max(1) as f64;
        format!(r#""sent":{sent},"received":{received},"messages_per_s":{rate:.0}"#)
    };
    let executor = arguments.executor();
    common::say(format_args!(r#"{{"case":"{case}","executor":"{executor}",{figures},"cores":{processor:.4}}}"#));
    Ok(())
}

/// Publishes as fast as messages arrive, with at most 100 of them in flight.
fn saturate(go: &AtomicBool, counts: &Counts, publisher: &r2r::Publisher<Int64>) {
    let mut sent = 0;
    while go.load(Ordering::Acquire) {
        if sent - counts.last.load(Ordering::Acquire) >= 100 {
            thread::yield_now();
            continue;
        }
        sent += 1;
        // Nothing is published after the node has gone.
        let _ = publisher.publish(&Int64 { data: sent.cast_signed() });
    }
    counts.sent.store(sent, Ordering::Relaxed);
}

/// Publishes the time in every period, after three rounds of the others.
fn publish(
    go: &AtomicBool,
    counts: &Counts,
    publisher: &r2r::Publisher<Int64>,
    others: &[r2r::Publisher<Int64>],
    period: Duration,
) {
    let mut due = now_ns();
    while go.load(Ordering::Acquire) {
        due += u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
        sleep_until(due);
        for other in (0..3).flat_map(|_| others) {
            // Nothing is published after the node has gone.
            let _ = other.publish(&Int64 { data: 0 });
        }
        if !others.is_empty() {
            sleep_until(due + 3_000_000);
        }
        if publisher.publish(&Int64 { data: now_ns().cast_signed() }).is_ok() {
            counts.sent.fetch_add(1, Ordering::Relaxed);
        }
    }
}

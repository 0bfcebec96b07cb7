//! Measures an executor: `latency --case saturation|drain|paced|timer|urgent|idle --executor r2r|tokio|rospin [--seconds N]`.
//!
//! `r2r` is R2R's loop around `spin_once` and a pool of futures, `tokio` a thread that spins beside Tokio's threads. Prints one line of
//! JSON. Compare figures of one machine and one run only, by turns.

mod common;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use futures::StreamExt;
use r2r::QosProfile;
use r2r::std_msgs::msg::Int64;
use rospin_measure::process::{process_cpu_time, thread_cpu_time};
use rospin_measure::stats::percentile;
use rospin_measure::wake_up::{now_ns, sleep_until};

/// The number of topics with callbacks that take long, beside the urgent one.
const OTHERS: usize = 10;

/// The time that each of those callbacks takes.
const BUSY: Duration = Duration::from_micros(500);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = common::Arguments::parse()?;
    let case = arguments.text("case", "paced").to_owned();
    if !["paced", "urgent", "idle"].contains(&&*case) {
        return Err(format!("`{case}` is no case").into());
    }
    let seconds = arguments.number("seconds", 10);
    let (go, latencies) = (Arc::new(AtomicBool::new(true)), Arc::<Mutex<Vec<f64>>>::default());
    let sent = Arc::<AtomicU64>::default();
    let publishing;
    let processor = Arc::new(Mutex::new(0.0));
    common::run!(arguments, "latency", |node, spawner, urgent| {
        let qos = || QosProfile::default().reliable().keep_last(100);
        let mut measured = node.subscribe::<Int64>("/rospin_r2r/measured", qos())?;
        let publisher = node.create_publisher::<Int64>("/rospin_r2r/measured", qos())?;
        let mut others = Vec::new();
        for number in 0..if case == "urgent" { OTHERS } else { 0 } {
            let topic = format!("/rospin_r2r/bulk{number}");
            let mut bulk = node.subscribe::<Int64>(&topic, qos())?;
            spawner.spawn(async move {
                while bulk.next().await.is_some() {
                    busy(BUSY);
                }
            });
            others.push(node.create_publisher::<Int64>(&topic, qos())?);
        }
        let noted = Arc::clone(&latencies);
        urgent.spawn(async move {
            while let Some(message) = measured.next().await {
                let us = now_ns().saturating_sub(message.data.cast_unsigned()) as f64 / 1e3;
                noted.lock().expect("a lock").push(us);
            }
        });
        let mut clock = node.create_wall_timer(Duration::from_secs(seconds))?;
        let (go, sent) = (Arc::clone(&go), Arc::clone(&sent));
        let is_going = Arc::clone(&go);
        let case = case.clone();
        publishing = thread::spawn(move || match &*case {
            "paced" => publish(&go, &sent, &publisher, &[], Duration::from_micros(100)),
            "urgent" => publish(&go, &sent, &publisher, &others, Duration::from_millis(10)),
            _ => {}
        });
        let processor = Arc::clone(&processor);
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
    let (us, sent) = (latencies.lock().expect("a lock"), sent.load(Ordering::Relaxed));
    let [p50, p99, max] = [50.0, 99.0, 100.0].map(|percent| percentile(&us, percent).unwrap_or(0.0));
    common::say(format_args!(
        r#"{{"case":"{case}","executor":"{}","sent":{sent},"received":{},"p50_us":{p50},"p99_us":{p99},"max_us":{max},"cores":{processor:.4}}}"#,
        arguments.executor(),
        us.len(),
    ));
    Ok(())
}

/// Publishes the time in every period, after three rounds of the others.
fn publish(
    go: &AtomicBool,
    sent: &AtomicU64,
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
            sent.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Uses the processor for that time.
fn busy(time: Duration) {
    let end = thread_cpu_time() + time;
    while thread_cpu_time() < end {
        std::hint::spin_loop();
    }
}

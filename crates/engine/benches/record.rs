//! The cost of an event that is recorded: rounds of activations with the recorder off and on, in turns, in one run.
//!
//! A callback publishes to its own subscription, so that one thread does everything and never sleeps. Five events are
//! recorded for each activation: publication, release, end, dispatch, take.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rospin_engine::recording::{Definition, Sink, Words};
use rospin_engine::{Context, ContextOptions, ExecutorOptions, Recorder, SpinOptions};

const ROUNDS: usize = 40;
/// Number of activations of a round: their events fit into the recorder's buffer of the thread.
const ACTIVATIONS: u64 = 5_000;

/// Sink that counts the events that it gets.
struct Counted(Arc<AtomicU64>);

impl Sink for Counted {
    fn define(&mut self, _: &Definition) {}

    fn record(&mut self, _: u32, events: &[Words]) {
        self.0.fetch_add(events.len() as u64, Ordering::Relaxed);
    }

    fn flush(&mut self) {}
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

#[expect(clippy::print_stdout, reason = "its result")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let recorder = Recorder::new();
    recorder.set_capacity(1 << 16);
    let context = Context::new(ContextOptions::new().recorder(recorder.clone()));
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let group = executor.create_group("group", Cell::new(0));
    let publisher = context.create_local_publisher::<u64>("topic")?;
    let (again, handle) = (publisher.clone(), executor.handle());
    let _subscription = group.create_local_subscription("topic", move |count: &mut Cell<u64>, message: Arc<u64>| {
        count.set(count.get() + 1);
        again.publish(message);
        if count.get().is_multiple_of(ACTIVATIONS) {
            handle.halt();
        }
    })?;
    publisher.publish(0);
    let round = || -> Result<f64, Box<dyn std::error::Error>> {
        let begun = Instant::now();
        executor.spin(SpinOptions::new())?;
        Ok(begun.elapsed().as_nanos() as f64 / ACTIVATIONS as f64)
    };
    round()?;
    let (mut off, mut on) = (Vec::new(), Vec::new());
    let events = Arc::new(AtomicU64::new(0));
    for _ in 0..ROUNDS {
        off.push(round()?);
        recorder.start(Counted(Arc::clone(&events)))?;
        on.push(round()?);
        recorder.stop();
    }
    let events = events.load(Ordering::Relaxed) as f64 / (ROUNDS as u64 * ACTIVATIONS) as f64;
    let (off, on) = (median(off), median(on));
    println!("off       {off:8.1} ns an activation");
    println!("on        {on:8.1} ns an activation, {events:.2} events");
    println!("an event  {:8.1} ns", (on - off) / events);
    Ok(())
}

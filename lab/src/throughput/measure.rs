//! Measurement of one contender in one cell, in this process: a run, and the counts in its window.

use std::fs;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use rospin_measure::machine::field;
use rospin_measure::process::process_cpu_time;
use rospin_measure::process::thread_cpu_time;
use rustix::thread::gettid;
use serde::{Deserialize, Serialize};

use crate::crunch::Calibration;

use super::contenders::{Contender, Control, Failed};
use super::cores::Cores;
use super::publisher::Source;
use super::system::{self, Tallies};
use super::workload::{Cell, RATE_HZ, Workload};

/// Order to a child process: one measurement of a contender in a cell.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Order {
    pub(crate) contender: Contender,
    pub(crate) cell: Cell,
    /// Time before the window, in which messages are published and nothing counts.
    pub(crate) warm_up: Duration,
    /// Length of the window in which everything is counted.
    pub(crate) window: Duration,
    pub(crate) calibration: Calibration,
    /// Time for which the threads of rospin's executors look for work before they sleep.
    pub(crate) busy_poll: Duration,
    /// True if the publisher waits while a queue is full.
    pub(crate) wait_for_room: bool,
}

/// Counts in one window of time.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Sample {
    /// Length of the window.
    pub(crate) seconds: f64,
    /// Number of callbacks that ran, of subscriptions and of timers.
    pub(crate) runs: u64,
    /// Number of messages that the publisher published.
    pub(crate) publications: u64,
    /// Number of messages that were queued: each counts once for each subscription.
    pub(crate) published: u64,
    /// Number of messages that no callback ran for: displaced in a ring, or refused by a channel of the contender.
    /// Ticks of timers that a channel refused count, too.
    pub(crate) lost: u64,
    /// Number of messages that waited for their callbacks, each for each of its subscriptions: the mean of begin and
    /// end.
    pub(crate) waiting: f64,
    /// Number of messages that ended their wait: callbacks ran for them, or they were lost.
    pub(crate) waited: u64,
    /// Processor time of the process in seconds.
    pub(crate) cpu_s: f64,
    /// Processor time of the process without its publishing thread, in seconds.
    pub(crate) executor_cpu_s: f64,
    /// Number of context switches of all threads except the publishing one.
    pub(crate) context_switches: u64,
    /// Number of allocations, without those for making messages; `None` if the program's allocator does not count.
    pub(crate) allocations: Option<u64>,
    /// Times from publication to the start of the callback. They are recorded under [`Workload::FixedRate`] only.
    pub(crate) latencies_ns: Vec<u32>,
}

/// Runs the contender in its cell, and returns the counts.
///
/// # Errors
/// If the contender has too few threads for the cell, does not begin, or fails.
pub(crate) fn run(order: &Order) -> Result<Sample, Failed> {
    let Order { contender, cell, warm_up, window, calibration, busy_poll, wait_for_room } = *order;
    let threads = contender.threads(&cell).ok_or("it has one thread only")?;
    let whole = warm_up + window;
    let latencies =
        if cell.workload == Workload::FixedRate { (whole.as_secs_f64() * f64::from(RATE_HZ)) as usize * 2 } else { 0 };
    let (system, tallies) = system::build(&cell, threads, busy_poll, calibration, latencies)?;
    let mut source = Source::new(&cell, &system.context, wait_for_room)?;
    let (control, is_running) = Control::new();
    let cores = Cores::of(cell.workload);
    thread::scope(|scope| {
        let spinning = scope.spawn(|| {
            cores.iter().for_each(Cores::enter_as_executor);
            contender.spin(system, &control)
        });
        cores.iter().for_each(Cores::enter_as_publisher);
        let sample = observe(order, &mut source, &tallies, &control, &is_running);
        control.end();
        match spinning.join() {
            Ok(Ok(())) => sample.ok_or_else(|| "it did not begin".into()),
            Ok(Err(failed)) => Err(failed),
            Err(_) => Err("it panicked".into()),
        }
    })
}

/// Publishes, and returns the counts between the end of the warm-up and the end of the window. `None` if the contender
/// does not run within 10 s.
fn observe(
    order: &Order,
    source: &mut Source,
    tallies: &Tallies,
    control: &Control,
    is_running: &Receiver<()>,
) -> Option<Sample> {
    is_running.recv_timeout(Duration::from_secs(10)).ok()?;
    source.begin();
    source.run(Instant::now() + order.warm_up);
    let before = Reading::take(source, tallies, control);
    source.run(before.at + order.window);
    // Taking a reading allocates, so allocations are counted before that.
    let allocations = allocations(source);
    let after = Reading { allocations, ..Reading::take(source, tallies, control) };
    Some(after.since(&before, tallies))
}

/// Values of all counters at one moment.
struct Reading {
    at: Instant,
    runs: u64,
    publications: u64,
    published: u64,
    lost: u64,
    /// Number of messages that callbacks ran for, or that were lost.
    waited: u64,
    process_cpu: Duration,
    publisher_cpu: Duration,
    context_switches: u64,
    allocations: Option<u64>,
    /// Number of latencies that have been recorded.
    latencies: usize,
}

impl Reading {
    /// Reads all counters. Their window begins after this call, or ends with it.
    fn take(source: &Source, tallies: &Tallies, control: &Control) -> Self {
        // The executor goes on meanwhile, so this comes first.
        let waited = source.displaced + control.lost_messages() + tallies.messages();
        // Reading the files takes long, and allocates. The window begins after it.
        let context_switches = context_switches();
        Self {
            context_switches,
            runs: tallies.runs(),
            publications: source.publications(),
            published: source.published,
            lost: source.displaced + control.lost(),
            waited,
            latencies: tallies.latencies().count(),
            allocations: allocations(source),
            process_cpu: process_cpu_time(),
            publisher_cpu: thread_cpu_time(),
            at: Instant::now(),
        }
    }

    /// Returns the number of messages that were queued, and that no callback has run for yet.
    const fn waiting(&self) -> u64 {
        self.published.saturating_sub(self.waited)
    }

    /// Returns the counts between the reading `before` and this one.
    fn since(&self, before: &Self, tallies: &Tallies) -> Sample {
        let cpu = self.process_cpu.saturating_sub(before.process_cpu);
        let publisher_cpu = self.publisher_cpu.saturating_sub(before.publisher_cpu);
        Sample {
            seconds: (self.at - before.at).as_secs_f64(),
            runs: self.runs - before.runs,
            publications: self.publications - before.publications,
            published: self.published - before.published,
            lost: self.lost - before.lost,
            waiting: (before.waiting() + self.waiting()) as f64 / 2.0,
            waited: self.waited - before.waited,
            cpu_s: cpu.as_secs_f64(),
            executor_cpu_s: cpu.saturating_sub(publisher_cpu).as_secs_f64(),
            context_switches: self.context_switches.saturating_sub(before.context_switches),
            allocations: self.allocations.zip(before.allocations).map(|(after, before)| after - before),
            latencies_ns: tallies.latencies().between(before.latencies, self.latencies),
        }
    }
}

/// Returns the number of allocations of this process so far, without those for making messages; `None` if the program's
/// allocator does not count.
fn allocations(source: &Source) -> Option<u64> {
    crate::allocations().map(|all| all.saturating_sub(source.allocations()))
}

/// Returns the number of context switches of all threads of this process except the calling one. Threads that have
/// ended do not count.
fn context_switches() -> u64 {
    let own = gettid().as_raw_nonzero().to_string();
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let others = tasks.filter(|task| task.file_name() != own.as_str());
    others.filter_map(|task| fs::read_to_string(task.path().join("status")).ok()).map(|status| switches(&status)).sum()
}

/// Returns the number of context switches in the text of a thread's `status` file.
fn switches(status: &str) -> u64 {
    let count = |name| field(status, name).and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
    count("voluntary_ctxt_switches") + count("nonvoluntary_ctxt_switches")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measures again where nothing ran, up to a hundred times: on a busy machine, nothing may run for a while.
    #[test]
    fn every_contender_runs_callbacks_in_every_workload_and_ends() {
        for workload in Workload::ALL {
            let cells = workload.cells();
            for cell in [cells[0], cells[cells.len() / 2]] {
                for contender in Contender::ALL.into_iter().filter(|contender| contender.threads(&cell).is_some()) {
                    let (warm_up, window) = (Duration::from_millis(5), Duration::from_millis(20));
                    let calibration = Calibration { divisions_per_ns: 0.1 };
                    let busy_poll = Duration::ZERO;
                    let wait_for_room = false;
                    let order = Order { contender, cell, warm_up, window, calibration, busy_poll, wait_for_room };
                    let is_timed = workload == Workload::FixedRate;
                    let ran = (0..100).any(|_| {
                        let sample = run(&order).unwrap();
                        sample.runs > 0 && sample.latencies_ns.is_empty() != is_timed
                    });
                    assert!(ran, "{} ({})", contender.name(), cell.name());
                }
            }
        }
    }

    #[test]
    fn nothing_is_lost_while_the_publisher_waits_for_room() {
        for contender in [Contender::RospinFifo, Contender::RospinFixedPriority] {
            let order = Order {
                contender,
                cell: Workload::Saturation.cells()[1],
                warm_up: Duration::from_millis(5),
                window: Duration::from_millis(50),
                calibration: Calibration { divisions_per_ns: 0.1 },
                busy_poll: Duration::ZERO,
                wait_for_room: true,
            };
            let ran = (0..100).map(|_| run(&order).unwrap()).find(|sample| sample.runs > 0);
            assert_eq!(ran.map(|sample| sample.lost), Some(0), "{}", contender.name());
        }
    }

    #[test]
    fn order_and_sample_survive_the_pipe() {
        let cell = Workload::FanIn.cells()[1];
        let duration = Duration::from_millis(7);
        let calibration = Calibration { divisions_per_ns: 0.5 };
        let (contender, warm_up, window, busy_poll) = (Contender::RospinFifo, duration, duration, duration);
        let order = Order { contender, cell, warm_up, window, calibration, busy_poll, wait_for_room: true };
        let text = serde_json::to_string(&order).unwrap();
        assert_eq!(serde_json::from_str::<Order>(&text).unwrap(), order);
        let sample = Sample { runs: 3, latencies_ns: vec![1, 2], ..Sample::default() };
        let text = serde_json::to_string(&sample).unwrap();
        assert_eq!(serde_json::from_str::<Sample>(&text).unwrap(), sample);
    }

    #[test]
    fn context_switches_are_read_from_the_kernels_file() {
        let status = "Threads:\t1\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t30\n";
        assert_eq!(switches(status), 42);
    }
}

//! A callback group at work: its samples, and what it records.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rclrs::Publisher;
use ros_env::std_msgs::msg::Int64MultiArray;
use rospin_measure::process::use_processor;
use rospin_measure::wake_up::now_ns;

use super::graph::{GROUPS, Kind, LIDARS, PLANNER, SINK, index_of};

/// The numbers in a sample: 4 KiB.
const LENGTH: usize = 512;

/// The numbers that a sample has for each group that it passed: when its callback began, in nanoseconds, and the count
/// of its samples.
const ENTRY: usize = 2;

/// The payload of a group.
pub(crate) struct State {
    index: usize,
    work: Duration,
    publisher: Option<Publisher<Int64MultiArray>>,
    record: Arc<Record>,
    /// The samples that were not passed on yet, by input.
    kept: Vec<Option<Vec<i64>>>,
    /// The number of the last sample that arrived, by input; 0 before the first one.
    last: Vec<i64>,
    count: i64,
}

impl State {
    pub(crate) fn new(
        index: usize,
        work: Duration,
        publisher: Option<Publisher<Int64MultiArray>>,
        record: Arc<Record>,
    ) -> Self {
        let inputs = GROUPS[index].inputs.len();
        Self { index, work, publisher, record, kept: vec![None; inputs], last: vec![0; inputs], count: 0 }
    }

    /// Runs the timer's callback.
    pub(crate) fn tick(&mut self) {
        let begin = now_ns();
        if GROUPS[self.index].name() == PLANNER {
            self.record.note_period(begin);
        }
        if let Kind::Cyclic(_) = GROUPS[self.index].kind {
            use_processor(self.work);
        }
        self.publish(begin);
    }

    /// Runs a subscription's callback.
    pub(crate) fn take(&mut self, input: usize, sample: Int64MultiArray) {
        let (begin, group) = (now_ns(), &GROUPS[self.index]);
        let number = sample.data[ENTRY * index_of(group.inputs[input]) + 1];
        if self.last[input] > 0 {
            self.record.note_drops(self.index, number - self.last[input] - 1);
        }
        self.last[input] = number;
        if group.name() == SINK {
            self.record.note_latency(begin, &sample.data);
        }
        self.kept[input] = Some(sample.data);
        let is_complete = self.kept.iter().all(Option::is_some);
        if is_complete && matches!(group.kind, Kind::Transform | Kind::Fusion) {
            use_processor(self.work);
            self.publish(begin);
        }
    }

    /// Publishes what was kept as one sample, with an entry of its own.
    fn publish(&mut self, begin: u64) {
        let mut data = vec![0; LENGTH];
        for kept in self.kept.iter_mut().filter_map(Option::take) {
            for (entry, other) in data.chunks_exact_mut(ENTRY).zip(kept.chunks_exact(ENTRY)) {
                // Of two samples that passed the same group, the later one counts.
                if other[0] > entry[0] {
                    entry.copy_from_slice(other);
                }
            }
        }
        self.count += 1;
        self.record.note_run(self.index);
        data[ENTRY * self.index..][..ENTRY].copy_from_slice(&[begin.cast_signed(), self.count]);
        if let Some(publisher) = &self.publisher {
            // Nothing is published after the context has shut down.
            let _ = publisher.publish(Int64MultiArray { data, ..Default::default() });
        }
    }
}

/// Records of all groups.
#[derive(Default)]
pub(crate) struct Record {
    has_begun: AtomicBool,
    drops: [AtomicU64; GROUPS.len()],
    runs: [AtomicU64; GROUPS.len()],
    latencies_ms: Mutex<Vec<f64>>,
    planner_ns: Mutex<Vec<u64>>,
}

impl Record {
    /// Begins to record.
    pub(crate) fn begin(&self) {
        self.has_begun.store(true, Ordering::Relaxed);
    }

    fn is_on(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed)
    }

    fn note_drops(&self, index: usize, count: i64) {
        if self.is_on() {
            self.drops[index].fetch_add(u64::try_from(count).unwrap_or(0), Ordering::Relaxed);
        }
    }

    fn note_run(&self, index: usize) {
        if self.is_on() {
            self.runs[index].fetch_add(1, Ordering::Relaxed);
        }
    }

    fn note_period(&self, begin: u64) {
        if self.is_on() {
            self.planner_ns.lock().expect("a lock").push(begin);
        }
    }

    /// Notes the time from the later lidar sample to the callback at the end of the hot path.
    fn note_latency(&self, begin: u64, sample: &[i64]) {
        let lidar = LIDARS.map(|name| sample[ENTRY * index_of(name)]).into_iter().max().unwrap_or(0);
        if self.is_on() {
            self.latencies_ms.lock().expect("a lock").push((begin.cast_signed() - lidar) as f64 / 1e6);
        }
    }

    pub(crate) fn latencies_ms(&self) -> Vec<f64> {
        self.latencies_ms.lock().expect("a lock").clone()
    }

    pub(crate) fn drops(&self, index: usize) -> u64 {
        self.drops[index].load(Ordering::Relaxed)
    }

    pub(crate) fn runs(&self, index: usize) -> u64 {
        self.runs[index].load(Ordering::Relaxed)
    }

    pub(crate) fn planner_periods_ms(&self) -> Vec<f64> {
        let begins = self.planner_ns.lock().expect("a lock");
        begins.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect()
    }
}

//! The figures of merit: the recording during a run, and the figures that are calculated from it afterwards.
//!
//! The original reads all figures from the messages that reach its command nodes. So does this file for the hot path.
//! The planner's period and the lidar samples are recorded at their nodes instead: a message that is lost on the way to
//! a command node would hide a period, and of the lidar samples, the lost ones are counted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::graph::{FRONT_LIDAR, HOT_PATH, NodeIndex, PLANNER, ROOTS, SINK, index_of};
use super::message::{Message, Stat};

/// Time at the start of a run that does not count, since threads start and caches fill.
pub(crate) const WARM_UP: Duration = Duration::from_secs(1);
/// Time at the end of a run in which a lidar sample may still be on its way. Such a sample is not counted as missed.
pub(crate) const TAIL: Duration = Duration::from_secs(1);

/// Number of entries that a list has memory for: a run of ten minutes at 10 Hz, so that recording does not allocate.
const CAPACITY: usize = 6_000;

/// Recorder of a run. Every list has its own lock and is written at 10 Hz by one node, so recording does not wait, and
/// does not allocate in the first ten minutes.
#[derive(Debug)]
pub(crate) struct Recorder {
    nodes: Nodes,
    /// Samples that the front lidar published.
    lidar: Mutex<Vec<LidarSample>>,
    /// Sequence numbers of the front lidar samples that ran the sink.
    sink: Mutex<Vec<u32>>,
    /// Starts of the planner's timer callback.
    planner_starts_ns: Mutex<Vec<u64>>,
    /// Samples of the hot path that reached a command node.
    hot_path: Mutex<Vec<HotPathSample>>,
    /// Due times of the lidars' samples.
    due: Mutex<Vec<DueSample>>,
}

/// Indices of the nodes of interest, looked up once.
#[derive(Debug)]
struct Nodes {
    front_lidar: NodeIndex,
    planner: NodeIndex,
    sink: NodeIndex,
    roots: [NodeIndex; 2],
    hot_path: [NodeIndex; 8],
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
struct LidarSample {
    sequence: u32,
    /// Time since the run began, like all times of a recording.
    published_ns: u64,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
struct HotPathSample {
    /// Start of the sink's callback.
    sink_ns: u64,
    /// Time from the later lidar sample to that start.
    latency_ns: u64,
    /// Sequence numbers of the samples of the lidars that it comes from, as in [`ROOTS`].
    roots: [Option<u32>; 2],
    /// Number of samples that the nodes of the hot path did not use before this one.
    drops: u32,
}

/// Due time for which a lidar's timer fired, and the sample that it published.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
struct DueSample {
    /// Index of the lidar in [`ROOTS`].
    root: usize,
    sequence: u32,
    due_ns: u64,
}

impl Recorder {
    /// Returns an empty recorder with its memory allocated.
    pub(crate) fn new() -> Self {
        Self {
            nodes: Nodes {
                front_lidar: index_of(FRONT_LIDAR),
                planner: index_of(PLANNER),
                sink: index_of(SINK),
                roots: ROOTS.map(index_of),
                hot_path: HOT_PATH.map(index_of),
            },
            lidar: Mutex::new(Vec::with_capacity(CAPACITY)),
            sink: Mutex::new(Vec::with_capacity(CAPACITY)),
            planner_starts_ns: Mutex::new(Vec::with_capacity(CAPACITY)),
            hot_path: Mutex::new(Vec::with_capacity(CAPACITY)),
            due: Mutex::new(Vec::with_capacity(2 * CAPACITY)),
        }
    }

    /// Records the due time of a message that a timer's callback publishes, if the timer is that of a lidar.
    pub(crate) fn was_due(&self, message: &Message, due_ns: u64) {
        let Some(&Stat { node, sequence, .. }) = message.last() else { return };
        if let Some(root) = self.nodes.roots.iter().position(|root| *root == node) {
            lock(&self.due).push(DueSample { root, sequence, due_ns });
        }
    }

    /// Records a message that a node publishes, if a figure depends on it.
    pub(crate) fn published(&self, message: &Message) {
        let Some(&Stat { node, sequence, timestamp_ns, .. }) = message.last() else { return };
        if node == self.nodes.front_lidar {
            lock(&self.lidar).push(LidarSample { sequence, published_ns: timestamp_ns });
        } else if node == self.nodes.planner {
            lock(&self.planner_starts_ns).push(timestamp_ns);
        } else if node == self.nodes.sink
            && let Some(front) = message.stat(self.nodes.front_lidar)
        {
            lock(&self.sink).push(front.sequence);
        }
    }

    /// Records a message that reaches a command node, if it came through the hot path.
    pub(crate) fn commanded(&self, message: &Message) {
        if let Some(sample) = self.hot_path_sample(message) {
            lock(&self.hot_path).push(sample);
        }
    }

    /// Returns the figures of a message; `None` if it did not come through the hot path.
    fn hot_path_sample(&self, message: &Message) -> Option<HotPathSample> {
        let sink_ns = message.stat(self.nodes.sink)?.timestamp_ns;
        let stats = message.stats().iter();
        let roots = stats.clone().filter(|stat| self.nodes.roots.contains(&stat.node));
        let root_ns = roots.map(|stat| stat.timestamp_ns).max()?;
        let on_path = stats.filter(|stat| self.nodes.hot_path.contains(&stat.node));
        let drops = on_path.map(|stat| stat.dropped).sum();
        // Histories of two cycles can meet in a fusion; a lidar sample younger than the sink's start
        // then belongs to another path.
        let latency_ns = sink_ns.checked_sub(root_ns)?;
        let roots = self.nodes.roots.map(|root| message.stat(root).map(|stat| stat.sequence));
        Some(HotPathSample { sink_ns, latency_ns, roots, drops })
    }

    /// Returns the recording so far.
    pub(crate) fn recording(&self) -> Recording {
        Recording {
            lidar: lock(&self.lidar).clone(),
            sink: lock(&self.sink).clone(),
            planner_starts_ns: lock(&self.planner_starts_ns).clone(),
            hot_path: lock(&self.hot_path).clone(),
            due: lock(&self.due).clone(),
        }
    }
}

/// Recording of a process: the lists of its [`Recorder`].
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Recording {
    lidar: Vec<LidarSample>,
    sink: Vec<u32>,
    planner_starts_ns: Vec<u64>,
    hot_path: Vec<HotPathSample>,
    due: Vec<DueSample>,
}

impl Recording {
    /// Adds the recording of another process of the same run.
    pub(crate) fn merge(&mut self, other: Self) {
        let Self { lidar, sink, planner_starts_ns, hot_path, due } = other;
        // Each of these is recorded by one node, and so by one process.
        self.lidar.extend(lidar);
        self.sink.extend(sink);
        self.planner_starts_ns.extend(planner_starts_ns);
        self.due.extend(due);
        self.due.sort_by_key(|sample| (sample.root, sample.sequence));
        self.hot_path.extend(hot_path);
        self.hot_path.sort_by_key(|sample| sample.sink_ns);
    }

    /// Calculates the figures of a run that ended `end_ns` after it began.
    pub(crate) fn kpis(&self, end_ns: u64) -> Kpis {
        let warm_up_ns = WARM_UP.as_nanos() as u64;
        let counted = || self.hot_path.iter().filter(|sample| sample.sink_ns >= warm_up_ns);
        let lidar = LidarCount::new(&self.lidar, &self.sink, end_ns);
        let due: BTreeMap<(usize, u32), u64> =
            self.due.iter().map(|sample| ((sample.root, sample.sequence), sample.due_ns)).collect();
        let from_due = |sample: &HotPathSample| {
            let roots = sample.roots.iter().enumerate();
            let dues = roots.filter_map(|(root, sequence)| due.get(&(root, (*sequence)?)));
            dues.max().map(|due_ns| ms(sample.sink_ns.saturating_sub(*due_ns)))
        };
        Kpis {
            hot_path_latency_ms: counted().map(|sample| ms(sample.latency_ns)).collect(),
            hot_path_from_due_ms: counted().filter_map(from_due).collect(),
            hot_path_drops: counted().map(|sample| sample.drops).collect(),
            planner_periods: planner_periods(&self.planner_starts_ns),
            front_lidar_counted: lidar.counted,
            missed_front_lidar: lidar.missed,
        }
    }
}

/// Raw figures of one run, without its warm-up.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Kpis {
    /// Times from the later lidar sample to the start of the sink, one for each hot path sample that reached a command
    /// node.
    pub(crate) hot_path_latency_ms: Vec<f64>,
    /// Times from the later due time of the two lidars to the start of the sink, one for each of the same hot path
    /// samples. They include the time for which a lidar's callback waits, which the figure of the original leaves out.
    pub(crate) hot_path_from_due_ms: Vec<f64>,
    /// Numbers of samples that were dropped on the hot path, one for each of the same hot path samples.
    pub(crate) hot_path_drops: Vec<u32>,
    /// Distances between the starts of the planner's timer callback.
    pub(crate) planner_periods: Vec<PlannerPeriod>,
    /// Number of front lidar samples that count: those that reached the sink, or had the time to reach it.
    pub(crate) front_lidar_counted: usize,
    /// Number of these samples that never reached the sink.
    pub(crate) missed_front_lidar: usize,
}

/// Distance between two starts of the planner's timer callback.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct PlannerPeriod {
    /// Start that ends the period, in seconds since the run began.
    pub(crate) at_s: f64,
    /// Distance of the two starts in milliseconds.
    pub(crate) period_ms: f64,
}

/// Returns the distances between neighbouring starts of the planner after the warm-up.
fn planner_periods(starts_ns: &[u64]) -> Vec<PlannerPeriod> {
    let warm_up_ns = WARM_UP.as_nanos() as u64;
    starts_ns
        .windows(2)
        .filter(|pair| pair[0] >= warm_up_ns)
        .map(|pair| PlannerPeriod { at_s: pair[1] as f64 / 1e9, period_ms: ms(pair[1].saturating_sub(pair[0])) })
        .collect()
}

/// Number of front lidar samples that count, and of those among them that never reached the sink.
#[derive(Debug, PartialEq)]
struct LidarCount {
    counted: usize,
    missed: usize,
}

impl LidarCount {
    /// Counts the samples whose fate is known: the sink ran for the sample or for a younger one (samples of a path do
    /// not overtake each other), or the sample is older than the last [`TAIL`] of the run.
    fn new(lidar: &[LidarSample], sink: &[u32], end_ns: u64) -> Self {
        let seen: BTreeSet<u32> = sink.iter().copied().collect();
        let newest_seen = seen.last().copied();
        let from_ns = WARM_UP.as_nanos() as u64;
        let tail_from_ns = end_ns.saturating_sub(TAIL.as_nanos() as u64);
        let decided = |sample: &&LidarSample| {
            sample.published_ns >= from_ns
                && (Some(sample.sequence) <= newest_seen || sample.published_ns < tail_from_ns)
        };
        let (mut counted, mut missed) = (0, 0);
        for sample in lidar.iter().filter(decided) {
            counted += 1;
            missed += usize::from(!seen.contains(&sample.sequence));
        }
        Self { counted, missed }
    }
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Locks a list. A callback that panicked while it recorded has left the list whole, so poison is ignored.
fn lock<T>(list: &Mutex<Vec<T>>) -> MutexGuard<'_, Vec<T>> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn message(stats: &[(&str, u64, u32, u32)]) -> Message {
        let mut message = Message::new();
        for &(name, at_ms, sequence, dropped) in stats {
            message.set_sample(Stat { node: index_of(name), timestamp_ns: at_ms * MS, sequence, dropped });
        }
        message
    }

    #[test]
    fn latency_is_from_the_later_lidar_and_drops_are_summed_over_the_path() {
        let recorder = Recorder::new();
        recorder.commanded(&message(&[
            ("FrontLidarDriver", 2000, 7, 0),
            ("PointsTransformerFront", 2001, 7, 2),
            ("RearLidarDriver", 2010, 7, 0),
            ("NDTLocalizer", 2015, 3, 50),
            (SINK, 2045, 6, 1),
            (PLANNER, 2050, 9, 30),
        ]));
        let kpis = recorder.recording().kpis(5000 * MS);
        assert_eq!(kpis.hot_path_latency_ms, [35.0]);
        assert_eq!(kpis.hot_path_drops, [3]);
    }

    #[test]
    fn latency_from_the_due_time_has_the_wait_for_the_lidars_callback() {
        let recorder = Recorder::new();
        for (name, due_ms, at_ms, sequence) in
            [(FRONT_LIDAR, 2000, 2011, 7), ("RearLidarDriver", 2002, 2018, 3), (PLANNER, 2001, 2002, 1)]
        {
            recorder.was_due(&message(&[(name, at_ms, sequence, 0)]), due_ms * MS);
        }
        let path = [(FRONT_LIDAR, 2011, 7, 0), ("RearLidarDriver", 2018, 3, 0), (SINK, 2046, 7, 0)];
        recorder.commanded(&message(&path));
        let kpis = recorder.recording().kpis(5000 * MS);
        assert_eq!((kpis.hot_path_latency_ms, kpis.hot_path_from_due_ms), (vec![28.0], vec![44.0]));
    }

    #[test]
    fn samples_without_sink_or_from_the_warm_up_do_not_count() {
        let recorder = Recorder::new();
        recorder.commanded(&message(&[(FRONT_LIDAR, 2000, 0, 0), (PLANNER, 2010, 0, 0)]));
        recorder.commanded(&message(&[(FRONT_LIDAR, 900, 0, 0), (SINK, 999, 0, 4)]));
        // The lidar record is of a later cycle than the sink's.
        recorder.commanded(&message(&[(FRONT_LIDAR, 2100, 0, 0), (SINK, 2050, 0, 0)]));
        assert!(recorder.recording().kpis(5000 * MS).hot_path_latency_ms.is_empty());
        recorder.commanded(&message(&[(FRONT_LIDAR, 900, 0, 0), (SINK, 1000, 0, 4)]));
        assert_eq!(recorder.recording().kpis(5000 * MS).hot_path_latency_ms, [100.0]);
    }

    #[test]
    fn planner_periods_skip_the_warm_up() {
        let recorder = Recorder::new();
        for at_ms in [800, 950, 1000, 1100, 1205] {
            recorder.published(&message(&[(PLANNER, at_ms, 0, 0)]));
        }
        let periods = recorder.recording().kpis(5000 * MS).planner_periods;
        let expected = [(1.1, 100.0), (1.205, 105.0)];
        assert_eq!(periods, expected.map(|(at_s, period_ms)| PlannerPeriod { at_s, period_ms }));
    }

    #[test]
    fn what_two_processes_saw_is_one_run() {
        let record = |records: &[(bool, Message)]| {
            let recorder = Recorder::new();
            for (is_end, message) in records {
                if *is_end { recorder.commanded(message) } else { recorder.published(message) }
            }
            recorder.recording()
        };
        let sensed = message(&[(FRONT_LIDAR, 2000, 7, 0)]);
        let seen = message(&[(FRONT_LIDAR, 2000, 7, 0), (SINK, 2030, 7, 0)]);
        let late = message(&[(FRONT_LIDAR, 2100, 8, 0), (SINK, 2140, 8, 0)]);
        let whole =
            record(&[(false, sensed.clone()), (false, seen.clone()), (true, seen.clone()), (true, late.clone())]);
        let mut merged = record(&[(true, late), (false, seen.clone())]);
        merged.merge(record(&[(false, sensed), (true, seen)]));
        assert_eq!(merged, whole);
        assert_eq!(merged.kpis(5000 * MS).hot_path_latency_ms, [30.0, 40.0]);
    }

    /// Publishes lidar samples every 100 ms for 5 s; the sink runs for those that `reaches` says.
    fn lidar_run(reaches: impl Fn(u32) -> bool) -> Kpis {
        let recorder = Recorder::new();
        for sequence in 0..50 {
            let at_ms = u64::from(sequence) * 100;
            recorder.published(&message(&[(FRONT_LIDAR, at_ms, sequence, 0)]));
            if reaches(sequence) {
                let path = [(FRONT_LIDAR, at_ms, sequence, 0), (SINK, at_ms + 28, sequence, 0)];
                recorder.published(&message(&path));
            }
        }
        recorder.recording().kpis(5000 * MS)
    }

    #[test]
    fn lidar_samples_that_all_arrive_are_all_counted() {
        let kpis = lidar_run(|_| true);
        assert_eq!((kpis.front_lidar_counted, kpis.missed_front_lidar), (40, 0));
    }

    #[test]
    fn samples_in_flight_at_the_end_are_not_missed() {
        let kpis = lidar_run(|sequence| sequence < 45);
        assert_eq!((kpis.front_lidar_counted, kpis.missed_front_lidar), (35, 0));
    }

    #[test]
    fn overtaken_samples_are_missed_even_in_the_tail() {
        let kpis = lidar_run(|sequence| sequence % 3 == 0);
        // Samples 10 to 48 are decided: 39 samples, of which 12, 15, .. 48 arrived.
        assert_eq!((kpis.front_lidar_counted, kpis.missed_front_lidar), (39, 26));
    }

    #[test]
    fn a_sink_that_stops_misses_everything_but_the_tail() {
        let kpis = lidar_run(|sequence| sequence < 20);
        assert_eq!((kpis.front_lidar_counted, kpis.missed_front_lidar), (30, 20));
        let kpis = lidar_run(|_| false);
        assert_eq!((kpis.front_lidar_counted, kpis.missed_front_lidar), (30, 30));
    }
}

//! The state that the page shows, as JSON: what the programs did in an interval, and what went wrong lately.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rospin_engine::Recorder;
use rospin_trace::live::{CallbackView, ExecutorView, LossView, OverdueView, Place, SendView, Summary, View, Waits};
use rospin_trace::names::{is_internal, kind_named};
use serde::Serialize;

use super::super::Proven;
use super::super::columns::time;
use super::super::kernel::KernelThread;
use super::super::programs::Shown;

/// The version of the format. Further fields leave it as it is.
const FORMAT: u32 = 1;
/// The number of things that went wrong which are kept.
const TOLD: usize = 100;
/// The time by which an event may come later than its interval.
const STRAY_NS: u64 = 2_000_000_000;
/// The largest number of them that an interval tells of one kind. The worst come first.
const TOLD_AT_ONCE: usize = 15;

/// State that the page shows.
#[derive(Serialize)]
struct State<'a> {
    format: u32,
    rospin: &'static str,
    /// The number of the interval, from 0 for the state before the first one.
    sequence: u64,
    /// The time at which it ended, in milliseconds since 1970.
    time_ms: u64,
    interval_s: f64,
    has_bounds: bool,
    programs: Vec<Program<'a>>,
    chains: &'a [Chain],
    told: &'a VecDeque<Told>,
    told_total: u64,
}

#[derive(Serialize)]
struct Program<'a> {
    pid: u32,
    name: &'a str,
    /// The reason for which it is not watched any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<&'a str>,
    cpu: f64,
    events_per_s: f64,
    /// Events that the program could not tell, since it is watched.
    not_seen: u64,
    executors: &'a [ExecutorView],
    kernel_threads: &'a [KernelThread],
    callbacks: Vec<Callback<'a>>,
    queues: Vec<Queue<'a>>,
    sends: &'a [SendView],
    losses: &'a [LossView],
    overdue: &'a [OverdueView],
    #[serde(skip_serializing_if = "Option::is_none")]
    waits: Option<&'a Waits>,
}

#[derive(Serialize)]
struct Callback<'a> {
    place: Place,
    name: &'a str,
    executor: &'a str,
    group: &'a str,
    kind: &'a str,
    priority: u32,
    /// True if every node has it: for its parameters, or its log.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    internal: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    period_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound_ns: Option<u64>,
    rate_hz: f64,
    utilisation: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    execution: Option<Summary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<Summary>,
    /// The longest response since it is watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    worst_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<Fill>,
    runs_total: u64,
    missed: u64,
    missed_total: u64,
    lost_total: u64,
    overruns_total: u64,
    incidents_total: u64,
}

/// Messages of a queue: now, the most in the interval, and the number that it holds.
#[derive(Clone, Copy, Serialize)]
struct Fill {
    fill: u64,
    max: u64,
    depth: u64,
}

#[derive(Serialize)]
struct Queue<'a> {
    topic: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    callback: Option<&'a str>,
    #[serde(flatten)]
    fill: Fill,
}

/// A chain of the system file.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Chain {
    pub(crate) name: String,
    pub(crate) callbacks: Vec<String>,
    /// The longest time from the release of the first callback to the end of the last one, as the analysis proves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bound_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deadline_ns: Option<u64>,
}

/// Something that went wrong, or a program that came or went.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct Told {
    /// The time in milliseconds since 1970.
    time_ms: u64,
    /// `deadline`, `bound`, `lost`, `stopped`, `incident` or `program`.
    kind: &'static str,
    pid: u32,
    program: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<Place>,
    #[serde(skip_serializing_if = "Option::is_none")]
    callback: Option<String>,
    text: String,
}

/// Mistakes that were seen until now, and state to notice more.
#[derive(Default)]
pub(crate) struct States {
    proven: Proven,
    sequence: u64,
    told: VecDeque<Told>,
    told_total: u64,
    /// The programs of the last interval.
    programs: BTreeMap<u32, String>,
    /// The callbacks that did not run although they should at the end of the last interval.
    overdue: BTreeSet<(u32, Place)>,
    /// The panics and errors of callbacks that were told.
    incidents: BTreeMap<(u32, Place), u64>,
}

/// Rounds to three decimals, so that the JSON is short.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the time of the system clock in nanoseconds since 1970 minus that of the steady one.
fn offset_ns() -> i128 {
    let system = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    system as i128 - i128::from(Recorder::steady_ns())
}

fn times(count: u64) -> String {
    if count == 1 { String::new() } else { format!(" {count} times") }
}

impl States {
    pub(crate) fn new(proven: Proven) -> Self {
        Self { proven, ..Self::default() }
    }

    /// Returns the next state as JSON in one line.
    pub(crate) fn next(&mut self, programs: &[Shown], interval: Duration) -> String {
        self.notice(programs, offset_ns());
        let bounds = self.proven.bounds.as_ref();
        let state = State {
            format: FORMAT,
            rospin: env!("CARGO_PKG_VERSION"),
            sequence: self.sequence,
            time_ms: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64),
            interval_s: interval.as_secs_f64(),
            has_bounds: bounds.is_some(),
            programs: programs.iter().map(|program| Program::new(program, bounds)).collect(),
            chains: &self.proven.chains,
            told: &self.told,
            told_total: self.told_total,
        };
        // Neither a map with other keys than text nor a failing writer is involved.
        let text = serde_json::to_string(&state).unwrap_or_default();
        self.sequence += 1;
        text
    }

    /// Notes what went wrong in the interval.
    fn notice(&mut self, programs: &[Shown], offset_ns: i128) {
        let mut told = Vec::new();
        let now: BTreeMap<u32, String> = programs.iter().map(|of| (of.pid, of.name.clone())).collect();
        let at = |ns: u64| u64::try_from((i128::from(ns) + offset_ns) / 1_000_000).unwrap_or(0);
        let steady = Recorder::steady_ns();
        for (pid, name) in &now {
            if !self.programs.contains_key(pid) && self.sequence > 0 {
                told.push(Told::of_program(*pid, name, at(steady), "is watched".to_owned()));
            }
        }
        for (pid, name) in &self.programs {
            if !now.contains_key(pid) {
                told.push(Told::of_program(*pid, name, at(steady), "is not watched any more".to_owned()));
            }
        }
        let mut overdue = BTreeSet::new();
        for program in programs {
            misses(program, &at, &mut told);
            self.beyond(program, &at, &mut told);
            self.incidents(program, &at, &mut told);
            losses(program, &at, &mut told);
            for one in &program.view.overdue {
                let id = (program.pid, one.place);
                overdue.insert(id);
                if !self.overdue.contains(&id) {
                    let text = one.text.strip_prefix(one.callback.as_str()).unwrap_or(&one.text).trim_start();
                    let end = at(program.view.end_ns);
                    told.push(Told::of_callback(program, "stopped", end, one.place, &one.callback, text.to_owned()));
                }
            }
        }
        self.incidents.retain(|(pid, _), _| now.contains_key(pid));
        (self.overdue, self.programs) = (overdue, now);
        told.sort_by_key(|one| one.time_ms);
        self.told_total += told.len() as u64;
        self.told.extend(told);
        let surplus = self.told.len().saturating_sub(TOLD);
        self.told.drain(..surplus);
    }

    /// Notes the callbacks that took longer than their bounds.
    fn beyond(&self, program: &Shown, at: &impl Fn(u64) -> u64, told: &mut Vec<Told>) {
        let Some(bounds) = &self.proven.bounds else { return };
        let mut all: Vec<(u64, u64, &CallbackView)> = Vec::new();
        for of in &program.view.callbacks {
            let Some(bound) = bounds.get(&of.name) else { continue };
            let longest = of.response.map_or(0, |response| response.max_ns);
            if longest > nanoseconds(*bound) {
                all.push((longest, nanoseconds(*bound), of));
            }
        }
        all.sort_by_key(|(longest, bound, _)| std::cmp::Reverse(longest - bound));
        let end = at(program.view.end_ns);
        for (longest, bound, of) in all.iter().take(TOLD_AT_ONCE) {
            let text = format!("took {}, longer than its bound of {}", time(Some(*longest)), time(Some(*bound)));
            told.push(Told::of_callback(program, "bound", end, of.place, &of.name, text));
        }
        rest(program, "bound", all.len(), "took longer than their bounds", at, told);
    }

    /// Notes panics and errors.
    fn incidents(&mut self, program: &Shown, at: &impl Fn(u64) -> u64, told: &mut Vec<Told>) {
        let mut new = Vec::new();
        for of in program.view.callbacks.iter().filter(|of| of.incidents_total > 0) {
            let before = self.incidents.insert((program.pid, of.place), of.incidents_total).unwrap_or(0);
            if of.incidents_total > before {
                new.push((of, of.incidents_total - before));
            }
        }
        for (of, count) in new.iter().take(TOLD_AT_ONCE) {
            let text = format!("panicked or failed{}", times(*count));
            told.push(Told::of_callback(program, "incident", at(program.view.end_ns), of.place, &of.name, text));
        }
        rest(program, "incident", new.len(), "panicked or failed", at, told);
    }
}

/// Notes the deadlines that were missed: a line for each callback.
fn misses(program: &Shown, at: &impl Fn(u64) -> u64, told: &mut Vec<Told>) {
    // The number of misses that are told one by one, the longest lateness, and the last time.
    let mut single: BTreeMap<Place, (u64, u64)> = BTreeMap::new();
    let view = &program.view;
    for miss in &view.misses {
        let (late_ns, end_ns) = single.entry(miss.place).or_default();
        *late_ns = miss.late_ns.max(*late_ns);
        // A program in another time namespace has another steady clock.
        let is_known = miss.end_ns <= view.end_ns && miss.end_ns + view.interval_ns + STRAY_NS >= view.end_ns;
        *end_ns = if is_known { miss.end_ns.max(*end_ns) } else { view.end_ns };
    }
    let mut all: Vec<(u64, u64, &CallbackView)> = Vec::new();
    for of in program.view.callbacks.iter().filter(|of| of.missed > 0) {
        let (late_ns, end_ns) = single.get(&of.place).copied().unwrap_or((0, program.view.end_ns));
        all.push((late_ns, end_ns, of));
    }
    all.sort_by_key(|(late_ns, _, _)| std::cmp::Reverse(*late_ns));
    for (late_ns, end_ns, of) in all.iter().take(TOLD_AT_ONCE) {
        let by = if of.missed == 1 { "by" } else { "by up to" };
        let late = if *late_ns == 0 { String::new() } else { format!(" {by} {}", time(Some(*late_ns))) };
        let text = format!("missed its deadline{}{late}", times(of.missed));
        told.push(Told::of_callback(program, "deadline", at(*end_ns), of.place, &of.name, text));
    }
    rest(program, "deadline", all.len(), "missed deadlines", at, told);
}

/// Notes the items that were lost.
fn losses(program: &Shown, at: &impl Fn(u64) -> u64, told: &mut Vec<Told>) {
    let mut all: Vec<&LossView> = program.view.losses.iter().filter(|loss| loss.count > 0).collect();
    all.sort_by_key(|loss| std::cmp::Reverse(loss.count));
    for loss in all.iter().take(TOLD_AT_ONCE) {
        let text = format!("lost {}: {}", loss.count, loss.cause);
        let of = program.view.callbacks.iter().find(|of| of.name == loss.of);
        let time_ms = at(program.view.end_ns);
        let mut one = Told::of_program(program.pid, &program.name, time_ms, text);
        (one.kind, one.place, one.callback) = ("lost", of.map(|of| of.place), Some(loss.of.clone()));
        told.push(one);
    }
    rest(program, "lost", all.len(), "lost items", at, told);
}

/// Notes how many callbacks there are beyond those that are told one by one.
fn rest(program: &Shown, kind: &'static str, count: usize, did: &str, at: &impl Fn(u64) -> u64, told: &mut Vec<Told>) {
    if count > TOLD_AT_ONCE {
        let text = format!("{} further callbacks of {} {did}", count - TOLD_AT_ONCE, program.name);
        let mut one = Told::of_program(program.pid, &program.name, at(program.view.end_ns), text);
        (one.kind, one.callback) = (kind, None);
        told.push(one);
    }
}

impl Told {
    fn of_program(pid: u32, name: &str, time_ms: u64, text: String) -> Self {
        let callback = Some(format!("{pid} {name}"));
        Self { time_ms, kind: "program", pid, program: name.to_owned(), place: None, callback, text }
    }

    fn of_callback(
        program: &Shown,
        kind: &'static str,
        time_ms: u64,
        place: Place,
        callback: &str,
        text: String,
    ) -> Self {
        Self {
            time_ms,
            kind,
            pid: program.pid,
            program: program.name.clone(),
            place: Some(place),
            callback: Some(callback.to_owned()),
            text,
        }
    }
}

impl<'a> Program<'a> {
    fn new(shown: &'a Shown, bounds: Option<&BTreeMap<String, Duration>>) -> Self {
        let view: &View = &shown.view;
        let callback =
            |of: &'a CallbackView| Callback::new(of, bounds.and_then(|bounds| bounds.get(&of.name)).copied());
        let queue = |of: &'a rospin_trace::live::QueueView| Queue {
            topic: &of.topic,
            callback: of.callback.as_deref(),
            fill: Fill { fill: of.fill, max: of.fill_max, depth: of.depth },
        };
        Self {
            pid: shown.pid,
            name: &shown.name,
            trouble: shown.trouble.as_deref(),
            cpu: rounded(shown.cpu()),
            events_per_s: rounded(view.events as f64 * 1e9 / view.interval_ns.max(1) as f64),
            not_seen: view.dropped_total,
            executors: &view.executors,
            kernel_threads: &shown.threads,
            callbacks: view.callbacks.iter().map(callback).collect(),
            queues: view.queues.iter().map(queue).collect(),
            sends: &view.sends,
            losses: &view.losses,
            overdue: &view.overdue,
            waits: view.waits.as_ref(),
        }
    }
}

impl<'a> Callback<'a> {
    fn new(of: &'a CallbackView, bound: Option<Duration>) -> Self {
        let queue = of.queue_fill.zip(of.queue_depth).map(|((fill, max), depth)| Fill { fill, max, depth });
        Self {
            place: of.place,
            name: &of.name,
            executor: &of.executor,
            group: &of.group,
            kind: &of.kind,
            priority: of.priority,
            internal: is_internal(&of.name, kind_named(&of.kind)),
            period_ns: of.period_ns,
            deadline_ns: of.deadline_ns,
            bound_ns: bound.map(nanoseconds),
            rate_hz: rounded(of.rate_hz),
            utilisation: (of.utilisation * 1e6).round() / 1e6,
            execution: of.execution,
            response: of.response,
            worst_ns: of.response_max_total_ns,
            waiting_ns: of.waiting_ns,
            queue,
            runs_total: of.runs_total,
            missed: of.missed,
            missed_total: of.missed_total,
            lost_total: of.lost_total,
            overruns_total: of.overruns_total,
            incidents_total: of.incidents_total,
        }
    }
}

//! Executors, groups and callbacks of a system that is learnt from the model of a recording. Messages are in
//! `messages`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rospin_core::{EntityKind, GroupKind, policy};
use rospin_scenario::{Await, Callback, ExecutionTime, Executor, Group, Scenario, duration};
use rospin_trace::Model;
use rospin_trace::chains::chains as runs_of_chains;
use rospin_trace::figures::Figures;
use rospin_trace::names::is_internal;

use crate::callers::Callers;
use crate::execution::{Times, plural, readable};
use crate::graph;
use crate::names::Names;
use crate::seen::Seen;
use crate::topics::{Topic, Topics};
use crate::write::Remarks;
use crate::{LearnError, Learned, Options};

/// The number of cores that all threads share if there are more threads than this. Fewer have a core each.
const CORES: u16 = 64;
/// The largest number of threads of an executor.
const THREADS: u16 = 256;
/// The largest depth of a queue in a system file.
const DEPTH: u64 = 1_000_000;
/// The largest number of parts of an asynchronous callback, between its awaits, whose measurements a remark has.
const PARTS: usize = 3;
/// The largest number of names that a remark lists.
const LISTED: usize = 20;

/// A system that is being learnt.
pub(crate) struct Learner<'a> {
    pub(crate) model: &'a Model,
    pub(crate) options: &'a Options,
    pub(crate) topics: Topics,
    /// The callbacks of the model that are part of the system, in the order of the system.
    pub(crate) callbacks: Vec<usize>,
    /// Observations of each of them.
    pub(crate) seen: Vec<Seen>,
    /// The places of the model's callbacks in the system.
    pub(crate) places: BTreeMap<usize, usize>,
    pub(crate) topic_names: BTreeMap<Topic, String>,
    pub(crate) scenario: Scenario,
    pub(crate) remarks: Remarks,
    /// The number of callbacks that are left out because every node has them, and the number of their activations.
    internals: (usize, usize),
    idle: Vec<usize>,
    names: Names,
}

impl<'a> Learner<'a> {
    /// Chooses the callbacks of the system; returns `None` if none of them ran to its end.
    pub(crate) fn new(model: &'a Model, options: &'a Options) -> Option<Self> {
        let topics = Topics::of(model);
        let mut learner = Self {
            model,
            options,
            topics,
            callbacks: Vec::new(),
            seen: Vec::new(),
            places: BTreeMap::new(),
            topic_names: BTreeMap::new(),
            scenario: Scenario::default(),
            remarks: Remarks::default(),
            internals: (0, 0),
            idle: Vec::new(),
            names: Names::default(),
        };
        for (place, callback) in model.callbacks.iter().enumerate() {
            let seen = Seen::of(model, &learner.topics, place);
            if !options.has_internals && is_internal(&callback.name, callback.kind) {
                learner.internals.0 += 1;
                learner.internals.1 += seen.runs;
            } else if seen.runs == 0 {
                learner.idle.push(place);
            } else {
                learner.places.insert(place, learner.callbacks.len());
                learner.callbacks.push(place);
                learner.seen.push(seen);
            }
        }
        if learner.callbacks.is_empty() { None } else { Some(learner) }
    }

    /// Learns everything else, and returns the system.
    ///
    /// # Errors
    /// If the system is invalid, which is a mistake of this crate.
    pub(crate) fn finish(mut self) -> Result<Learned, LearnError> {
        let executors = self.executors();
        let groups = self.groups(&executors);
        self.callbacks(&groups);
        self.name_topics();
        self.inputs();
        self.outputs();
        let callers = Callers::of(self.model);
        self.calls(&callers);
        self.releases();
        self.links();
        self.break_circles();
        self.release_the_rest();
        self.chains();
        self.top();
        self.scenario.check().map_err(LearnError::Invalid)?;
        Ok(Learned { scenario: self.scenario, remarks: self.remarks })
    }

    /// Returns the smallest number of activations of the callback in that place that must have sent a message, so that
    /// the message is part of the system.
    pub(crate) fn enough(&self, place: usize) -> usize {
        (self.seen[place].runs as f64 * self.options.rare / 100.0).ceil().max(1.0) as usize
    }

    /// Returns the name and the number of a process, which tell it from others.
    fn process(&self, process: usize) -> String {
        let of = &self.model.processes[process];
        format!("{} {}", of.name, of.process)
    }

    /// Adds the executors that ran callbacks. Returns their names by their places in the model.
    fn executors(&mut self) -> BTreeMap<usize, String> {
        let mut names = Names::default();
        let mut added = BTreeMap::new();
        let used: BTreeSet<usize> = self.callbacks.iter().map(|of| self.model.callbacks[*of].executor).collect();
        let mut threads = 0_u16;
        for place in used {
            let of = &self.model.executors[place];
            let name = names.unique(&of.name, &[&self.process(of.process)]);
            let mut executor = Executor::new(&name);
            executor.threads = of.threads.clamp(1, THREADS);
            threads = threads.saturating_add(executor.threads);
            if policy::by_name(&of.policy).is_ok() {
                executor.policy.clone_from(&of.policy);
            } else {
                let remark = format!("Its policy is `{}`, which system files do not have.", of.policy);
                self.remarks.add("executor", self.scenario.executors.len(), remark);
            }
            self.scenario.executors.push(executor);
            added.insert(place, name);
        }
        if threads > CORES {
            self.scenario.cores = Some(CORES);
        }
        added
    }

    /// Adds the groups. Returns the name of each callback's group.
    fn groups(&mut self, executors: &BTreeMap<usize, String>) -> Vec<String> {
        let mut names = Names::default();
        let mut added: BTreeMap<(usize, &str, bool), String> = BTreeMap::new();
        let mut groups = Vec::new();
        for callback in &self.callbacks {
            let of = &self.model.callbacks[*callback];
            let executor = &executors[&of.executor];
            let name = added.entry((of.executor, &of.group, of.excludes)).or_insert_with(|| {
                let name = names.unique(&of.group, &[executor]);
                let mut group = Group::new(&name, executor);
                if !of.excludes {
                    group.kind = GroupKind::Reentrant;
                }
                self.scenario.groups.push(group);
                name
            });
            groups.push(name.clone());
        }
        groups
    }

    /// Adds the callbacks, without their messages.
    fn callbacks(&mut self, groups: &[String]) {
        let origin = self.origin();
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        for callback in &self.callbacks {
            *count.entry(&self.model.callbacks[*callback].name).or_default() += 1;
        }
        for (place, callback) in self.callbacks.clone().into_iter().enumerate() {
            let of = &self.model.callbacks[callback];
            let executor = &self.model.executors[of.executor].name;
            let process = self.process(of.process);
            // Callbacks with the same name all say whose they are.
            let name = match count[of.name.as_str()] {
                1 => self.names.unique(&of.name, &[executor, &process]),
                _ if self.model.processes.len() > 1 => {
                    self.names.unique(&format!("{} ({executor}, {process})", of.name), &[])
                }
                _ => self.names.unique(&format!("{} ({executor})", of.name), &[]),
            };
            let seen = &self.seen[place];
            let kind = match of.kind {
                EntityKind::Waitable if !seen.takes.is_empty() => EntityKind::Subscription,
                kind => kind,
            };
            let mut added = Callback::new(name, kind, &groups[place]);
            added.priority = Some(of.priority);
            added.deadline = of.deadline_ns.map(Duration::from_nanos);
            let executions: Vec<ExecutionTime> =
                seen.executions.iter().map(|times| times.as_execution(self.options)).collect();
            let mut executions = executions.into_iter();
            added.execution = executions.next().unwrap_or_default();
            added.awaits =
                seen.waits.iter().zip(executions).map(|(wait, run)| Await::new(wait.as_wait(), run)).collect();
            added.releases_group_at_await = added.is_async() && self.lends_group(callback);
            if kind == EntityKind::Timer {
                added.period = of.period_ns.filter(|period| *period > 0).map(Duration::from_nanos);
                added.offset = self.offset(callback, origin);
                if added.offset == added.period {
                    added.offset = None;
                }
            } else {
                added.depth = seen.depth.map_or(added.depth, |depth| depth.clamp(1, DEPTH) as u32);
            }
            let what = if seen.is_cpu_time { "Processor time" } else { "Time" };
            let told: Vec<String> = seen.executions.iter().take(PARTS).map(Times::told).collect();
            let mut told = format!("{what} of {}", told.join("; after an await, "));
            if seen.executions.len() > PARTS {
                told += &format!("; and so on for {}", plural(seen.waits.len(), "await"));
            }
            let longest = |times: Option<u64>| duration::format(readable(times.unwrap_or(0)));
            let ended = || of.activations.iter().map(|place| &self.model.activations[*place]);
            told += &format!(". Response: max {}.", longest(ended().filter_map(|one| one.response_ns()).max()));
            self.remarks.add("callback", place, told);
            if of.overruns > 0 {
                let due = plural(of.overruns as usize, "due time");
                self.remarks.add("callback", place, format!("It skipped {due}."));
            }
            self.scenario.callbacks.push(added);
        }
        let span = self.model.span.1.saturating_sub(self.model.span.0);
        self.scenario.duration = Duration::from_millis(span.div_ceil(1_000_000).max(1));
        let names: BTreeSet<&str> = self.model.processes.iter().map(|process| process.name.as_str()).collect();
        let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).take(5).collect();
        self.scenario.name =
            if names.is_empty() { String::new() } else { Names::default().unique(&names.join(", "), &[]) };
    }

    /// Returns the time from which offsets of timers and arrivals count, in nanoseconds of the steady clock: the
    /// earliest time that lies one period before the first due time of a timer, or the beginning of the recording if
    /// there are no timers.
    pub(crate) fn origin(&self) -> u64 {
        let due = |(callback, seen): (&usize, &Seen)| {
            let of = &self.model.callbacks[*callback];
            let period = of.period_ns.filter(|_| of.kind == EntityKind::Timer)?;
            Some(seen.releases.first()?.saturating_sub(period))
        };
        let first = self.callbacks.iter().zip(&self.seen).filter_map(due).min();
        first.unwrap_or(self.model.span.0)
    }

    /// Returns the time from the origin to a timer's first due time, less whole periods: above zero, and at most one
    /// period. Returns the whole time for a timer without a period, and `None` for one that was never released.
    /// `callback` is the place in the model.
    fn offset(&self, callback: usize, origin: u64) -> Option<Duration> {
        let of = &self.model.callbacks[callback];
        let first = self.seen[self.places[&callback]].releases.first()?.saturating_sub(origin);
        Some(Duration::from_nanos(match of.period_ns.filter(|period| *period > 0) {
            Some(period) => (first + period - 1) % period + 1,
            None => first,
        }))
    }

    /// Returns true if the callback releases its group at awaits: another activation ran in the group while one of this
    /// callback awaited something.
    fn lends_group(&self, callback: usize) -> bool {
        let of = &self.model.callbacks[callback];
        if !of.excludes {
            return false;
        }
        let same = |other: &&rospin_trace::model::Activation| {
            let other = &self.model.callbacks[other.callback];
            other.executor == of.executor && other.group == of.group && other.excludes
        };
        let mut starts = Vec::new();
        for (place, activation) in self.model.activations.iter().enumerate().filter(|(_, one)| same(one)) {
            starts.extend(activation.segments.iter().map(|segment| (segment.start_ns, place)));
        }
        starts.sort_unstable();
        of.activations.iter().any(|place| {
            self.model.activations[*place].segments.windows(2).any(|pair| {
                let from = starts.partition_point(|(start, _)| *start < pair[0].end_ns);
                let inside = starts[from..].iter().take_while(|(start, _)| *start < pair[1].start_ns);
                inside.into_iter().any(|(_, other)| other != place)
            })
        })
    }

    /// Adds the chains: the ways from sources to sinks, at most [`graph::CHAINS`]. Their measured latencies become
    /// remarks.
    fn chains(&mut self) {
        let (ways, is_cut) = graph::ways(&graph::edges(&self.scenario));
        self.scenario.chains = graph::chains(&self.scenario, &ways);
        let mut latencies = BTreeMap::new();
        for chain in runs_of_chains(self.model) {
            let way: Option<Vec<usize>> = chain.callbacks.iter().map(|of| self.places.get(of).copied()).collect();
            let latency = Figures::of(chain.latencies_ns(self.model));
            latencies.extend(way.zip(latency));
        }
        for (place, way) in ways.iter().enumerate() {
            let Some(Figures { count, min_ns, mean_ns, max_ns, .. }) = latencies.get(way) else { continue };
            let [min, mean, max] = [*min_ns, *mean_ns as u64, *max_ns].map(|ns| duration::format(readable(ns)));
            self.remarks.add(
                "chain",
                place,
                format!("Latency of {}: min {min}, mean {mean}, max {max}.", plural(*count, "run")),
            );
        }
        if is_cut {
            let remark = format!("There are more ways of messages than the {} below.", ways.len());
            self.remarks.add("chain", 0, remark);
        }
    }

    /// Writes the remarks at the top.
    fn top(&mut self) {
        let model = self.model;
        let seconds = model.span.1.saturating_sub(model.span.0) as f64 / 1e9;
        let processes: Vec<String> = (0..model.processes.len()).take(LISTED).map(|one| self.process(one)).collect();
        let mut learnt = format!(
            "Learnt by `rospin trace model` from {} events of {} in {seconds:.3} s.",
            model.events,
            processes.join(", ")
        );
        if model.dropped > 0 {
            learnt += &format!(
                " {} events are missing, because buffers were full: the longest runs and some messages may be among \
                 them. Record with a larger --buffer.",
                model.dropped
            );
        }
        self.remarks.top.push(learnt);
        let Options { margin, percentile, rare, .. } = self.options;
        let which = match percentile {
            100.0 => "the longest of each callback".to_owned(),
            percentile => format!("the one that {percentile} % of each callback's activations do not exceed"),
        };
        let times = if self.seen.iter().all(|seen| seen.is_cpu_time) {
            "Execution times are processor time"
        } else {
            "Execution times last from start to end, also while the kernel ran something else (`rospin trace record \
             --cpu` records processor time)"
        };
        self.remarks
            .top
            .push(format!("{times}: {which}, and {margin} % more. What was measured stands above each callback."));
        self.remarks.top.push(format!(
            "A recording does not tell what did not happen: branches that no activation took, and messages that fewer \
             than {rare} % of a callback's activations sent are only remarks here. It knows neither locks, nor cores \
             and OS priorities of executors, nor deadlines of chains, nor how late a missed due time may be \
             (`overrun`): add them."
        ));
        if !self.idle.is_empty() {
            let mut names: Vec<&str> = self.idle.iter().map(|of| self.model.callbacks[*of].name.as_str()).collect();
            names.sort_unstable();
            let more = names.len().saturating_sub(LISTED);
            names.truncate(LISTED);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            self.remarks
                .top
                .push(format!("Left out, because they never ran to their end: {}{more}.", names.join(", ")));
        }
        if self.internals.0 > 0 {
            let (callbacks, runs) = self.internals;
            self.remarks.top.push(format!(
                "Left out, because every node has them: {callbacks} callbacks of parameters, types and logs, which \
                 ran {runs} times; --internals has them, too."
            ));
        }
    }
}

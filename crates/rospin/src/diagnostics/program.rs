//! The task that tells of the whole program.

use std::collections::BTreeMap;

use rospin_engine::{Context, ExecutorHandle};
use rospin_node::Ros;
use rospin_trace::monitor::Monitor;

use super::{Level, Status};

/// The most callbacks that a message names.
const NAMED_MAX: usize = 3;

/// Program whose losses, missed deadlines and violations [`Updater::add_program`](super::Updater::add_program) reports.
/// `&Ros` converts into one.
///
/// | level | since the last report, or the program's start |
/// | --- | --- |
/// | `Error` | a callback missed its deadline, or the monitor found a violation |
/// | `Warn` | an item was lost; or threads lack settings, for as long as they do |
/// | `Ok` | nothing of these |
///
/// Values are the totals by callback, or chain, and what happened to it: `controller/steer: queue full`. What is new
/// has a value of its own with ` (new)` after its key.
#[derive(Debug)]
pub struct Program {
    context: Context,
    executors: Vec<ExecutorHandle>,
    monitor: Option<Monitor>,
}

impl Program {
    /// Creates a program of all that is in a context. The threads of [`executor`](Self::executor)s must be named
    /// besides.
    #[must_use]
    pub fn new(context: &Context) -> Self {
        Self { context: context.clone(), executors: Vec::new(), monitor: None }
    }

    /// Adds an executor, so that settings that its threads could not have are reported.
    #[must_use]
    pub fn executor(mut self, executor: &ExecutorHandle) -> Self {
        self.executors.push(executor.clone());
        self
    }

    /// Sets the monitor, in place of [the process's](crate::monitoring::monitor).
    #[must_use]
    pub fn monitor(mut self, monitor: &Monitor) -> Self {
        self.monitor = Some(monitor.clone());
        self
    }

    pub(super) fn into_task(self) -> impl FnMut(&mut Status) + Send + 'static {
        let mut lost = Tally::default();
        let mut bad = Tally::default();
        move |status| {
            status.summary(Level::Ok, "no losses, no missed deadlines");
            let misses = self.context.missed_deadlines().into_iter();
            let misses = misses.map(|miss| (miss.entity, "missed deadline".to_owned(), miss.count));
            let counts = self.monitor.clone().or_else(crate::monitoring::monitor).map(|monitor| monitor.counts());
            let violations = counts.into_iter().flatten();
            let violations =
                violations.map(|count| (count.name, format!("violation, {}", count.kind.as_str()), count.count));
            bad.report(Level::Error, misses.chain(violations), status);
            let losses = self.context.losses().into_iter();
            let losses = losses.map(|loss| (loss.entity, loss.cause.to_string(), loss.count));
            lost.report(Level::Warn, losses, status);
            for executor in &self.executors {
                report_threads(executor, status);
            }
        }
    }
}

impl From<&Ros> for Program {
    /// Creates the program of all that is in the context, with the threads of the main executor.
    fn from(ros: &Ros) -> Self {
        Self::new(ros.context()).executor(&ros.executor().handle())
    }
}

/// Adds the settings that threads of the executor could not have.
fn report_threads(executor: &ExecutorHandle, status: &mut Status) {
    for report in executor.thread_reports() {
        for shortfall in &report.shortfalls {
            status.add(format!("{}/{}: not {}", executor.name(), report.name, shortfall.asked), &shortfall.reason);
        }
        if !report.shortfalls.is_empty() {
            status.merge_summary(Level::Warn, format!("thread {} lacks settings", report.name));
        }
    }
}

/// The totals of the last report, by what happened and by the name of whom it happened to.
#[derive(Default)]
struct Tally(BTreeMap<String, BTreeMap<String, u64>>);

impl Tally {
    /// Adds the totals, of which each has a name and what happened, to the status, and what is new since the last call,
    /// of which the summary tells.
    fn report(&mut self, level: Level, totals: impl Iterator<Item = (String, String, u64)>, status: &mut Status) {
        let mut news = Vec::new();
        let mut now: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        for (name, what, total) in totals {
            *now.entry(what).or_default().entry(name).or_default() += total;
        }
        for (what, totals) in &now {
            let of = |totals: &BTreeMap<String, u64>, name: &String| totals.get(name).copied().unwrap_or(0);
            let none = BTreeMap::new();
            let old = self.0.get(what).unwrap_or(&none);
            // A callback that is gone and had no name of its own is counted under its group's name from then on. Such
            // counts are not new: they are missing at another name.
            let mut moved: u64 = old.iter().map(|(name, total)| total.saturating_sub(of(totals, name))).sum();
            for (name, total) in totals {
                let key = format!("{name}: {what}");
                status.add(key.as_str(), total);
                let more = total.saturating_sub(of(old, name));
                let new = more.saturating_sub(moved);
                moved -= more - new;
                if new > 0 {
                    status.add(format!("{key} (new)"), new);
                    news.push(format!("{key} ({new})"));
                }
            }
        }
        self.0 = now;
        if news.is_empty() {
            return;
        }
        let more = news.len().saturating_sub(NAMED_MAX);
        news.truncate(NAMED_MAX);
        let mut message = news.join(", ");
        if more > 0 {
            message.push_str(&format!(" and {more} more"));
        }
        status.merge_summary(level, message);
    }
}

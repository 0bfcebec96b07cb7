//! Views: the activity of a program in an interval, as data to be shown.

use std::collections::HashMap;

use serde::Serialize;

use super::histogram::{Histogram, Summary};
use super::{Count, Live, MissView, Place, SendView, Waits, Worst, cause};
use crate::model::Process;
use crate::overdue::{Overdue, Told};

/// Activity of a program in an interval.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct View {
    /// The program.
    pub process: Process,
    /// The length of the interval.
    pub interval_ns: u64,
    /// The end of the interval on the steady clock.
    pub end_ns: u64,
    /// The number of events.
    pub events: u64,
    /// The number of events since the program is watched that are missing, because buffers of the program were full.
    pub dropped_total: u64,
    /// Its executors.
    pub executors: Vec<ExecutorView>,
    /// The threads that recorded events.
    pub threads: Vec<ThreadView>,
    /// Its callbacks.
    pub callbacks: Vec<CallbackView>,
    /// Its queues.
    pub queues: Vec<QueueView>,
    /// Its losses since it is watched.
    pub losses: Vec<LossView>,
    /// Callbacks that should have run by now and have not.
    pub overdue: Vec<OverdueView>,
    /// Topics to which its callbacks published in the interval, or did before.
    pub sends: Vec<SendView>,
    /// Deadlines missed in the interval by activations that ended: the last hundred of them, in the order of time.
    pub misses: Vec<MissView>,
    /// Waits for other callbacks, if [`Live::explain_waits`] asked for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
}

/// A callback that should have run by now and has not.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct OverdueView {
    /// Its place.
    pub place: Place,
    /// Its name.
    pub callback: String,
    /// The nanoseconds for which it has not run.
    pub for_ns: u64,
    /// True if it may not have run for longer: it has not since the program is watched.
    pub is_at_least: bool,
    /// The period of a timer, or else the deadline.
    pub limit_ns: Option<u64>,
    /// The callback that kept it from running for most of the time.
    pub culprit: Option<String>,
    /// All of it as a sentence without its full stop.
    pub text: String,
}

/// An executor.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ExecutorView {
    /// Its number in events.
    pub executor: u16,
    /// Its name.
    pub name: String,
    /// The name of its policy.
    pub policy: String,
    /// The number of its threads.
    pub threads: u16,
    /// The part of its threads' time in which they ran callbacks.
    pub utilisation: f64,
}

/// A thread.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ThreadView {
    /// Its number in the kernel.
    pub kernel_id: u32,
    /// Its name in the kernel.
    pub name: String,
    /// The name of the executor whose callbacks it runs.
    pub executor: Option<String>,
    /// The part of its time in which it ran callbacks.
    pub utilisation: f64,
}

/// A callback.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct CallbackView {
    /// Its place, which identifies it within the program.
    pub place: Place,
    /// Its name.
    pub name: String,
    /// The name of its executor.
    pub executor: String,
    /// The name of its group.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its priority.
    pub priority: u32,
    /// The time from release to end that it should not exceed.
    pub deadline_ns: Option<u64>,
    /// The period of a timer.
    pub period_ns: Option<u64>,
    /// The number of its activations that ended in the interval.
    pub runs: u64,
    /// The same since it is watched.
    pub runs_total: u64,
    /// Activations in a second.
    pub rate_hz: f64,
    /// The part of a thread's time that it took.
    pub utilisation: f64,
    /// Its execution times in the interval.
    pub execution: Option<Summary>,
    /// The times from release to end in the interval.
    pub response: Option<Summary>,
    /// The longest time from release to end since it is watched.
    pub response_max_total_ns: Option<u64>,
    /// The time for which the activation that was released last has waited for a thread; `None` if none waits.
    pub waiting_ns: Option<u64>,
    /// The number of deadlines that it missed in the interval.
    pub missed: u64,
    /// The same since it is watched.
    pub missed_total: u64,
    /// The number of items that it lost in the interval.
    pub lost: u64,
    /// The same since it is watched.
    pub lost_total: u64,
    /// The number of due times that its timer skipped since it is watched.
    pub overruns_total: u64,
    /// The number of its panics and errors since it is watched.
    pub incidents_total: u64,
    /// The number of messages in its queue, and the largest number in the interval; `None` if it has no queue.
    pub queue_fill: Option<(u64, u64)>,
    /// The largest number of messages that its queue can hold.
    pub queue_depth: Option<u64>,
}

/// A queue.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct QueueView {
    /// The topic.
    pub topic: String,
    /// The callback that takes from it, if it is known.
    pub callback: Option<String>,
    /// The largest number of messages that it can hold.
    pub depth: u64,
    /// The number of messages in it, counted from when the program began to be watched.
    pub fill: u64,
    /// The largest number of messages in it in the interval.
    pub fill_max: u64,
}

/// Items that a callback lost for one cause.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LossView {
    /// The name of the callback, or the topic of a queue without one.
    pub of: String,
    /// The cause.
    pub cause: &'static str,
    /// The number of items in the interval.
    pub count: u64,
    /// The number of items since the program is watched.
    pub total: u64,
}

/// Details of a callback that its view does not have.
#[derive(Clone, PartialEq, Debug)]
pub struct Detail {
    /// Its execution times since it is watched.
    pub execution: Histogram,
    /// The times from release to end since it is watched.
    pub response: Histogram,
    /// Its worst activations of the last minute: the longest response first.
    pub worst: Vec<Worst>,
    /// Its losses by cause.
    pub losses: Vec<LossView>,
}

impl Live {
    /// Ends the interval at `end_ns` on the steady clock, and returns what happened in it.
    pub fn view(&mut self, end_ns: u64) -> View {
        let interval_ns = self.begun.map_or(0, |begun| end_ns.saturating_sub(begun));
        self.begun = Some(end_ns);
        self.count_running(end_ns);
        let part = |busy_ns: u64| busy_ns as f64 / interval_ns.max(1) as f64;
        let mut view = View {
            process: self.process.clone(),
            interval_ns,
            end_ns,
            events: std::mem::take(&mut self.events.now),
            dropped_total: self.dropped,
            ..View::default()
        };
        for (number, executor) in &self.executors {
            let busy =
                self.threads.values().filter(|thread| thread.executor == Some(*number)).map(|of| part(of.busy_ns));
            view.executors.push(ExecutorView {
                executor: *number,
                name: executor.name.clone(),
                policy: executor.policy.clone(),
                threads: executor.threads,
                utilisation: busy.sum::<f64>() / f64::from(executor.threads.max(1)),
            });
        }
        for thread in self.threads.values_mut() {
            let executor = thread.executor.and_then(|number| self.executors.get(&number));
            view.threads.push(ThreadView {
                kernel_id: thread.kernel_id,
                name: thread.name.clone(),
                executor: executor.map(|executor| executor.name.clone()),
                utilisation: part(std::mem::take(&mut thread.busy_ns)),
            });
        }
        view.losses = self.losses(None);
        view.overdue = self.watch.overdue(end_ns).iter().filter_map(|one| self.overdue_view(one)).collect();
        view.waits = self.waits_view(end_ns);
        view.misses = self.misses_view();
        view.sends = self.sends_view(interval_ns);
        view.callbacks = self.callback_views(interval_ns, end_ns);
        for queue in self.queues.values_mut() {
            let callback = self.accounts.get(&queue.account).and_then(|place| self.callbacks.get(place));
            let fill = queue.fill.level();
            view.queues.push(QueueView {
                topic: queue.topic.clone(),
                callback: callback.map(|callback| callback.name.clone()),
                depth: queue.fill.depth(),
                fill,
                fill_max: std::mem::replace(&mut queue.fill_max, fill),
            });
        }
        for count in self.losses.values_mut() {
            count.now = 0;
        }
        view
    }

    /// Returns the details of a callback; `None` if no callback has that place.
    #[must_use]
    pub fn detail(&self, place: Place) -> Option<Detail> {
        let callback = self.callbacks.get(&place)?;
        Some(Detail {
            execution: callback.execution.total.clone(),
            response: callback.response.total.clone(),
            worst: callback.worst.clone(),
            losses: self.losses(Some(callback.account)),
        })
    }

    /// Returns the view of a callback that does not run; `None` if it has no name.
    fn overdue_view(&self, one: &Overdue) -> Option<OverdueView> {
        let place = super::place(one.of.0, one.of.1);
        let callback = self.callbacks.get(&place)?.name.clone();
        let by = one.culprit.and_then(|(executor, entity)| self.callbacks.get(&super::place(executor, entity)));
        let culprit = by.map(|by| by.name.clone());
        let &Overdue { kind, for_ns, is_at_least, limit_ns, reason, .. } = one;
        let told = Told { kind, for_ns, is_at_least, limit_ns, reason, culprit: culprit.as_deref() };
        let text = format!("{callback} {}", told.text());
        Some(OverdueView { place, callback, for_ns, is_at_least, limit_ns, culprit, text })
    }

    /// Adds the time of segments that threads still run.
    fn count_running(&mut self, end_ns: u64) {
        for thread in self.threads.values_mut() {
            let Some(running) = &mut thread.running else { continue };
            let busy = end_ns.saturating_sub(running.counted_ns);
            running.counted_ns = running.counted_ns.max(end_ns);
            thread.busy_ns = thread.busy_ns.saturating_add(busy);
            if let Some(callback) = self.callbacks.get_mut(&super::place(running.step.executor, running.step.entity)) {
                callback.busy_ns = callback.busy_ns.saturating_add(busy);
            }
        }
    }

    fn losses(&self, account: Option<u64>) -> Vec<LossView> {
        let wanted = self.losses.iter().filter(|((of, _), _)| account.is_none_or(|account| account == *of));
        let view = |(&(account, number), count): (&(u64, u8), &Count)| LossView {
            of: self.name_of(account),
            cause: cause(number),
            count: count.now,
            total: count.total,
        };
        wanted.map(view).collect()
    }

    /// Returns the name of the callback with that account, or else the topic of the queue.
    fn name_of(&self, account: u64) -> String {
        let callback = self.accounts.get(&account).and_then(|place| self.callbacks.get(place));
        let queue = || self.queues.values().find(|queue| queue.account == account);
        callback
            .map(|callback| callback.name.clone())
            .or_else(|| queue().map(|queue| queue.topic.clone()))
            .unwrap_or_default()
    }

    fn callback_views(&mut self, interval_ns: u64, end_ns: u64) -> Vec<CallbackView> {
        let mut lost: HashMap<u64, Count> = HashMap::new();
        for ((account, _), count) in &self.losses {
            let of = lost.entry(*account).or_default();
            of.now = of.now.saturating_add(count.now);
            of.total = of.total.saturating_add(count.total);
        }
        let queues = self.queues.values().map(|queue| (queue.account, queue));
        let queues: HashMap<_, _> = queues.collect();
        let seconds = interval_ns.max(1) as f64 / 1e9;
        let executors = &self.executors;
        let mut waiting: HashMap<Place, (u64, bool)> = HashMap::new();
        for ((executor, entity), release, deadline) in self.watch.pending() {
            let is_late = deadline.is_some_and(|deadline| end_ns > deadline);
            waiting.insert(super::place(executor, entity), (end_ns.saturating_sub(release), is_late));
        }
        let view = |(place, of): (&Place, &mut super::Callback)| {
            let runs = std::mem::take(&mut of.runs.now);
            let lost = lost.get(&of.account).copied().unwrap_or_default();
            let queue = queues.get(&of.account);
            let view = CallbackView {
                place: *place,
                name: of.name.clone(),
                executor: executors.get(&place.0).map_or_else(String::new, |executor| executor.name.clone()),
                group: of.group.clone(),
                kind: of.kind.clone(),
                priority: of.priority,
                deadline_ns: of.deadline_ns,
                period_ns: of.period_ns,
                runs,
                runs_total: of.runs.total,
                rate_hz: runs as f64 / seconds,
                utilisation: std::mem::take(&mut of.busy_ns) as f64 / interval_ns.max(1) as f64,
                execution: of.execution.now.summary(),
                response: of.response.now.summary(),
                response_max_total_ns: of.response.total.summary().map(|summary| summary.max_ns),
                waiting_ns: waiting.get(place).map(|(ns, _)| *ns),
                missed: std::mem::take(&mut of.missed.now),
                // A callback that waits beyond its deadline has missed it already.
                missed_total: of.missed.total + u64::from(waiting.get(place).is_some_and(|(_, is_late)| *is_late)),
                lost: lost.now,
                lost_total: lost.total,
                overruns_total: of.overruns.total,
                incidents_total: of.incidents.total,
                queue_fill: queue.map(|queue| (queue.fill.level(), queue.fill_max)),
                queue_depth: queue.map(|queue| queue.fill.depth()),
            };
            of.execution.now.clear();
            of.response.now.clear();
            view
        };
        self.callbacks.iter_mut().map(view).collect()
    }
}

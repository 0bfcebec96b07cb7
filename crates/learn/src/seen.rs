//! Everything that was seen of one callback.

use std::collections::{BTreeMap, BTreeSet};

use rospin_trace::Model;
use rospin_trace::model::Activation;

use crate::execution::Times;
use crate::topics::{Topic, Topics};

/// The largest number of awaits that are told apart. Execution after the last of them counts as one.
const AWAITS: usize = 16;

/// A topic, and the queue to which a message of it went; `None` stands for a middleware.
type Channel = (Topic, Option<usize>);

/// Publications of a callback on a topic.
#[derive(Clone, Debug, Default)]
pub(crate) struct Published {
    /// For each number of messages, the number of activations that published so many.
    by_count: BTreeMap<usize, usize>,
}

impl Published {
    /// Returns the number of activations that published.
    pub(crate) fn runs(&self) -> usize {
        self.by_count.values().sum()
    }

    /// Returns the largest number of messages such that at least `least` activations published so many each; 0 if fewer
    /// published at all.
    pub(crate) fn messages(&self, least: usize) -> usize {
        let mut runs = 0;
        let counts = self.by_count.iter().rev();
        let mut enough = counts.filter_map(|(count, more)| {
            runs += more;
            if runs >= least.max(1) { Some(*count) } else { None }
        });
        enough.next().unwrap_or(0)
    }
}

/// Observations of one callback.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// The number of activations that ended.
    pub(crate) runs: usize,
    /// Execution times up to the first await, after it, and so on.
    pub(crate) executions: Vec<Times>,
    /// Durations of the awaits.
    pub(crate) waits: Vec<Times>,
    /// True if the execution times are processor time.
    pub(crate) is_cpu_time: bool,
    pub(crate) publishes: BTreeMap<Topic, Published>,
    pub(crate) takes: BTreeSet<Topic>,
    /// True if an activation took messages of several topics.
    pub(crate) takes_together: bool,
    /// The depth of its queue, if it is known; the largest one if it has several queues.
    pub(crate) depth: Option<u64>,
    /// Releases of activations for which no message is known, in order.
    pub(crate) without_message: Vec<u64>,
    /// All releases, in order.
    pub(crate) releases: Vec<u64>,
}

impl Seen {
    /// Returns what was seen of the callback.
    pub(crate) fn of(model: &Model, topics: &Topics, callback: usize) -> Self {
        let of = &model.callbacks[callback];
        let activations = || of.activations.iter().map(|place| &model.activations[*place]);
        let ended: Vec<&Activation> = activations().filter(|one| one.end_ns.is_some()).collect();
        let mut seen = Self { runs: ended.len(), ..Self::default() };
        seen.is_cpu_time = ended.iter().flat_map(|one| &one.segments).all(|segment| segment.cpu_ns.is_some());
        seen.times(&ended);
        for activation in activations() {
            seen.publications(model, topics, of.process, activation);
        }
        seen.takes = of.topics.iter().map(|topic| topics.topic(topic, of.process)).collect();
        for queue in model.queues.iter().filter(|queue| queue.callback == Some(callback)) {
            seen.takes.insert(topics.topic(&queue.topic, queue.process));
            seen.depth = Some(seen.depth.map_or(queue.depth, |depth| depth.max(queue.depth)));
        }
        seen.takes_together = activations().any(|one| {
            let mut inputs = one.inputs.iter().map(|message| &model.messages[*message].topic);
            let first = inputs.next();
            inputs.any(|topic| Some(topic) != first)
        });
        let inputs = activations().flat_map(|one| &one.inputs);
        let queues = inputs.filter_map(|message| model.messages[*message].queue);
        let depth = queues.map(|queue| model.queues[queue].depth).max();
        seen.depth = seen.depth.max(depth);
        seen.releases = activations().map(|one| one.release_ns).collect();
        seen.releases.sort_unstable();
        seen.without_message = activations().filter(|one| one.inputs.is_empty()).map(|one| one.release_ns).collect();
        seen.without_message.sort_unstable();
        seen
    }

    fn times(&mut self, ended: &[&Activation]) {
        let parts = ended.iter().map(|one| one.segments.len()).max().unwrap_or(0).clamp(1, AWAITS + 1);
        let mut executions = vec![Vec::new(); parts];
        let mut waits = vec![Vec::new(); parts - 1];
        for activation in ended {
            let mut times = vec![0; parts];
            for (place, segment) in activation.segments.iter().enumerate() {
                let wall = segment.end_ns - segment.start_ns;
                let time = segment.cpu_ns.filter(|_| self.is_cpu_time).unwrap_or(wall);
                times[place.min(parts - 1)] += time;
            }
            let parts_of_this = activation.segments.len().min(parts);
            for (time, all) in times.iter().zip(&mut executions).take(parts_of_this) {
                all.push(*time);
            }
            for (pair, all) in activation.segments.windows(2).zip(&mut waits) {
                all.push(pair[1].release_ns.saturating_sub(pair[0].end_ns));
            }
        }
        self.executions = executions.into_iter().map(Times::of).collect();
        self.waits = waits.into_iter().map(Times::of).collect();
    }

    fn publications(&mut self, model: &Model, topics: &Topics, process: usize, activation: &Activation) {
        // A message to several queues, or to a queue and a middleware, is one message.
        let mut channels: BTreeMap<Channel, BTreeSet<(u64, usize)>> = BTreeMap::new();
        for place in &activation.outputs {
            let message = &model.messages[*place];
            if message.topic.is_empty() {
                continue;
            }
            let topic = topics.topic(&message.topic, process);
            // A message through a middleware has an entry for each subscription that took it, with the same time.
            let entry = if message.queue.is_some() { *place } else { 0 };
            channels.entry((topic, message.queue)).or_default().insert((message.published_ns, entry));
        }
        let mut counts: BTreeMap<Topic, usize> = BTreeMap::new();
        for ((topic, _), messages) in channels {
            let count = counts.entry(topic).or_default();
            *count = messages.len().max(*count);
        }
        for (topic, count) in counts {
            *self.publishes.entry(topic).or_default().by_count.entry(count).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_messages_do_not_count() {
        let published = Published { by_count: [(1, 97), (2, 3)].into() };
        assert_eq!(published.runs(), 100);
        assert_eq!([0, 3, 4, 100, 101].map(|least| published.messages(least)), [2, 2, 1, 1, 0]);
        assert_eq!(Published::default().messages(0), 0);
    }
}

//! Messages of a system that is learnt: topics, who publishes and who takes, calls, and arrivals from outside.

use std::collections::{BTreeMap, BTreeSet};

use rospin_core::EntityKind;
use rospin_scenario::{ExecutionTime, Link, Release, duration};

use crate::arrivals::pattern;
use crate::callers::Callers;
use crate::execution::{plural, readable};
use crate::graph;
use crate::learner::Learner;
use crate::names::Names;
use crate::topics::Topic;

impl Learner<'_> {
    /// Adds the topics that subscriptions take or callbacks publish often enough, with names that no callback has.
    pub(crate) fn name_topics(&mut self) {
        let mut names = Names::default();
        for callback in &self.scenario.callbacks {
            names.unique(&callback.name, &[]);
        }
        let mut all: BTreeSet<&Topic> = BTreeSet::new();
        for (place, seen) in self.seen.iter().enumerate() {
            let enough = self.enough(place);
            let published = seen.publishes.iter().filter(|(_, published)| published.messages(enough) > 0);
            all.extend(published.map(|(topic, _)| topic));
            if self.scenario.callbacks[place].kind == EntityKind::Subscription {
                all.extend(&seen.takes);
            }
        }
        for topic in all {
            let name = names.unique(&topic.name, &["topic"]);
            self.scenario.topics.push(name.clone());
            self.topic_names.insert(topic.clone(), name);
        }
    }

    /// Sets what subscriptions take: one topic, or several that they join. Where each activation takes from one of
    /// several topics, the messages are addressed to the subscription's own name.
    pub(crate) fn inputs(&mut self) {
        for (place, seen) in self.seen.iter().enumerate() {
            let takes: Vec<&String> = seen.takes.iter().filter_map(|topic| self.topic_names.get(topic)).collect();
            let callback = &mut self.scenario.callbacks[place];
            if callback.kind != EntityKind::Subscription {
                if !seen.takes.is_empty() {
                    let topics: Vec<&str> = seen.takes.iter().map(|topic| topic.name.as_str()).collect();
                    let remark = format!("It also takes messages of {}, which do not release it.", topics.join(", "));
                    self.remarks.add("callback", place, remark);
                }
                continue;
            }
            match &takes[..] {
                [] => {}
                [topic] => callback.subscribes = Some((*topic).clone()),
                _ if seen.takes_together => {
                    callback.joins = takes.into_iter().cloned().collect();
                    let remark = "It was seen to take messages of all its topics: a synchronizer. Runs that complete \
                                  no set count as execution times, too.";
                    self.remarks.add("callback", place, remark);
                }
                _ => {
                    let topics: Vec<&str> = takes.iter().map(|topic| topic.as_str()).collect();
                    let remark = format!("It takes messages of {}, one in a run.", topics.join(", "));
                    self.remarks.add("callback", place, remark);
                }
            }
        }
    }

    /// Returns the addresses at which the messages of a topic are published: the topic, and subscriptions of several
    /// topics that do not join them.
    fn addresses(&self, topic: &Topic) -> Vec<String> {
        let mut addresses: Vec<String> = self.topic_names.get(topic).cloned().into_iter().collect();
        for (callback, seen) in self.scenario.callbacks.iter().zip(&self.seen) {
            let is_own = callback.subscribes.is_none() && callback.joins.is_empty();
            if callback.kind == EntityKind::Subscription && is_own && seen.takes.contains(topic) {
                addresses.push(callback.name.clone());
            }
        }
        addresses
    }

    /// Sets what callbacks publish. Messages that too few activations sent become remarks.
    pub(crate) fn outputs(&mut self) {
        for place in 0..self.seen.len() {
            let runs = self.seen[place].runs;
            for (topic, published) in self.seen[place].publishes.clone() {
                let messages = published.messages(self.enough(place));
                let topic_name = &topic.name;
                let some = published.runs();
                if messages == 0 {
                    let remark = format!("Left out as rare: {some} of {runs} runs published on {topic_name}.");
                    self.remarks.add("callback", place, remark);
                    continue;
                }
                for address in self.addresses(&topic) {
                    let publishes = &mut self.scenario.callbacks[place].publishes;
                    publishes.extend(std::iter::repeat_n(address, messages));
                }
                if some < runs {
                    let remark = format!("Only {some} of {runs} runs published on {topic_name}.");
                    self.remarks.add("callback", place, remark);
                }
            }
        }
    }

    /// Has callers publish to the services, clients and waitables that they release. Releases without a caller are
    /// added as arrivals from outside.
    pub(crate) fn calls(&mut self, callers: &Callers) {
        for place in 0..self.seen.len() {
            let kind = self.scenario.callbacks[place].kind;
            if !matches!(kind, EntityKind::Service | EntityKind::Client | EntityKind::Waitable) {
                continue;
            }
            let callback = self.callbacks[place];
            let process = self.model.callbacks[callback].process;
            let releases = self.seen[place].releases.clone();
            let is_there = |other: usize| self.places.contains_key(&other);
            let (found, rest) = callers.of_releases(process, callback, &releases, is_there);
            let name = self.scenario.callbacks[place].name.clone();
            for (caller, calls) in found {
                let caller = self.places[&caller];
                let runs = self.seen[caller].runs;
                if calls < self.enough(caller) {
                    let remark = format!("Left out as rare: {calls} of {runs} runs released {name}.");
                    self.remarks.add("callback", caller, remark);
                    continue;
                }
                let each = calls.div_ceil(runs.max(1));
                self.scenario.callbacks[caller].publishes.extend(std::iter::repeat_n(name.clone(), each));
                let remark =
                    format!("It ran at {} of {name}, so that it seems to cause them.", plural(calls, "release"));
                self.remarks.add("callback", caller, remark);
            }
            if rest.len() >= self.enough(place) && !rest.is_empty() {
                let release = Release::new([name], pattern(&rest, self.origin()));
                self.remarks.add(
                    "release",
                    self.scenario.releases.len(),
                    told(&rest, "release", "without a known cause"),
                );
                self.scenario.releases.push(release);
            }
        }
    }

    /// Adds a release for each topic with messages that no callback of the system published.
    pub(crate) fn releases(&mut self) {
        // By topic and queue: a message to several queues arrives once.
        let mut times: BTreeMap<Topic, BTreeMap<Option<usize>, BTreeSet<u64>>> = BTreeMap::new();
        let mut all: BTreeMap<Topic, usize> = BTreeMap::new();
        for message in self.model.messages.iter().filter(|message| !message.topic.is_empty()) {
            let process = self.model.threads[message.thread].process;
            let topic = self.topics.topic(&message.topic, process);
            *all.entry(topic.clone()).or_default() += 1;
            let from = message.from.map(|from| self.model.activations[from].callback);
            if from.is_none_or(|from| !self.places.contains_key(&from)) {
                let of_queue = times.entry(topic).or_default().entry(message.queue).or_default();
                of_queue.insert(message.published_ns);
            }
        }
        for (topic, queues) in times {
            let Some(times) = queues.into_values().max_by_key(BTreeSet::len) else { continue };
            let heard = |address: &String| self.scenario.receivers(address).next().is_some();
            let to: Vec<String> = self.addresses(&topic).into_iter().filter(heard).collect();
            let rare = all.get(&topic).map_or(0.0, |all| *all as f64 * self.options.rare / 100.0);
            if to.is_empty() || (times.len() as f64) < rare {
                continue;
            }
            let times: Vec<u64> = times.into_iter().collect();
            self.remarks.add(
                "release",
                self.scenario.releases.len(),
                told(&times, "message", "from outside of callbacks"),
            );
            self.scenario.releases.push(Release::new(to, pattern(&times, self.origin())));
        }
    }

    /// Adds a release for each callback that nothing releases: messages of programs that were not recorded.
    pub(crate) fn release_the_rest(&mut self) {
        let edges = graph::edges(&self.scenario);
        let mut is_fed = vec![false; edges.len()];
        for receiver in edges.iter().flatten() {
            is_fed[*receiver] = true;
        }
        let fed: BTreeSet<&String> = self.scenario.callbacks.iter().flat_map(|callback| &callback.publishes).collect();
        let released: BTreeSet<&String> = self.scenario.releases.iter().flat_map(|release| &release.to).collect();
        let has = |address: &String| fed.contains(address) || released.contains(address);
        let mut missing: BTreeMap<String, &Vec<u64>> = BTreeMap::new();
        for (place, callback) in self.scenario.callbacks.iter().enumerate() {
            if callback.kind == EntityKind::Timer {
                continue;
            }
            let inputs = callback.subscribes.iter().chain(&callback.joins);
            let addresses: Vec<&String> = match callback.joins.is_empty() {
                true if is_fed[place] || inputs.clone().chain([&callback.name]).any(has) => continue,
                true => vec![callback.subscribes.as_ref().unwrap_or(&callback.name)],
                false => inputs.filter(|topic| !has(topic)).collect(),
            };
            for address in addresses {
                let seen = &self.seen[place];
                let is_outside = callback.joins.is_empty() && seen.without_message.len() * 2 > seen.runs;
                let times = if is_outside { &seen.without_message } else { &seen.releases };
                let known = missing.entry(address.clone()).or_insert(times);
                if times.len() > known.len() {
                    *known = times;
                }
            }
        }
        let origin = self.origin();
        let missing: Vec<_> = missing.into_iter().map(|(to, times)| (to, times.clone())).collect();
        for (to, times) in missing {
            self.remarks.add(
                "release",
                self.scenario.releases.len(),
                told(&times, "release", "from outside of the recording"),
            );
            self.scenario.releases.push(Release::new([to], pattern(&times, origin)));
        }
    }

    /// Adds a link for each topic between processes, with the delay from publication to release.
    pub(crate) fn links(&mut self) {
        let mut delays: BTreeMap<Topic, (u64, u64)> = BTreeMap::new();
        for message in &self.model.messages {
            let Some(from) = message.from else { continue };
            let Some((taker, _)) = message.taken else { continue };
            let [from, to] = [from, taker].map(|one| self.model.activations[one].callback);
            let [process, other] = [from, to].map(|callback| self.model.callbacks[callback].process);
            if process == other || !self.places.contains_key(&from) || !self.places.contains_key(&to) {
                continue;
            }
            let delay = self.model.activations[taker].release_ns.saturating_sub(message.published_ns);
            let (least, most) = delays.entry(self.topics.topic(&message.topic, process)).or_insert((u64::MAX, 0));
            (*least, *most) = ((*least).min(delay), (*most).max(delay));
        }
        for (topic, (least, most)) in delays {
            let to = self.addresses(&topic);
            if !to.is_empty() {
                let least = std::time::Duration::from_nanos(least);
                self.scenario.links.push(Link::new(to, ExecutionTime::Uniform(least, readable(most))));
            }
        }
    }

    /// Leaves out the message of each circle that the fewest activations [`sent`](Self::sent), because neither analysis
    /// nor simulation has circles.
    pub(crate) fn break_circles(&mut self) {
        while let Some(circle) = graph::circle(&graph::edges(&self.scenario)) {
            let links = circle.iter().zip(circle.iter().cycle().skip(1));
            let addresses = links.flat_map(|(from, to)| {
                let callback = &self.scenario.callbacks[*from];
                let leads = |address: &&String| self.scenario.receivers(address).any(|(receiver, _)| receiver == *to);
                callback
                    .publishes
                    .iter()
                    .filter(leads)
                    .map(|address| (self.sent(*from, address), *from, address.clone()))
            });
            let Some((_, from, address)) = addresses.min() else { return };
            let names: Vec<&str> = circle.iter().map(|one| self.scenario.callbacks[*one].name.as_str()).collect();
            let remark =
                format!("Left out, because it closes a circle ({}): it publishes on {address}.", names.join(" > "));
            self.scenario.callbacks[from].publishes.retain(|other| *other != address);
            self.remarks.add("callback", from, remark);
        }
    }

    /// Returns the number of activations of the callback in that place that published on the topic called `address`; 0
    /// if the address is the name of a callback.
    fn sent(&self, place: usize, address: &String) -> usize {
        let named = |topic: &Topic| self.topic_names.get(topic) == Some(address);
        let published = self.seen[place].publishes.iter().find(|(topic, _)| named(topic));
        published.map_or(0, |(_, published)| published.runs())
    }
}

/// Returns a sentence about arrivals: their number with the noun `what`, `whence` they came, and their shortest and
/// longest gap.
fn told(times: &[u64], what: &str, whence: &str) -> String {
    let what = plural(times.len(), what);
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (Some(least), Some(most)) = (gaps.iter().min(), gaps.iter().max()) else {
        return format!("{what} {whence}.");
    };
    let [least, most] = [*least, *most].map(|ns| duration::format(readable(ns)));
    format!("{what} {whence}, with gaps from {least} to {most}.")
}

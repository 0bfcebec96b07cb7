//! Creation of synchronizers.

use std::sync::Arc;

use rospin_engine::{EntityKind, SourceError};

use super::options::{SyncInput, SynchronizerOptions};
use super::set::{Inputs, MessageSet};
use super::source::{Counts, Sets};
use super::synchronizer::Synchronizer;
use super::watch::Watch;
use crate::callback::{Callback, GivesItem, Nothing};
use crate::error::TopicError;
use crate::graph::EndpointKind;
use crate::group::{Group, OwnGroup};
use crate::node::Node;
use crate::on::On;
use crate::sync::atomic::Ordering;

/// Number of messages that an input without a depth, which keeps all messages, adds to the batch of [`Sets`].
const BATCH_OF_KEEP_ALL: usize = 100;

impl<G: Group> On<G> {
    /// Creates a synchronizer: one entity that subscribes to the topics `inputs`, and whose callback gets the messages
    /// that belong together as a tuple. See [`message_filters`](crate::message_filters). A topic is a `&str`, or a
    /// [`SyncInput`] with its quality of service.
    ///
    /// A depth that a deployment file gives the synchronizer is that of each topic's queue.
    ///
    /// # Errors
    /// If a topic's or a type's name is invalid, the middleware refuses, or the group is gone.
    pub fn create_synchronizer<S, F, Form>(
        &self,
        options: SynchronizerOptions,
        inputs: impl Inputs<S>,
        callback: F,
    ) -> Result<Synchronizer, TopicError>
    where
        S: MessageSet,
        F: Callback<G, S, Nothing, Form>,
    {
        let node = self.node();
        let group = self.group();
        let mut inputs = inputs.into_inputs();
        let topics: Vec<_> = inputs.iter().map(|input| input.topic.as_str()).collect();
        let name = options.common.name_in(group, &topics.join("+"));
        if let Some(depth) = group.deployed_depth(&name) {
            for input in &mut inputs {
                input.qos = input.qos.with_depth(depth);
            }
        }
        let failures = group.failures(&name);
        let matching = options.matching(&inputs);
        let queue_size = options.queue_size();
        let mut opened = Vec::new();
        let mut matches = Vec::new();
        let mut presences = Vec::new();
        let mut seen = Vec::new();
        for (SyncInput { topic, qos, lower_bound_ns }, member) in inputs.iter().zip(S::MEMBERS) {
            let resolved = node.resolve_topic(topic)?;
            let end = (member.open)(node, topic, &resolved, qos)?;
            presences.push(node.enter(EndpointKind::Subscription, &resolved, &end.message_type, qos));
            opened.push(end.input);
            matches.push(end.matches);
            seen.push((resolved.to_string(), *lower_bound_ns));
        }
        let counts = Arc::new(Counts::new(inputs.len()));
        let watch = Watch::new(&name, queue_size, options.assumes_order(), seen.into_iter());
        let batch = inputs.iter().map(|input| input.qos.depth().unwrap_or(BATCH_OF_KEEP_ALL)).sum();
        let sets = Sets::<S>::new(opened, matching, batch, Arc::clone(&counts), watch);
        let jumped = Arc::clone(&counts);
        let clock = group.context().clock().clone();
        let reset = group.create_reset_callback(move |_| {
            jumped.jumped_at_ns.store(clock.now().as_nanos().max(1), Ordering::Release);
        });
        let reset = reset.map_err(SourceError::from)?;
        let deepest = inputs.iter().filter_map(|input| input.qos.depth()).max();
        let entity_options = options.common.into_entity_options(name, deepest);
        let entity = callback.on_source(group, EntityKind::Subscription, entity_options, sets, GivesItem(failures))?;
        Ok(Synchronizer { entity, counts, matches, _reset: reset, _presences: presences, _node: node.clone() })
    }
}

impl Node {
    /// Creates a synchronizer on the node's own group. See [`On::create_synchronizer`].
    ///
    /// # Errors
    /// Those of [`On::create_synchronizer`], and if the node's [`Ros`](crate::Ros) was dropped.
    pub fn create_synchronizer<S, F, Form>(
        &self,
        options: SynchronizerOptions,
        inputs: impl Inputs<S>,
        callback: F,
    ) -> Result<Synchronizer, TopicError>
    where
        S: MessageSet,
        F: Callback<OwnGroup, S, Nothing, Form>,
    {
        self.on(self.own_group_for_source()?).create_synchronizer(options, inputs, callback)
    }
}

//! A DDS participant: sockets and threads of the middleware, and what discovery tells them.

use std::sync::Arc;

#[cfg(feature = "security")]
use ros2_client::dds::rustdds::DomainParticipantSecurityConfigFiles;
use ros2_client::dds::rustdds::{DomainParticipantBuilder, RTPSEntity};
use rospin_engine::{Entity, EntityKind, EntityOptions, ExecutorHandle, GroupOptions};

use crate::domain::{DomainOptions, JoinError};
use crate::graph::{Feed, Nodes};
use crate::listener::Listener;
use crate::matches::{Events, Matches};

/// A participant, whose discovery is an entity of a callback group.
pub(crate) struct Participant {
    pub(crate) context: ros2_client::Context,
    pub(crate) matches: Arc<Matches>,
    _discovery: Entity,
    _nodes: Option<Entity>,
}

impl Participant {
    /// Starts one. The domain's first one listens for the graph, too.
    pub(crate) fn start(
        executor: &ExecutorHandle,
        options: &DomainOptions,
        feed: &Arc<Feed>,
        is_first: bool,
    ) -> Result<Self, JoinError> {
        let domain_id = options.domain_id;
        let mut builder = DomainParticipantBuilder::new(domain_id);
        if !options.networks.is_empty() {
            builder = builder.with_only_networks(options.networks.iter().copied());
        }
        let refused = |reason: String| JoinError::Participant { domain_id, reason };
        #[cfg(feature = "security")]
        if let Some(directory) = &options.security {
            crate::security::check(directory).map_err(refused)?;
            // Keys with a password are not supported there.
            let files = DomainParticipantSecurityConfigFiles::with_ros_default_names(directory, String::new());
            builder = builder.builtin_security(files);
        }
        let participant = builder.build().map_err(|error| refused(error.to_string()))?;
        feed.own(participant.guid());
        let listener = participant.status_listener();
        let nodes = is_first.then(|| Nodes::new(&participant, Arc::clone(feed))).transpose();
        let nodes = nodes.map_err(|error| refused(error.to_string()))?;
        let context = ros2_client::Context::from_domain_participant(participant);
        let context = context.map_err(|error| refused(error.to_string()))?;

        let matches = Arc::<Matches>::default();
        let group = executor.create_group(GroupOptions::new("discovery"), ());
        let events = Events::new(listener, Arc::clone(&matches), is_first.then(|| Arc::clone(feed)));
        let name = EntityOptions::new("discovery");
        let discovery =
            group.create_source(EntityKind::Waitable, name, Listener::new(events), |(), event| match event {})?;
        let read = |nodes| {
            let name = EntityOptions::new("discovery/nodes");
            group.create_source(EntityKind::Waitable, name, Listener::new(nodes), |(), node| match node {})
        };
        let nodes = nodes.map(read).transpose()?;
        Ok(Self { context, matches, _discovery: discovery, _nodes: nodes })
    }
}

/// Which end of a topic an entity is. Servers are at the writers' end of their service, clients at the readers'.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Writers,
    Readers,
}

impl End {
    /// Which of the two participants has this end of a topic, if the writers are in `writers`.
    pub(crate) const fn place(self, writers: usize) -> usize {
        match self {
            Self::Writers => writers,
            Self::Readers => 1 - writers,
        }
    }
}

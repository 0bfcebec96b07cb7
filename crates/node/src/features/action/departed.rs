//! The end of an action's servers: it ends the feedback of the goals that were sent to them.

use std::sync::Arc;
use std::time::Duration;

use rospin_engine::{Entity, EntityKind, Priority, Timer, TimerOptions};

use super::options::entity;
use super::server::ActionError;
use super::tracked::Goals;
use crate::graph::{Departures, EndpointKind};
use crate::group::Group;
use crate::node::Node;
use crate::qos::Qos;

/// The time between the end of a server and the end of the feedback of its goals: the server's last feedback may arrive
/// after the news that it has gone. A server that is there again after that time was only out of reach.
const GRACE: Duration = Duration::from_secs(1);

/// Watch of an action's servers for a client: two entities of the client's group.
pub(crate) struct Departed {
    _entity: Entity,
    _grace: Arc<Timer>,
}

impl Departed {
    /// Watches the publishers of the servers' status on that topic.
    pub(crate) fn watch<F: Send + 'static>(
        node: &Node,
        group: &impl Group,
        status: &str,
        name: &str,
        priority: Option<Priority>,
        goals: &Goals<F>,
    ) -> Result<Self, ActionError> {
        let mut options = TimerOptions::one_shot(GRACE).name(format!("{name}/grace"));
        if let Some(priority) = priority {
            options = options.priority(priority);
        }
        let orphans = goals.clone();
        let grace = Arc::new(group.create_inner_timer(options, move || orphans.end_orphans())?);
        grace.cancel();
        goals.set_grace(&grace);
        let departures = Departures::new(node.graph(), EndpointKind::Publisher, status);
        let common = entity(name, "server_gone", priority);
        let (options, _) = common.into_entity(format!("{name}/server_gone"), Qos::default(), |_| None);
        let orphans = goals.clone();
        let entity = group.create_inner(EntityKind::Waitable, options, departures, move |()| orphans.orphan())?;
        Ok(Self { _entity: entity, _grace: grace })
    }
}

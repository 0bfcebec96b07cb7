//! The end of an action's last server: it ends the feedback of the goals that were sent to it.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use rospin_engine::{Entity, EntityKind, Priority, Timer, TimerOptions};

use super::options::entity;
use super::parts::part;
use super::server::ActionError;
use super::tracked::Goals;
use crate::error::ServiceError;
use crate::graph::{Departures, EndpointKind};
use crate::group::Group;
use crate::node::Node;
use crate::qos::Qos;

/// The time between the end of the last server and the end of the feedback of its goals: the server's last feedback may
/// arrive after the news that it has gone. If a server is there again after that time, it has the same time once more to
/// report its goals.
const GRACE: Duration = Duration::from_secs(1);

/// Watch of an action's servers for a client: two entities of the client's group.
pub(crate) struct Departed {
    _entity: Entity,
    _grace: Arc<Timer>,
}

impl Departed {
    pub(crate) fn watch<F: Send + 'static>(
        node: &Node,
        group: &impl Group,
        action: &str,
        name: &str,
        priority: Option<Priority>,
        goals: &Goals<F>,
    ) -> Result<Self, ActionError> {
        let orphans = goals.clone();
        let mut options = TimerOptions::one_shot(GRACE).name(format!("{name}/grace"));
        if let Some(priority) = priority {
            options = options.priority(priority);
        }
        let service = node.resolve_service(&part(action, "send_goal")).map_err(ServiceError::from)?;
        let (graph, name_of_service) = (Arc::clone(node.graph()), service.clone());
        let again = Arc::<OnceLock<Weak<Timer>>>::default();
        let timer = Arc::clone(&again);
        let grace = group.create_inner_timer(options, move || {
            let is_server_there = graph.count(EndpointKind::Server, name_of_service.as_str()) > 0;
            if orphans.end_orphans(is_server_there)
                && let Some(timer) = timer.get().and_then(Weak::upgrade)
            {
                timer.reset();
            }
        });
        let grace = Arc::new(grace?);
        grace.cancel();
        let _ = again.set(Arc::downgrade(&grace));
        let departures = Departures::new(node.graph(), EndpointKind::Server, service.as_str());
        let common = entity(name, "server_gone", priority);
        let (options, _) = common.into_entity(format!("{name}/server_gone"), Qos::default(), |_| None);
        let orphans = goals.clone();
        let begins = Arc::clone(&grace);
        let entity = group.create_inner(EntityKind::Waitable, options, departures, move |()| {
            orphans.orphan();
            begins.reset();
        })?;
        Ok(Self { _entity: entity, _grace: grace })
    }
}

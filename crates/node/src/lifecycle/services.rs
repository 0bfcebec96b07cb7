//! Services through which ROS 2's tools query a managed node and request transitions.

use std::time::{Duration, Instant};

use rospin_engine::Priority;

use super::callbacks::Lifecycle;
use super::error::{LifecycleError, TransitionError};
use super::handle::LifecycleHandle;
use super::machine::{self, Ask, EDGES, Edge, State};
use super::run;
use crate::groups::ReentrantGroup;
use crate::interfaces::lifecycle_msgs as msgs;
use crate::options::ServiceOptions;
use crate::service::Service;

/// The servers of one node.
pub(super) type Services = [Service; 5];

/// Creates the servers. The one that changes the state is on the node's group, the ones that only query are on
/// `queries`.
pub(super) fn create<P: Lifecycle>(
    handle: &LifecycleHandle<P>,
    queries: &ReentrantGroup,
) -> Result<Services, LifecycleError> {
    let changed = handle.clone();
    let mut failures = Failures::default();
    let change = move |payload: &mut P, request: msgs::ChangeStateRequest| {
        let outcome = run::transition(payload, &changed, &asked(request));
        if let Err(reason) = &outcome {
            failures.tell(reason);
        }
        msgs::ChangeStateResponse { success: outcome.is_ok() }
    };
    let now = handle.clone();
    let here = handle.clone();
    let state = move |_| msgs::GetStateResponse { current_state: now.state().message() };
    let states = |_| msgs::GetAvailableStatesResponse { available_states: State::ALL.map(State::message).to_vec() };
    let transitions = move |_| described(machine::ways_from(here.state()));
    let graph = |_| described(EDGES.iter());
    Ok([
        handle.group().create_service(service("change_state"), change)?,
        queries.create_service(service("get_state"), state)?,
        queries.create_service(service("get_available_states"), states)?,
        queries.create_service(service("get_available_transitions"), transitions)?,
        queries.create_service(service("get_transition_graph"), graph)?,
    ])
}

/// The shortest time between two log records about requests that failed. Whoever sends requests decides how many fail.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Requests for transitions that failed, as the log has them.
#[derive(Default)]
struct Failures {
    /// The time of the last record.
    told_at: Option<Instant>,
    /// Number of failures since then, which have no record.
    untold: u64,
}

impl Failures {
    /// Logs the reason for which a request failed, unless another one was logged within the last second.
    fn tell(&mut self, reason: &TransitionError) {
        if self.told_at.is_some_and(|told_at| told_at.elapsed() < TELL_EVERY) {
            self.untold += 1;
            return;
        }
        self.told_at = Some(Instant::now());
        match std::mem::take(&mut self.untold) {
            0 => log::warn!(target: "rospin", "{reason}"),
            untold => log::warn!(target: "rospin", "{reason} (and {untold} further requests failed before)"),
        }
    }
}

/// Returns the options of a service of the node. It is answered also while the executor is overloaded: a node that is
/// deactivated, or shut down, may end the overload.
fn service(name: &str) -> ServiceOptions {
    ServiceOptions::new(format!("~/{name}")).priority(Priority::WAY_IN)
}

/// Returns the requested transition. A label takes precedence over a number, because a request with a label has the
/// number 0, which is also a transition's.
fn asked(request: msgs::ChangeStateRequest) -> Ask {
    let msgs::Transition { id, label } = request.transition;
    if label.is_empty() { Ask::Id(id) } else { Ask::Label(label) }
}

fn described<'a>(edges: impl Iterator<Item = &'a Edge>) -> msgs::GetAvailableTransitionsResponse {
    let describe = |edge: &Edge| msgs::TransitionDescription {
        transition: edge.message(),
        start_state: edge.start.message(),
        goal_state: edge.goal.message(),
    };
    msgs::GetAvailableTransitionsResponse { available_transitions: edges.map(describe).collect() }
}

//! What a station follows beside its robots: the graph and its matches as changes, and ends that come and go.

use std::collections::BTreeMap;
use std::time::Duration;

use rospin_node::{
    CallError, CallbackGroup, Client, EventCallback, GraphCallback, GraphChange, MatchedStatus, Node, Service,
    ServiceOptions, Subscription, SubscriptionOptions,
};

use super::super::{Awaited, Rng, Shared};
use super::Truth;
use super::robot::{Count, Ear};
use crate::in_process::{Double, Number};

/// The graph, as its changes tell it: how often each node and end is there.
pub(super) type Followed = BTreeMap<String, i64>;

pub(super) struct Watch {
    pub(super) graph: Shared<Followed>,
    pub(super) changes: GraphCallback,
    _group: CallbackGroup<()>,
}

impl Watch {
    /// Follows the graph from what it is now.
    pub(super) fn new(node: &Node) -> Self {
        let graph = Shared::<Followed>::new();
        let followed = graph.clone();
        let group = node.create_group("watch", ()).unwrap();
        let changes = node.create_graph_callback(&group, move |(), change| {
            let (name, by) = match change {
                GraphChange::NodeCame(name) => (name, 1),
                GraphChange::NodeWent(name) => (name, -1),
                GraphChange::EndpointCame(end) => (format!("{:?} {}", end.kind, end.name), 1),
                GraphChange::EndpointWent(end) => (format!("{:?} {}", end.kind, end.name), -1),
                _ => return,
            };
            followed.with(|followed| *followed.entry(name).or_default() += by);
        });
        Self { graph, changes: changes.unwrap(), _group: group }
    }
}

/// Matches of a subscription, as its event callback tells them.
pub(super) struct Matches {
    pub(super) current: Shared<Option<usize>>,
    _callback: EventCallback,
}

impl Matches {
    pub(super) fn of(node: &Node, subscription: &Subscription, truth: &Truth) -> Self {
        let current = Shared::<Option<usize>>::new();
        let (told, judged) = (current.clone(), truth.clone());
        let callback = node.create_event_callback(subscription, move |status: MatchedStatus| {
            let before = told.with(|told| told.replace(status.current)).unwrap_or_default();
            let change = status.current as isize - before as isize;
            let is_right = status.current_change == change;
            judged.with(|truth| truth.check(is_right, || format!("{status:?} came after {before} matches")));
        });
        Self { current, _callback: callback.unwrap() }
    }
}

/// A latched subscription and a client that come late and go again.
pub(super) struct Guest {
    pub(super) robot: usize,
    pub(super) map: Shared<Ear>,
    _subscription: Subscription,
    _client: Client<Double>,
}

impl Guest {
    pub(super) fn new(node: &Node, robot: usize, name: &str) -> Self {
        let map = Shared::<Ear>::new();
        let heard = map.clone();
        let options = SubscriptionOptions::new(format!("/{name}/map")).keep_last(1).transient_local();
        let hear = move |count: Count| _ = heard.with(|ear| ear.hear(count, true));
        let subscription = node.create_subscription(options, hear).unwrap();
        let client = node.create_client(format!("/{name}/double").as_str()).unwrap();
        Self { robot, map, _subscription: subscription, _client: client }
    }
}

/// The longest time for which a robot waits for the station.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The answer of a robot that has none of the station.
pub(super) const NONE: i64 = -1;

/// Creates a service that asks the station's service inside its callback, for as long as its patience lasts.
pub(super) fn relay(node: &Node, name: &str, truth: &Truth) -> Service {
    let client = node.create_client::<Double>("/station/double").unwrap();
    let (limits, asked) = (node.clone(), truth.clone());
    let relay = move |request: Number| {
        let call = limits.timeout(PATIENCE, client.call(request));
        let truth = asked.clone();
        async move {
            match call.await {
                Ok(Ok(number)) => number,
                Ok(Err(CallError::Unavailable { .. } | CallError::Unanswered { .. })) => Number { data: NONE },
                Ok(Err(error)) => panic!("{error}"),
                Err(_) => {
                    truth.with(|truth| truth.saw("relay: no answer in time"));
                    Number { data: NONE }
                }
            }
        }
    };
    let options = ServiceOptions::new(format!("/{name}/relay")).keep_last(100).max_in_flight(50);
    node.create_service::<Double, _>(options, relay).unwrap()
}

/// A call that is relayed, and the number of the request.
pub(super) type Relayed = (i64, Awaited<Result<Number, CallError>>);

/// Polls calls that are relayed, and judges those that end.
pub(super) fn poll_relayed(calls: &mut Vec<Relayed>, truth: &Truth) {
    calls.retain_mut(|(id, call)| {
        let Some(outcome) = call.poll() else { return true };
        let effects = truth.with(|truth| truth.effects.get(id).copied().unwrap_or_default());
        let is_right = match &outcome {
            Ok(Number { data: NONE }) => effects <= 1,
            Ok(number) => number.data == 2 * *id && effects == 1,
            Err(CallError::Unavailable { .. }) => effects == 0,
            Err(CallError::Unanswered { .. }) => effects <= 1,
            Err(_) => false,
        };
        assert!(is_right, "relayed call {id} had {effects} effects, and ends with {outcome:?}");
        truth.with(|truth| truth.saw(if outcome.is_ok() { "relay: answer" } else { "relay: failed" }));
        false
    });
}

/// Has a guest come or go, by chance.
pub(super) fn change_guests(guests: &mut Vec<Guest>, rng: &mut Rng, come: impl FnOnce() -> Guest) {
    if guests.len() < 3 && rng.percent(60) {
        guests.push(come());
    } else if !guests.is_empty() {
        guests.swap_remove(rng.below(guests.len()));
    }
}

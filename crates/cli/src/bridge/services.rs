//! Services of the graph, which watchers call.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use foxglove::Schema;
use foxglove::websocket::service::{Handler, Request, Responder, Service, ServiceSchema};
use rospin::dynamic::{DynamicClient, MessageType, ServiceType};
use rospin_dynamic::DynamicSeed;
use rospin_wire::cdr::{from_payload_with, to_payload};
use tokio::time::timeout;

use super::shared::{REFUSED, Shared};
use super::types::{Answer, Types};
use super::watchers::lock;
use crate::bag::definition;

/// Longest time for an answer.
const ANSWER: Duration = Duration::from_secs(30);

/// A service's type, by its name and hash.
type Key = (String, Option<String>);

/// The services of the graph.
pub(super) struct Services {
    shared: Arc<Shared>,
    types: Types,
    /// Services that watchers see.
    shown: BTreeMap<String, Key>,
    /// Services whose types nobody tells.
    unknown: BTreeSet<String>,
}

impl Services {
    pub(super) fn new(shared: &Arc<Shared>, types: &Types) -> Self {
        Self { shared: Arc::clone(shared), types: types.clone(), shown: BTreeMap::new(), unknown: BTreeSet::new() }
    }

    /// Follows the graph: shows services that have servers, and takes back those whose servers have gone.
    pub(super) fn look(&mut self) {
        let Some(server) = self.shared.server.get() else { return };
        let mut found: BTreeMap<String, Key> = BTreeMap::new();
        for name in self.shared.node.service_names_and_types().into_keys() {
            if !self.shared.choice.takes_service(&name) {
                continue;
            }
            let servers = self.shared.node.servers_info_by_service(&name).unwrap_or_default();
            let hash = servers.iter().filter_map(|end| end.type_hash.clone()).min();
            if let Some(first) = servers.first() {
                found.insert(name, (first.type_name.clone(), hash));
            }
        }
        let gone: Vec<String> = self
            .shown
            .iter()
            .filter(|(name, key)| found.get(*name) != Some(key))
            .map(|(name, _)| name.clone())
            .collect();
        for name in &gone {
            self.shown.remove(name);
        }
        let shared = &self.shared;
        self.unknown.retain(|name| {
            let stays = found.contains_key(name);
            if !stays {
                shared.solved(&problem(name));
            }
            stays
        });
        if !gone.is_empty() {
            server.remove_services(&gone);
        }
        let mut come = Vec::new();
        for (name, key) in found {
            if self.shown.contains_key(&name) {
                continue;
            }
            match self.types.of_service(&name, &key.0, key.1.as_deref()) {
                Answer::Is(service_type) => {
                    come.push(shown(&self.shared, &name, service_type));
                    if self.unknown.remove(&name) {
                        self.shared.solved(&problem(&name));
                    }
                    self.shown.insert(name, key);
                }
                Answer::Later => {}
                Answer::Unknown(reason) => {
                    let sentence = format!("Service {name} is not shown: nobody tells {}: {reason}", key.0);
                    self.shared.complain(&problem(&name), &sentence);
                    self.unknown.insert(name);
                }
            }
        }
        if let Err(error) = server.add_services(come) {
            (self.shared.tell)(&format!("services are not shown: {error}"));
        }
    }
}

/// Returns the id of the problem that a service has.
fn problem(name: &str) -> String {
    format!("service {name}")
}

/// Returns the service as the SDK wants it.
fn shown(shared: &Arc<Shared>, name: &str, service_type: ServiceType) -> Service {
    let part = |of: &MessageType| Schema::new(of.name(), "ros2msg", definition::of_type(of).into_bytes());
    let schema = ServiceSchema::new(service_type.name())
        .with_request("cdr", part(service_type.request()))
        .with_response("cdr", part(service_type.response()));
    let caller = Caller {
        shared: Arc::clone(shared),
        service: name.to_owned(),
        service_type,
        client: Arc::new(Mutex::new(None)),
    };
    Service::builder(name, schema).handler(caller)
}

/// Calls a service for watchers.
struct Caller {
    shared: Arc<Shared>,
    service: String,
    service_type: ServiceType,
    /// The client, from the first call on.
    client: Arc<Mutex<Option<DynamicClient>>>,
}

impl Caller {
    fn client(&self) -> Result<DynamicClient, String> {
        let mut client = lock(&self.client);
        if let Some(client) = &*client {
            return Ok(client.clone());
        }
        let created = self.shared.node.create_dynamic_client(&*self.service, &self.service_type);
        let created = created.map_err(|error| error.to_string())?;
        *client = Some(created.clone());
        Ok(created)
    }
}

impl Handler for Caller {
    fn call(&self, request: Request, responder: Responder) {
        if !self.shared.watchers.may_change(request.client_id()) {
            return responder.respond_err(REFUSED.to_owned());
        }
        let client = match self.client() {
            Ok(client) => client,
            Err(reason) => return responder.respond_err(reason),
        };
        let service = self.service.clone();
        tokio::spawn(async move {
            let called = match timeout(ANSWER, call(&client, request.payload())).await {
                Ok(called) => called,
                Err(_) => Err(format!("service {service} did not answer within {} s", ANSWER.as_secs())),
            };
            responder.respond(called);
        });
    }
}

/// Calls a service with an encoded request. Returns the encoded response.
async fn call(client: &DynamicClient, payload: &[u8]) -> Result<Vec<u8>, String> {
    let seed = DynamicSeed::new(client.service_type().request());
    let request = from_payload_with(payload, seed).map_err(|error| format!("the request is invalid: {error}"))?;
    client.wait_for_service().await;
    let response = client.call(&request).await.map_err(|error| error.to_string())?;
    to_payload(&response).map_err(|error| error.to_string())
}

//! Definitions of messages and services, for watchers: from installed packages, from those that the command carries
//! along, or from the nodes that have them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rospin::dynamic::{MessageType, ServiceType};
use tokio::sync::Semaphore;

use super::shared::Shared;
use super::watchers::lock;
use crate::bag::definition;
use crate::ros::types;

/// The number of nodes that are asked at a time.
const ASKED_MAX: usize = 8;

/// Time after which a type that nobody could tell is asked for again.
const AGAIN: Duration = Duration::from_secs(10);

/// The longest time that nodes are asked for a type.
const ANSWER: Duration = Duration::from_secs(15);

/// A type by its name and its hash.
type Key = (String, Option<String>);

/// Knowledge of a type.
#[derive(Clone)]
enum Known<T> {
    Is(T),
    Asked,
    /// Nobody could tell it.
    Failed(String, Instant),
}

/// Answer about a type that is asked for.
pub(super) enum Answer<T> {
    Is(T),
    /// It is asked for; the bridge is woken when it is known.
    Later,
    Unknown(String),
}

/// All types of topics and services.
#[derive(Clone)]
pub(super) struct Types {
    shared: Arc<Shared>,
    messages: Arc<Mutex<HashMap<Key, Known<Arc<str>>>>>,
    services: Arc<Mutex<HashMap<Key, Known<ServiceType>>>>,
    asked: Arc<Semaphore>,
}

impl Types {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        let asked = Arc::new(Semaphore::new(ASKED_MAX));
        Self { shared: Arc::clone(shared), messages: Arc::default(), services: Arc::default(), asked }
    }

    /// Returns the definition of a topic's messages.
    pub(super) fn of_topic(&self, topic: &str, name: &str, hash: Option<&str>) -> Answer<Arc<str>> {
        let key = (name.to_owned(), hash.map(str::to_owned));
        let here = || local_message(&self.shared, name, hash);
        if let Some(answer) = known(&self.messages, &key, here) {
            return answer;
        }
        let asking = self.shared.node.message_type_of(&self.shared.executor, topic);
        let asking = async move { asking.await.map(|found| Arc::from(definition::of_type(&found))) };
        self.ask(Arc::clone(&self.messages), key, asking);
        Answer::Later
    }

    /// Returns the type of a service.
    pub(super) fn of_service(&self, service: &str, name: &str, hash: Option<&str>) -> Answer<ServiceType> {
        let key = (name.to_owned(), hash.map(str::to_owned));
        let here = || local_service(name, hash);
        if let Some(answer) = known(&self.services, &key, here) {
            return answer;
        }
        self.ask(Arc::clone(&self.services), key, self.shared.node.service_type_of(&self.shared.executor, service));
        Answer::Later
    }

    /// Asks the nodes, and wakes the bridge when they have answered.
    fn ask<T: Send + 'static, E: ToString + Send>(
        &self,
        known: Arc<Mutex<HashMap<Key, Known<T>>>>,
        key: Key,
        asking: impl Future<Output = Result<T, E>> + Send + 'static,
    ) {
        let shared = Arc::clone(&self.shared);
        let asked = Arc::clone(&self.asked);
        tokio::spawn(async move {
            let _one = asked.acquire().await;
            let answer = match tokio::time::timeout(ANSWER, asking).await {
                Ok(Ok(found)) => Known::Is(found),
                Ok(Err(error)) => Known::Failed(error.to_string(), Instant::now()),
                Err(_) => Known::Failed("its nodes do not answer".to_owned(), Instant::now()),
            };
            lock(&known).insert(key, answer);
            shared.look_again();
        });
    }
}

/// Returns what is known of a type. `None` means that it has to be asked for, which is noted.
fn known<T: Clone>(
    known: &Mutex<HashMap<Key, Known<T>>>,
    key: &Key,
    here: impl FnOnce() -> Option<T>,
) -> Option<Answer<T>> {
    let mut known = lock(known);
    match known.get(key) {
        Some(Known::Is(found)) => return Some(Answer::Is(found.clone())),
        Some(Known::Asked) => return Some(Answer::Later),
        Some(Known::Failed(reason, since)) if since.elapsed() < AGAIN => return Some(Answer::Unknown(reason.clone())),
        Some(Known::Failed(..)) => {}
        None => {
            if let Some(found) = here() {
                known.insert(key.clone(), Known::Is(found.clone()));
                return Some(Answer::Is(found));
            }
        }
    }
    known.insert(key.clone(), Known::Asked);
    None
}

/// Returns the definition of messages that are installed, or that the command carries along.
fn local_message(shared: &Shared, name: &str, hash: Option<&str>) -> Option<Arc<str>> {
    if let Some(text) = definition::installed(name, hash, &shared.places) {
        return Some(Arc::from(text));
    }
    let found = carried_message(name, hash)?;
    Some(Arc::from(definition::of_type(&found)))
}

/// Returns the type of messages that the command carries along, if it has the hash.
pub(super) fn carried_message(name: &str, hash: Option<&str>) -> Option<MessageType> {
    let found = types::message(name).ok()?;
    match hash {
        Some(hash) if found.hash() == hash => Some(found.with_hash()),
        Some(_) => None,
        None => Some(found.without_hash()),
    }
}

fn local_service(name: &str, hash: Option<&str>) -> Option<ServiceType> {
    let found = types::service(name).ok()?;
    match hash {
        Some(hash) if found.has_hash(hash) => Some(found.with_hash()),
        Some(_) => None,
        None => Some(found.without_hash()),
    }
}

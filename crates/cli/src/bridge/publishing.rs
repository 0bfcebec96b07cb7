//! Topics that watchers publish.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use foxglove::websocket::{Client, ClientChannel, ClientChannelId, ClientId, Status};
use rospin::message::{SerializedMessage, TypeName};
use rospin::qos::Durability;
use rospin::{Publisher, PublisherOptions, Qos};

use super::shared::{REFUSED, Shared};
use super::topics::Topics;
use super::types::carried_message;
use super::watchers::lock;
use crate::ros::types::full_name;

/// Topics that a watcher may publish at a time.
const TOPICS_MAX: usize = 100;

/// Messages that a publisher keeps for subscriptions that have to get each.
const DEPTH: usize = 10;

/// A topic that a watcher publishes, or the reason for which it cannot.
type Published = Result<Publisher<SerializedMessage>, String>;

/// Topics that watchers publish, by watcher and by its own number for the topic.
#[derive(Default)]
pub(super) struct Publishing(Mutex<HashMap<(ClientId, u32), Arc<Published>>>);

impl Publishing {
    /// Begins to publish. If that is not possible, the watcher is told at once, and its messages are dropped.
    pub(super) fn begin(&self, shared: &Shared, client: &Client, channel: &ClientChannel) {
        let mut published = lock(&self.0);
        let count = published.keys().filter(|(of, _)| *of == client.id()).count();
        let created = if !shared.watchers.may_change(client.id()) {
            Err(REFUSED.to_owned())
        } else if count >= TOPICS_MAX {
            Err(format!("a watcher may publish {TOPICS_MAX} topics at a time"))
        } else {
            create(shared, channel)
        };
        if let Err(reason) = &created {
            client.send_status(Status::error(format!("{} cannot be published: {reason}", channel.topic)));
        }
        if count < TOPICS_MAX {
            published.insert((client.id(), channel.id.into()), Arc::new(created));
        }
    }

    pub(super) fn end(&self, client: ClientId, channel: ClientChannelId) {
        let ended = lock(&self.0).remove(&(client, channel.into()));
        // The middleware may take a while to end it, so without the lock.
        drop(ended);
    }

    pub(super) fn publish(&self, client: &Client, channel: &ClientChannel, payload: &[u8]) {
        let found = lock(&self.0).get(&(client.id(), channel.id.into())).cloned();
        let Some(published) = found else { return };
        // The watcher knows already why not.
        let Ok(publisher) = published.as_ref() else { return };
        let message = SerializedMessage::from_bytes(payload.to_vec()).map_err(|error| error.to_string());
        let sent = message.and_then(|message| publisher.publish(message).map_err(|error| error.to_string()));
        if let Err(reason) = sent {
            let sentence = format!("a message of {} was not published: {reason}", channel.topic);
            client.send_status(Status::warning(sentence).with_id(format!("publish {}", channel.topic)));
        }
    }
}

/// Creates the publisher of a topic.
fn create(shared: &Shared, channel: &ClientChannel) -> Published {
    if channel.encoding != "cdr" {
        return Err(format!("its encoding is {}, and only cdr is understood", channel.encoding));
    }
    let topic = shared.node.resolve_topic(&channel.topic).map_err(|error| error.to_string())?.to_string();
    if !shared.choice.takes_published(&topic) {
        return Err("--publish does not name it".to_owned());
    }
    let name = full_name(&channel.schema_name, "msg");
    let type_name = TypeName::new(&name).map_err(|error| error.to_string())?;
    let ends = Topics::ends(shared, &topic);
    if let Some((other, _)) = ends.iter().find(|(of, _)| *of != name) {
        return Err(format!("the robot has it with the type {other}, not {name}"));
    }
    // Some middlewares connect only ends with the same hash.
    let hash = match ends.into_iter().find_map(|(_, hash)| hash) {
        Some(hash) => Some(hash),
        None => carried_message(&name, None).map(|found| found.hash().to_owned()),
    };
    let type_name = match hash {
        Some(hash) => type_name.with_hash(hash),
        None => type_name,
    };
    let mut qos = Qos::keep_last(DEPTH);
    let subscriptions = shared.node.subscriptions_info_by_topic(&topic).unwrap_or_default();
    if subscriptions.iter().any(|end| end.durability == Some(Durability::TransientLocal)) {
        qos.durability = Durability::TransientLocal;
    }
    let options = PublisherOptions::new(&topic).qos(qos);
    shared.node.create_serialized_publisher(options, &type_name).map_err(|error| error.to_string())
}

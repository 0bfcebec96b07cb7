//! The SDK's server: its options, and what it calls.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use foxglove::websocket::{Capability, ChannelView, Client, ClientChannel, ServerListener};
use foxglove::{FoxgloveError, WebSocketServerHandle};

use super::parameters::Parameters;
use super::publishing::Publishing;
use super::shared::Shared;
use super::watchers::{BACKLOG, lock};

/// The distribution whose definitions watchers use for messages that they publish, where the environment names none.
const DISTRO: &str = "jazzy";

/// Starts the server, on a port of this computer that only the door knows.
pub(super) async fn start(shared: &Arc<Shared>) -> Result<WebSocketServerHandle, FoxgloveError> {
    let mut capabilities =
        vec![Capability::ClientPublish, Capability::Parameters, Capability::Services, Capability::ConnectionGraph];
    if shared.is_sim_time {
        capabilities.push(Capability::Time);
    }
    let distro = std::env::var("ROS_DISTRO").unwrap_or_else(|_| DISTRO.to_owned());
    let listener = Listener { shared: Arc::clone(shared), publishing: Publishing::default() };
    let server = foxglove::WebSocketServer::new()
        .context(&shared.context)
        .bind("127.0.0.1", 0)
        .name("rospin bridge")
        .capabilities(capabilities)
        .supported_encodings(["cdr"])
        .server_info(HashMap::from([("ROS_DISTRO".to_owned(), distro)]))
        .message_backlog_size(BACKLOG)
        .parameter_handler(Arc::new(Parameters::new(shared)))
        .listener(Arc::new(listener));
    server.start().await
}

/// Receiver of what watchers ask for.
struct Listener {
    shared: Arc<Shared>,
    publishing: Publishing,
}

impl ServerListener for Listener {
    fn on_subscribe(&self, client: Client, channel: ChannelView<'_>) {
        if let Some(watcher) = self.shared.watchers.of(client.id()) {
            self.shared.watch(channel.id(), watcher);
        }
    }

    fn on_unsubscribe(&self, client: Client, channel: ChannelView<'_>) {
        self.shared.unwatch(channel.id(), client.id());
    }

    fn on_client_advertise(&self, client: Client, channel: &ClientChannel) {
        if let Some(watcher) = self.shared.watchers.greeted(&client, &channel.topic) {
            self.shared.greet(&watcher);
        } else if !self.shared.watchers.is_greeting(&channel.topic) {
            self.publishing.begin(&self.shared, &client, channel);
        }
    }

    fn on_client_unadvertise(&self, client: Client, channel: &ClientChannel) {
        self.publishing.end(client.id(), channel.id);
    }

    fn on_message_data(&self, client: Client, channel: &ClientChannel, payload: &[u8]) {
        self.publishing.publish(&client, channel, payload);
    }

    fn on_parameters_subscribe(&self, names: Vec<String>) {
        lock(&self.shared.parameters).extend(names);
        self.shared.changed.notify_one();
    }

    fn on_parameters_unsubscribe(&self, names: Vec<String>) {
        let mut watched = lock(&self.shared.parameters);
        for name in names {
            watched.remove(&name);
        }
        drop(watched);
        self.shared.changed.notify_one();
    }

    fn on_connection_graph_subscribe(&self) {
        self.shared.is_graph_watched.store(true, Ordering::Release);
        self.shared.look_again();
    }

    fn on_connection_graph_unsubscribe(&self) {
        self.shared.is_graph_watched.store(false, Ordering::Release);
    }
}

//! The bridge while it runs: follows the graph on one side, and what watchers want on the other.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use foxglove::FoxgloveError;
use rospin::Subscription;
use tokio::net::TcpListener;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::door::Door;
use super::programs::Live;
use super::rules::Rules;
use super::services::Services;
use super::shared::Shared;
use super::topics::Topics;
use super::types::Types;
use super::watchers::lock;
use super::{graph, parameters, server};

/// Pause after a change of the graph, in which further changes come.
const PAUSE: Duration = Duration::from_millis(50);

/// Pause after watchers wanted something else, so that one that changes its mind all the time costs little.
const BREATH: Duration = Duration::from_millis(5);

/// Time after which the graph is looked at for facts that it does not announce, and for types that nobody could tell.
const AGAIN: Duration = Duration::from_secs(10);

/// Pause between two announcements of ROS time.
const CLOCK: Duration = Duration::from_millis(20);

/// Settings of a bridge.
pub(super) struct Settings {
    pub(super) rules: Rules,
    pub(super) depth_max: usize,
    /// The interval of the topics about programs.
    pub(super) interval: Duration,
    /// Bounds of callbacks, by their names.
    pub(super) bounds: BTreeMap<String, Duration>,
}

/// Starts a bridge in the present Tokio runtime, in which it stays. Watchers come through `listener`.
pub(super) async fn start(shared: Arc<Shared>, settings: Settings, listener: TcpListener) -> Result<(), FoxgloveError> {
    // Before watchers come, so that the first sees these topics at once.
    let live = Live::new(&shared, settings.bounds);
    let server = server::start(&shared).await?;
    let door = Door {
        rules: settings.rules,
        watchers: Arc::clone(&shared.watchers),
        server: SocketAddr::from((Ipv4Addr::LOCALHOST, server.port())),
        tell: Arc::clone(&shared.tell),
    };
    // There is one start, so nothing is set yet.
    let _ = shared.server.set(server);
    tokio::spawn(Arc::new(door).open(listener));
    if shared.is_sim_time {
        tokio::spawn(announce_time(Arc::clone(&shared)));
    }
    tokio::spawn(follow(shared, live, settings.depth_max, settings.interval));
    Ok(())
}

/// Follows the graph and the watchers. Never ends.
async fn follow(shared: Arc<Shared>, mut live: Live, depth_max: usize, length: Duration) {
    let types = Types::new(&shared);
    let mut topics = Topics::new(&shared, &types, depth_max);
    let mut services = Services::new(&shared, &types);
    let mut changes: Option<Subscription> = None;
    let mut tick = interval(length);
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut looked = Instant::now();
    loop {
        // The future is taken before the graph is read, so no change is missed.
        let change = shared.node.wait_for_graph_change();
        if shared.is_news.swap(false, Ordering::AcqRel) || looked.elapsed() >= AGAIN {
            looked = Instant::now();
            topics.look();
            services.look();
            show_graph(&shared);
        }
        topics.follow();
        let is_watched = !lock(&shared.parameters).is_empty();
        if is_watched && changes.is_none() {
            changes = parameters::subscribe_changes(&shared);
        } else if !is_watched {
            changes = None;
        }
        tokio::select! {
            () = change => {
                shared.is_news.store(true, Ordering::Release);
                sleep(PAUSE).await;
            }
            () = shared.changed.notified() => sleep(BREATH).await,
            _ = tick.tick() => {
                live.tick();
                topics.tell_losses();
                for (topic, count) in shared.watchers.tell_lost() {
                    (shared.tell)(&format!("Lost: {count} messages of {topic}, because watchers read too slowly"));
                }
            }
        }
    }
}

/// Sends the graph to those that watch it.
fn show_graph(shared: &Shared) {
    if !shared.is_graph_watched.load(Ordering::Acquire) {
        return;
    }
    let Some(server) = shared.server.get() else { return };
    // It fails only without the capability, which the server has.
    let _ = server.publish_connection_graph(graph::of_node(&shared.node, &shared.choice));
}

/// Tells watchers ROS time. Never ends.
async fn announce_time(shared: Arc<Shared>) {
    let mut told = 0;
    loop {
        let now = shared.node.now().as_nanos();
        if now != told
            && let Some(server) = shared.server.get()
        {
            told = now;
            server.broadcast_time(now);
        }
        sleep(CLOCK).await;
    }
}

//! Options of sessions. The defaults are those of `rmw_zenoh_cpp`.

use std::path::PathBuf;
use std::time::Duration;

use zenoh::{Config, Wait};

use crate::error::OpenError;

/// The configuration that `rmw_zenoh_cpp` has by default: a peer that meets others through the router of its machine,
/// with timeouts that are long enough for many nodes that start at once. Only the time for which publishers wait for
/// room is longer, see [`SessionOptions::max_blocking_time`]: a busy machine does not send within a millisecond.
const DEFAULTS: &str = r#"{
    mode: "peer",
    connect: {
        timeout_ms: { router: -1, peer: -1, client: 0 },
        endpoints: ["tcp/localhost:7447"],
        exit_on_failure: { router: false, peer: false, client: true },
    },
    listen: { endpoints: ["tcp/localhost:0"] },
    scouting: {
        multicast: { enabled: false },
        gossip: {
            target: { router: ["router", "peer"], peer: ["router"] },
            autoconnect_strategy: { peer: { to_router: "always", to_peer: "greater-zid" } },
        },
    },
    // Zenoh's publishers with a cache, which transient local ones are, number their messages by time stamps unless they
    // are reliable. Without time stamps, Zenoh does not create them, so every mode sets them.
    timestamping: { enabled: { router: true, peer: true, client: true } },
    queries_default_timeout: 600000,
    transport: {
        unicast: { open_timeout: 60000, accept_timeout: 60000, accept_pending: 10000, max_sessions: 10000 },
        link: {
            tx: {
                lease: 60000,
                keep_alive: 2,
                queue: {
                    congestion_control: {
                        drop: { wait_before_drop: 100000, max_wait_before_drop_fragments: 1000000 },
                        block: { wait_before_close: 60000000 },
                    },
                },
            },
        },
        shared_memory: { enabled: false },
    },
}"#;

/// Settings of the time for which a publisher waits for room: for the first packet of a message, and for its other
/// packets.
const WAITS: [&str; 2] = [
    "transport/link/tx/queue/congestion_control/drop/wait_before_drop",
    "transport/link/tx/queue/congestion_control/drop/max_wait_before_drop_fragments",
];
/// Factor between the times that a publisher waits for the other packets of a message and for its first packet.
const LONGER: u32 = 10;

/// Variable of the domain's number.
const DOMAIN_ID: &str = "ROS_DOMAIN_ID";
/// Variable of the configuration file.
const CONFIG_FILE: &str = "ZENOH_SESSION_CONFIG_URI";
/// Variable of settings that override those of the file.
const OVERRIDES: &str = "ZENOH_CONFIG_OVERRIDE";

/// Role of a session in the network.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    /// The session connects directly to all peers that it learns of. This is the default, as in ROS 2.
    Peer,
    /// The session connects to one router only, and reaches all others through it.
    Client,
}

/// Options of a [`Session`](crate::Session).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionOptions {
    pub(crate) domain_id: u32,
    pub(crate) call_timeout: Duration,
    config_file: Option<PathBuf>,
    /// Keys and values, in the order in which they are applied.
    settings: Vec<(String, String)>,
}

impl SessionOptions {
    /// Returns the defaults of `rmw_zenoh_cpp`: a peer in domain 0 that connects to the router at `tcp/localhost:7447`
    /// as soon as there is one, and listens on a free port of the loopback interface.
    #[must_use]
    pub const fn new() -> Self {
        Self { domain_id: 0, call_timeout: Duration::from_secs(600), config_file: None, settings: Vec::new() }
    }

    /// Returns options from the environment, by the variables of `rmw_zenoh_cpp`:
    ///
    /// - `ROS_DOMAIN_ID`: the [domain](Self::domain_id).
    /// - `ZENOH_SESSION_CONFIG_URI`: the [configuration file](Self::config_file).
    /// - `ZENOH_CONFIG_OVERRIDE`: settings that override those of the file, such as
    ///   `mode="client";connect/endpoints=["tcp/192.168.0.2:7447"]`.
    ///
    /// `ZENOH_ROUTER_CONFIG_URI` is for routers, and is not read.
    ///
    /// # Errors
    /// If a variable is invalid. Settings and file are read when the session is opened.
    pub fn from_env() -> Result<Self, OpenError> {
        Self::from_variables(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    pub(crate) fn from_variables(variable: impl Fn(&'static str) -> Option<String>) -> Result<Self, OpenError> {
        // An empty variable counts as unset, as in ROS 2.
        let variable = |name| variable(name).filter(|value| !value.is_empty());
        let mut options = Self::new();
        if let Some(value) = variable(DOMAIN_ID) {
            let fix = "it should be a whole number, such as 0";
            let id = value.parse();
            let error = |_| OpenError::Environment { variable: DOMAIN_ID, value, fix };
            options.domain_id = id.map_err(error)?;
        }
        options.config_file = variable(CONFIG_FILE).map(PathBuf::from);
        for setting in variable(OVERRIDES).iter().flat_map(|value| value.split(';')) {
            let Some((key, value)) = setting.split_once('=') else {
                if setting.trim().is_empty() {
                    continue;
                }
                let fix = "it should be settings with semicolons between them, such as `mode=\"client\"`";
                return Err(OpenError::Environment { variable: OVERRIDES, value: setting.to_owned(), fix });
            };
            options = options.setting(key.trim(), value.trim());
        }
        Ok(options)
    }

    /// Sets the number of the domain. Nodes of different domains can share a network without seeing each other.
    #[must_use]
    pub const fn domain_id(mut self, id: u32) -> Self {
        self.domain_id = id;
        self
    }

    /// Sets the role of the session in the network. The default is [`Mode::Peer`].
    #[must_use]
    pub fn mode(self, mode: Mode) -> Self {
        let mode = match mode {
            Mode::Peer => "\"peer\"",
            Mode::Client => "\"client\"",
        };
        self.setting("mode", mode)
    }

    /// Sets the endpoints of routers and peers that the session connects to, such as `tcp/192.168.0.2:7447`. The
    /// default is the router of this machine.
    #[must_use]
    pub fn connect<'a>(self, endpoints: impl IntoIterator<Item = &'a str>) -> Self {
        self.setting("connect/endpoints", list(endpoints))
    }

    /// Sets the endpoints on which the session listens for others, such as `tcp/0.0.0.0:7450`. The default is a free
    /// port of the loopback interface.
    #[must_use]
    pub fn listen<'a>(self, endpoints: impl IntoIterator<Item = &'a str>) -> Self {
        self.setting("listen/endpoints", list(endpoints))
    }

    /// Enables or disables the search for other sessions by multicast. The default is disabled, as in ROS 2, whose
    /// nodes learn of each other from the router.
    #[must_use]
    pub fn scouting(self, enabled: bool) -> Self {
        self.setting("scouting/multicast/enabled", if enabled { "true" } else { "false" })
    }

    /// Sets whether large messages, requests and responses go to processes of the same machine through shared memory.
    /// The default is no, as in `rmw_zenoh_cpp`. This method exists with the feature `shared-memory` only.
    ///
    /// Both ends must enable it, and see the same `/dev/shm`. Zenoh tests that when they connect, and uses the network
    /// if it is not so. A message that is encoded in 3072 bytes or more is copied into a memory of 16 MiB that the
    /// sending session has. The other end copies it out when it arrives, and gives its place back. While there is no
    /// room in that memory, and for the first few messages, until the memory exists, messages go over the network. No
    /// message is lost by that, and their order stays.
    ///
    /// The [settings](Self::setting) `transport/shared_memory/transport_optimization/pool_size` and
    /// `.../message_size_threshold` change the 16 MiB and the 3072 bytes. Every program that may open files of this
    /// user can read and change the memory. A process that is killed leaves its memory behind; the next process that
    /// uses shared memory removes it.
    #[cfg(feature = "shared-memory")]
    #[must_use]
    pub fn shared_memory(self, enabled: bool) -> Self {
        self.setting("transport/shared_memory/enabled", if enabled { "true" } else { "false" })
    }

    /// Sets the time for which a publisher waits for room on a connection before it drops a message for that
    /// connection. The default is 100 ms, as over DDS; `rmw_zenoh_cpp` waits 1 ms. Publishers that are reliable and
    /// keep [all](crate::History::KeepAll) wait for as long as the connection lives.
    ///
    /// A message of more than 64 KiB goes in several packets, and may wait ten times as long for all packets after the
    /// first together. After a message was dropped, publishers do not wait until the connection has sent a packet, so a
    /// stuck subscriber makes them wait once. Subscriptions count dropped messages as
    /// [missed](crate::Subscription::missed).
    ///
    /// All publishers of a session share the queue of a connection: while one waits, the others wait, too. With a time
    /// of zero, no publisher blocks, and a burst of large messages that is faster than the machine can send it is
    /// dropped.
    #[must_use]
    pub fn max_blocking_time(self, time: Duration) -> Self {
        let times = [time, time.saturating_mul(LONGER)];
        // Zenoh takes signed numbers of microseconds.
        let micros = times.map(|time| i64::try_from(time.as_micros()).unwrap_or(i64::MAX).to_string());
        WAITS.into_iter().zip(micros).fold(self, |options, (key, micros)| options.setting(key, micros))
    }

    /// Sets the file that Zenoh's configuration is read from, in place of the defaults of `rmw_zenoh_cpp`. Settings of
    /// these options take precedence over the file.
    #[must_use]
    pub fn config_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.config_file = Some(path.into());
        self
    }

    /// Sets an entry of [Zenoh's configuration](zenoh::Config): its name, with slashes between the parts, and its value
    /// as JSON5. Of two settings with the same name, the later one counts.
    #[must_use]
    pub fn setting(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((key.into(), value.into()));
        self
    }

    /// Sets the time after which a call without a response ends, with
    /// [`CallError::Unanswered`](crate::CallError::Unanswered). The default is 10 minutes. Calls of actions have no
    /// limit, because results may take any time.
    ///
    /// Zenoh remembers a call for that long, with almost a kilobyte of memory, even if it was answered at once.
    #[must_use]
    pub const fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout;
        self
    }

    /// Returns Zenoh's configuration with all options applied.
    pub(crate) fn config(&self) -> Result<Config, OpenError> {
        let mut config = match &self.config_file {
            Some(path) => Config::from_file(path)
                .map_err(|error| OpenError::File { path: path.clone(), reason: error.to_string() })?,
            None => Config::from_json5(DEFAULTS).map_err(|error| OpenError::Zenoh { reason: error.to_string() })?,
        };
        for (key, value) in &self.settings {
            config.insert_json5(key, value).map_err(|error| OpenError::Setting {
                key: key.clone(),
                value: value.clone(),
                reason: error.to_string(),
            })?;
        }
        match tls_endpoint(&config) {
            Some(endpoint) => Err(OpenError::Tls { endpoint }),
            None => Ok(config),
        }
    }
}

impl SessionOptions {
    /// Returns a complaint if the session should find others by itself and has found none; `None` otherwise.
    pub(crate) fn loneliness(&self, session: &zenoh::Session) -> Option<String> {
        let info = session.info();
        let is_alone = info.routers_zid().wait().next().is_none() && info.peers_zid().wait().next().is_none();
        let config = self.config().ok().filter(|_| is_alone)?;
        let get = |key| config.get_json(key).unwrap_or_default();
        // Endpoints may differ by mode, so the value is a list, or a list for each mode.
        let endpoints = get("connect/endpoints");
        let endpoints: Vec<_> = endpoints.split('"').filter(|part| part.contains('/')).collect();
        if endpoints.is_empty() || get("mode") == "\"router\"" {
            return None;
        }
        Some(format!(
            "no Zenoh router or peer is reached at {}: nodes of other processes are not heard until there is one; \
             start a router with `ros2 run rmw_zenoh_cpp rmw_zenohd`, or with `zenohd`, or with `cargo run --example \
             router` in crates/zenoh of rospin; or have the processes connect to each other, by `listen/endpoints` \
             and `connect/endpoints` in ZENOH_CONFIG_OVERRIDE",
            endpoints.join(", ")
        ))
    }
}

/// Returns an endpoint with TLS over TCP if the configuration has one; `None` if it has none.
///
/// The library `zenoh-link-tls` 1.10.2 lets the thread that reads and the thread that writes use the one `rustls`
/// connection of a link at the same time, because each takes a lock of its own. So it is not compiled in; but another
/// crate of the program may have it compiled in.
fn tls_endpoint(config: &Config) -> Option<String> {
    // Endpoints may differ by mode, so the value is a list, or a list for each mode.
    let tls = |key| {
        let endpoints = config.get_json(key).ok()?;
        let tls = endpoints.split('"').find(|part| part.starts_with("tls/"))?;
        Some(tls.to_owned())
    };
    tls("listen/endpoints").or_else(|| tls("connect/endpoints"))
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns a list of texts as JSON5.
fn list<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    format!("{:?}", items.into_iter().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(variables: &[(&str, &str)]) -> Result<SessionOptions, OpenError> {
        SessionOptions::from_variables(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn get(options: &SessionOptions, key: &str) -> String {
        options.config().unwrap().get_json(key).unwrap()
    }

    #[test]
    fn without_a_word_it_is_as_ros_has_it() {
        let options = from(&[(DOMAIN_ID, "")]).unwrap();
        assert_eq!(options, SessionOptions::new());
        assert_eq!(get(&options, "mode"), "\"peer\"");
        assert_eq!(get(&options, "connect/endpoints"), "[\"tcp/localhost:7447\"]");
        assert_eq!(get(&options, "scouting/multicast/enabled"), "false");
        assert_eq!(get(&options, "queries_default_timeout"), "600000");
        assert_eq!(WAITS.map(|key| get(&options, key)), ["100000", "1000000"]);
        let options = options.max_blocking_time(Duration::from_millis(2));
        assert_eq!(WAITS.map(|key| get(&options, key)), ["2000", "20000"]);
    }

    #[test]
    fn the_environment_goes_before_the_file_and_the_program_before_both() {
        let path = std::env::temp_dir().join(format!("rospin-zenoh-{}.json5", std::process::id()));
        std::fs::write(&path, "{ mode: \"client\", queries_default_timeout: 1, listen: { endpoints: [] } }").unwrap();
        let overrides = "queries_default_timeout = 2 ; connect/endpoints=[\"tcp/10.0.0.1:7447\"];";
        let options =
            from(&[(DOMAIN_ID, "42"), (CONFIG_FILE, path.to_str().unwrap()), (OVERRIDES, overrides)]).unwrap();
        assert_eq!((options.domain_id, get(&options, "mode").as_str()), (42, "\"client\""));
        assert_eq!(get(&options, "queries_default_timeout"), "2");
        assert_eq!(get(&options, "connect/endpoints"), "[\"tcp/10.0.0.1:7447\"]");
        let options = options.mode(Mode::Peer).connect([]).listen(["tcp/[::1]:0"]).scouting(true);
        assert_eq!(get(&options, "mode"), "\"peer\"");
        assert_eq!(get(&options, "connect/endpoints"), "[]");
        assert_eq!(get(&options, "listen/endpoints"), "[\"tcp/[::1]:0\"]");
        assert_eq!(get(&options, "scouting/multicast/enabled"), "true");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn invalid_settings_name_their_place() {
        let message = |options: Result<SessionOptions, OpenError>| {
            options.and_then(|options| options.config()).unwrap_err().to_string()
        };
        let cases = [
            (message(from(&[(DOMAIN_ID, "seven")])), "ROS_DOMAIN_ID is `seven`"),
            (message(from(&[(DOMAIN_ID, "-1")])), "whole number"),
            (message(from(&[(OVERRIDES, "mode")])), "ZENOH_CONFIG_OVERRIDE is `mode`"),
            (message(from(&[(OVERRIDES, "mode=\"king\"")])), "no `mode` that could be `\"king\"`"),
            (message(Ok(SessionOptions::new().setting("no/such", "1"))), "no `no/such`"),
            (message(from(&[(CONFIG_FILE, "/no/such/file.json5")])), "`/no/such/file.json5`"),
            (message(Ok(SessionOptions::new().listen(["tcp/[::]:1", "tls/[::]:0"]))), "`tls/[::]:0` is not safe"),
            (message(from(&[(OVERRIDES, "connect/endpoints={ peer: [\"tls/a:1\"] }")])), "`tls/a:1` is not safe"),
        ];
        for (message, expected) in cases {
            assert!(message.contains(expected), "{message}");
        }
    }
}

//! Options for the quality of service, and its text, as `ros2` has them.

use std::time::Duration;

use clap::{Args, ValueEnum};
use rospin::Qos;
use rospin::graph::{Endpoint, EndpointKind};
use rospin::qos::{Durability, History, Liveliness, Reliability};
use rospin_report::{Failure, number};

use super::{Session, warn};

/// Quality of service of a subscription or publisher.
#[derive(Args, Clone, Debug)]
pub(crate) struct QosOptions {
    /// Profile to begin with
    #[arg(long, value_enum)]
    qos_profile: Option<Profile>,

    /// Number of messages that are kept
    #[arg(long, value_name = "N")]
    qos_depth: Option<usize>,

    /// Messages that are kept
    #[arg(long, value_enum)]
    qos_history: Option<HistoryName>,

    /// Treatment of messages that the network loses; by default what fits the other ends
    #[arg(long, value_enum)]
    qos_reliability: Option<ReliabilityName>,

    /// Treatment of subscriptions that come late; by default what fits the other ends
    #[arg(long, value_enum)]
    qos_durability: Option<DurabilityName>,

    /// Signs of life that publishers give
    #[arg(long, value_enum)]
    qos_liveliness: Option<LivelinessName>,

    /// Longest time between two signs of life
    #[arg(long, value_name = "SECONDS", value_parser = |text: &str| number::parse_seconds(text, 0.0, 1e9))]
    qos_liveliness_lease_duration_seconds: Option<Duration>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
#[value(rename_all = "snake_case")]
enum Profile {
    Default,
    SystemDefault,
    SensorData,
    ServicesDefault,
    Parameters,
    ParameterEvents,
    ActionStatusDefault,
    BestAvailable,
    RosoutDefault,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
#[value(rename_all = "snake_case")]
enum HistoryName {
    SystemDefault,
    KeepLast,
    KeepAll,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
#[value(rename_all = "snake_case")]
enum ReliabilityName {
    SystemDefault,
    Reliable,
    BestEffort,
    BestAvailable,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
#[value(rename_all = "snake_case")]
enum DurabilityName {
    SystemDefault,
    TransientLocal,
    Volatile,
    BestAvailable,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
#[value(rename_all = "snake_case")]
enum LivelinessName {
    SystemDefault,
    Automatic,
    ManualByTopic,
    BestAvailable,
}

impl Profile {
    const fn qos(self) -> Qos {
        match self {
            Self::Default | Self::SystemDefault | Self::BestAvailable | Self::ServicesDefault => Qos::keep_last(10),
            Self::SensorData => Qos::sensor_data(),
            Self::Parameters | Self::ParameterEvents => Qos::keep_last(1000),
            Self::ActionStatusDefault => latched(1),
            Self::RosoutDefault => latched(1000),
        }
    }
}

const fn latched(depth: usize) -> Qos {
    let mut qos = Qos::keep_last(depth);
    qos.durability = Durability::TransientLocal;
    qos
}

impl QosOptions {
    /// Returns the quality of service of a publisher.
    pub(crate) fn of_publisher(&self) -> Qos {
        self.changed(self.qos_profile.unwrap_or(Profile::Default).qos())
    }

    /// Returns the quality of service of a subscription that shall hear these publishers, and remarks on publishers
    /// that have to be heard with less than they offer.
    fn of_subscription(&self, publishers: &[Endpoint]) -> (Qos, Vec<String>) {
        let qos = self.qos_profile.unwrap_or(Profile::SensorData).qos();
        let mut remarks = Vec::new();
        if self.is_given() || publishers.is_empty() {
            return (self.changed(qos), remarks);
        }
        let reliable = publishers.iter().filter(|end| end.reliability == Some(Reliability::Reliable)).count();
        let latched = publishers.iter().filter(|end| end.durability == Some(Durability::TransientLocal)).count();
        let all = publishers.len();
        let mut qos = qos;
        qos.reliability = if reliable == all { Reliability::Reliable } else { Reliability::BestEffort };
        qos.durability = if latched == all { Durability::TransientLocal } else { Durability::Volatile };
        for (count, offered, taken) in [(reliable, "RELIABLE", "BEST_EFFORT"), (latched, "TRANSIENT_LOCAL", "VOLATILE")]
        {
            if count > 0 && count < all {
                remarks.push(format!(
                    "some, but not all, publishers offer {offered}; the subscription is {taken}, to hear all of them"
                ));
            }
        }
        (qos, remarks)
    }

    /// Waits until all publishers of a topic are known, and returns the quality of service of a subscription that shall
    /// hear them, and the publishers. Warns of those that have to be heard with less than they offer.
    pub(crate) fn of_topic(&self, session: &Session, topic: &str) -> Result<(Qos, Vec<Endpoint>), Failure> {
        session.discover()?;
        let publishers = session.node().publishers_info_by_topic(topic).map_err(Failure::input)?;
        let (qos, remarks) = self.of_subscription(&publishers);
        for remark in remarks {
            warn(&remark);
        }
        Ok((qos, publishers))
    }

    fn is_given(&self) -> bool {
        self.qos_depth.is_some()
            || self.qos_history.is_some()
            || self.qos_reliability.is_some()
            || self.qos_durability.is_some()
            || self.qos_liveliness.is_some()
            || self.qos_liveliness_lease_duration_seconds.is_some()
    }

    /// Returns the quality of service with what the options say.
    fn changed(&self, mut qos: Qos) -> Qos {
        match self.qos_reliability {
            Some(ReliabilityName::Reliable) => qos.reliability = Reliability::Reliable,
            Some(ReliabilityName::BestEffort) => qos.reliability = Reliability::BestEffort,
            _ => {}
        }
        match self.qos_durability {
            Some(DurabilityName::TransientLocal) => qos.durability = Durability::TransientLocal,
            Some(DurabilityName::Volatile) => qos.durability = Durability::Volatile,
            _ => {}
        }
        if let Some(depth) = self.qos_depth {
            qos.history = History::KeepLast(depth.max(1));
        }
        if let Some(HistoryName::KeepAll) = self.qos_history {
            qos.history = History::KeepAll;
        }
        let liveliness = match self.qos_liveliness {
            Some(LivelinessName::ManualByTopic) => Liveliness::ManualByTopic,
            _ => Liveliness::Automatic,
        };
        match self.qos_liveliness_lease_duration_seconds {
            Some(lease) => qos.with_liveliness(liveliness, lease),
            None => {
                qos.liveliness = liveliness;
                qos
            }
        }
    }
}

/// Returns the text of an end as `ros2 topic info --verbose` prints it.
pub(crate) fn end_text(end: &Endpoint) -> String {
    let (namespace, name) = match end.node.as_deref().and_then(|node| node.rsplit_once('/')) {
        Some(("", name)) => ("/", name),
        Some((namespace, name)) => (namespace, name),
        None => ("_NODE_NAMESPACE_UNKNOWN_", "_NODE_NAME_UNKNOWN_"),
    };
    let kind = match end.kind {
        EndpointKind::Publisher => "PUBLISHER",
        EndpointKind::Subscription => "SUBSCRIPTION",
        EndpointKind::Server => "SERVER",
        EndpointKind::Client => "CLIENT",
    };
    let reliability = match end.reliability {
        Some(Reliability::Reliable) => "RELIABLE",
        Some(Reliability::BestEffort) => "BEST_EFFORT",
        None => "UNKNOWN",
    };
    let history = match end.history {
        Some(History::KeepLast(depth)) => format!("KEEP_LAST ({depth})"),
        Some(History::KeepAll) => "KEEP_ALL".to_owned(),
        None => "UNKNOWN".to_owned(),
    };
    let durability = match end.durability {
        Some(Durability::TransientLocal) => "TRANSIENT_LOCAL",
        Some(Durability::Volatile) => "VOLATILE",
        None => "UNKNOWN",
    };
    let liveliness = match end.liveliness {
        Some(Liveliness::Automatic) => "AUTOMATIC",
        Some(Liveliness::ManualByTopic) => "MANUAL_BY_TOPIC",
        None => "UNKNOWN",
    };
    [
        format!("Node name: {name}"),
        format!("Node namespace: {namespace}"),
        format!("Topic type: {}", end.type_name),
        format!("Topic type hash: {}", end.type_hash.as_deref().unwrap_or("INVALID")),
        format!("Endpoint type: {kind}"),
        format!("GID: {}", end.gid.map_or_else(|| "UNKNOWN".to_owned(), |gid| gid_text(&gid.to_bytes()))),
        "QoS profile:".to_owned(),
        format!("  Reliability: {reliability}"),
        format!("  History (Depth): {history}"),
        format!("  Durability: {durability}"),
        format!("  Lifespan: {}", limit_text(end.lifespan)),
        format!("  Deadline: {}", limit_text(end.deadline)),
        format!("  Liveliness: {liveliness}"),
        format!("  Liveliness lease duration: {}", limit_text(end.liveliness_lease_duration)),
    ]
    .join("\n")
}

/// Returns an id as `ros2` prints it: bytes with dots between them.
fn gid_text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(".")
}

fn limit_text(limit: Option<Duration>) -> String {
    limit.map_or_else(|| "Infinite".to_owned(), |limit| format!("{} nanoseconds", limit.as_nanos()))
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches};

    use super::*;

    fn options(arguments: &[&str]) -> QosOptions {
        let command = QosOptions::augment_args(Command::new("qos"));
        let matches = command.try_get_matches_from([&["qos"], arguments].concat()).unwrap();
        QosOptions::from_arg_matches(&matches).unwrap()
    }

    fn publisher(reliability: Reliability, durability: Durability) -> Endpoint {
        let mut end = Endpoint::new(EndpointKind::Publisher, "/a", "std_msgs/msg/String");
        (end.reliability, end.durability) = (Some(reliability), Some(durability));
        end
    }

    #[test]
    fn a_subscription_asks_for_what_all_publishers_offer() {
        let reliable = publisher(Reliability::Reliable, Durability::TransientLocal);
        let other = publisher(Reliability::BestEffort, Durability::Volatile);
        let (qos, remarks) = options(&[]).of_subscription(&[reliable.clone(), reliable.clone()]);
        assert_eq!((qos.reliability, qos.durability), (Reliability::Reliable, Durability::TransientLocal));
        assert!(remarks.is_empty());
        let (qos, remarks) = options(&[]).of_subscription(&[reliable.clone(), other]);
        assert_eq!((qos.reliability, qos.durability), (Reliability::BestEffort, Durability::Volatile));
        assert_eq!(remarks.len(), 2);
        let (qos, _) = options(&["--qos-reliability", "best_effort"]).of_subscription(&[reliable]);
        assert_eq!((qos.reliability, qos.durability), (Reliability::BestEffort, Durability::Volatile));
    }

    #[test]
    fn options_change_the_profile() {
        let qos = options(&["--qos-profile", "action_status_default", "--qos-depth", "7"]).of_publisher();
        assert_eq!((qos.depth(), qos.durability), (Some(7), Durability::TransientLocal));
        let qos =
            options(&["--qos-history", "keep_all", "--qos-liveliness-lease-duration-seconds", "2"]).of_publisher();
        assert_eq!((qos.history, qos.liveliness_lease()), (History::KeepAll, Some(Duration::from_secs(2))));
    }
}

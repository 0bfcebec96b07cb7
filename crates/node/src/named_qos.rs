//! Quality of service written on the name of a topic or a service.

use crate::options::{ClientOptions, PublisherOptions, ServiceOptions, SubscriptionOptions};
use crate::qos::{Durability, History, Qos, Reliability};

/// Name of a topic or a service, with the quality of service that was [written on it](QosOfName).
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "it is an option of a publisher, a subscription, a service or a client"]
pub struct NamedQos {
    name: String,
    /// The whole, in place of the default.
    qos: Option<Qos>,
    history: Option<History>,
    reliability: Option<Reliability>,
    durability: Option<Durability>,
}

impl NamedQos {
    /// Returns the quality of service, where `default` is that of the end.
    fn apply(&self, default: Qos) -> Qos {
        let mut qos = self.qos.unwrap_or(default);
        qos.history = self.history.unwrap_or(qos.history);
        qos.reliability = self.reliability.unwrap_or(qos.reliability);
        qos.durability = self.durability.unwrap_or(qos.durability);
        qos
    }
}

/// Quality of service on a name, as rclrs has it: `"scan".best_effort().keep_last(1)`. What is not set is the default
/// of the end.
///
/// Names with it are options of publishers, subscriptions, services and clients, also inside lifecycle nodes and
/// [`on`](crate::Node::on) a group. Options that are not about quality of service are those of [`SubscriptionOptions`]
/// and its like.
///
/// ```
/// use rospin::msgs::std_msgs::msg::String as Text;
/// use rospin::prelude::*;
///
/// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
/// let node = ros.create_node("map")?;
/// let publisher = node.create_publisher::<Text>("map".transient_local().keep_last(1))?;
/// let _subscription = node.create_subscription("scan".sensor_data(), |_: Text| {})?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait QosOfName: Into<NamedQos> {
    /// Sets the whole quality of service.
    fn qos(self, qos: Qos) -> NamedQos {
        NamedQos { qos: Some(qos), history: None, reliability: None, durability: None, ..self.into() }
    }

    /// Sets the [sensor data profile](Qos::sensor_data): best effort, keep the last 5.
    fn sensor_data(self) -> NamedQos {
        self.qos(Qos::sensor_data())
    }

    /// Keeps the last `depth` messages or requests, at least one.
    fn keep_last(self, depth: usize) -> NamedQos {
        NamedQos { history: Some(History::KeepLast(depth.max(1))), ..self.into() }
    }

    /// Keeps [all](History::KeepAll) messages or requests.
    fn keep_all(self) -> NamedQos {
        NamedQos { history: Some(History::KeepAll), ..self.into() }
    }

    /// Sends what the network lost again.
    fn reliable(self) -> NamedQos {
        NamedQos { reliability: Some(Reliability::Reliable), ..self.into() }
    }

    /// Sends each message once.
    fn best_effort(self) -> NamedQos {
        NamedQos { reliability: Some(Reliability::BestEffort), ..self.into() }
    }

    /// Keeps no messages for subscriptions that come late.
    fn volatile(self) -> NamedQos {
        NamedQos { durability: Some(Durability::Volatile), ..self.into() }
    }

    /// Keeps the last messages for subscriptions that come late, or asks for them.
    fn transient_local(self) -> NamedQos {
        NamedQos { durability: Some(Durability::TransientLocal), ..self.into() }
    }
}

impl QosOfName for &str {}
impl QosOfName for String {}
impl QosOfName for NamedQos {}

impl From<String> for NamedQos {
    fn from(name: String) -> Self {
        Self { name, qos: None, history: None, reliability: None, durability: None }
    }
}

impl From<&str> for NamedQos {
    fn from(name: &str) -> Self {
        name.to_owned().into()
    }
}

/// Converts names, with and without quality of service, to the options of each kind of end.
macro_rules! options_of_names {
    ($($options:ident)*) => {$(
        impl From<String> for $options {
            fn from(name: String) -> Self {
                Self::new(name)
            }
        }

        impl From<NamedQos> for $options {
            fn from(named: NamedQos) -> Self {
                let options = Self::new(named.name.as_str());
                let qos = named.apply(options.qos);
                options.qos(qos)
            }
        }
    )*};
}

options_of_names! { PublisherOptions SubscriptionOptions ServiceOptions ClientOptions }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_qos_has_the_default_of_the_end() {
        assert_eq!(ClientOptions::from("add".reliable()).qos, Qos::keep_last(100));
        let qos = SubscriptionOptions::from("map".to_owned().transient_local().keep_last(0)).qos;
        assert_eq!(qos, Qos { durability: Durability::TransientLocal, ..Qos::keep_last(1) });
        assert_eq!(PublisherOptions::from("scan".keep_last(9).sensor_data()).qos, Qos::sensor_data());
        assert_eq!(ServiceOptions::from("add".sensor_data().reliable().keep_last(5)).qos, Qos::keep_last(5));
        assert_eq!(PublisherOptions::from("all".best_effort().volatile().keep_all()).qos.depth(), None);
        assert_eq!(PublisherOptions::from("a".to_owned()).topic, "a");
    }
}

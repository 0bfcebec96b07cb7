//! Options of a process' part in a domain.

#[cfg(feature = "security")]
use std::path::PathBuf;

use crate::security::Security;

/// The highest domain id whose ports exist on every system.
const DOMAIN_ID_MAX: u16 = 232;

/// The highest index that a process of a machine can have in a domain, from 0, as in `rmw_cyclonedds_cpp`. A process
/// for which no index is left cannot join. With a higher limit, each process announces itself to that many more ports
/// of the machines that it looks at without multicast.
const PARTICIPANT_INDEX_MAX: u8 = 32;

/// The processes that are found, as with `ROS_AUTOMATIC_DISCOVERY_RANGE`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum DiscoveryRange {
    /// No processes, not even static peers.
    Off,
    /// Processes of this machine, and static peers.
    Localhost,
    /// Processes that multicast reaches, and static peers. The default.
    #[default]
    Subnet,
    /// Processes that Cyclone DDS finds with its own configuration. Static peers are ignored.
    SystemDefault,
}

/// An environment variable has a value that cannot be followed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{variable} is `{value}`; it should be {expected}")]
pub struct EnvError {
    /// Name of the environment variable.
    pub variable: &'static str,
    /// Value of the variable.
    pub value: String,
    /// The values that it may have.
    pub expected: &'static str,
}

/// Reasons for which a domain could not be joined.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// There is no such domain.
    #[error("there is no DDS domain {domain_id}; use one from 0 to 232")]
    DomainId {
        /// Number that was given.
        domain_id: u16,
    },
    /// A static peer is not an address.
    #[error("`{peer}` is no address of a peer; use a host name or an IP address")]
    Peer {
        /// The text that was given.
        peer: String,
    },
    /// DDS security could not be set up, for instance because a file is missing.
    #[error("DDS domain {domain_id} was not joined, since its security cannot be had: {reason}")]
    Security {
        /// Number of the domain.
        domain_id: u16,
        /// The reason.
        reason: String,
    },
    /// Cyclone DDS could not be started.
    #[error(
        "could not join DDS domain {domain_id}: {reason}; a faulty CYCLONEDDS_URI, no network interface, more than 33 \
         processes on this machine, or certificates and documents of security that do not hold are causes, and \
         Cyclone DDS says on standard error which one it is"
    )]
    Participant {
        /// Number of the domain.
        domain_id: u16,
        /// The error of Cyclone DDS.
        reason: String,
    },
}

/// The loopback interface, for the range `Localhost`. There, nodes of this machine announce themselves to 127.0.0.1.
/// Cyclone DDS ignores announcements that come through an interface that it does not use, so this one must be among its
/// interfaces.
const LOOPBACK: &str = "<NetworkInterface address=\"127.0.0.1\"/>";
/// The interface that the library chooses, for peers on other machines.
const CHOSEN: &str = "<NetworkInterface autodetermine=\"true\"/>";

/// The receive buffer that is asked for; the kernel gives at most `net.core.rmem_max`. A large message comes as a burst
/// of packets, and those that the buffer has no room for are sent again after a delay of milliseconds.
const RECEIVE_BUFFER: &str = "<SocketReceiveBufferSize max=\"32 MiB\"/>";
/// Packets of the greatest length that the loopback interface takes, with one fragment each. On a network they stay
/// shorter, because a long packet is lost with any of its parts.
const LOOPBACK_PACKETS: &str = "<MaxMessageSize>65500 B</MaxMessageSize><FragmentSize>65000 B</FragmentSize>";
/// The part of the reader's receive buffer, in percent, that a message fills at first. The reader requests the rest.
const LOOPBACK_BURST: &str = "<BurstSize><MaxInitTransmit>40</MaxInitTransmit></BurstSize>";

/// Options of a [`Domain`](crate::Domain), with which a process joins.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DomainOptions {
    pub(crate) domain_id: u16,
    range: DiscoveryRange,
    peers: Vec<String>,
    config: String,
    enclave: Option<String>,
    pub(crate) security: Security,
}

impl DomainOptions {
    /// Returns the options of domain 0 with the range [`Subnet`](DiscoveryRange::Subnet). Reads no environment
    /// variables.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns options from the environment variables of ROS 2: `ROS_DOMAIN_ID`, `ROS_AUTOMATIC_DISCOVERY_RANGE` or
    /// `ROS_LOCALHOST_ONLY`, and `ROS_STATIC_PEERS`. The configuration in `CYCLONEDDS_URI` overrides them.
    ///
    /// `ROS_SECURITY_ENABLE=true` enables [security](Self::security) with the files that `ROS_SECURITY_KEYSTORE` has
    /// for the [enclave](Self::enclave), or for the one that `ROS_SECURITY_ENCLAVE_OVERRIDE` names. If files are
    /// missing, the log says so and security is off; with `ROS_SECURITY_STRATEGY=Enforce`, joining fails.
    ///
    /// # Errors
    /// If `ROS_DOMAIN_ID` is not a number from 0 to 232, the range is invalid, or there should be security and this
    /// crate was built without its feature `security`.
    pub fn from_env() -> Result<Self, EnvError> {
        Self::from_variables(|variable| std::env::var(variable).ok().filter(|value| !value.is_empty()))
    }

    fn from_variables(variable: impl Fn(&'static str) -> Option<String>) -> Result<Self, EnvError> {
        let mut options = Self::new();
        if let Some(value) = variable("ROS_DOMAIN_ID") {
            let id = value.trim().parse().ok().filter(|id| *id <= DOMAIN_ID_MAX);
            let expected = "a number from 0 to 232";
            options.domain_id = id.ok_or(EnvError { variable: "ROS_DOMAIN_ID", value, expected })?;
        }
        options.range = match variable("ROS_AUTOMATIC_DISCOVERY_RANGE").as_deref() {
            Some("OFF") => DiscoveryRange::Off,
            Some("LOCALHOST") => DiscoveryRange::Localhost,
            None if variable("ROS_LOCALHOST_ONLY").as_deref() == Some("1") => DiscoveryRange::Localhost,
            None | Some("SUBNET") => DiscoveryRange::Subnet,
            Some("SYSTEM_DEFAULT") => DiscoveryRange::SystemDefault,
            Some(other) => {
                let variable = "ROS_AUTOMATIC_DISCOVERY_RANGE";
                let value = other.to_owned();
                return Err(EnvError { variable, value, expected: "OFF, LOCALHOST, SUBNET or SYSTEM_DEFAULT" });
            }
        };
        let peers = variable("ROS_STATIC_PEERS").unwrap_or_default();
        options.peers = peers.split(';').map(str::trim).filter(|peer| !peer.is_empty()).map(str::to_owned).collect();
        options.config = variable("CYCLONEDDS_URI").unwrap_or_default();
        options.security = Security::from_variables(&variable)?;
        if options.security != Security::Off {
            options.enclave = variable("ROS_SECURITY_ENCLAVE_OVERRIDE");
        }
        Ok(options)
    }

    /// Sets the domain: participants of different domains do not see each other. From 0 to 232.
    #[must_use]
    pub const fn domain_id(mut self, domain_id: u16) -> Self {
        self.domain_id = domain_id;
        self
    }

    /// Sets the range in which processes are found.
    #[must_use]
    pub const fn discovery_range(mut self, range: DiscoveryRange) -> Self {
        self.range = range;
        self
    }

    /// Finds only processes of this machine, and static peers: [`DiscoveryRange::Localhost`].
    #[must_use]
    pub const fn localhost(self) -> Self {
        self.discovery_range(DiscoveryRange::Localhost)
    }

    /// Sets the static peers, as `ROS_STATIC_PEERS` does: host names or addresses of machines where processes are
    /// looked for, too. One whose address is not known when the domain is joined is left out, and the log says so.
    /// Ignored with the ranges `Off` and `SystemDefault`.
    #[must_use]
    pub fn static_peers(mut self, peers: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.peers = peers.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the enclave of this process, such as `/robot/arm`; by default `/`. An enclave that is set already stays: by
    /// an earlier call, or by `ROS_SECURITY_ENCLAVE_OVERRIDE` if [`from_env`](Self::from_env) found security enabled.
    /// Without security it is only a name that tools show.
    #[must_use]
    pub fn enclave(mut self, name: impl Into<String>) -> Self {
        self.enclave.get_or_insert_with(|| name.into());
        self
    }

    /// Returns the name of the enclave, `/` by default.
    pub(crate) fn enclave_name(&self) -> &str {
        self.enclave.as_deref().unwrap_or("/")
    }

    /// Enables DDS security: the participant authenticates itself, and communicates with others as governance and
    /// permissions allow. The files are in `directory`, as `ros2 security create_enclave` makes:
    /// `identity_ca.cert.pem`, `cert.pem`, `key.pem`, `permissions_ca.cert.pem`, `governance.p7s` and
    /// `permissions.p7s`, and `crl.pem` if there is one. They are read when the domain is joined.
    ///
    /// Only with the feature `security`, which compiles against OpenSSL.
    #[cfg(feature = "security")]
    #[must_use]
    pub fn security(mut self, directory: impl Into<PathBuf>) -> Self {
        self.security = Security::Enclave(directory.into());
        self
    }

    /// Sets a configuration of Cyclone DDS, in place of that of `CYCLONEDDS_URI`: XML, the URI of a file, or several of
    /// either, separated by commas. Its settings override all other options; its peers are added to theirs. For
    /// instance, `<Internal><Watermarks><WhcHigh>` limits the bytes that a reliable publisher may have sent without
    /// confirmation.
    #[must_use]
    pub fn cyclonedds_uri(mut self, config: impl Into<String>) -> Self {
        self.config = config.into();
        self
    }

    /// Returns the configuration of Cyclone DDS. `as_domain` is the domain's id in the network, if this process knows
    /// the domain by another number.
    pub(crate) fn xml(&self, as_domain: Option<u16>) -> Result<String, JoinError> {
        if self.domain_id > DOMAIN_ID_MAX {
            return Err(JoinError::DomainId { domain_id: self.domain_id });
        }
        let is_address = |peer: &String| {
            !peer.is_empty() && peer.chars().all(|c| c.is_ascii_alphanumeric() || ".:-_%[]".contains(c))
        };
        if let Some(peer) = self.peers.iter().find(|peer| !is_address(peer)) {
            return Err(JoinError::Peer { peer: peer.clone() });
        }
        let mut discovery = String::new();
        if let Some(id) = as_domain {
            discovery += &format!("<ExternalDomainId>{id}</ExternalDomainId>");
        }
        discovery += &match self.range {
            DiscoveryRange::SystemDefault => String::new(),
            // No other process has that tag, so none is found.
            DiscoveryRange::Off => {
                format!("<ParticipantIndex>none</ParticipantIndex><Tag>ros_discovery_off_{}</Tag>", std::process::id())
            }
            DiscoveryRange::Localhost | DiscoveryRange::Subnet => format!(
                "<ParticipantIndex>auto</ParticipantIndex>\
                 <MaxAutoParticipantIndex>{PARTICIPANT_INDEX_MAX}</MaxAutoParticipantIndex>"
            ),
        };
        discovery += &self.peers_xml();
        let mut general = String::new();
        if matches!(self.range, DiscoveryRange::Off | DiscoveryRange::Localhost) {
            general += "<AllowMulticast>false</AllowMulticast>";
        }
        let mut internal = RECEIVE_BUFFER.to_owned();
        if self.range == DiscoveryRange::Localhost && !self.chooses_interfaces() {
            let chosen = if self.peers.is_empty() { "" } else { CHOSEN };
            general += &format!("<Interfaces>{chosen}{LOOPBACK}</Interfaces>");
            if self.peers.is_empty() {
                general += LOOPBACK_PACKETS;
                internal += LOOPBACK_BURST;
            }
        }
        let config = &self.config;
        let ours = format!(
            "<CycloneDDS><Domain><General>{general}</General><Discovery>{discovery}</Discovery><Internal>{internal}</Internal>\
             </Domain></CycloneDDS>"
        );
        Ok(if config.is_empty() { ours } else { format!("{ours},{config}") })
    }

    /// Returns true if the user's configuration of Cyclone DDS names network interfaces, or may do so in a file.
    fn chooses_interfaces(&self) -> bool {
        self.config.contains("file:") || self.config.contains("NetworkInterface")
    }

    fn peers_xml(&self) -> String {
        // By its address: the smallest systems have no file that tells the name's.
        let localhost = if self.range == DiscoveryRange::Localhost { Some("127.0.0.1") } else { None };
        let named = match self.range {
            DiscoveryRange::Localhost | DiscoveryRange::Subnet => &self.peers[..],
            DiscoveryRange::Off | DiscoveryRange::SystemDefault => &[],
        };
        let peers = localhost.into_iter().chain(named.iter().map(String::as_str));
        let peers: String = peers.map(|peer| format!("<Peer address=\"{peer}\"/>")).collect();
        if peers.is_empty() { peers } else { format!("<Peers>{peers}</Peers>") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(variables: &[(&str, &str)]) -> Result<DomainOptions, EnvError> {
        let find = |name| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned());
        DomainOptions::from_variables(find)
    }

    #[test]
    fn the_environment_speaks_ros() {
        assert_eq!(from(&[]), Ok(DomainOptions::new()));
        let expected = DomainOptions::new().domain_id(42).localhost().static_peers(["10.0.0.1", "robot"]);
        let id = ("ROS_DOMAIN_ID", "42");
        let peers = ("ROS_STATIC_PEERS", "10.0.0.1; robot;");
        assert_eq!(from(&[id, peers, ("ROS_LOCALHOST_ONLY", "1")]), Ok(expected.clone()));
        assert_eq!(from(&[id, peers, ("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")]), Ok(expected));
        let uri = from(&[("CYCLONEDDS_URI", "file:///etc/dds.xml")]).unwrap();
        assert!(uri.xml(None).unwrap().ends_with(",file:///etc/dds.xml"));
    }

    #[test]
    fn an_invalid_variable_is_an_error() {
        for id in ["233", "-1", "forty-two", "65536"] {
            assert_eq!(from(&[("ROS_DOMAIN_ID", id)]).unwrap_err().variable, "ROS_DOMAIN_ID");
        }
        let range = from(&[("ROS_AUTOMATIC_DISCOVERY_RANGE", "FAR")]).unwrap_err();
        assert!(range.to_string().contains("LOCALHOST"), "{range}");
        if cfg!(not(feature = "security")) {
            let security = from(&[("ROS_SECURITY_ENABLE", "true")]).unwrap_err();
            assert!(security.to_string().contains("feature `dds_security`"), "{security}");
        }
        assert!(matches!(DomainOptions::new().domain_id(233).xml(None), Err(JoinError::DomainId { domain_id: 233 })));
        let peer = DomainOptions::new().static_peers(["\"/><x>"]).xml(None);
        assert!(matches!(peer, Err(JoinError::Peer { .. })));
    }

    #[test]
    fn security_is_that_of_rcl() {
        assert_eq!(from(&[("ROS_SECURITY_ENABLE", "false")]), Ok(DomainOptions::new()));
        if cfg!(not(feature = "security")) {
            return;
        }
        let on = ("ROS_SECURITY_ENABLE", "true");
        let keystore = ("ROS_SECURITY_KEYSTORE", "/keys");
        let of = |is_enforced| Security::Keystore { keystore: Some("/keys".into()), is_enforced };
        let options = from(&[on, keystore]).unwrap();
        assert_eq!((options.security.clone(), options.enclave_name()), (of(false), "/"));
        assert_eq!(options.enclave("/robot").enclave_name(), "/robot");
        let enforced = [on, keystore, ("ROS_SECURITY_STRATEGY", "Enforce"), ("ROS_SECURITY_ENCLAVE_OVERRIDE", "/arm")];
        let options = from(&enforced).unwrap().enclave("/robot");
        assert_eq!((options.security.clone(), options.enclave_name()), (of(true), "/arm"));
    }

    #[test]
    fn ranges_are_those_of_ros() {
        let xml = |range| {
            let options = DomainOptions::new().static_peers(["robot"]).discovery_range(range);
            options.xml(None).unwrap()
        };
        let local = xml(DiscoveryRange::Localhost);
        let subnet = xml(DiscoveryRange::Subnet);
        assert!(local.contains("<Peers><Peer address=\"127.0.0.1\"/><Peer address=\"robot\"/></Peers>"), "{local}");
        assert!(
            local.contains("<AllowMulticast>false<") && local.contains(CHOSEN) && local.contains(LOOPBACK),
            "{local}"
        );
        let alone = DomainOptions::new().discovery_range(DiscoveryRange::Localhost).xml(None).unwrap();
        assert!(alone.contains(LOOPBACK) && !alone.contains(CHOSEN), "{alone}");
        assert!(alone.contains(LOOPBACK_PACKETS) && alone.contains(LOOPBACK_BURST), "{alone}");
        for networked in [&local, &subnet] {
            assert!(!networked.contains("MaxMessageSize") && networked.contains(RECEIVE_BUFFER), "{networked}");
        }
        assert!(subnet.contains("<Peers><Peer address=\"robot\"/></Peers>"), "{subnet}");
        assert!(!subnet.contains("Multicast"), "{subnet}");
        for found in [&local, &subnet] {
            assert!(found.contains("<MaxAutoParticipantIndex>32<"), "{found}");
        }
        for alone in [xml(DiscoveryRange::Off), xml(DiscoveryRange::SystemDefault)] {
            assert!(!alone.contains("Peer"), "{alone}");
        }
        assert!(xml(DiscoveryRange::Off).contains("<Tag>ros_discovery_off_"));
    }
}

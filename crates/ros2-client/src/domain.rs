//! A DDS domain, as a process takes part in it.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
#[cfg(feature = "security")]
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rospin_engine::{ExecutorHandle, SourceError};
use rospin_node::Ros;

use crate::graph::Feed;
use crate::participant::{End, Participant};

/// The highest domain id whose ports exist on every system.
const DOMAIN_ID_MAX: u16 = 232;

/// How services use DDS topics. Servers and clients only find each other if they agree.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum ServiceMapping {
    /// As `rmw_fastrtps_cpp`, which is what ROS 2 uses unless told otherwise: the request's identity travels beside it.
    #[default]
    Enhanced,
    /// As `rmw_cyclonedds_cpp`: the request's identity is the first 16 bytes of the payload.
    Cyclone,
}

/// What the environment says cannot be followed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{variable} is `{value}`; it should be {expected}")]
pub struct EnvError {
    /// The variable.
    pub variable: &'static str,
    /// What it is.
    pub value: String,
    /// What it may be.
    pub expected: &'static str,
}

/// Why a domain could not be joined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// There is no such domain.
    #[error("there is no DDS domain {domain_id}; use one from 0 to 232")]
    DomainId {
        /// The domain's number.
        domain_id: u16,
    },
    /// The middleware could not be started.
    #[error("could not join DDS domain {domain_id}: {reason}")]
    Participant {
        /// The domain's number.
        domain_id: u16,
        /// What the middleware says.
        reason: String,
    },
    /// The executor for discovery is gone.
    #[error(transparent)]
    Discovery(#[from] SourceError),
}

/// How a process takes part in a domain.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DomainOptions {
    pub(crate) domain_id: u16,
    pub(crate) networks: Vec<IpAddr>,
    #[cfg(feature = "security")]
    pub(crate) security: Option<PathBuf>,
    mapping: ServiceMapping,
}

impl DomainOptions {
    /// Domain 0, on all networks, with services as Fast DDS has them.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// As the environment says, in the words of ROS 2: `ROS_DOMAIN_ID`, `ROS_AUTOMATIC_DISCOVERY_RANGE` or
    /// `ROS_LOCALHOST_ONLY`, and `RMW_IMPLEMENTATION` for the [mapping of services](ServiceMapping).
    ///
    /// With `ROS_SECURITY_ENABLE=true`, DDS security from the directory of `ROS_SECURITY_ENCLAVE_OVERRIDE` in
    /// `ROS_SECURITY_KEYSTORE`: always as with `ROS_SECURITY_STRATEGY=Enforce`, never without it where files are missing.
    ///
    /// # Errors
    /// If `ROS_DOMAIN_ID` is not a number from 0 to 232, or the range is one that RustDDS does not have. If there should be
    /// security without a keystore, or this crate was compiled without its feature `security`.
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
        match variable("ROS_AUTOMATIC_DISCOVERY_RANGE").as_deref() {
            Some("LOCALHOST") => options = options.localhost(),
            None if variable("ROS_LOCALHOST_ONLY").as_deref() == Some("1") => options = options.localhost(),
            None | Some("SUBNET" | "SYSTEM_DEFAULT") => {}
            Some(other) => {
                let (variable, value) = ("ROS_AUTOMATIC_DISCOVERY_RANGE", other.to_owned());
                return Err(EnvError { variable, value, expected: "LOCALHOST, SUBNET or SYSTEM_DEFAULT" });
            }
        }
        if variable("RMW_IMPLEMENTATION").is_some_and(|rmw| rmw.starts_with("rmw_cyclonedds")) {
            options.mapping = ServiceMapping::Cyclone;
        }
        if variable("ROS_SECURITY_ENABLE").as_deref() == Some("true") {
            options = options.secured(&variable)?;
        }
        Ok(options)
    }

    #[cfg(feature = "security")]
    fn secured(self, variable: impl Fn(&'static str) -> Option<String>) -> Result<Self, EnvError> {
        let expected = "the directory of a keystore, since `ROS_SECURITY_ENABLE` is `true`";
        let missing = || EnvError { variable: "ROS_SECURITY_KEYSTORE", value: String::new(), expected };
        let keystore = PathBuf::from(variable("ROS_SECURITY_KEYSTORE").ok_or_else(missing)?);
        let enclave = variable("ROS_SECURITY_ENCLAVE_OVERRIDE").unwrap_or_default();
        Ok(self.security(keystore.join("enclaves").join(enclave.trim_start_matches('/'))))
    }

    #[cfg(not(feature = "security"))]
    fn secured(self, _variable: impl Fn(&'static str) -> Option<String>) -> Result<Self, EnvError> {
        let expected = "`false`, or the crate compiled with its feature `security`";
        Err(EnvError { variable: "ROS_SECURITY_ENABLE", value: "true".to_owned(), expected })
    }

    /// Has participants prove who they are, and talk only to those who can, as far as the domain's rules allow it: DDS security,
    /// with what `directory` has, under the names that `ros2 security create_enclave` gives: `identity_ca.cert.pem`,
    /// `permissions_ca.cert.pem`, `cert.pem`, `key.pem` (without a password), `governance.p7s` and `permissions.p7s`. They are
    /// read when the domain is joined.
    ///
    /// RustDDS 0.15 cannot read payloads that are encrypted or signed by themselves, unless their length happens to be a multiple
    /// of four. So a governance document with a `data_protection_kind` other than `NONE`, as `ros2 security create_keystore` writes
    /// it, is refused; with the `metadata_protection_kind` `ENCRYPT` payloads are encrypted together with what is around them.
    ///
    /// Only with the feature `security`, which compiles against OpenSSL.
    #[cfg(feature = "security")]
    #[must_use]
    pub fn security(mut self, directory: impl Into<PathBuf>) -> Self {
        self.security = Some(directory.into());
        self
    }

    /// Sets the domain: participants of different domains do not see each other. From 0 to 232.
    #[must_use]
    pub const fn domain_id(mut self, domain_id: u16) -> Self {
        self.domain_id = domain_id;
        self
    }

    /// Uses only the network interfaces that have these addresses.
    #[must_use]
    pub fn only_networks(mut self, addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        self.networks = addresses.into_iter().collect();
        self
    }

    /// Stays on this machine.
    #[must_use]
    pub fn localhost(self) -> Self {
        self.only_networks([IpAddr::V4(Ipv4Addr::LOCALHOST)])
    }

    /// Sets how services use topics.
    #[must_use]
    pub const fn service_mapping(mut self, mapping: ServiceMapping) -> Self {
        self.mapping = mapping;
        self
    }
}

/// What a process has of a DDS domain. Its nodes share one participant with its sockets and threads, or two: RustDDS does not
/// match what one participant has of both ends of a topic, so where a process has both, each is in another one.
///
/// Cheap to clone; it is left when the last clone and the last node are dropped.
#[derive(Clone)]
pub struct Domain(Arc<Inner>);

struct Inner {
    options: DomainOptions,
    executor: ExecutorHandle,
    feed: Arc<Feed>,
    participants: Mutex<Participants>,
}

struct Participants {
    /// One or two.
    started: Vec<Arc<Participant>>,
    /// Which of them has the writers of a topic, or the servers of a service.
    writers: BTreeMap<String, usize>,
}

impl Domain {
    /// Joins the domain. What discovery finds is noted by an entity of `executor`, in a group called `discovery` of its own;
    /// no user code runs there. Where that executor is busy, matches are known later, and messages flow nevertheless.
    ///
    /// The middleware starts its threads here, and with the first topic that has both ends in this process. They get the
    /// scheduling and the cores of the calling thread, see [`Context::start_threads`](rospin_engine::Context::start_threads).
    ///
    /// # Errors
    /// If there is no such domain, its sockets cannot be had, or the executor is gone.
    pub fn join(executor: &ExecutorHandle, options: DomainOptions) -> Result<Self, JoinError> {
        let domain_id = options.domain_id;
        if domain_id > DOMAIN_ID_MAX {
            return Err(JoinError::DomainId { domain_id });
        }
        let feed = Arc::<Feed>::default();
        let started = vec![Arc::new(Participant::start(executor, &options, &feed, true)?)];
        let participants = Mutex::new(Participants { started, writers: BTreeMap::new() });
        Ok(Self(Arc::new(Inner { options, executor: executor.clone(), feed, participants })))
    }

    /// Returns what creates nodes of this domain, whose callbacks run on executors of its executor's context.
    #[must_use]
    pub fn ros(&self) -> Ros {
        Ros::over(self.0.executor.context(), self.clone())
    }

    /// The domain's number.
    #[must_use]
    pub fn domain_id(&self) -> u16 {
        self.0.options.domain_id
    }

    pub(crate) fn feed(&self) -> &Feed {
        &self.0.feed
    }

    /// The participant that is always there.
    pub(crate) fn first_participant(&self) -> Arc<Participant> {
        let participants = self.0.participants.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&participants.started[0])
    }

    /// The executor that takes what clients are answered.
    pub(crate) fn executor(&self) -> &ExecutorHandle {
        &self.0.executor
    }

    pub(crate) fn mapping(&self) -> ServiceMapping {
        self.0.options.mapping
    }

    /// The participant for an entity at that end of the topic or service, and its number.
    pub(crate) fn participant(&self, topic: &str, end: End) -> Result<(usize, Arc<Participant>), JoinError> {
        // Under the lock are only lists; starting a participant leaves them as they were if it fails.
        let mut participants = self.0.participants.lock().unwrap_or_else(PoisonError::into_inner);
        let Participants { started, writers } = &mut *participants;
        // Whichever end comes first is in the first participant: most processes need no other.
        let writers = *writers.entry(topic.to_owned()).or_insert(end.place(0));
        let at = end.place(writers);
        if at == started.len() {
            started.push(Arc::new(Participant::start(&self.0.executor, &self.0.options, &self.0.feed, false)?));
        }
        Ok((at, Arc::clone(&started[at])))
    }
}

impl fmt::Debug for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Domain").field("domain_id", &self.domain_id()).finish_non_exhaustive()
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
        let expected = DomainOptions::new().domain_id(42).localhost().service_mapping(ServiceMapping::Cyclone);
        let rmw = ("RMW_IMPLEMENTATION", "rmw_cyclonedds_cpp");
        assert_eq!(from(&[("ROS_DOMAIN_ID", "42"), ("ROS_LOCALHOST_ONLY", "1"), rmw]), Ok(expected.clone()));
        assert_eq!(from(&[("ROS_DOMAIN_ID", "42"), ("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST"), rmw]), Ok(expected));
    }

    #[test]
    fn security_is_not_left_out_silently() {
        assert_eq!(from(&[("ROS_SECURITY_ENABLE", "false")]), Ok(DomainOptions::new()));
        let on = ("ROS_SECURITY_ENABLE", "true");
        assert!(from(&[on]).unwrap_err().to_string().contains("should be"));
        let (keystore, enclave) = (("ROS_SECURITY_KEYSTORE", "/keys"), ("ROS_SECURITY_ENCLAVE_OVERRIDE", "/robot/arm"));
        let options = from(&[on, keystore, enclave]);
        #[cfg(feature = "security")]
        assert_eq!(options, Ok(DomainOptions::new().security("/keys/enclaves/robot/arm")));
        #[cfg(not(feature = "security"))]
        assert!(options.unwrap_err().to_string().contains("feature `security`"));
    }

    #[test]
    fn what_cannot_be_followed_is_an_error() {
        for id in ["233", "-1", "forty-two", "65536"] {
            assert_eq!(from(&[("ROS_DOMAIN_ID", id)]).unwrap_err().variable, "ROS_DOMAIN_ID");
        }
        let off = from(&[("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF")]).unwrap_err();
        assert!(off.to_string().contains("LOCALHOST"), "{off}");
    }
}

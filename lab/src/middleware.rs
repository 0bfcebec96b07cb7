//! Middlewares of an experiment's nodes, and the settings by which processes of one run find each other: on this
//! machine, or between two hosts.

use clap::ValueEnum;
use rospin_engine::Context;
use rospin_node::Ros;
use serde::{Deserialize, Serialize};

/// A middleware over which an experiment's nodes send their messages.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Middleware {
    /// ROS 2 nodes of one process, which hand messages over
    InProcess,
    /// ROS 2 nodes over DDS (Cyclone DDS); needs `--features dds`
    Dds,
    /// ROS 2 nodes over Zenoh; needs `--features zenoh`
    Zenoh,
}

/// The port of the first process of a run over Zenoh in domain 0; each domain has [`PORTS`] of its own.
#[cfg(feature = "zenoh")]
const FIRST_PORT: u16 = 17_000;
/// Number of ports of a domain, one for each process of its run.
#[cfg(feature = "zenoh")]
const PORTS: u16 = 32;

impl Middleware {
    /// All middlewares.
    pub(crate) const ALL: [Self; 3] = [Self::InProcess, Self::Dds, Self::Zenoh];

    /// Returns the middleware's name on the command line and in results.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::InProcess => "in-process",
            Self::Dds => "dds",
            Self::Zenoh => "zenoh",
        }
    }

    /// Returns true if the middleware reaches other processes, whose ends of topics have to be found first.
    pub(crate) const fn discovers(self) -> bool {
        matches!(self, Self::Dds | Self::Zenoh)
    }

    /// Returns true if this program was built with the middleware.
    pub(crate) const fn is_built(self) -> bool {
        match self {
            Self::InProcess => true,
            Self::Dds => cfg!(feature = "dds"),
            Self::Zenoh => cfg!(feature = "zenoh"),
        }
    }

    /// Returns the sentence that tells a user what this program lacks; it names the fix.
    pub(crate) fn missing(self) -> String {
        let name = self.name();
        format!(
            "this program was built without {name}; build it with `cargo build --release --manifest-path lab/Cargo.toml --features {name}`"
        )
    }

    /// Starts the middleware for a process of a run. The threads of DDS and Zenoh get the scheduling that the
    /// deployment of `context` has for threads called `dds` or `zenoh`.
    ///
    /// # Errors
    /// If the program was built without the middleware, or the middleware cannot be started; in words.
    pub(crate) fn start(self, context: &Context, process: &Process) -> Result<Ros, String> {
        match self {
            Self::InProcess => Ok(Ros::in_process(context)),
            Self::Dds => start_dds(context, process),
            Self::Zenoh => start_zenoh(context, process),
        }
    }
}

/// Place of a process in a run: all that it needs to find the others.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Process {
    /// The number of the middleware's domain, below 233. It should be another one than that of any other run on this
    /// machine.
    pub(crate) domain_id: u16,
    /// The number of this process in the run, from 0.
    pub(crate) number: u16,
    /// The addresses of the two hosts, that of process 0 first; `None` if all processes are on this machine.
    pub(crate) hosts: Option<[String; 2]>,
}

impl Process {
    /// Returns the address at which the process of that number is reached: that of its host, or the loopback address if
    /// all processes are on this machine. All processes but the first one are on the second host.
    #[cfg(any(feature = "dds", feature = "zenoh", test))]
    pub(crate) fn address(&self, number: u16) -> &str {
        self.hosts.as_ref().map_or("127.0.0.1", |hosts| hosts[usize::from(number.min(1))].as_str())
    }

    /// Returns the options of a DDS domain that uses only the loopback interface, or only the interface between the two
    /// hosts. Robots on the network have no part in it. The settings in `CYCLONEDDS_URI` hold as well.
    #[cfg(feature = "dds")]
    pub(crate) fn dds_options(&self) -> rospin_dds::DomainOptions {
        let options = rospin_dds::DomainOptions::new().domain_id(self.domain_id);
        let added = std::env::var("CYCLONEDDS_URI").unwrap_or_default();
        if self.hosts.is_none() {
            return options.localhost().cyclonedds_uri(added);
        }
        let address = self.address(self.number);
        let interface =
            format!("<General><Interfaces><NetworkInterface address=\"{address}\"/></Interfaces></General>");
        options.cyclonedds_uri(if added.is_empty() { interface } else { format!("{interface},{added}") })
    }

    /// Returns the options of a Zenoh session without a router: every process connects to all with smaller numbers.
    /// Those that come at the same time do not always hear of each other from a third one.
    #[cfg(feature = "zenoh")]
    pub(crate) fn zenoh_options(&self) -> rospin_zenoh::SessionOptions {
        let own = self.zenoh_endpoint(self.number);
        let earlier: Vec<String> = (0..self.number).map(|number| self.zenoh_endpoint(number)).collect();
        let options = rospin_zenoh::SessionOptions::new().domain_id(self.domain_id.into()).scouting(false);
        options.listen([own.as_str()]).connect(earlier.iter().map(String::as_str))
    }

    /// Returns the endpoint at which the process of that number listens.
    #[cfg(feature = "zenoh")]
    pub(crate) fn zenoh_endpoint(&self, number: u16) -> String {
        format!("tcp/{}:{}", self.address(number), FIRST_PORT + PORTS * self.domain_id + number)
    }
}

#[cfg(feature = "dds")]
fn start_dds(context: &Context, process: &Process) -> Result<Ros, String> {
    let options = process.dds_options();
    let domain =
        context.start_threads("dds", || rospin_dds::Domain::join(options)).map_err(|error| error.to_string())?;
    Ok(Ros::over(context, domain))
}

#[cfg(not(feature = "dds"))]
fn start_dds(_: &Context, _: &Process) -> Result<Ros, String> {
    Err(Middleware::Dds.missing())
}

#[cfg(feature = "zenoh")]
fn start_zenoh(context: &Context, process: &Process) -> Result<Ros, String> {
    let options = process.zenoh_options();
    let session = context.start_threads("zenoh", || rospin_zenoh::Session::open(options));
    Ok(Ros::over(context, session.map_err(|error| error.to_string())?))
}

#[cfg(not(feature = "zenoh"))]
fn start_zenoh(_: &Context, _: &Process) -> Result<Ros, String> {
    Err(Middleware::Zenoh.missing())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_middleware_that_was_not_built_is_told_with_its_feature() {
        for middleware in Middleware::ALL.into_iter().filter(|middleware| !middleware.is_built()) {
            let context = Context::new(rospin_engine::ContextOptions::new());
            let error = middleware.start(&context, &Process::default()).err().unwrap();
            assert!(error.contains(&format!("--features {}", middleware.name())), "{error}");
        }
    }

    #[test]
    fn hosts_have_addresses_of_their_own() {
        let hosts = Some(["10.0.0.1".to_owned(), "10.0.0.2".to_owned()]);
        let process = Process { number: 1, hosts, ..Process::default() };
        assert_eq!((process.address(0), process.address(1)), ("10.0.0.1", "10.0.0.2"));
        assert_eq!(Process::default().address(1), "127.0.0.1");
    }
}

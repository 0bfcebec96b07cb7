//! The node of a command that talks to a running robot, and what it waits for.

use std::time::{Duration, Instant};

use clap::Args;
use rospin::time::ClockKind;
use rospin::{ContextOptions, Middlewares, Node, NodeOptions, Ros, RosArguments};
use rospin_report::{Failure, number};

/// The graph counts as complete once it has not changed for this long. Nodes answer a newcomer within some ten
/// milliseconds, each with all that it has.
const QUIET: Duration = Duration::from_millis(250);

/// Time after which a network counts as empty if no other node has been heard of.
const EMPTY: Duration = Duration::from_secs(1);

/// Longest time that a graph is waited for which keeps changing, or whose endpoints have no nodes.
const LONGEST: Duration = Duration::from_secs(5);

/// Pause before the graph is looked at again, for facts that it does not announce: which node has an endpoint.
const PAUSE: Duration = Duration::from_millis(20);

/// Options by which a command finds what is on the network.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Discovery {
    /// Looks for nodes for so many seconds, in place of until the network has told nothing new for 0.25 s
    #[arg(long, global = true, value_name = "SECONDS", value_parser = |text: &str| number::parse_seconds(text, 0.0, 3600.0))]
    spin_time: Option<Duration>,

    /// Takes the time of the topic /clock
    #[arg(long, short = 's', global = true)]
    use_sim_time: bool,

    /// Does nothing: there is no daemon. `ros2` has it
    #[arg(long, hide = true, global = true)]
    no_daemon: bool,
}

/// A node on the network, for as long as a command runs.
pub(crate) struct Session {
    ros: Ros,
    node: Node,
    spin_time: Option<Duration>,
    /// True if other programs may be on the network, which takes time to find out.
    is_networked: bool,
    begin: Instant,
}

impl Session {
    /// Joins the network as any program of rospin does, by the environment: `RMW_IMPLEMENTATION`, `ROS_DOMAIN_ID` and
    /// the like. The node has no services, and its name begins with an underscore, so that tools do not list it.
    pub(crate) fn join(discovery: &Discovery) -> Result<Self, Failure> {
        Self::join_as(discovery, None)
    }

    /// Joins the network as [`join`](Self::join) does, with a node of that name.
    pub(crate) fn join_as(discovery: &Discovery, name: Option<&str>) -> Result<Self, Failure> {
        let middleware = Middlewares::from_env().map_err(Failure::input)?;
        if !cfg!(feature = "dds") && !cfg!(feature = "zenoh") {
            return Err(Failure::Input(
                "this `rospin` was built without a middleware, so it reaches no other program; build it with \
                 `cargo install rospin-cli --features dds`, or `zenoh`, or both"
                    .into(),
            ));
        }
        if middleware == Middlewares::InProcess {
            return Err(Failure::Input(
                "RMW_IMPLEMENTATION is in_process, which reaches no other program; name rmw_cyclonedds_cpp or \
                 rmw_zenoh_cpp, or leave it unset"
                    .into(),
            ));
        }
        let ros = rospin::init_with(ContextOptions::new(), middleware, RosArguments::default()).map_err(started)?;
        let name = name.map_or_else(|| format!("_rospin_{}", std::process::id()), str::to_owned);
        Self::create(ros, NodeOptions::new(name), discovery, true)
    }

    fn create(ros: Ros, options: NodeOptions, discovery: &Discovery, is_networked: bool) -> Result<Self, Failure> {
        let mut options =
            options.start_parameter_services(false).start_type_description_service(false).enable_rosout(false);
        if discovery.use_sim_time {
            options = options.parameter_override("use_sim_time", true);
        }
        let node = ros.create_node(options).map_err(Failure::input)?;
        Ok(Self { ros, node, spin_time: discovery.spin_time, is_networked, begin: Instant::now() })
    }

    /// Returns a session beside nodes of the same process.
    #[cfg(test)]
    pub(crate) fn beside(ros: &Ros) -> Self {
        Self::create(ros.clone(), NodeOptions::new("_rospin_test"), &Discovery::default(), false).unwrap()
    }

    pub(crate) fn ros(&self) -> &Ros {
        &self.ros
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// Runs callbacks until `future` resolves. `None` means that the user has interrupted the command.
    pub(crate) fn wait<F: Future>(&self, future: F) -> Result<Option<F::Output>, Failure> {
        match self.ros.spin_until(future) {
            Ok(output) => Ok(Some(output)),
            Err(rospin::errors::SpinError::Halted) => Ok(None),
            Err(error) => Err(Failure::run(error)),
        }
    }

    /// Runs callbacks until `future` resolves. It is an error if the user interrupts the command meanwhile.
    pub(crate) fn finish<F: Future>(&self, future: F) -> Result<F::Output, Failure> {
        self.wait(future)?.ok_or_else(|| Failure::Run("interrupted".into()))
    }

    /// Waits until the graph is known: until it has not changed for [`QUIET`], or for the time of `--spin-time`.
    pub(crate) fn discover(&self) -> Result<(), Failure> {
        self.discover_until(|_| false)
    }

    /// Waits as [`discover`](Self::discover) does, but no longer than until `is_enough` is true for the node.
    pub(crate) fn discover_until(&self, is_enough: impl Fn(&Node) -> bool) -> Result<(), Failure> {
        if !self.is_networked {
            return Ok(());
        }
        self.finish(self.watch(is_enough))
    }

    async fn watch(&self, is_enough: impl Fn(&Node) -> bool) {
        let mut changed = self.begin;
        loop {
            // The future is taken before the graph is read, so no change is missed.
            let change = self.node.wait_for_graph_change();
            if is_enough(&self.node) || self.is_over(changed) {
                return;
            }
            if self.ros().executor().handle().timeout(ClockKind::Steady, PAUSE, change).await.is_ok() {
                changed = Instant::now();
            }
        }
    }

    /// Returns true if the graph that changed at `changed` for the last time counts as complete.
    fn is_over(&self, changed: Instant) -> bool {
        let passed = self.begin.elapsed();
        if let Some(time) = self.spin_time {
            return passed >= time;
        }
        if passed >= LONGEST {
            return true;
        }
        if changed.elapsed() < QUIET {
            return false;
        }
        if self.is_alone() { passed >= EMPTY } else { true }
    }

    /// Returns true if no other node and no endpoint is known.
    fn is_alone(&self) -> bool {
        let own = self.node.fully_qualified_name();
        self.node.node_names().iter().all(|name| *name == own) && self.node.topic_names_and_types().is_empty()
    }
}

/// Returns the failure of a program that could not start.
fn started(error: rospin::errors::InitError) -> Failure {
    use rospin::errors::InitError;

    match error {
        InitError::NotBuilt { middleware, feature } => Failure::Input(
            format!(
                "this `rospin` was built without {middleware}; build it with `cargo install rospin-cli --features {feature}`, or \
                 set RMW_IMPLEMENTATION to the one that it has"
            )
            .into(),
        ),
        error => {
            let mut sentence = error.to_string();
            let mut cause = std::error::Error::source(&error);
            while let Some(inner) = cause {
                sentence.push_str(": ");
                sentence.push_str(&inner.to_string());
                cause = inner.source();
            }
            Failure::Run(sentence.into())
        }
    }
}

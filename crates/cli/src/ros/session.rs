//! The node of a command that talks to a running robot, and what it waits for.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use clap::Args;
use rospin::time::{ClockKind, SimTime};
use rospin::{Client, ContextOptions, Middlewares, Node, NodeOptions, Ros, RosArguments, ServiceInterface};
use rospin_report::{Failure, number};

use super::local::LocalDomain;
use super::{ends, is_hidden};

/// The graph counts as complete once it has not changed for this long. Nodes answer a newcomer within some ten
/// milliseconds, each with all that it has.
const QUIET: Duration = Duration::from_millis(250);

/// As [`QUIET`], once it is known that no other program is there which could answer.
const SETTLED: Duration = Duration::from_millis(40);

/// Time after which a network counts as empty if no other node has been heard of.
const EMPTY: Duration = Duration::from_secs(1);

/// Longest time that a graph is waited for which keeps changing, or whose endpoints have no nodes.
const LONGEST: Duration = Duration::from_secs(5);

/// Pause before the graph is looked at again, for facts that it does not announce: which node has an endpoint.
const PAUSE: Duration = Duration::from_millis(10);

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

impl Discovery {
    /// Returns the options of a command that takes the time of the topic `/clock`, or does not.
    pub(crate) fn with_sim_time(use_sim_time: bool) -> Self {
        Self { use_sim_time, ..Self::default() }
    }
}

/// A node on the network, for as long as a command runs.
pub(crate) struct Session {
    // Dropped before the node whose subscription it has.
    _sim_time: Option<SimTime>,
    ros: Ros,
    node: Node,
    spin_time: Option<Duration>,
    /// True if other programs may be on the network, which takes time to find out.
    is_networked: bool,
    /// The domain, if all of its programs are on this machine.
    local: Option<LocalDomain>,
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
        let middleware = Self::check_network()?;
        let ros = rospin::init_with(ContextOptions::new(), middleware, RosArguments::default()).map_err(started)?;
        let name = name.map_or_else(|| format!("_rospin_{}", std::process::id()), str::to_owned);
        let session = Self::create(ros, NodeOptions::new(name), discovery, true)?;
        Ok(Self { local: LocalDomain::from_env(middleware), ..session })
    }

    /// Returns the middleware that the environment selects. It is an error if that reaches no other program.
    pub(crate) fn check_network() -> Result<Middlewares, Failure> {
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
        Ok(middleware)
    }

    fn create(ros: Ros, options: NodeOptions, discovery: &Discovery, is_networked: bool) -> Result<Self, Failure> {
        let options =
            options.start_parameter_services(false).start_type_description_service(false).enable_rosout(false);
        let node = ros.create_node(options).map_err(Failure::input)?;
        let mut sim_time = None;
        if discovery.use_sim_time {
            // The parameter of that name does nothing in a node without parameter services.
            let time = ros.context().ros_time();
            sim_time = Some(node.use_sim_time(&ros.executor().handle(), &time).map_err(Failure::run)?);
        }
        let spin_time = discovery.spin_time;
        Ok(Self { _sim_time: sim_time, ros, node, spin_time, is_networked, local: None, begin: Instant::now() })
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

    /// Runs callbacks until `reading` resolves, for `limit` at most. An interrupt is an error if `has_end`, and else the
    /// way to end a command that prints whatever comes.
    pub(crate) fn read(
        &self,
        reading: impl Future<Output = Result<(), Failure>>,
        has_end: bool,
        limit: Option<Duration>,
    ) -> Result<(), Failure> {
        let handle = self.ros.executor().handle();
        let limited = async {
            match limit {
                None => reading.await,
                Some(limit) => handle.timeout(ClockKind::Steady, limit, reading).await.unwrap_or(Ok(())),
            }
        };
        if has_end { self.finish(limited)? } else { self.wait(limited)?.unwrap_or(Ok(())) }
    }

    /// Calls a service once it is there. Returns `None` if no response came within `limit`.
    pub(crate) fn call<S: ServiceInterface>(
        &self,
        client: &Client<S>,
        request: S::Request,
        limit: Duration,
    ) -> Result<Option<S::Response>, Failure> {
        let calling = async {
            client.wait_for_service().await;
            client.call(request).await
        };
        let limited = self.ros.executor().handle().timeout(ClockKind::Steady, limit, calling);
        match self.finish(limited)? {
            Ok(response) => response.map(Some).map_err(Failure::run),
            Err(_) => Ok(None),
        }
    }

    /// Waits until the graph is known: until it has not changed for [`QUIET`], or for the time of `--spin-time`.
    pub(crate) fn discover(&self) -> Result<(), Failure> {
        self.search(false, |_| false)
    }

    /// Waits until `is_enough` is true for the node, that is, until the graph has what was asked for. If it does not
    /// come, waits as [`discover`](Self::discover) does, and for no less than [`EMPTY`].
    pub(crate) fn discover_until(&self, is_enough: impl Fn(&Node) -> bool) -> Result<(), Failure> {
        self.search(true, is_enough)
    }

    fn search(&self, is_asked: bool, is_enough: impl Fn(&Node) -> bool) -> Result<(), Failure> {
        if !self.is_networked {
            return Ok(());
        }
        self.finish(self.watch(is_asked, is_enough))
    }

    async fn watch(&self, is_asked: bool, is_enough: impl Fn(&Node) -> bool) {
        let mut search = Search::new(self.begin, self.spin_time, is_asked, Instant::now());
        loop {
            // The future is taken before the graph is read, so no change is missed.
            let change = self.node.wait_for_graph_change();
            if is_enough(&self.node) || self.is_all_told(&mut search) {
                return;
            }
            if search.is_over(Instant::now(), || self.is_alone(), || self.is_complete()) {
                return;
            }
            if self.ros().executor().handle().timeout(ClockKind::Steady, PAUSE, change).await.is_ok() {
                search.changed = Instant::now();
            }
        }
    }

    /// Returns true if all programs of the domain have told everything that they have, and all of it is known. The kernel
    /// is asked for their number only if `search` has not asked it at that number of programs yet.
    fn is_all_told(&self, search: &mut Search) -> bool {
        let complete = self.node.complete_programs();
        if search.is_asked || self.spin_time.is_some() || search.complete.replace(complete) == Some(complete) {
            return false;
        }
        self.local.and_then(LocalDomain::programs).is_some_and(|programs| complete + 1 >= programs)
    }

    /// Returns true if all programs of the domain have answered, as far as the kernel tells how many there are, and the
    /// nodes of all endpoints are known.
    fn is_complete(&self) -> bool {
        let Some(programs) = self.local.and_then(LocalDomain::programs) else { return false };
        let mut answered = BTreeSet::new();
        for publisher in self.node.publishers_info() {
            // The first twelve bytes are those of the program. Endpoints of this one have no id.
            if let Some(gid) = publisher.gid {
                answered.insert(gid.to_bytes()[..12].to_vec());
            }
        }
        answered.len() + 1 >= programs && ends::all(self).iter().all(|end| end.node.is_some())
    }

    /// Returns true if no other node and no endpoint of one is known. Nodes of tools do not count, such as the daemon
    /// of `ros2`: they are heard of at once, as they are on the same computer, and say nothing about the robot.
    fn is_alone(&self) -> bool {
        let own = self.node.fully_qualified_name();
        let is_robot = |node: &str| node != own && !is_hidden(node);
        if self.node.node_names().iter().any(|name| is_robot(name)) {
            return false;
        }
        ends::all(self).iter().all(|end| end.node.as_deref().is_some_and(|node| !is_robot(node)))
    }
}

/// A wait for what is on the network. A command may wait more than once: each time, the graph may still be coming in.
struct Search {
    /// Time at which the command joined the network.
    joined: Instant,
    spin_time: Option<Duration>,
    /// True if something is asked for by name.
    is_asked: bool,
    began: Instant,
    /// Time of the last change of the graph.
    changed: Instant,
    /// Number of programs that had told everything when the kernel was last asked how many there are.
    complete: Option<usize>,
}

impl Search {
    const fn new(joined: Instant, spin_time: Option<Duration>, is_asked: bool, began: Instant) -> Self {
        Self { joined, spin_time, is_asked, began, changed: began, complete: None }
    }

    /// Returns true if the graph counts as complete at the time `now`.
    fn is_over(&self, now: Instant, is_alone: impl Fn() -> bool, is_complete: impl Fn() -> bool) -> bool {
        let passed = now.duration_since(self.joined);
        if let Some(time) = self.spin_time {
            return passed >= time;
        }
        if now.duration_since(self.began) >= LONGEST {
            return true;
        }
        let quiet = now.duration_since(self.changed);
        // If the last answer came late, wait longer for another one.
        let settled = SETTLED.max(self.changed.duration_since(self.joined) / 2).min(QUIET);
        if !self.is_asked && quiet >= settled && is_complete() {
            return true;
        }
        if quiet < QUIET {
            return false;
        }
        passed >= EMPTY || !(self.is_asked || is_alone())
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

#[cfg(test)]
mod tests {
    use rospin::msgs::builtin_interfaces::msg::Time;
    use rospin::msgs::rosgraph_msgs::msg::Clock;
    use rospin::{Context, PublisherOptions, SpinOptions};

    use super::*;
    use crate::ros::testing::Robot;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn each_search_waits_until_the_graph_is_quiet() {
        let joined = Instant::now();
        let mut search = Search::new(joined, None, false, joined + 9 * SECOND);
        assert!(!search.is_over(search.began, || false, || false));
        assert!(search.is_over(search.began + QUIET, || false, || false));
        search.changed = search.began + QUIET;
        assert!(!search.is_over(search.changed, || false, || false));
        assert!(search.is_over(search.began + LONGEST, || false, || false));
    }

    #[test]
    fn a_name_that_is_asked_for_and_an_empty_network_get_more_time() {
        let joined = Instant::now();
        let of_name = Search::new(joined, None, true, joined);
        let of_all = Search::new(joined, None, false, joined);
        assert!(!of_name.is_over(joined + QUIET, || false, || false));
        assert!(of_name.is_over(joined + EMPTY, || false, || false));
        assert!(!of_all.is_over(joined + QUIET, || true, || false));
        assert!(of_all.is_over(joined + EMPTY, || true, || false));
        let told = Search::new(joined, Some(3 * SECOND), true, joined);
        assert!(!told.is_over(joined + 2 * SECOND, || false, || false));
        assert!(told.is_over(joined + 3 * SECOND, || false, || false));
    }

    #[test]
    fn a_list_is_complete_once_all_programs_of_the_machine_have_answered() {
        let joined = Instant::now();
        let mut search = Search::new(joined, None, false, joined);
        assert!(!search.is_over(joined + SETTLED / 2, || false, || true));
        assert!(search.is_over(joined + SETTLED, || false, || true));
        search.changed = joined + 4 * SETTLED;
        assert!(!search.is_over(search.changed + SETTLED, || false, || true));
        assert!(search.is_over(search.changed + 2 * SETTLED, || false, || true));
        let of_name = Search::new(joined, None, true, joined);
        assert!(!of_name.is_over(joined + SETTLED, || false, || true));
    }

    #[test]
    fn a_command_is_alone_with_nodes_of_tools() {
        let robot = Robot::new();
        let daemon = robot.node("_ros2_daemon_0");
        let _publisher = daemon.create_publisher::<Clock>("daemon").unwrap();
        assert!(robot.session.is_alone());
        let _talker = robot.node("talker");
        assert!(!robot.session.is_alone());
    }

    #[test]
    fn the_time_is_that_of_the_clock_if_asked_for() {
        let ros = Ros::in_process(&Context::new(ContextOptions::new()));
        let discovery = Discovery { use_sim_time: true, ..Discovery::default() };
        let session = Session::create(ros.clone(), NodeOptions::new("command"), &discovery, false).unwrap();
        assert!(session.is_alone());
        let simulator = ros.create_node("simulator").unwrap();
        let publisher = simulator.create_publisher::<Clock>(PublisherOptions::new("/clock").keep_last(1)).unwrap();
        publisher.publish(Clock { clock: Time { sec: 42, nanosec: 0 } }).unwrap();
        ros.executor().spin(SpinOptions::spin_all()).unwrap();
        assert_eq!(session.node().now().as_secs_f64(), 42.0);
    }
}

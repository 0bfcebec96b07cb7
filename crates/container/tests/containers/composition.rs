//! Components that other programs load and unload, by the services of rclcpp's `ComponentManager`.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rospin_container::{ComponentFile, Components, Container, ContainerHandle, Ended, RunError, Setup};
use rospin_engine::{Context, ContextOptions, GroupOptions, SpinOptions, TimerOptions};
use rospin_msgs::composition_interfaces::srv::{
    ListNodes, ListNodesRequest, LoadNode, LoadNodeRequest, LoadNodeResponse, UnloadNode, UnloadNodeRequest,
    UnloadNodeResponse,
};
use rospin_node::interfaces::rcl_interfaces::Parameter;
use rospin_node::{Client, ParameterSetting, ParameterValue, Ros, RosArguments, ServiceInterface};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// A container that runs on a thread of its own, and clients of its services.
struct World {
    ros: Ros,
    load: Client<LoadNode>,
    unload: Client<UnloadNode>,
    list: Client<ListNodes>,
    handle: ContainerHandle,
    /// Reports of the components: that they run, with the name of their thread, and that they were dropped.
    told: Receiver<String>,
    running: JoinHandle<Result<Ended, RunError>>,
}

/// Value that tells of its drop.
struct Told(String, Sender<String>);

impl Drop for Told {
    fn drop(&mut self) {
        let _ = self.1.send(format!("{} was dropped", self.0));
    }
}

fn components(tell: &Sender<String>) -> Components {
    let tell = tell.clone();
    let make = move |setup: Setup| {
        let node = setup.create_node()?;
        let name = node.fully_qualified_name();
        let gain = node.declare_parameter("gain", 1.0)?.get();
        let topic = node.resolve_topic("chatter")?;
        let group = GroupOptions::new("talk").node(&name);
        let group = setup.executor().create_group(group, ());
        let dropped = Told(name.clone(), tell.clone());
        let tell = tell.clone();
        let says = name;
        let timer = group.create_timer(TimerOptions::one_shot(Duration::from_millis(1)), move |(), _| {
            let thread = thread::current();
            let _ = tell.send(format!("{says} runs on {}: {topic} {gain}", thread.name().unwrap_or_default()));
        })?;
        Ok::<_, Error>((timer, node, dropped))
    };
    Components::new()
        .register("demo::LongTalker", make.clone())
        .register("other_nodes/demo::Twin", make.clone())
        .register("demo::Twin", |_| Err::<(), _>("it is the wrong twin"))
        .register("demo::Panics", |_: Setup| -> Result<(), Error> { panic!("stage fright") })
}

fn start(file: &str) -> World {
    start_with(file, RosArguments::default())
}

fn start_with(file: &str, arguments: RosArguments) -> World {
    let context = Context::new(ContextOptions::new());
    let ros = Ros::in_process(&context).with_arguments(arguments);
    let (tell, told) = channel();
    let mut container = Container::new(&context);
    let components = components(&tell);
    container.start(&components, &ros, &ComponentFile::parse("demo.toml", file).unwrap()).unwrap();
    container.serve(&components, &ros, "ComponentManager").unwrap();
    let handle = container.handle();
    let asker = Ros::in_process(&context).create_node("asker").unwrap();
    let load = asker.create_client("/ComponentManager/_container/load_node").unwrap();
    let unload = asker.create_client("/ComponentManager/_container/unload_node").unwrap();
    let list = asker.create_client("/ComponentManager/_container/list_nodes").unwrap();
    let running = thread::spawn(move || container.run());
    World { ros, load, unload, list, handle, told, running }
}

/// Returns the request for a component of that type, without anything else.
fn request(package_name: &str, plugin_name: &str) -> LoadNodeRequest {
    let package_name = package_name.to_owned();
    let plugin_name = plugin_name.to_owned();
    LoadNodeRequest { package_name, plugin_name, ..LoadNodeRequest::default() }
}

fn parameter(name: &str, value: impl Into<ParameterValue>) -> Parameter {
    ParameterSetting::new(name, value).into()
}

impl World {
    fn call<S: ServiceInterface>(&self, client: &Client<S>, request: S::Request) -> S::Response {
        let options = SpinOptions::new().timeout(Duration::from_secs(40));
        self.ros.executor().spin_until(client.call(request), options).unwrap().unwrap()
    }

    fn load(&self, request: LoadNodeRequest) -> LoadNodeResponse {
        self.call(&self.load, request)
    }

    /// Loads a component, which must succeed. Returns its name and its id.
    #[track_caller]
    fn loaded(&self, request: LoadNodeRequest) -> (String, u64) {
        let LoadNodeResponse { success, error_message, full_node_name, unique_id } = self.load(request);
        assert!(success && error_message.is_empty(), "{error_message}");
        (full_node_name, unique_id)
    }

    /// Returns the error of a request that must fail.
    #[track_caller]
    fn refused(&self, request: LoadNodeRequest) -> String {
        let LoadNodeResponse { success, error_message, full_node_name, unique_id } = self.load(request);
        assert_eq!((success, full_node_name.as_str(), unique_id), (false, "", 0), "{error_message}");
        error_message
    }

    fn unload(&self, unique_id: u64) -> (bool, String) {
        let UnloadNodeResponse { success, error_message } = self.call(&self.unload, UnloadNodeRequest { unique_id });
        (success, error_message)
    }

    fn list(&self) -> Vec<(String, u64)> {
        let listed = self.call(&self.list, ListNodesRequest::default());
        listed.full_node_names.into_iter().zip(listed.unique_ids).collect()
    }

    /// Waits for the next thing that a component tells.
    #[track_caller]
    fn told(&self) -> String {
        self.told.recv_timeout(Duration::from_secs(40)).expect("a component tells something")
    }

    fn end(self) {
        self.handle.end("the test is over");
        assert_eq!(self.running.join().unwrap().unwrap(), Ended::Asked { reason: "the test is over".to_owned() });
    }
}

#[test]
fn components_are_loaded_listed_and_unloaded() {
    let world = start("");
    assert_eq!(world.list(), []);
    assert_eq!(world.loaded(request("demo", "demo::LongTalker")), ("/long_talker".to_owned(), 1));
    assert_eq!(world.told(), "/long_talker runs on long_talker: /chatter 1");
    let mut other = request("demo", "demo::LongTalker");
    (other.node_name, other.node_namespace) = ("bob".to_owned(), "/robot".to_owned());
    other.remap_rules = vec!["chatter:=/news".to_owned()];
    other.parameters = vec![parameter("gain", 2.5)];
    other.extra_arguments = vec![parameter("use_intra_process_comms", true)];
    assert_eq!(world.loaded(other.clone()), ("/robot/bob".to_owned(), 2));
    assert_eq!(world.told(), "/robot/bob runs on bob: /news 2.5");
    assert_eq!(world.list(), [("/long_talker".to_owned(), 1), ("/robot/bob".to_owned(), 2)]);

    assert_eq!(world.unload(2), (true, String::new()));
    assert_eq!(world.told(), "/robot/bob was dropped");
    assert_eq!(world.unload(2), (false, "No node found with unique_id: 2".to_owned()));
    // Its executor has ended with it, and the container goes on; it comes back with a new id.
    assert_eq!(world.loaded(other), ("/robot/bob".to_owned(), 3));
    assert_eq!(world.told(), "/robot/bob runs on bob: /news 2.5");
    assert_eq!(world.list(), [("/long_talker".to_owned(), 1), ("/robot/bob".to_owned(), 3)]);
    world.end();
}

#[test]
fn components_may_share_an_executor_which_ends_with_the_last_one() {
    let world = start("");
    let on = |executor: &str, name: &str| {
        let mut request = request("demo", "demo::LongTalker");
        request.node_name = name.to_owned();
        request.extra_arguments = vec![parameter("executor", executor)];
        world.loaded(request).1
    };
    let a = on("shared", "a");
    assert_eq!(world.told(), "/a runs on shared: /chatter 1");
    let b = on("shared", "b");
    assert_eq!(world.told(), "/b runs on shared: /chatter 1");
    assert!(world.unload(a).0);
    assert_eq!(world.told(), "/a was dropped");
    let c = on("shared", "c");
    assert_eq!(world.told(), "/c runs on shared: /chatter 1");
    assert!(world.unload(b).0 && world.unload(c).0);
    assert_eq!([world.told(), world.told()], ["/b was dropped", "/c was dropped"]);
    // The executor of the services may have components, too, and stays.
    let own = on("container", "d");
    assert_eq!(world.told(), "/d runs on container: /chatter 1");
    assert!(world.unload(own).0);
    assert_eq!(world.told(), "/d was dropped");
    assert_eq!(world.list(), []);
    world.end();
}

#[test]
fn components_of_a_file_are_listed_and_unloaded_too() {
    let world = start("component = [{ type = \"demo::LongTalker\", name = \"first\" }]");
    assert_eq!(world.told(), "/first runs on first: /chatter 1");
    assert_eq!(world.loaded(request("demo", "demo::LongTalker")).1, 2);
    assert_eq!(world.told(), "/long_talker runs on long_talker: /chatter 1");
    assert_eq!(world.list(), [("/first".to_owned(), 1), ("/long_talker".to_owned(), 2)]);
    assert!(world.unload(1).0);
    assert_eq!(world.told(), "/first was dropped");
    assert_eq!(world.list(), [("/long_talker".to_owned(), 2)]);
    world.end();
}

#[test]
fn a_package_chooses_among_components_of_one_name() {
    let world = start("");
    assert_eq!(world.loaded(request("other_nodes", "demo::Twin")).0, "/twin");
    assert_eq!(world.told(), "/twin runs on twin: /chatter 1");
    let wrong = world.refused(request("demo", "demo::Twin"));
    assert_eq!(wrong, "Component constructor threw an exception: it is the wrong twin");
    world.end();
}

#[test]
fn a_request_that_cannot_be_met_is_answered_with_the_reason() {
    let world = start("");
    let refused = |change: fn(&mut LoadNodeRequest)| {
        let mut request = request("demo", "demo::LongTalker");
        change(&mut request);
        world.refused(request)
    };
    assert_eq!(
        refused(|request| request.plugin_name = "demo::Lisener".to_owned()),
        "Failed to find class with the requested plugin name: the program has no component `demo::Lisener`; known are: \
         `demo::LongTalker`, `demo::Panics`, `demo::Twin`, `other_nodes/demo::Twin`"
    );
    let panics = refused(|request| request.plugin_name = "demo::Panics".to_owned());
    assert_eq!(panics, "Component constructor threw an exception: it panicked: stage fright");
    assert_eq!(
        refused(|request| request.extra_arguments = vec![parameter("use_intra_process_comms", 1)]),
        "Extra component argument 'use_intra_process_comms' must be a boolean"
    );
    for (change, word) in [
        ((|request| request.node_name = "a b".to_owned()) as fn(&mut LoadNodeRequest), "`/a b`"),
        (|request| request.remap_rules = vec!["chatter".to_owned()], "there is no `:=` in it"),
        (|request| request.extra_arguments = vec![parameter("thread_num", 4)], "no extra argument `thread_num`"),
        (|request| request.extra_arguments = vec![parameter("executor", 4)], "must be the name of one"),
        (|request| request.parameters = vec![Parameter::default()], "has no value"),
        (|request| request.parameters = vec![parameter("gain", "high")], "gain"),
    ] {
        let reason = refused(change);
        assert!(reason.contains(word), "{reason}");
    }
    assert_eq!(world.list(), []);
    world.end();
}

#[test]
fn the_arguments_of_the_program_are_for_a_component_only_if_the_request_says_so() {
    let arguments = ["demo", "--ros-args", "-r", "__ns:=/robot", "-r", "chatter:=/news"];
    let world = start_with("", RosArguments::parse(arguments).unwrap());
    // The node of the services is renamed, as every node of the program.
    let world = World { load: asker(&world, "load_node"), list: asker(&world, "list_nodes"), ..world };
    assert_eq!(world.loaded(request("demo", "demo::LongTalker")).0, "/long_talker");
    assert_eq!(world.told(), "/long_talker runs on long_talker: /chatter 1");
    let mut forwards = request("demo", "demo::LongTalker");
    forwards.remap_rules = vec!["__node:=bob".to_owned()];
    forwards.extra_arguments = vec![parameter("forward_global_arguments", true)];
    assert_eq!(world.loaded(forwards).0, "/robot/bob");
    assert_eq!(world.told(), "/robot/bob runs on bob: /news 1");
    assert_eq!(world.list(), [("/long_talker".to_owned(), 1), ("/robot/bob".to_owned(), 2)]);
    world.end();
}

/// Returns a client of a service of the container in the namespace `/robot`.
fn asker<S: ServiceInterface>(world: &World, service: &str) -> Client<S> {
    let node = Ros::in_process(world.ros.context()).create_node("asks").unwrap();
    node.create_client(format!("/robot/ComponentManager/_container/{service}").as_str()).unwrap()
}

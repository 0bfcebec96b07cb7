//! Containers: components that talk, the executors that they run on, errors of starting, and every way to end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rospin_container::{ComponentFile, Components, Container, ContainerHandle, Ended, RunError, Setup, StartError};
use rospin_engine::os::{CoreSet, OsScheduling, ThreadId, scheduling_of};
use rospin_engine::{Context, ContextOptions, Deployment, GroupOptions, OnPanic, Timer, TimerOptions};
use rospin_node::lifecycle::{Fault, State, Transition};
use rospin_node::{Lifecycle, LifecycleHandle, LifecycleNode, Message, ParameterOptions, Ros, Subscription};
use serde::{Deserialize, Serialize};

type Error = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone, Serialize, Deserialize)]
struct Text {
    data: String,
}

impl Message for Text {
    const TYPE: &str = "std_msgs/msg/String";
}

/// The places where callbacks ran: thread name, cores and scheduling.
type Places = Arc<Mutex<BTreeMap<String, (String, CoreSet, OsScheduling)>>>;

fn note(places: &Places, node: &str) {
    let name = thread::current().name().unwrap_or_default().to_owned();
    let place = (name, CoreSet::of_current_thread().unwrap(), scheduling_of(ThreadId::current()).unwrap());
    places.lock().unwrap().insert(node.to_owned(), place);
}

fn talker(setup: &Setup, places: Places) -> Result<Timer, Error> {
    let node = setup.create_node()?;
    let period_ms = node.declare_parameter::<Option<i64>>("period_ms", ParameterOptions::new())?.get();
    let period_ms = period_ms.ok_or("it has no period_ms; add it to its parameters")?;
    let period = Duration::from_millis(u64::try_from(period_ms)?);
    let publisher = node.create_publisher::<Text>("chatter")?;
    let name = node.fully_qualified_name();
    let group = setup.executor().create_group(GroupOptions::new("talk").node(&name), 0_u32);
    Ok(group.create_timer(TimerOptions::periodic(period), move |count: &mut u32, _| {
        *count += 1;
        note(&places, &name);
        publisher.publish(Text { data: count.to_string() }).unwrap();
    })?)
}

fn listener(setup: &Setup, places: Places) -> Result<Subscription, Error> {
    let node = setup.create_node()?;
    let name = node.fully_qualified_name();
    let container = setup.container();
    let group = setup.executor().create_group(GroupOptions::new("listen").node(&name), ());
    Ok(node.on(&group).create_subscription("chatter", move |text: Text| {
        note(&places, &name);
        // Earlier messages may be displaced before the listener's executor begins to spin.
        if text.data.parse::<u32>().unwrap() >= 3 {
            container.end("it has heard enough");
        }
    })?)
}

fn demo(places: &Places) -> Components {
    let talks = Arc::clone(places);
    let listens = Arc::clone(places);
    Components::new()
        .register("demo::Talker", move |setup| talker(&setup, Arc::clone(&talks)))
        .register("demo::Listener", move |setup| listener(&setup, Arc::clone(&listens)))
}

const DEMO: &str = r#"
[[component]]
type = "demo::Talker"
name = "talker"
namespace = "/robot"
remap = { "chatter" = "/news" }
parameters = { period_ms = 1 }

[[component]]
type = "demo::Listener"
name = "listener"
executor = "hearing"
remap = { "chatter" = "news" }
"#;

fn start(options: ContextOptions, components: &Components, file: &str) -> Result<Container, StartError> {
    let context = Context::new(options);
    let mut container = Container::new(&context);
    let file = ComponentFile::parse("demo.toml", file)?;
    container.start(components, &Ros::in_process(&context), &file)?;
    Ok(container)
}

#[test]
fn remapped_components_talk_where_the_files_put_them() {
    let last = thread::available_parallelism().unwrap().get().min(2) as u16 - 1;
    let deployment = format!(
        r#"
        [[executor]]
        name = "hearing"
        cores = [{last}]

        [[executor]]
        name = "quick"
        scheduling = {{ nice = 1 }}
        cores = [0]

        [[group]]
        node = "/robot/talker"
        name = "talk"
        executor = "quick"
        "#
    );
    let places = Places::default();
    let options = ContextOptions::new().deployment(Deployment::parse(&deployment).unwrap());
    let container = start(options, &demo(&places), DEMO).unwrap();
    let ended = container.run().unwrap();
    let component = Ended::Component { component: "/listener".to_owned(), reason: "it has heard enough".to_owned() };
    assert_eq!(ended, component);
    let places = places.lock().unwrap();
    assert_eq!(
        places["/robot/talker"],
        ("quick".to_owned(), CoreSet::new([0]), OsScheduling::Other { nice: 1 }),
        "moved by the deployment file"
    );
    assert_eq!(places["/listener"].1, CoreSet::new([last]), "placed by it");
}

#[test]
fn components_have_executors_of_their_own_unless_the_file_says() {
    let places = Places::default();
    let container = start(ContextOptions::new(), &demo(&places), DEMO).unwrap();
    container.run().unwrap();
    let name = |node| places.lock().unwrap()[node].0.clone();
    assert_eq!((name("/robot/talker").as_str(), name("/listener").as_str()), ("talker", "hearing"));
}

/// Callbacks of a component's node that name no group run on the component's executor.
#[test]
fn a_component_s_own_group_runs() {
    let components = Components::new().register("demo::Talker", |setup| {
        let node = setup.create_node()?;
        let container = setup.container();
        let end = move |_| container.end(thread::current().name().unwrap_or_default());
        let timer = node.create_timer(Duration::from_millis(1), end)?;
        Ok::<_, Error>((node, timer))
    });
    let file = "component = [{ type = \"demo::Talker\", name = \"talker\", executor = \"talking\" }]";
    let ended = start(ContextOptions::new(), &components, file).unwrap().run().unwrap();
    assert_eq!(ended, Ended::Component { component: "/talker".to_owned(), reason: "talking".to_owned() });
}

#[test]
fn mistakes_in_the_file_are_told_at_their_place() {
    let refusal = |file: &str| start(ContextOptions::new(), &demo(&Places::default()), file).unwrap_err().to_string();
    assert_eq!(
        refusal(&DEMO.replace("Listener", "Lisener")),
        "demo.toml: line 10, column 8, `type`: the program has no component `demo::Lisener`; known are: \
         `demo::Listener`, `demo::Talker`"
    );
    let name = refusal(&DEMO.replace("\"listener\"", "\"the listener\""));
    assert!(name.starts_with("demo.toml: line 11, column 8, `name`: ") && name.contains("underscores"), "{name}");
    let namespace = refusal(&DEMO.replace("\"/robot\"", "\"robot\""));
    assert!(namespace.starts_with("demo.toml: line 5, column 13, `namespace`: "), "{namespace}");
    let remap = refusal(&DEMO.replace("\"news\"", "\"the news\""));
    assert!(remap.starts_with("demo.toml: line 13, column 9, `remap`: ") && remap.contains("the news"), "{remap}");
    let none = start(ContextOptions::new(), &Components::new(), DEMO).unwrap_err().to_string();
    assert!(none.ends_with("known are: none"), "{none}");
}

#[test]
fn a_component_that_does_not_start_is_named_with_its_reason() {
    let error =
        start(ContextOptions::new(), &demo(&Places::default()), &DEMO.replace("period_ms = 1", "")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "demo.toml: line 3, column 8, `type`: component `/robot/talker` (demo::Talker) did not start: it has no \
         period_ms; add it to its parameters"
    );
    assert!(matches!(error, StartError::Failed { component, .. } if component == "/robot/talker"));

    let panics = Components::new().register("demo::Talker", |_| -> Result<(), Error> { panic!("no voice") });
    let error = start(ContextOptions::new(), &panics, DEMO).unwrap_err().to_string();
    assert!(error.contains("`/robot/talker` (demo::Talker) did not start: it panicked: no voice"), "{error}");
}

/// Value that records its drop.
struct Noted(&'static str, Arc<Mutex<Vec<&'static str>>>);

impl Drop for Noted {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(self.0);
    }
}

/// Returns a file with one component of each of these types, with the same name.
fn file_of(types: &[&str]) -> String {
    types.iter().map(|name| format!("[[component]]\ntype = \"{name}\"\nname = \"{name}\"\n")).collect()
}

#[test]
fn the_last_component_goes_first_also_if_one_does_not_start() {
    let dropped = Arc::new(Mutex::new(Vec::new()));
    let components = ["a", "b", "c"].into_iter().fold(Components::new(), |components, name| {
        let dropped = Arc::clone(&dropped);
        components.register(name, move |_| Ok::<_, Error>(Noted(name, Arc::clone(&dropped))))
    });
    let container = start(ContextOptions::new(), &components, &file_of(&["a", "b", "c"])).unwrap();
    container.handle().end("nobody needs it");
    assert!(dropped.lock().unwrap().is_empty());
    assert_eq!(container.run().unwrap(), Ended::Asked { reason: "nobody needs it".to_owned() });
    assert_eq!(*dropped.lock().unwrap(), ["c", "b", "a"]);
    dropped.lock().unwrap().clear();

    let components = components.register("d", |_| Err::<(), _>("no power"));
    start(ContextOptions::new(), &components, &file_of(&["a", "d", "c"])).unwrap_err();
    assert_eq!(*dropped.lock().unwrap(), ["a"]);
}

/// Returns a component that runs `act` in its first callback.
fn acting(act: impl Fn(&Setup) + Send + Sync + 'static, on_panic: OnPanic) -> Components {
    let act = Arc::new(act);
    Components::new().register("actor", move |setup: Setup| {
        let group = GroupOptions::new("act").node(setup.name().to_string()).on_panic(on_panic);
        let group = setup.executor().create_group(group, ());
        let act = Arc::clone(&act);
        group.create_timer(TimerOptions::one_shot(Duration::from_millis(1)), move |(), _| act(&setup))
    })
}

#[test]
fn an_executor_that_ends_ends_the_container() {
    let components = acting(|setup| setup.executor().halt(), OnPanic::Continue);
    let ended = start(ContextOptions::new(), &components, &file_of(&["actor"])).unwrap().run().unwrap();
    assert_eq!(ended, Ended::Halted { executor: "actor".to_owned() });

    let components = acting(|_| panic!("stage fright"), OnPanic::Halt);
    let error = start(ContextOptions::new(), &components, &file_of(&["actor"])).unwrap().run().unwrap_err();
    assert!(matches!(&error, RunError::Spin { executor, .. } if executor == "actor"), "{error}");
    assert!(error.to_string().contains("stage fright"), "{error}");
}

#[test]
fn a_deployment_of_another_program_is_refused() {
    let plan = "executor = [{ name = \"quick\" }]\ngroup = [{ name = \"act1\", executor = \"quick\" }]";
    let options = ContextOptions::new().deployment(Deployment::parse(plan).unwrap());
    let components = acting(|setup| setup.container().end("it runs"), OnPanic::Continue);
    let error = start(options, &components, &file_of(&["actor"])).unwrap().run().unwrap_err();
    assert!(error.to_string().contains("act1"), "{error}");
}

#[test]
fn a_component_may_be_a_lifecycle_node() {
    /// A managed node that ends the container once it is active.
    struct Device(ContainerHandle);
    impl Lifecycle for Device {
        fn on_activate(&mut self, node: &LifecycleHandle<Self>, _: State) -> Result<(), Fault> {
            self.0.end(format!("{} is up", node.node().fully_qualified_name()));
            Ok(())
        }
    }
    let components = Components::new().register("device", |setup: Setup| {
        let device = Device(setup.container());
        let node = LifecycleNode::new(setup.ros(), setup.executor(), setup.node_options(), device)?;
        drop((node.request(Transition::Configure), node.request(Transition::Activate)));
        Ok::<_, Error>(node)
    });
    let ended = start(ContextOptions::new(), &components, &file_of(&["device"])).unwrap().run().unwrap();
    assert_eq!(ended.to_string(), "component `/device` ended: /device is up");
}

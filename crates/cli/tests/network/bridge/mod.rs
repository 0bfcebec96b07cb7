//! `rospin bridge` over DDS, with a client of the protocol that shares no code with the server.

mod client;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rospin::message::SerializedMessage;
use rospin::msgs::std_msgs::msg::{String as Text, UInt8MultiArray};
use rospin::{Context, Node, PublisherOptions, Ros};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use self::client::{News, Watcher};
use super::{Domain, IS_CHILD, Serving};

const RMW: &str = "rmw_cyclonedds_cpp";

/// A bridge that runs.
struct Bridge {
    child: Child,
    address: String,
}

impl Bridge {
    fn start(domain: &Domain, arguments: &[&str]) -> Self {
        let mut command = domain.command(RMW, &[&["bridge", "--port", "0"], arguments].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let address = line.split("ws://").nth(1).and_then(|rest| rest.split(',').next());
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { child, address }
    }

    fn connect(&self, path: &str) -> Watcher {
        Watcher::connect(&self.address, path, &[]).expect("it lets us in")
    }

    /// Returns the bytes of memory that it uses.
    fn memory(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = text.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
        line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<u64>().ok()).expect("a number") << 10
    }

    /// Interrupts it, as Ctrl-C does. Returns the time until it has ended.
    fn interrupt(mut self) -> Duration {
        let begin = Instant::now();
        kill_process(Pid::from_child(&self.child), Signal::INT).expect("it runs");
        assert!(self.child.wait().expect("its status").success());
        begin.elapsed()
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        // Both only fail if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn join(id: u16, context: &Context) -> Ros {
    let options = rospin::dds::DomainOptions::new().domain_id(id).localhost();
    rospin::dds::Domain::join(options).expect("a participant").ros(context)
}

fn encoded(text: &str) -> Vec<u8> {
    SerializedMessage::serialize(&Text { data: text.to_owned() }).expect("a text").as_bytes().to_vec()
}

fn decoded(bytes: Vec<u8>) -> String {
    SerializedMessage::from_bytes(bytes).expect("a header").deserialize::<Text>().expect("a text").data
}

#[test]
fn a_robot_is_watched_in_foxglove_and_driven_by_those_that_have_the_token() {
    let domain = Domain::new();
    let id = domain.id;
    let _serving = Serving::new(move |context| join(id, context));
    let bridge = Bridge::start(&domain, &["--token", "correct-horse"]);

    // Messages that a publisher keeps reach each watcher, and each once.
    let mut watcher = bridge.connect("/");
    let info = watcher.told_of("serverInfo");
    for capability in ["clientPublish", "services", "parameters", "parametersSubscribe", "connectionGraph"] {
        assert!(info["capabilities"].as_array().is_some_and(|all| all.contains(&json!(capability))), "{info}");
    }
    let latched = watcher.find("/latched");
    assert_eq!((&latched["encoding"], &latched["schemaName"]), (&json!("cdr"), &json!("std_msgs/msg/String")));
    assert_eq!((&latched["schemaEncoding"], &latched["schema"]), (&json!("ros2msg"), &json!("string data\n")));
    watcher.subscribe("/latched");
    assert_eq!(decoded(watcher.message("/latched")), "ours");
    let mut late = bridge.connect("/");
    late.subscribe("/latched");
    assert_eq!(decoded(late.message("/latched")), "ours");

    // Who has no token may watch, and no more.
    // A request of std_srvs/srv/SetBool in CDR: the header, and `true`.
    let set = [0, 1, 0, 0, 1];
    watcher.advertise(1, "/in", "std_msgs/msg/String");
    watcher.status("/in cannot be published: this connection may only watch");
    watcher.publish(1, &encoded("refused"));
    let refused = watcher.call("/set", &set).expect_err("it has no token");
    assert!(refused.contains("may only watch"), "{refused}");
    watcher.send(&json!({
        "op": "setParameters", "parameters": [{ "name": "/ours.speed", "value": 5 }], "id": "set"
    }));
    watcher.status("parameters are not set: this connection may only watch");
    assert_eq!(watcher.values("set")["/ours.speed"], json!(1));
    for (path, headers, status) in [
        ("/?token=correct-horses", &[][..], 401),
        ("/?token=", &[], 401),
        ("/", &[("origin", "https://example.com")], 403),
    ] {
        assert_eq!(Watcher::connect(&bridge.address, path, headers).err(), Some(status), "{path}");
    }

    // Who has it publishes, calls and sets.
    let mut driver = bridge.connect("/?token=correct-horse");
    driver.subscribe("/out");
    driver.advertise(1, "/in", "std_msgs/msg/String");
    let begin = Instant::now();
    let heard = loop {
        // The first messages may come before the subscriptions have met.
        assert!(begin.elapsed() < Duration::from_secs(20), "nothing was published");
        driver.publish(1, &encoded("driven"));
        if let Some(News::Message(_, bytes)) = driver.next() {
            break decoded(bytes);
        }
    };
    assert_eq!(heard, "driven");
    let response = driver.call("/set", &set).expect("a response");
    assert!(response[4] == 1 && response.windows(5).any(|part| part == b"done\0"), "{response:?}");
    assert!(driver.call("/set", &[0, 1]).expect_err("no header").contains("the request is invalid"));
    watcher.send(&json!({ "op": "subscribeParameterUpdates", "parameterNames": ["/ours.speed"] }));
    assert_eq!(driver.parameters(&[])["/ours.speed"], json!(1));
    driver.send(&json!({
        "op": "setParameters", "parameters": [{ "name": "/ours.speed", "value": 7 }], "id": "set"
    }));
    assert_eq!(driver.values("set")["/ours.speed"], json!(7));
    assert_eq!(watcher.values("")["/ours.speed"], json!(7));
    driver.send(&json!({
        "op": "setParameters", "parameters": [{ "name": "/ours.speed", "value": "fast" }], "id": "wrong"
    }));
    driver.status("/ours.speed is not set: ");
    assert_eq!(driver.values("wrong")["/ours.speed"], json!(7));

    // The graph, and what rospin alone knows: the bridge is a program of rospin itself.
    driver.send(&json!({ "op": "subscribeConnectionGraph" }));
    let published = json!({ "name": "/latched", "publisherIds": ["/ours"] });
    driver.until("the graph", |_, news| match news {
        News::Told(told) if told["op"] == "connectionGraphUpdate" => {
            told["publishedTopics"].as_array().is_some_and(|all| all.contains(&published)).then_some(())
        }
        _ => None,
    });
    driver.subscribe("/rospin/callbacks");
    let pid = json!(bridge.child.id());
    driver.until("callbacks of the bridge", |_, news| match news {
        News::Message(topic, bytes) if topic == "/rospin/callbacks" => {
            let message: serde_json::Value = serde_json::from_slice(bytes).expect("JSON");
            (message["pid"] == pid && message["callbacks"].as_array().is_some_and(|all| !all.is_empty())).then_some(())
        }
        _ => None,
    });

    // Watchers that stay delay nobody.
    let took = bridge.interrupt();
    assert!(took < Duration::from_secs(2), "{took:?}");
}

/// Nodes of a robot with many topics, as long as this lives.
struct Robot {
    _ros: Ros,
    node: Node,
    topics: Vec<rospin::Publisher<Text>>,
}

impl Robot {
    fn new(id: u16, name: &str, count: usize) -> Self {
        let ros = join(id, &Context::new(rospin::ContextOptions::new()));
        let node = ros.create_node(name).expect("a node");
        let topic = |at: usize| node.create_publisher(format!("/{name}/topic_{at}").as_str()).expect("a publisher");
        let topics = (0..count).map(topic).collect();
        Self { _ros: ros, node, topics }
    }
}

#[test]
fn a_watcher_that_reads_nothing_takes_nothing_from_the_others() {
    const LIMIT: u64 = 4_000_000;
    const TOPICS: usize = 500;
    let domain = Domain::new();
    let limit = LIMIT.to_string();
    let bridge = Bridge::start(&domain, &["--send-buffer-limit", &limit, "--exclude-topic", ".*_7"]);
    let robot = Robot::new(domain.id, "r1", TOPICS);
    let image = robot.node.create_publisher(PublisherOptions::new("/image").keep_last(5)).expect("a publisher");

    let mut silent = bridge.connect("/");
    silent.subscribe("/image");
    let mut watchers: Vec<Watcher> = (0..9).map(|_| bridge.connect("/")).collect();
    for watcher in &mut watchers {
        while watcher.channels.keys().filter(|topic| topic.starts_with("/r1/")).count() < TOPICS - 50 {
            watcher.until("a topic", |_, _| Some(()));
        }
        assert!(!watcher.channels.contains_key("/r1/topic_7"), "it is left out");
        for at in [0, 1, 499] {
            watcher.subscribe(&format!("/r1/topic_{at}"));
        }
        watcher.subscribe("/image");
    }
    let wait = |what: &str, is_so: &dyn Fn() -> bool| {
        let begin = Instant::now();
        while !is_so() {
            assert!(begin.elapsed() < Duration::from_secs(30), "{what}");
            thread::sleep(Duration::from_millis(5));
        }
    };
    // One subscription for all watchers, and none of what nobody watches.
    wait("subscriptions", &|| robot.topics[499].subscription_count() == 1 && image.subscription_count() == 1);
    assert_eq!(robot.topics[2].subscription_count(), 0);

    // All ends have met once each watcher has heard each topic.
    let mut heard: BTreeSet<(usize, String)> = BTreeSet::new();
    let begin = Instant::now();
    while heard.len() < 3 * watchers.len() {
        assert!(begin.elapsed() < Duration::from_secs(30), "{heard:?}");
        for at in [0, 1, 499] {
            robot.topics[at].publish(Text { data: "first".to_owned() }).expect("room");
        }
        for (number, watcher) in watchers.iter_mut().enumerate() {
            while let Some(news) = watcher.next() {
                if let News::Message(topic, _) = news {
                    heard.insert((number, topic));
                }
            }
        }
    }

    // Pictures of a megabyte, many times what the system's buffers hold.
    let before = bridge.memory();
    let picture = UInt8MultiArray { data: vec![1; 1 << 20].into(), ..UInt8MultiArray::default() };
    for number in 0..60 {
        image.publish(picture.clone()).expect("room");
        for at in [0, 1, 499] {
            robot.topics[at].publish(Text { data: number.to_string() }).expect("room");
        }
        for watcher in &mut watchers {
            let mut missing = 3;
            watcher.until("its small messages", |_, news| {
                if let News::Message(topic, bytes) = news
                    && topic != "/image"
                    && decoded(bytes.clone()) == number.to_string()
                {
                    missing -= 1;
                }
                (missing == 0).then_some(())
            });
        }
    }
    let grown = bridge.memory().saturating_sub(before);
    assert!(grown < 40 << 20, "{} MiB", grown >> 20);

    // Robots come and go.
    let second = Robot::new(domain.id, "r2", 20);
    for watcher in &mut watchers {
        watcher.find("/r2/topic_19");
    }
    drop(robot);
    drop(second);
    for watcher in &mut watchers {
        watcher.until("no topics", |watcher, _| {
            (!watcher.channels.keys().any(|topic| topic.contains("/topic_"))).then_some(())
        });
    }
    let third = Robot::new(domain.id, "r1", 1);
    let watcher = &mut watchers[0];
    let subscription = watcher.subscribe("/r1/topic_0");
    wait("a subscription", &|| third.topics[0].subscription_count() == 1);
    watcher.unsubscribe(subscription);
    wait("no subscription", &|| third.topics[0].subscription_count() == 0);

    // It is told what it has lost, as soon as it reads.
    silent.status("Messages were lost, because you read too slowly: ");
    let took = bridge.interrupt();
    assert!(took < Duration::from_secs(2), "{took:?}");
}

const CALLBACKS: usize = 500;

/// The program that is watched: a node with many timers.
#[test]
fn busy_program() {
    if std::env::var_os(IS_CHILD).is_none() {
        return;
    }
    let ros = rospin::init().expect("a network");
    let node = ros.create_node("busy").expect("a node");
    let timer = |_| node.create_wall_timer(Duration::from_millis(200), || {}).expect("a timer");
    let _timers: Vec<rospin::Timer> = (0..CALLBACKS).map(timer).collect();
    ros.spin().expect("a spin");
}

/// Returns the message in JSON, if it is one of that topic.
fn of_topic(news: &News, topic: &str) -> Option<serde_json::Value> {
    match news {
        News::Message(of, bytes) if of == topic => Some(serde_json::from_slice(bytes).expect("JSON")),
        _ => None,
    }
}

#[test]
fn programs_with_hundreds_of_callbacks_are_watched_as_they_come_and_go() {
    let domain = Domain::new();
    let bridge = Bridge::start(&domain, &["--interval", "0.2", "--topic", "/rospin/.*"]);
    let mut watcher = bridge.connect("/");
    watcher.subscribe("/rospin/callbacks");
    watcher.subscribe("/rospin/programs");
    let mut program = Command::new(std::env::current_exe().expect("a path"));
    program.args(["bridge::busy_program", "--exact", "--nocapture"]).env(IS_CHILD, "1").env("RMW_IMPLEMENTATION", RMW);
    program.env("ROS_DOMAIN_ID", domain.id.to_string()).env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
    let mut program = program.stdout(Stdio::null()).spawn().expect("it starts");
    let pid = json!(program.id());
    watcher.until("its callbacks", |_, news| {
        let message = of_topic(news, "/rospin/callbacks").filter(|message| message["pid"] == pid)?;
        let callbacks = message["callbacks"].as_array().expect("a list");
        let runs = |callback: &&serde_json::Value| callback["rate_hz"].as_f64().is_some_and(|rate| rate > 0.0);
        (callbacks.iter().filter(runs).count() >= CALLBACKS).then_some(())
    });
    program.kill().expect("it runs");
    program.wait().expect("its status");
    watcher.until("its end", |_, news| {
        let message = of_topic(news, "/rospin/programs").filter(|message| message["pid"] == pid)?;
        message["trouble"].as_str().filter(|trouble| !trouble.is_empty()).map(|_| ())
    });
    assert!(watcher.channels.keys().all(|topic| topic.starts_with("/rospin/")), "nothing else is shown");
}

#[test]
fn a_bridge_that_cannot_be_is_an_error() {
    let domain = Domain::new();
    let bridge = Bridge::start(&domain, &["--allow-changes"]);
    let port = bridge.address.rsplit(':').next().expect("a port");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for (arguments, code, expected) in [
        (&["--port", port][..], 1, "nothing can listen on port"),
        (&["--port", "0", "--address", "0.0.0.0", "--allow-changes"], 2, "other computers reach 0.0.0.0"),
        (&["--port", "0", "--token", "short"], 2, "at least 8 characters"),
        (&["--port", "0", "--topic", "("], 2, "unclosed group"),
    ] {
        let output = domain.run(RMW, &[&["bridge"], arguments].concat());
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {complaint}");
        assert!(complaint.contains(expected), "{arguments:?}: {complaint}");
    }
}

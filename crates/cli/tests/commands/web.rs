//! `rospin top --web` beside programs that run, which are this file's program as processes of their own: without a
//! browser, and in a real one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rospin::msgs::std_msgs::msg::UInt8;
use rospin::prelude::*;
use rospin::{ContextOptions, Middlewares, RosArguments};
use serde_json::Value;

use crate::browser::Browser;
use crate::common::{Scratch, rospin, text};

const IS_CHILD: &str = "ROSPIN_TEST_CHILD";
/// The value of that variable for a program with five hundred callbacks, and that for a small robot.
const MANY: &str = "many";
const ROBOT: &str = "robot";
const PATIENCE: Duration = Duration::from_secs(60);
/// The name of a callback that a careless page would take for a part of itself.
const HOSTILE: &str = "<img src=x onerror=window.owned=1><script>window.owned=1</script>";

#[test]
fn program() {
    let Some(which) = std::env::var_os(IS_CHILD) else { return };
    let ros = rospin::init_with(ContextOptions::new(), Middlewares::InProcess, RosArguments::default()).unwrap();
    let kept = if which == MANY { many(&ros) } else { robot(&ros) };
    let node = ros.create_node("ready").unwrap();
    let mut has_told = false;
    let _ready = node.create_timer(Duration::from_millis(50), move |_| {
        if !has_told {
            std::io::stdout().write_all(b"ready\n").unwrap();
            has_told = true;
        }
    });
    ros.spin().unwrap();
    drop(kept);
}

/// A camera, a detector that finds three things in each image, a planner whose queue holds two, and a base; and a timer
/// that is late.
fn robot(ros: &Ros) -> Vec<Box<dyn std::any::Any>> {
    let [camera, detector, planner, base] =
        ["camera", "detector", "planner", "base"].map(|name| ros.create_node(name).unwrap());
    let images = camera.create_publisher::<UInt8>("image").unwrap();
    let shoot = TimerOptions::periodic(Duration::from_millis(50)).name("camera/shoot");
    let shoot = camera.create_timer(shoot, move |_| images.publish(UInt8 { data: 1 }));
    let detections = detector.create_publisher::<UInt8>("detections").unwrap();
    let detect = move |image: &UInt8| {
        for _ in 0..3 {
            detections.publish(*image).unwrap();
        }
    };
    let detect = detector.create_subscription("image", detect).unwrap();
    let commands = planner.create_publisher::<UInt8>("cmd_vel").unwrap();
    let options = SubscriptionOptions::new("detections").keep_last(2);
    let plan = planner
        .create_subscription(options, move |detection: &UInt8| {
            thread::sleep(Duration::from_millis(20));
            commands.publish(*detection).unwrap();
        })
        .unwrap();
    let drive = base.create_subscription("cmd_vel", |_: &UInt8| {}).unwrap();
    let late = TimerOptions::periodic(Duration::from_millis(100)).name(HOSTILE).deadline(Duration::from_millis(1));
    let late = base.create_timer(late, |_| thread::sleep(Duration::from_millis(3)));
    vec![Box::new((shoot, detect, plan, drive, late))]
}

/// Fifty chains of ten callbacks each.
fn many(ros: &Ros) -> Vec<Box<dyn std::any::Any>> {
    let mut kept: Vec<Box<dyn std::any::Any>> = Vec::new();
    for chain in 0..50_u64 {
        let node = ros.create_node(format!("part_{chain:02}").as_str()).unwrap();
        let first = node.create_publisher::<UInt8>("~/step_0").unwrap();
        let timer =
            TimerOptions::periodic(Duration::from_millis(200 + 10 * chain)).name(format!("part_{chain:02}/begin"));
        kept.push(Box::new(node.create_timer(timer, move |_| first.publish(UInt8 { data: 1 }))));
        for step in 0..9 {
            let next = node.create_publisher::<UInt8>(format!("~/step_{}", step + 1).as_str()).unwrap();
            let go_on = move |message: &UInt8| next.publish(*message);
            kept.push(Box::new(node.create_subscription(format!("~/step_{step}").as_str(), go_on).unwrap()));
        }
    }
    kept
}

/// Returns a name for programs of this test alone: root also sees the programs of others.
fn name(runtime: &Scratch) -> String {
    let folder = runtime.path("");
    folder.trim_end_matches('/').rsplit('/').next().unwrap().to_owned()
}

/// A process that is ended with this.
struct Process(Child);

impl Process {
    /// Starts this file's program, and waits until it is ready.
    fn program(runtime: &Scratch, which: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg0(name(runtime)).args(["web::program", "--exact", "--nocapture"]).env(IS_CHILD, which);
        command.env("XDG_RUNTIME_DIR", runtime.path("."));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().ends_with("ready")), "it ended");
        Self(child)
    }

    /// Starts the command, and returns it with the address that it prints.
    fn page(runtime: &Scratch) -> (Self, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rospin"));
        command.args(["top", "--web", "--port", "0", "--interval", "0.25", "--name", &name(runtime)]);
        command.env("XDG_RUNTIME_DIR", runtime.path("."));
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
        (Self(child), url.trim().to_owned())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn get(url: &str, path: &str) -> TcpStream {
    let host = url.strip_prefix("http://").unwrap().trim_end_matches('/');
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    stream
}

/// Reads states from the stream of events until one is as wanted.
fn state_in_which(url: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    let mut last = Value::Null;
    for line in BufReader::new(get(url, "/events")).lines() {
        let line = line.unwrap();
        let Some(data) = line.strip_prefix("data: ") else { continue };
        last = serde_json::from_str(data).unwrap();
        if is_wanted(&last) {
            return last;
        }
        assert!(begun.elapsed() < PATIENCE, "{last:#}");
    }
    panic!("the stream ended: {last:#}");
}

fn callback<'a>(state: &'a Value, name: &str) -> Option<&'a Value> {
    let callbacks = state["programs"][0]["callbacks"].as_array()?;
    callbacks.iter().find(|of| of["name"] == name)
}

/// Returns the last deadline that the callback of the hostile name missed. On a busy machine others miss theirs, too.
fn missed(state: &Value) -> Option<&Value> {
    let told = state["told"].as_array()?;
    told.iter().rfind(|one| one["kind"] == "deadline" && one["callback"] == HOSTILE)
}

#[test]
fn the_state_tells_rates_connections_queues_waits_and_what_went_wrong() {
    let runtime = Scratch::new("web");
    let robot = Process::program(&runtime, ROBOT);
    let (mut page, url) = Process::page(&runtime);
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    let state = state_in_which(&url, |state| {
        let told = |kind: &str| state["told"].as_array().unwrap().iter().any(|one| one["kind"] == kind);
        let waits = &state["programs"][0]["waits"]["pairs"];
        let planner = |wait: &Value| wait["culprit"].as_str().is_some_and(|name| name.starts_with("planner/"));
        callback(state, "camera/shoot").is_some_and(|of| of["rate_hz"].as_f64().unwrap() > 0.0)
            && missed(state).is_some()
            && told("lost")
            && waits.as_array().is_some_and(|waits| waits.iter().any(planner))
    });
    assert_eq!((state["format"].as_u64(), state["has_bounds"].as_bool()), (Some(1), Some(false)));
    let program = &state["programs"][0];
    let sends = program["sends"].as_array().unwrap();
    let sends: Vec<_> =
        sends.iter().map(|of| (of["callback"].as_str().unwrap(), of["topic"].as_str().unwrap())).collect();
    assert!(sends.contains(&("camera/shoot", "/image")), "{sends:?}");
    assert!(sends.iter().any(|(from, topic)| from.starts_with("detector/") && *topic == "/detections"), "{sends:?}");
    let queue = program["queues"].as_array().unwrap().iter().find(|of| of["topic"] == "/detections").unwrap();
    assert_eq!((queue["depth"].as_u64(), queue["max"].as_u64()), (Some(2), Some(2)));
    let miss = missed(&state).unwrap();
    assert!(miss["text"].as_str().unwrap().starts_with("missed its deadline"), "{miss}");
    assert!(miss["time_ms"].as_u64().unwrap().abs_diff(state["time_ms"].as_u64().unwrap()) < 60_000, "{miss}");
    // It goes, and another one comes.
    drop(robot);
    state_in_which(&url, |state| state["programs"].as_array().unwrap().is_empty());
    let _other = Process::program(&runtime, ROBOT);
    let state = state_in_which(&url, |state| callback(state, "camera/shoot").is_some());
    let told: Vec<_> = state["told"].as_array().unwrap().iter().filter(|one| one["kind"] == "program").collect();
    assert!(told.iter().any(|one| one["text"] == "is not watched any more"), "{told:?}");
    let mut whole = String::new();
    get(&url, "/").read_to_string(&mut whole).unwrap();
    assert!(whole.contains("<title>rospin top</title>") && !whole.contains(HOSTILE));
    // Somebody watches, and it ends nevertheless.
    let _watcher = get(&url, "/events");
    let pid = rustix::process::Pid::from_child(&page.0);
    let begun = Instant::now();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(page.0.wait().unwrap().code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn mistakes_in_options_of_the_page_are_told() {
    for (arguments, code, said) in [
        (&["top", "--port", "8770"][..], 2, "--web"),
        (&["top", "--web", "--json"], 2, "--json"),
        (&["top", "--web", "--port", "0", "--address", "192.0.2.1"], 1, "--address 192.0.2.1"),
        (&["top", "--web", "--port", "0", "--address", "no such name"], 1, "--address no such name"),
    ] {
        let output = rospin(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert!(text(&output.stderr).contains(said), "{arguments:?}: {}", text(&output.stderr));
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = rospin(&["top", "--web", "--port", &port]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("--port 0 takes a port that is free"), "{}", text(&output.stderr));
}

/// An expression of JavaScript: the texts of the rows of a part of the page that are drawn.
fn rows_of(part: &str) -> String {
    format!(
        "[...document.querySelectorAll('#{part} .row')].filter((row) => row.style.display !== 'none').map((row) => row.textContent)"
    )
}

#[test]
fn a_browser_shows_it_and_obeys_keys() {
    let Some(mut browser) = Browser::start() else { return };
    let runtime = Scratch::new("browser_robot");
    let robot = Process::program(&runtime, ROBOT);
    let (_page, url) = Process::page(&runtime);
    browser.resize(1400, 900, false);
    browser.open(&url);
    let rows = rows_of("callbacks");
    browser.wait_for(&format!("{rows}.length >= 5"));
    // Names are texts, whatever they look like.
    browser.wait_for(&format!("{rows}.some((text) => text.includes('<script>'))"));
    browser.wait_for(&format!("{}.some((text) => text.includes('missed its deadline'))", rows_of("told")));
    browser.wait_for(&format!("{}.some((text) => text.includes('planner/detections'))", rows_of("waits")));
    browser.wait_for(&format!("{}.some((text) => text.includes('most 2 of 2'))", rows_of("queues")));
    browser.wait_for("document.querySelectorAll('#graph-plot g').length === 4");
    assert_eq!(browser.value("window.owned === undefined && document.querySelectorAll('img, main script').length"), 0);
    // The filter: the table has what has the text in its name, and the graph the whole chain.
    browser.press("/");
    for letter in ["d", "e", "t", "e", "c", "t", "o", "r"] {
        browser.press(letter);
    }
    browser.press("Enter");
    browser.wait_for(&format!("{rows}.length === 1 && {rows}[0].includes('detector/image')"));
    assert_eq!(browser.value("document.querySelectorAll('#graph-plot g').length"), 4);
    browser.press("Escape");
    browser.wait_for(&format!("{rows}.length >= 5 && document.getElementById('filter').value === ''"));
    // A callback by itself.
    browser.press("ArrowDown");
    browser.press("j");
    browser.press("k");
    browser.wait_for("document.querySelectorAll('#callbacks .row[aria-selected=true]').length === 1");
    browser.press("Enter");
    browser.wait_for("document.getElementById('detail').open && document.querySelector('#detail dl').textContent.includes('priority')");
    browser.press("Escape");
    browser.wait_for("!document.getElementById('detail').open");
    // Nothing changes while it is paused.
    browser.press("p");
    browser.wait_for("document.getElementById('status').textContent === 'paused'");
    let before = browser.value("document.querySelector('main').textContent");
    thread::sleep(Duration::from_millis(700));
    assert_eq!(browser.value("document.querySelector('main').textContent"), before);
    browser.press("p");
    browser.wait_for("document.getElementById('status').textContent.includes('program')");
    browser.press("?");
    browser.wait_for("document.getElementById('help').open");
    browser.press("Escape");
    // The program goes, and one with five hundred callbacks comes.
    drop(robot);
    browser.wait_for("document.getElementById('programs').textContent.includes('No program of rospin runs here')");
    let _many = Process::program(&runtime, MANY);
    let count = "Number(document.querySelector('#callbacks .list').getAttribute('aria-rowcount'))";
    browser.wait_for(&format!("{count} >= 500"));
    assert!(browser.value("document.querySelectorAll('#callbacks .row').length").as_u64().unwrap() < 80);
    assert!(browser.value("document.querySelectorAll('#graph-plot g').length").as_u64().unwrap() < 200);
    browser.press("End");
    browser.wait_for("document.querySelector('#callbacks .list').scrollTop > 5000");
    // A phone shows one part at a time, and nothing sticks out.
    browser.resize(390, 844, true);
    browser.wait_for(
        "document.documentElement.scrollWidth <= 390 && document.querySelectorAll('#tabs button').length === 5",
    );
    for part in ["graph", "callbacks", "waits", "queues", "told"] {
        browser.value(&format!("document.querySelector('#tabs [data-tab={part}]').click()"));
        browser.wait_for(&format!(
            "document.getElementById('{part}').offsetHeight > 300 && document.documentElement.scrollWidth <= 390"
        ));
    }
    assert_eq!(browser.errors, Vec::<String>::new());
}

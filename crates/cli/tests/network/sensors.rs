//! A robot with sensors, and the bag that is recorded beside it: nothing is lost, and the robot does not feel it.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rospin::PublisherOptions;
use rospin::msgs::builtin_interfaces::msg::Time;
use rospin::msgs::geometry_msgs::msg::TransformStamped;
use rospin::msgs::sensor_msgs::msg::{Image, Imu, LaserScan};
use rospin::msgs::std_msgs::msg::Header;
use rospin::msgs::tf2_msgs::msg::TFMessage;
use rospin::prelude::*;
use rospin_trace::mcap::{McapMessages, Wanted};
use rustix::process::{Pid, Signal, kill_process};

use super::Domain;

/// The environment variable that has `sensors_program` be the robot.
const IS_ROBOT: &str = "ROSPIN_TEST_SENSORS";

/// Width and height of the camera's pictures, of one byte a pixel.
const PICTURE: (u32, u32) = (1280, 720);

/// Topics, with the number of bytes before the stamp in a message, which is the message's number.
const TOPICS: [(&str, usize); 4] = [("/camera", 4), ("/lidar", 4), ("/imu", 4), ("/tf", 8)];

/// Returns the header of the message with that number.
fn header(number: u64) -> Header {
    let stamp = Time { sec: (number / 1_000_000_000) as i32, nanosec: (number % 1_000_000_000) as u32 };
    Header { stamp, frame_id: "base_link".to_owned() }
}

/// A robot: camera at 30 Hz, lidar at 10 Hz, IMU and a controller at 1 kHz, frames at 50 Hz. For each line that it reads
/// it prints how many messages it has published, and how late the controller was since the last line.
#[test]
fn sensors_program() {
    if std::env::var_os(IS_ROBOT).is_none() {
        return;
    }
    let ros = rospin::init().expect("a network");
    let node = ros.create_node("robot").expect("a node");
    let counts = Arc::new(Mutex::new([0_u64; 4]));
    let next = |at: usize| {
        let counts = Arc::clone(&counts);
        move || {
            let mut counts = counts.lock().expect("no panic");
            counts[at] += 1;
            header(counts[at])
        }
    };
    let options = |topic: &str, depth: usize| PublisherOptions::new(topic).keep_last(depth);
    let camera = node.create_publisher::<Image>(options("camera", 30)).expect("a publisher");
    let lidar = node.create_publisher::<LaserScan>(options("lidar", 10)).expect("a publisher");
    let imu = node.create_publisher::<Imu>(options("imu", 1000)).expect("a publisher");
    let tf = node.create_publisher::<TFMessage>(options("tf", 100)).expect("a publisher");
    let mut timers = Vec::new();
    let stamp = next(0);
    let (width, height) = PICTURE;
    let pixels = vec![0x5A; (width * height) as usize];
    let picture = move |_: Tick<rospin::time::Instant>| {
        let image = Image { width, height, step: width, encoding: "mono8".to_owned(), ..Image::default() };
        camera.publish(Image { header: stamp(), data: pixels.clone().into(), ..image })
    };
    timers.push(node.create_wall_timer(Duration::from_nanos(1_000_000_000 / 30), picture).expect("a timer"));
    let stamp = next(1);
    let scan = move |_: Tick<rospin::time::Instant>| {
        lidar.publish(LaserScan { header: stamp(), ranges: vec![1.5; 1080], ..LaserScan::default() })
    };
    timers.push(node.create_wall_timer(Duration::from_millis(100), scan).expect("a timer"));
    let stamp = next(3);
    let frames = move |_: Tick<rospin::time::Instant>| {
        let transforms = vec![TransformStamped { header: stamp(), ..TransformStamped::default() }];
        tf.publish(TFMessage { transforms })
    };
    timers.push(node.create_wall_timer(Duration::from_millis(20), frames).expect("a timer"));

    // The controller has an executor, and a thread, of its own.
    let control = ros.context().create_executor(rospin::ExecutorOptions::new("control"));
    let group = control.create_group("control", ());
    let lateness = Arc::new(Mutex::new(Vec::<u64>::new()));
    let (noted, clock) = (Arc::clone(&lateness), ros.context().clock().clone());
    let due = Arc::new(Mutex::new(VecDeque::new()));
    let dues = Arc::clone(&due);
    let command = move |_: Imu| {
        let Some(due) = dues.lock().expect("no panic").pop_front() else { return };
        noted.lock().expect("no panic").push(clock.now().saturating_since(due).as_nanos() as u64);
    };
    let _command = node.on(&group).create_subscription("imu", command).expect("a subscription");
    let stamp = next(2);
    let measure = move |tick: Tick<rospin::time::Instant>| {
        due.lock().expect("no panic").push_back(tick.due);
        imu.publish(Imu { header: stamp(), ..Imu::default() })
    };
    timers.push(node.on(&group).create_wall_timer(Duration::from_millis(1), measure).expect("a timer"));
    let controlling = std::thread::spawn(move || control.spin(rospin::SpinOptions::new()));

    let context = ros.context().clone();
    std::thread::spawn(move || {
        for _ in std::io::stdin().lines().map_while(Result::ok) {
            let mut late = std::mem::take(&mut *lateness.lock().expect("no panic"));
            late.sort_unstable();
            let at = |part: usize| late.get(late.len() * part / 1000).copied().unwrap_or_default() / 1000;
            let [camera, lidar, imu, tf] = *counts.lock().expect("no panic");
            println!("robot {camera} {lidar} {imu} {tf} {} {} {}", at(500), at(990), at(999));
        }
        context.halt_all();
    });
    ros.spin().expect("a spin");
    // It ends with the context.
    let _ = controlling.join();
}

/// What a robot has published, and how late its controller was, in microseconds.
#[derive(Clone, Copy, Debug)]
struct Report {
    counts: [u64; 4],
    p50: u64,
    p99: u64,
    p999: u64,
}

struct Robot {
    child: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
}

impl Robot {
    fn start(domain: &Domain, rmw: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "sensors::sensors_program", "--nocapture"]).env(IS_ROBOT, "1");
        Domain::adapt(&mut command, domain.id, rmw);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let to = child.stdin.take().expect("a pipe");
        let from = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Self { child, to, from }
    }

    fn report(&mut self) -> Report {
        writeln!(self.to).expect("it runs");
        for line in self.from.by_ref().map_while(Result::ok) {
            // The framework's words may stand before it.
            let Some((_, numbers)) = line.split_once("robot ") else { continue };
            let numbers: Vec<u64> = numbers.split(' ').map_while(|number| number.parse().ok()).collect();
            if let [camera, lidar, imu, tf, p50, p99, p999] = numbers[..] {
                return Report { counts: [camera, lidar, imu, tf], p50, p99, p999 };
            }
        }
        panic!("the robot has ended");
    }
}

impl Drop for Robot {
    fn drop(&mut self) {
        // Both only fail if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A recorder that runs.
struct Recording {
    child: Child,
    folder: PathBuf,
}

impl Recording {
    /// Records all topics of the robot, and returns once it has subscribed to them.
    fn start(domain: &Domain, rmw: &str, folder: &Path) -> Self {
        let name = folder.to_str().expect("UTF-8");
        let arguments = ["bag", "record", "/camera", "/lidar", "/imu", "/tf", "-o", name];
        let mut command = domain.command(rmw, &arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
        let mut subscribed = 0;
        while subscribed < TOPICS.len() {
            let line = lines.next().expect("it runs");
            subscribed += usize::from(line.starts_with("Subscribed to topic"));
        }
        std::thread::spawn(move || lines.for_each(|line| println!("{line}")));
        Self { child, folder: folder.to_owned() }
    }

    /// Ends the recorder. Returns its greatest memory in MiB, and its processor time in seconds.
    fn finish(&mut self) -> (u64, f64) {
        let pid = self.child.id();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a kernel");
        let memory: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
        let times = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
        let fields: Vec<&str> = times.rsplit(')').next().expect("fields").split_whitespace().collect();
        let ticks: u64 = fields[11..13].iter().map(|ticks| ticks.parse::<u64>().expect("a number")).sum();
        kill_process(Pid::from_child(&self.child), Signal::INT).expect("it runs");
        assert!(self.child.wait().expect("its end").success());
        (memory >> 10, ticks as f64 / 100.0)
    }

    /// Returns for each topic the number of messages and of those that are missing between the first and the last one.
    fn counts(&self) -> BTreeMap<String, (u64, u64)> {
        let mut numbers: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
        let name = self.folder.file_name().expect("a name").to_str().expect("UTF-8");
        let file = self.folder.join(format!("{name}_0.mcap"));
        for message in McapMessages::open(&file, Wanted::default()).expect("a bag") {
            let message = message.expect("a message");
            let topic = &message.channel.topic;
            let Some((_, at)) = TOPICS.iter().find(|(known, _)| known == topic) else { continue };
            let word =
                |at: usize| u64::from(u32::from_le_bytes(message.payload[at..at + 4].try_into().expect("4 bytes")));
            let number = word(*at) * 1_000_000_000 + word(at + 4);
            let entry = numbers.entry(topic.clone()).or_insert((number, number, 0));
            *entry = (entry.0.min(number), entry.1.max(number), entry.2 + 1);
        }
        numbers.into_iter().map(|(topic, (first, last, count))| (topic, (count, last - first + 1 - count))).collect()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // Both only fail if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Prints how late the robot's controller is with and without a recorder beside it, in turns. `ROSPIN_TEST_SECONDS` is
/// the length of a turn, `ROSPIN_TEST_ALONE` that of a turn without a recorder if it is another one, `ROSPIN_TEST_ROUNDS`
/// the number of both, and `ROSPIN_TEST_FOLDER` the place of the last bag, which stays.
#[test]
#[ignore = "a measurement, of release builds"]
fn a_bag_is_recorded_beside_the_robot() {
    let rmw = if cfg!(feature = "dds") { "rmw_cyclonedds_cpp" } else { "rmw_zenoh_cpp" };
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |text| text.parse().expect("a number"));
    let turn = Duration::from_secs(number("ROSPIN_TEST_SECONDS", 10));
    let alone = Duration::from_secs(number("ROSPIN_TEST_ALONE", turn.as_secs()));
    let rounds = number("ROSPIN_TEST_ROUNDS", 1);
    let kept = std::env::var_os("ROSPIN_TEST_FOLDER").map(PathBuf::from);
    let folder =
        kept.clone().unwrap_or_else(|| std::env::temp_dir().join(format!("rospin-sensors-{}", std::process::id())));
    let domain = Domain::new();
    let mut robot = Robot::start(&domain, rmw);
    std::thread::sleep(Duration::from_secs(1));
    println!("| round | recorded | p50 us | p99 | p99.9 | camera | lidar | imu | tf | missing | MiB | CPU s | MB/s |");
    for round in 0..rounds {
        robot.report();
        std::thread::sleep(alone);
        let Report { p50, p99, p999, .. } = robot.report();
        println!("| {round} | no | {p50} | {p99} | {p999} | | | | | | | | |");
        // It fails if there is none yet.
        let _ = std::fs::remove_dir_all(&folder);
        let mut recording = Recording::start(&domain, rmw, &folder);
        // The publishers find the recorder.
        std::thread::sleep(Duration::from_secs(1));
        let before = robot.report();
        std::thread::sleep(turn);
        let after = robot.report();
        let (memory, processor) = recording.finish();
        let counts = recording.counts();
        let mut row = format!("| {round} | yes | {} | {} | {} |", after.p50, after.p99, after.p999);
        let mut missing = 0;
        for (at, (topic, _)) in TOPICS.iter().enumerate() {
            let (count, gaps) = counts.get(*topic).copied().unwrap_or_default();
            let published = after.counts[at] - before.counts[at];
            assert!(count >= published, "{topic}: {count} of {published}");
            row.push_str(&format!(" {count} |"));
            missing += gaps;
        }
        let bytes: u64 = std::fs::read_dir(&folder)
            .expect("a bag")
            .map(|file| file.expect("a file").metadata().expect("a file").len())
            .sum();
        let rate = bytes as f64 / 1e6 / (turn.as_secs_f64() + 1.0);
        println!("{row} {missing} | {memory} | {processor:.1} | {rate:.1} |");
        assert_eq!(missing, 0, "{counts:?}");
    }
    if kept.is_none() {
        std::fs::remove_dir_all(&folder).expect("the bag");
    }
}

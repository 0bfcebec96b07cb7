//! Images between processes of one machine: in shared memory, or over DDS alone.
//!
//! ```text
//! images latency          time from `publish` to the callback, by size, on both ways
//! images cpu              processor time of a camera of 1080p at 60 Hz and three subscriptions, on both ways
//! ```
//!
//! The publisher writes every byte of an image, and each subscription adds up every byte. Neither is in the time from
//! `publish` to the callback. Each subscription is a process.

#![allow(clippy::print_stdout, reason = "it is what the program is for")]

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rospin_dds::{Domain, DomainOptions};
use rospin_engine::{Context, ContextOptions, SpinError, SpinOptions};
use rospin_local::{Local, LocalOptions};
use rospin_msgs::builtin_interfaces::msg::Time;
use rospin_msgs::sensor_msgs::msg::Image;
use rospin_node::{Publisher, Qos, Ros};
use rustix::time::{ClockId, clock_gettime};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Lengths of the images of `latency`.
const LENGTHS: [usize; 4] = [8, 64 << 10, 1 << 20, 10 << 20];
/// Number of rounds, and of images of each length in a round.
const ROUNDS: usize = 5;
const PER_ROUND: usize = 100;
/// Time between two images of `latency`.
const PERIOD: Duration = Duration::from_millis(20);

/// A frame of 1080p, three bytes for each pixel, and the number of frames of `cpu`.
const FRAME: usize = 1920 * 1080 * 3;
const FRAMES: usize = 600;

/// The ways on which images go.
const WAYS: [&str; 2] = ["shared", "dds"];

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["latency"] => latency(),
        ["cpu"] => cpu(),
        ["reader", way, domain, reads] => read(way, domain.parse()?, *reads == "all"),
        _ => Err("say `latency` or `cpu`".into()),
    }
}

/// Returns the time on the machine's steady clock, which all processes have in common.
fn now_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

fn join(way: &str, domain: u16) -> Outcome<(Context, Ros)> {
    let context = Context::new(ContextOptions::new());
    let lo = "<General><Interfaces><NetworkInterface name=\"lo\"/></Interfaces></General>";
    let domain = Domain::join(DomainOptions::new().domain_id(domain).localhost().cyclonedds_uri(lo))?;
    let ros = match way {
        "shared" => Local::over(domain, LocalOptions::new())?.ros(&context),
        _ => domain.ros(&context),
    };
    Ok((context, ros))
}

/// Runs callbacks for that time.
fn spin(ros: &Ros, milliseconds: u64) -> Outcome<()> {
    match ros.executor().spin(SpinOptions::new().timeout(Duration::from_millis(milliseconds))) {
        Ok(_) | Err(SpinError::Timeout) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Adds up bytes, eight at a time.
fn sum(bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<8>();
    let words = words.iter().fold(0_u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
    let sum = rest.iter().fold(words, |sum, byte| sum.wrapping_add(u64::from(*byte)));
    (sum ^ (sum >> 32)) as u32
}

/// What a subscription has seen.
#[derive(Default)]
struct Seen {
    /// Lengths of images, and the times that they took, in nanoseconds.
    times: Vec<(usize, i64)>,
    wrong: usize,
    is_over: bool,
}

/// The process of a subscription.
fn read(way: &str, domain: u16, reads_all: bool) -> Outcome<()> {
    let (_context, ros) = join(way, domain)?;
    let node = ros.create_node("reader")?;
    let seen = Arc::<Mutex<Seen>>::default();
    let sees = Arc::clone(&seen);
    let options = rospin_node::SubscriptionOptions::new("images").qos(Qos::keep_last(10));
    let subscription = node.create_subscription(options, move |image: Image| {
        let now = now_ns();
        let mut seen = sees.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let sent = i64::from(image.header.stamp.sec) * 1_000_000_000 + i64::from(image.header.stamp.nanosec);
        if image.encoding == "end" {
            seen.is_over = true;
            return;
        }
        seen.times.push((image.data.len(), now - sent));
        if reads_all && sum(&image.data) != image.width {
            seen.wrong += 1;
        }
    })?;
    println!("ready");
    let over = Arc::clone(&seen);
    while !over.lock().map_err(|_| "a panic")?.is_over {
        spin(&ros, 50)?;
    }
    let seen = seen.lock().map_err(|_| "a panic")?;
    for (length, time) in &seen.times {
        println!("{length} {time}");
    }
    println!("missed {} wrong {}", subscription.missed(), seen.wrong);
    Ok(())
}

/// Starts processes of subscriptions.
fn start(way: &str, domain: u16, count: usize, reads: &str) -> Outcome<Vec<Child>> {
    let mut readers = Vec::new();
    for _ in 0..count {
        let mut command = Command::new(std::env::current_exe()?);
        readers.push(command.args(["reader", way, &domain.to_string(), reads]).stdout(Stdio::piped()).spawn()?);
    }
    Ok(readers)
}

/// Waits for the end of a subscription's process. Returns the times that it saw, and how many images it missed or found
/// damaged.
fn finish(mut reader: Child) -> Outcome<(Vec<(usize, i64)>, String)> {
    let (mut times, mut losses) = (Vec::new(), String::new());
    for line in BufReader::new(reader.stdout.take().ok_or("no output")?).lines() {
        let line = line?;
        if line.starts_with("missed") {
            losses = line;
        } else if let Some((length, time)) = line.split_once(' ') {
            times.push((length.parse()?, time.parse()?));
        }
    }
    reader.wait()?;
    Ok((times, losses))
}

/// Publishes an image, all of whose bytes it writes.
fn publish(publisher: &Publisher<Image>, length: usize, seed: u64, encoding: &str) -> Outcome<()> {
    let mut data = publisher.borrow_loaned_bytes(length);
    let (words, rest) = data.as_chunks_mut::<8>();
    let mut value = seed;
    for word in words {
        value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *word = value.to_le_bytes();
    }
    rest.fill(7);
    let mut image = Image { width: sum(&data), encoding: encoding.to_owned(), ..Image::default() };
    image.data = data.into();
    let now = now_ns();
    image.header.stamp = Time { sec: (now / 1_000_000_000) as i32, nanosec: (now % 1_000_000_000) as u32 };
    publisher.publish(image)?;
    Ok(())
}

/// Creates the publisher, and waits until so many subscriptions hear it.
fn publisher(ros: &Ros, count: usize) -> Outcome<Publisher<Image>> {
    let node = ros.create_node("camera")?;
    let options = rospin_node::PublisherOptions::new("images").qos(Qos::keep_last(10));
    let publisher = node.create_publisher::<Image>(options)?;
    while publisher.subscription_count() < count {
        spin(ros, 20)?;
    }
    spin(ros, 500)?;
    Ok(publisher)
}

fn percentile(sorted: &[i64], share: f64) -> f64 {
    let at = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
    sorted.get(at).map_or(f64::NAN, |time| *time as f64 / 1000.0)
}

fn latency() -> Outcome<()> {
    println!("{:>8} {:>10} {:>7} {:>10} {:>10} {:>10}", "way", "bytes", "count", "p50 us", "p99 us", "max us");
    for (at, way) in WAYS.into_iter().enumerate() {
        let domain = 150 + at as u16;
        let readers = start(way, domain, 1, "all")?;
        let (_context, ros) = join(way, domain)?;
        let publisher = publisher(&ros, 1)?;
        for round in 0..ROUNDS {
            for length in LENGTHS {
                let mut due = Instant::now();
                for image in 0..PER_ROUND {
                    due += PERIOD;
                    std::thread::sleep(due.saturating_duration_since(Instant::now()));
                    publish(&publisher, length, (round * PER_ROUND + image) as u64, "rgb8")?;
                }
            }
        }
        publish(&publisher, 8, 0, "end")?;
        for reader in readers {
            let (times, losses) = finish(reader)?;
            for length in LENGTHS {
                let mut of_length: Vec<i64> = Vec::new();
                for (other, time) in &times {
                    if *other == length {
                        of_length.push(*time);
                    }
                }
                of_length.sort_unstable();
                let (p50, p99) = (percentile(&of_length, 0.5), percentile(&of_length, 0.99));
                let max = percentile(&of_length, 1.0);
                println!("{way:>8} {length:>10} {:>7} {p50:>10.1} {p99:>10.1} {max:>10.1}", of_length.len());
            }
            println!("{way:>8} {losses}");
        }
    }
    Ok(())
}

/// Returns the processor time of this process, or of its children that have ended, in seconds.
fn processor_seconds(of_children: bool) -> Outcome<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(')').ok_or("no stat")?.1;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let first = if of_children { 13 } else { 11 };
    let ticks: f64 = fields[first].parse::<f64>()? + fields[first + 1].parse::<f64>()?;
    Ok(ticks / rustix::param::clock_ticks_per_second() as f64)
}

fn cpu() -> Outcome<()> {
    println!("{:>8} {:>14} {:>12} {:>12} {:>10}   losses", "way", "bytes read", "camera %", "readers %", "all %");
    for reads in ["none", "all"] {
        for (at, way) in WAYS.into_iter().enumerate() {
            let domain = 152 + at as u16;
            let readers = start(way, domain, 3, reads)?;
            let (_context, ros) = join(way, domain)?;
            let publisher = publisher(&ros, 3)?;
            let (own, children) = (processor_seconds(false)?, processor_seconds(true)?);
            let begin = Instant::now();
            let mut due = begin;
            for frame in 0..FRAMES {
                due += Duration::from_nanos(1_000_000_000 / 60);
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                publish(&publisher, FRAME, frame as u64, "rgb8")?;
            }
            let seconds = begin.elapsed().as_secs_f64();
            publish(&publisher, 8, 0, "end")?;
            let own = (processor_seconds(false)? - own) / seconds * 100.0;
            let mut losses = Vec::new();
            for reader in readers {
                let (times, lost) = finish(reader)?;
                losses.push(format!("{} of {FRAMES}, {lost}", times.len()));
            }
            let of_readers = (processor_seconds(true)? - children) / seconds * 100.0;
            let all = own + of_readers;
            println!("{way:>8} {reads:>14} {own:>12.1} {of_readers:>12.1} {all:>10.1}   {}", losses.join("; "));
        }
    }
    Ok(())
}

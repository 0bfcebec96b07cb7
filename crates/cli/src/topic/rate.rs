//! `rospin topic hz`, `bw` and `delay`: what the newest messages of a topic say of it, once a second.
//!
//! The first two look at no message, so they need no type and cost little.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clap::Args;
use rospin::dynamic::{DynamicMessage, MessageType};
use rospin::message::{SerializedMessage, TypeName};
use rospin::qos::History;
use rospin::time::ClockKind;
use rospin::{Node, Qos, Subscription, SubscriptionOptions};
use rospin_report::Failure;

use super::window::{Summary, Window};
use crate::ros::{EvaluateError, Expression, Session, find_topic, types};

/// Time between two lines.
const INTERVAL: Duration = Duration::from_secs(1);

/// Time between two looks for the first line, which comes as soon as there is something to say.
const LOOK: Duration = Duration::from_millis(10);

/// Options of `rospin topic hz`.
#[derive(Args, Debug)]
pub(super) struct HzOptions {
    /// Topics, such as /chatter
    #[arg(required = true, value_name = "TOPIC")]
    topics: Vec<String>,

    /// Number of periods of which the mean is taken
    #[arg(long, short, value_name = "N", default_value = "10000", value_parser = window)]
    window: usize,

    /// Takes only messages for which this expression is true: a part of Python, with the message as m
    #[arg(long, value_name = "EXPRESSION", value_parser = Expression::parse)]
    filter: Option<Expression>,

    /// Takes the computer's time, also where the robot's time is simulated
    #[arg(long)]
    wall_time: bool,
}

/// Options of `rospin topic bw`.
#[derive(Args, Debug)]
pub(super) struct BwOptions {
    /// Topic, such as /image
    topic: String,

    /// Number of messages of which the mean is taken
    #[arg(long, short, value_name = "N", default_value = "100", value_parser = window)]
    window: usize,
}

/// Options of `rospin topic delay`.
#[derive(Args, Debug)]
pub(super) struct DelayOptions {
    /// Topic, such as /image
    topic: String,

    /// Number of messages of which the mean is taken
    #[arg(long, short, value_name = "N", default_value = "10000", value_parser = window)]
    window: usize,
}

/// Parses the size of a window.
fn window(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(size) if (1..=10_000_000).contains(&size) => Ok(size),
        _ => Err("a window is a number from 1 to 10000000".to_owned()),
    }
}

/// Arrivals of a topic, in seconds.
struct Arrivals {
    periods: Window,
    last: Option<f64>,
    /// The last arrival that a line was printed for.
    printed: Option<f64>,
}

impl Arrivals {
    fn new(window: usize) -> Self {
        Self { periods: Window::new(window), last: None, printed: None }
    }

    /// Notes an arrival. A time that went back begins anew.
    fn arrive(&mut self, at: f64) {
        match self.last {
            Some(last) if last <= at => self.periods.push(at - last),
            _ => self.periods.clear(),
        }
        self.last = Some(at);
    }

    /// Returns true if there are enough periods to begin with.
    fn has_periods(&self) -> bool {
        self.periods.summary().is_some_and(|periods| periods.count >= 2)
    }

    /// Returns the summary of the periods; `None` if nothing has come since the last call.
    fn news(&mut self) -> Option<Summary> {
        if self.printed == self.last {
            return None;
        }
        self.printed = self.last;
        self.periods.summary()
    }
}

/// Prints how often messages come.
pub(super) fn run_hz(session: &Session, options: &HzOptions, out: &mut dyn Write) -> Result<(), Failure> {
    let mut topics = Vec::new();
    let mut subscriptions = Vec::new();
    let failure = Arc::new(Mutex::new(None));
    for name in &options.topics {
        let topic = find_topic(session, name)?;
        let arrivals = Arc::new(Mutex::new(Arrivals::new(options.window)));
        let (noted, node, is_wall) = (Arc::clone(&arrivals), session.node().clone(), options.wall_time);
        let note = move || {
            let at = if is_wall { wall_seconds() } else { seconds(&node) };
            noted.lock().unwrap_or_else(PoisonError::into_inner).arrive(at);
        };
        subscriptions.push(match &options.filter {
            None => subscribe(session, &topic, move |_| note())?,
            Some(filter) => subscribe_filtered(session, &topic, filter, Arc::clone(&failure), note)?,
        });
        if options.topics.len() > 1 {
            writeln!(out, "Subscribed to [{topic}]")?;
        }
        topics.push((topic, arrivals));
    }
    every_second(session, |is_first| {
        if let Some(error) = failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(Failure::Run(format!("--filter: {error}").into()));
        }
        if is_first && !topics.iter().all(|(_, arrivals)| lock(arrivals).has_periods()) {
            return Ok(false);
        }
        let mut rows = Vec::new();
        for (topic, arrivals) in &topics {
            if let Some(news) = lock(arrivals).news() {
                rows.push((topic.as_str(), news));
            }
        }
        if !rows.is_empty() {
            let text = if topics.len() == 1 { hz_text(&rows[0].1) } else { hz_table(&rows) };
            writeln!(out, "{text}")?;
            out.flush()?;
        }
        Ok(!rows.is_empty())
    })
}

fn lock(arrivals: &Mutex<Arrivals>) -> MutexGuard<'_, Arrivals> {
    arrivals.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hz_text(periods: &Summary) -> String {
    format!("average rate: {:.3}\n{}", frequency(periods.mean), spread_text(periods))
}

/// Returns the second line of a rate or a delay.
fn spread_text(of: &Summary) -> String {
    format!("\tmin: {:.3}s max: {:.3}s std dev: {:.5}s window: {}", of.min, of.max, of.deviation, of.count)
}

fn frequency(period: f64) -> f64 {
    if period > 0.0 { 1.0 / period } else { 0.0 }
}

/// Returns a table with a row for each topic.
fn hz_table(rows: &[(&str, Summary)]) -> String {
    let mut cells = vec![["topic", "rate", "min_delta", "max_delta", "std_dev", "window"].map(str::to_owned)];
    for (topic, of) in rows {
        cells.push([
            (*topic).to_owned(),
            format!("{:.3}", frequency(of.mean)),
            format!("{:.3}", of.min),
            format!("{:.3}", of.max),
            format!("{:.5}", of.deviation),
            of.count.to_string(),
        ]);
    }
    let width = |column: usize| cells.iter().map(|row| row[column].len()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..6).map(width).collect();
    let mut lines = Vec::new();
    for (at, row) in cells.iter().enumerate() {
        let padded = row.iter().zip(&widths).map(|(cell, width)| match at {
            0 => format!("{cell:^width$}"),
            _ => format!("{cell:<width$}"),
        });
        lines.push(padded.collect::<Vec<_>>().join("   "));
        if at == 0 {
            lines.push("=".repeat(widths.iter().sum::<usize>() + 15));
        }
    }
    lines.join("\n") + "\n"
}

/// Sizes of messages, in bytes, and their arrivals, in seconds.
struct Sizes {
    sizes: Window,
    arrivals: Window,
}

/// Prints how many bytes come.
pub(super) fn run_bw(session: &Session, options: &BwOptions, out: &mut dyn Write) -> Result<(), Failure> {
    let topic = find_topic(session, &options.topic)?;
    let sizes = Sizes { sizes: Window::new(options.window), arrivals: Window::new(options.window) };
    let state = Arc::new(Mutex::new(sizes));
    let (noted, node) = (Arc::clone(&state), session.node().clone());
    let _subscription = subscribe(session, &topic, move |size| {
        let mut state = noted.lock().unwrap_or_else(PoisonError::into_inner);
        state.sizes.push(size as f64);
        state.arrivals.push(seconds(&node));
    })?;
    writeln!(out, "Subscribed to [{topic}]")?;
    out.flush()?;
    every_second(session, |_| {
        let state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(sizes), Some(first)) = (state.sizes.summary(), state.arrivals.oldest()) else { return Ok(false) };
        if sizes.count < 2 {
            return Ok(false);
        }
        writeln!(out, "{}", bw_text(&sizes, seconds(session.node()) - first))?;
        out.flush()?;
        Ok(true)
    })
}

/// Returns the lines of messages that came in so many seconds.
fn bw_text(sizes: &Summary, passed: f64) -> String {
    let rate = if passed > 0.0 { sizes.sum / passed } else { 0.0 };
    let text = |bytes: f64| match rate {
        ..1e3 => format!("{bytes:.0} B"),
        ..1e6 => format!("{:.2} KB", bytes / 1e3),
        _ => format!("{:.2} MB", bytes / 1e6),
    };
    let (mean, min, max) = (text(sizes.mean), text(sizes.min), text(sizes.max));
    format!("{}/s from {} messages\n\tMessage size mean: {mean} min: {min} max: {max}", text(rate), sizes.count)
}

/// Prints how old messages are when they come, by the stamps in their headers.
pub(super) fn run_delay(session: &Session, options: &DelayOptions, out: &mut dyn Write) -> Result<(), Failure> {
    let topic = find_topic(session, &options.topic)?;
    let message_type = types::of_topic(session, &topic)?;
    check_header(&message_type, &topic)?;
    let state = Arc::new(Mutex::new((Window::new(options.window), false)));
    let (noted, node) = (Arc::clone(&state), session.node().clone());
    let note = move |message: DynamicMessage| {
        if let Some(stamp) = stamp(&message) {
            let mut state = noted.lock().unwrap_or_else(PoisonError::into_inner);
            state.0.push(seconds(&node) - stamp);
            state.1 = true;
        }
    };
    let options = SubscriptionOptions::new(&*topic).qos(qos());
    let created = session.node().create_dynamic_subscription(options, &message_type, note);
    let _subscription = created.map_err(Failure::run)?;
    every_second(session, |_| {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = std::mem::take(&mut state.1);
        match state.0.summary() {
            None => return Ok(false),
            Some(_) if !is_new => writeln!(out, "no new messages")?,
            Some(delays) => writeln!(out, "average delay: {:.3}\n{}", delays.mean, spread_text(&delays))?,
        }
        out.flush()?;
        Ok(true)
    })
}

fn check_header(message_type: &MessageType, topic: &str) -> Result<(), Failure> {
    if stamp(&DynamicMessage::new(message_type)).is_some() {
        return Ok(());
    }
    let name = message_type.name();
    Err(Failure::Run(format!("messages of {topic} are {name}, which has no header with a stamp").into()))
}

/// Returns the stamp in a message's header, in seconds; `None` if it has no such field.
fn stamp(message: &DynamicMessage) -> Option<f64> {
    let seconds: i32 = message.get("header.stamp.sec").ok()?;
    let nanoseconds: u32 = message.get("header.stamp.nanosec").ok()?;
    Some(f64::from(seconds) + f64::from(nanoseconds) * 1e-9)
}

/// Returns the quality of service of all these subscriptions: every publisher is heard, a burst fits, and large
/// messages that wait take no memory without bounds.
fn qos() -> Qos {
    let mut qos = Qos::sensor_data();
    qos.history = History::KeepLast(50);
    qos
}

/// Subscribes to a topic without a look into its messages. The callback gets their sizes, in bytes.
fn subscribe(
    session: &Session,
    topic: &str,
    mut note: impl FnMut(usize) + Send + 'static,
) -> Result<Subscription, Failure> {
    let (name, hash) = types::name_of_topic(session, topic)?;
    let mut message_type = TypeName::new(&name).map_err(Failure::run)?;
    if let Some(hash) = hash {
        message_type = message_type.with_hash(hash);
    }
    let options = SubscriptionOptions::new(topic).qos(qos());
    let take = move |message: SerializedMessage| note(message.as_bytes().len());
    session.node().create_serialized_subscription(options, &message_type, take).map_err(Failure::run)
}

/// Subscribes to the messages for which the filter is true. What goes wrong with it is left in `failure`.
fn subscribe_filtered(
    session: &Session,
    topic: &str,
    filter: &Expression,
    failure: Arc<Mutex<Option<EvaluateError>>>,
    mut note: impl FnMut() + Send + 'static,
) -> Result<Subscription, Failure> {
    let message_type = types::of_topic(session, topic)?;
    filter.check(&message_type).map_err(Failure::input)?;
    let filter = filter.clone();
    let take = move |message: DynamicMessage| match filter.is_true(&message) {
        Ok(true) => note(),
        Ok(false) => {}
        Err(error) => *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error),
    };
    let options = SubscriptionOptions::new(topic).qos(qos());
    session.node().create_dynamic_subscription(options, &message_type, take).map_err(Failure::run)
}

fn seconds(node: &Node) -> f64 {
    node.now().as_secs_f64()
}

fn wall_seconds() -> f64 {
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}

/// Calls `print` once a second, until the user interrupts the command. Within the first second it is called more often,
/// with true, until it has printed something, and so returns true.
fn every_second(session: &Session, mut print: impl FnMut(bool) -> Result<bool, Failure>) -> Result<(), Failure> {
    let executor = session.ros().executor().handle();
    let printing = async {
        for _ in 0..INTERVAL.as_millis() / LOOK.as_millis() {
            if print(true)? {
                break;
            }
            executor.sleep(ClockKind::Steady, LOOK).await.map_err(Failure::run)?;
        }
        let mut rate = executor.create_rate(ClockKind::Steady, INTERVAL).map_err(Failure::run)?;
        loop {
            rate.tick().await.map_err(Failure::run)?;
            print(false)?;
        }
    };
    session.wait(printing)?.unwrap_or(Ok(()))
}

#[cfg(test)]
mod tests {
    use rospin::msgs::std_msgs::msg::String as Text;

    use super::*;
    use crate::ros::testing::Robot;
    use crate::topic::testing::topic;

    #[test]
    fn rates_are_those_of_the_newest_periods() {
        let mut arrivals = Arrivals::new(2);
        assert_eq!(arrivals.news(), None);
        for at in [0.0, 5.0, 5.1, 5.3] {
            arrivals.arrive(at);
        }
        let text = hz_text(&arrivals.news().unwrap());
        assert_eq!(text, "average rate: 6.667\n\tmin: 0.100s max: 0.200s std dev: 0.05000s window: 2");
        assert_eq!(arrivals.news(), None);
        arrivals.arrive(1.0);
        assert_eq!(arrivals.news(), None);
    }

    #[test]
    fn several_topics_are_a_table() {
        let mut window = Window::new(9);
        window.push(0.1);
        let summary = window.summary().unwrap();
        let table = hz_table(&[("/chatter", summary), ("/a", summary)]);
        let lines: Vec<_> = table.lines().map(str::trim_end).collect();
        assert_eq!(lines[0], " topic      rate    min_delta   max_delta   std_dev   window");
        assert_eq!(lines[1], "=".repeat(60));
        assert_eq!(lines[2], "/chatter   10.000   0.100       0.100       0.00000   1");
        assert_eq!(lines[3], "/a         10.000   0.100       0.100       0.00000   1");
    }

    #[test]
    fn sizes_have_the_unit_of_their_sum() {
        let mut window = Window::new(9);
        for size in [1000.0, 3000.0] {
            window.push(size);
        }
        let text = bw_text(&window.summary().unwrap(), 2.0);
        assert_eq!(text, "2.00 KB/s from 2 messages\n\tMessage size mean: 2.00 KB min: 1.00 KB max: 3.00 KB");
    }

    #[test]
    fn a_delay_needs_a_header() {
        let robot = Robot::new();
        let _publisher = robot.node("talker").create_publisher::<Text>("chatter").unwrap();
        let error = topic(&robot, &["delay", "/chatter"]).unwrap_err();
        assert_eq!(error, "messages of /chatter are std_msgs/msg/String, which has no header with a stamp");
        assert!(topic(&robot, &["hz", "/chater"]).unwrap_err().contains("nearest: /chatter"));
        assert!(topic(&robot, &["bw", "/chater"]).unwrap_err().contains("nearest: /chatter"));
    }

    #[test]
    fn an_interrupt_ends_the_command_without_an_error() {
        let robot = Robot::new();
        let node = robot.node("talker");
        let publisher = node.create_publisher::<Text>("chatter").unwrap();
        let context = robot.session.ros().context().clone();
        let _timer = node
            .create_wall_timer(Duration::from_millis(1), move |_: rospin::Tick<rospin::time::Instant>| {
                publisher.publish(Text::default())?;
                context.halt_all();
                rospin::Ok(())
            })
            .unwrap();
        assert_eq!(topic(&robot, &["bw", "/chatter"]).unwrap(), "Subscribed to [/chatter]\n");
    }
}

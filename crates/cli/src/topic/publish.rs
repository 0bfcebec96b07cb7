//! `rospin topic pub`.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use rospin::PublisherOptions;
use rospin::dynamic::{DynamicMessage, DynamicPublisher, MessageType};
use rospin::time::ClockKind;
use rospin_report::{Failure, number};

use crate::ros::{QosOptions, Session, find_topic, python, rate, type_and_fields, types};

/// Time after which a subscription that is missing is told of again.
const REMINDER: Duration = Duration::from_secs(1);

/// Pause before the number of subscriptions is looked at again.
const PAUSE: Duration = Duration::from_millis(10);

/// Options of `rospin topic pub`.
#[derive(Args, Debug)]
pub(super) struct Options {
    /// Topic, such as /chatter
    topic: String,

    /// Type, such as std_msgs/msg/String; may be left out if the robot has the topic
    message_type: Option<String>,

    /// Fields in YAML, such as '{data: hello}'; others have their defaults. `auto` is a header of now, `now` a time
    values: Option<String>,

    /// Reads the fields from standard input
    #[arg(long, conflicts_with = "values")]
    stdin: bool,

    /// Messages per second
    #[arg(long, short, value_name = "HZ", default_value = "1", value_parser = rate)]
    rate: f64,

    /// Prints every so many messages only; 0 for none
    #[arg(long = "print", short = 'p', value_name = "N", default_value = "1")]
    print_nth: u64,

    /// Publishes one message, and ends
    #[arg(long, short = '1', conflicts_with = "times")]
    once: bool,

    /// Publishes so many messages, and ends
    #[arg(long, short, value_name = "N", default_value = "0", hide_default_value = true)]
    times: u64,

    /// Waits for so many subscriptions; by default for one with --once or --times, else for none
    #[arg(long, short, value_name = "N")]
    wait_matching_subscriptions: Option<usize>,

    /// Waits for subscriptions for at most so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = |text: &str| number::parse_seconds(text, 0.001, 1e9))]
    max_wait_time_secs: Option<Duration>,

    /// Stays for so many seconds after the last message
    #[arg(long, value_name = "SECONDS", default_value = "0.1", value_parser = |text: &str| number::parse_seconds(text, 0.0, 1e6))]
    keep_alive: Duration,

    /// Name of the command's node; by default a hidden one
    #[arg(long, short, value_name = "NAME")]
    pub(super) node_name: Option<String>,

    #[command(flatten)]
    qos: QosOptions,
}

/// Publishes messages.
pub(super) fn run(session: &Session, options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let times = if options.once { 1 } else { options.times };
    let wanted = options.wait_matching_subscriptions.unwrap_or(usize::from(times > 0));
    if wanted == 0 && options.max_wait_time_secs.is_some() {
        let sentence = "--max-wait-time-secs needs --wait-matching-subscriptions, --once or --times";
        return Err(Failure::Input(sentence.into()));
    }
    let (type_name, values) =
        type_and_fields(options.message_type.as_deref(), options.values.as_deref(), options.stdin)?;
    let (topic, message_type) = match type_name {
        Some(name) => {
            let topic = session.node().resolve_topic(&options.topic).map_err(Failure::input)?.to_string();
            let given = types::message(&name)?;
            // Wrong values are told before anything is waited for.
            message(session, &given, &values)?;
            session.discover()?;
            (topic.clone(), types::checked(session, &topic, given)?)
        }
        None => {
            let topic = find_topic(session, &options.topic)?;
            let message_type = types::of_topic(session, &topic)?;
            (topic, message_type)
        }
    };
    // Values that do not fit are told before anything is announced.
    message(session, &message_type, &values)?;
    let publishing = PublisherOptions::new(&*topic).qos(options.qos.of_publisher());
    let publisher = session.node().create_dynamic_publisher(publishing, &message_type).map_err(Failure::run)?;
    let running = async {
        wait_for_subscriptions(session, &publisher, wanted, options.max_wait_time_secs, out).await?;
        writeln!(out, "publisher: beginning loop")?;
        out.flush()?;
        publish(session, &publisher, (&message_type, &values), options, times, out).await
    };
    // Without an end of its own, the command is ended so.
    if times > 0 { session.finish(running)? } else { session.wait(running)?.unwrap_or(Ok(())) }
}

/// Returns the message with these fields, of now.
fn message(session: &Session, message_type: &MessageType, values: &str) -> Result<DynamicMessage, Failure> {
    let now = session.node().now().as_nanos();
    let seconds = i32::try_from(now / 1_000_000_000).unwrap_or(i32::MAX);
    let nanoseconds = (now % 1_000_000_000) as u32;
    DynamicMessage::from_yaml_at(message_type, values, seconds, nanoseconds).map_err(Failure::input)
}

async fn wait_for_subscriptions(
    session: &Session,
    publisher: &DynamicPublisher,
    wanted: usize,
    limit: Option<Duration>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let executor = session.ros().executor().handle();
    let mut waited = Duration::ZERO;
    let mut told = None;
    while publisher.subscription_count() < wanted {
        if limit.is_some_and(|limit| waited >= limit) {
            let found = publisher.subscription_count();
            return Err(Failure::Run(
                format!("waited for {wanted} subscriptions of {}, and found {found}", publisher.topic()).into(),
            ));
        }
        if told.is_none_or(|told| waited >= told + REMINDER) {
            writeln!(out, "Waiting for at least {wanted} matching subscription(s)...")?;
            out.flush()?;
            told = Some(waited);
        }
        let _ = executor.sleep(ClockKind::Steady, PAUSE).await;
        waited += PAUSE;
    }
    Ok(())
}

/// Publishes `times` messages, or for ever if that is 0.
async fn publish(
    session: &Session,
    publisher: &DynamicPublisher,
    (message_type, values): (&MessageType, &str),
    options: &Options,
    times: u64,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let executor = session.ros().executor().handle();
    let period = Duration::from_secs_f64(1.0 / options.rate);
    let mut rate = executor.create_rate(ClockKind::Steady, period).map_err(Failure::input)?;
    let mut count = 0;
    loop {
        count += 1;
        let message = message(session, message_type, values)?;
        if options.print_nth > 0 && count % options.print_nth == 0 {
            writeln!(out, "publishing #{count}: {}\n", python::repr(&message))?;
            out.flush()?;
        }
        publisher.publish(message).map_err(Failure::run)?;
        if count == times {
            // Time for the message to reach the wire.
            let _ = executor.sleep(ClockKind::Steady, options.keep_alive).await;
            return Ok(());
        }
        rate.tick().await.map_err(Failure::run)?;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use rospin::Subscription;
    use rospin::msgs::std_msgs::msg::{Header, String as Text};

    use crate::ros::testing::{Robot, interrupt};
    use crate::topic::testing::topic;

    fn listen(robot: &Robot) -> (Subscription, Arc<Mutex<Vec<String>>>) {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&heard);
        let listen = move |text: Text| log.lock().unwrap().push(text.data);
        (robot.node("listener").create_subscription("chatter", listen).unwrap(), heard)
    }

    const FAST: [&str; 4] = ["--keep-alive", "0", "-r", "1000"];

    #[test]
    fn messages_are_published_so_many_times() {
        let robot = Robot::new();
        let (_subscription, heard) = listen(&robot);
        let arguments = ["pub", "-t", "3", "/chatter", "std_msgs/msg/String", "{data: hello}"];
        let text = topic(&robot, &[&arguments[..], &FAST].concat()).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[..2], ["publisher: beginning loop", "publishing #1: std_msgs.msg.String(data='hello')"]);
        assert_eq!(lines.iter().filter(|line| line.starts_with("publishing #")).count(), 3);
        robot.session.ros().executor().spin(rospin::SpinOptions::spin_all()).unwrap();
        assert_eq!(*heard.lock().unwrap(), ["hello"; 3]);
    }

    #[test]
    fn an_interrupt_before_the_last_message_is_an_error() {
        for (arguments, expected) in [
            (&["-1"][..], Err("interrupted".to_owned())),
            (&["-t", "3"], Err("interrupted".to_owned())),
            (&["-w", "1"], Ok(())),
        ] {
            let robot = Robot::new();
            let node = robot.node("user");
            let _timer = interrupt(&node, &robot);
            let arguments = [&["pub", "/chatter", "std_msgs/msg/String"], arguments].concat();
            assert_eq!(topic(&robot, &arguments).map(drop), expected, "{arguments:?}");
        }
    }

    #[test]
    fn the_type_may_be_left_out() {
        let robot = Robot::new();
        let (_subscription, heard) = listen(&robot);
        topic(&robot, &[&["pub", "--once", "chatter", "data: 12", "-p", "0"][..], &FAST].concat()).unwrap();
        robot.session.ros().executor().spin(rospin::SpinOptions::spin_all()).unwrap();
        assert_eq!(*heard.lock().unwrap(), ["12"]);
    }

    #[test]
    fn a_header_of_now_has_a_time() {
        let robot = Robot::new();
        let _subscription = robot.node("listener").create_subscription("header", |_: Header| {}).unwrap();
        let arguments = ["pub", "-1", "/header", "std_msgs/msg/Header", "{stamp: now}"];
        let text = topic(&robot, &[&arguments[..], &FAST].concat()).unwrap();
        assert!(text.contains("stamp=builtin_interfaces.msg.Time(sec=") && !text.contains("sec=0,"), "{text}");
    }

    #[test]
    fn values_that_do_not_fit_are_refused_before_anything_is_published() {
        let robot = Robot::new();
        let error = topic(&robot, &["pub", "/chatter", "std_msgs/msg/String", "{date: 1}"]).unwrap_err();
        assert_eq!(error, "`date`: std_msgs/msg/String has no field `date`; it has data");
        let error = topic(&robot, &["pub", "/chatter", "std_msgs/msg/String", "hello"]).unwrap_err();
        assert_eq!(error, "the value is std_msgs/msg/String; write its fields in braces, such as `{data: ...}`");
        let error = topic(&robot, &["pub", "/chatter", "{data: 1}"]).unwrap_err();
        assert!(error.starts_with("no topic /chatter"), "{error}");
        let error =
            topic(&robot, &["pub", "-1", "--max-wait-time-secs", "0.02", "/a", "std_msgs/msg/String"]).unwrap_err();
        assert_eq!(error, "waited for 1 subscriptions of /a, and found 0");
    }
}

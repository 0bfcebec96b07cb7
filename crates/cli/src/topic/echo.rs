//! `rospin topic echo`.

use std::io::Write;
use std::time::{Duration, SystemTime};

use clap::Args;
use rospin::dynamic::{DynamicMessage, MessageType, Value};
use rospin::events::{EventCallback, IncompatibleQos, MessageLost};
use rospin::message::SerializedMessage;
use rospin::{MessageInfo, Subscription, SubscriptionOptions};
use rospin_report::{Failure, number};

use crate::ros::{Expression, FormatOptions, Mailbox, QosOptions, Session, find_topic, python, types, warn};

/// Options of `rospin topic echo`.
#[derive(Args, Debug)]
pub(super) struct Options {
    /// Topic, such as /chatter
    topic: String,

    /// Type, such as std_msgs/msg/String; without it, the topic is waited for, and its type is asked for
    message_type: Option<String>,

    #[command(flatten)]
    qos: QosOptions,

    #[command(flatten)]
    format: FormatOptions,

    /// Prints this field of each message, such as pose.position.x or ranges[0]
    #[arg(long, value_name = "PATH")]
    field: Option<String>,

    /// Does not tell of messages that are lost
    #[arg(long)]
    no_lost_messages: bool,

    /// Prints messages as they travel, as bytes
    #[arg(long)]
    raw: bool,

    /// Prints only messages for which this expression is true: a part of Python, with the message, or its --field, as m
    #[arg(long, value_name = "EXPRESSION", conflicts_with = "raw", value_parser = Expression::parse)]
    filter: Option<Expression>,

    /// Prints the first message, and ends
    #[arg(long)]
    once: bool,

    /// Ends after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = |text: &str| number::parse_seconds(text, 0.001, 1e9))]
    timeout: Option<Duration>,

    /// Prints when each message was sent and received, too
    #[arg(long, short = 'i')]
    include_message_info: bool,

    /// Clears the screen before each message
    #[arg(long, short)]
    clear: bool,

    /// Name of the command's node; by default a hidden one
    #[arg(long, short, value_name = "NAME")]
    pub(super) node_name: Option<String>,
}

/// News from the subscription's callbacks.
enum News {
    Message(DynamicMessage, MessageInfo),
    Raw(SerializedMessage, MessageInfo),
    /// A publisher that is not heard, with the reason.
    Unheard(String),
    /// Number of messages that were lost on the way, or because there was no room in the queue.
    Lost(u64),
}

/// Prints the messages of a topic.
pub(super) fn run(session: &Session, options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let (topic, message_type) = match &options.message_type {
        // The topic need not exist yet.
        Some(name) => {
            let topic = session.node().resolve_topic(&options.topic).map_err(Failure::input)?.to_string();
            let message_type = types::message(name)?;
            session.discover_until(|node| node.count_publishers(&topic).is_ok_and(|count| count > 0))?;
            let message_type = types::checked(session, &topic, message_type)?;
            (topic, message_type)
        }
        None => {
            let topic = find_topic(session, &options.topic)?;
            let message_type = types::of_topic(session, &topic)?;
            (topic, message_type)
        }
    };
    if let Some(path) = &options.field {
        check_field(&message_type, path)?;
    }
    if let Some(filter) = &options.filter {
        check_filter(&message_type, filter, options.field.as_deref())?;
    }
    // The quality of service has to fit all publishers, not only the one that was found first.
    let (qos, _) = options.qos.of_topic(session, &topic)?;
    let mailbox = Mailbox::new();
    let subscription =
        subscribe(session, SubscriptionOptions::new(&*topic).qos(qos), &message_type, options, &mailbox)?;
    let _unheard = tell_unheard(session, &subscription, &topic, &mailbox)?;
    let _lost = if options.no_lost_messages { None } else { Some(tell_lost(session, &subscription, &mailbox)?) };
    let reading = async {
        loop {
            let news = mailbox.next().await;
            let lost = mailbox.take_lost();
            if lost > 0 && !options.no_lost_messages {
                warn(&format!("{lost} messages were lost, because they came faster than they could be printed"));
            }
            if print(&news, options, out)? && options.once {
                return Ok(());
            }
        }
    };
    session.read(reading, options.once, options.timeout)
}

/// Checks that messages of that type have the field.
fn check_field(message_type: &MessageType, path: &str) -> Result<(), Failure> {
    use rospin::dynamic::PathError;

    match DynamicMessage::new(message_type).value(path) {
        // Which elements there are is known when a message comes.
        Ok(_) | Err(PathError::OutOfRange { .. }) => Ok(()),
        Err(error) => Err(Failure::input(error)),
    }
}

/// Checks that the fields of the filter are there, in messages of that type or in a field of them.
fn check_filter(message_type: &MessageType, filter: &Expression, field: Option<&str>) -> Result<(), Failure> {
    let Some(path) = field else { return filter.check(message_type).map_err(Failure::input) };
    match DynamicMessage::new(message_type).value(path) {
        Ok(value) => filter.check_of(&value).map_err(Failure::input),
        // Which elements there are is known when a message comes.
        Err(_) => Ok(()),
    }
}

fn subscribe(
    session: &Session,
    subscription: SubscriptionOptions,
    message_type: &MessageType,
    options: &Options,
    mailbox: &Mailbox<News>,
) -> Result<Subscription, Failure> {
    let mailbox = mailbox.clone();
    let node = session.node();
    let created = if options.raw {
        let post = move |message: SerializedMessage, info: MessageInfo| mailbox.post(News::Raw(message, info));
        node.create_serialized_subscription(subscription, &message_type.type_name(), post)
    } else {
        let post = move |message: DynamicMessage, info: MessageInfo| mailbox.post(News::Message(message, info));
        node.create_dynamic_subscription(subscription, message_type, post)
    };
    created.map_err(Failure::run)
}

/// Tells of publishers that are not heard because of their quality of service.
fn tell_unheard(
    session: &Session,
    subscription: &Subscription,
    topic: &str,
    mailbox: &Mailbox<News>,
) -> Result<EventCallback, Failure> {
    let (mailbox, topic) = (mailbox.clone(), topic.to_owned());
    let tell = move |unheard: IncompatibleQos| {
        let sentence = format!("a publisher of {topic} is not heard: its {} does not fit", unheard.policy);
        mailbox.post(News::Unheard(sentence));
    };
    session.node().create_event_callback(subscription, tell).map_err(Failure::run)
}

/// Tells of messages that the subscription lost.
fn tell_lost(
    session: &Session,
    subscription: &Subscription,
    mailbox: &Mailbox<News>,
) -> Result<EventCallback, Failure> {
    let mailbox = mailbox.clone();
    let tell = move |lost: MessageLost| mailbox.post(News::Lost(lost.total_change));
    session.node().create_event_callback(subscription, tell).map_err(Failure::run)
}

/// Returns true if the filter lets the message be printed.
fn is_chosen(message: &DynamicMessage, options: &Options) -> Result<bool, Failure> {
    let Some(filter) = &options.filter else { return Ok(true) };
    let is_true = match &options.field {
        None => filter.is_true(message),
        Some(path) => filter.is_true_of(&*message.value(path).map_err(Failure::run)?),
    };
    is_true.map_err(|error| Failure::Run(format!("--filter: {error}").into()))
}

/// Prints what a callback told. Returns true for a message.
fn print(news: &News, options: &Options, out: &mut dyn Write) -> Result<bool, Failure> {
    let (text, info, end) = match news {
        News::Unheard(sentence) => {
            warn(sentence);
            return Ok(false);
        }
        News::Lost(count) => {
            warn(&format!("{count} messages were lost before the command could take them"));
            return Ok(false);
        }
        News::Message(message, _) if !is_chosen(message, options)? => return Ok(false),
        News::Raw(message, info) => (python::repr_bytes(message.as_bytes()), info, "\n---\n"),
        News::Message(message, info) => {
            (message_text(message, options)?, info, if options.format.csv { "\n" } else { "\n---\n" })
        }
    };
    if options.clear {
        writeln!(out, "\x1b[H\x1b[2J")?;
    }
    match (options.include_message_info, options.format.csv) {
        (true, true) => write!(out, "{}", info_csv(info))?,
        (true, false) => writeln!(out, "{}---", info_text(info))?,
        (false, _) => {}
    }
    write!(out, "{text}{end}")?;
    out.flush()?;
    Ok(true)
}

/// Returns the text of a message, or of the field that the options name.
fn message_text(message: &DynamicMessage, options: &Options) -> Result<String, Failure> {
    let format = options.format.yaml();
    let Some(path) = &options.field else {
        return Ok(if options.format.csv { format.csv(message) } else { format.text(message) });
    };
    let value = message.value(path).map_err(Failure::run)?;
    Ok(match (&*value, options.format.csv) {
        (Value::Message(message), false) => format.text(message),
        (value, true) => format.value_csv(value),
        (Value::MessageArray(_), false) => format.value_text(&value),
        (value, false) => python::shown(value),
    })
}

fn nanoseconds(time: Option<SystemTime>) -> u128 {
    time.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok()).map_or(0, |since| since.as_nanos())
}

/// Returns when a message was sent and received, as YAML.
fn info_text(info: &MessageInfo) -> String {
    let number = info.publication_sequence_number.map_or_else(|| "null".to_owned(), |number| number.to_string());
    format!(
        "publication_sequence_number: {number}\nreceived_timestamp: {}\nreception_sequence_number: null\nsource_timestamp: {}\n",
        nanoseconds(Some(info.received_timestamp)),
        nanoseconds(info.source_timestamp)
    )
}

/// Returns when a message was sent and received, with a comma behind each value.
fn info_csv(info: &MessageInfo) -> String {
    let number = info.publication_sequence_number.map_or_else(|| "None".to_owned(), |number| number.to_string());
    let (source, received) = (nanoseconds(info.source_timestamp), nanoseconds(Some(info.received_timestamp)));
    format!("{source},{received},{number},None,")
}

#[cfg(test)]
mod tests {
    use rospin::msgs::geometry_msgs::msg::{Twist, Vector3};
    use rospin::{Publisher, PublisherOptions};

    use super::*;
    use crate::ros::testing::{Robot, interrupt};
    use crate::topic::testing::topic;

    /// Publishes a message that is kept for later subscriptions.
    fn latched(robot: &Robot) -> Publisher<Twist> {
        let node = robot.node("driver");
        let publisher = node.create_publisher(PublisherOptions::new("cmd_vel").transient_local()).unwrap();
        let linear = Vector3 { x: 1.5, ..Vector3::default() };
        publisher.publish(Twist { linear, ..Twist::default() }).unwrap();
        publisher
    }

    #[test]
    fn the_first_message_is_printed_as_yaml() {
        let robot = Robot::new();
        let _publisher = latched(&robot);
        let text = topic(&robot, &["echo", "--once", "/cmd_vel"]).unwrap();
        assert_eq!(text, "linear:\n  x: 1.5\n  y: 0.0\n  z: 0.0\nangular:\n  x: 0.0\n  y: 0.0\n  z: 0.0\n---\n");
        let typed = topic(&robot, &["echo", "--once", "cmd_vel", "geometry_msgs/Twist"]).unwrap();
        assert_eq!(typed, text);
    }

    #[test]
    fn options_choose_the_field_and_the_format() {
        let robot = Robot::new();
        let _publisher = latched(&robot);
        let whole = topic(&robot, &["echo", "--once", "/cmd_vel"]).unwrap();
        for (arguments, expected) in [
            (&["--field", "linear.x"][..], "1.5\n---\n"),
            (&["--field", "linear"], "x: 1.5\ny: 0.0\nz: 0.0\n---\n"),
            (&["--filter", "m.linear.x > 1 and not m.angular.z"], &*whole),
            (&["--filter", "m == 1.5", "--field", "linear.x"], "1.5\n---\n"),
            (&["--csv"], "1.5,0.0,0.0,0.0,0.0,0.0\n"),
            (&["--flow-style", "--field", "linear"], "{x: 1.5, y: 0.0, z: 0.0}\n---\n"),
        ] {
            let arguments = [&["echo", "--once", "/cmd_vel"], arguments].concat();
            assert_eq!(topic(&robot, &arguments).unwrap(), expected, "{arguments:?}");
        }
        let raw = topic(&robot, &["echo", "--once", "--raw", "/cmd_vel"]).unwrap();
        assert!(raw.starts_with("b'\\x00\\x01\\x00\\x00") && raw.ends_with("'\n---\n"), "{raw}");
        let info = topic(&robot, &["echo", "--once", "-i", "--field", "linear.x", "/cmd_vel"]).unwrap();
        assert!(info.contains("received_timestamp: ") && info.ends_with("---\n1.5\n---\n"), "{info}");
    }

    #[test]
    fn an_interrupt_is_an_error_only_where_a_message_is_waited_for() {
        for (arguments, expected) in [
            (&["--once"][..], Err("interrupted".to_owned())),
            (&["--once", "--timeout", "1000000"], Err("interrupted".to_owned())),
            (&[], Ok(String::new())),
        ] {
            let robot = Robot::new();
            let node = robot.node("driver");
            let _publisher = node.create_publisher::<Twist>("cmd_vel").unwrap();
            let _timer = interrupt(&node, &robot);
            let arguments = [&["echo", "/cmd_vel"], arguments].concat();
            assert_eq!(topic(&robot, &arguments), expected, "{arguments:?}");
        }
    }

    #[test]
    fn messages_that_the_subscription_lost_are_told() {
        let robot = Robot::new();
        let publisher = robot.node("driver").create_publisher::<Twist>("cmd_vel").unwrap();
        let (mailbox, session) = (Mailbox::<News>::new(), &robot.session);
        let options = SubscriptionOptions::new("cmd_vel").keep_last(1);
        let subscription = session.node().create_subscription(options, |_: Twist| {}).unwrap();
        let _lost = tell_lost(session, &subscription, &mailbox).unwrap();
        for _ in 0..3 {
            publisher.publish(Twist::default()).unwrap();
        }
        let news = session.finish(mailbox.next()).unwrap();
        assert!(matches!(news, News::Lost(2)));
    }

    #[test]
    fn what_cannot_be_printed_is_an_error() {
        let robot = Robot::new();
        let _publisher = latched(&robot);
        assert_eq!(topic(&robot, &["echo", "/cmd_vell"]).unwrap_err(), "no topic /cmd_vell; nearest: /cmd_vel");
        let error = topic(&robot, &["echo", "/cmd_vel", "--field", "linear.w"]).unwrap_err();
        assert_eq!(error, "`linear.w`: geometry_msgs/msg/Vector3 has no field `w`; it has x, y, z");
        let error = topic(&robot, &["echo", "/cmd_vel", "--filter", "m.linear.w > 1"]).unwrap_err();
        assert_eq!(error, "geometry_msgs/msg/Vector3 has no field `w`; it has x, y, z");
        let error = topic(&robot, &["echo", "/cmd_vel", "--filter", "m.linear > 1"]).unwrap_err();
        assert_eq!(error, "--filter: `>` cannot be done with a message and a number");
        let arguments = ["echo", "/cmd_vel", "--filter", "m.linear.x > 2", "--timeout", "0.05"];
        assert_eq!(topic(&robot, &arguments).unwrap(), "");
    }
}

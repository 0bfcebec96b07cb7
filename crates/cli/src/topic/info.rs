//! `rospin topic info`, `type` and `find`.

use std::io::Write;

use clap::Args;
use rospin_report::Failure;

use crate::ros::{Session, end_text, find_topic, is_hidden, missing, print_names, types_text};

/// Options of `rospin topic info`.
#[derive(Args, Debug)]
pub(super) struct Options {
    /// Topic, such as /chatter
    topic: String,

    /// Shows node, type hash and quality of service of each publisher and subscription
    #[arg(long, short)]
    verbose: bool,
}

/// Options of `rospin topic type`.
#[derive(Args, Debug)]
pub(super) struct TypeOptions {
    /// Topic, such as /chatter
    topic: String,
}

/// Options of `rospin topic find`.
#[derive(Args, Debug)]
pub(super) struct FindOptions {
    /// Type, such as std_msgs/msg/String
    topic_type: String,

    /// Prints only the number of topics
    #[arg(long, short)]
    count_topics: bool,
}

/// Prints the type of a topic, and who publishes and hears it.
pub(super) fn run(session: &Session, options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let node = session.node();
    let topic = node.resolve_topic(&options.topic).map_err(Failure::input)?.to_string();
    // All ends are counted, so one of them is not enough.
    session.discover()?;
    session.discover_until(|node| node.topic_names_and_types().contains_key(&topic))?;
    let topics = node.topic_names_and_types();
    let Some(types) = topics.get(&topic) else { return Err(missing("topic", &topic, topics.keys())) };
    let end = if options.verbose { "\n\n" } else { "\n" };
    let publishers = node.publishers_info_by_topic(&topic).map_err(Failure::run)?;
    let subscriptions = node.subscriptions_info_by_topic(&topic).map_err(Failure::run)?;
    write!(out, "Type: {}{end}", types_text(types))?;
    write!(out, "Publisher count: {}{end}", publishers.len())?;
    if options.verbose {
        for publisher in &publishers {
            write!(out, "{}{end}", end_text(publisher))?;
        }
    }
    write!(out, "Subscription count: {}{end}", subscriptions.len())?;
    if options.verbose {
        for subscription in &subscriptions {
            write!(out, "{}{end}", end_text(subscription))?;
        }
    }
    Ok(())
}

/// Prints the types of a topic.
pub(super) fn run_type(session: &Session, options: &TypeOptions, out: &mut dyn Write) -> Result<(), Failure> {
    let topic = find_topic(session, &options.topic)?;
    for of in &session.node().topic_names_and_types()[&topic] {
        writeln!(out, "{of}")?;
    }
    Ok(())
}

/// Prints the topics of a type.
pub(super) fn run_find(
    session: &Session,
    options: &FindOptions,
    with_hidden: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    session.discover()?;
    let wanted = crate::ros::types::full_name(&options.topic_type, "msg");
    let mut topics = session.node().topic_names_and_types();
    topics.retain(|name, types| types.contains(&wanted) && (with_hidden || !is_hidden(name)));
    print_names(&topics, false, options.count_topics, out)
}

#[cfg(test)]
mod tests {
    use rospin::msgs::std_msgs::msg::String as Text;

    use crate::ros::testing::Robot;
    use crate::topic::testing::topic;

    #[test]
    fn a_topic_is_described_with_its_ends() {
        let robot = Robot::new();
        let node = robot.node("talker");
        let _chatter = node.create_publisher::<Text>("chatter").unwrap();
        let text = topic(&robot, &["info", "/chatter"]).unwrap();
        assert_eq!(text, "Type: std_msgs/msg/String\nPublisher count: 1\nSubscription count: 0\n");
        let verbose = topic(&robot, &["info", "-v", "chatter"]).unwrap();
        assert!(
            verbose.starts_with("Type: std_msgs/msg/String\n\nPublisher count: 1\n\nNode name: talker\n"),
            "{verbose}"
        );
        for line in
            ["Node namespace: /\n", "Topic type hash: RIHS01_", "Reliability: RELIABLE\n", "Deadline: Infinite\n"]
        {
            assert!(verbose.contains(line), "{line}: {verbose}");
        }
        assert!(verbose.ends_with("Subscription count: 0\n\n"), "{verbose}");
        assert_eq!(topic(&robot, &["info", "/chater"]).unwrap_err(), "no topic /chater; nearest: /chatter");
        assert_eq!(topic(&robot, &["type", "/chatter"]).unwrap(), "std_msgs/msg/String\n");
        assert_eq!(topic(&robot, &["find", "std_msgs/String"]).unwrap(), "/chatter\n");
        assert_eq!(topic(&robot, &["find", "-c", "std_msgs/msg/Empty"]).unwrap(), "0\n");
    }
}

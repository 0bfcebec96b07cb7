//! `rospin topic list`.

use std::io::Write;

use clap::Args;
use rospin_report::Failure;

use crate::ros::{Session, is_hidden, print_names, types_text};

/// Options of `rospin topic list`.
#[derive(Args, Debug)]
pub(super) struct Options {
    /// Shows the types, too
    #[arg(long, short = 't')]
    show_types: bool,

    /// Prints only the number of topics
    #[arg(long, short)]
    count_topics: bool,

    /// Shows types and numbers of publishers and subscriptions
    #[arg(long, short)]
    verbose: bool,
}

/// Lists the topics that have a publisher or a subscription.
pub(super) fn run(session: &Session, options: &Options, with_hidden: bool, out: &mut dyn Write) -> Result<(), Failure> {
    session.discover()?;
    let mut topics = session.node().topic_names_and_types();
    topics.retain(|name, _| with_hidden || !is_hidden(name));
    if options.verbose && !options.count_topics {
        if topics.is_empty() {
            return Ok(());
        }
        let node = session.node();
        let mut published = String::new();
        let mut subscribed = String::new();
        for (name, types) in &topics {
            let publishers = node.count_publishers(name).unwrap_or_default();
            let subscribers = node.count_subscriptions(name).unwrap_or_default();
            published += &counted(name, &types_text(types), publishers, "publisher");
            subscribed += &counted(name, &types_text(types), subscribers, "subscriber");
        }
        writeln!(out, "Published topics:\n{published}")?;
        writeln!(out, "Subscribed topics:\n{subscribed}")?;
        return Ok(());
    }
    print_names(&topics, options.show_types, options.count_topics, out)
}

/// Returns the line of a topic with the number of its publishers or subscriptions, or no line if it has none of these.
fn counted(name: &str, types: &str, count: usize, what: &str) -> String {
    match count {
        0 => String::new(),
        1 => format!(" * {name} [{types}] 1 {what}\n"),
        _ => format!(" * {name} [{types}] {count} {what}s\n"),
    }
}

#[cfg(test)]
mod tests {
    use rospin::msgs::geometry_msgs::msg::Twist;
    use rospin::msgs::std_msgs::msg::String as Text;

    use crate::ros::testing::Robot;
    use crate::topic::testing::topic;

    #[test]
    fn topics_are_listed_as_ros2_lists_them() {
        let robot = Robot::new();
        let node = robot.node("talker");
        let _chatter = node.create_publisher::<Text>("chatter").unwrap();
        let _hidden = node.create_publisher::<Text>("_secret").unwrap();
        let _one = node.create_subscription("cmd_vel", |_: Twist| {}).unwrap();
        let _two = node.create_subscription("cmd_vel", |_: Twist| {}).unwrap();
        let list = topic(&robot, &["list"]).unwrap();
        let own: Vec<_> = list.lines().filter(|line| *line == "/chatter" || *line == "/cmd_vel").collect();
        assert_eq!(own, ["/chatter", "/cmd_vel"]);
        assert!(!list.contains("_secret"), "{list}");
        assert!(topic(&robot, &["list", "--include-hidden-topics"]).unwrap().contains("/_secret\n"));
        assert!(topic(&robot, &["--include-hidden-topics", "list"]).unwrap().contains("/_secret\n"));
        let typed = topic(&robot, &["list", "-t"]).unwrap();
        assert!(typed.contains("/chatter [std_msgs/msg/String]\n"), "{typed}");
        let count = topic(&robot, &["list", "-c"]).unwrap();
        assert_eq!(count.trim().parse::<usize>().unwrap(), list.lines().count());
        let verbose = topic(&robot, &["list", "-v"]).unwrap();
        assert!(verbose.starts_with("Published topics:\n * /chatter [std_msgs/msg/String] 1 publisher\n"), "{verbose}");
        let (published, subscribed) = verbose.split_once("Subscribed topics:\n").unwrap();
        assert!(published.ends_with("\n\n") && !published.contains("cmd_vel"), "{verbose}");
        assert!(subscribed.contains(" * /cmd_vel [geometry_msgs/msg/Twist] 2 subscribers\n"), "{verbose}");
    }
}

//! `rospin bag info`: the content of a bag, as `ros2 bag info` prints it.

use std::io::{self, Write};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::metadata::Topic;
use super::read::Bag;

/// Column in which the values begin.
const INDENT: usize = 19;

/// Ending of topics on which services tell of their calls.
pub(in crate::bag) const SERVICE_EVENT: &str = "/_service_event";

/// Options of the output.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shown {
    /// Only the names of topics, one in a line.
    pub(super) is_names_only: bool,
}

/// Prints the content of a bag. `zone` is that of the times.
pub(super) fn print(bag: &Bag, shown: Shown, zone: &TimeZone, out: &mut dyn Write) -> io::Result<()> {
    let metadata = &bag.metadata;
    let mut topics: Vec<&Topic> = metadata.topics.iter().collect();
    topics.sort_by(|a, b| a.name.cmp(&b.name));
    if shown.is_names_only {
        for topic in topics {
            writeln!(out, "{}", topic.name)?;
        }
        return Ok(());
    }
    let (events, topics): (Vec<_>, Vec<_>) = topics.into_iter().partition(|topic| is_event(topic));
    let count_of_events: u64 = events.iter().map(|topic| topic.count).sum();
    let (first, last) = metadata.times.unwrap_or_default();
    let files: Vec<String> = metadata.files.iter().map(|file| file.path.clone()).collect();
    let distro = if metadata.ros_distro.is_empty() { "unknown" } else { &metadata.ros_distro };
    writeln!(out)?;
    list(out, "Files:", INDENT, &files)?;
    field(out, "Bag size:", &size(bag.size))?;
    field(out, "Storage id:", &metadata.storage)?;
    field(out, "ROS Distro:", distro)?;
    field(out, "Duration:", &format!("{}s", seconds(last.saturating_sub(first))))?;
    field(out, "Start:", &date(first, zone))?;
    field(out, "End:", &date(last, zone))?;
    field(out, "Messages:", &metadata.count.saturating_sub(count_of_events).to_string())?;
    let lines: Vec<String> = topics.iter().map(|topic| line(topic)).collect();
    list(out, "Topic information:", INDENT, &lines)?;
    field(out, "Service:", &events.len().to_string())?;
    let lines: Vec<String> = events.iter().map(|topic| event_line(topic)).collect();
    list(out, "Service information:", INDENT + 2, &lines)
}

fn is_event(topic: &Topic) -> bool {
    topic.name.ends_with(SERVICE_EVENT) && topic.message_type.ends_with("_Event")
}

fn line(topic: &Topic) -> String {
    let Topic { name, message_type, count, format, .. } = topic;
    format!("Topic: {name} | Type: {message_type} | Count: {count} | Serialization Format: {format}")
}

fn event_line(topic: &Topic) -> String {
    let name = topic.name.strip_suffix(SERVICE_EVENT).unwrap_or(&topic.name);
    let of = topic.message_type.strip_suffix("_Event").unwrap_or(&topic.message_type);
    format!("Service: {name} | Type: {of} | Event Count: {} | Serialization Format: {}", topic.count, topic.format)
}

fn field(out: &mut dyn Write, name: &str, value: &str) -> io::Result<()> {
    writeln!(out, "{name:<INDENT$}{value}")
}

/// Prints values below each other.
fn list(out: &mut dyn Write, name: &str, indent: usize, values: &[String]) -> io::Result<()> {
    let first = values.first().map_or("", String::as_str);
    writeln!(out, "{}", format!("{name:<indent$}{first}").trim_end())?;
    for value in values.iter().skip(1) {
        writeln!(out, "{:indent$}{value}", "")?;
    }
    Ok(())
}

/// Returns a number of bytes in the unit that suits it.
pub(super) fn size(bytes: u64) -> String {
    let mut size = bytes as f64;
    let mut units = ["B", "KiB", "MiB", "GiB", "TiB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    while size >= 1024.0 {
        let Some(next) = units.next() else { break };
        size /= 1024.0;
        unit = next;
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{size:.1} {unit}") }
}

/// Returns nanoseconds as seconds.
pub(super) fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

fn date(ns: u64, zone: &TimeZone) -> String {
    // A time after the year 9999 has no date.
    let stamp = Timestamp::from_nanosecond(i128::from(ns)).unwrap_or_default();
    let local = stamp.to_zoned_datetime(zone.clone());
    format!("{} ({})", local.strftime("%b %e %Y %H:%M:%S.%9f"), seconds(ns))
}

#[cfg(test)]
mod tests {
    use super::super::metadata::{FileOf, Metadata};
    use super::*;

    fn topic(name: &str, message_type: &str, count: u64) -> Topic {
        let format = "cdr".to_owned();
        Topic { name: name.to_owned(), message_type: message_type.to_owned(), format, count, ..Topic::default() }
    }

    fn text(bag: &Bag, shown: Shown) -> String {
        let mut out = Vec::new();
        print(bag, shown, &TimeZone::UTC, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn content_is_printed_as_ros2_bag_info_prints_it() {
        let file = |number| FileOf { path: format!("drive_{number}.mcap"), ..FileOf::default() };
        let metadata = Metadata {
            storage: "mcap".to_owned(),
            times: Some((1_700_000_000_123_456_789, 1_700_000_060_023_456_789)),
            count: 13,
            topics: vec![
                topic("/scan", "sensor_msgs/msg/LaserScan", 7),
                topic("/chatter", "std_msgs/msg/String", 4),
                topic("/reset/_service_event", "std_srvs/srv/Trigger_Event", 2),
            ],
            files: vec![file(0), file(1)],
            ros_distro: "kilted".to_owned(),
            ..Metadata::default()
        };
        let bag = Bag { metadata, files: Vec::new(), size: 3_200_000, damages: Vec::new() };
        let expected = "
Files:             drive_0.mcap
                   drive_1.mcap
Bag size:          3.1 MiB
Storage id:        mcap
ROS Distro:        kilted
Duration:          59.900000000s
Start:             Nov 14 2023 22:13:20.123456789 (1700000000.123456789)
End:               Nov 14 2023 22:14:20.023456789 (1700000060.023456789)
Messages:          11
Topic information: Topic: /chatter | Type: std_msgs/msg/String | Count: 4 | Serialization Format: cdr
                   Topic: /scan | Type: sensor_msgs/msg/LaserScan | Count: 7 | Serialization Format: cdr
Service:           1
Service information: Service: /reset | Type: std_srvs/srv/Trigger | Event Count: 2 | Serialization Format: cdr
";
        assert_eq!(text(&bag, Shown::default()), expected);
        assert_eq!(text(&bag, Shown { is_names_only: true }), "/chatter\n/reset/_service_event\n/scan\n");
    }

    #[test]
    fn bag_without_messages_has_no_topics_and_sizes_have_units() {
        let bag = Bag { metadata: Metadata::default(), files: Vec::new(), size: 17, damages: Vec::new() };
        let text = text(&bag, Shown::default());
        assert!(text.contains("Bag size:          17 B\n") && text.contains("ROS Distro:        unknown\n"), "{text}");
        assert!(text.contains("Topic information:\nService:           0\nService information:\n"), "{text}");
        assert_eq!(
            (size(1023), size(1024), size(u64::MAX)),
            ("1023 B".into(), "1.0 KiB".into(), "16777216.0 TiB".into())
        );
    }
}

//! `rospin service echo`.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use rospin::dynamic::{DynamicMessage, MessageType};
use rospin::msgs::service_msgs::msg::ServiceEventInfo;
use rospin::{Subscription, SubscriptionOptions};
use rospin_report::{Failure, number};

use crate::ros::{FormatOptions, Mailbox, QosOptions, Session, find_service, types, warn};

/// Options of `rospin service echo`.
#[derive(Args, Debug)]
pub(super) struct Options {
    /// Service, such as /add_two_ints
    service: String,

    /// Type, such as std_srvs/srv/SetBool; without it, the service is waited for, and its type is asked for
    service_type: Option<String>,

    #[command(flatten)]
    qos: QosOptions,

    #[command(flatten)]
    format: FormatOptions,

    /// Prints the first event, and ends
    #[arg(long)]
    once: bool,

    /// Ends after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = |text: &str| number::parse_seconds(text, 0.001, 1e9))]
    timeout: Option<Duration>,
}

/// Prints the events of a service: requests and responses as clients and servers tell them that have introspection
/// switched on.
pub(super) fn run(session: &Session, options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let node = session.node();
    let (service, service_type) = match &options.service_type {
        // The service need not exist yet.
        Some(name) => {
            let service = node.resolve_service(&options.service).map_err(Failure::input)?.to_string();
            (service, types::service(name)?)
        }
        None => {
            let service = find_service(session, &options.service)?;
            let service_type = types::of_service(session, &service)?;
            (service, service_type)
        }
    };
    let Some(event) = service_type.event() else {
        let sentence =
            format!("{} has no description of its events; those of ROS 2 Humble have none", service_type.name());
        return Err(Failure::Run(sentence.into()));
    };
    let topic = format!("{service}/_service_event");
    session.discover_until(|node| node.count_publishers(&topic).is_ok_and(|count| count > 0))?;
    let event = types::checked(session, &topic, event.clone())?;
    // The quality of service has to fit all publishers, not only the one that was found first.
    let (qos, publishers) = options.qos.of_topic(session, &topic)?;
    let mailbox = Mailbox::new();
    let hear = SubscriptionOptions::new(&*topic).qos(qos);
    let _subscription = subscribe(session, hear, &event, &mailbox)?;
    if publishers.is_empty() {
        warn(&format!("nobody publishes {topic}; introspection has to be switched on in a client or the server"));
    }
    let reading = async {
        loop {
            let event = mailbox.next().await;
            let lost = mailbox.take_lost();
            if lost > 0 {
                warn(&format!("{lost} events were lost, because they came faster than they could be printed"));
            }
            write!(out, "{}", text(&event, &options.format))?;
            out.flush()?;
            if options.once {
                return Ok(());
            }
        }
    };
    session.read(reading, options.once, options.timeout)
}

fn subscribe(
    session: &Session,
    options: SubscriptionOptions,
    event: &MessageType,
    mailbox: &Mailbox<DynamicMessage>,
) -> Result<Subscription, Failure> {
    let mailbox = mailbox.clone();
    let post = move |event: DynamicMessage| mailbox.post(event);
    session.node().create_dynamic_subscription(options, event, post).map_err(Failure::run)
}

/// Returns the text of an event. YAML has the name of its kind in place of the number.
fn text(event: &DynamicMessage, format: &FormatOptions) -> String {
    if format.csv {
        return format!("{}\n", format.yaml().csv(event));
    }
    let yaml = format.yaml().text(event);
    // It is the first field of the event's first field.
    let text = match kind(event) {
        Some((number, name)) => yaml.replacen(&format!("event_type: {number}"), &format!("event_type: {name}"), 1),
        None => yaml,
    };
    format!("{text}\n---\n")
}

/// Returns the number and the name of what happened.
fn kind(event: &DynamicMessage) -> Option<(u8, &'static str)> {
    let number = event.get::<u8>("info.event_type").ok()?;
    let name = match number {
        ServiceEventInfo::REQUEST_SENT => "REQUEST_SENT",
        ServiceEventInfo::REQUEST_RECEIVED => "REQUEST_RECEIVED",
        ServiceEventInfo::RESPONSE_SENT => "RESPONSE_SENT",
        ServiceEventInfo::RESPONSE_RECEIVED => "RESPONSE_RECEIVED",
        _ => return None,
    };
    Some((number, name))
}

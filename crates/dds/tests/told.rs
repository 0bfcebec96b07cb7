//! Ends that do not fit: the log says so, once, with what helps.

mod common;

use std::sync::{Mutex, OnceLock, PoisonError};

use common::stranger::Stranger;
use common::{AddRequest, AddTwoInts, Text, context, domain_id, executor, join, wait_until};
use rospin_dds::{PublisherOptions, Qos, Reliability, SubscriptionOptions};
use rospin_testkit::conformance::messages::Number;

/// Keeps the warnings of rospin.
#[derive(Default)]
struct Kept(Mutex<Vec<String>>);

impl Kept {
    /// The warnings so far that have all of these words in them.
    fn with(&self, words: &[&str]) -> Vec<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().filter(|warning| words.iter().all(|word| warning.contains(word))).cloned().collect()
    }
}

impl log::Log for Kept {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target() == "rospin"
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

fn log() -> &'static Kept {
    static LOG: OnceLock<Kept> = OnceLock::new();
    let kept = LOG.get_or_init(Kept::default);
    // The other test may have set the logger.
    let _ = log::set_logger(kept);
    log::set_max_level(log::LevelFilter::Warn);
    kept
}

#[test]
fn a_topic_of_two_types_is_told_of() {
    let (log, id) = (log(), domain_id());
    let (context, _) = context();
    let executor = executor(&context, "main");
    let (here, there) = (join(id).ros(&context), join(id).ros(&context));
    let (talker, listener) = (here.create_node("talker").unwrap(), there.create_node("listener").unwrap());
    let publishers = [(); 2].map(|()| talker.create_publisher::<Text>("two_types").unwrap());
    let group = executor.create_group("listener", ());
    let _subscription = listener.on(&group).create_subscription("two_types", |_: Number| ()).unwrap();
    let told = || {
        let types = "topic `/two_types` has type `std_msgs/msg/Int64` in ";
        log.with(&[types, " and `std_msgs/msg/String` in ", "give both the same type"])
    };
    // Each of the two participants reports the mismatch, as two processes would.
    wait_until(&executor, "both are told", || told().len() >= 2);
    assert_eq!((told().len(), publishers.len()), (2, 2));
}

#[test]
fn quality_of_service_that_does_not_fit_is_told_of() {
    let (log, id) = (log(), domain_id());
    let (context, _) = context();
    let executor = executor(&context, "main");
    let (here, there) = (join(id).ros(&context), join(id).ros(&context));
    let (talker, listener) = (here.create_node("talker").unwrap(), there.create_node("listener").unwrap());
    let mut qos = Qos::keep_last(1);
    qos.reliability = Reliability::BestEffort;
    let publisher = talker.create_publisher::<Text>(PublisherOptions::new("unsure").qos(qos)).unwrap();
    let group = executor.create_group("listener", ());
    let options = SubscriptionOptions::new("unsure").qos(Qos::keep_last(1));
    let _subscription = listener.on(&group).create_subscription(options, |_: Text| ()).unwrap();
    let told = |end: &str| log.with(&[end, "topic `/unsure`", "their reliability differs", "only reliable publishers"]);
    wait_until(&executor, "both are told", || !told("a publisher").is_empty() && !told("a subscription").is_empty());
    assert_eq!((told("a publisher").len(), told("a subscription").len(), publisher.subscription_count()), (1, 1, 0));
}

/// Requests reach all servers, and have one form: those on Cyclone DDS would take the other form for content.
#[test]
fn servers_of_both_forms_are_told_of() {
    let (log, id) = (log(), domain_id());
    let (context, _) = context();
    let executor = executor(&context, "main");
    let (here, there) = (join(id).ros(&context), join(id).ros(&context));
    let (caller, adder) = (here.create_node("caller").unwrap(), there.create_node("adder").unwrap());
    let client = caller.create_client::<AddTwoInts>("both").unwrap();
    let group = executor.create_group("server", ());
    let _server = adder.on(&group).create_service::<AddTwoInts, _, _>("both", AddRequest::add).unwrap();
    wait_until(&executor, "the server is ready", || client.service_is_ready());
    let told = || log.with(&["service `/both`", "servers on Cyclone DDS and on another DDS", "stop one kind"]);
    assert_eq!(told().len(), 0);
    let stranger = Stranger::new(id);
    let service = "example_interfaces::srv::dds_::AddTwoInts";
    let _requests = stranger.reader::<(i64, i64)>("rq/bothRequest", &format!("{service}_Request_"));
    let _responses = stranger.writer(&executor, "rr/bothReply", &format!("{service}_Response_"));
    wait_until(&executor, "it is told", || !told().is_empty());
    assert_eq!(told().len(), 1);
}

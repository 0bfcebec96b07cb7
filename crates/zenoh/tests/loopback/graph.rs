//! Nodes and their entities in the graph: the tokens that tools of ROS 2 read.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rospin_zenoh::zenoh::{self, Wait};
use rospin_zenoh::{
    History, Message, NodeOptions, PublisherOptions, Qos, Reliability, ServiceInterface, Session, SubscriptionOptions,
};

use crate::common::{AddRequest, AddResponse, AddTwoInts, Place, Text, context, executor, guest_options, wait_until};

/// The tokens of a domain, as another session sees them, without its first parts: they are different every time.
fn tokens(stranger: &zenoh::Session) -> BTreeSet<String> {
    let replies = stranger.liveliness().get("@ros2_lv/3/**").wait().unwrap();
    let tokens = replies.into_iter().filter_map(|reply| reply.into_result().ok());
    let rest = |key: &str| key.splitn(6, '/').last().map(str::to_owned);
    tokens.filter_map(|token| rest(token.key_expr().as_str())).collect()
}

#[test]
fn tools_see_nodes_and_what_they_have() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let place = Place::new();
    let guest = place.host();
    let session = Session::open(guest_options(&place.endpoint).domain_id(3)).unwrap();
    let stranger = guest.zenoh();
    let bare = |name| {
        NodeOptions::new(name)
            .start_parameter_services(false)
            .start_type_description_service(false)
            .enable_rosout(false)
    };
    let arm = session.ros(&context).create_node(bare("arm").namespace("/robot")).unwrap();
    let plain = session.ros(&context).create_node(bare("plain")).unwrap();
    let mut everything = Qos::default();
    (everything.reliability, everything.history) = (Reliability::BestEffort, History::KeepAll);
    let group = executor.create_group("group", ());
    let entities = (
        plain.create_publisher::<Text>(PublisherOptions::new("chatter").keep_last(42)).unwrap(),
        plain.create_publisher::<Text>(PublisherOptions::new("latched").keep_last(7).transient_local()).unwrap(),
        arm.on(&group).create_subscription(SubscriptionOptions::new("chatter").qos(everything), |_: Text| ()).unwrap(),
        arm.on(&group).create_service::<AddTwoInts, _>("~/add", |AddRequest { a, b }| AddResponse { sum: a + b }),
        plain.create_client::<AddTwoInts>("/robot/arm/add").unwrap(),
    );
    let text = format!("std_msgs::msg::dds_::String_/{}", Text::TYPE_HASH.unwrap());
    let add = format!("example_interfaces::srv::dds_::AddTwoInts_/{}", AddTwoInts::TYPE_HASH.unwrap());
    let expected: BTreeSet<_> = [
        "NN/%/%robot/arm".to_owned(),
        "NN/%/%/plain".to_owned(),
        format!("MP/%/%/plain/%chatter/{text}/::,:,:,:,,"),
        format!("MP/%/%/plain/%latched/{text}/:1:,7:,:,:,,"),
        format!("MS/%/%robot/arm/%robot%chatter/{text}/2::2,:,:,:,,"),
        format!("SS/%/%robot/arm/%robot%arm%add/{add}/::,10:,:,:,,"),
        format!("SC/%/%/plain/%robot%arm%add/{add}/::,100:,:,:,,"),
    ]
    .into();
    wait_until(&executor, "all is there", || tokens(stranger) == expected);
    drop(entities);
    wait_until(&executor, "only the nodes are left", || {
        tokens(stranger).iter().map(|token| &token[..2]).collect::<Vec<_>>() == ["NN", "NN"]
    });
    drop(arm);
    drop(plain);
    wait_until(&executor, "nothing is left", || tokens(stranger).is_empty());
}

/// Zenoh 1.10 may miss that a token goes while a liveliness subscriber is declared. Its session then keeps the token for
/// ever, so that ends must not declare subscribers of their own.
#[test]
fn nothing_is_left_of_what_went_while_ends_came() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let place = Place::new();
    let host = place.host();
    let node = place.guest().ros(&context).create_node("busy").unwrap();
    let stranger = host.zenoh();
    let token = |number: usize| {
        let hash = Text::TYPE_HASH.unwrap();
        let end = format!("MS/%/%/guest_{number}/%chatter/std_msgs::msg::dds_::String_/{hash}/::,:,:,:,,");
        stranger.liveliness().declare_token(format!("@ros2_lv/0/{}/{number}/1/{end}", stranger.zid())).wait().unwrap()
    };
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let guests = scope.spawn(|| {
            let mut number = 0;
            while !is_over.load(Ordering::Relaxed) {
                let tokens = [(); 8].map(|()| {
                    number += 1;
                    token(number)
                });
                std::thread::sleep(Duration::from_millis(number as u64 % 5));
                drop(tokens);
            }
        });
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(2) {
            let _publisher = node.create_publisher::<Text>("chatter").unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
        is_over.store(true, Ordering::Relaxed);
        guests.join().unwrap();
    });
    let publisher = node.create_publisher::<Text>("chatter").unwrap();
    wait_until(&executor, "nobody is matched", || publisher.subscription_count() == 0);
    wait_until(&executor, "the graph is empty", || node.count_subscriptions("chatter").unwrap() == 0);
}

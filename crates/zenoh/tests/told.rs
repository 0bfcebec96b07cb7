//! Ends of a topic that do not fit: told on both sides, once.

mod common;

use common::{Place, Text, context, executor, wait_until};
use rospin_msgs::std_msgs::msg::UInt8MultiArray;
use rospin_testkit::kept_log::{keep_warnings, warnings_with};
use rospin_zenoh::{Message, PublisherOptions, SubscriptionOptions};

/// A message of the same name as [`Text`], from another version of its package.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct OtherText {
    data: String,
}

impl Message for OtherText {
    const TYPE: &str = Text::TYPE;
    const TYPE_HASH: Option<&str> = Some("RIHS01_0000000000000000000000000000000000000000000000000000000000000001");
}

#[test]
fn ends_that_do_not_fit_are_told_once_on_each_side() {
    keep_warnings();
    let (context, _) = context();
    let executor = executor(&context, "main");
    let (host, guest) = Place::new().both();
    let talker = host.ros(&context).create_node("talker").unwrap();
    let listener = guest.ros(&context).create_node("listener").unwrap();
    let group = executor.create_group("listener", ());
    let _publishers = [(); 2].map(|()| talker.create_publisher::<Text>("words").unwrap());
    let _subscriptions =
        [(); 2].map(|()| listener.on(&group).create_subscription("words", |_: UInt8MultiArray| ()).unwrap());
    let _other = talker.create_publisher::<OtherText>("versions").unwrap();
    let _others = listener.on(&group).create_subscription("versions", |_: Text| ()).unwrap();
    let _volatile = talker.create_publisher::<Text>("kept").unwrap();
    let latched = SubscriptionOptions::new("kept").transient_local();
    let _latched = listener.on(&group).create_subscription(latched, |_: Text| ()).unwrap();
    let _fits = talker.create_publisher::<Text>(PublisherOptions::new("fits").transient_local()).unwrap();
    let _fitting = listener.on(&group).create_subscription("fits", |_: Text| ()).unwrap();
    let told = |topic| warnings_with(&[topic]).len();
    wait_until(&executor, "both sides are told of each", || {
        ["`/words`", "`/versions`", "`/kept`"].iter().all(|topic| told(topic) >= 2)
    });
    // Changes of the graph arrive in order: when the mark is reported, all earlier changes have been.
    let mark = talker.create_publisher::<Text>("mark").unwrap();
    let marked = listener.on(&group).create_subscription("mark", |_: UInt8MultiArray| ()).unwrap();
    wait_until(&executor, "both sides are told of the mark", || told("`/mark`") >= 2);
    assert_eq!(["`/words`", "`/versions`", "`/kept`", "`/fits`"].map(told), [2, 2, 2, 0], "{:?}", warnings_with(&[]));
    let words = warnings_with(&["`/words`"]).remove(0);
    for part in ["`std_msgs/msg/String` in node `/talker`", "`std_msgs/msg/UInt8MultiArray` in node `/listener`"] {
        assert!(words.contains(part), "{words}");
    }
    assert!(warnings_with(&["`/versions`"])[0].contains(OtherText::TYPE_HASH.unwrap()));
    drop((mark, marked));
}

//! Service introspection beside rclpy: what each side publishes, the other one hears.

use std::sync::{Arc, Mutex, PoisonError};

use rospin_node::{Qos, Ros, ServiceEvent, ServiceIntrospectionState, SubscriptionOptions};

use super::Rclpy;
use crate::conformance::messages::{SetBool, Switch, Switched};
use crate::peers::{wait, wait_until};

type Event = ServiceEvent<SetBool>;

/// Returns the event as the script prints those that it hears.
fn as_printed(event: &Event) -> String {
    let mut gid = String::new();
    for byte in event.info.client_gid {
        gid += &format!("{byte:02x}");
    }
    let mut text = format!("event {} {gid} {}", event.info.event_type, event.info.sequence_number);
    for request in &event.request {
        text += if request.data { " True" } else { " False" };
    }
    for response in &event.response {
        text += &format!(" {}", response.message);
    }
    text
}

/// Returns true if all four events of a call are among `events`, with the same client and number and their contents.
fn has_a_call(events: &[Event]) -> bool {
    events.iter().any(|first| {
        (0..4).all(|event_type| {
            events.iter().any(|event| {
                let contents = (event.request.len(), event.response.len());
                event.info.event_type == event_type
                    && event.info.client_gid == first.info.client_gid
                    && event.info.sequence_number == first.info.sequence_number
                    && contents == if event_type < 2 { (1, 0) } else { (0, 1) }
            })
        })
    })
}

/// A client of ROS 2 calls a server of ours, and the other way round. All four ends publish their calls with contents;
/// both sides hear all of them, and both ends of a call name the same client and number.
///
/// # Panics
/// If an event is missing, or is not the same on both sides.
pub fn events_are_told_both_ways(rclpy: &Rclpy, ros: &Ros) {
    let node = ros.create_node("ours").expect("a node");
    let answer = |request: Switch| Switched { success: request.data, message: "done".to_owned() };
    let server = node.create_service("ours", answer).expect("a service");
    let client = node.create_client::<SetBool>("theirs").expect("a client");
    let qos = Qos::keep_last(100);
    server.configure_introspection(qos, ServiceIntrospectionState::Contents).expect("a publisher");
    client.configure_introspection(qos, ServiceIntrospectionState::Contents).expect("another one");
    let listen = |topic: &str| {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&heard);
        let hear = move |event: Event| log.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        let options = SubscriptionOptions::new(topic).keep_last(100);
        (node.create_subscription(options, hear).expect("a subscription"), heard)
    };
    let (_of_ours, ours) = listen("ours/_service_event");
    let (_of_theirs, theirs) = listen("theirs/_service_event");
    let peer = rclpy.start(&["events"]);

    wait_until(ros.executor(), "a call of ours is heard", || {
        has_a_call(&ours.lock().unwrap_or_else(PoisonError::into_inner))
    });
    wait(ros.executor(), "the server of ROS 2 is there", client.wait_for_service());
    let executor = ros.executor().handle();
    wait(ros.executor(), "a call of theirs is heard", async {
        while !has_a_call(&theirs.lock().unwrap_or_else(PoisonError::into_inner)) {
            let response = client.call(Switch { data: true }).await.expect("an answer");
            assert_eq!(response, Switched { success: true, message: "done".to_owned() });
            let pause = executor.sleep(rospin_engine::ClockKind::Steady, std::time::Duration::from_millis(50));
            pause.await.expect("the executor is there");
        }
    });
    // The script hears the events of both ends of our service, as we do.
    wait_until(ros.executor(), "the script has heard the same", || {
        let lines = peer.lines();
        let heard = ours.lock().unwrap_or_else(PoisonError::into_inner);
        let is_printed = |event: &&Event| lines.contains(&as_printed(event));
        let both: Vec<_> = heard.iter().filter(is_printed).cloned().collect();
        has_a_call(&both)
    });
}

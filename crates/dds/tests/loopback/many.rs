//! As many processes on a machine as robots have.

use crate::common::{Text, context, domain_id, executor, join, spin, text, wait};

/// Without multicast, processes find each other at numbered ports.
#[test]
fn the_sixteenth_process_of_a_machine_is_not_deaf() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let id = domain_id();
    let _others: Vec<_> = (0..14).map(|_| join(id)).collect();
    let talker = join(id).ros(&context).create_node("talker").unwrap();
    let listener = join(id).ros(&context).create_node("listener").unwrap();
    let publisher = talker.create_publisher::<Text>("chatter").unwrap();
    let group = executor.create_group("listener", ());
    let handle = executor.handle();
    let subscription = listener.on(&group).create_subscription("chatter", move |_: Text| handle.halt()).unwrap();
    wait(&executor, "the talker knows", publisher.wait_for_subscription());
    wait(&executor, "the listener knows", subscription.wait_for_publisher());
    publisher.publish(text("hello")).unwrap();
    spin(&executor, "it is heard");
}

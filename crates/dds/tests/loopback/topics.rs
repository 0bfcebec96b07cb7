//! Topics within a node, between nodes of one domain, of two, and of two processes.

use std::process::Stdio;

use rospin_dds::{Domain, Node, PublisherOptions, SubscriptionOptions};
use rospin_engine::{Executor, LossCause};

use crate::common::{Text, context, domain_id, executor, join, process_of, spin, text, wait};

const MESSAGES: usize = 50;

/// Publishes, and spins until the listener has heard all, in order.
fn talk(executor: &Executor, talker: &Node, listener: &Node) {
    let publisher = talker.create_publisher::<Text>(PublisherOptions::new("chatter").keep_last(MESSAGES)).unwrap();
    let group = executor.create_group("listener", Vec::new());
    let handle = executor.handle();
    let options = SubscriptionOptions::new("chatter").keep_last(MESSAGES);
    let subscription = listener
        .on(&group)
        .create_subscription(options, move |heard: &mut Vec<String>, message: Text| {
            heard.push(message.data);
            if heard.len() == MESSAGES {
                handle.halt();
            }
        })
        .unwrap();
    wait(executor, "the publisher is matched", publisher.wait_for_subscription());
    wait(executor, "the subscription is matched", subscription.wait_for_publisher());
    assert_eq!((publisher.subscription_count(), subscription.publisher_count()), (1, 1));
    for n in 0..MESSAGES {
        publisher.publish(text(format!("Hello World: {n}"))).unwrap();
    }
    spin(executor, "all is heard");
    assert_eq!(subscription.lost(LossCause::TakeFailed), 0);
    assert_eq!(subscription.name(), "listener/chatter");
    let heard = group.into_payload().unwrap();
    assert_eq!(heard, (0..MESSAGES).map(|n| format!("Hello World: {n}")).collect::<Vec<_>>());
}

#[test]
fn two_nodes_of_one_domain_talk() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let domain = join(domain_id());
    talk(
        &executor,
        &domain.ros(&context).create_node("talker").unwrap(),
        &domain.ros(&context).create_node("listener").unwrap(),
    );
}

#[test]
fn a_node_talks_to_itself_from_inside_a_callback() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = join(domain_id()).ros(&context).create_node("echo").unwrap();
    let publisher = node.create_publisher::<Text>("chatter").unwrap();
    let group = executor.create_group("echo", 0);
    let handle = executor.handle();
    let again = publisher.clone();
    let subscription = node
        .on(&group)
        .create_subscription("chatter", move |heard: &mut usize, message: Text| {
            assert_eq!(message.data, heard.to_string());
            *heard += 1;
            if *heard == MESSAGES {
                handle.halt();
            } else {
                again.publish(text(heard.to_string())).unwrap();
            }
        })
        .unwrap();
    wait(&executor, "the publisher is matched", publisher.wait_for_subscription());
    wait(&executor, "the subscription is matched", subscription.wait_for_publisher());
    publisher.publish(text("0")).unwrap();
    spin(&executor, "all is heard");
}

#[test]
fn two_domains_of_one_number_talk() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let id = domain_id();
    let one = join(id);
    let other = join(id);
    talk(
        &executor,
        &one.ros(&context).create_node("talker").unwrap(),
        &other.ros(&context).create_node("listener").unwrap(),
    );
}

#[test]
fn messages_that_the_queue_drops_are_counted() {
    let (context, _) = context();
    let main = executor(&context, "main");
    let slow = executor(&context, "slow");
    let domain = join(domain_id());
    let node = domain.ros(&context).create_node("robot").unwrap();
    let publisher = node.create_publisher::<Text>(PublisherOptions::new("chatter").keep_last(1000)).unwrap();
    let group = slow.create_group("slow", Vec::new());
    let handle = slow.handle();
    let subscription = node
        .on(&group)
        .create_subscription(SubscriptionOptions::new("chatter").keep_last(5), {
            move |heard: &mut Vec<String>, message: Text| {
                if message.data == "first" || message.data == "99" {
                    handle.halt();
                }
                heard.push(message.data);
            }
        })
        .unwrap();
    let all_acknowledged = node.create_publisher::<Text>("chatter_end").unwrap();
    let group_of_end = main.create_group("end", ());
    let handle = main.handle();
    let end = node.on(&group_of_end).create_subscription("chatter_end", move |_: Text| handle.halt()).unwrap();
    for publisher in [&publisher, &all_acknowledged] {
        wait(&main, "a publisher is matched", publisher.wait_for_subscription());
    }
    for subscription in [&subscription, &end] {
        wait(&main, "a subscription is matched", subscription.wait_for_publisher());
    }
    publisher.publish(text("first")).unwrap();
    spin(&slow, "the first one is heard");
    for n in 0..100 {
        publisher.publish(text(n.to_string())).unwrap();
    }
    // This message takes the same way from the same sender. When it arrives, the others are in the queue.
    all_acknowledged.publish(text("")).unwrap();
    spin(&main, "all have arrived");
    spin(&slow, "the last one is heard");
    let heard = group.into_payload().unwrap();
    assert_eq!(heard.len() as u64 + subscription.missed(), 101, "{heard:?}");
    // The last five messages fill the queue. A few earlier ones were taken while the others arrived.
    let (before, last) = heard.split_last_chunk::<5>().unwrap();
    assert_eq!(last.each_ref().map(String::as_str), ["95", "96", "97", "98", "99"]);
    assert!(before.len() <= 1 + 100 / 16, "{heard:?}");
}

/// The domain that the other process of [`two_processes_talk`] is to join.
const PEER_DOMAIN: &str = "ROSPIN_TEST_PEER_DOMAIN";

#[test]
fn two_processes_talk() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let id = domain_id();
    let node = join(id).ros(&context).create_node("listener").unwrap();
    let group = executor.create_group("listener", Vec::new());
    let echo = node.create_publisher::<Text>("echo").unwrap();
    let handle = executor.handle();
    let _subscription = node
        .on(&group)
        .create_subscription("chatter", move |heard: &mut Vec<String>, message: Text| {
            heard.push(message.data.clone());
            echo.publish(message).unwrap();
            if heard.len() == MESSAGES {
                handle.halt();
            }
        })
        .unwrap();

    let mut peer = process_of(module_path!(), "the_other_process")
        .env(PEER_DOMAIN, id.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    spin(&executor, "the other process has talked");
    assert!(peer.wait().unwrap().success(), "the other process heard its echo");
    let heard = group.into_payload().unwrap();
    assert_eq!(heard, (0..MESSAGES).map(|n| format!("from afar: {n}")).collect::<Vec<_>>());
}

/// The part of the other process in [`two_processes_talk`]; without it, nothing.
#[test]
fn the_other_process() {
    let Ok(id) = std::env::var(PEER_DOMAIN) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let domain: Domain = join(id.parse().unwrap());
    let node = domain.ros(&context).create_node("talker").unwrap();
    let publisher = node.create_publisher::<Text>("chatter").unwrap();
    let group = executor.create_group("echo", 0);
    let handle = executor.handle();
    let next = publisher.clone();
    let subscription = node
        .on(&group)
        .create_subscription("echo", move |heard: &mut usize, message: Text| {
            assert_eq!(message.data, format!("from afar: {heard}"));
            *heard += 1;
            if *heard == MESSAGES {
                handle.halt();
            } else {
                next.publish(text(format!("from afar: {heard}"))).unwrap();
            }
        })
        .unwrap();
    wait(&executor, "the publisher is matched", publisher.wait_for_subscription());
    wait(&executor, "the subscription is matched", subscription.wait_for_publisher());
    publisher.publish(text("from afar: 0")).unwrap();
    spin(&executor, "the echo is heard");
    // The library's threads acknowledge the messages that are on their way, and end with the process.
    assert_eq!(group.into_payload().unwrap(), MESSAGES);
}

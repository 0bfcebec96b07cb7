//! Mismatches: two ends of one topic or service that cannot communicate. Each is logged once, with the difference and
//! the fix.
//!
//! The graph has all ends of a topic, so they are compared here, for every middleware: their types, and their quality
//! of service where the middleware does not report it.

use std::time::Duration;

use super::{Endpoint, EndpointKind};
use crate::qos::{Durability, Reliability};

/// The conditions under which a middleware connects two ends of one name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Matching {
    /// The same type by name, and a quality of service that fits. The middleware itself reports one that does not fit.
    #[default]
    ByName,
    /// The same type by name and hash, whatever the quality of service.
    ByHash,
}

/// Effect of most mismatches, in the text of the log.
const DEAF: &str = "the two hear nothing of each other";

/// A mismatch: the matter, which is logged once, and the text for the log.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Mismatch {
    pub(super) matter: String,
    pub(super) text: String,
}

/// Returns the mismatch of two ends, or `None` if they fit or are not two ends of one topic or service.
///
/// If both ends are of this process (`both_ours`), their quality of service is compared here, too: they are connected
/// without the middleware, which reports nothing about them.
pub(super) fn find(one: &Endpoint, other: &Endpoint, matching: Matching, both_ours: bool) -> Option<Mismatch> {
    if one.name != other.name {
        return None;
    }
    // `asks` is the end that demands quality of service, `offers` the end that offers it.
    let (kind, asks, offers) = match (one.kind, other.kind) {
        (EndpointKind::Subscription, EndpointKind::Publisher) => ("topic", one, other),
        (EndpointKind::Publisher, EndpointKind::Subscription) => ("topic", other, one),
        (EndpointKind::Client, EndpointKind::Server) => ("service", one, other),
        (EndpointKind::Server, EndpointKind::Client) => ("service", other, one),
        _ => return None,
    };
    let (difference, text) = of_types(kind, asks, offers, matching)
        .or_else(|| if matching == Matching::ByHash || both_ours { of_qos(asks, offers, matching) } else { None })?;
    Some(Mismatch {
        matter: format!("{kind} {}: {difference}", one.name),
        text: format!("{kind} `{}` {text}", one.name),
    })
}

/// Returns the end's node, for the text of the log.
fn owner(end: &Endpoint) -> String {
    end.node.as_ref().map_or_else(|| "a node that is not known".to_owned(), |node| format!("node `{node}`"))
}

/// Returns the difference of the two ends' types or hashes, and the text for the log; `None` if there is none that
/// matters. `kind` is `topic` or `service`.
fn of_types(kind: &str, asks: &Endpoint, offers: &Endpoint, matching: Matching) -> Option<(String, String)> {
    let nodes = (owner(asks), owner(offers));
    if asks.type_name != offers.type_name {
        let one = &asks.type_name;
        let other = &offers.type_name;
        let text =
            format!("has type `{one}` in {} and `{other}` in {}: {DEAF}; give both the same type", nodes.0, nodes.1);
        return Some((format!("{one}, {other}"), text));
    }
    let effect = match (matching, &asks.type_hash, &offers.type_hash) {
        (_, one, other) if one == other => return None,
        (Matching::ByHash, ..) => DEAF,
        // Not all implementations over DDS announce hashes, and they disagree on the hash of a service.
        (Matching::ByName, Some(_), Some(_)) if kind == "topic" => "messages may be misread",
        (Matching::ByName, ..) => return None,
    };
    let fix = match (&asks.type_hash, &offers.type_hash) {
        (Some(_), Some(_)) => "build both from the same definition",
        _ => {
            "types of Humble have no hash and those of later distributions have one, so build both for the same distribution"
        }
    };
    let hash = |end: &Endpoint| end.type_hash.clone().unwrap_or_else(|| "none".to_owned());
    let one = hash(asks);
    let other = hash(offers);
    let text = format!(
        "has type `{}` in {} and {}, but in different versions (type hashes {one} and {other}): {effect}; {fix}",
        asks.type_name, nodes.0, nodes.1
    );
    Some((format!("{one}, {other}"), text))
}

/// Returns the first policy by which `offers` does not offer all that `asks` demands, and the text for the log; `None`
/// if there is none. By the rules of DDS this keeps the two apart. Where ends are matched by hash, only durability and
/// reliability are compared, because the two communicate nevertheless.
fn of_qos(asks: &Endpoint, offers: &Endpoint, matching: Matching) -> Option<(String, String)> {
    if asks.kind != EndpointKind::Subscription {
        return None;
    }
    let subscription = owner(asks);
    let publisher = owner(offers);
    let (what, text) = if (asks.durability, offers.durability)
        == (Some(Durability::TransientLocal), Some(Durability::Volatile))
    {
        let effect = match matching {
            Matching::ByHash => "what was published before the subscription came is not heard",
            Matching::ByName => DEAF,
        };
        let text = format!(
            "has a transient local subscription in {subscription} and a volatile publisher in {publisher}: {effect}; make the \
             publisher transient local"
        );
        ("durability", text)
    } else if (asks.reliability, offers.reliability) == (Some(Reliability::Reliable), Some(Reliability::BestEffort)) {
        let effect = match matching {
            Matching::ByHash => "what the network loses is not sent again",
            Matching::ByName => DEAF,
        };
        let text = format!(
            "has a reliable subscription in {subscription} and a best-effort publisher in {publisher}: {effect}; make the publisher \
             reliable, or the subscription best-effort"
        );
        ("reliability", text)
    } else if matching == Matching::ByName && limit(offers.deadline) > limit(asks.deadline) {
        let text = format!(
            "has a subscription with a deadline of {:?} in {subscription} and a publisher with {} in {publisher}: {DEAF}; give the \
             publisher a deadline that is as short",
            limit(asks.deadline),
            offers.deadline.map_or_else(|| "none".to_owned(), |deadline| format!("{deadline:?}")),
        );
        ("deadline", text)
    } else if matching == Matching::ByName
        && (offers.liveliness < asks.liveliness
            || limit(offers.liveliness_lease_duration) > limit(asks.liveliness_lease_duration))
    {
        let text = format!(
            "has a subscription in {subscription} that requests more signs of life than the publisher in {publisher} gives: {DEAF}; \
             give the publisher the same liveliness"
        );
        ("liveliness", text)
    } else {
        return None;
    };
    Some((what.to_owned(), text))
}

/// Returns the time, or the longest one if there is no limit.
fn limit(time: Option<Duration>) -> Duration {
    time.unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(kind: EndpointKind, type_name: &str, hash: Option<&str>) -> Endpoint {
        let mut end = Endpoint::new(kind, "/a", type_name);
        (end.type_hash, end.node) = (hash.map(str::to_owned), Some(format!("/{kind:?}").to_lowercase()));
        end
    }

    fn text(one: &Endpoint, other: &Endpoint, matching: Matching) -> Option<String> {
        let found = find(one, other, matching, false);
        // The result does not depend on the order of the ends.
        assert_eq!(find(other, one, matching, false), found);
        found.map(|mismatch| mismatch.text)
    }

    #[test]
    fn types_that_differ_are_told_with_both_ends() {
        let publisher = end(EndpointKind::Publisher, "p/msg/A", Some("1"));
        let subscription = end(EndpointKind::Subscription, "p/msg/B", Some("2"));
        for matching in [Matching::ByName, Matching::ByHash] {
            let told = text(&publisher, &subscription, matching).unwrap();
            assert!(
                told.starts_with("topic `/a` has type `p/msg/B` in node `/subscription` and `p/msg/A` in node"),
                "{told}"
            );
            assert_eq!(text(&publisher, &end(EndpointKind::Subscription, "p/msg/A", Some("1")), matching), None);
            assert_eq!(text(&publisher, &end(EndpointKind::Publisher, "p/msg/B", None), matching), None);
            assert_eq!(text(&publisher, &end(EndpointKind::Server, "p/msg/B", None), matching), None);
        }
        let elsewhere = Endpoint { name: "/b".to_owned(), ..subscription };
        assert_eq!(text(&publisher, &elsewhere, Matching::ByName), None);
    }

    #[test]
    fn hashes_that_differ_are_told_where_they_keep_apart() {
        let (server, client) =
            (end(EndpointKind::Server, "p/srv/A", Some("1")), end(EndpointKind::Client, "p/srv/A", None));
        assert_eq!(text(&server, &client, Matching::ByName), None);
        let told = text(&server, &client, Matching::ByHash).unwrap();
        assert!(told.contains("(type hashes none and 1)") && told.ends_with("for the same distribution"), "{told}");
        let publisher = end(EndpointKind::Publisher, "p/msg/A", Some("1"));
        let subscription = end(EndpointKind::Subscription, "p/msg/A", Some("2"));
        let told = text(&publisher, &subscription, Matching::ByName).unwrap();
        assert!(told.contains("(type hashes 2 and 1): messages may be misread"), "{told}");
    }

    #[test]
    fn a_quality_of_service_that_falls_short_is_told_where_the_middleware_does_not() {
        let mut publisher = end(EndpointKind::Publisher, "p/msg/A", None);
        let mut subscription = end(EndpointKind::Subscription, "p/msg/A", None);
        (publisher.durability, subscription.durability) =
            (Some(Durability::Volatile), Some(Durability::TransientLocal));
        assert_eq!(text(&publisher, &subscription, Matching::ByName), None);
        let told = find(&publisher, &subscription, Matching::ByName, true).unwrap().text;
        assert!(told.ends_with("hear nothing of each other; make the publisher transient local"), "{told}");
        assert!(
            text(&publisher, &subscription, Matching::ByHash).unwrap().contains("make the publisher transient local")
        );
        publisher.durability = Some(Durability::TransientLocal);
        assert_eq!(text(&publisher, &subscription, Matching::ByHash), None);
        (publisher.reliability, subscription.reliability) =
            (Some(Reliability::BestEffort), Some(Reliability::Reliable));
        assert!(text(&publisher, &subscription, Matching::ByHash).unwrap().contains("not sent again"));
        subscription.reliability = Some(Reliability::BestEffort);
        assert_eq!(text(&publisher, &subscription, Matching::ByHash), None);
        subscription.deadline = Some(Duration::from_millis(100));
        let told = find(&publisher, &subscription, Matching::ByName, true).unwrap().text;
        assert!(told.contains("a deadline of 100ms") && told.contains("a publisher with none"), "{told}");
        assert_eq!(text(&publisher, &subscription, Matching::ByHash), None);
        publisher.deadline = subscription.deadline;
        subscription.liveliness_lease_duration = Some(Duration::from_millis(100));
        let told = find(&publisher, &subscription, Matching::ByName, true).unwrap().text;
        assert!(told.ends_with("give the publisher the same liveliness"), "{told}");
        publisher.liveliness_lease_duration = subscription.liveliness_lease_duration;
        assert_eq!(find(&publisher, &subscription, Matching::ByName, true), None);
    }
}

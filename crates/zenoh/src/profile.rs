//! Qualities of service as tokens have them: `[reliability]:[durability]:[history],[depth]:[deadline]:[lifespan]:` and
//! `[liveliness],[lease]`, where a duration is `[seconds],[nanoseconds]`. A part that is as usual is empty.

use std::time::Duration;

use rospin_node::{Durability, Endpoint, History, Liveliness, Qos, Reliability};

/// Seconds and nanoseconds of a duration that is no limit: as many nanoseconds as an `i64` can have.
const NO_LIMIT: (u64, u64) = (9_223_372_036, 854_775_807);

/// Depth for which `rmw_zenoh_cpp` writes nothing.
const USUAL_DEPTH: usize = 42;

/// Returns a quality of service as tokens have it.
pub(crate) fn encode(qos: &Qos) -> String {
    let reliability = match qos.reliability {
        Reliability::Reliable => "",
        Reliability::BestEffort => "2",
    };
    let durability = match qos.durability {
        Durability::Volatile => "",
        Durability::TransientLocal => "1",
    };
    let history = match qos.history {
        History::KeepLast(USUAL_DEPTH) => ",".to_owned(),
        History::KeepLast(depth) => format!(",{depth}"),
        History::KeepAll => "2,".to_owned(),
    };
    let liveliness = match qos.liveliness {
        Liveliness::Automatic => "",
        Liveliness::ManualByTopic => "3",
    };
    let deadline = limit(qos.deadline());
    let lifespan = limit(qos.lifespan());
    let lease = limit(qos.liveliness_lease());
    format!("{reliability}:{durability}:{history}:{deadline}:{lifespan}:{liveliness},{lease}")
}

fn limit(limit: Option<Duration>) -> String {
    let (seconds, nanoseconds) = limit.map_or(NO_LIMIT, |limit| (limit.as_secs(), u64::from(limit.subsec_nanos())));
    let part = |value: u64, usual: u64| if value == usual { String::new() } else { value.to_string() };
    format!("{},{}", part(seconds, NO_LIMIT.0), part(nanoseconds, NO_LIMIT.1))
}

/// Sets the quality of service of an endpoint from the text in its token. A text that cannot be read changes nothing.
pub(crate) fn decode(text: &str, endpoint: &mut Endpoint) {
    if let Some(described) = described(text, endpoint.clone()) {
        *endpoint = described;
    }
}

fn described(text: &str, mut endpoint: Endpoint) -> Option<Endpoint> {
    let parts: Vec<&str> = text.split(':').collect();
    let [reliability, durability, history, ..] = parts[..] else { return None };
    // A token with three parts has no durations. They are as usual then, and so is what is empty.
    let part = |index: usize, usual| parts.get(index).copied().filter(|part| !part.is_empty()).unwrap_or(usual);
    endpoint.reliability = Some(match reliability {
        "" | "0" | "1" => Reliability::Reliable,
        "2" => Reliability::BestEffort,
        _ => return None,
    });
    endpoint.durability = Some(match durability {
        "" | "0" | "2" => Durability::Volatile,
        "1" => Durability::TransientLocal,
        _ => return None,
    });
    let history = if history.is_empty() && parts.len() >= 6 { "," } else { history };
    endpoint.history = Some(match history.split_once(',')? {
        ("" | "0" | "1", depth) => match number(depth, 0)? {
            0 => History::KeepLast(USUAL_DEPTH),
            depth => History::KeepLast(usize::try_from(depth).ok()?),
        },
        ("2", _) => History::KeepAll,
        _ => return None,
    });
    endpoint.deadline = duration(part(3, ","))?;
    endpoint.lifespan = duration(part(4, ","))?;
    let (liveliness, lease) = part(5, ",,").split_once(',')?;
    endpoint.liveliness = Some(match liveliness {
        "" | "0" | "1" => Liveliness::Automatic,
        // 2 was manual by node, which ROS 2 gave up.
        "2" | "3" => Liveliness::ManualByTopic,
        _ => return None,
    });
    endpoint.liveliness_lease_duration = duration(lease)?;
    Some(endpoint)
}

/// Reads a duration, which is `None` inside if it is no limit. Returns `None` for another text.
#[expect(clippy::option_option, reason = "a text that is none, and a duration that is no limit")]
fn duration(text: &str) -> Option<Option<Duration>> {
    let (seconds, nanoseconds) = text.split_once(',')?;
    let given = (number(seconds, NO_LIMIT.0)?, number(nanoseconds, NO_LIMIT.1)?);
    if given == NO_LIMIT {
        return Some(None);
    }
    // The nanoseconds of a token may be more than a second.
    Some(Some(Duration::from_secs(given.0).saturating_add(Duration::from_nanos(given.1))))
}

/// Reads a number. An empty text stands for `usual`. Returns `None` for a text that is no number.
fn number(text: &str, usual: u64) -> Option<u64> {
    if text.is_empty() { Some(usual) } else { text.parse().ok() }
}

#[cfg(test)]
mod tests {
    use rospin_node::EndpointKind;

    use super::*;

    fn read(text: &str) -> Endpoint {
        let mut endpoint = Endpoint::new(EndpointKind::Publisher, "/topic", "std_msgs/msg/String");
        decode(text, &mut endpoint);
        endpoint
    }

    /// Returns a quality of service that is unusual in each part but the lifespan.
    fn strict() -> Qos {
        let mut qos = Qos::default();
        qos.reliability = Reliability::BestEffort;
        qos.durability = Durability::TransientLocal;
        qos.history = History::KeepLast(7);
        qos.deadline = Some(Duration::from_millis(20));
        qos.liveliness = Liveliness::ManualByTopic;
        qos.liveliness_lease_duration = Some(Duration::from_secs(2));
        qos
    }

    #[test]
    fn texts_are_those_of_rmw_zenoh() {
        let mut qos = Qos::default();
        qos.history = History::KeepLast(10);
        assert_eq!(encode(&qos), "::,10:,:,:,,");
        qos.history = History::KeepLast(42);
        assert_eq!(encode(&qos), "::,:,:,:,,");
        let mut all = strict();
        all.history = History::KeepAll;
        all.deadline = Some(Duration::from_millis(1500));
        all.lifespan = Some(Duration::from_nanos(854_775_807));
        all.liveliness_lease_duration = Some(Duration::from_secs(9_223_372_036));
        assert_eq!(encode(&all), "2:1:2,:1,500000000:0,:3,,0");
    }

    #[test]
    fn what_was_written_is_read() {
        let all = strict();
        let endpoint = read(&encode(&all));
        assert_eq!(endpoint.reliability, Some(all.reliability));
        assert_eq!(endpoint.durability, Some(all.durability));
        assert_eq!(endpoint.history, Some(all.history));
        assert_eq!(endpoint.deadline, all.deadline);
        assert_eq!(endpoint.lifespan, None);
        assert_eq!(endpoint.liveliness, Some(all.liveliness));
        assert_eq!(endpoint.liveliness_lease_duration, all.liveliness_lease_duration);
    }

    #[test]
    fn what_is_left_out_is_as_usual() {
        for text in ["::,", ":::::", "0:0:0,0", "1:2:1,42:,:,:1,,"] {
            let endpoint = read(text);
            assert_eq!(endpoint.reliability, Some(Reliability::Reliable), "{text}");
            assert_eq!(endpoint.durability, Some(Durability::Volatile), "{text}");
            assert_eq!(endpoint.history, Some(History::KeepLast(42)), "{text}");
            assert_eq!((endpoint.deadline, endpoint.liveliness_lease_duration), (None, None), "{text}");
        }
        let nanoseconds = read("::,1:0,2000000001:,:,,").deadline;
        assert_eq!(nanoseconds, Some(Duration::new(2, 1)));
    }

    #[test]
    fn other_texts_say_nothing() {
        for text in ["", "::", "3::,", ":3:,", "::x,", "::,x", "::,1:1", "::,1:x,", "::,1:,:,:4,,", "::,1:,:,:1,"] {
            let endpoint = read(text);
            assert_eq!((endpoint.reliability, endpoint.history, endpoint.liveliness), (None, None, None), "{text}");
        }
    }
}

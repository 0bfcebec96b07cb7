//! The kernel's scheduling of a thread as text: `{ fifo = 20 }`.

use std::time::Duration;

use rospin_core::OsScheduling;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text;

/// Forms of a scheduling, for errors.
const ONE_OF: &str = "one of { nice = .. }, { fifo = .. }, { round-robin = .. }, { deadline = .. }";

/// Text of a thread's scheduling: `{ nice = -5 }`, `{ fifo = 20 }`, `{ round-robin = 20 }` or
/// `{ deadline = { runtime = "1 ms", deadline = "5 ms", period = "10 ms" } }`. Numbers have wide types, so that the
/// check can say which range is allowed.
#[derive(Default, Serialize, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    rename_all = "kebab-case",
    expecting = "one of { nice = .. }, { fifo = .. }, { round-robin = .. }, { deadline = .. }"
)]
struct SchedulingText {
    #[serde(skip_serializing_if = "Option::is_none")]
    nice: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fifo: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    round_robin: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<Reservation>,
}

/// Text of a reservation of processor time, `SCHED_DEADLINE`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a runtime, a deadline and a period")]
struct Reservation {
    #[serde(with = "text::duration")]
    runtime: Duration,
    #[serde(with = "text::duration")]
    deadline: Duration,
    #[serde(with = "text::duration")]
    period: Duration,
}

#[expect(clippy::ref_option, reason = "serde wants a reference")]
pub(super) fn serialize<S: Serializer>(value: &Option<OsScheduling>, serializer: S) -> Result<S::Ok, S::Error> {
    let mut text = SchedulingText::default();
    match *value {
        None => return serializer.serialize_none(),
        Some(OsScheduling::Other { nice }) => text.nice = Some(nice.into()),
        Some(OsScheduling::Fifo { priority }) => text.fifo = Some(priority.into()),
        Some(OsScheduling::RoundRobin { priority }) => text.round_robin = Some(priority.into()),
        Some(OsScheduling::Deadline { runtime, deadline, period }) => {
            text.deadline = Some(Reservation { runtime, deadline, period });
        }
        Some(other) => return Err(serde::ser::Error::custom(format_args!("there is no text for {other:?}"))),
    }
    text.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<OsScheduling>, D::Error> {
    let SchedulingText { nice, fifo, round_robin, deadline } = SchedulingText::deserialize(deserializer)?;
    let priority = |priority: i64| {
        let error = || format!("a real-time priority of {priority} does not exist; give one from 1 to 99");
        u8::try_from(priority).map_err(|_| D::Error::custom(error()))
    };
    let scheduling = match (nice, fifo, round_robin, deadline) {
        (Some(nice), None, None, None) => {
            let error = || format!("a niceness of {nice} does not exist; give one from -20 to 19");
            OsScheduling::Other { nice: i8::try_from(nice).map_err(|_| D::Error::custom(error()))? }
        }
        (None, Some(fifo), None, None) => OsScheduling::Fifo { priority: priority(fifo)? },
        (None, None, Some(turns), None) => OsScheduling::RoundRobin { priority: priority(turns)? },
        (None, None, None, Some(Reservation { runtime, deadline, period })) => {
            OsScheduling::Deadline { runtime, deadline, period }
        }
        (None, None, None, None) => return Err(D::Error::custom(format_args!("nothing is given; give {ONE_OF}"))),
        _ => return Err(D::Error::custom(format_args!("a thread has one scheduling; give {ONE_OF}"))),
    };
    scheduling.check().map_err(D::Error::custom)?;
    Ok(Some(scheduling))
}

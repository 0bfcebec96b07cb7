//! How the kernel schedules a thread, as text: `{ fifo = 20 }`.

use std::time::Duration;

use rospin_core::OsScheduling;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text;

/// `{ nice = -5 }`, `{ fifo = 20 }`, `{ round-robin = 20 }` or
/// `{ deadline = { runtime = "1 ms", deadline = "5 ms", period = "10 ms" } }`.
#[derive(Serialize, Deserialize)]
#[serde(
    rename_all = "kebab-case",
    expecting = "one of { nice = .. }, { fifo = .. }, { round-robin = .. }, { deadline = .. }"
)]
enum SchedulingText {
    Nice(i8),
    Fifo(u8),
    RoundRobin(u8),
    Deadline(Reservation),
}

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
    let text = match *value {
        None => return serializer.serialize_none(),
        Some(OsScheduling::Other { nice }) => SchedulingText::Nice(nice),
        Some(OsScheduling::Fifo { priority }) => SchedulingText::Fifo(priority),
        Some(OsScheduling::RoundRobin { priority }) => SchedulingText::RoundRobin(priority),
        Some(OsScheduling::Deadline { runtime, deadline, period }) => {
            SchedulingText::Deadline(Reservation { runtime, deadline, period })
        }
        Some(other) => return Err(serde::ser::Error::custom(format_args!("there is no text for {other:?}"))),
    };
    text.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<OsScheduling>, D::Error> {
    let scheduling = match SchedulingText::deserialize(deserializer)? {
        SchedulingText::Nice(nice) => OsScheduling::Other { nice },
        SchedulingText::Fifo(priority) => OsScheduling::Fifo { priority },
        SchedulingText::RoundRobin(priority) => OsScheduling::RoundRobin { priority },
        SchedulingText::Deadline(Reservation { runtime, deadline, period }) => {
            OsScheduling::Deadline { runtime, deadline, period }
        }
    };
    scheduling.check().map_err(serde::de::Error::custom)?;
    Ok(Some(scheduling))
}

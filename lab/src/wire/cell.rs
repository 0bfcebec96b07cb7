//! Cells of the table: a place of the two ends, a size of messages, a middleware, and a contender.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::middleware::Middleware;

/// Largest number of bytes of all messages that are under way together, unless two messages have more.
const UNDER_WAY_BYTES: usize = 64 << 20;
/// Largest number of messages that are under way together.
const UNDER_WAY: usize = 100;

/// Places of the two ends of a wire.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Place {
    /// Both in one process; messages go one way
    Process,
    /// In two processes of this machine; messages go there and back
    Processes,
    /// On two hosts, which are network namespaces; there and back. Needs root and `ip`
    Hosts,
    /// In two processes of this machine, one way, as fast as messages can be published; keep last 1000
    Flood,
    /// The same, and both ends keep all messages
    KeepAll,
    /// The other end is the node that --peer starts; there and back
    #[value(skip)]
    Peer,
}

impl Place {
    /// The places that this program can measure by itself.
    pub(crate) const OWN: [Self; 5] = [Self::Process, Self::Processes, Self::Hosts, Self::Flood, Self::KeepAll];

    /// Returns the place's name in tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Process => "one process",
            Self::Processes => "two processes",
            Self::Hosts => "two hosts",
            Self::Flood => "flood",
            Self::KeepAll => "flood, keep all",
            Self::Peer => "peer",
        }
    }

    /// Returns true if messages go to the other end and back.
    pub(crate) const fn is_round_trip(self) -> bool {
        matches!(self, Self::Processes | Self::Hosts | Self::Peer)
    }

    /// Returns true if messages are published as fast as possible, and not at a rate that the ends can follow.
    pub(crate) const fn is_flood(self) -> bool {
        matches!(self, Self::Flood | Self::KeepAll)
    }

    /// Returns true if both ends keep all messages, and not the last 1000.
    pub(crate) const fn keeps_all(self) -> bool {
        matches!(self, Self::KeepAll)
    }
}

/// Contender that sends and listens.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Contender {
    /// Nodes whose callbacks run on an executor's thread
    Rospin,
    /// The middleware as it is, with a listener and a thread: the limit
    Bare,
}

impl Contender {
    /// Both contenders.
    pub(crate) const ALL: [Self; 2] = [Self::Rospin, Self::Bare];

    /// Returns the contender's name in tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Rospin => "rospin",
            Self::Bare => "bare",
        }
    }
}

/// A message's size in bytes.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub(crate) struct Size(pub(crate) usize);

impl Size {
    /// Default sizes of messages.
    pub(crate) const ALL: [Self; 5] = [Self(0), Self(4 << 10), Self(64 << 10), Self(1 << 20), Self(10 << 20)];

    /// Returns the largest number of messages of this size that may be under way together.
    pub(crate) fn under_way(self) -> u64 {
        (UNDER_WAY_BYTES / self.0.max(1)).clamp(2, UNDER_WAY) as u64
    }

    /// Returns the period at which messages of this size are sent to measure latency. It is about as short as robots
    /// have it, but long enough for a machine to keep up.
    pub(crate) const fn period(self, place: Place) -> Duration {
        let one_way_us = match self.0 {
            0..=16_384 => 100,
            16_385..=262_144 => 1_000,
            262_145..=2_097_152 => 10_000,
            _ => 100_000,
        };
        // A round trip takes longer, and a second process needs its share of the cores.
        let is_small = self.0 <= 16_384;
        Duration::from_micros(match place {
            Place::Process => one_way_us,
            _ if is_small => 1_000,
            _ => one_way_us * 2,
        })
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => write!(f, "{} MiB", bytes >> 20),
            bytes if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => write!(f, "{} KiB", bytes >> 10),
            bytes => write!(f, "{bytes} B"),
        }
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim().to_ascii_lowercase();
        let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
        let factor = match unit.trim() {
            "" | "b" => 1,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            _ => 0,
        };
        let bytes = digits.parse::<usize>().ok().and_then(|number| number.checked_mul(factor));
        bytes
            .filter(|bytes| factor > 0 && *bytes <= 64 << 20)
            .map(Self)
            .ok_or_else(|| "give sizes up to 64 MiB such as 0, 4KiB or 1MiB".to_owned())
    }
}

/// A setting that is measured.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Cell {
    /// The places of the two ends.
    pub(crate) place: Place,
    /// The size of messages.
    pub(crate) size: Size,
    /// The middleware between the ends.
    pub(crate) middleware: Middleware,
    /// Contender that sends and listens.
    pub(crate) contender: Contender,
}

impl Cell {
    /// Returns true if the cell can be measured. In process, there is no middleware without rospin, and no other
    /// process.
    pub(crate) const fn makes_sense(self) -> bool {
        match self.middleware {
            Middleware::InProcess => {
                matches!(self.contender, Contender::Rospin) && matches!(self.place, Place::Process)
            }
            Middleware::Dds | Middleware::Zenoh => true,
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, size, middleware, contender } = self;
        write!(f, "{}, {size}, {}, {}", place.name(), middleware.name(), contender.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_written() {
        for size in Size::ALL {
            assert_eq!(size.to_string().replace(' ', "").parse(), Ok(size));
        }
        assert_eq!("4k".parse(), Ok(Size(4096)));
        for wrong in ["", "x", "-1", "1GiB", "65MiB"] {
            assert!(wrong.parse::<Size>().unwrap_err().contains("such as"), "{wrong}");
        }
    }

    #[test]
    fn large_messages_are_fewer_under_way() {
        assert_eq!(Size::ALL.map(Size::under_way), [100, 100, 100, 64, 6]);
    }
}

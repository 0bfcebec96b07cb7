//! Implementations of DDS.

use std::time::Duration;

use crate::cyclone::Guid;

/// Implementation of DDS. The first two bytes of every id identify it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Vendor([u8; 2]);

impl Vendor {
    pub(crate) const CYCLONE: Self = Self([1, 16]);
    const FAST: Self = Self([1, 15]);

    /// Returns the time after which a reader that was matched and has not answered counts as listening. Cyclone DDS
    /// always answers, if late when its process gets no processor time. Some other implementations never do.
    pub(crate) fn patience(self) -> Duration {
        if self == Self::CYCLONE { Duration::from_secs(10) } else { Duration::from_secs(1) }
    }

    /// Returns the implementation that made a reader, writer or participant with this id.
    pub(crate) const fn of(id: &Guid) -> Self {
        Self([id[0], id[1]])
    }
}

impl std::fmt::Display for Vendor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::CYCLONE => f.write_str("Cyclone DDS"),
            Self::FAST => f.write_str("Fast DDS"),
            Self([1, 1]) => f.write_str("Connext"),
            Self([1, 18]) => f.write_str("RustDDS"),
            Self([high, low]) => write!(f, "a DDS with the vendor id {high:02x}.{low:02x}"),
        }
    }
}

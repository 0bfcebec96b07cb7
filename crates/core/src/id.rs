//! Identifiers of entities and groups, and the slots behind them.

use std::fmt;

/// Defines a type of identifiers. The parameters are its documentation, its name, and the letter before the number when it is
/// formatted.
macro_rules! generational_id {
    ($(#[$doc:meta])* $name:ident, $letter:literal) => {
        $(#[$doc])*
        ///
        /// Slots are reused, but identifiers are not: an identifier of a removed entity or group is recognized as stale.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name {
            index: u32,
            generation: u32,
        }

        impl $name {
            pub(crate) const fn new(index: usize, generation: u32) -> Self {
                // The index fits: four billion live entities would not fit into memory.
                Self { index: index as u32, generation }
            }

            /// Returns the number of the slot. Slots are numbered without gaps, so that drivers and policies can index tables by
            /// them.
            #[must_use]
            pub const fn index(self) -> usize {
                self.index as usize
            }

            /// Returns slot and generation as one number, which is unique within the scheduler.
            #[must_use]
            pub const fn to_bits(self) -> u64 {
                self.generation as u64 * (1 << 32) + self.index as u64
            }

            pub(crate) const fn generation(self) -> u32 {
                self.generation
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.index)?;
                if self.generation > 0 {
                    write!(f, "'{}", self.generation)?;
                }
                Ok(())
            }
        }
    };
}

generational_id! {
    /// Identifier of an entity within its scheduler.
    EntityId, "e"
}
generational_id! {
    /// Identifier of a callback group within its scheduler.
    GroupId, "g"
}

/// The number of an executor's thread. 0 is the one that called `spin`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ThreadIndex(pub u16);

/// The storage behind identifiers: slots that are reused with a new generation.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    entries: Vec<(u32, Option<T>)>,
    free: Vec<usize>,
}

impl<T> Slots<T> {
    pub(crate) const fn new() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }

    /// Stores `value` and returns its index and generation.
    pub(crate) fn insert(&mut self, value: T) -> (usize, u32) {
        if let Some(index) = self.free.pop() {
            let (generation, slot) = &mut self.entries[index];
            *slot = Some(value);
            return (index, *generation);
        }
        self.entries.push((0, Some(value)));
        (self.entries.len() - 1, 0)
    }

    /// Returns the value with this index and generation; `None` if it was removed.
    pub(crate) fn get(&self, index: usize, generation: u32) -> Option<&T> {
        match self.entries.get(index) {
            Some((current, slot)) if *current == generation => slot.as_ref(),
            _ => None,
        }
    }

    /// Returns the value with this index and generation, to change it; `None` if it was removed.
    pub(crate) fn get_mut(&mut self, index: usize, generation: u32) -> Option<&mut T> {
        match self.entries.get_mut(index) {
            Some((current, slot)) if *current == generation => slot.as_mut(),
            _ => None,
        }
    }

    /// Removes and returns the value with this index and generation; `None` if it was removed before.
    pub(crate) fn remove(&mut self, index: usize, generation: u32) -> Option<T> {
        let (current, slot) = self.entries.get_mut(index)?;
        if *current != generation {
            return None;
        }
        let value = slot.take()?;
        *current = current.wrapping_add(1);
        self.free.push(index);
        Some(value)
    }

    /// Returns the indices and generations of all values.
    pub(crate) fn ids(&self) -> impl Iterator<Item = (usize, u32)> {
        let used = self.entries.iter().enumerate().filter(|(_, (_, slot))| slot.is_some());
        used.map(|(index, (generation, _))| (index, *generation))
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut().filter_map(|(_, slot)| slot.as_mut())
    }
}

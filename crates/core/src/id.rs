//! Identifiers of entities and groups, and the slots behind them.

use std::fmt;

/// Defines a type of identifiers. The parameters are its documentation, its name, and the letter before the number when
/// it is formatted.
macro_rules! generational_id {
    ($(#[$doc:meta])* $name:ident, $letter:literal) => {
        $(#[$doc])*
        ///
        /// Slots are reused, but identifiers are not: an identifier of a removed entity or group is recognized as
        /// stale.
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

            /// Returns the number of the slot. Slots are numbered without gaps, so that drivers and policies can index
            /// tables by them.
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
    values: Vec<Option<T>>,
    /// The generation of each slot. They are apart from the values, so that values can fill whole cache lines.
    generations: Vec<u32>,
    free: Vec<usize>,
}

impl<T> Slots<T> {
    pub(crate) const fn new() -> Self {
        Self { values: Vec::new(), generations: Vec::new(), free: Vec::new() }
    }

    /// Stores `value` and returns its index and generation.
    pub(crate) fn insert(&mut self, value: T) -> (usize, u32) {
        self.insert_with(|_, _| value)
    }

    /// Stores the value that `create` makes from its index and generation, and returns these.
    pub(crate) fn insert_with(&mut self, create: impl FnOnce(usize, u32) -> T) -> (usize, u32) {
        if let Some(index) = self.free.pop() {
            let generation = self.generations[index];
            self.values[index] = Some(create(index, generation));
            return (index, generation);
        }
        let index = self.values.len();
        self.values.push(Some(create(index, 0)));
        self.generations.push(0);
        (index, 0)
    }

    /// Returns the value with this index and generation; `None` if it was removed.
    #[inline]
    pub(crate) fn get(&self, index: usize, generation: u32) -> Option<&T> {
        if *self.generations.get(index)? == generation { self.values.get(index)?.as_ref() } else { None }
    }

    /// Returns the value with this index and generation, to change it; `None` if it was removed.
    #[inline]
    pub(crate) fn get_mut(&mut self, index: usize, generation: u32) -> Option<&mut T> {
        if *self.generations.get(index)? == generation { self.values.get_mut(index)?.as_mut() } else { None }
    }

    /// Returns the value with this index, whatever its generation is; `None` if the slot is free.
    pub(crate) fn at(&self, index: usize) -> Option<&T> {
        self.values.get(index)?.as_ref()
    }

    /// Returns the address of the value with this index, which may be free by now; `None` if no value ever had that
    /// index. Reads nothing there, so that a caller who only wants it fetched does not wait for it.
    #[inline(always)]
    pub(crate) fn address(&self, index: usize) -> Option<*const Option<T>> {
        self.values.get(index).map(std::ptr::from_ref)
    }

    /// Returns the value with this index, whatever its generation is, to change it; `None` if the slot is free.
    #[inline]
    pub(crate) fn at_mut(&mut self, index: usize) -> Option<&mut T> {
        self.values.get_mut(index)?.as_mut()
    }

    /// Removes and returns the value with this index and generation; `None` if it was removed before.
    pub(crate) fn remove(&mut self, index: usize, generation: u32) -> Option<T> {
        let current = self.generations.get_mut(index).filter(|current| **current == generation)?;
        let value = self.values[index].take()?;
        *current = current.wrapping_add(1);
        self.free.push(index);
        Some(value)
    }

    /// Returns the indices and generations of all values.
    pub(crate) fn ids(&self) -> impl Iterator<Item = (usize, u32)> {
        let used = self.values.iter().zip(&self.generations).enumerate().filter(|(_, (value, _))| value.is_some());
        used.map(|(index, (_, generation))| (index, *generation))
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.iter_mut().flatten()
    }
}

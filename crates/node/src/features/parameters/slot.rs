//! Storage of a parameter's value.

use std::sync::PoisonError;

use super::value::ParameterValue;
use super::variant::{bits_of, sealed::Variant};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard};

/// The value of a parameter, shared by the node and handles. A value that fits into a word is kept in an atomic as
/// well, so that real-time callbacks read it without a lock.
pub(super) struct Slot {
    /// The value as a word; unused for values that do not fit.
    bits: AtomicU64,
    value: Mutex<ParameterValue>,
}

impl Slot {
    pub(super) fn new(value: ParameterValue) -> Self {
        Self { bits: AtomicU64::new(bits_of(&value)), value: Mutex::new(value) }
    }

    fn lock(&self) -> MutexGuard<'_, ParameterValue> {
        // Values are replaced as a whole, so a panic leaves none half changed.
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn value(&self) -> ParameterValue {
        self.lock().clone()
    }

    /// Returns the number that ROS 2 gives the type of the value.
    pub(super) fn code(&self) -> u8 {
        self.lock().code()
    }

    /// Sets the value and returns the old one. The caller holds the lock of the node's parameters, so the words are
    /// written in order.
    pub(super) fn replace(&self, value: ParameterValue) -> ParameterValue {
        let bits = bits_of(&value);
        let old = std::mem::replace(&mut *self.lock(), value);
        self.bits.store(bits, Ordering::Release);
        old
    }

    /// Returns the value as the type `T` that the parameter was declared with.
    pub(super) fn get<T: Variant>(&self) -> T {
        // The word is only read as the type that the parameter always has.
        let value = T::from_bits(self.bits.load(Ordering::Acquire)).or_else(|| T::from_value(self.value()));
        value.expect("values of another type are not set")
    }
}

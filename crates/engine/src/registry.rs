//! Values that several parties share by name: topics and services.

use crate::sync::Mutex;
use std::any::{Any, type_name};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Weak};

/// The name is in use for another type.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{name}` is in use for {existing}, so it cannot be used for {requested}")]
pub struct TypeMismatch {
    /// The name.
    pub name: String,
    /// The type that the name is used for.
    pub existing: &'static str,
    /// The type that was requested.
    pub requested: &'static str,
}

struct Entry {
    type_name: &'static str,
    /// Lives as long as a party has it.
    value: Weak<dyn Any + Send + Sync>,
}

/// Values by name. A value lives as long as somebody has it.
#[derive(Default)]
pub(crate) struct Registry(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    by_name: BTreeMap<String, Entry>,
    /// The name that the sweep for values without an owner has come to.
    swept: String,
}

impl Registry {
    /// Returns the `V` under `name`; `make` creates it if there is none. `T` is the type that users know it by.
    ///
    /// Takes logarithmic time. `make` runs without the lock, and its result may be dropped if another thread was faster.
    pub(crate) fn get_or_insert<V, T>(&self, name: &str, make: impl FnOnce() -> V) -> Result<Arc<V>, TypeMismatch>
    where
        V: Send + Sync + 'static,
        T: ?Sized + 'static,
    {
        let found = self.0.lock().get(name);
        if let Some(found) = found {
            return found.check::<V, T>(name);
        }
        let value = Arc::new(make());
        let weak: Weak<V> = Arc::downgrade(&value);
        let (entry, name) = (Entry { type_name: type_name::<T>(), value: weak }, name.to_owned());
        let mut entries = self.0.lock();
        // Another thread may have been faster.
        if let Some(found) = entries.get(&name) {
            drop(entries);
            return found.check::<V, T>(&name);
        }
        let before = entries.by_name.insert(name, entry);
        let gone = entries.sweep();
        drop(entries);
        drop((before, gone));
        Ok(value)
    }
}

/// The value under a name. It must not be dropped under the lock, since it may be the last owner.
struct Found {
    type_name: &'static str,
    value: Arc<dyn Any + Send + Sync>,
}

impl Found {
    fn check<V: Send + Sync + 'static, T: ?Sized + 'static>(self, name: &str) -> Result<Arc<V>, TypeMismatch> {
        let Self { type_name: existing, value } = self;
        value.downcast().map_err(|_| TypeMismatch { name: name.to_owned(), existing, requested: type_name::<T>() })
    }
}

impl Entries {
    fn get(&self, name: &str) -> Option<Found> {
        let entry = self.by_name.get(name)?;
        Some(Found { type_name: entry.type_name, value: entry.value.upgrade()? })
    }

    /// Takes out up to two names whose value is gone. Every new name calls it, so there are never many of them.
    fn sweep(&mut self) -> [Option<(String, Entry)>; 2] {
        std::array::from_fn(|_| {
            let behind = (Bound::Excluded(self.swept.as_str()), Bound::Unbounded);
            // After the last name, the sweep begins again with the first one.
            let next = self.by_name.range::<str, _>(behind).next().map(|(name, entry)| (name.clone(), entry));
            let is_gone = next.as_ref().is_some_and(|(_, entry)| entry.value.strong_count() == 0);
            self.swept = next.map(|(name, _)| name).unwrap_or_default();
            if is_gone { self.by_name.remove_entry(&self.swept) } else { None }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_nobody_uses_do_not_gather() {
        let registry = Registry::default();
        let kept: Vec<_> =
            (0..100).map(|n| registry.get_or_insert::<u32, u32>(&format!("kept{n}"), || n).unwrap()).collect();
        for n in 0..10_000 {
            registry.get_or_insert::<u32, u32>(&format!("{n}"), || n).unwrap();
        }
        let count = registry.0.lock().by_name.len();
        assert!((100..=210).contains(&count), "{count}");
        assert!(kept.iter().enumerate().all(|(n, kept)| **kept == n as u32));
        assert_eq!(*registry.get_or_insert::<u32, u32>("kept7", || 0).unwrap(), 7);
    }

    #[test]
    fn a_name_is_of_one_type_while_somebody_uses_it() {
        let registry = Registry::default();
        let number = registry.get_or_insert::<u32, u32>("name", || 1).unwrap();
        assert!(registry.get_or_insert::<u64, u64>("name", || 1).is_err());
        drop(number);
        assert_eq!(*registry.get_or_insert::<u64, u64>("name", || 2).unwrap(), 2);
    }
}

//! Values that several parties share by name: topics and services.

use crate::os::Process;
use crate::sync::Mutex;
use std::any::{Any, type_name};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Weak};

/// Error of a name that is in use for values of another type: of a topic with other messages, or of a service with
/// other requests and responses.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{name}` is in use for {existing}, so it cannot be used for {requested}")]
pub struct TypeMismatch {
    /// The name of the topic or the service.
    pub name: String,
    /// The type that the name is used for.
    pub existing: &'static str,
    /// The type that was requested.
    pub requested: &'static str,
}

struct Entry {
    type_name: &'static str,
    /// Weak reference: the value lives as long as a party has it.
    value: Weak<dyn Any + Send + Sync>,
}

/// Values by name. A value lives as long as somebody has it.
#[derive(Default)]
pub(crate) struct Registry(Mutex<BTreeMap<String, Entry>>);

/// The name of a value, which is part of the value: when the last owner drops the value, the registry forgets the name.
pub(crate) struct Name {
    text: String,
    registry: Arc<Registry>,
    process: Process,
}

impl Registry {
    /// Returns the value of type `V` under `name`. If the name has no value, `make` creates one. `T` is the type that
    /// error messages show for the value.
    ///
    /// Takes logarithmic time. `make` runs without the lock, and its result may be dropped if another thread was
    /// faster. A value that does not keep its [`Name`] leaves an entry behind.
    pub(crate) fn get_or_insert<V, T>(
        self: &Arc<Self>,
        name: &str,
        make: impl FnOnce(Name) -> V,
    ) -> Result<Arc<V>, TypeMismatch>
    where
        V: Send + Sync + 'static,
        T: ?Sized + 'static,
    {
        self.get_or_insert_for(name, type_name::<T>(), make)
    }

    /// Returns the value of type `V` under `name` like [`get_or_insert`](Self::get_or_insert). `requested` is the name
    /// of the type that error messages show for the value.
    pub(crate) fn get_or_insert_for<V: Send + Sync + 'static>(
        self: &Arc<Self>,
        name: &str,
        requested: &'static str,
        make: impl FnOnce(Name) -> V,
    ) -> Result<Arc<V>, TypeMismatch> {
        let make = |name| -> Arc<dyn Any + Send + Sync> { Arc::new(make(name)) };
        let Found { type_name: existing, value } = self.find_or_insert(name, requested, Box::new(make));
        value.downcast().map_err(|_| TypeMismatch { name: name.to_owned(), existing, requested })
    }

    /// Returns the value under `name`, whatever its type. If the name has no value, `make` creates one.
    fn find_or_insert(
        self: &Arc<Self>,
        name: &str,
        type_name: &'static str,
        make: Box<dyn FnOnce(Name) -> Arc<dyn Any + Send + Sync> + '_>,
    ) -> Found {
        let found = find(&self.0.lock(), name);
        if let Some(found) = found {
            return found;
        }
        let text = name.to_owned();
        let value = make(Name { text, registry: Arc::clone(self), process: Process::this() });
        let entry = Entry { type_name, value: Arc::downgrade(&value) };
        let name = name.to_owned();
        let mut entries = self.0.lock();
        // Another thread may have created the value meanwhile.
        if let Some(found) = find(&entries, &name) {
            drop(entries);
            return found;
        }
        let before = entries.insert(name, entry);
        drop(entries);
        drop(before);
        Found { type_name, value }
    }

    /// Removes a name whose value has no owner any more. It may have a new value already, which stays.
    fn forget(&self, name: &str) {
        let mut entries = self.0.lock();
        let is_gone = entries.get(name).is_some_and(|entry| entry.value.strong_count() == 0);
        let gone = if is_gone { entries.remove_entry(name) } else { None };
        drop(entries);
        drop(gone);
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        // In a forked process the lock may be held by a thread that was not copied.
        if !self.process.is_another() {
            self.registry.forget(&self.text);
        }
    }
}

/// The value under a name. It must not be dropped under the lock, since it may be the last owner.
struct Found {
    type_name: &'static str,
    value: Arc<dyn Any + Send + Sync>,
}

fn find(entries: &BTreeMap<String, Entry>, name: &str) -> Option<Found> {
    let entry = entries.get(name)?;
    Some(Found { type_name: entry.type_name, value: entry.value.upgrade()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value that keeps its name.
    struct Kept<T>(T, Name);

    fn get(registry: &Arc<Registry>, name: &str, number: u32) -> Arc<Kept<u32>> {
        registry.get_or_insert::<Kept<u32>, u32>(name, |name| Kept(number, name)).unwrap()
    }

    #[test]
    fn a_name_is_forgotten_with_its_value() {
        let registry = Arc::new(Registry::default());
        let kept: Vec<_> = (0..10).map(|n| get(&registry, &format!("kept{n}"), n)).collect();
        for n in 0..100 {
            drop(get(&registry, &format!("{n}"), n));
        }
        assert_eq!(registry.0.lock().len(), 10);
        assert_eq!(get(&registry, "kept7", 0).0, 7);
        drop(kept);
        assert!(registry.0.lock().is_empty());
    }

    #[test]
    fn a_name_is_of_one_type_while_somebody_uses_it() {
        let registry = Arc::new(Registry::default());
        let number = get(&registry, "name", 1);
        assert!(registry.get_or_insert::<Kept<u64>, u64>("name", |name| Kept(1, name)).is_err());
        drop(number);
        let other = registry.get_or_insert::<Kept<u64>, u64>("name", |name| Kept(2, name));
        assert_eq!(other.unwrap().0, 2);
    }

    /// The value of a name is dropped while the name gets its next one.
    #[test]
    fn a_name_keeps_its_new_value_when_the_one_before_is_dropped() {
        let registry = Arc::new(Registry::default());
        let first = get(&registry, "name", 1);
        let Kept(_, name) = Arc::into_inner(first).unwrap();
        let second = get(&registry, "name", 2);
        drop(name);
        assert_eq!(get(&registry, "name", 3).0, 2);
        drop(second);
        assert!(registry.0.lock().is_empty());
    }
}

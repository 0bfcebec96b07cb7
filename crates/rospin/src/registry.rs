//! Names that several parties meet under: topics and services.

use std::any::{Any, type_name};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A name is in use for another type.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{name}` is in use for {existing}, so it cannot be used for {requested}")]
pub struct TypeMismatch {
    /// The name.
    pub name: String,
    /// What it is used for.
    pub existing: &'static str,
    /// What it should have been used for.
    pub requested: &'static str,
}

struct Entry {
    type_name: &'static str,
    /// Gone when the last party is.
    value: Weak<dyn Any + Send + Sync>,
}

/// Values by name, for as long as somebody uses them.
#[derive(Default)]
pub(crate) struct Registry(Mutex<HashMap<String, Entry>>);

impl Registry {
    /// The `V` under `name`, made by `make` if there is none. `T` is what users call its type.
    pub(crate) fn get_or_insert<V, T>(&self, name: &str, make: impl FnOnce() -> V) -> Result<Arc<V>, TypeMismatch>
    where
        V: Send + Sync + 'static,
        T: ?Sized + 'static,
    {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.get(name)
            && let Some(value) = entry.value.upgrade()
        {
            if let Ok(value) = value.downcast() {
                return Ok(value);
            }
            let (existing, requested) = (entry.type_name, type_name::<T>());
            return Err(TypeMismatch { name: name.to_owned(), existing, requested });
        }
        // Names whose last party went away.
        entries.retain(|_, entry| entry.value.strong_count() > 0);
        let value = Arc::new(make());
        let weak: Weak<V> = Arc::downgrade(&value);
        let entry = Entry { type_name: type_name::<T>(), value: weak };
        entries.insert(name.to_owned(), entry);
        Ok(value)
    }
}

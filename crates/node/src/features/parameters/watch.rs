//! Post-set callbacks: the source of parameters that were set.
//!
//! rclcpp runs such callbacks on whichever thread sets a parameter. Here they are entities of their groups, which get
//! the last values. So a payload needs no mutex, and memory is bounded by the number of parameters.

use std::sync::Arc;

use rospin_engine::{Notifier, Pending, Source, TakeError};

use super::store::Store;
use super::value::ParameterSetting;

/// Source of the parameters that were set since the last take.
pub(super) struct SetParameters {
    store: Arc<Store>,
    number: u64,
}

impl SetParameters {
    pub(super) fn new(store: &Arc<Store>) -> Self {
        let number = store.lock().watchers.add();
        Self { store: Arc::clone(store), number }
    }
}

impl Source for SetParameters {
    type Item = Vec<ParameterSetting>;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.store.lock().watchers.attach(self.number, notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Vec<ParameterSetting>>, TakeError> {
        let set = self.store.lock().watchers.find(self.number).map(|watcher| std::mem::take(&mut watcher.news));
        let set = set.unwrap_or_default();
        let settings = set.into_iter().map(|(name, value)| ParameterSetting { name, value }).collect::<Vec<_>>();
        Ok(Some(settings).filter(|settings| !settings.is_empty()))
    }

    fn pending(&self) -> Pending {
        let mut state = self.store.lock();
        let watcher = state.watchers.find(self.number);
        if watcher.is_none_or(|watcher| watcher.news.is_empty()) { Pending::Empty } else { Pending::Unknown }
    }
}

impl Drop for SetParameters {
    fn drop(&mut self) {
        let removed = self.store.lock().watchers.remove(self.number);
        drop(removed);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::features::parameters::handle::Parameter;
    use crate::features::parameters::options::ParameterOptions;
    use crate::features::parameters::value::ParameterValue;

    #[test]
    fn parameters_that_are_set_before_the_entity_exists_are_not_forgotten() {
        let store = Store::new("/node".to_owned(), BTreeMap::new(), Arc::default());
        let mut set = SetParameters::new(&store);
        assert_eq!(set.pending(), Pending::Empty);
        let rate = Parameter::declare(&store, "rate", ParameterOptions::from(1)).unwrap();
        assert_eq!(set.pending(), Pending::Unknown, "nobody was notified of it");
        assert_eq!(set.try_take().unwrap().unwrap(), [ParameterSetting::new("rate", 1)]);
        assert_eq!(set.pending(), Pending::Empty);
        rate.set(2).unwrap();
        assert_eq!(set.pending(), Pending::Unknown);
    }

    #[test]
    fn a_parameter_that_is_undeclared_again_leaves_nothing_behind() {
        let store = Store::new("/node".to_owned(), BTreeMap::new(), Arc::default());
        let mut set = SetParameters::new(&store);
        for n in 0..10 {
            let name = format!("obstacle{n}");
            let parameter = Parameter::declare(&store, &name, ParameterOptions::from(n)).unwrap();
            parameter.undeclare().unwrap();
            let any = Parameter::declare(&store, &name, ParameterOptions::from(ParameterValue::from(n))).unwrap();
            any.set(ParameterValue::NotSet).unwrap();
        }
        let _rate = Parameter::declare(&store, "rate", ParameterOptions::from(1)).unwrap();
        assert_eq!(set.try_take().unwrap().unwrap(), [ParameterSetting::new("rate", 1)]);
    }
}

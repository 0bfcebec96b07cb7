//! Exact time: messages belong together if their stamps are equal.

use std::collections::BTreeMap;

use super::{Matching, Set};

/// Messages by their stamp. A complete set drops all older ones, because messages of an input arrive in order.
#[derive(Debug)]
pub(crate) struct Exact<T> {
    inputs: usize,
    /// The number of stamps that are held at most.
    queue_size: usize,
    sets: BTreeMap<i64, Set<T>>,
}

impl<T> Exact<T> {
    pub(crate) const fn new(inputs: usize, queue_size: usize) -> Self {
        Self { inputs, queue_size, sets: BTreeMap::new() }
    }
}

impl<T: Send> Matching<T> for Exact<T> {
    fn add(&mut self, input: usize, stamp_ns: i64, message: T, decided: &mut Vec<Set<T>>) {
        let inputs = self.inputs;
        let set = self.sets.entry(stamp_ns).or_insert_with(|| (0..inputs).map(|_| None).collect());
        if let Some(before) = set[input].replace(message) {
            decided.push(super::alone(inputs, input, before));
        }
        if set.iter().all(Option::is_some) {
            // The sets up to this stamp. The last one is complete.
            let newer = self.sets.split_off(&stamp_ns.saturating_add(1));
            decided.extend(std::mem::replace(&mut self.sets, newer).into_values());
        }
        while self.sets.len() > self.queue_size {
            decided.extend(self.sets.pop_first().map(|(_, set)| set));
        }
    }

    fn clear(&mut self, decided: &mut Vec<Set<T>>) {
        decided.extend(std::mem::take(&mut self.sets).into_values());
    }

    fn held(&self) -> usize {
        self.sets.values().flatten().flatten().count()
    }
}

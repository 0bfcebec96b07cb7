//! The public operations of the engine that the programs have done so far in this process.
//!
//! `operations.toml` names all that there are, and those that programs do. `tests/operations.rs` compares it with the
//! sources, and a run of enough programs with this list.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The number of programs in which each operation of the table must have been done.
pub(crate) const ENOUGH: u64 = 2_000;

static DONE: Mutex<BTreeMap<&'static str, u64>> = Mutex::new(BTreeMap::new());

/// Notes that a program does the operation, for example `Timer::cancel`.
pub(crate) fn does(operation: &'static str) {
    *DONE.lock().unwrap_or_else(PoisonError::into_inner).entry(operation).or_default() += 1;
}

/// Notes that a program does all of them.
pub(crate) fn does_all(operations: &[&'static str]) {
    for operation in operations {
        does(operation);
    }
}

/// Returns the operations that programs are said to do, and did not; and those that they did, and are not said to.
pub(crate) fn differences() -> Vec<String> {
    let table: toml::Table = include_str!("operations.toml").parse().expect("the table is TOML");
    let done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut differences = Vec::new();
    let mut said = Vec::new();
    for (of, operations) in &table {
        for (name, use_of_it) in operations.as_table().expect("operations by their type") {
            let operation = format!("{of}::{name}");
            if use_of_it.as_bool() == Some(true) {
                if !done.contains_key(operation.as_str()) {
                    differences.push(format!("no program did {operation}, which operations.toml says they do"));
                }
                said.push(operation);
            }
        }
    }
    for operation in done.keys() {
        if !said.iter().any(|said| said == operation) {
            differences.push(format!("programs did {operation}, and operations.toml does not say so"));
        }
    }
    differences
}

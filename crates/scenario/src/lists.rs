//! Lists in texts. If something else stands in place of a list, the error shows how to write the list.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Visitor that takes a list. For anything else its error says what to write.
struct List<T> {
    write: &'static str,
    of: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list; write {}", self.write)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = list.next_element()? {
            all.push(one);
        }
        Ok(all)
    }
}

/// Deserializes a list. If something else stands in its place, the error says to write `write`, such as
/// "`` `[[wheel]]` above each wheel``".
///
/// # Errors
/// If it is no list of `T`.
pub fn list<'de, T, D>(deserializer: D, write: &'static str) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_seq(List { write, of: PhantomData })
}

/// Defines functions for `#[serde(deserialize_with = ...)]` that read a list, one for each `name: text`. If something
/// else stands in place of the list, the error shows that text.
macro_rules! lists {
    ($($name:ident: $write:literal),+ $(,)?) => {$(
        pub(crate) fn $name<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
        where
            T: Deserialize<'de>,
            D: Deserializer<'de>,
        {
            list(deserializer, $write)
        }
    )+};
}

lists! {
    cores: "`cores = [1]`, or `cores = [0, 1]` for several",
    joins: "`joins = [\"left\", \"right\"]`",
    sections: "`locks = [{ lock = \"map\", hold = \"200 us\" }]`",
    segments: "`segments = [\"2 ms\", \"1 ms\"]`",
    accelerators: "`[[accelerator]]` above each accelerator",
    links: "`[[link]]` above each link",
    names: "`callbacks = [\"first\", \"second\"]`",
    executors: "`[[executor]]` above each executor",
    groups: "`[[group]]` above each group",
    callbacks: "`[[callback]]` above each callback",
    chains: "`[[chain]]` above each chain",
    threads: "`[[thread]]` above each thread",
    clients: "`[[client]]` above each client",
    releases: "`[[release]]` above each release",
    faults: "`[[fault]]` above each fault",
}

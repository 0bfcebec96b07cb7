//! Values of parameters in TOML.

use std::collections::BTreeMap;
use std::fmt;

use rospin_node::ParameterValue;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

const EXPECTED: &str = "a value of a parameter: true, 7, 0.5, \"text\", or a list of one of these";

/// A value, or a table of values.
enum Entry {
    Value(ParameterValue),
    Table(BTreeMap<String, Entry>),
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntryVisitor;
        impl<'de> Visitor<'de> for EntryVisitor {
            type Value = Entry;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }
            fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Entry, E> {
                Ok(Entry::Value(ParameterValue::Bool(value)))
            }
            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Entry, E> {
                Ok(Entry::Value(ParameterValue::Integer(value)))
            }
            fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Entry, E> {
                Ok(Entry::Value(ParameterValue::Double(value)))
            }
            fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Entry, E> {
                Ok(Entry::Value(ParameterValue::String(value.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Entry, A::Error> {
                let mut array = ParameterValue::NotSet;
                while let Some(entry) = list.next_element()? {
                    array = push(array, entry).map_err(A::Error::custom)?;
                }
                Ok(Entry::Value(array))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Entry, A::Error> {
                let table = BTreeMap::<String, Entry>::deserialize(MapAccessDeserializer::new(map))?;
                // The TOML reader represents a date this way.
                if table.keys().any(|key| key.starts_with("$__toml_private")) {
                    return Err(A::Error::custom(
                        "a date is no value of a parameter; write it as text, in quotation marks",
                    ));
                }
                Ok(Entry::Table(table))
            }
        }
        deserializer.deserialize_any(EntryVisitor)
    }
}

/// Appends an element to an array, whose first element decides the type. An empty array is [`ParameterValue::NotSet`].
fn push(array: ParameterValue, entry: Entry) -> Result<ParameterValue, &'static str> {
    use ParameterValue as V;
    Ok(match (array, entry) {
        (V::NotSet, Entry::Value(V::Bool(value))) => V::BoolArray(vec![value]),
        (V::NotSet, Entry::Value(V::Integer(value))) => V::IntegerArray(vec![value]),
        (V::NotSet, Entry::Value(V::Double(value))) => V::DoubleArray(vec![value]),
        (V::NotSet, Entry::Value(V::String(value))) => V::StringArray(vec![value]),
        (V::BoolArray(array), Entry::Value(V::Bool(value))) => V::BoolArray(with(array, value)),
        (V::IntegerArray(array), Entry::Value(V::Integer(value))) => V::IntegerArray(with(array, value)),
        (V::DoubleArray(array), Entry::Value(V::Double(value))) => V::DoubleArray(with(array, value)),
        (V::StringArray(array), Entry::Value(V::String(value))) => V::StringArray(with(array, value)),
        (V::IntegerArray(_) | V::DoubleArray(_), Entry::Value(V::Integer(_) | V::Double(_))) => {
            return Err("a parameter's list has values of one type; write whole numbers among fractions as in 7.0");
        }
        _ => return Err("a parameter's list has values of one type: all of them true or false, 7, 0.5 or \"text\""),
    })
}

fn with<T>(mut array: Vec<T>, value: T) -> Vec<T> {
    array.push(value);
    array
}

/// Reads parameters. Tables become names with dots, and empty lists, whose type is unknown, [`ParameterValue::NotSet`].
pub(super) fn flat<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, ParameterValue>, D::Error> {
    let mut flat = BTreeMap::new();
    for (name, entry) in BTreeMap::deserialize(deserializer)? {
        flatten(name, entry, &mut flat).map_err(D::Error::custom)?;
    }
    Ok(flat)
}

/// Adds the values of an entry to `flat`, under names that begin with `name`.
fn flatten(name: String, entry: Entry, flat: &mut BTreeMap<String, ParameterValue>) -> Result<(), String> {
    match entry {
        Entry::Table(table) => {
            table.into_iter().try_for_each(|(below, entry)| flatten(format!("{name}.{below}"), entry, flat))
        }
        Entry::Value(value) => match flat.insert(name.clone(), value) {
            None => Ok(()),
            Some(_) => Err(format!("parameter `{name}` is given twice, once with a dot; leave one out")),
        },
    }
}

//! YAML as a tree, with mappings in the order of the file.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A node of the tree.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Yaml {
    Null,
    Bool(bool),
    Integer(i64),
    Double(f64),
    Text(String),
    List(Vec<Self>),
    Mapping(Vec<(String, Self)>),
}

impl Yaml {
    /// Returns the kind of node, for error messages.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "a bool",
            Self::Integer(_) => "an integer",
            Self::Double(_) => "a double",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Mapping(_) => "a mapping",
        }
    }
}

impl<'de> Deserialize<'de> for Yaml {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyYaml)
    }
}

struct AnyYaml;

impl<'de> Visitor<'de> for AnyYaml {
    type Value = Yaml;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a bool, a number of 64 bits, a string, a list or a mapping")
    }

    fn visit_unit<E>(self) -> Result<Yaml, E> {
        Ok(Yaml::Null)
    }

    fn visit_none<E>(self) -> Result<Yaml, E> {
        Ok(Yaml::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Yaml, D::Error> {
        Deserialize::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Yaml, E> {
        Ok(Yaml::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Yaml, E> {
        Ok(Yaml::Integer(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Yaml, E> {
        i64::try_from(value).map(Yaml::Integer).map_err(|_| E::custom(format!("{value} is too large for an integer")))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Yaml, E> {
        Ok(Yaml::Double(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Yaml, E> {
        Ok(Yaml::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Yaml, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = seq.next_element()? {
            list.push(element);
        }
        Ok(Yaml::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Yaml, A::Error> {
        let mut mapping = Vec::new();
        while let Some(entry) = map.next_entry()? {
            mapping.push(entry);
        }
        Ok(Yaml::Mapping(mapping))
    }
}

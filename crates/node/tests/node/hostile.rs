//! Texts whose own code does what it should not.

use std::cell::Cell;
use std::sync::OnceLock;

use rospin_node::{Message, Publisher};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) const STRING: &str = "std_msgs/msg/String";

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Text {
    pub(crate) data: String,
}

impl Message for Text {
    const TYPE: &str = STRING;
}

pub(crate) fn text(number: u32) -> Text {
    Text { data: number.to_string() }
}

pub(crate) fn number(text: &str) -> u32 {
    text.parse().unwrap()
}

/// A text whose own code panics: when it is decoded, if it is a negative number, and when it is encoded, if it is
/// empty.
#[derive(Clone, Debug)]
pub(crate) struct Moody(pub(crate) String);

impl Serialize for Moody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        assert!(!self.0.is_empty(), "intended");
        Text { data: self.0.clone() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Moody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Text { data } = Text::deserialize(deserializer)?;
        assert!(!data.starts_with('-'), "intended");
        Ok(Self(data))
    }
}

impl Message for Moody {
    const TYPE: &str = STRING;
}

/// A text that uses its topic when it is dropped.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Busy {
    pub(crate) data: String,
}

pub(crate) static BUSY: OnceLock<Publisher<Busy>> = OnceLock::new();

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(publisher) = BUSY.get() {
            let _ = publisher.subscription_count();
        }
    }
}

impl Message for Busy {
    const TYPE: &str = STRING;
}

/// A number as a text. When it is encoded for others, the next number is published.
#[derive(Clone, Debug)]
pub(crate) struct Restless(pub(crate) u32);

pub(crate) static RESTLESS: OnceLock<Publisher<Restless>> = OnceLock::new();

thread_local! {
    static IS_ENCODING: Cell<bool> = const { Cell::new(false) };
}

impl Serialize for Restless {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !IS_ENCODING.replace(true) {
            RESTLESS.get().unwrap().publish(Self(self.0 + 1)).unwrap();
            IS_ENCODING.set(false);
        }
        text(self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Restless {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Text::deserialize(deserializer).map(|Text { data }| Self(number(&data)))
    }
}

impl Message for Restless {
    const TYPE: &str = STRING;
}

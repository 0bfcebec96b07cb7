//! Strings with a bound, and wide strings.

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{SerializeSeq, Serializer};

use super::many::fits;
use super::{As, Plain, Sequence};

fn too_long(length: usize, max: usize, unit: &str) -> String {
    format!("{length} {unit} in a string of at most {max}")
}

/// A string of up to `MAX` bytes. A `MAX` of 0 means no bound.
#[derive(Debug)]
pub enum Text<const MAX: usize> {}

impl<const MAX: usize> As<String> for Text<MAX> {
    #[inline]
    fn write<S: Serializer>(text: &String, serializer: S) -> Result<S::Ok, S::Error> {
        if fits(text.len(), MAX) {
            serializer.serialize_str(text)
        } else {
            Err(serde::ser::Error::custom(too_long(text.len(), MAX, "bytes")))
        }
    }

    #[inline]
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        let text = String::deserialize(deserializer)?;
        if fits(text.len(), MAX) { Ok(text) } else { Err(D::Error::custom(too_long(text.len(), MAX, "bytes"))) }
    }
}

/// A wide string of up to `MAX` UTF-16 code units. A `MAX` of 0 means no bound.
///
/// Each unit is encoded in 32 bits, without a final zero, as ROS 2 does over Fast DDS, Cyclone DDS and Zenoh. Units
/// that are not valid text, such as half of a surrogate pair, are an error.
#[derive(Debug)]
pub enum Wide<const MAX: usize> {}

impl<const MAX: usize> As<String> for Wide<MAX> {
    fn write<S: Serializer>(text: &String, serializer: S) -> Result<S::Ok, S::Error> {
        let length = text.encode_utf16().count();
        if !fits(length, MAX) {
            return Err(serde::ser::Error::custom(too_long(length, MAX, "units")));
        }
        if serializer.is_human_readable() {
            return serializer.serialize_str(text);
        }
        let mut units = serializer.serialize_seq(Some(length))?;
        for unit in text.encode_utf16() {
            units.serialize_element(&u32::from(unit))?;
        }
        units.end()
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        if deserializer.is_human_readable() {
            return String::deserialize(deserializer);
        }
        let units: Vec<u32> = Sequence::<Plain, MAX>::read(deserializer)?;
        let units: Option<Vec<u16>> = units.into_iter().map(|unit| u16::try_from(unit).ok()).collect();
        let text = units.and_then(|units| String::from_utf16(&units).ok());
        text.ok_or_else(|| D::Error::custom("a wide string is not UTF-16"))
    }
}

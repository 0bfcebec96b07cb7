//! Random values of any type. A deserializer reads them from a generator of random numbers.

use serde::de::value::Error;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, SeqAccess, Visitor};

/// Returns a value of the type. The same seed gives the same value.
pub(crate) fn value<T: DeserializeOwned>(seed: u64) -> T {
    let mut random = Random { state: seed };
    // A value that exceeds a bound of its type is drawn again.
    (0..10_000).find_map(|_| T::deserialize(&mut random).ok()).expect("every type of ROS can be drawn")
}

/// A generator of random numbers: SplitMix64.
#[derive(Debug)]
struct Random {
    state: u64,
}

impl Random {
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns the length of a sequence: at most three.
    fn length(&mut self) -> usize {
        (self.next() % 4) as usize
    }
}

struct Elements<'a> {
    random: &'a mut Random,
    left: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        seed.deserialize(&mut *self.random).map(Some)
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident $number:ident)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
                visitor.$visit(self.next() as $number)
            }
        )*
    };
}

impl<'de> Deserializer<'de> for &mut Random {
    type Error = Error;

    numbers! {
        deserialize_u8 visit_u8 u8
        deserialize_u16 visit_u16 u16
        deserialize_u64 visit_u64 u64
        deserialize_i8 visit_i8 i8
        deserialize_i16 visit_i16 i16
        deserialize_i32 visit_i32 i32
        deserialize_i64 visit_i64 i64
    }

    /// Units of a wide string are read as such numbers, too, so the numbers are letters.
    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u32(0x20 + (self.next() % 0x1000) as u32)
    }

    /// Small enough that JSON keeps every digit.
    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_f32((self.next() % 65_536) as f32 / 16.0 - 1_024.0)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_f64((self.next() % 65_536) as f64 / 16.0 - 1_024.0)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bool(self.next() % 2 == 1)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let texts = ["", "a", "map", "größer", "base_link"];
        visitor.visit_str(texts[self.next() as usize % texts.len()])
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    /// Bytes of 0 or 1, because they may be Booleans.
    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let length = self.length();
        let bytes: Vec<u8> = (0..length).map(|_| (self.next() % 2) as u8).collect();
        visitor.visit_bytes(&bytes)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let left = self.length();
        visitor.visit_seq(Elements { random: self, left })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, left: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Elements { random: self, left })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_seq(Elements { random: self, left: fields.len() })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(serde::de::Error::custom("no type of ROS asks for anything"))
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    serde::forward_to_deserialize_any! {
        i128 u128 char byte_buf option unit unit_struct tuple_struct map enum identifier ignored_any
    }
}

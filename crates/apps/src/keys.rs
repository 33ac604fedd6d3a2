// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The keys of a section of the configuration, as serde reads them: one list for what is known, what is unknown, and the manual.

use serde::de::value::Error;
use serde::de::{Error as _, Visitor};
use serde::{forward_to_deserialize_any, Deserialize, Deserializer};

/// The names of a struct's fields. A derived implementation says them before it asks for a value, and is given none.
pub fn keys_of<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    let mut keys: &'static [&'static str] = &[];
    let _ = T::deserialize(Asked(&mut keys));
    keys
}

struct Asked<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Asked<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom(""))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_struct_names_its_keys_and_what_is_none_names_nothing() {
        assert_eq!(keys_of::<crate::Lists>(), ["protect", "avoid", "prefer", "ignore"]);
        assert_eq!(keys_of::<crate::Service>(), ["name", "class", "peers", "devices", "names"]);
        assert!(keys_of::<Vec<u32>>().is_empty());
    }
}

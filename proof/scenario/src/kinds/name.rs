// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a scenario's file says is compared.

use std::fmt;
use std::sync::LazyLock;

use fovea_report::document::distinct;
use serde::de::{EnumAccess, Error, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{About, ABOUT};
use crate::Configuration;

/// A configuration's name in a scenario's file: one that some kind knows. Which settings it stands for is that kind's to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name(pub &'static str);

/// Every name that some kind knows.
static NAMES: LazyLock<Vec<&str>> =
    LazyLock::new(|| distinct(ABOUT.iter().flat_map(About::known).map(Configuration::name)));

/// Read as an enum's variant is, so that a wrong one is answered with all there are.
impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Variant(Name);

        impl<'de> Deserialize<'de> for Variant {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_identifier(OneOf).map(Variant)
            }
        }

        struct OneOf;

        impl<'de> Visitor<'de> for OneOf {
            type Value = Name;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a configuration's name")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Name, E> {
                let known = NAMES.iter().find(|name| **name == text);
                known.map(|name| Name(name)).ok_or_else(|| E::unknown_variant(text, &NAMES))
            }

            fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Name, A::Error> {
                let (Variant(name), content) = data.variant()?;
                content.unit_variant()?;
                Ok(name)
            }
        }

        deserializer.deserialize_enum("Configuration", &NAMES, OneOf)
    }
}

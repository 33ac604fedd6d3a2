// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! JSON as D-Bus has it: an object is `a{sv}`, an array `av`, a number `t`, `x` or `d`; what is null is left out.

use std::collections::HashMap;

use serde_json::Value as Json;
use zbus::zvariant::Value;

/// An object on the bus.
pub type Object = HashMap<String, Value<'static>>;

/// An object's members; of anything else none.
pub fn object(json: Json) -> Object {
    match json {
        Json::Object(members) => {
            members.into_iter().filter_map(|(name, member)| Some((name, value(member)?))).collect()
        }
        _ => Object::new(),
    }
}

fn value(json: Json) -> Option<Value<'static>> {
    Some(match json {
        Json::Null => return None,
        Json::Bool(is) => is.into(),
        Json::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => number.into(),
            (None, Some(number)) => number.into(),
            (None, None) => number.as_f64()?.into(),
        },
        // D-Bus's strings have no zero in them.
        Json::String(text) => text.replace('\0', "\u{fffd}").into(),
        Json::Array(elements) => elements.into_iter().filter_map(value).collect::<Vec<_>>().into(),
        Json::Object(_) => object(json).into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_kind_of_json_has_a_type_of_the_bus() {
        let types = |json: Json| value(json).map(|value| value.value_signature().to_string());
        for (json, of) in [
            (json!(true), "b"),
            (json!(7), "t"),
            (json!(-7), "x"),
            (json!(0.5), "d"),
            (json!("a\0b"), "s"),
            (json!([1, "two", []]), "av"),
            (json!({ "a": { "b": 1 } }), "a{sv}"),
        ] {
            assert_eq!(types(json).as_deref(), Some(of));
        }
        assert_eq!(types(Json::Null), None);
        let left = object(json!({ "a": null, "b": 1 }));
        assert_eq!(left.keys().collect::<Vec<_>>(), ["b"]);
        assert_eq!(object(json!(1)), Object::new());
    }
}

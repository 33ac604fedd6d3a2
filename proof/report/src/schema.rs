// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The JSON Schema of results documents, made from the types: `docs/results.schema.json`.

use crate::experiment::Reproduction;

/// The schema: of a [`Reproduction`], whose own fields a document of another kind leaves out.
pub fn results() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Reproduction);
    schema.insert("title".into(), "Results of Fovea".into());
    schema.to_value()
}

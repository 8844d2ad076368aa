//! The fields of an id, as `randflake inspect --json` writes them.

use core::time::Duration;
use std::collections::BTreeMap;

use randflake_std::date::utc;
use randflake_std::randflake_core::{Cipher, Codec, LayoutSpec};
use randflake_std::{AnyLayout, Id};
use serde::Serialize;

use randflake_common::layout::IdForm;

/// Numbers over 53 bits are strings, because not every JSON reader keeps them.
#[derive(Debug, Serialize)]
pub(crate) struct Inspected {
    text: String,
    int: String,
    /// Of ids of 53 bits alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u64>,
    raw: String,
    time: u64,
    unix_ms: u64,
    time_utc: String,
    node: u32,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    node_parts: BTreeMap<&'static str, u32>,
    sequence: u32,
}

impl Inspected {
    pub(crate) fn of(codec: &Codec<LayoutSpec, Option<Cipher>>, id: Id) -> Self {
        let spec = codec.layout().spec();
        let parts = codec.inspect(id);
        let unix_ms = spec.unix_ms(parts.tick);
        Self {
            text: id.to_string(),
            int: id.to_i64().to_string(),
            number: IdForm::of_cipher(codec.permutation().as_ref()).number(id),
            raw: codec.raw(id).to_string(),
            time: unix_ms / 1_000,
            unix_ms,
            time_utc: utc(Duration::from_millis(unix_ms)),
            node: parts.node_id,
            node_parts: spec.node_parts(parts.node_id).collect(),
            sequence: parts.sequence,
        }
    }
}

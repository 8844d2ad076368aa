//! Only tests: see `tests/`, and this example of core's documentation.
#![doc = include_str!("../../../src/integrations/serde/fields.md")]

//! Only tests: see `tests/`, and these examples of core's documentation.
#![doc = include_str!("../../../src/integrations/serde/fields.md")]
#![doc = include_str!("../../../src/integrations/schema.md")]

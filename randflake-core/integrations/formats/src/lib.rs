//! Only tests: see `tests/`, and these examples of core's documentation.
#![doc = include_str!("../../../src/integrations/serde.md")]
#![doc = include_str!("../../../src/integrations/schema.md")]

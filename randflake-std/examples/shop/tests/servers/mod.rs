//! Real servers: those of `randflake-std`'s tests.

#[path = "../../../../tests/engines/clock.rs"]
mod clock;
#[path = "../../../../tests/engines/environment.rs"]
pub(crate) mod environment;
#[path = "../../../../tests/engines/postgres.rs"]
pub(crate) mod postgres;
#[path = "../../../../tests/engines/server.rs"]
pub(crate) mod server;
#[path = "../../../../tests/engines/template.rs"]
mod template;
#[path = "../../../../tests/engines/unprivileged.rs"]
mod unprivileged;

use environment::{free_port, program};

//! A real server: that of `randflake-std`'s tests.

#[path = "../../../../../randflake-std/tests/engines/clock.rs"]
mod clock;
#[path = "../../../../../randflake-std/tests/engines/environment.rs"]
mod environment;
#[cfg(target_os = "linux")]
#[path = "../../../../../randflake-std/tests/engines/preloaded_clock.rs"]
mod preloaded_clock;
#[path = "../../../../../randflake-std/tests/engines/redis.rs"]
mod redis;
#[path = "../../../../../randflake-std/tests/engines/server.rs"]
mod server;

use environment::{free_port, program};
pub(crate) use redis::RedisServer;

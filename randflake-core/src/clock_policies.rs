//! Clock policies: what to do when the clock goes back, as other generators do it.
//!
//! None is needed for uniqueness: a generator never issues a position twice, whatever its clock shows. They decide
//! whether to wait, to refuse, or to stamp a time slightly ahead. `tests/clock_policies.rs` replays each.
//!
//! | policy | known from | here |
//! |---|---|---|
//! | refuse | Twitter's Snowflake | tolerance 0, which is the default |
//! | wait while small | Leaf, uid-generator | wait for `retry_in_ms`, if that is at most 15 |
//! | hold | Sonyflake | a tolerance of as many ticks as the clock may step |
//! | rollback bits | Snowflakes with "clock bits" | a pool of four node ids |
//! | swap the worker id | uid-generator with its table of workers | a pool of any node ids |
//!
//! # Refuse
//!
//! ```
//! # use std::sync::atomic::AtomicU64;
//! # use randflake_core::{GenerateError, Generator, Lease, ManualClock, Plain, Snowflake};
//! # let clock = ManualClock::at_unix_ms(1_288_834_975_657);
//! let ids = Generator::<Snowflake, AtomicU64, _>::new(Lease::new(Snowflake, 1, 0, 60_000)?, &clock, Plain)?;
//! ids.generate()?;
//! clock.set_unix_ms(1_288_834_975_647); // 10 ms back
//! assert_eq!(ids.generate(), Err(GenerateError::ClockBehind { behind_ms: 10 }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Wait while small
//!
//! Of a handle in `randflake-std` this is `generate_wait(Duration::from_millis(15))`, which refuses at
//! once when the wait is longer. Of a generator:
//!
//! ```
//! # use std::sync::atomic::AtomicU64;
//! # use std::time::Duration;
//! # use randflake_core::{GenerateError, Generator, Id, Layout, Clock};
//! fn generate_or_wait<L: Layout, C: Clock>(
//!     ids: &Generator<L, AtomicU64, C>,
//! ) -> Result<Id, GenerateError> {
//!     match ids.generate() {
//!         Err(GenerateError::ClockBehind { behind_ms }) if behind_ms <= 15 => {
//!             std::thread::sleep(Duration::from_millis(behind_ms));
//!             ids.generate()
//!         }
//!         outcome => outcome,
//!     }
//! }
//! ```
//!
//! # Hold
//!
//! ```
//! # use std::sync::atomic::AtomicU64;
//! # use randflake_core::{Generator, Lease, ManualClock, Plain, Snowflake};
//! # let clock = ManualClock::at_unix_ms(1_288_834_975_657);
//! let lease = Lease::new(Snowflake, 1, 0, 60_000)?;
//! let ids = Generator::<Snowflake, AtomicU64, _>::new(lease, &clock, Plain)?.with_tolerance(10);
//! let before = ids.inspect(ids.generate()?);
//! clock.set_unix_ms(1_288_834_975_647); // 10 ms back
//! let after = ids.inspect(ids.generate()?);
//! assert_eq!((after.tick, after.sequence), (before.tick, before.sequence + 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Rollback bits
//!
//! Two bits of the node field count how often the clock went back: the same as four node ids for a
//! machine, of which the one that is not ahead of the clock issues. Unlike a count, a node id is free
//! again when the clock has passed what it issued. In `randflake-std` that is `.node_ids(4)`.
//!
//! ```
//! # use std::sync::atomic::AtomicU64;
//! # use randflake_core::{Codec, Lease, LeaseError, ManualClock, Plain, Pool, Sequencer, Snowflake};
//! # let clock = ManualClock::at_unix_ms(1_288_834_975_657);
//! let machine = 200;
//! let member = |rollback| {
//!     Sequencer::<Snowflake, AtomicU64>::new(Lease::new(Snowflake, machine << 2 | rollback, 0, 60_000)?)
//! };
//! let codec = Codec::new(Snowflake, Plain);
//! let ids = Pool::new([member(0)?, member(1)?, member(2)?, member(3)?], &clock, codec);
//! ids.generate()?;
//! clock.set_unix_ms(1_288_834_975_607); // 50 ms back
//! let node_id = ids.codec().inspect(ids.generate()?).node_id;
//! assert_eq!((node_id >> 2, node_id & 3), (machine, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Swap the worker id
//!
//! The same with node ids that have nothing in common, such as those that a lease store grants:
//! `Pool::new([member(7)?, member(300)?], ..)`, or in `randflake-std` a handle with `.node_ids(2)`,
//! whose keeper also replaces a node id when the store's clock stepped back.

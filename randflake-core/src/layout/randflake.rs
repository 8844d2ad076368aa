//! The layouts of this project: Randflake, Milliflake and Randflake53.

use super::{Layout, LayoutFields, LayoutSpec};
use crate::{Feistel53, Sparx64};

/// The Randflake layout: 30 bits of seconds, 17 of node id, 17 of sequence, encrypted.
///
/// ```text
/// 63            34 33           17 16            0
/// | timestamp 30   | node id 17    | sequence 17   |
/// ```
///
/// Ticks are seconds since 2024-10-27 03:33:20 UTC and end with 2058-11-05 17:10:23 UTC; from
/// 2041-10-31 22:21:52 UTC the raw id's top bit is set. A node issues 131,072 ids a second. Source:
/// <https://github.com/gosuda/randflake>, whose Go, Python and TypeScript packages exchange ids
/// with this one.
///
/// A [`Sparx64`] has 200 bytes of round keys. [`Sparx64OnTheFly`](crate::Sparx64OnTheFly) makes the
/// same ids with 16, a microcontroller's way:
///
/// ```
/// use randflake_core::{Generator, Lease, LocalWord, ManualClock, Randflake, Sparx64OnTheFly};
///
/// let clock = ManualClock::at_unix_ms(1_733_706_297_000);
/// let lease = Lease::new(Randflake, 42, 3_706_297, 3_706_357)?;
/// let cipher = Sparx64OnTheFly::new(&[7; 16]);
/// let generator = Generator::<_, LocalWord<u32>, _, _>::new(lease, &clock, cipher)?;
/// assert_ne!(generator.generate()?, generator.generate()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// With the key in flash memory a generator needs none of it in RAM: a permutation of your own
/// names the `static`.
///
/// ```
/// use randflake_core::{Generator, Lease, LocalWord, ManualClock, Permutation, Randflake, Sparx64OnTheFly};
///
/// static CIPHER: Sparx64OnTheFly = Sparx64OnTheFly::new(b"sixteen byte key");
///
/// struct InFlash;
///
/// impl Permutation for InFlash {
///     fn permute(&self, raw: u64) -> u64 {
///         CIPHER.permute(raw)
///     }
///
///     fn invert(&self, public: u64) -> u64 {
///         CIPHER.invert(public)
///     }
/// }
///
/// # let clock = ManualClock::at_unix_ms(1_733_706_297_000);
/// let lease = Lease::new(Randflake, 42, 3_706_297, 3_706_357)?;
/// let generator = Generator::<_, LocalWord<u32>, _, _>::new(lease, &clock, InFlash)?;
/// assert_ne!(generator.generate()?, generator.generate()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Randflake;

impl Layout for Randflake {
    type Permutation = Sparx64;

    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields::in_order(
        [30, 17, 17],
        1_730_000_000_000,
        1_000,
    ));
}

/// Randflake with a tick of a millisecond, for tables that store raw ids: 40 bits of milliseconds,
/// 14 of node id, 10 of sequence, encrypted.
///
/// ```text
/// 63            24 23           10 9            0
/// | timestamp 40   | node id 14    | sequence 10   |
/// ```
///
/// Ticks are milliseconds since 2024-10-27 03:33:20 UTC and end with 2059-08-30 23:27:07.775 UTC;
/// from 2042-03-30 01:30:13.888 UTC the raw id's top bit is set. A node issues 1,024 ids a
/// millisecond. The layout is this project's own.
///
/// Raw ids of all nodes ascend together, to the millisecond, so the rows of a fleet go to the end
/// of an index. Those of [`Randflake`](super::Randflake) ascend to the second, and within it each
/// node writes in a place of its own. See [`StoredRaw`](crate::StoredRaw).
///
/// ```
/// use core::time::Duration;
/// use randflake_core::{Codec, Milliflake, Sparx64};
///
/// let codec = Codec::new(Milliflake, Sparx64::new(&[7; 16]));
/// let id = codec.compose_at(Duration::from_millis(1_733_706_297_042), 16_383, 1_023)?;
/// assert_eq!(codec.raw(id), 3_706_297_042 << 24 | 16_383 << 10 | 1_023);
/// # Ok::<(), randflake_core::FieldError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Milliflake;

impl Layout for Milliflake {
    type Permutation = Sparx64;

    const SPEC: LayoutSpec =
        LayoutSpec::declare(LayoutFields::in_order([40, 14, 10], 1_730_000_000_000, 1));
}

/// Randflake for JavaScript and JSON: 30 bits of seconds, 10 of node id, 13 of sequence, encrypted
/// to numbers of 53 bits.
///
/// ```text
/// 63       53 52            23 22           13 12            0
/// | 0         | timestamp 30   | node id 10    | sequence 13   |
/// ```
///
/// Ticks are seconds since 2024-10-27 03:33:20 UTC and end with 2058-11-05 17:10:23 UTC. A node
/// issues 8,192 ids a second, and all 1,024 together 8.4 million. The layout is this project's own.
///
/// No id is over 2^53 - 1 = 9,007,199,254,740,991, the largest integer up to which JavaScript, and
/// whatever reads JSON as it does, holds each one exactly (`Number.MAX_SAFE_INTEGER`).
/// [`Id53`](crate::Id53) is the type of such ids. Spreadsheets keep 15 digits, and change ids of
/// 16. [`Feistel53`] encrypts, at the cost of 26 blocks for an id.
///
/// # The trade
///
/// Eleven bits less than [`Randflake`](super::Randflake) has. Time keeps its 30, which last to 2058
/// with the same ticks; so leases, devices and devices' clocks are the same. What is left, 23 bits,
/// is the number of ids in a second, however node id and sequence share them: with 10 and 13 a
/// program that takes 64 node ids issues half a million a second, and a thousand programs may run
/// at once. A program of few nodes and many ids may choose `[30, 8, 15]`, one of many small ones
/// `[30, 14, 9]`; the rest stays:
///
/// ```
/// use core::sync::atomic::AtomicU64;
/// use randflake_core::{Feistel53, Generator, LayoutFields, LayoutSpec, Lease, ManualClock, Sparx64};
///
/// let layout = LayoutSpec::new(LayoutFields::in_order([30, 14, 9], 1_730_000_000_000, 1_000))?;
/// let clock = ManualClock::at_unix_ms(1_733_706_297_000);
/// let lease = Lease::new(layout, 16_383, 3_706_297, 3_706_357)?;
/// let cipher = Feistel53::new(Sparx64::new(&[7; 16]));
/// let ids = Generator::<_, AtomicU64, _, _>::new(lease, &clock, cipher)?;
/// assert!(ids.generate()?.to_u64() < 1 << 53);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Longer ticks give no more ids a second, only longer bursts: with `[28, 10, 15]` and 4 s one of
/// 32,768. Shorter ones take bits: 10 ms need 37 bits to reach 2058, which leaves 16.
///
/// # Guessing
///
/// One try in 2^53 / n hits one of n live ids: of 10 million ids, one in 900 million. At 1,000
/// tries a second that is a hit in ten days, where [`Randflake`](super::Randflake) needs 58 years.
/// Check permissions for each row.
///
/// ```
/// use core::sync::atomic::AtomicU64;
/// use randflake_core::{Feistel53, Generator, Id53, Lease, ManualClock, Parts, Randflake53, Sparx64};
///
/// let clock = ManualClock::at_unix_ms(1_733_706_297_000);
/// let lease = Lease::new(Randflake53, 42, 3_706_297, 3_706_357)?;
/// // With `randflake-std`, `secret.feistel53()`: a key of its own.
/// let cipher = Feistel53::new(Sparx64::new(&[7; 16]));
/// let ids = Generator::<_, AtomicU64, _>::new(lease, &clock, cipher)?;
///
/// let id = ids.generate()?;
/// assert_eq!(ids.inspect(id), Parts { tick: 3_706_297, node_id: 42, sequence: 0 });
/// let number: Id53 = id.try_typed()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Randflake53;

impl Layout for Randflake53 {
    type Permutation = Feistel53;

    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields::in_order(
        [30, 10, 13],
        1_730_000_000_000,
        1_000,
    ));
}

use super::{Layout, LayoutFields, LayoutSpec};
use crate::Sparx64;

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
/// A [`Sparx64`] has 200 bytes of round keys. [`Sparx64OnTheFly`](crate::Sparx64OnTheFly) makes the same ids with 16, a
/// microcontroller's way:
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
/// With the key in flash memory a generator needs none of it in RAM: a permutation of your own names the `static`.
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

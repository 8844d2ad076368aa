//! Words: the shared state of generators.

use core::cell::Cell;
use core::fmt::Debug;
#[cfg(target_has_atomic = "32")]
use core::sync::atomic::Ordering;

/// A number that an [`AtomicWord`] holds: `u32` or `u64`.
pub trait Word: Copy + Ord + Debug + Into<u64> + sealed::Sealed {
    // Only what the step needs: a trait of all integer operations would be larger than its users.
    /// The number with no bit set.
    const ZERO: Self;
    /// The number with all bits set.
    const MAX: Self;
    /// Width of the number in bits.
    const BITS: u32;

    /// The low bits of a number. Not `truncate`: the standard library is about to call something
    /// else so.
    fn low_bits_of(value: u64) -> Self;
    /// The number, or [`MAX`](Word::MAX) if it is over that.
    fn saturate(value: u64) -> Self;
    /// `self << bits`, the bits shifted out lost; `bits` is below [`BITS`](Word::BITS).
    #[must_use]
    fn shl(self, bits: u32) -> Self;
    /// `self >> bits`; `bits` is below [`BITS`](Word::BITS).
    #[must_use]
    fn shr(self, bits: u32) -> Self;
    /// `self + count`, wrapping.
    #[must_use]
    fn advance(self, count: u32) -> Self;
    /// `self - 1`, or `None` for 0.
    fn previous(self) -> Option<Self>;
}

mod sealed {
    #[expect(unnameable_types, reason = "a sealed trait: no other number is a word")]
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

macro_rules! word {
    ($($word:ty)*) => {$(
        impl Word for $word {
            const ZERO: Self = 0;
            const MAX: Self = Self::MAX;
            const BITS: u32 = Self::BITS;

            #[inline]
            #[allow(
                clippy::allow_attributes,
                clippy::cast_possible_truncation,
                reason = "it is what the function is for, and u64 has none to expect"
            )]
            fn low_bits_of(value: u64) -> Self {
                value as Self
            }

            #[inline]
            fn saturate(value: u64) -> Self {
                Self::try_from(value).unwrap_or(Self::MAX)
            }

            #[inline]
            fn shl(self, bits: u32) -> Self {
                self.wrapping_shl(bits)
            }

            #[inline]
            fn shr(self, bits: u32) -> Self {
                self.wrapping_shr(bits)
            }

            #[inline]
            fn advance(self, count: u32) -> Self {
                self.wrapping_add(count.into())
            }

            #[inline]
            fn previous(self) -> Option<Self> {
                self.checked_sub(1)
            }
        }
    )*};
}

word!(u32 u64);

/// A word that is read and exchanged as a whole.
///
/// Its contract:
///
/// - `compare_exchange` is atomic towards everything that may call a method of the same word: for a
///   `Sync` word all threads and interrupts, for another the one thread.
/// - `load` has at least acquire ordering, `compare_exchange` acquire and release.
/// - `compare_exchange` fails only when the word differs from `current`.
///
/// Atomic `load` and `compare_exchange` are all that a generator needs, so a word is easy to
/// supply: a native atomic, a lock, a critical section, or the model checker's.
pub trait AtomicWord {
    /// Number that the word holds: `u32` or `u64`.
    type Value: Word;

    /// Creates a word with a value.
    fn new(value: Self::Value) -> Self;

    /// Reads the value with at least acquire ordering.
    fn load(&self) -> Self::Value;

    /// Reads the value with at least relaxed ordering: for a number that says nothing of other
    /// memory.
    #[inline]
    fn load_relaxed(&self) -> Self::Value {
        self.load()
    }

    /// Sets the word to `new` if it equals `current`, and returns whether it did.
    fn compare_exchange(&self, current: Self::Value, new: Self::Value) -> bool;
}

/// An [`AtomicWord`] that can be made in a constant, so that what consists of such words can be a
/// `static`: the clock of firmware, which main code and interrupts share.
///
/// ```
/// use core::sync::atomic::AtomicU32;
/// use randflake_core::{UnixClock, Uptime};
///
/// fn ticks() -> u32 {
///     5_000 // in earnest read from a timer
/// }
///
/// static TIME: UnixClock<Uptime<1_000, fn() -> u32, AtomicU32>, AtomicU32> =
///     UnixClock::new(Uptime::since_zero(ticks));
/// # use randflake_core::Clock;
/// # assert_eq!(TIME.now(), None);
/// ```
pub trait ConstWord: AtomicWord {
    /// A word with the value 0.
    const ZERO: Self;
}

/// A word for one thread: as cheap as a plain variable, and not `Sync`.
///
/// ```compile_fail
/// fn shared<T: Sync>() {}
/// shared::<randflake_core::LocalWord<u64>>();
/// ```
#[derive(Debug)]
pub struct LocalWord<V: Copy>(Cell<V>);

impl<V: Copy> LocalWord<V> {
    /// A word with a value.
    pub const fn new(value: V) -> Self {
        Self(Cell::new(value))
    }
}

impl<V: Word> ConstWord for LocalWord<V> {
    const ZERO: Self = Self::new(V::ZERO);
}

impl<V: Word> AtomicWord for LocalWord<V> {
    type Value = V;

    #[inline]
    fn new(value: V) -> Self {
        Self::new(value)
    }

    #[inline]
    fn load(&self) -> V {
        self.0.get()
    }

    #[inline]
    fn compare_exchange(&self, current: V, new: V) -> bool {
        // No other code can run between the two accesses: the word is not `Sync`, and an interrupt
        // cannot hold it.
        let equal = self.0.get() == current;
        if equal {
            self.0.set(new);
        }
        equal
    }
}

#[cfg(target_has_atomic = "32")]
macro_rules! native {
    ($atomic:ident, $value:ty) => {
        impl ConstWord for core::sync::atomic::$atomic {
            const ZERO: Self = Self::new(0);
        }

        impl AtomicWord for core::sync::atomic::$atomic {
            type Value = $value;

            #[inline]
            fn new(value: $value) -> Self {
                Self::new(value)
            }

            #[inline]
            // Acquire, paired with the release of the exchange that wrote the value: what its
            // thread did before, such as extending the lease, is visible to every thread that sees
            // the word that follows.
            fn load(&self) -> $value {
                self.load(Ordering::Acquire)
            }

            #[inline]
            fn load_relaxed(&self) -> $value {
                self.load(Ordering::Relaxed)
            }

            #[inline]
            fn compare_exchange(&self, current: $value, new: $value) -> bool {
                // Relaxed on failure: the value that was found is dropped, and the caller loads
                // again before it retries.
                self.compare_exchange(current, new, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok()
            }
        }
    };
}

#[cfg(target_has_atomic = "32")]
native!(AtomicU32, u32);
#[cfg(target_has_atomic = "64")]
native!(AtomicU64, u64);

#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![no_std]
#![warn(clippy::arithmetic_side_effects)]

// Miri interprets no assembly: there the portable code runs.
#[cfg(all(armv6m, not(miri)))]
mod armv6m;
mod backend;
mod block;
#[cfg(feature = "cipher")]
mod cipher_traits;
mod on_the_fly;
mod round;
mod round_keys;
mod schedule;
mod wide;

use core::fmt;

#[cfg(all(fast_multiplier, not(miri)))]
use armv6m::encrypt_with_table as encrypt;
#[doc(hidden)] // For tests and benchmarks, which compare them.
pub use backend::Backend;
#[doc(hidden)] // Sealed: the documentation says which two types it is.
pub use block::CipherBlock;
#[cfg(not(all(target_arch = "arm", target_has_atomic = "32")))]
use block::{load, store};
pub use on_the_fly::Sparx64OnTheFly;
use round::{Decrypt, Direction};
use round_keys::Schedule;
// Armv7-M and up, which have 32-bit instructions for it; with those of Armv6-M it would be slower.
#[cfg(all(target_arch = "arm", target_has_atomic = "32"))]
use wide::{load_words as load, store_words as store};

/// The block cipher SPARX-64/128 with an expanded key.
///
/// Holds the expanded key (200 bytes) and wipes it when dropped. It is `Clone` but not `Copy`, so
/// that every copy of the key is made on purpose and wiped in turn.
///
/// ```
/// let cipher = sparx64::Sparx64::new(&[0x42; 16]);
/// let mut block = *b"8 bytes.";
/// cipher.encrypt_block(&mut block);
/// cipher.decrypt_block(&mut block);
/// assert_eq!(block, *b"8 bytes.");
/// ```
#[derive(Clone)]
pub struct Sparx64 {
    schedule: Schedule,
}

impl Sparx64 {
    /// Expands a 128-bit key to its round keys.
    ///
    /// The key is eight 16-bit words, each big-endian. Every key is accepted: none is known to be
    /// weak.
    ///
    /// ```
    /// // The designers' test vector.
    /// let key = 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff_u128.to_be_bytes();
    /// let mut block = 0x0123_4567_89ab_cdef_u64.to_be_bytes();
    /// sparx64::Sparx64::new(&key).encrypt_block(&mut block);
    /// assert_eq!(block, 0x2bbe_f152_01f5_5f98_u64.to_be_bytes());
    /// ```
    #[inline]
    #[must_use]
    pub fn new(key: &[u8; 16]) -> Self {
        Self {
            schedule: Schedule::new(key),
        }
    }

    /// Encrypts one block in place.
    ///
    /// The block is four 16-bit words, each big-endian.
    ///
    /// ```
    /// let cipher = sparx64::Sparx64::new(&[0; 16]);
    /// let mut block = [0; 8];
    /// cipher.encrypt_block(&mut block);
    /// assert_eq!(block, [0x23, 0xb4, 0xb5, 0xae, 0x05, 0xd4, 0x0d, 0xa7]);
    /// ```
    #[inline]
    pub fn encrypt_block(&self, block: &mut [u8; 8]) {
        // By the number on every target, so that bytes and numbers share one path and one set of
        // tests.
        *block = self.encrypt_u64(u64::from_le_bytes(*block)).to_le_bytes();
    }

    /// Decrypts one block in place: the inverse of [`encrypt_block`](Self::encrypt_block).
    ///
    /// Every block decrypts to something; nothing tells whether it was ever encrypted.
    ///
    /// ```
    /// let cipher = sparx64::Sparx64::new(&[0; 16]);
    /// let mut block = [0x23, 0xb4, 0xb5, 0xae, 0x05, 0xd4, 0x0d, 0xa7];
    /// cipher.decrypt_block(&mut block);
    /// assert_eq!(block, [0; 8]);
    /// ```
    #[inline]
    pub fn decrypt_block(&self, block: &mut [u8; 8]) {
        *block = self.decrypt_u64(u64::from_le_bytes(*block)).to_le_bytes();
    }

    /// Encrypts the block whose bytes are the number's in little-endian order.
    ///
    /// The same on every target, whatever its byte order; the block stays in a register.
    ///
    /// ```
    /// let cipher = sparx64::Sparx64::new(&[0x42; 16]);
    /// let mut block = 7_u64.to_le_bytes();
    /// cipher.encrypt_block(&mut block);
    /// assert_eq!(cipher.encrypt_u64(7), u64::from_le_bytes(block));
    /// ```
    #[inline]
    #[must_use]
    pub fn encrypt_u64(&self, block: u64) -> u64 {
        encrypt(&self.schedule, block)
    }

    /// Decrypts the block whose bytes are the number's in little-endian order: the inverse of
    /// [`encrypt_u64`](Self::encrypt_u64).
    ///
    /// ```
    /// let cipher = sparx64::Sparx64::new(&[0x42; 16]);
    /// assert_eq!(cipher.decrypt_u64(cipher.encrypt_u64(u64::MAX)), u64::MAX);
    /// ```
    #[inline]
    #[must_use]
    pub fn decrypt_u64(&self, block: u64) -> u64 {
        apply::<Decrypt>(&self.schedule, block)
    }

    /// The 50 round keys in the order of their use, for an implementation in another language.
    ///
    /// For each of 8 steps, three of the left branch and three of the right one; then two for the
    /// whitening of both. Each has two words, which are added to those of its branch. They reveal
    /// the key: the caller must wipe every copy.
    ///
    /// ```
    /// let key: [u8; 16] = core::array::from_fn(|i| i as u8);
    /// let cipher = sparx64::Sparx64::new(&key);
    /// let mut round_keys = cipher.round_keys();
    /// // The first ones are the key itself.
    /// assert_eq!(round_keys.next(), Some([0x0001, 0x0203]));
    /// assert_eq!(round_keys.count(), 49);
    /// ```
    pub fn round_keys(&self) -> impl Iterator<Item = [u16; 2]> {
        let Schedule { steps, whitening } = &self.schedule;
        let of_steps = steps.as_flattened().as_flattened();
        of_steps.iter().chain(whitening).copied()
    }

    /// Encrypts each block of a slice, in place.
    ///
    /// The same blocks as one call of [`encrypt_u64`](Self::encrypt_u64) or
    /// [`encrypt_block`](Self::encrypt_block) for each, at a fraction of the time where the
    /// processor has vectors. A block is a `u64` or `[u8; 8]`; any length is allowed, empty too.
    ///
    /// ```
    /// let cipher = sparx64::Sparx64::new(&[0x42; 16]);
    /// let mut ids: Vec<u64> = (0..1000).collect();
    /// cipher.encrypt_blocks(&mut ids);
    /// assert_eq!(ids[7], cipher.encrypt_u64(7));
    ///
    /// let mut bytes = [[0; 8]; 100];
    /// cipher.encrypt_blocks(&mut bytes);
    /// assert_eq!(bytes[99], ids[0].to_le_bytes());
    /// ```
    pub fn encrypt_blocks<B: CipherBlock>(&self, blocks: &mut [B]) {
        self.encrypt_blocks_with(Backend::best(), blocks);
    }

    /// Decrypts each block of a slice, in place: the inverse of
    /// [`encrypt_blocks`](Self::encrypt_blocks).
    ///
    /// ```
    /// let cipher = sparx64::Sparx64::new(&[0x42; 16]);
    /// let mut ids = [1, 2, 3].map(|id| cipher.encrypt_u64(id));
    /// cipher.decrypt_blocks(&mut ids);
    /// assert_eq!(ids, [1, 2, 3]);
    /// ```
    pub fn decrypt_blocks<B: CipherBlock>(&self, blocks: &mut [B]) {
        self.decrypt_blocks_with(Backend::best(), blocks);
    }

    /// [`encrypt_blocks`](Self::encrypt_blocks) with a backend of the caller's choice.
    #[doc(hidden)]
    pub fn encrypt_blocks_with<B: CipherBlock>(&self, backend: Backend, blocks: &mut [B]) {
        B::with_bytes(blocks, |blocks| backend.encrypt(&self.schedule, blocks));
    }

    /// [`decrypt_blocks`](Self::decrypt_blocks) with a backend of the caller's choice.
    #[doc(hidden)]
    pub fn decrypt_blocks_with<B: CipherBlock>(&self, backend: Backend, blocks: &mut [B]) {
        B::with_bytes(blocks, |blocks| backend.decrypt(&self.schedule, blocks));
    }
}

#[cfg(not(all(fast_multiplier, not(miri))))]
#[inline]
fn encrypt(schedule: &Schedule, block: u64) -> u64 {
    apply::<round::Encrypt>(schedule, block)
}

#[inline]
fn apply<D: Direction>(schedule: &Schedule, block: u64) -> u64 {
    let [state] = D::apply(schedule, [load(block)]);
    store(state)
}

/// Marks what holds without the feature too: the key schedule is wiped on drop.
#[cfg(feature = "cipher")]
impl zeroize::ZeroizeOnDrop for Sparx64 {}

/// Shows the name and nothing of the key.
impl fmt::Debug for Sparx64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sparx64").finish_non_exhaustive()
    }
}

#![doc = include_str!("../README.md")]
#![no_std]
#![warn(clippy::arithmetic_side_effects)]

#[cfg(feature = "cipher")]
mod cipher_traits;
mod round;
mod schedule;
mod wipe;

use core::fmt;

use schedule::Schedule;

/// SPARX-64/128 under one key.
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
    /// Expands a key.
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
        to_u64(round::encrypt(&self.schedule, from_u64(block)))
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
        to_u64(round::decrypt(&self.schedule, from_u64(block)))
    }
}

/// Marks what holds without the feature too: the key schedule is wiped on drop.
#[cfg(feature = "zeroize")]
impl zeroize::ZeroizeOnDrop for Sparx64 {}

/// Shows the name and nothing of the key.
impl fmt::Debug for Sparx64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sparx64").finish_non_exhaustive()
    }
}

/// The four big-endian words of a block that was read as a little-endian number.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "takes a word of the block")]
fn from_u64(block: u64) -> [u16; 4] {
    [block, block >> 16, block >> 32, block >> 48].map(|word| (word as u16).swap_bytes())
}

#[inline]
fn to_u64(words: [u16; 4]) -> u64 {
    let [a, b, c, d] = words.map(|word| u64::from(word.swap_bytes()));
    a | b << 16 | c << 32 | d << 48
}

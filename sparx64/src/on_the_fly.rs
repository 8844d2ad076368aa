//! The cipher without a table of round keys: it computes them while it runs.

use core::{fmt, ops::Range};

#[cfg(all(armv6m, not(miri)))]
use crate::armv6m::encrypt_on_the_fly as encrypt;
use crate::{
    block::CipherBlock,
    round::{add_key, arx_box_inverse},
    schedule::KeyState,
    wide::{Pair, load, mix, pack, store, unpack},
};

/// Numbers of the branches, two in each of the eight steps. After each branch the key state is
/// permuted with its number.
const NUMBERS: Range<u16> = 1..17;

/// The block cipher SPARX-64/128, computing its round keys anew for each block: for
/// microcontrollers.
///
/// It holds only the key (16 bytes, where [`Sparx64`](crate::Sparx64) holds 200), needs less code
/// and takes about twice as long per block. Both encrypt to the same blocks.
///
/// The key is wiped when the value is dropped; the round keys of a block, on the stack or in
/// registers, are not.
///
/// [`new`](Self::new) is `const`, so that the key may stand in flash memory:
///
/// ```
/// use sparx64::{Sparx64, Sparx64OnTheFly};
///
/// static CIPHER: Sparx64OnTheFly = Sparx64OnTheFly::new(b"sixteen byte key");
/// assert_eq!(CIPHER.encrypt_u64(7), Sparx64::new(b"sixteen byte key").encrypt_u64(7));
/// assert_eq!(size_of_val(&CIPHER), 16);
/// ```
#[derive(Clone)]
pub struct Sparx64OnTheFly {
    key: KeyState,
}

impl Sparx64OnTheFly {
    /// Stores a key: eight 16-bit words, each big-endian. Every key is accepted.
    #[inline]
    #[must_use]
    pub const fn new(key: &[u8; 16]) -> Self {
        Self {
            key: KeyState::new(key),
        }
    }

    /// Encrypts one block in place, as [`Sparx64::encrypt_block`](crate::Sparx64::encrypt_block)
    /// does.
    #[inline]
    pub fn encrypt_block(&self, block: &mut [u8; 8]) {
        *block = self.encrypt_u64(u64::from_le_bytes(*block)).to_le_bytes();
    }

    /// Decrypts one block in place: the inverse of [`encrypt_block`](Self::encrypt_block).
    #[inline]
    pub fn decrypt_block(&self, block: &mut [u8; 8]) {
        *block = self.decrypt_u64(u64::from_le_bytes(*block)).to_le_bytes();
    }

    /// Encrypts the block whose bytes are the number's in little-endian order.
    #[inline]
    #[must_use]
    pub fn encrypt_u64(&self, block: u64) -> u64 {
        encrypt(&self.key, block)
    }

    /// Decrypts the block whose bytes are the number's in little-endian order: the inverse of
    /// [`encrypt_u64`](Self::encrypt_u64).
    #[must_use]
    pub fn decrypt_u64(&self, block: u64) -> u64 {
        let mut key = self.key;
        // Decryption needs the last round keys first, so the key state runs to its end before the
        // first round.
        for number in NUMBERS {
            key.permute(number);
        }
        let [mut branch, mut other] = whiten(load(block), &key);
        for number in NUMBERS.rev() {
            // An odd number is a left branch, an even one a right branch, behind which a step
            // ended.
            if number % 2 == 1 {
                (branch, other) = (other, branch);
            } else {
                // The linear layer; the exchange of branches is the one left out above.
                branch = mix(other, branch);
            }
            key.permute_inverse(number);
            let mut words = unpack(branch);
            for &round_key in key.of_branch().iter().rev() {
                words = add_key(arx_box_inverse(words), unpack(round_key));
            }
            branch = pack(words);
            key.keep_in_memory();
        }
        store([branch, other])
    }

    /// Encrypts each block of a slice, in place, one after the other.
    pub fn encrypt_blocks<B: CipherBlock>(&self, blocks: &mut [B]) {
        // Without vectors: this type is for processors that have none.
        B::with_bytes(blocks, |blocks| {
            for block in blocks {
                self.encrypt_block(block);
            }
        });
    }

    /// Decrypts each block of a slice, in place: the inverse of
    /// [`encrypt_blocks`](Self::encrypt_blocks).
    pub fn decrypt_blocks<B: CipherBlock>(&self, blocks: &mut [B]) {
        B::with_bytes(blocks, |blocks| {
            for block in blocks {
                self.decrypt_block(block);
            }
        });
    }
}

/// Portable code, for all processors without assembly of their own.
#[cfg(not(all(armv6m, not(miri))))]
#[inline]
fn encrypt(key: &KeyState, block: u64) -> u64 {
    // A copy to permute: the next block begins with the key itself again.
    let mut key = *key;
    let [mut branch, mut other] = load(block);
    let mut number: u16 = 0;
    for _step in 0..8 {
        // One branch after the other, so that its code is there once.
        for _branch in 0..2 {
            let mut words = unpack(branch);
            for &round_key in key.of_branch() {
                words = crate::round::arx_box(add_key(words, unpack(round_key)));
            }
            branch = pack(words);
            number = number.wrapping_add(1);
            key.permute(number);
            key.keep_in_memory();
            (branch, other) = (other, branch);
        }
        (branch, other) = (mix(branch, other), branch);
    }
    store(whiten([branch, other], &key))
}

#[inline]
fn whiten([left, right]: [Pair; 2], key: &KeyState) -> [Pair; 2] {
    let [left_key, right_key] = key.of_whitening();
    [left ^ left_key, right ^ right_key]
}

impl Drop for Sparx64OnTheFly {
    fn drop(&mut self) {
        self.key.wipe();
    }
}

/// Marks what holds without the feature too: the key is wiped on drop.
#[cfg(feature = "cipher")]
impl zeroize::ZeroizeOnDrop for Sparx64OnTheFly {}

/// Shows the name and nothing of the key.
impl fmt::Debug for Sparx64OnTheFly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sparx64OnTheFly").finish_non_exhaustive()
    }
}

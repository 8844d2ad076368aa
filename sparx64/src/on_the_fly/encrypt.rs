//! Encryption in portable code, for all processors without assembly of their own.

use super::whiten;
use crate::{
    round::{add_key, arx_box},
    schedule::KeyState,
    wide::{load, mix, pack, store, unpack},
};

const STEPS: u32 = 8;

#[inline]
pub(super) fn encrypt(key: &KeyState, block: u64) -> u64 {
    // A copy to permute: the next block begins with the key itself again.
    let mut key = *key;
    let [mut branch, mut other] = load(block);
    let mut number: u16 = 0;
    for _step in 0..STEPS {
        // One branch after the other, so that its code is there once.
        for _branch in 0..2 {
            let mut words = unpack(branch);
            for &round_key in key.of_branch() {
                words = arx_box(add_key(words, unpack(round_key)));
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

//! The data path: ARX-box, linear layer, and the cipher made of them, each beside its inverse.
//!
//! Source: Dinu et al., "Design Strategies for ARX with Provable Bounds: SPARX and LAX", ASIACRYPT
//! 2016; the designers' code is `cryptolu/SPARX: ref-c/sparx.c`, commit b795aa6. A block is two
//! branches of two 16-bit words. One of the eight steps, with the paper's letters:
//!
//! ```text
//!       left x y         right x y        A: x = (x >>> 7) + y
//!          │                 │               y = (y <<< 2) ^ x
//!      3 × (key, A)      3 × (key, A)
//!          ├───── L ────────>⊕            L: t = (x ^ y) <<< 8
//!          └──────╲ ╱────────┘               (x ^ t, y ^ t)
//!          ┌──────╱ ╲────────┐
//! ```
//!
//! After the last step the whole block is whitened with four words of key.
//!
//! The branches advance together, round by round, because the instructions come out in the order
//! of the source: with one branch written after the other a block took 10 % longer.

use core::iter::zip;

use crate::schedule::{RoundKey, Schedule};

/// The ARX-box `A`: a round of SPECK-32, less its key.
#[inline]
pub(crate) fn arx_box([x, y]: [u16; 2]) -> [u16; 2] {
    let x = x.rotate_right(7).wrapping_add(y);
    [x, y.rotate_left(2) ^ x]
}

#[inline]
fn arx_box_inverse([x, y]: [u16; 2]) -> [u16; 2] {
    let y = (y ^ x).rotate_right(2);
    [x.wrapping_sub(y).rotate_left(7), y]
}

#[inline]
fn add_key([x, y]: [u16; 2], [key_x, key_y]: RoundKey) -> [u16; 2] {
    [x ^ key_x, y ^ key_y]
}

/// `L_2`: a Feistel round, then the exchange of branches.
#[inline]
fn linear_layer([left, right]: [[u16; 2]; 2]) -> [[u16; 2]; 2] {
    [mix(left, right), left]
}

#[inline]
fn linear_layer_inverse([left, right]: [[u16; 2]; 2]) -> [[u16; 2]; 2] {
    [right, mix(right, left)]
}

/// Adds `L(from)` to `to`: its own inverse.
#[inline]
fn mix([x, y]: [u16; 2], [to_x, to_y]: [u16; 2]) -> [u16; 2] {
    let t = (x ^ y).rotate_left(8);
    [(x ^ t) ^ to_x, (y ^ t) ^ to_y]
}

#[inline]
pub(crate) fn encrypt(schedule: &Schedule, [a, b, c, d]: [u16; 4]) -> [u16; 4] {
    let mut state = [[a, b], [c, d]];
    for [left_keys, right_keys] in &schedule.steps {
        let [mut left, mut right] = state;
        for (left_key, right_key) in zip(left_keys, right_keys) {
            (left, right) = (add_key(left, *left_key), add_key(right, *right_key));
            (left, right) = (arx_box(left), arx_box(right));
        }
        state = linear_layer([left, right]);
    }
    whiten(schedule, state)
}

#[inline]
pub(crate) fn decrypt(schedule: &Schedule, [a, b, c, d]: [u16; 4]) -> [u16; 4] {
    let [a, b, c, d] = whiten(schedule, [[a, b], [c, d]]);
    let mut state = [[a, b], [c, d]];
    for [left_keys, right_keys] in schedule.steps.iter().rev() {
        let [mut left, mut right] = linear_layer_inverse(state);
        for (left_key, right_key) in zip(left_keys, right_keys).rev() {
            (left, right) = (arx_box_inverse(left), arx_box_inverse(right));
            (left, right) = (add_key(left, *left_key), add_key(right, *right_key));
        }
        state = [left, right];
    }
    let [[a, b], [c, d]] = state;
    [a, b, c, d]
}

#[inline]
fn whiten(schedule: &Schedule, [left, right]: [[u16; 2]; 2]) -> [u16; 4] {
    let [left_key, right_key] = schedule.whitening;
    let ([a, b], [c, d]) = (add_key(left, left_key), add_key(right, right_key));
    [a, b, c, d]
}

//! Slices of ids as slices of `i64` or of bytes, without a copy: in the machine's byte order.

#![expect(
    unsafe_code,
    reason = "the traits promise that each pattern of bits is a value"
)]

use bytemuck::{Pod, Zeroable};

use crate::{Bits64, Id, Kind};

// SAFETY: a transparent `i64`, for which zero is a value.
unsafe impl<K> Zeroable for Id<K> {}

// SAFETY: a transparent `i64`: without padding, without a pointer, and of this width each pattern
// of bits is a value.
unsafe impl<K: Kind<Width = Bits64>> Pod for Id<K> {}

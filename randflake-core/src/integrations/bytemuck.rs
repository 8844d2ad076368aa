//! Slices of ids as slices of `i64` or of bytes, without a copy: in the machine's byte order.

#![expect(
    unsafe_code,
    reason = "the traits promise that each pattern of bits is a value"
)]

use bytemuck::{Pod, Zeroable};

use crate::{Id, Typed};

// SAFETY: a transparent `i64`, for which zero is a value.
unsafe impl Zeroable for Id {}

// SAFETY: a transparent `i64`: without padding, without a pointer, and each pattern of bits is a value.
unsafe impl Pod for Id {}

// SAFETY: a transparent `Id`, which is `Zeroable`.
unsafe impl<K> Zeroable for Typed<K> {}

// SAFETY: a transparent `Id`, which is `Pod`; of `K` it has nothing.
unsafe impl<K: 'static> Pod for Typed<K> {}

use core::marker::PhantomData;

use super::{Layout, LayoutSpec};
use crate::Sparx64;

/// Any layout with its ids encrypted: same fields, epoch and ticks, and nothing to be seen of them.
///
/// It is also the way from plain ids to encrypted ones and back: the raw id of the encrypted id *is*
/// the plain id.
///
/// ```
/// use randflake_core::{Codec, Encrypted, Id, Plain, Snowflake, Sparx64};
///
/// let hidden = Codec::<Encrypted<Snowflake>>::new(Sparx64::new(&[7; 16]));
/// let plain = Codec::<Snowflake>::new(Plain);
///
/// let old = Id::from_u64(749_172_199_921_140_349);
/// let new = hidden.id(old.to_u64());
/// assert_ne!(new, old);
/// assert_eq!(hidden.inspect(new), plain.inspect(old));
/// assert_eq!(Id::from_u64(hidden.raw(new)), old);
/// ```
///
/// Plain and encrypted ids of one column may be equal by chance, once in 2^64 for each pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Encrypted<L>(PhantomData<L>);

impl<L: Layout> Layout for Encrypted<L> {
    type Permutation = Sparx64;

    const SPEC: LayoutSpec = L::SPEC;
}

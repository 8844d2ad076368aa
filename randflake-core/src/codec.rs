//! Conversion between fields and ids.

use core::time::Duration;

use crate::permutation::fill_ids;
use crate::{AnyLayout, FieldError, Id, LayoutSpec, Permutation, Run};

/// The fields of an id: time, node and sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parts {
    /// Ticks since the layout's epoch.
    pub tick: u64,
    /// Node id of the issuer.
    pub node_id: u32,
    /// Number of the id within its tick, from 0.
    pub sequence: u32,
}

/// Composes ids from fields and takes them apart: a layout with a keyed permutation.
///
/// Inspection is for debugging. Ids are not authenticated: every 64-bit number has fields.
///
/// ```
/// use randflake_core::{Codec, Parts, Randflake, Sparx64};
///
/// let codec = Codec::new(Randflake, Sparx64::new(&[7; 16]));
/// let parts = Parts { tick: 3_706_297, node_id: 42, sequence: 1 };
/// let id = codec.compose(parts)?;
/// assert_eq!(codec.inspect(id), parts);
/// assert_eq!(codec.unix_ms(id), 1_733_706_297_000);
/// # Ok::<(), randflake_core::FieldError>(())
/// ```
///
/// A codec of an encrypted layout and one of the same layout in plain translate between plain ids
/// and encrypted ones: the raw id of the encrypted id *is* the plain id.
///
/// ```
/// use randflake_core::{Codec, Id, Plain, Snowflake, Sparx64};
///
/// let hidden = Codec::new(Snowflake, Sparx64::new(&[7; 16]));
/// let plain = Codec::new(Snowflake, Plain);
///
/// let old = Id::from_u64(749_172_199_921_140_349);
/// let new = hidden.id(old.to_u64());
/// assert_ne!(new, old);
/// assert_eq!(hidden.inspect(new), plain.inspect(old));
/// assert_eq!(Id::from_u64(hidden.raw(new)), old);
/// ```
///
/// Plain and encrypted ids in one column may be equal by chance, once in 2^64 for each pair.
#[derive(Debug)]
pub struct Codec<L: AnyLayout, P = <L as AnyLayout>::Permutation> {
    layout: L,
    permutation: P,
}

impl<L: AnyLayout, P: Permutation> Codec<L, P> {
    /// Creates the codec of a layout with a permutation: that of the layout, or any other.
    pub const fn new(layout: L, permutation: P) -> Self {
        Self {
            layout,
            permutation,
        }
    }

    /// The layout of the ids.
    pub const fn layout(&self) -> L {
        self.layout
    }

    /// Permutation between raw and public ids.
    pub const fn permutation(&self) -> &P {
        &self.permutation
    }

    #[inline]
    fn spec(&self) -> LayoutSpec {
        self.layout.spec()
    }

    /// Composes the id with these fields. Nothing is masked: a field out of range is an error.
    ///
    /// # Errors
    ///
    /// [`FieldError`] names the field that is out of range and its largest value.
    pub fn compose(&self, parts: Parts) -> Result<Id, FieldError> {
        let Parts {
            tick,
            node_id,
            sequence,
        } = parts;
        let spec = self.spec();
        // Refused, never masked: a masked node id would be another node's, and its ids would
        // repeat.
        if tick > spec.max_tick() {
            return Err(FieldError::Timestamp {
                tick,
                max: spec.max_tick(),
            });
        }
        if node_id > spec.max_node_id() {
            return Err(FieldError::NodeId {
                value: node_id,
                max: spec.max_node_id(),
            });
        }
        if sequence > spec.max_sequence() {
            return Err(FieldError::Sequence {
                value: sequence,
                max: spec.max_sequence(),
            });
        }
        Ok(self.id(spec.pack(tick, node_id, u64::from(sequence))))
    }

    /// Composes an id from a time since the Unix epoch, rounded down to a tick, a node id and a
    /// sequence.
    ///
    /// # Errors
    ///
    /// As for `compose`, and [`FieldError::BeforeEpoch`].
    pub fn compose_at(
        &self,
        unix: Duration,
        node_id: u32,
        sequence: u32,
    ) -> Result<Id, FieldError> {
        // Only the time before the epoch: one past the last tick is refused by `compose`.
        let Some(tick) = self.spec().tick_at(unix) else {
            return Err(FieldError::BeforeEpoch {
                epoch_unix_ms: self.spec().epoch_unix_ms(),
            });
        };
        self.compose(Parts {
            tick,
            node_id,
            sequence,
        })
    }

    /// Takes an id apart. Bits that belong to no field are ignored.
    #[must_use]
    pub fn inspect(&self, id: Id) -> Parts {
        self.spec().unpack(self.raw(id))
    }

    /// Unix time in milliseconds at which the tick of an id began.
    #[must_use]
    pub fn unix_ms(&self, id: Id) -> u64 {
        self.spec().unix_ms(self.inspect(id).tick)
    }

    /// Decrypts an id to its raw form: the packed fields.
    #[must_use]
    #[inline]
    pub fn raw(&self, id: Id) -> u64 {
        self.permutation.invert(id.to_u64())
    }

    /// Encrypts a raw id: the inverse of [`raw`](Codec::raw).
    #[must_use]
    #[inline]
    pub fn id(&self, raw: u64) -> Id {
        Id::from_u64(self.permutation.permute(raw))
    }

    /// Fills a buffer with the ids of runs and returns how many were written, from the front.
    /// `take_run` is called with the number still wanted.
    ///
    /// # Errors
    ///
    /// The error of `take_run`, if nothing was filled. A later error only ends the filling; the
    /// next call meets it again.
    #[inline]
    pub fn fill_with<E>(
        &self,
        ids: &mut [Id],
        mut take_run: impl FnMut(u32) -> Result<Run<L>, E>,
    ) -> Result<usize, E> {
        let wanted = ids.len();
        let mut rest = ids;
        while !rest.is_empty() {
            // A run ends with its tick, so a long buffer takes several.
            let run = match take_run(u32::try_from(rest.len()).unwrap_or(u32::MAX)) {
                Ok(run) => run,
                // An error after some ids is dropped: they are good, and the next call meets the
                // error again.
                Err(error) if rest.len() == wanted => return Err(error),
                Err(_) => break,
            };
            rest = self.encode_run(run, rest);
        }
        Ok(wanted.saturating_sub(rest.len()))
    }

    /// Fills a buffer with the ids of a run of the same length.
    pub(crate) fn encode_raws(&self, run: Run<L>, ids: &mut [u64]) {
        // The step is a bit pattern, since the sequence need not be the lowest field (Sonyflake).
        let step = self.spec().pack(0, 0, 1);
        let mut next = run.first();
        for id in &mut *ids {
            *id = next;
            next = next.wrapping_add(step);
        }
        // Together: the vector backends encrypt up to 32 blocks in one pass.
        self.permutation.permute_all(ids);
    }

    /// Writes the ids of a run to the front of a buffer and returns the rest of it.
    fn encode_run<'a>(&self, run: Run<L>, ids: &'a mut [Id]) -> &'a mut [Id] {
        let (filled, rest) = ids.split_at_mut(run.len().min(ids.len()));
        // The sequences are in range, so no carry leaves their field.
        let step = self.spec().pack(0, 0, 1);
        fill_ids(&self.permutation, run.first(), step, filled);
        rest
    }
}

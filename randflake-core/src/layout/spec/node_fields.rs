//! Named parts of a layout's node id.

use super::{LayoutFields, LayoutSpec};
use crate::{FieldError, LayoutError};

impl LayoutSpec {
    /// Names the parts of the node id, the most significant first, each with a width in bits.
    ///
    /// # Errors
    ///
    /// [`LayoutError::NodeFields`] unless the parts are as wide together as the node id.
    pub const fn with_node_fields(
        self,
        node_fields: &'static [(&'static str, u32)],
    ) -> Result<Self, LayoutError> {
        // Loops over an index, as iterators do not work in a const fn.
        let mut bits: u32 = 0;
        let mut index: usize = 0;
        while index < node_fields.len() {
            bits = bits.saturating_add(node_fields[index].1);
            index = index.wrapping_add(1);
        }
        let node_bits = self.fields.node_id.bits;
        if bits != node_bits {
            return Err(LayoutError::NodeFields { bits, node_bits });
        }
        Ok(Self {
            node_fields,
            ..self
        })
    }

    /// Checks a declaration in a `const`, with names and widths in bits for the parts of the node
    /// id: so an id can say what business knows. Each combination of parts is a node id of its own.
    ///
    /// ```
    /// use randflake_core::{Codec, LayoutFields, Layout, Parts, Plain, LayoutSpec};
    ///
    /// /// 39 bits of 10 ms; region, kind of resource and machine; 3 of sequence.
    /// #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    /// struct Resource;
    ///
    /// impl Layout for Resource {
    ///     type Permutation = Plain;
    ///     const SPEC: LayoutSpec = LayoutSpec::declare_with_node_fields(
    ///         LayoutFields::in_order([39, 22, 3], 1_577_836_800_000, 10),
    ///         &[
    ///             ("region", 6),
    ///             ("resource type", 14),
    ///             ("machine", 2),
    ///         ],
    ///     );
    /// }
    ///
    /// let node_id = Resource::SPEC.node_id(&[7, 1_001, 2])?;
    /// let codec = Codec::new(Resource, Plain);
    /// let id = codec.compose(Parts { tick: 1, node_id, sequence: 5 })?;
    /// assert_eq!(id.to_u64(), 1 << 25 | 7 << 19 | 1_001 << 5 | 2 << 3 | 5);
    /// let parts: Vec<_> = Resource::SPEC.node_parts(codec.inspect(id).node_id).collect();
    /// assert_eq!(parts, [("region", 7), ("resource type", 1_001), ("machine", 2)]);
    /// # Ok::<(), randflake_core::FieldError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// As `declare`, and unless the parts are as wide together as the node id.
    #[must_use]
    #[expect(
        clippy::panic,
        reason = "evaluated at compile time, where a panic is the error"
    )]
    pub const fn declare_with_node_fields(
        fields: LayoutFields,
        node_fields: &'static [(&'static str, u32)],
    ) -> Self {
        match Self::declare(fields).with_node_fields(node_fields) {
            Ok(spec) => spec,
            Err(_) => panic!("the parts of the node id are not as wide as it is"),
        }
    }

    /// Name and width in bits of each part of the node id, the most significant first; none unless
    /// it was declared with some.
    #[must_use]
    pub const fn node_fields(&self) -> &'static [(&'static str, u32)] {
        self.node_fields
    }

    /// Composes a node id from a value for each part.
    ///
    /// # Errors
    ///
    /// [`FieldError::NodeParts`] unless there are as many values as parts, [`FieldError::NodePart`]
    /// for a value out of range.
    pub fn node_id(&self, values: &[u32]) -> Result<u32, FieldError> {
        if values.len() != self.node_fields.len() {
            return Err(FieldError::NodeParts {
                given: values.len(),
                parts: self.node_fields.len(),
            });
        }
        let mut node_id: u32 = 0;
        for (&(name, bits), &value) in self.node_fields.iter().zip(values) {
            let max = max_of(bits);
            if value > max {
                return Err(FieldError::NodePart { name, value, max });
            }
            // A single part of 32 bits is shifted by its whole width, which leaves nothing of the
            // zeros before it.
            node_id = node_id.checked_shl(bits).unwrap_or(0) | value;
        }
        Ok(node_id)
    }

    /// Name and value of each part of a node id of this layout.
    pub fn node_parts(&self, node_id: u32) -> impl Iterator<Item = (&'static str, u32)> + use<> {
        let mut left = self.fields.node_id.bits;
        self.node_fields.iter().map(move |&(name, bits)| {
            left = left.saturating_sub(bits);
            let value = node_id.checked_shr(left).unwrap_or(0) & max_of(bits);
            (name, value)
        })
    }
}

/// The largest number of so many bits.
const fn max_of(bits: u32) -> u32 {
    match u32::MAX.checked_shl(bits) {
        Some(above) => !above,
        None => u32::MAX,
    }
}

//! Widths, shifts, epoch and tick of a layout, and the arithmetic on them.

mod time;

use crate::{FieldError, LayoutError, Parts};

/// The unchecked declaration of a layout, for [`LayoutSpec::new`] or [`LayoutSpec::declare`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutFields {
    /// Ticks since the epoch: 1 to 63 bits.
    pub timestamp: Field,
    /// Issuer of the id: at most 32 bits.
    pub node_id: Field,
    /// Counter within a tick: at most 32 bits.
    pub sequence: Field,
    /// Unix time of tick 0, in milliseconds.
    pub epoch_unix_ms: u64,
    /// Length of a tick in milliseconds, at least 1.
    pub tick_ms: u64,
}

impl LayoutFields {
    /// Timestamp, node id and sequence from the highest bit down, with these widths in bits: the
    /// order of most layouts.
    ///
    /// ```
    /// use randflake_core::{Baidu, Layout, LayoutFields, LayoutSpec};
    ///
    /// let fields = LayoutFields::in_order([28, 22, 13], 1_463_673_600_000, 1_000);
    /// assert_eq!(LayoutSpec::new(fields)?, Baidu::SPEC);
    /// assert_eq!(
    ///     LayoutSpec::new(LayoutFields::in_order([41, 14, 12], 0, 1)).unwrap_err().to_string(),
    ///     "the timestamp, 41 bits shifted by 26, is not within the 64 bits of an id"
    /// );
    /// # Ok::<(), randflake_core::LayoutError>(())
    /// ```
    #[must_use]
    pub const fn in_order(
        [timestamp, node_id, sequence]: [u32; 3],
        epoch_unix_ms: u64,
        tick_ms: u64,
    ) -> Self {
        Self {
            timestamp: Field {
                bits: timestamp,
                // Saturates: the check of the layout refuses it.
                shift: node_id.saturating_add(sequence),
            },
            node_id: Field {
                bits: node_id,
                shift: sequence,
            },
            sequence: Field {
                bits: sequence,
                shift: 0,
            },
            epoch_unix_ms,
            tick_ms,
        }
    }

    /// Timestamp, node id and sequence, in this order wherever they lie in an id.
    #[must_use]
    pub const fn bit_fields(self) -> [Field; 3] {
        [self.timestamp, self.node_id, self.sequence]
    }
}

/// A checked [`LayoutFields`]: the fields lie inside 64 bits without overlap, and every tick has a
/// time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutSpec {
    fields: LayoutFields,
    /// Name and width of each part, the most significant first; none, or all the bits of the node
    /// id.
    node_fields: &'static [(&'static str, u32)],
}

impl LayoutSpec {
    /// Checks a declaration and makes a layout of it.
    ///
    /// # Errors
    ///
    /// [`LayoutError`] says which field is at fault and what is allowed.
    ///
    /// ```
    /// use randflake_core::{Field, LayoutFields, LayoutError, Layout, Snowflake, LayoutSpec};
    ///
    /// let mut fields = Snowflake::SPEC.fields();
    /// fields.node_id.bits = 11;
    /// assert_eq!(LayoutSpec::new(fields), Err(LayoutError::FieldsOverlap));
    /// ```
    pub const fn new(fields: LayoutFields) -> Result<Self, LayoutError> {
        let LayoutFields {
            timestamp,
            node_id,
            sequence,
            epoch_unix_ms,
            tick_ms,
        } = fields;
        // The `?` operator does not work in a const fn. 63, so that the number of ticks fits 64
        // bits; 32 for the others, which `Parts` holds in a `u32`.
        if let Err(error) = timestamp.check("timestamp", 63) {
            return Err(error);
        }
        if let Err(error) = node_id.check("node id", 32) {
            return Err(error);
        }
        if let Err(error) = sequence.check("sequence", 32) {
            return Err(error);
        }
        if timestamp.bits == 0 {
            return Err(LayoutError::NoTimestamp);
        }
        // Masks and not sums of widths: fields may stand in any order and leave gaps.
        if timestamp.mask() & node_id.mask() != 0
            || timestamp.mask() & sequence.mask() != 0
            || node_id.mask() & sequence.mask() != 0
        {
            return Err(LayoutError::FieldsOverlap);
        }
        if tick_ms == 0 {
            return Err(LayoutError::NoTick);
        }
        // The end of the last tick must have a time too: leases end there.
        let ticks = timestamp.max().saturating_add(1);
        match ticks.checked_mul(tick_ms) {
            Some(span_ms) if span_ms.checked_add(epoch_unix_ms).is_some() => Ok(Self {
                fields,
                node_fields: &[],
            }),
            _ => Err(LayoutError::TimeOverflow),
        }
    }

    /// Checks a declaration in a `const`, where a layout that cannot work is a compile error.
    ///
    /// # Panics
    ///
    /// When a field is too wide, outside the 64 bits or overlaps another, when the timestamp or the
    /// tick is empty, or when the last tick's time in milliseconds is over 64 bits. In a `const`
    /// that is a compile error; for a layout known only at run time use [`LayoutSpec::new`].
    #[must_use]
    #[expect(
        clippy::panic,
        reason = "evaluated at compile time, where a panic is the error"
    )]
    pub const fn declare(fields: LayoutFields) -> Self {
        match Self::new(fields) {
            Ok(spec) => spec,
            // A panic in a constant formats nothing, so each error has a text of its own here.
            Err(LayoutError::FieldTooWide { .. }) => panic!("a field of the layout is too wide"),
            Err(LayoutError::FieldOutside { .. }) => panic!("a field lies outside the 64 bits"),
            Err(LayoutError::FieldsOverlap) => panic!("two fields of the layout overlap"),
            Err(LayoutError::NoTimestamp) => panic!("the timestamp needs at least one bit"),
            Err(LayoutError::NoTick) => panic!("a tick lasts at least 1 ms"),
            Err(LayoutError::TimeOverflow) => panic!("the last tick is past 2^64 ms"),
            Err(_) => panic!("the layout cannot work"),
        }
    }

    /// The declaration that the layout was made of.
    #[must_use]
    #[inline]
    pub const fn fields(&self) -> LayoutFields {
        self.fields
    }

    /// Unix time of tick 0 in milliseconds.
    #[must_use]
    #[inline]
    pub const fn epoch_unix_ms(&self) -> u64 {
        self.fields.epoch_unix_ms
    }

    /// Length of a tick in milliseconds.
    #[must_use]
    #[inline]
    pub const fn tick_ms(&self) -> u64 {
        self.fields.tick_ms
    }

    /// Width of the sequence in bits.
    #[must_use]
    #[inline]
    pub const fn sequence_bits(&self) -> u32 {
        self.fields.sequence.bits
    }

    /// Number of bits of an id that the layout uses, from the lowest: no raw id reaches 2 to this
    /// power.
    ///
    /// ```
    /// use randflake_core::{Layout, Randflake, Randflake53, Snowflake};
    ///
    /// assert_eq!(Randflake::SPEC.bits(), 64);
    /// assert_eq!(Snowflake::SPEC.bits(), 63);
    /// assert_eq!(Randflake53::SPEC.bits(), 53);
    /// ```
    #[must_use]
    #[inline]
    pub const fn bits(&self) -> u32 {
        u64::BITS.saturating_sub(self.pack_max().leading_zeros())
    }

    /// Version of what a device gets a lease of this layout in: a grant in its memory, or a
    /// [`Ticket`](crate::Ticket). 2 for layouts of up to 53 bits, else 1.
    ///
    /// So firmware of ids of 64 bits takes no lease of a namespace whose ids have 53, nor the other
    /// way round: ids of both in one namespace might be equal.
    ///
    /// ```
    /// use randflake_core::{Layout, Randflake, Randflake53};
    ///
    /// assert_eq!(Randflake::SPEC.lease_version(), 1);
    /// assert_eq!(Randflake53::SPEC.lease_version(), 2);
    /// ```
    #[must_use]
    #[inline]
    pub const fn lease_version(&self) -> u8 {
        let LayoutFields {
            timestamp,
            node_id,
            sequence,
            ..
        } = self.fields;
        // Not `bits`, whose shifts a Cortex-M0 would call a function for.
        if timestamp.is_below(53) && node_id.is_below(53) && sequence.is_below(53) {
            2
        } else {
            1
        }
    }

    /// The raw id of which each field is the largest.
    const fn pack_max(&self) -> u64 {
        let LayoutFields {
            timestamp,
            node_id,
            sequence,
            ..
        } = self.fields;
        timestamp.mask() | node_id.mask() | sequence.mask()
    }

    /// Last tick of the layout.
    #[must_use]
    #[inline]
    pub const fn max_tick(&self) -> u64 {
        self.fields.timestamp.max()
    }

    /// Largest node id of the layout.
    #[must_use]
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the field has at most 32 bits"
    )]
    pub const fn max_node_id(&self) -> u32 {
        self.fields.node_id.max() as u32
    }

    /// The largest sequence: a node issues one id more than this in a tick.
    #[must_use]
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the field has at most 32 bits"
    )]
    pub const fn max_sequence(&self) -> u32 {
        self.fields.sequence.max() as u32
    }

    /// The raw id of fields that are in range.
    #[inline]
    pub(crate) const fn pack(&self, tick: u64, node_id: u32, sequence: u64) -> u64 {
        let fields = &self.fields;
        fields.timestamp.place(tick)
            // The callers have checked the ranges, so no field reaches into another.
            | fields.node_id.place(node_id as u64)
            | fields.sequence.place(sequence)
    }

    /// The fields of a raw id. Bits outside all fields are ignored.
    #[must_use]
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "both fields have at most 32 bits"
    )]
    pub const fn unpack(&self, raw: u64) -> Parts {
        let fields = &self.fields;
        Parts {
            tick: fields.timestamp.extract(raw),
            node_id: fields.node_id.extract(raw) as u32,
            sequence: fields.sequence.extract(raw) as u32,
        }
    }
}

/// A bit field of a raw id: `bits` wide, its lowest bit at position `shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Width of the field in bits.
    pub bits: u32,
    /// Position of the lowest bit, 0 being the least significant of the 64.
    pub shift: u32,
}

impl Field {
    /// The largest value that the field holds. A width of 64 or more gives `u64::MAX`.
    #[must_use]
    #[inline]
    pub const fn max(self) -> u64 {
        match u64::MAX.checked_shl(self.bits) {
            Some(above) => !above,
            // Rust refuses a shift by the whole width, which a field of 64 bits would need.
            None => u64::MAX,
        }
    }

    /// Whether all bits of the field are below one.
    pub(crate) const fn is_below(self, bit: u32) -> bool {
        self.bits.saturating_add(self.shift) <= bit
    }

    /// The bits that the field covers in a raw id.
    pub(crate) const fn mask(self) -> u64 {
        self.max().wrapping_shl(self.shift)
    }

    /// Shifts a value, at most [`max`](Field::max), to the position of the field.
    #[inline]
    pub(crate) const fn place(self, value: u64) -> u64 {
        value.wrapping_shl(self.shift)
    }

    /// The field's value in a raw id.
    #[inline]
    pub(crate) const fn extract(self, raw: u64) -> u64 {
        raw.wrapping_shr(self.shift) & self.max()
    }

    const fn check(self, name: &'static str, most: u32) -> Result<(), LayoutError> {
        if self.bits > most {
            return Err(LayoutError::FieldTooWide {
                name,
                bits: self.bits,
                most,
            });
        }
        // A field of 0 bits may lie anywhere, even behind the highest bit.
        if self.shift > 64 || self.bits.saturating_add(self.shift) > 64 {
            return Err(LayoutError::FieldOutside {
                name,
                bits: self.bits,
                shift: self.shift,
            });
        }
        Ok(())
    }
}

// Named parts of a layout's node id.

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

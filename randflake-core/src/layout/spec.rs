//! Widths, shifts, epoch and tick of a layout, and the arithmetic on them.

use core::time::Duration;

use crate::{FieldError, LayoutError, Parts};

/// A bit field of a raw id: `bits` wide, its lowest bit at position `shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Width in bits.
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
            None => u64::MAX,
        }
    }

    /// The bits that the field covers in a raw id.
    const fn mask(self) -> u64 {
        self.max().wrapping_shl(self.shift)
    }

    /// The value's bits at the field's place; the value is at most [`max`](Field::max).
    #[inline]
    const fn place(self, value: u64) -> u64 {
        value.wrapping_shl(self.shift)
    }

    /// The field's value in a raw id.
    #[inline]
    const fn extract(self, raw: u64) -> u64 {
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

/// A layout as written down; [`LayoutSpec::new`] or [`LayoutSpec::declare`] check it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutFields {
    /// Ticks since the epoch: 1 to 63 bits.
    pub timestamp: Field,
    /// Who issues: at most 32 bits.
    pub node_id: Field,
    /// Counts within a tick: at most 32 bits.
    pub sequence: Field,
    /// Unix time of tick 0, in milliseconds.
    pub epoch_unix_ms: u64,
    /// Length of a tick in milliseconds, at least 1.
    pub tick_ms: u64,
}

/// The largest number of so many bits.
const fn max_of(bits: u32) -> u32 {
    match u32::MAX.checked_shl(bits) {
        Some(above) => !above,
        None => u32::MAX,
    }
}

/// A checked [`LayoutFields`]: the fields lie inside 64 bits without overlap, and every tick has a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutSpec {
    fields: LayoutFields,
    /// Name and width of each part, the most significant first; none, or all the bits of the node id.
    node_fields: &'static [(&'static str, u32)],
}

const MS_PER_SECOND: u64 = 1_000;
const NANOS_PER_MS: u32 = 1_000_000;

impl LayoutSpec {
    /// Checks a layout.
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
        // The `?` operator does not work in a const fn.
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
        if timestamp.mask() & node_id.mask() != 0
            || timestamp.mask() & sequence.mask() != 0
            || node_id.mask() & sequence.mask() != 0
        {
            return Err(LayoutError::FieldsOverlap);
        }
        if tick_ms == 0 {
            return Err(LayoutError::NoTick);
        }
        let ticks = timestamp.max().saturating_add(1);
        match ticks.checked_mul(tick_ms) {
            Some(span_ms) if span_ms.checked_add(epoch_unix_ms).is_some() => Ok(Self {
                fields,
                node_fields: &[],
            }),
            _ => Err(LayoutError::TimeOverflow),
        }
    }

    /// The layout whose timestamp is above its node id, and that above its sequence, with widths in
    /// that order, as most are.
    ///
    /// ```
    /// use randflake_core::{Baidu, Layout, LayoutSpec};
    ///
    /// assert_eq!(LayoutSpec::in_order([28, 22, 13], 1_463_673_600_000, 1_000)?, Baidu::SPEC);
    /// assert_eq!(
    ///     LayoutSpec::in_order([41, 14, 12], 0, 1).unwrap_err().to_string(),
    ///     "the timestamp, 41 bits shifted by 26, is not within the 64 bits of an id"
    /// );
    /// # Ok::<(), randflake_core::LayoutError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`LayoutSpec::new`].
    pub const fn in_order(
        [timestamp, node_id, sequence]: [u32; 3],
        epoch_unix_ms: u64,
        tick_ms: u64,
    ) -> Result<Self, LayoutError> {
        Self::new(LayoutFields {
            timestamp: Field {
                bits: timestamp,
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
        })
    }

    /// [`LayoutSpec::new`] for a `const`: a layout that cannot work is a compile error.
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
            Err(LayoutError::FieldTooWide { .. }) => panic!("a field of the layout is too wide"),
            Err(LayoutError::FieldOutside { .. }) => panic!("a field lies outside the 64 bits"),
            Err(LayoutError::FieldsOverlap) => panic!("two fields of the layout overlap"),
            Err(LayoutError::NoTimestamp) => panic!("the timestamp needs at least one bit"),
            Err(LayoutError::NoTick) => panic!("a tick lasts at least 1 ms"),
            Err(LayoutError::TimeOverflow) => panic!("the last tick is past 2^64 ms"),
            Err(_) => panic!("the layout cannot work"),
        }
    }

    /// The same with parts of its node id, the most significant first: each has a name and a width in bits.
    ///
    /// # Errors
    ///
    /// [`LayoutError::NodeFields`] unless the parts are as wide together as the node id.
    pub const fn with_node_fields(
        self,
        node_fields: &'static [(&'static str, u32)],
    ) -> Result<Self, LayoutError> {
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

    /// [`declare`](LayoutSpec::declare) with parts of the node id, each with a name and a width in bits: what business
    /// knows, in the id. Each combination that issues is a node id of its own.
    ///
    /// ```
    /// use randflake_core::{Codec, Field, LayoutFields, Layout, Parts, Plain, LayoutSpec};
    ///
    /// /// 39 bits of 10 ms; region, kind of resource and machine; 3 of sequence.
    /// #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    /// struct Resource;
    ///
    /// impl Layout for Resource {
    ///     type Permutation = Plain;
    ///     const SPEC: LayoutSpec = LayoutSpec::declare_with_node_fields(
    ///         LayoutFields {
    ///             timestamp: Field { bits: 39, shift: 25 },
    ///             node_id: Field { bits: 22, shift: 3 },
    ///             sequence: Field { bits: 3, shift: 0 },
    ///             epoch_unix_ms: 1_577_836_800_000,
    ///             tick_ms: 10,
    ///         },
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

    /// Name and width in bits of each part of the node id, the most significant first; none unless it was declared
    /// with some.
    #[must_use]
    pub const fn node_fields(&self) -> &'static [(&'static str, u32)] {
        self.node_fields
    }

    /// The node id of a value for each part.
    ///
    /// # Errors
    ///
    /// [`FieldError::NodeParts`] unless there are as many values as parts, [`FieldError::NodePart`] for
    /// a value out of range.
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

    /// The declaration.
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

    /// The layout's last tick.
    #[must_use]
    #[inline]
    pub const fn max_tick(&self) -> u64 {
        self.fields.timestamp.max()
    }

    /// The largest node id.
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

    /// The tick at a time since the Unix epoch, or `None` before the layout's epoch. It may be past
    /// [`max_tick`](LayoutSpec::max_tick).
    ///
    /// ```
    /// use core::time::Duration;
    /// use randflake_core::{Layout, Randflake};
    ///
    /// let tick_at = |s| Randflake::SPEC.tick_at(Duration::from_secs(s));
    /// assert_eq!(tick_at(1_730_000_042), Some(42));
    /// assert_eq!(tick_at(1_729_999_999), None);
    /// ```
    #[must_use]
    #[inline]
    pub const fn tick_at(&self, unix: Duration) -> Option<u64> {
        let LayoutFields {
            epoch_unix_ms,
            tick_ms,
            ..
        } = self.fields;
        // The divisors are not zero: checked division leaves no panic in the code.
        if tick_ms.is_multiple_of(MS_PER_SECOND) && epoch_unix_ms.is_multiple_of(MS_PER_SECOND) {
            // No sub-second part is needed: for a constant layout this leaves one subtraction.
            return match unix.as_secs().checked_sub(epoch_unix_ms / MS_PER_SECOND) {
                Some(seconds) => seconds.checked_div(tick_ms / MS_PER_SECOND),
                None => None,
            };
        }
        match unix_ms(unix).checked_sub(epoch_unix_ms) {
            Some(ms) => ms.checked_div(tick_ms),
            None => None,
        }
    }

    /// The ticks from `start` to the one at a time since the Unix epoch; `None` before `start`.
    #[inline]
    pub(crate) const fn ticks_since(&self, start: u64, unix: Duration) -> Option<u64> {
        if self.fields.tick_ms == MS_PER_SECOND
            && let Some(start_s) = self.unix_s(start)
        {
            // For a constant layout one subtraction, where `tick_at` would make two.
            return unix.as_secs().checked_sub(start_s);
        }
        match self.tick_at(unix) {
            Some(tick) => tick.checked_sub(start),
            None => None,
        }
    }

    /// When a tick begins, as [`allows`](LayoutSpec::allows) is told it.
    #[inline]
    pub(crate) const fn begins(&self, tick: u64) -> u64 {
        match self.unix_s(tick) {
            Some(seconds) => seconds,
            None => self.unix_ms(tick),
        }
    }

    /// Whether the tick that is `elapsed` ticks after the one that [`begins`](LayoutSpec::begins) then is the one that a
    /// clock at `unix` shows, or at most `tolerance` ticks ahead of it: without a division by the tick's length.
    ///
    /// The answer may be `false` in the epoch's first second with a tolerance, after 292 million years, and for ticks
    /// of more than 24 days.
    #[inline]
    pub(crate) const fn allows(
        &self,
        begins: u64,
        elapsed: u64,
        tolerance: u32,
        unix: Duration,
    ) -> bool {
        // With these, what is compared is the difference of two numbers below 2^63.
        const MOST_S: u64 = (1 << 63) / MS_PER_SECOND - 1;
        const MOST_LENGTH: u64 = 1 << 31;
        let LayoutFields {
            epoch_unix_ms,
            tick_ms,
            ..
        } = self.fields;
        let seconds = unix.as_secs();
        // Without tolerance a time before the epoch is before the lease as well.
        let is_before_epoch = tolerance > 0 && seconds < epoch_unix_ms.div_ceil(MS_PER_SECOND);
        if seconds > MOST_S || is_before_epoch || tick_ms > MOST_LENGTH {
            return false;
        }
        let (now, length) = if self.unix_s(0).is_some() {
            (seconds, tick_ms / MS_PER_SECOND)
        } else {
            (unix_ms(unix), tick_ms)
        };
        let last = length.wrapping_sub(1);
        let most = (tolerance as u64).wrapping_mul(length).wrapping_add(last);
        // Ticks after the lease may wrap here.
        let ends = begins
            .wrapping_add(elapsed.wrapping_mul(length))
            .wrapping_add(last);
        ends.wrapping_sub(now) <= most
    }

    /// The Unix time in milliseconds at which a tick begins; saturates for ticks that no layout has.
    #[must_use]
    #[inline]
    pub const fn unix_ms(&self, tick: u64) -> u64 {
        tick.saturating_mul(self.fields.tick_ms)
            .saturating_add(self.fields.epoch_unix_ms)
    }

    /// The first tick that begins at a whole second of Unix time or later.
    pub(crate) const fn tick_from(&self, unix_s: u32) -> u64 {
        let unix_s = unix_s as u64;
        let Some(tick) = self.tick_at(Duration::from_secs(unix_s)) else {
            return 0;
        };
        let began_before = match self.unix_s(tick) {
            Some(began_s) => began_s < unix_s,
            None => self.unix_ms(tick) < unix_s.saturating_mul(MS_PER_SECOND),
        };
        tick.saturating_add(began_before as u64)
    }

    /// The first whole second of Unix time at which a tick begins, or has begun.
    pub(crate) const fn unix_s_from(&self, tick: u64) -> u64 {
        match self.unix_s(tick) {
            Some(seconds) => seconds,
            None => self.unix_ms(tick).div_ceil(MS_PER_SECOND),
        }
    }

    /// Milliseconds from `now` until a tick begins, rounded up; 0 when it has begun.
    #[inline]
    pub(crate) const fn ms_until(&self, tick: u64, now: Duration) -> u64 {
        let Some(begins_s) = self.unix_s(tick) else {
            return self.unix_ms(tick).saturating_sub(unix_ms(now));
        };
        match begins_s.checked_sub(now.as_secs()) {
            Some(seconds) => ms(seconds).saturating_sub(sub_second_ms(now)),
            None => 0,
        }
    }

    /// Milliseconds since a tick began, rounded down; 0 when it is still to come.
    #[inline]
    pub(crate) const fn ms_since(&self, tick: u64, now: Duration) -> u64 {
        let Some(begun_s) = self.unix_s(tick) else {
            return unix_ms(now).saturating_sub(self.unix_ms(tick));
        };
        match now.as_secs().checked_sub(begun_s) {
            Some(seconds) => ms(seconds).saturating_add(sub_second_ms(now)),
            None => 0,
        }
    }

    /// The second of Unix time at which a tick begins, in layouts whose ticks begin with seconds.
    #[inline]
    const fn unix_s(&self, tick: u64) -> Option<u64> {
        let LayoutFields {
            epoch_unix_ms,
            tick_ms,
            ..
        } = self.fields;
        if !tick_ms.is_multiple_of(MS_PER_SECOND) || !epoch_unix_ms.is_multiple_of(MS_PER_SECOND) {
            return None;
        }
        Some(
            tick.saturating_mul(tick_ms / MS_PER_SECOND)
                .saturating_add(epoch_unix_ms / MS_PER_SECOND),
        )
    }

    /// The raw id of fields that are in range.
    #[inline]
    pub(crate) const fn pack(&self, tick: u64, node_id: u32, sequence: u64) -> u64 {
        let fields = &self.fields;
        fields.timestamp.place(tick)
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

/// Whole milliseconds; saturates after 584 million years.
#[inline]
const fn unix_ms(unix: Duration) -> u64 {
    unix.as_secs()
        .saturating_mul(MS_PER_SECOND)
        .saturating_add((unix.subsec_nanos() / NANOS_PER_MS) as u64)
}

/// Seconds in milliseconds; saturates. It multiplies 16 and 32 bits at a time: for 64, small processors call a
/// function.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "takes parts")]
const fn ms(seconds: u64) -> u64 {
    const MS: u32 = MS_PER_SECOND as u32;
    if seconds > u64::MAX / MS_PER_SECOND {
        return u64::MAX;
    }
    let lowest = (seconds as u32 & 0xffff).wrapping_mul(MS);
    let low = (seconds as u32 >> 16).wrapping_mul(MS);
    let high = ((seconds >> 32) as u32).wrapping_mul(MS);
    (lowest as u64)
        .wrapping_add((low as u64) << 16)
        .wrapping_add((high as u64) << 32)
}

/// The milliseconds of a second that have passed: what a division by 1,000,000 would give, for which small
/// processors call a function.
#[inline]
const fn sub_second_ms(unix: Duration) -> u64 {
    // 1,000,000 is 64 * 15,625, and 4,294 / 2^16 a little less than 1,024 / 15,625.
    let nanos_64 = unix.subsec_nanos() >> 6;
    let ms = (nanos_64 >> 10).wrapping_mul(4_294) >> 16;
    let is_one_more = nanos_64.wrapping_sub(ms.wrapping_mul(15_625)) >= 15_625;
    ms.wrapping_add(is_one_more as u32) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_multiplied_as_in_64_bits() {
        let edges = [
            0,
            1,
            0xffff,
            0x1_0000,
            u64::from(u32::MAX),
            1 << 32,
            u64::MAX / 1_000,
        ];
        for near in edges {
            for seconds in near.saturating_sub(2)..=near.saturating_add(2) {
                assert_eq!(ms(seconds), seconds.saturating_mul(1_000), "{seconds}");
            }
        }
        assert_eq!(ms(u64::MAX), u64::MAX);
    }

    #[test]
    fn milliseconds_of_a_second_are_divided_exactly() {
        for ms in 0..1_000 {
            let begins = ms * NANOS_PER_MS;
            for nanos in [begins, begins + 63, begins + NANOS_PER_MS - 1] {
                assert_eq!(sub_second_ms(Duration::new(0, nanos)), u64::from(ms));
            }
        }
    }
}

//! A bit field of a raw id.

use crate::LayoutError;

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

    pub(super) const fn check(self, name: &'static str, most: u32) -> Result<(), LayoutError> {
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

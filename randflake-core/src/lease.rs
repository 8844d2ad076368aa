//! The right to issue: one node id for an interval of ticks.

use crate::{AnyLayout, LeaseError};

/// A node id and the half-open interval of ticks in which it may be used.
///
/// Uniqueness rests on one thing alone: all leases ever granted for a node id are disjoint. A lease
/// store ensures that; a program that makes leases itself must.
///
/// ```
/// use randflake_core::{Lease, LeaseError, Randflake};
///
/// let lease = Lease::new(Randflake, 42, 1_000, 1_060)?;
/// assert_eq!((lease.node_id(), lease.start(), lease.end()), (42, 1_000, 1_060));
/// assert_eq!(
///     Lease::new(Randflake, 131_072, 1_000, 1_060).unwrap_err().to_string(),
///     "node id 131072 is out of range: 0 to 131071 are allowed"
/// );
/// # Ok::<(), LeaseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease<L> {
    node_id: u32,
    start: u64,
    end: u64,
    layout: L,
}

impl<L> Lease<L> {
    /// Node id, start and end.
    #[cfg(feature = "defmt")]
    // For a `Format` that does not ask for one of the layout.
    pub(crate) const fn parts(&self) -> (u32, u64, u64) {
        (self.node_id, self.start, self.end)
    }
}

impl<L: AnyLayout> Lease<L> {
    /// The lease of a node id from tick `start` until before tick `end`, both since the layout's
    /// epoch.
    ///
    /// # Errors
    ///
    /// [`LeaseError::NodeId`] when the layout has no such node id, [`LeaseError::Empty`] unless
    /// `start < end`, [`LeaseError::BeyondLayout`] when `end` is past the layout's last tick + 1.
    #[inline]
    pub fn new(layout: L, node_id: u32, start: u64, end: u64) -> Result<Self, LeaseError> {
        let spec = layout.spec();
        let max_end = spec.max_tick().saturating_add(1);
        if node_id > spec.max_node_id() {
            return Err(LeaseError::NodeId {
                value: node_id,
                max: spec.max_node_id(),
            });
        }
        if start >= end {
            return Err(LeaseError::Empty { start, end });
        }
        // One past the last tick is allowed, as the end is exclusive.
        if end > max_end {
            return Err(LeaseError::BeyondLayout { end, max: max_end });
        }
        Ok(Self {
            node_id,
            start,
            end,
            layout,
        })
    }

    /// Decodes a grant as `randflake lease provision` writes it into a device: node id, first tick,
    /// first tick after the grant, and the [version](crate::LayoutSpec::lease_version), each a
    /// little-endian word.
    ///
    /// ```
    /// use randflake_core::{Lease, LeaseError, Randflake};
    ///
    /// let flash = [42, 0, 0, 0, 0xe8, 0x03, 0, 0, 0x24, 0x04, 0, 0, 1, 0, 0, 0];
    /// let words: [[u8; 4]; 4] = flash.as_chunks().0.try_into()?;
    /// let grant = Lease::from_words(Randflake, words.map(u32::from_le_bytes))?;
    /// assert_eq!((grant.node_id(), grant.start(), grant.end()), (42, 1_000, 1_060));
    ///
    /// let blank = Lease::from_words(Randflake, [u32::MAX; 4]);
    /// assert_eq!(blank, Err(LeaseError::NotProvisioned));
    /// let later = Lease::from_words(Randflake, [42, 1_000, 1_060, 2]);
    /// assert_eq!(later, Err(LeaseError::GrantVersion { found: 2 }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LeaseError::NotProvisioned`] when all bits are ones or all are zeros, as in memory that
    /// nobody wrote; [`LeaseError::GrantVersion`] when it has another version than that of the
    /// layout, whatever the other words are; otherwise as for [`new`](Lease::new).
    #[inline]
    pub fn from_words(layout: L, words: [u32; 4]) -> Result<Self, LeaseError> {
        let [node_id, start, end, found] = words;
        // Not a comparison of arrays, which would be a call of `memcmp`.
        if node_id & start & end & found == u32::MAX || node_id | start | end | found == 0 {
            return Err(LeaseError::NotProvisioned);
        }
        if found != u32::from(layout.spec().lease_version()) {
            return Err(LeaseError::GrantVersion { found });
        }
        Self::new(layout, node_id, start.into(), end.into())
    }

    /// Rebuilds a lease from parts that [`new`](Lease::new) has accepted before.
    pub(crate) const fn checked_before(layout: L, node_id: u32, start: u64, end: u64) -> Self {
        Self {
            node_id,
            start,
            end,
            layout,
        }
    }

    /// Layout whose ids may be issued under the lease.
    #[must_use]
    pub const fn layout(&self) -> L {
        self.layout
    }

    /// Node id that the lease is for.
    #[must_use]
    pub const fn node_id(&self) -> u32 {
        self.node_id
    }

    /// First tick of the lease.
    #[must_use]
    pub const fn start(&self) -> u64 {
        self.start
    }

    /// The first tick after the lease.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// Number of ticks of the lease.
    #[must_use]
    pub const fn ticks(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

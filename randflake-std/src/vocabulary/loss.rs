//! Reasons for which leases are lost.

/// Reason why a holder has lost its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Loss {
    /// The lease expired before it was renewed; another holder may have the node id since.
    Expired,
    /// The lease was released by somebody else, such as an operator.
    Released,
    /// A copy of this process has renewed the lease: both have issued the same ids since they were copied.
    Contested,
    /// The store has forgotten the lease, or the whole namespace, before it expired. Nothing is granted until
    /// everything that it may have forgotten has expired.
    Forgotten,
}

impl Loss {
    /// All reasons, for counters that begin at zero.
    pub(crate) const ALL: [Self; 4] = [
        Self::Expired,
        Self::Released,
        Self::Contested,
        Self::Forgotten,
    ];

    /// Name of the reason for logs and metrics: `expired`, `released`, `contested` or `forgotten`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Released => "released",
            Self::Contested => "contested",
            Self::Forgotten => "forgotten",
        }
    }
}

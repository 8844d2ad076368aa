//! Reasons for which leases are lost, and their counts.

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
    pub const ALL: [Self; 4] = [
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

/// Number of leases that a handle has lost, by reason: see [`Loss`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Losses {
    /// Expired before they were renewed: the store did not answer in time, or the process stood still.
    pub expired: u64,
    /// Released by somebody else, such as an operator.
    pub released: u64,
    /// Renewal by a copy of this process: both have issued the same ids since the copy was made. Above 0, an
    /// operator must act: see [`Loss::Contested`].
    pub contested: u64,
    /// Forgotten by the store before they expired. Above 0, an operator must act: see [`Loss::Forgotten`].
    pub forgotten: u64,
}

impl Losses {
    /// Counts one more loss of a reason.
    pub fn count(&mut self, loss: Loss) {
        let count = match loss {
            Loss::Expired => &mut self.expired,
            Loss::Released => &mut self.released,
            Loss::Contested => &mut self.contested,
            Loss::Forgotten => &mut self.forgotten,
        };
        *count += 1;
    }
}

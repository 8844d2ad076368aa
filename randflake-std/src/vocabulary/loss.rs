//! Why a lease was lost.

/// Why a lease is not its holder's any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Loss {
    /// It has expired.
    Expired,
    /// It was released, or another holder has the node id.
    Released,
    /// A copy of this process has renewed it: both have issued the same ids since they were copied.
    Contested,
    /// The store has forgotten it before it expired, or the whole namespace, or has another one in its place. Nothing is
    /// granted until all that it may have forgotten has expired.
    Forgotten,
}

impl Loss {
    /// Every one, for counters that begin at zero.
    pub(crate) const ALL: [Self; 4] = [
        Self::Expired,
        Self::Released,
        Self::Contested,
        Self::Forgotten,
    ];

    /// In a word, for logs and metrics: `expired`, `released`, `contested` or `forgotten`.
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

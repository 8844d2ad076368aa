//! How many leases were lost, and why.

use crate::vocabulary::Loss;

/// How many leases a handle has lost, by reason: see [`Loss`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Losses {
    /// They expired before they were renewed: the store did not answer in time, or the process stood still.
    pub expired: u64,
    /// Somebody else released them, or they expired and another holder took the node id.
    pub released: u64,
    /// A copy of this process had renewed them: both have issued the same ids since the copy was made. Above 0, an operator
    /// must look: see [`Loss::Contested`].
    pub contested: u64,
    /// The store had forgotten them before they expired. Above 0, an operator must look: see [`Loss::Forgotten`].
    pub forgotten: u64,
}

impl Losses {
    pub(super) fn count(&mut self, loss: Loss) {
        let count = match loss {
            Loss::Expired => &mut self.expired,
            Loss::Released => &mut self.released,
            Loss::Contested => &mut self.contested,
            Loss::Forgotten => &mut self.forgotten,
        };
        *count += 1;
    }
}

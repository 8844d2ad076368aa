//! Counts of lost leases, by reason.

use crate::vocabulary::Loss;

/// Number of leases that a handle has lost, by reason: see [`Loss`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Losses {
    /// Expired before they were renewed: the store did not answer in time, or the process stood still.
    pub expired: u64,
    /// Released by somebody else, such as an operator.
    pub released: u64,
    /// Renewed by a copy of this process: both have issued the same ids since the copy was made. Above 0, an
    /// operator must act: see [`Loss::Contested`].
    pub contested: u64,
    /// Forgotten by the store before they expired. Above 0, an operator must act: see [`Loss::Forgotten`].
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

//! The protocol as it is, and what becomes of it when one rule is left out.

/// A rule that is broken. All else is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// A lease is free when the new one would not begin before it: the rule of the 1.x packages.
    StartAfterLastStart,
    /// A renewal moves the node id's end, whoever has it now.
    RenewWithoutCompare,
    /// A holder goes on with what it has released.
    IssueAfterRelease,
    /// A restarted process goes on with the lease that it had.
    RestartOnOldInterval,
    /// A repeated acquire is answered whoever asks, so that two processes may have one token.
    AnswerAnyHolder,
    /// A store that lost all its leases grants at once.
    FlushWithoutFence,
    /// A replica that was promoted, or a backup that was restored, grants at once.
    PromotionWithoutFence,
    /// What a promoted replica knows of leases may be renewed there.
    RenewAfterPromotion,
    /// After a loss a store waits for the longest TTL by its own clock, which may have been far ahead.
    FenceByClockAlone,
}

impl Flaw {
    pub(crate) const ALL: [Self; 9] = [
        Self::StartAfterLastStart,
        Self::RenewWithoutCompare,
        Self::IssueAfterRelease,
        Self::RestartOnOldInterval,
        Self::AnswerAnyHolder,
        Self::FlushWithoutFence,
        Self::PromotionWithoutFence,
        Self::RenewAfterPromotion,
        Self::FenceByClockAlone,
    ];
}

/// What the model does.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    pub(crate) flaw: Option<Flaw>,
    /// How many ticks the store's clock goes back at most; `None`: it may show anything at any time.
    pub(crate) store_steps_back: Option<u8>,
}

impl Rules {
    pub(crate) fn has(self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }
}

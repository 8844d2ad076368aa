//! The events that the model allows, and the rule that it leaves out.

/// A rule that is broken. All else is as it is shipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// A lease is free when the new one would not begin before it: the rule of the 1.x packages.
    StartAfterLastStart,
    /// A renewal moves the node id's end, no matter who has it now.
    RenewWithoutCompare,
    /// A holder goes on with what it has released.
    IssueAfterRelease,
    /// A restarted process goes on with the lease that it had.
    RestartOnOldInterval,
    /// A repeated acquire is answered no matter who asks, so two copies get one lease.
    ClaimWithoutNonce,
    /// A store that lost all its leases grants at once.
    FlushWithoutQuarantine,
    /// A replica that was promoted, or a backup that was restored, grants at once.
    PromotionWithoutQuarantine,
    /// After a loss a store waits for the longest TTL by its own clock, which may have been far
    /// ahead.
    QuarantineByClockAlone,
    /// Chosen node ids have other records than free ones.
    ChosenFromOtherRecords,
    /// A namespace serves every layout.
    TermsNotCompared,
    /// A renewal does not say what the last one gave.
    CopiesNotTold,
    /// After a loss a store waits for the newcomer's longest TTL.
    QuarantineOfTheNewcomer,
    /// A live lease that the store does not know any more says nothing of others.
    VanishedWithoutQuarantine,
    /// The mark of a drop does not wait for leases that were renewed while the drop was on its way.
    DropWithoutLook,
    /// What a drop leaves is removed, though the namespace was opened again.
    RemovedWithoutMark,
    /// A namespace is declared new though it has granted leases.
    DeclaredAfterGrants,
    /// A record in the place of one that was seen passes for its successor, however old it is.
    OlderFollows,
    /// Of several node ids that are acquired at once only the first is looked at.
    FirstIsFreeForAll,
    /// Leases that are renewed together are renewed or lost as the first one is.
    RenewedAsOne,
    /// A store that is made in the place of another grants at once.
    GrantsWhenMade,
    /// A holder does not look whether its store is still there.
    NeverLooks,
}

/// What was there before a world begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// Nothing.
    Empty,
    /// The namespace's record, in the replica too.
    Made,
    /// The same, where it matters when records were made.
    Timed,
    /// A record that was made after a loss; the replica has one from before.
    MadeAgain,
    /// The mark of a drop, which the processes have seen; the replica has an earlier record.
    Dropped,
}

impl Begin {
    /// Whether records of several origins are there, so that their times matter.
    pub(crate) fn has_past(self) -> bool {
        matches!(self, Self::Timed | Self::MadeAgain | Self::Dropped)
    }

    /// What the machines' clocks show: late enough that a store's clock can be behind.
    pub(crate) fn time(self) -> u8 {
        match self {
            Self::Empty | Self::Made | Self::Timed => 2,
            Self::MadeAgain => 8,
            Self::Dropped => 9,
        }
    }
}

/// Behaviour of the clocks of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clocks {
    /// The store's shows any of these ticks at any time, and machines' clocks show anything. The
    /// engine keeps the latest end of all leases where no loss reaches it.
    Any(&'static [u8]),
    /// Machines' clocks show the time, from 2 to this tick. The store's may show any, and nothing
    /// is known of forgotten leases.
    MachinesAgree(u8),
    /// The store is in a file: all read one clock, from 2 to this tick, and nothing is known of
    /// forgotten leases. Each holder looks at the file before a tick ends.
    OneMachine(u8),
}

/// How a store loses leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// All is gone, and the engine notices.
    Flush,
    /// It goes on with what a replica or a backup has, and the engine notices.
    Promote,
    /// The same, and the engine does not notice.
    Restore,
    /// Another one is made in its place, which knows nothing of it.
    Replace,
}

/// A world that the model explores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) flaw: Option<Flaw>,
    pub(crate) clocks: Clocks,
    pub(crate) losses: &'static [Loss],
    /// How many are begun by all processes.
    pub(crate) acquires: u8,
    /// Messages are lost or late, and processes crash.
    pub(crate) faults: bool,
    /// Once, one process becomes a copy of the other.
    pub(crate) copies: bool,
    /// Somebody drops the namespace, or declares it new.
    pub(crate) operator: bool,
    pub(crate) begin: Begin,
    /// How many node ids the first process asks for at once, and how many leases a process holds at
    /// most: at most 2.
    pub(crate) at_once: u8,
    pub(crate) most_held: u8,
    /// Number of node ids, at most 2.
    pub(crate) node_ids: u8,
    /// What the namespace means to each process: see [`terms`](crate::records::terms).
    pub(crate) terms: [u8; 2],
}

impl Rules {
    pub(crate) fn has_any_clocks(self) -> bool {
        matches!(self.clocks, Clocks::Any(_))
    }

    pub(crate) fn has(self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }
}

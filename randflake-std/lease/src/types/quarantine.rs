//! Quarantine: a time without grants.

use core::fmt::{self, Display, Formatter};
use core::time::Duration;

use crate::date::utc;

/// A time without grants. Leases that the store knows can be renewed meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quarantine {
    /// When it began by the store's clock, as time since the Unix epoch.
    pub since: Duration,
    /// When it ends by the store's clock.
    pub until: Duration,
    /// Cause of the quarantine.
    pub cause: QuarantineCause,
}

/// Cause of a [`Quarantine`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QuarantineCause {
    /// The store has no record of the namespace: it is new, or the store has lost it. Nothing tells which.
    #[default]
    New,
    /// The store was restarted, restored, replaced or failed over, and may have forgotten leases.
    Lost,
    /// An operator asked for it: [`start_quarantine`](crate::Administration::start_quarantine).
    Asked,
    /// The namespace was dropped, and leases of then may still be in use.
    Dropped,
    /// The store in a file was made a moment ago, and a holder in a store that was there before may not have noticed yet:
    /// it waits for the next tick, or for 3 s. Builds of handles wait for that without being asked to.
    Young,
}

impl Quarantine {
    /// What an operator may do instead of waiting.
    pub(crate) fn otherwise(&self) -> &'static str {
        match self.cause {
            QuarantineCause::New => {
                ", or run `randflake lease init` if no lease was ever granted in this namespace"
            }
            _ => "",
        }
    }
}

impl Display for Quarantine {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (since, until) = (utc(self.since), utc(self.until));
        match self.cause {
            QuarantineCause::New => write!(
                f,
                "the namespace is new to this store since {since}. A new server or file looks like one that has lost its data, so \
                 nothing is granted until {until}, when any lease that may have been forgotten has expired"
            ),
            QuarantineCause::Lost => write!(
                f,
                "the store may have forgotten leases, because it was restarted, restored, replaced or failed over (noticed \
                 {since}): nothing is granted until {until}, when all of them have expired"
            ),
            QuarantineCause::Asked => write!(
                f,
                "an operator has set a quarantine (`randflake lease quarantine`, {since}): nothing is granted until {until}"
            ),
            QuarantineCause::Dropped => write!(
                f,
                "the namespace was dropped, and opened again at {since}: nothing is granted until {until}, when every \
                 lease from before has expired"
            ),
            QuarantineCause::Young => write!(
                f,
                "the store was made a moment ago ({since}), perhaps in the place of another one: nothing is granted until \
                 {until}, when holders of that one have noticed"
            ),
        }
    }
}

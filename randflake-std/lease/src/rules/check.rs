//! The rule of a look at leases between renewals.

use super::renew::{CurrentLease, renew};
use super::{Caller, View};
use crate::types::Loss;

/// What a holder learns of its leases by a look, which writes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseCheck {
    /// Why each lease is lost, or `None` if a renewal would renew it.
    pub losses: Vec<Option<Loss>>,
    /// Whether a renewal would write something for all clients of the namespace, such as a quarantine, or be refused: so
    /// it is not to wait for its time.
    pub is_urgent: bool,
}

/// Checks leases as a renewal does, which is not made.
#[must_use]
pub fn check(view: &View, leases: &[CurrentLease], ttl: u64, caller: &Caller<'_>) -> LeaseCheck {
    let decision = renew(view, leases, ttl, caller);
    let is_quarantine = decision.change.namespace_after.is_some();
    match decision.answer {
        Ok(outcomes) => LeaseCheck {
            losses: outcomes.into_iter().map(Result::err).collect(),
            is_urgent: is_quarantine,
        },
        Err(_) => LeaseCheck {
            losses: vec![None; leases.len()],
            is_urgent: true,
        },
    }
}

impl LeaseCheck {
    /// Whether the store is as it was, as far as these leases tell.
    #[must_use]
    pub fn is_same(&self) -> bool {
        !self.is_urgent && self.losses.iter().all(Option::is_none)
    }
}

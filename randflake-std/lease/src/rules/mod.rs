//! The rules of leases, once: pure functions over what a store holds.
//!
//! A store keeps texts under [`Key`]s, and writes them *if what was read has not changed*. All else
//! is here: how texts become records and free node ids are found, what a namespace means
//! ([`Terms`](crate::types::Terms)), who gets a node id (`acquire`), how long it lasts (`renew`),
//! how it ends (`release`), and when nothing is granted ([`NamespaceState`]). None of it uses a
//! clock, a random source or an engine's type, so the model checker runs exactly this.
//!
//! The promise: **for one node id, all granted intervals of ticks are disjoint**, over all holders
//! and restarts, under any clock.

mod acquire;
mod administration;
mod caller;
mod claim;
pub mod counter;
mod current_lease;
pub(crate) mod device;
pub(crate) mod history;
mod keys;
mod namespace_state;
mod record;
pub(crate) mod search;
#[cfg(test)]
mod tests;
mod text;
mod view;

pub use acquire::{Acquire, acquire};
pub use administration::next_key;
pub use administration::{announce, raise, withdraw};
pub use administration::{
    create, declare_moved, drop_namespace, end_quarantine, outlast, override_quarantine,
    quarantine, reopen,
};
pub use caller::Observed;
pub use caller::{Caller, ClockWindow};
pub use claim::SecretClaim;
pub use counter::{CounterRecord, CounterView};
pub use current_lease::release;
pub use current_lease::{CurrentLease, renew};
pub use current_lease::{LeaseCheck, check};
pub use device::DeviceRecord;
pub use history::HistoryLink;
pub use keys::{Before, Entry, Key, Keys, Removal, Write};
pub use namespace_state::NamespaceState;
pub use namespace_state::youth;
pub use record::{NamespaceRecord, NodeRecord, QuarantineReason, Versions};
pub use text::{Form, VERSION, newer};
pub use view::StoreTime;
pub use view::read as read_clock;
pub use view::{Change, Decision, NodeChange, WriteOutcome};
pub use view::{Continuity, Demand, Node, View};

pub use crate::types::{KeyCheck, Loss, Terms};

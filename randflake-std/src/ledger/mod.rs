//! The rules of leases, once: pure functions over what a store holds.
//!
//! An [`Engine`] keeps texts under keys, and writes them *if what was read has not changed*. All else is here: how
//! texts become [`Records`] and free node ids are found, what a namespace means ([`Terms`]), who gets a node id
//! (`acquire`), how long it lasts (`renew`), how it ends (`release`), and when nothing is granted ([`Standing`]). None of
//! it uses a clock, a random source or an engine's type, so the model checker runs exactly this.
//!
//! The promise: **for one node id, all granted intervals of ticks are disjoint**, over all holders and restarts,
//! under any clock.

mod acquire;
mod base36;
mod bisection;
mod carried;
mod change;
mod claim;
mod client;
mod counter;
mod device;
mod engine;
mod fresh;
mod hints;
mod past;
mod quarantine;
mod record;
mod records;
mod release;
mod renew;
mod search;
mod seen;
mod standing;
mod store_time;
mod terms;
mod text;
mod upgrade;
mod view;

pub use acquire::{Acquire, acquire};
pub use change::{Change, Committed, Decision, NodeChange};
pub use claim::{CLAIM_KIND, Claim};
pub use client::{Ledger, NAMES_LISTED};
pub(crate) use client::{all, find, names};
pub use counter::{CounterRecord, CounterView};
pub use device::DeviceRecord;
pub use engine::{Before, Engine, Entry, Key, Keys, Reading, Write};
pub use past::Past;
pub use quarantine::{
    create, drop_namespace, end_quarantine, override_quarantine, quarantine, reopen,
};
pub use record::{NamespaceRecord, NodeRecord, Reason, Versions};
pub use records::Records;
pub use release::release;
pub use renew::{Held, Loss, renew};
pub use seen::Seen;
pub use standing::{Asking, Expected, Standing};
pub use store_time::StoreTime;
pub(crate) use store_time::read as read_clock;
pub use terms::{Seal, Terms};
pub use text::{Form, VERSION, newer};
pub use upgrade::{announce, raise, withdraw};
pub use view::{Continuity, Node, View, Wanted};

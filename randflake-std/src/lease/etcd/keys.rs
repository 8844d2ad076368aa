//! The keys of a namespace.
//!
//! | key                          | value                                                                     |
//! |------------------------------|---------------------------------------------------------------------------|
//! | `randflake/NAME/namespace`   | a [`NamespaceRecord`](crate::ledger::NamespaceRecord) as text             |
//! | `randflake/NAME/lease/NODE`  | a [`NodeRecord`](crate::ledger::NodeRecord) as text, which sorts by its end |
//! | `randflake/NAME/page/PAGE`   | the tick before which no node id of the page is free, as far as known      |
//! | `randflake/NAME/counter`     | the next number, and the fingerprint for which somebody vouches for it     |
//! | `randflake/NAME/setbacks`    | how often a process has noticed that the cluster was set back              |
//!
//! Numbers in keys have eight hexadecimal digits.

use crate::lease::Namespace;

#[derive(Debug)]
pub(super) struct Keys(String);

impl Keys {
    pub(super) fn of(namespace: &Namespace) -> Self {
        Self(format!("randflake/{}", namespace.name()))
    }

    pub(super) fn namespace(&self) -> String {
        format!("{}/namespace", self.0)
    }

    pub(super) fn lease(&self, node_id: u32) -> String {
        format!("{}/lease/{node_id:08x}", self.0)
    }

    pub(super) fn note(&self, page: u32) -> String {
        format!("{}/page/{page:08x}", self.0)
    }

    pub(super) fn counter(&self) -> String {
        format!("{}/counter", self.0)
    }

    pub(super) fn setbacks(&self) -> String {
        format!("{}/setbacks", self.0)
    }
}

/// The node id of a lease's key, or the page of a note's.
pub(super) fn number_of(key: &str) -> Option<u32> {
    u32::from_str_radix(key.rsplit_once('/')?.1, 16).ok()
}

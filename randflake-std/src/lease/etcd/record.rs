//! What the keys of a namespace hold.
//!
//! - `randflake/NAME/namespace`: a [`Stored`], as JSON.
//! - `randflake/NAME/lease/NODE`: a [`Lease`] in text that begins with its end, so that values sort by it.
//! - `randflake/NAME/token/TOKEN`: the node ids that an acquire was granted.
//! - `randflake/NAME/page/PAGE`: the tick before which no node id of the page is free, as far as known.
//! - `randflake/NAME/counter`: the next number, and the cluster in which somebody vouches for it.
//!
//! Numbers in keys and ends have a fixed width.

use serde::{Deserialize, Serialize};

use crate::lease::{Grant, Namespace, Record, Token};

pub(super) const VERSION: u32 = 1;

/// The keys of a namespace.
#[derive(Debug)]
pub(super) struct Keys {
    prefix: String,
}

impl Keys {
    pub(super) fn of(namespace: &Namespace) -> Self {
        Self {
            prefix: format!("randflake/{}", namespace.name()),
        }
    }

    pub(super) fn namespace(&self) -> String {
        format!("{}/namespace", self.prefix)
    }

    pub(super) fn lease(&self, node: u64) -> String {
        format!("{}/lease/{node:08x}", self.prefix)
    }

    pub(super) fn token(&self, token: Token) -> String {
        format!("{}/token/{token}", self.prefix)
    }

    /// Of a page.
    pub(super) fn note(&self, page: u64) -> String {
        format!("{}/page/{page:08x}", self.prefix)
    }

    pub(super) fn counter(&self) -> String {
        format!("{}/counter", self.prefix)
    }
}

/// The node id of a lease's key, or the page of a note's.
pub(super) fn node_of(key: &str) -> Option<u32> {
    u32::from_str_radix(key.rsplit_once('/')?.1, 16).ok()
}

/// What a namespace was created with, and what is known of its continuity.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Stored {
    pub(super) version: u32,
    pub(super) node_ids: u64,
    pub(super) epoch_unix_ms: u64,
    pub(super) tick_ms: u64,
    pub(super) max_ttl_ms: u64,
    /// Nothing is granted before this tick.
    pub(super) fence: u64,
    pub(super) cluster_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lease {
    pub(super) held: bool,
    pub(super) grant: Grant,
    pub(super) holder: String,
}

impl Lease {
    pub(super) fn to_value(&self) -> String {
        let Grant {
            start,
            end,
            fencing_token,
            token,
            ..
        } = self.grant;
        let held = u8::from(self.held);
        format!(
            "{end:016x}:{held}:{start}:{fencing_token}:{token}:{}",
            self.holder
        )
    }

    pub(super) fn read(key: &str, value: &str) -> Option<Self> {
        let mut parts = value.splitn(6, ':');
        let end = u64::from_str_radix(parts.next()?, 16).ok()?;
        let held = parts.next()? == "1";
        let start = parts.next()?.parse().ok()?;
        let fencing_token = parts.next()?.parse().ok()?;
        let token = u128::from_str_radix(parts.next()?, 16).ok()?;
        Some(Self {
            held,
            grant: Grant {
                node_id: node_of(key)?,
                start,
                end,
                fencing_token,
                token: Token::from_bytes(token.to_be_bytes()),
            },
            holder: parts.next()?.to_owned(),
        })
    }

    /// Whether it is still this grant's holder's.
    pub(super) fn is_of(&self, grant: &Grant) -> bool {
        let ours = (self.grant.fencing_token, self.grant.token);
        self.held && ours == (grant.fencing_token, grant.token)
    }

    pub(super) fn into_record(self) -> Record {
        Record {
            grant: self.grant,
            holder: self.holder,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_read_as_it_was_written() {
        let lease = Lease {
            held: true,
            grant: Grant {
                node_id: 0x1_ffff,
                start: 7,
                end: u64::MAX >> 1,
                fencing_token: 9,
                token: Token::from_bytes([3; 16]),
            },
            holder: "a:b:c".to_owned(),
        };
        let namespace = Namespace::of::<crate::Randflake>("orders").unwrap();
        let key = Keys::of(&namespace).lease(0x1_ffff);
        assert_eq!(key, "randflake/orders/lease/0001ffff");
        assert_eq!(Lease::read(&key, &lease.to_value()), Some(lease));
        assert_eq!(Lease::read(&key, "1:2"), None);
    }
}

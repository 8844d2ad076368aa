//! Claims of secrets: which namespace of a store took a secret first.
//!
//! Leases keep node ids apart within a namespace. Under one secret two namespaces issue equal ids,
//! whatever their leases are, so a store refuses the second one unless that is asked for by name.
//! Where one server has several stores that a user takes for one, as the numbered databases of
//! Redis, they share a second claim.

use super::keys::{Base36, number};
use super::text::{Fields, Line};
use super::{Change, Form, NamespaceRecord};
use crate::types::KeyCheck;
use crate::types::{EngineError, Namespace, StoreError};

/// Claim of a secret, stored by its check value: the namespace that took it first.
///
/// It is written before that namespace's record, and never changed. So after a crash in between the
/// same namespace takes the secret, and of two that race one is refused. A drop keeps it: ids of
/// the namespace stay in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretClaim {
    /// Name of the namespace.
    pub namespace: String,
    /// Number of its database, on a server whose databases share claims.
    pub database: Option<u32>,
}

impl SecretClaim {
    /// Makes the claim of a namespace, in a numbered database where the server has such.
    #[must_use]
    pub fn of(namespace: &Namespace, database: Option<u32>) -> Self {
        Self {
            namespace: namespace.name().to_owned(),
            database,
        }
    }

    /// Encodes the claim as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let database = self
            .database
            .map(|number| Base36(number.into()))
            .map(|number| number.to_string());
        Line::of(&Form::default())
            .word(&self.namespace)
            .word(database.unwrap_or_default())
            .end()
    }

    /// Decodes a claim.
    ///
    /// # Errors
    ///
    /// A sentence says what it is instead.
    pub fn from_text(text: &str, known: u8) -> Result<Self, String> {
        // Not `text::read`: nobody writes a claim again, so a tail need not be kept.
        let mut fields = Fields::of(text, known)?;
        let mut claim = || {
            Some(Self {
                namespace: fields.word()?.to_owned(),
                database: match fields.word()? {
                    "" => None,
                    digits => Some(u32::try_from(number(digits)?).ok()?),
                },
            })
        };
        claim().ok_or_else(|| "it is damaged".to_owned())
    }

    /// Whether the namespace of another claim may take the secret, once this one is what the store
    /// has.
    ///
    /// # Errors
    ///
    /// [`StoreError::SecretTaken`] if it is another namespace's.
    pub fn check(&self, asked: &Self, shares_secret: bool) -> Result<(), StoreError> {
        // The same name means the same namespace, or one that was dropped and opened again: its ids
        // never meet others.
        if self == asked || shares_secret {
            return Ok(());
        }
        Err(StoreError::SecretTaken {
            namespace: self.namespace.clone(),
            // Of one database, people need no number.
            database: self.database.filter(|_| self.database != asked.database),
            asked: asked.namespace.clone(),
        })
    }

    /// What is wrong with a claim that cannot be read.
    pub(crate) fn refused(place: &str, check: u32, why: &str) -> StoreError {
        let what = format!("{place}: the claim of the secret of check value {check:08x}: {why}");
        EngineError::failed_precondition(what).into()
    }
}

impl Change {
    /// The check value of the secret that the namespace takes by this change: when its record is
    /// made, when it is opened again after a drop, and when somebody without the secret has made
    /// it.
    #[must_use]
    pub fn taken_secret(&self) -> Option<u32> {
        // A dropped namespace has no secret. Its reopening takes one, which may be another.
        let before = self
            .namespace_before
            .as_ref()
            .filter(|record| !record.reason.is_dropped);
        let after = self
            .namespace_after
            .as_ref()
            .filter(|record| !record.reason.is_dropped);
        let taken = key_check(after)?;
        // Plain ids have no secret. One that the record names already was claimed before it.
        taken.value().filter(|_| key_check(before) != Some(taken))
    }
}

fn key_check(record: Option<&NamespaceRecord>) -> Option<KeyCheck> {
    record?.terms.key_check
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::VERSION;
    use randflake_core::Randflake;

    fn claim(name: &str, database: Option<u32>) -> SecretClaim {
        SecretClaim::of(&Namespace::new(name, Randflake).unwrap(), database)
    }

    #[test]
    fn a_claim_is_read_as_it_was_written() {
        let read = |text: &str| SecretClaim::from_text(text, VERSION);
        for (database, text) in [
            (None, "11:orders:"),
            (Some(0), "11:orders:0"),
            (Some(36), "11:orders:10"),
        ] {
            let claim = claim("orders", database);
            assert_eq!(claim.to_text(), text);
            assert_eq!(read(text), Ok(claim));
        }
        assert_eq!(read("21:orders::later"), Ok(claim("orders", None)));
        assert_eq!(read("x").unwrap_err(), "it is another program's");
        for damaged in ["11:orders", "11:orders:-", "11:orders:zzzzzzzz"] {
            assert_eq!(read(damaged).unwrap_err(), "it is damaged", "{damaged}");
        }
        assert!(read("22:orders:").unwrap_err().contains("newer"));
    }

    #[test]
    fn claimed_secret_is_taken_again_only_if_shared() {
        let orders = claim("orders", None);
        assert!(orders.check(&orders, false).is_ok());
        assert!(orders.check(&claim("bills", None), true).is_ok());
        let refused = orders.check(&claim("bills", None), false).unwrap_err();
        assert!(
            matches!(refused, StoreError::SecretTaken { namespace, .. } if namespace == "orders")
        );
    }

    /// Two databases have two namespaces of one name.
    #[test]
    fn same_name_in_another_database_is_another_namespace() {
        let orders = claim("orders", Some(0));
        for (asked, shown) in [
            (claim("orders", Some(1)), Some(0)),
            (claim("bills", Some(0)), None),
        ] {
            let refused = orders.check(&asked, false).unwrap_err();
            let StoreError::SecretTaken { database, .. } = &refused else {
                panic!("{refused:?}")
            };
            assert_eq!(*database, shown);
            let says = refused.to_string().contains("in database 0 of this server");
            assert_eq!(says, shown.is_some(), "{refused}");
        }
    }
}

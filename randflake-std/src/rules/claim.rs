//! Claims of secrets: which namespace of a store took a secret first.
//!
//! Leases keep node ids apart within a namespace. Under one secret two namespaces issue equal ids, whatever their leases
//! are, so a store refuses the second one unless that is asked for by name.

use super::text::{Fields, Line};
use super::{Change, Form, NamespaceRecord};
use crate::vocabulary::KeyCheck;
use crate::vocabulary::{EngineError, Namespace, StoreError};

/// Claim of a secret, stored by its check value: the namespace that took it first.
///
/// It is written before that namespace's record, and never changed. So after a crash in between the same namespace takes
/// the secret, and of two that race one is refused. A drop keeps it: ids of the namespace stay in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretClaim {
    /// Name of the namespace.
    pub namespace: String,
}

impl SecretClaim {
    /// Makes the claim of a namespace.
    #[must_use]
    pub fn of(namespace: &Namespace) -> Self {
        Self {
            namespace: namespace.name().to_owned(),
        }
    }

    /// Encodes the claim as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        Line::of(&Form::default()).word(&self.namespace).end()
    }

    /// Decodes a claim.
    ///
    /// # Errors
    ///
    /// A sentence says what it is instead.
    pub fn from_text(text: &str, known: u8) -> Result<Self, String> {
        // Not `text::read`: nobody writes a claim again, so a tail need not be kept.
        let namespace = Fields::of(text, known)?.word();
        let namespace = namespace.ok_or_else(|| "it is damaged".to_owned())?;
        Ok(Self {
            namespace: namespace.to_owned(),
        })
    }

    /// Whether a namespace may take the secret, once this claim is what the store has.
    ///
    /// # Errors
    ///
    /// [`StoreError::SecretTaken`] if it is another namespace's.
    pub fn check(&self, namespace: &Namespace) -> Result<(), StoreError> {
        // The same name means the same namespace, or one that was dropped and opened again: its ids never meet others.
        if self.namespace == namespace.name() || namespace.shares_secret() {
            return Ok(());
        }
        Err(StoreError::SecretTaken {
            namespace: self.namespace.clone(),
            asked: namespace.name().to_owned(),
        })
    }

    /// What is wrong with a claim that cannot be read.
    pub(crate) fn refused(place: &str, check: u32, why: &str) -> StoreError {
        let what = format!("{place}: the claim of the secret of check value {check:08x}: {why}");
        EngineError::unusable(what).into()
    }
}

impl Change {
    /// The check value of the secret that the namespace takes by this change: when its record is made, when it is opened
    /// again after a drop, and when somebody without the secret has made it.
    #[must_use]
    pub fn taken_secret(&self) -> Option<u32> {
        // A dropped namespace has no secret. Its reopening takes one, which may be another.
        let before = self.namespace_before.as_ref();
        let before = before.filter(|record| !record.reason.is_dropped);
        let after = self.namespace_after.as_ref();
        let after = after.filter(|record| !record.reason.is_dropped);
        let taken = seal(after)?;
        // Plain ids have no secret. One that the record names already was claimed before it.
        taken.value().filter(|_| seal(before) != Some(taken))
    }
}

fn seal(record: Option<&NamespaceRecord>) -> Option<KeyCheck> {
    record?.terms.seal
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::VERSION;
    use randflake_core::Randflake;

    #[test]
    fn a_claim_is_read_as_it_was_written() {
        let namespace = Namespace::new("orders", Randflake).unwrap();
        let claim = SecretClaim::of(&namespace);
        assert_eq!(claim.to_text(), "11:orders");
        let read = |text: &str| SecretClaim::from_text(text, VERSION);
        assert_eq!(read("11:orders"), Ok(claim.clone()));
        assert_eq!(read("21:orders:later"), Ok(claim));
        assert_eq!(read("x").unwrap_err(), "it is another program's");
        assert!(read("22:orders").unwrap_err().contains("newer"));
    }

    #[test]
    fn another_namespace_takes_a_claimed_secret_only_if_it_is_shared() {
        let namespace = |name| Namespace::new(name, Randflake).unwrap();
        let (orders, bills) = (namespace("orders"), namespace("bills"));
        let claim = SecretClaim::of(&orders);
        assert!(claim.check(&orders).is_ok());
        assert!(claim.check(&bills.clone().with_shared_secret()).is_ok());
        let refused = claim.check(&bills).unwrap_err();
        assert!(
            matches!(refused, StoreError::SecretTaken { namespace, .. } if namespace == "orders")
        );
    }
}

//! Findings: what a store reports about itself.

use core::fmt::Display;
use core::time::Duration;

use super::Quarantine;
use crate::date::{span, utc};

/// One fact that a store reports about itself or its server.
///
/// A store's [`diagnose`](crate::Administration::diagnose) returns these, in this order, and omits what does not apply:
///
/// | name                                      | value                                              |
/// |-------------------------------------------|----------------------------------------------------|
/// | `server`                                  | program and version                                |
/// | `schema`                                  | version of what the store keeps there              |
/// | a setting's own name, as `synchronous`    | as it is in effect for the store, one finding each |
/// | `fingerprint`                             | what the store's continuity is known by            |
/// | `volume`                                  | of a store in a file: what its file is on          |
/// | a promise that cannot be kept, in a word  | when it is broken, as a [`Verdict::Caution`]       |
/// | `copy`                                    | instead of the quarantine, if the store is a copy  |
/// | `quarantine`                              | none, or how long nothing is granted               |
///
/// Latency, clock skew, occupancy, and whether an acquire and a release work are not included: the caller can measure
/// them. No value contains a password.
///
/// ```
/// use randflake_lease::{MemoryStore, Namespace, Verdict};
/// use randflake_core::ManualClock;
/// use randflake_core::Randflake;
/// use std::sync::Arc;
///
/// let clock = Arc::new(ManualClock::at_unix_ms(1_730_000_100_000));
/// let mut store = MemoryStore::new(Namespace::new("orders", Randflake)?, clock);
/// let findings = store.administration().diagnose()?;
/// let quarantine = findings.iter().find(|finding| finding.name == "quarantine").unwrap();
/// assert_eq!((quarantine.value.as_str(), &quarantine.verdict), ("none", &Verdict::Fine));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of what was checked.
    pub name: &'static str,
    /// The value that was observed.
    pub value: String,
    /// Meaning of the value.
    pub verdict: Verdict,
}

/// What a [`Finding`] means for the promise that no id repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The setting is as it should be.
    Fine,
    /// The promise depends on a condition that the store cannot check, or nothing can be granted now. The sentence says
    /// which condition, or why.
    Caution(String),
    /// The promise is broken, or may be at any time. The sentence says what to change.
    Wrong(String),
}

impl Finding {
    /// A finding without a problem.
    pub fn fine(name: &'static str, value: impl Into<String>) -> Self {
        let (value, verdict) = (value.into(), Verdict::Fine);
        Self {
            name,
            value,
            verdict,
        }
    }

    /// A finding that depends on a condition.
    pub fn caution(
        name: &'static str,
        value: impl Into<String>,
        sentence: impl Into<String>,
    ) -> Self {
        Self {
            verdict: Verdict::Caution(sentence.into()),
            ..Self::fine(name, value)
        }
    }

    /// A finding that must be corrected.
    pub fn wrong(
        name: &'static str,
        value: impl Into<String>,
        sentence: impl Into<String>,
    ) -> Self {
        Self {
            verdict: Verdict::Wrong(sentence.into()),
            ..Self::fine(name, value)
        }
    }

    /// Findings of a store, in the common order.
    #[must_use]
    pub fn of_a_store(
        server: String,
        version: impl Display,
        settings: impl IntoIterator<Item = Self>,
        fingerprint: String,
        failover: Option<Self>,
    ) -> Vec<Self> {
        let schema = Self::fine("schema", format!("version {version}"));
        let mut findings = vec![Self::fine("server", server), schema];
        findings.extend(settings);
        findings.push(Self::fine("fingerprint", fingerprint));
        findings.extend(failover);
        findings
    }

    /// The finding `quarantine`: how long nothing is granted.
    pub(crate) fn quarantine(quarantine: Option<Quarantine>, left: Duration) -> Self {
        match quarantine {
            None => Self::fine("quarantine", "none"),
            Some(quarantine) => {
                let until = format!("until {}, another {}", utc(quarantine.until), span(left));
                let wait = format!("{quarantine}: wait{}", quarantine.otherwise());
                Self::caution("quarantine", until, wait)
            }
        }
    }
}

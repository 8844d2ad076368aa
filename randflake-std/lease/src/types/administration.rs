//! Answers to operators: quarantines, upgrades and findings of a diagnosis.

use core::fmt::{self, Display, Formatter};
use core::time::Duration;

use super::Record;
use crate::date::{span, utc};

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
    /// The store has no record of the namespace: it is new, or the store has lost it. Nothing tells
    /// which.
    #[default]
    New,
    /// The store was restarted, restored, replaced or failed over, and may have forgotten leases.
    Lost,
    /// An operator asked for it: [`start_quarantine`](crate::Administration::start_quarantine).
    Asked,
    /// The namespace was dropped, and leases of then may still be in use.
    Dropped,
    /// The store in a file was made a moment ago, and a holder in a store that was there before may
    /// not have noticed yet: it waits for the next tick, or for 3 s. Builds of handles wait for
    /// that without being asked to.
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

/// What came of an upgrade: see
/// [`Administration::upgrade_namespace`](crate::Administration::upgrade_namespace).
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Upgrade {
    /// Records may be written in this version. Programs that do not know it write no more, and stop
    /// when their leases end.
    Done {
        /// The version before; the same one if there was nothing to do.
        before: u8,
        /// Version that the namespace has now.
        version: u8,
    },
    /// Nothing was changed: holders that do not know the version have leases that live.
    OlderHolders {
        /// The version, which stays.
        before: u8,
        /// The version that was asked for.
        version: u8,
        /// Their leases, in the order of node ids.
        holders: Vec<Record>,
    },
}

/// One fact that a store reports about itself or its server.
///
/// A store's [`diagnose`](crate::Administration::diagnose) returns these, in this order, and omits
/// what does not apply:
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
/// Latency, clock skew, occupancy, and whether an acquire and a release work are not included: the
/// caller can measure them. No value contains a password.
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
    /// The promise depends on a condition that the store cannot check, or nothing can be granted
    /// now. The sentence says which condition, or why.
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

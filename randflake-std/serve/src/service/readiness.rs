//! Whether a namespace issues ids, and if not, why.

use randflake_std::Health;
use randflake_std::date::utc;
use randflake_std::lease::StoreError;

/// Why a namespace issues no ids.
#[derive(Clone, Debug)]
pub(crate) struct NotReady {
    /// For anybody: it names neither the namespace nor the store.
    pub(crate) cause: String,
    /// For those who look after the namespace.
    pub(crate) detail: String,
    /// It is full or in quarantine, which other servers would find too.
    pub(crate) is_of_namespace: bool,
}

impl NotReady {
    pub(crate) fn of_store(error: &StoreError) -> Self {
        Self {
            cause: cause(error),
            detail: error.to_string(),
            is_of_namespace: matches!(
                error,
                StoreError::Exhausted { .. } | StoreError::Quarantined { .. }
            ),
        }
    }

    fn simple(cause: &str) -> Self {
        Self {
            cause: cause.to_owned(),
            detail: cause.to_owned(),
            is_of_namespace: false,
        }
    }

    /// Before the store has granted a lease for the first time.
    pub(crate) fn starting() -> Self {
        Self::simple("the store has not granted a lease yet")
    }

    /// `None` if ids are issued.
    pub(crate) fn of(health: &Health) -> Option<Self> {
        match health {
            health if health.is_ready() => None,
            Health::NotReady { error: Some(error) } => Some(Self::of_store(error)),
            Health::NotReady { error: None } => Some(Self::simple("the lease is being replaced")),
            _ => Some(Self::simple("the server is stopping")),
        }
    }
}

/// Without what the store's message may name, such as its host.
pub(crate) fn cause(error: &StoreError) -> String {
    match error {
        StoreError::Quarantined { quarantine, .. } => format!(
            "the lease store grants nothing until {}: it is new, or may have forgotten leases",
            utc(quarantine.until)
        ),
        StoreError::Exhausted { .. } => "no node id is free".to_owned(),
        StoreError::ClockSkew { .. } => {
            "the clocks of the store and this machine differ".to_owned()
        }
        StoreError::Terms { .. } => {
            "the namespace is stored with other terms than this server's".to_owned()
        }
        StoreError::Unavailable(_) => "the lease store does not answer".to_owned(),
        _ => "the lease store cannot be used".to_owned(),
    }
}

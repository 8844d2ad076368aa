//! Sequential numbers of a namespace's counter: in steps, or anew each day, as the counter counts.

use randflake_std::lease::LeaseStore;
use randflake_std::segment::{CounterError, CounterTerms, Segment};

use super::Service;
use crate::access::{Principal, Scope};
use crate::refusal::{Refusal, RefusalKind};

/// The largest number of numbers of one request. Each request is a write of the store, whatever its size.
pub(crate) const MAX_NUMBERS: usize = 1_000;

/// Numbers that were reserved for a client.
pub(crate) struct IssuedNumbers {
    pub(crate) segment: Segment,
    pub(crate) terms: CounterTerms,
}

impl Service {
    /// The next numbers of a namespace's counter: all of them or none. None is kept in stock here, so there is no gap unless an
    /// answer is lost.
    pub(crate) async fn numbers(
        &self,
        principal: &Principal,
        namespace: &str,
        count: usize,
    ) -> Result<IssuedNumbers, Refusal> {
        let space = self.space(principal, Scope::Ids, namespace)?;
        if !(1..=MAX_NUMBERS).contains(&count) {
            return Err(Refusal::invalid(format!(
                "{count} numbers were asked for: 1 to {MAX_NUMBERS} are allowed in one request"
            )));
        }
        principal.take_ids(count)?;
        let work = move |store: &mut LeaseStore| {
            let segment = store.counter().reserve(count as u64)?;
            let terms = store.counter().terms().unwrap_or_default();
            Ok(IssuedNumbers { segment, terms })
        };
        space.with_store(principal, work).await
    }
}

impl From<CounterError> for Refusal {
    fn from(error: CounterError) -> Self {
        let refusal = match &error {
            CounterError::Full {
                passes_in, message, ..
            }
            | CounterError::Ahead {
                passes_in, message, ..
            } => Self::new(RefusalKind::Busy, message).retry_in(*passes_in),
            CounterError::Invalid(sentence) => Self::invalid(sentence),
            CounterError::Unavailable(_) => {
                let message = "the lease store does not answer: whether numbers were reserved is unknown, and a repetition \
                               leaves a gap";
                Self::new(RefusalKind::Unavailable, message)
            }
            CounterError::Lost { reached: 0, .. } => {
                let message = "the namespace has no counter: an operator begins it with `randflake segment init`";
                Self::new(RefusalKind::Failed, message)
            }
            CounterError::Lost { .. } | CounterError::Rewound { .. } => {
                let message = "the counter may have gone back: an operator says where it goes on, with `randflake segment \
                               resume`";
                Self::new(RefusalKind::Failed, message)
            }
            _ => Self::new(RefusalKind::Failed, "the lease store cannot be used"),
        };
        // Its own message may name the store's host: for the log.
        let is_whole = matches!(refusal.kind, RefusalKind::Busy | RefusalKind::Invalid);
        let detail = (!is_whole).then(|| error.to_string());
        Self { detail, ..refusal }
    }
}

//! A holder's dealings with its store: what is common to the first grant and to later ones.

use core::time::Duration;

use crate::clock::{Monotonic, wall_exact};
use crate::lease::{
    AcquireRequest, Acquired, Grant, LeaseStore, MAX_SKEW, Renewed, StoreError, Token,
};

pub(super) struct Tenant {
    store: Box<dyn LeaseStore>,
    holder: String,
    ttl: Duration,
    ttl_ticks: u64,
    /// An acquire of unknown outcome, to be repeated unchanged.
    pending: Option<Pending>,
}

#[derive(Clone, Copy)]
struct Pending {
    token: Token,
    count: u32,
}

impl Tenant {
    pub(super) fn new(store: Box<dyn LeaseStore>, holder: String, ttl: Duration) -> Self {
        let ttl_ticks = store.namespace().ticks(ttl);
        Self {
            store,
            holder,
            ttl,
            ttl_ticks,
            pending: None,
        }
    }

    pub(super) fn ttl(&self) -> Duration {
        self.ttl
    }

    /// Acquires this many node ids, or as many as an acquire of unknown outcome asked for before.
    pub(super) fn acquire(&mut self, count: usize) -> Result<(Acquired, Monotonic), StoreError> {
        let pending = match self.pending {
            Some(pending) => pending,
            None => Pending {
                token: Token::random().map_err(StoreError::unavailable)?,
                count: u32::try_from(count).unwrap_or(u32::MAX),
            },
        };
        let Pending { token, count } = pending;
        let request = AcquireRequest {
            token,
            holder: &self.holder,
            count,
            ttl: self.ttl_ticks,
        };
        let before = wall_exact().unwrap_or_default();
        let sent = Monotonic::exact();
        let outcome = self.store.acquire(&request);
        self.pending = matches!(outcome, Err(StoreError::Unavailable(_))).then_some(pending);
        let acquired = outcome?;
        if let Err(error) = check_skew(acquired.now, before) {
            self.release_unused(&acquired.grants);
            return Err(error);
        }
        Ok((acquired, sent))
    }

    pub(super) fn renew(&mut self, grants: &[Grant]) -> Result<(Renewed, Monotonic), StoreError> {
        let sent = Monotonic::exact();
        Ok((self.store.renew(grants, self.ttl_ticks)?, sent))
    }

    pub(super) fn release(&mut self, grants: &[Grant]) -> Result<(), StoreError> {
        if grants.is_empty() {
            Ok(())
        } else {
            self.store.release(grants)
        }
    }

    /// Gives back what nothing was issued from; if that fails, it ends by itself.
    pub(super) fn release_unused(&mut self, grants: &[Grant]) {
        let unused: Vec<_> = grants
            .iter()
            .map(|grant| Grant {
                end: grant.start,
                ..*grant
            })
            .collect();
        let _ends_by_itself = self.release(&unused);
    }
}

/// A store whose clock leapt ahead would grant node ids far into the future. It was read at some time
/// since `before`, however long the request took.
fn check_skew(store: Duration, before: Duration) -> Result<(), StoreError> {
    let after = wall_exact().unwrap_or_default();
    let here = store.clamp(before.min(after), before.max(after));
    if store.abs_diff(here) > MAX_SKEW {
        return Err(StoreError::ClockSkew { store, here });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_answer_is_no_skew() {
        let hour_ago = wall_exact()
            .unwrap()
            .saturating_sub(Duration::from_secs(3_600));
        let at = |seconds| hour_ago + Duration::from_secs(seconds);
        for (store, before, is_skewed) in [
            (at(3_591), at(3_600), false),
            (at(3_589), at(3_600), true),
            (at(3_609), at(3_600), false),
            (at(3_620), at(3_600), true),
            (at(3_540), at(3_540), false),
            (at(3_600), at(3_540), false),
            (at(3_520), at(3_540), true),
            // The wall clock here was set back during the request.
            (at(3_600), at(3_660), false),
        ] {
            let error = check_skew(store, before).err();
            assert_eq!(error.is_some(), is_skewed, "{error:?}");
        }
    }
}
